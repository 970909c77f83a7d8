#include "base/types.h"
#include "import/emitter.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kLongestLayerName = 96;
constexpr std::size_t kNpyAlignment = 64, kNpyBefore = 10;

std::string_view npy_type(ElementType type) {
  switch (type) {
    case ElementType::kInt8:
      return "|i1";
    case ElementType::kUint8:
      return "|u1";
    case ElementType::kInt32:
      return "<i4";
    case ElementType::kInt16:
      return "<i2";
    case ElementType::kInt64:
      return "<i8";
    default:
      return "<f4";
  }
}

}  // namespace

std::string workload_name(const std::string& name) {
  std::string made;
  for (const char c : name.substr(0, kLongestLayerName)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
    made += plain ? c : '_';
  }
  made.erase(0, std::min(made.find_first_not_of("._-"), made.size()));
  return made.empty() ? "tensor" : made;
}

std::string constant_npy(const Constant& tensor) {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", npy_type(tensor.type),
                  fmt::join(tensor.shape, ", "), tensor.shape.size() == 1 ? "," : "");
  header.append((kNpyAlignment - (kNpyBefore + header.size() + 1) % kNpyAlignment) % kNpyAlignment, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(tensor.bytes.begin(), tensor.bytes.end());
  return bytes;
}

std::string WorkloadBuilder::unique(const std::string& wish) {
  const std::string base = workload_name(wish);
  std::string name = base;
  for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

std::string WorkloadBuilder::add_input(const std::string& wish, const Extents& shape, ElementType type,
                                       std::int64_t zero_point, const FieldsJson& source) {
  std::string name = unique(wish);
  FieldsJson input{{"name", name}, {"shape", shape}, {"dtype", element_name(type)}};
  if (zero_point != 0) input["zero_point"] = zero_point;
  input.update(source);
  inputs_.push_back(std::move(input));
  return name;
}

std::string WorkloadBuilder::add_layer(const std::string& wish, const std::string& op,
                                       const std::vector<std::string>& inputs, const FieldsJson& fields) {
  std::string name = unique(wish);
  FieldsJson layer{{"name", name}, {"op", op}, {"inputs", inputs}};
  layer.update(fields);
  layer_list_.push_back(std::move(layer));
  sources_.push_back(source_);
  layers_.insert(name);
  return name;
}

FieldsJson WorkloadBuilder::add_tensor(const std::string& wish, const Constant& tensor) {
  const std::string base = workload_name(wish);
  std::string file = base + ".npy";
  for (int i = 2; tensors_.count(file) != 0; ++i) file = fmt::format("{}_{}.npy", base, i);
  tensors_[file] = constant_npy(tensor);
  return {{"file", file}};
}

void WorkloadBuilder::add_output(const std::string& layer) {
  if (written_.insert(layer).second) outputs_.push_back(layer);
}

void WorkloadBuilder::add_float_reference(const std::string& layer, const Constant& values, double scale) {
  FieldsJson reference{{"layer", layer}};
  reference.update(add_tensor(layer + "_float", values));
  reference["scale"] = scale;
  float_references_.push_back(std::move(reference));
}

std::map<std::string, std::string> WorkloadBuilder::files(const std::string& name) const {
  FieldsJson workload{{"name", workload_name(name)}};
  if (arithmetic_ != Arithmetic::kExact) workload["arithmetic"] = nth(kArithmeticNames, arithmetic_);
  workload["inputs"] = inputs_;
  workload["layers"] = layer_list_;
  workload["outputs"] = outputs_;
  if (!float_references_.empty()) workload["float_references"] = float_references_;
  std::map<std::string, std::string> files = tensors_;
  files["workload.json"] = workload.dump(1) + "\n";
  return files;
}

}  // namespace tilebeat
