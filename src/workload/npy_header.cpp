#include "npy_header.h"

#include "tilebeat/base/error.h"
#include "tilebeat/schema/place.h"
#include "tilebeat/workload/npy.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kMaxRank = 8;

/// Reads the literal {'descr': '|i1', 'fortran_order': False, 'shape': (1, 2), } that a .npy header is. NumPy
/// promises these three keys in any order and nothing else.
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
    if (peek() == '[') fail("elements are records, allowed are '|i1', '|u1', '<i4', '<f4'");
    const std::string descr = quoted();
    if (descr == "|i1") return DType::kInt8;
    if (descr == "|u1") return DType::kUint8;
    if (descr == "<i4") return DType::kInt32;
    if (descr == "<f4") return DType::kFloat32;
    fail(fmt::format("elements of type '{}' are not allowed, allowed are '|i1', '|u1', '<i4', '<f4'", descr));
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

}  // namespace tilebeat
