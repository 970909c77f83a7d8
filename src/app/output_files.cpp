#include "app/output_files.h"

#include "base/inputs_read.h"
#include "tilebeat/error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilebeat {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;
constexpr mode_t kReadWrite = 0666;

// Renames a file where `to` does not exist. Not every file system knows how; a link does not replace either.
bool rename_to_new(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  return link(from.c_str(), to.c_str()) == 0 && unlink(from.c_str()) == 0;
}

}  // namespace

OutputFile::OutputFile(int descriptor, std::string path, std::string target, std::string temporary)
    : path_(std::move(path)),
      target_(std::move(target)),
      temporary_(std::move(temporary)),
      buffer_(kBufferBytes),
      file_(fdopen(descriptor, "wb")) {
  if (file_ == nullptr) refuse_to_write(path_, errno);
  std::setvbuf(file_, buffer_.data(), _IOFBF, buffer_.size());
}

OutputFile::~OutputFile() {
  close();
}

void OutputFile::write(std::string_view text) {
  if (error_ != 0) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) error_ = errno != 0 ? errno : EIO;
}

void OutputFile::append(std::string_view text) {
  close();
  if (error_ != 0) return;
  const std::string& place = temporary_.empty() ? target_ : temporary_;
  const int descriptor = ::open(place.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) {
    error_ = errno;
    return;
  }
  while (!text.empty() && error_ == 0) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) text.remove_prefix(to_size(written));
    if (written < 0 && errno != EINTR) error_ = errno;
  }
  if (::close(descriptor) != 0 && error_ == 0) error_ = errno;
}

void OutputFile::rewrite(std::string_view text) {
  seek(SEEK_SET);
  write(text);
  seek(SEEK_END);
}

// Writes what is in the buffer, too.
void OutputFile::seek(int origin) {
  errno = 0;
  if (std::fseek(file_, 0, origin) != 0 && error_ == 0) error_ = errno != 0 ? errno : EIO;
}

void OutputFile::close() {
  if (file_ == nullptr) return;
  errno = 0;
  if (std::fclose(file_) != 0 && error_ == 0) error_ = errno != 0 ? errno : EIO;
  file_ = nullptr;
  std::vector<char>().swap(buffer_);
}

void OutputFile::check() const {
  if (error_ != 0) refuse_to_write(path_, error_);
}

OutputFiles::~OutputFiles() {
  discard();
  if (lock_ >= 0) ::close(lock_);
}

void OutputFiles::discard() {
  Uninterrupted uninterrupted;
  for (OutputFile& file : files_) {
    file.close();
    if (!file.temporary().empty()) unlink(file.temporary().c_str());
  }
  if (set_) set_->discard();
  // Folders with other files in them stay.
  for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) rmdir(folder->c_str());
  uninterrupted.let_go();
}

void OutputFiles::make_folder(const std::string& path) {
  const fs::path folder = place_of(path);
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) {
    if (access(folder.c_str(), W_OK | X_OK) != 0) refuse_to_write(path, errno);
    return;
  }
  if (fs::exists(folder, ignored))
    throw UserError(fmt::format("{}: is a file, a folder is to be written there", path));
  fs::path part;
  for (const fs::path& name : folder) {
    part /= name;
    if (fs::is_directory(part, ignored)) continue;
    if (fs::exists(part, ignored)) refuse_to_write(path, ENOTDIR);
    Uninterrupted uninterrupted;
    if (mkdir(part.c_str(), 0777) != 0) refuse_to_write(path, errno);
    folders_.push_back(part.string());
    uninterrupted.hold(part.string());
  }
}

// The kernel holds the lock: it ends with the process, however that ends.
void OutputFiles::lock_folder(const std::string& path) {
  lock_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) return;  // a folder that may be written and not be read
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw UserError(fmt::format("{}: another run is writing there", path));
}

void OutputFiles::begin_set(const std::string& out) {
  set_.emplace(out);
}

