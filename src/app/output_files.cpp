#include "output_files.h"

#include "tilebeat/base/error.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace tilebeat {
namespace {

namespace fs = std::filesystem;

std::string partial(const std::string& path) {
  return path + ".partial";
}

}  // namespace

OutputFiles::~OutputFiles() {
  std::error_code ignored;
  for (const File& file : files_) fs::remove(partial(file.path), ignored);
  for (const Folder& folder : folders_) fs::remove_all(partial(folder.path), ignored);
}

std::ofstream& OutputFiles::open_file(const std::string& path) {
  if (fs::is_directory(path))
    throw UserError(fmt::format("{}: is a folder, a file is to be written there", path));
  errno = 0;
  std::ofstream stream(partial(path), std::ios::binary | std::ios::trunc);
  if (!stream) throw UserError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  files_.push_back({path, std::move(stream)});
  return files_.back().stream;
}

std::string OutputFiles::open_folder(const std::string& path, const std::vector<std::string>& entries) {
  fs::path trimmed = fs::path(path).lexically_normal();
  if (!trimmed.has_filename()) trimmed = trimmed.parent_path();
  const std::string folder = trimmed.empty() ? "." : trimmed.string();
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error)) {
    throw UserError(fmt::format("{}: is a file, a folder is to be written there", path));
  }
  fs::remove_all(partial(folder), error);
  fs::create_directories(partial(folder), error);
  if (error) throw UserError(fmt::format("{}: cannot be written: {}", path, error.message()));
  folders_.push_back({folder, entries});
  return partial(folder);
}

void OutputFiles::commit() {
  try {
    for (File& file : files_) {
      file.stream.close();
      if (!file.stream)
        throw UserError(fmt::format("{}: cannot be written: {}", file.path, std::strerror(errno)));
      fs::rename(partial(file.path), file.path);
    }
    for (const Folder& folder : folders_) {
      if (!fs::exists(folder.path)) {
        fs::rename(partial(folder.path), folder.path);
        continue;
      }
      for (const std::string& entry : folder.entries) {
        fs::remove_all(fs::path(folder.path) / entry);
        fs::rename(fs::path(partial(folder.path)) / entry, fs::path(folder.path) / entry);
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw UserError(fmt::format("{}: cannot be written: {}", error.path1().string(), error.code().message()));
  }
}

}  // namespace tilebeat
