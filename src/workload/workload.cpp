#include "workload/workload.h"

#include "base/types.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cmath>
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
  const auto i = to_size(index);
  if (dtype == DType::kInt8) return static_cast<std::int8_t>(bytes[i]);
  if (dtype == DType::kUint8) return bytes[i];
  if (dtype == DType::kInt16) {
    std::int16_t half = 0;
    std::memcpy(&half, &bytes[i * sizeof half], sizeof half);
    return half;
  }
  std::int32_t value = 0;
  std::memcpy(&value, &bytes[i * sizeof value], sizeof value);
  return value;
}

std::int64_t Tensor::wide_at(std::int64_t index) const {
  if (dtype != DType::kInt64) return at(index);
  std::int64_t value = 0;
  std::memcpy(&value, &bytes[to_size(index) * sizeof value], sizeof value);
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
  const TensorInfo& map = workload.tensor(layer.inputs.front());
  const std::int64_t bytes = map.dtype == DType::kInt16 ? 2 : 1;
  if (conv->pixels == PixelAxes::kMatrices) return layer.output.elements() * conv->product.inner * bytes;
  const std::int64_t channels = map.shape.back() * bytes;
  std::int64_t outputs = layer.output.elements();
  for (std::size_t axis = 0; conv->form == ConvForm::kTransposed && axis < 2; ++axis) {
    const std::int64_t out = layer.output.shape[1 + axis], stride = conv->stride[axis];
    const std::int64_t strides = (conv->pads[axis] + out - 1) / stride - conv->pads[axis] / stride + 1;
    outputs = outputs / out * strides * stride;
  }
  return outputs * useful_taps(*conv) * (channels / conv->groups);
}

namespace {

constexpr double kNoNoise = 200;  // dB

double real(const Tensor& tensor, std::int64_t i) {
  float value = 0;
  std::memcpy(&value, &tensor.bytes[to_size(i) * sizeof value], sizeof value);
  return static_cast<double>(value);
}

}  // namespace

Quality quality_of(const Tensor& made, const FloatReference& reference) {
  double signal = 0, noise = 0, product = 0, power = 0;
  const std::int64_t count = std::min(made.elements(), reference.values.elements());
  for (std::int64_t i = 0; i < count; ++i) {
    const double wanted = real(reference.values, i);
    const double got = made.dtype == DType::kFloat32
                           ? real(made, i)
                           : static_cast<double>(made.at(i) - reference.zero_point) * reference.scale;
    signal += wanted * wanted, noise += (wanted - got) * (wanted - got);
    product += wanted * got, power += got * got;
  }
  Quality found{kNoNoise, 1};
  if (noise > 0) found.sqnr_db = std::clamp(10 * std::log10(signal / noise), -kNoNoise, kNoNoise);
  if (signal > 0 || power > 0) found.cosine = product / std::max(std::sqrt(signal * power), 1e-300);
  return found;
}

}  // namespace tilebeat
