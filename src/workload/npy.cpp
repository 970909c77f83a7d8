#include "workload/npy.h"

#include "base/inputs_read.h"
#include "base/types.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kMaxRank = 8;

/// Reads the header of a .npy file, the literal {'descr': '|i1', 'fortran_order': False, 'shape': (1, 2), }.
/// NumPy guarantees these three keys in any order and no others.
class HeaderParser {
 public:
  HeaderParser(const std::string& text, const std::string& path) : text_(text), path_(path) {}

  Tensor parse() {
    std::set<std::string> keys;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      if (!keys.insert(key).second) fail(fmt::format("the header names '{}' twice", key));
      expect(':');
      if (key == "descr") {
        tensor_.dtype = element_type();
      } else if (key == "fortran_order") {
        row_major();
      } else if (key == "shape") {
        tensor_.shape = shape();
      } else {
        fail(fmt::format("the header has the key '{}', allowed are 'descr', 'fortran_order', 'shape'", key));
      }
      if (!accept(',') && peek() != '}') fail("a ',' or '}' is missing in the header");
    }
    if (keys.size() != 3) fail("the header lacks one of 'descr', 'fortran_order', 'shape'");
    peek();
    if (next_ < text_.size()) fail("the header goes on behind its dictionary");
    return tensor_;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw UserError(one_line(path_ + ": " + problem));
  }

  char peek() {
    while (next_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[next_])) != 0) ++next_;
    return next_ < text_.size() ? text_[next_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++next_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("a '{}' is missing at byte {} of the header", c, next_));
  }

  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail(fmt::format("a text is missing at byte {} of the header", next_));
    const std::size_t begin = ++next_;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string::npos) fail("a text in the header has no end");
    next_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  DType element_type() {
    constexpr std::string_view kAllowed = "allowed are '|i1', '|u1', '<i2', '<i4', '<i8', '<f4'";
    if (peek() == '[') fail(fmt::format("elements are records, {}", kAllowed));
    const std::string descr = quoted();
    // The order of one byte, which some writers say, means nothing.
    const std::string type =
        descr.substr(std::min<std::size_t>(descr.find_first_not_of("|<>="), descr.size()));
    if (type == "i1") return DType::kInt8;
    if (type == "u1") return DType::kUint8;
    if (descr == "<i4") return DType::kInt32;
    if (descr == "<f4") return DType::kFloat32;
    if (descr == "<i2") return DType::kInt16;
    if (descr == "<i8") return DType::kInt64;
    fail(fmt::format("elements of type '{}' are not allowed, {}", descr, kAllowed));
  }

  void row_major() {
    peek();
    if (text_.compare(next_, 4, "True") == 0) {
      fail("the data is in Fortran order; save it with numpy.ascontiguousarray");
    }
    if (text_.compare(next_, 5, "False") != 0) fail("fortran_order is neither True nor False");
    next_ += 5;
  }

  std::int64_t dimension() {
    peek();
    const std::size_t begin = next_;
    std::int64_t value = 0;
    for (; next_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[next_])) != 0; ++next_) {
      value = std::min(value * 10 + (text_[next_] - '0'), kMaxDimension + 1);
    }
    if (next_ == begin) fail(fmt::format("a number is missing at byte {} of the header", next_));
    if (value < 1 || value > kMaxDimension) {
      fail(fmt::format("the shape has the dimension {}, allowed is 1 to {}",
                       text_.substr(begin, next_ - begin), kMaxDimension));
    }
    return value;
  }

  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> dimensions;
    std::int64_t elements = 1;
    expect('(');
    while (!accept(')')) {
      dimensions.push_back(dimension());
      if (dimensions.size() > kMaxRank) fail(fmt::format("the shape has more than {} dimensions", kMaxRank));
      elements *= dimensions.back();
      if (elements > kMaxElements) fail(fmt::format("the shape has more than {} elements", kMaxElements));
      if (!accept(',') && peek() != ')') fail("a ',' or ')' is missing in the shape");
    }
    return dimensions;
  }

  const std::string& text_;
  const std::string& path_;
  std::size_t next_ = 0;
  Tensor tensor_;
};

}  // namespace

Tensor parse_npy_header(const std::string& header, const std::string& path) {
  return HeaderParser(header, path).parse();
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

namespace {

constexpr std::size_t kMagicBytes = 8;  // "\x93NUMPY", major and minor version
constexpr std::int64_t kMaxHeaderBytes = 1 << 20;
constexpr std::size_t kAlignment = 64;

[[noreturn]] void fail(const std::string& path, const std::string& problem) {
  throw UserError(one_line(path + ": " + problem));
}

/// A .npy file while it is being read, with its remaining bytes.
class NpyFile {
 public:
  explicit NpyFile(const std::string& path) : path_(path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (std::filesystem::is_directory(status)) fail(path, "is a directory, a .npy file is needed");
    // A pipe would wait for its writer.
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
      fail(path, "is not a regular file");
    errno = 0;
    stream_.open(path, std::ios::binary);
    if (!stream_) fail(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
    note_input(path);
    left_ = to_signed(std::filesystem::file_size(path, error));
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
  const std::int64_t bytes = length[0] | length[1] << 8 | length[2] << 16 | to_signed(length[3]) << 24;
  if (bytes > kMaxHeaderBytes) {
    fail(path, fmt::format("has a header of {} bytes, allowed are {}", bytes, kMaxHeaderBytes));
  }
  std::string header(to_size(bytes), '\0');
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
  tensor.bytes.resize(to_size(bytes));
  file.read(tensor.bytes.data(), bytes, "data");
  return tensor;
}

std::string npy_bytes(const Tensor& tensor) {
  const char* descr = tensor.dtype == DType::kInt32     ? "<i4"
                      : tensor.dtype == DType::kFloat32 ? "<f4"
                      : tensor.dtype == DType::kInt16   ? "<i2"
                      : tensor.dtype == DType::kInt64   ? "<i8"
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
