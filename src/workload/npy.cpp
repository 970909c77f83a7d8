#include "tilebeat/workload/npy.h"

#include "tilebeat/base/error.h"
#include "tilebeat/schema/place.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "npy_header.h"

namespace tilebeat {
namespace {

constexpr std::size_t kMagicBytes = 8;  // "\x93NUMPY", major and minor version
constexpr std::int64_t kMaxHeaderBytes = 1 << 20;
constexpr std::size_t kAlignment = 64;

[[noreturn]] void fail(const std::string& path, const std::string& problem) {
  throw UserError(one_line(path + ": " + problem));
}

/// A .npy file that is being read, with the bytes it has left.
class NpyFile {
 public:
  explicit NpyFile(const std::string& path) : path_(path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) fail(path, "is a directory, a .npy file is needed");
    errno = 0;
    stream_.open(path, std::ios::binary);
    if (!stream_) fail(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
    left_ = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
    if (error) fail(path, "is not a regular file");
  }
  std::int64_t left() const { return left_; }
  void read(void* target, std::int64_t bytes, const char* part) {
    if (bytes > left_)
      fail(path_, fmt::format("ends in the {}: {} bytes are needed, {} are left", part, bytes, left_));
    stream_.read(static_cast<char*>(target), bytes);
    if (stream_.gcount() != bytes) fail(path_, fmt::format("cannot be read: {}", std::strerror(errno)));
    left_ -= bytes;
  }

 private:
  std::string path_;
  std::ifstream stream_;
  std::int64_t left_ = 0;
};

std::string read_header(NpyFile& file, const std::string& path) {
  std::array<char, kMagicBytes> magic{};
  file.read(magic.data(), magic.size(), "magic number");
  if (std::memcmp(magic.data(), "\x93NUMPY", 6) != 0)
    fail(path, "is not a .npy file: the magic number is wrong");
  const int major = static_cast<unsigned char>(magic[6]);
  if (major < 1 || major > 3) fail(path, fmt::format("has .npy version {}, allowed is 1 to 3", major));
  std::array<unsigned char, 4> length{};
  file.read(length.data(), major == 1 ? 2 : 4, "header length");
  const std::int64_t bytes =
      length[0] | length[1] << 8 | length[2] << 16 | static_cast<std::int64_t>(length[3]) << 24;
  if (bytes > kMaxHeaderBytes) {
    fail(path, fmt::format("has a header of {} bytes, allowed are {}", bytes, kMaxHeaderBytes));
  }
  std::string header(static_cast<std::size_t>(bytes), '\0');
  file.read(header.data(), bytes, "header");
  return header;
}

}  // namespace

Tensor read_npy(const std::string& path) {
  NpyFile file(path);
  Tensor tensor = parse_npy_header(read_header(file, path), path);
  const std::int64_t bytes = tensor.elements() * dtype_size(tensor.dtype);
  if (file.left() != bytes) {
    fail(path, fmt::format("has {} bytes of data, its shape {} of {} needs {}", file.left(),
                           shape_text(tensor.shape), dtype_name(tensor.dtype), bytes));
  }
  tensor.bytes.resize(static_cast<std::size_t>(bytes));
  file.read(tensor.bytes.data(), bytes, "data");
  return tensor;
}

std::string npy_bytes(const Tensor& tensor) {
  const char* descr = tensor.dtype == DType::kInt32     ? "<i4"
                      : tensor.dtype == DType::kFloat32 ? "<f4"
                      : tensor.dtype == DType::kInt8    ? "|i1"
                                                        : "|u1";
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                   fmt::join(tensor.shape, ", "), tensor.shape.size() == 1 ? "," : "");
  const std::size_t before = kMagicBytes + 2 + header.size() + 1;
  header.append((kAlignment - before % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", kMagicBytes);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(tensor.bytes.begin(), tensor.bytes.end());
  return bytes;
}

void write_npy(const std::string& path, const Tensor& tensor) {
  const std::string bytes = npy_bytes(tensor);
  errno = 0;
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream) fail(path, fmt::format("cannot be written: {}", std::strerror(errno)));
}

}  // namespace tilebeat
