#include "model_file.h"

#include "tilebeat/base/error.h"
#include "tilebeat/schema/place.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace tilebeat {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& problem) {
  throw UserError(one_line(fmt::format("{}: {}", path, problem)));
}

}  // namespace

std::vector<std::uint8_t> read_model_bytes(const std::string& path, std::uint64_t offset,
                                           std::uint64_t count) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) fail(path, "is a directory, a model file is needed");
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) fail(path, "is not a regular file");
  if (offset > size) fail(path, fmt::format("has {} bytes, byte {} is wanted", size, offset));
  const std::uint64_t left = size - offset, wanted = count == 0 ? left : count;
  if (wanted > left)
    fail(path, fmt::format("has {} bytes behind byte {}, {} are wanted", left, offset, wanted));
  if (wanted > kMaxModelBytes) fail(path, fmt::format("is larger than {} bytes", kMaxModelBytes));
  std::vector<std::uint8_t> bytes(wanted);
  stream.seekg(static_cast<std::streamoff>(offset));
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(wanted));
  if (stream.gcount() != static_cast<std::streamsize>(wanted))
    fail(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  return bytes;
}

}  // namespace tilebeat