OutputFile& OutputFiles::open(const std::string& path, OverInput over) {
  if (over == OverInput::kRefused && is_input(path))
    throw UserError(fmt::format("{}: is read by this command and would be overwritten", path));
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    throw UserError(fmt::format("{}: is a folder, a file is to be written there", path));
  if (exists && !S_ISREG(status.st_mode)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) refuse_to_write(path, errno);
    return files_.emplace_back(descriptor, path, path, "");
  }
  const std::string target = place_of(path).string();
  if (exists && access(target.c_str(), W_OK) != 0) refuse_to_write(path, errno);
  Uninterrupted uninterrupted;
  int descriptor = -1;
  const bool of_set = set_ && set_->has(path);
  const std::string temporary =
      of_set ? file_of_set(path, descriptor, uninterrupted) : make_file_beside(target, path, descriptor);
  uninterrupted.hold(temporary);
  if (exists) fchmod(descriptor, status.st_mode & 07777);
  if (of_set) of_set_.push_back(path);
  return files_.emplace_back(descriptor, path, of_set ? "" : target, temporary);
}

// A new file of the set, under its provisional name.
std::string OutputFiles::file_of_set(const std::string& path, int& descriptor, Uninterrupted& uninterrupted) {
  if (of_set_.empty()) uninterrupted.hold(set_->make_folder());
  std::string temporary = set_->collected(path);
  descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kReadWrite);
  if (descriptor < 0) refuse_to_write(path, errno);
  return temporary;
}

void OutputFiles::write(const std::string& path, std::string_view bytes) {
  OutputFile& file = open(path);
  file.write(bytes);
  file.close();
  file.check();
}

ScratchFolder::ScratchFolder(const std::string& purpose) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) {
    const char* named = std::getenv("TMPDIR");
    throw UserError(fmt::format("TMPDIR {}: no folder for temporary files: {}",
                                named != nullptr ? named : "(unset)", error.message()));
  }
  path_ = (parent / fmt::format("tilebeat-{}-XXXXXX", purpose)).string();
  Uninterrupted uninterrupted;
  if (mkdtemp(path_.data()) == nullptr)
    throw UserError(
        fmt::format("{}: cannot be made: {}; TMPDIR names the folder for it", path_, std::strerror(errno)));
  uninterrupted.hold(path_);
}

ScratchFolder::~ScratchFolder() {
  Uninterrupted uninterrupted;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  uninterrupted.let_go();
}

void ScratchFolder::write(const std::string& name, std::string_view bytes) const {
  const std::string path = file(name);
  {
    Uninterrupted uninterrupted;
    uninterrupted.hold(path);
  }
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream) throw UserError(path + ": cannot be written");
}

void OutputFiles::check() const {
  for (const OutputFile& file : files_) file.check();
}

void OutputFiles::commit(const std::vector<std::string>& obsolete) {
  for (OutputFile& file : files_) file.close();
  check();
  Uninterrupted uninterrupted;
  Replacement replacement;
  for (const OutputFile& file : files_) {
    if (!file.temporary().empty() && !file.target().empty()) replacement.put(file.temporary(), file.target());
  }
  if (!of_set_.empty()) set_->commit(of_set_, obsolete);
  replacement.keep();
  files_.clear();
  folders_.clear();
  of_set_.clear();
  uninterrupted.let_go();
  uninterrupted.ignore_arrived();
}

void OutputFiles::commit_new() {
  for (OutputFile& file : files_) file.close();
  check();
  Uninterrupted uninterrupted;
  for (; !files_.empty(); files_.pop_front()) {
    if (rename_to_new(files_.front().temporary(), files_.front().target())) continue;
    if (errno == EEXIST) throw UserError(files_.front().path() + ": is there already");
    refuse_to_write(files_.front().path(), errno);
  }
  folders_.clear();
  uninterrupted.let_go();
  uninterrupted.ignore_arrived();
}

}  // namespace tilebeat
