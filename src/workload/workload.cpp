#include "tilebeat/workload/workload.h"

#include "tilebeat/base/error.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

namespace tilebeat {
namespace {

std::int64_t product(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

std::int64_t Tensor::elements() const {
  return product(shape);
}

std::int32_t Tensor::at(std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  if (dtype == DType::kInt8) return static_cast<std::int8_t>(bytes[i]);
  if (dtype == DType::kUint8) return bytes[i];
  std::int32_t value = 0;
  std::memcpy(&value, &bytes[i * sizeof value], sizeof value);
  return value;
}

std::int64_t TensorInfo::elements() const {
  return product(shape);
}

const TensorInfo& Workload::tensor(const std::string& tensor_name) const {
  const auto input = inputs.find(tensor_name);
  if (input != inputs.end()) return input->second;
  const auto known = [&] {
    const auto place = place_of.find(tensor_name);
    const bool there =
        place != place_of.end() && place->second < layers.size() && layers[place->second].name == tensor_name;
    return there ? &layers[place->second].output : nullptr;
  };
  if (const TensorInfo* output = known()) return *output;
  place_of.clear();
  for (std::size_t i = 0; i < layers.size(); ++i) place_of.emplace(layers[i].name, i);
  if (const TensorInfo* output = known()) return *output;
  throw SimulationError("workload " + name + " has no tensor " + tensor_name);
}

std::int64_t useful_taps(const Conv2d& conv) {
  const std::int64_t taps = std::int64_t{conv.kernel[0]} * conv.kernel[1];
  if (conv.form == ConvForm::kGathered) return taps;
  return std::max<std::int64_t>(1, taps / (std::int64_t{conv.stride[0]} * conv.stride[1]));
}

std::int64_t useful_macs(const Workload& workload, const Layer& layer) {
  const auto* conv = std::get_if<Conv2d>(&layer.operation);
  if (conv == nullptr) return 0;
  if (conv->pixels == PixelAxes::kMatrices) return layer.output.elements() * conv->product.inner;
  const std::int64_t channels = workload.tensor(layer.inputs.front()).shape.back();
  std::int64_t outputs = layer.output.elements();
  for (std::size_t axis = 0; conv->form == ConvForm::kTransposed && axis < 2; ++axis) {
    const std::int64_t out = layer.output.shape[1 + axis], stride = conv->stride[axis];
    const std::int64_t strides = (conv->pads[axis] + out - 1) / stride - conv->pads[axis] / stride + 1;
    outputs = outputs / out * strides * stride;
  }
  return outputs * useful_taps(*conv) * (channels / conv->groups);
}

}  // namespace tilebeat
