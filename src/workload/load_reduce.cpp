// Reductions, and the operators between float32 and bytes.
#include <algorithm>

#include <fmt/format.h>

#include "load_layer.h"
#include "npy_header.h"

namespace tilebeat {
namespace {

/// The axes that `spec` names, from the start, rising; neighbours.
std::vector<int> axes_of(const ReduceSpec& spec, const LayerSource& source) {
  const auto& shape = source.input().shape;
  const auto rank = static_cast<int>(shape.size());
  const Place place = source.place.key("axes");
  std::vector<int> axes;
  for (std::size_t i = 0; i < spec.axes.size(); ++i) {
    const int axis = spec.axes[i] < 0 ? spec.axes[i] + rank : spec.axes[i];
    if (axis < 0 || axis >= rank)
      place.item(i).refuse_value(spec.axes[i], fmt::format("an axis of shape {}", shape_text(shape)));
    axes.push_back(axis);
  }
  std::sort(axes.begin(), axes.end());
  for (std::size_t i = 1; i < axes.size(); ++i) {
    if (axes[i] != axes[i - 1] + 1)
      place.refuse(fmt::format("[{}]", fmt::join(spec.axes, ", ")), "axes that are neighbours, each once");
  }
  return axes;
}

}  // namespace

void load_operator(const ReduceSpec& spec, const LayerSource& source, Layer& layer) {
  Reduce reduce{axes_of(spec, source), spec.input_scale, spec.requant};
  const auto& in = source.input().shape;
  std::vector<std::int64_t> shape;
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    const bool goes = std::count(reduce.axes.begin(), reduce.axes.end(), static_cast<int>(axis)) > 0;
    if (goes) count *= in[axis];
    if (!goes || spec.keep_dims) shape.push_back(goes ? 1 : in[axis]);
  }
  if (shape.empty()) shape.push_back(1);
  constexpr std::int64_t kMostElements = UINT16_MAX;  // of a field of the instruction
  if (count > kMostElements)
    source.place.key("axes").refuse(fmt::format("a mean over {} elements", count),
                                    fmt::format("at most {}", kMostElements));
  layer.output = requantised(shape, spec.requant, source.place.key("requant"));
  layer.operation = std::move(reduce);
}

void load_operator(const QuantizeSpec& spec, const LayerSource& source, Layer& layer) {
  const StepRequant& r = spec.requant;
  check_zero_point(r.zero_point, r.dtype, source.place.key("requant").key("zero_point"));
  layer.output = {source.input().shape, r.dtype, r.zero_point};
  layer.operation = Quantize{static_cast<float>(r.scale)};
}

void load_operator(const DequantizeSpec& spec, const LayerSource& source, Layer& layer) {
  layer.output = {source.input().shape, DType::kFloat32, 0};
  layer.operation = Dequantize{static_cast<float>(spec.scale)};
}

void load_operator(const DynamicQuantizeSpec& spec, const LayerSource& source, Layer& layer) {
  switch (spec.result) {
    case DynamicQuantize::Result::kY:
      layer.output = {source.input().shape, DType::kUint8, 0};
      break;
    case DynamicQuantize::Result::kScale:
      layer.output = {{1, 1, 1, 1}, DType::kFloat32, 0};
      break;
    case DynamicQuantize::Result::kZero:
      layer.output = {{1, 1, 1, 1}, DType::kUint8, 0};
      break;
  }
  layer.operation = DynamicQuantize{spec.result};
}

}  // namespace tilebeat
