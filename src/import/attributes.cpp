#include "import/attributes.h"

#include "base/types.h"
#include "import/problems.h"
#include "schema/place.h"
#include "tilebeat/error.h"
#include "workload/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

namespace tilebeat {

template <class Value>
const Value* Attributes::find(const std::string& name, std::string_view kind) {
  read_.insert(name);
  const auto found = node_.attributes.find(name);
  if (found == node_.attributes.end()) return nullptr;
  const auto* value = std::get_if<Value>(&found->second);
  if (value == nullptr) throw Unsupported(fmt::format("its attribute {} is no {}", name, kind));
  return value;
}

std::int64_t Attributes::integer(const std::string& name, std::int64_t otherwise) {
  const auto* value = find<std::int64_t>(name, "integer");
  return value != nullptr ? *value : otherwise;
}

float Attributes::real(const std::string& name, float otherwise) {
  const auto* value = find<float>(name, "number");
  return value != nullptr ? *value : otherwise;
}

std::string Attributes::text(const std::string& name, const std::string& otherwise) {
  const auto* value = find<std::string>(name, "text");
  return value != nullptr ? *value : otherwise;
}

std::optional<std::vector<std::int64_t>> Attributes::integers(const std::string& name) {
  const auto* value = find<std::vector<std::int64_t>>(name, "list of integers");
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::optional<std::vector<float>> Attributes::reals(const std::string& name) {
  const auto* value = find<std::vector<float>>(name, "list of numbers");
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

const Constant* Attributes::tensor(const std::string& name) {
  return find<Constant>(name, "tensor");
}

void Attributes::finish() const {
  for (const auto& [name, value] : node_.attributes) {
    if (read_.count(name) == 0) throw Unsupported(fmt::format("its attribute {} is not known", name));
  }
}

namespace {

namespace fs = std::filesystem;

constexpr std::int32_t kExternal = 1;

[[noreturn]] void fail(const std::string& path, const onnx::Tensor& tensor, const std::string& problem) {
  throw UserError(one_line(fmt::format("{}: tensor {}: {}", path, tensor.name().substr(0, 200), problem)));
}

std::uint64_t number(const std::string& text, const std::string& path, const onnx::Tensor& tensor) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(path, tensor, fmt::format("\"{}\" is no number of bytes", text.substr(0, 40)));
  return value;
}

/// The file that holds the elements: beside or below the model, also when links are followed.
std::string external_file(const std::string& location, const std::string& path, const onnx::Tensor& tensor) {
  const fs::path relative(location);
  const bool outside = location.empty() || relative.is_absolute() ||
                       location.find('\0') != std::string::npos ||
                       std::find(relative.begin(), relative.end(), "..") != relative.end();
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(fs::absolute(path).parent_path(), error);
  const fs::path file = fs::weakly_canonical(folder / relative, error);
  const fs::path inside = file.lexically_relative(folder);
  if (outside || error || inside.empty() || *inside.begin() == "..")
    fail(path, tensor,
         fmt::format("its elements lie in \"{}\", only files below the model's folder are read",
                     one_line(location.substr(0, 80))));
  return file.string();
}

std::vector<std::uint8_t> external_bytes(const onnx::Tensor& tensor, std::uint64_t wanted,
                                         const std::string& path) {
  std::string location;
  std::uint64_t offset = 0, length = wanted;
  for (const onnx::StringEntry& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = number(entry.value(), path, tensor);
    if (entry.key() == "length") length = number(entry.value(), path, tensor);
  }
  if (length != wanted) fail(path, tensor, fmt::format("it needs {} bytes, {} are named", wanted, length));
  return wanted == 0 ? std::vector<std::uint8_t>{}
                     : read_model_bytes(external_file(location, path, tensor), offset, wanted);
}

template <class Stored, class Values>
std::vector<std::uint8_t> stored(const Values& values) {
  std::vector<std::uint8_t> bytes(to_size(values.size()) * sizeof(Stored));
  for (int i = 0; i < values.size(); ++i) {
    const auto value = static_cast<Stored>(values.Get(i));
    std::memcpy(&bytes[to_size(i) * sizeof value], &value, sizeof value);
  }
  return bytes;
}

std::vector<std::uint8_t> typed_bytes(const onnx::Tensor& tensor, ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return stored<float>(tensor.float_data());
    case ElementType::kFloat64:
      return stored<double>(tensor.double_data());
    case ElementType::kInt64:
      return stored<std::int64_t>(tensor.int64_data());
    case ElementType::kInt32:
      return stored<std::int32_t>(tensor.int32_data());
    case ElementType::kInt16:
    case ElementType::kFloat16:
      return stored<std::uint16_t>(tensor.int32_data());
    default:
      return stored<std::uint8_t>(tensor.int32_data());
  }
}

}  // namespace

ElementType onnx_type(std::int32_t type) {
  switch (type) {
    case 1:
      return ElementType::kFloat32;
    case 2:
      return ElementType::kUint8;
    case 3:
      return ElementType::kInt8;
    case 5:
      return ElementType::kInt16;
    case 6:
      return ElementType::kInt32;
    case 7:
      return ElementType::kInt64;
    case 9:
      return ElementType::kBool;
    case 10:
      return ElementType::kFloat16;
    case 11:
      return ElementType::kFloat64;
    default:
      return ElementType::kOther;
  }
}

Constant onnx_constant(const onnx::Tensor& tensor, const std::string& path) {
  constexpr std::int32_t kUint4 = 21, kInt4 = 22;
  const std::int32_t type = tensor.data_type();
  Constant made{onnx_type(type), {tensor.dims().begin(), tensor.dims().end()}, {}};
  made.four_bits = type == kUint4 || type == kInt4;
  if (made.four_bits) made.type = type == kInt4 ? ElementType::kInt8 : ElementType::kUint8;
  for (const std::int64_t extent : made.shape) {
    if (extent < 0 || extent > kMaxElements)
      fail(path, tensor, fmt::format("its shape has an extent of {}", extent));
  }
  auto wanted = to_unsigned(made.elements()) * element_bytes(made.type);
  if (made.four_bits) wanted = (wanted + 1) / 2;
  if (made.type == ElementType::kOther) return made;
  if (tensor.has_segment()) fail(path, tensor, "it comes in segments, which is not read");
  if (tensor.data_location() == kExternal) {
    made.bytes = external_bytes(tensor, wanted, path);
  } else if (tensor.has_raw_data()) {
    made.bytes.assign(tensor.raw_data().begin(), tensor.raw_data().end());
  } else {
    made.bytes = typed_bytes(tensor, made.type);
  }
  if (made.bytes.size() != wanted)
    fail(path, tensor,
         fmt::format("{} of {} needs {} bytes, it has {}", extents_text(made.shape), onnx_type_name(type),
                     wanted, made.bytes.size()));
  if (made.four_bits) made.bytes = unpacked_halves(made.bytes.data(), made.elements(), type == kInt4);
  return made;
}

}  // namespace tilebeat
