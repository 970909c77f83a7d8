// Reductions, and the operators between float32 and bytes.
#include "workload/load_layer.h"
#include "workload/npy.h"
#include "workload/tensor_source.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// Throws UserError unless every window has a tap on the map along `axis`.
void check_taps(const WindowShape& window, std::int64_t size, std::int64_t outputs, std::size_t axis,
                const Place& place) {
  const std::int64_t dilation = window.dilation[axis];
  for (std::int64_t out = 0; out < outputs; ++out) {
    const std::int64_t first = out * window.stride[axis] - window.pads[axis];
    const std::int64_t skipped = first < 0 ? (-first + dilation - 1) / dilation : 0;
    if (skipped < window.kernel[axis] && first + skipped * dilation < size) continue;
    place.key("pads").refuse(
        fmt::format(
            "{} {} and {} with a window of {} on a map of {}, where output {} lies in the padding alone,",
            axis == 0 ? "top and bottom" : "left and right", window.pads[axis], window.pads[axis + 2],
            window.extent(axis), size, out),
        "pads that leave every window a tap on the map");
  }
}

void load_pool(Pooling pool, const LayerSource& source, Layer& layer) {
  const TensorInfo& input = source.input();
  const WindowShape window{pool.kernel, pool.stride, pool.dilation, pool.pads};
  layer.output = input;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t outputs = output_pixels(window, input.shape, axis, source.place);
    check_taps(window, input.shape[1 + axis], outputs, axis, source.place);
    layer.output.shape[1 + axis] = outputs;
  }
  check_shape(layer.output.shape, source.place);
  layer.operation = pool;
}

/// The scales of an average and, where it has a requant, what is known of its output.
void set_scales(const AveragePoolSpec& spec, const LayerSource& source, Layer& layer) {
  auto& pool = std::get<Pooling>(layer.operation);
  pool.input_scale = pool.output_scale = spec.input_scale.value_or(1);
  if (!spec.requant) return;
  const Place place = source.place.key("requant");
  const TensorInfo& input = source.input();
  const TensorInfo output = requantised(layer.output.shape, *spec.requant, place);
  pool.output_scale = spec.requant->output_scale.value_or(1 / spec.requant->scale);
  const bool as_input = output.dtype == input.dtype && output.zero_point == input.zero_point &&
                        pool.output_scale == pool.input_scale;
  const Arithmetic arithmetic = source.spec.arithmetic.value_or(source.arithmetic);
  if (!as_input && arithmetic != Arithmetic::kFloat32Ort) {
    place.refuse(fmt::format("another scale, zero point or type than the input's in arithmetic {}",
                             arithmetic_name(arithmetic)),
                 "those of the input, or arithmetic float32_ort");
  }
  layer.output = output;
}

}  // namespace

void load_operator(const MaxPoolSpec& spec, const LayerSource& source, Layer& layer) {
  Pooling pool = spec.pool;
  pool.kind = Pooling::Kind::kMax;
  pool.stride = spec.stride.value_or(pool.kernel);
  load_pool(pool, source, layer);
}

void load_operator(const AveragePoolSpec& spec, const LayerSource& source, Layer& layer) {
  Pooling pool = spec.pool;
  pool.kind = Pooling::Kind::kAverage;
  pool.stride = spec.stride.value_or(pool.kernel);
  load_pool(pool, source, layer);
  set_scales(spec, source, layer);
}

void load_global_pool(Pooling::Kind kind, const LayerSource& source, Layer& layer) {
  Pooling pool;
  pool.kind = kind;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    pool.kernel[axis] = pool.stride[axis] = static_cast<int>(source.input().shape[1 + axis]);
  }
  load_pool(pool, source, layer);
}

namespace {

/// The axes `named`, from the start, rising; neighbours.
std::vector<int> axes_of(const std::vector<int>& named, const LayerSource& source) {
  const Place place = source.place.key("axes");
  std::vector<int> axes;
  for (std::size_t i = 0; i < named.size(); ++i)
    axes.push_back(axis_of(named[i], source.input().shape.size(), place.item(i)));
  std::sort(axes.begin(), axes.end());
  for (std::size_t i = 1; i < axes.size(); ++i) {
    if (axes[i] != axes[i - 1] + 1)
      place.refuse(fmt::format("[{}]", fmt::join(named, ", ")), "axes that are neighbours, each once");
  }
  return axes;
}

enum class KeepDims : std::uint8_t { kNo, kYes };
KeepDims keep_of(bool keep_dims) {
  return keep_dims ? KeepDims::kYes : KeepDims::kNo;
}

/// The shape without `axes`, or with extents of 1 there.
std::vector<std::int64_t> reduced_shape(const std::vector<int>& axes, KeepDims keep,
                                        const LayerSource& source) {
  const auto& in = source.input().shape;
  std::vector<std::int64_t> shape;
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    const bool goes = std::count(axes.begin(), axes.end(), static_cast<int>(axis)) > 0;
    if (goes) count *= in[axis];
    if (!goes || keep == KeepDims::kYes) shape.push_back(goes ? 1 : in[axis]);
  }
  if (shape.empty()) shape.push_back(1);
  constexpr std::int64_t kMostElements = UINT16_MAX;  // of a field of the instruction
  if (count > kMostElements)
    source.place.key("axes").refuse(fmt::format("a reduction of {} elements", count),
                                    fmt::format("at most {}", kMostElements));
  return shape;
}

}  // namespace

void load_operator(const ReduceSpec& spec, const LayerSource& source, Layer& layer) {
  Reduce reduce;
  reduce.kind = source.spec.op == Operator::kReduceSum ? Reduce::Kind::kSum : Reduce::Kind::kMean;
  reduce.axes = axes_of(spec.axes, source);
  reduce.input_scale = spec.input_scale, reduce.requant = spec.requant;
  layer.output = requantised(reduced_shape(reduce.axes, keep_of(spec.keep_dims), source), spec.requant,
                             source.place.key("requant"));
  layer.operation = std::move(reduce);
}

void load_operator(const ReduceMaxSpec& spec, const LayerSource& source, Layer& layer) {
  Reduce reduce;
  reduce.kind = Reduce::Kind::kMax;
  reduce.axes = axes_of(spec.axes, source);
  layer.output = source.input();
  layer.output.shape = reduced_shape(reduce.axes, keep_of(spec.keep_dims), source);
  layer.operation = std::move(reduce);
}

void load_operator(const NormSpec& spec, const LayerSource& source, Layer& layer) {
  const auto& shape = source.input().shape;
  RowNorm norm;
  norm.kind = source.spec.op == Operator::kRmsNorm ? RowNorm::Kind::kRmsNorm : RowNorm::Kind::kLayerNorm;
  norm.input_scale = spec.input_scale, norm.epsilon = spec.epsilon, norm.requant = spec.requant;
  norm.gamma = one_a_channel(spec.gamma, shape.back(), source.place.key("gamma"));
  norm.beta = one_a_channel(spec.beta, shape.back(), source.place.key("beta"));
  layer.output = requantised(shape, spec.requant, source.place.key("requant"));
  layer.operation = std::move(norm);
}

void load_operator(const LrnSpec& spec, const LayerSource& source, Layer& layer) {
  layer.output = requantised(source.input().shape, spec.lrn.requant, source.place.key("requant"));
  layer.operation = spec.lrn;
}

void load_operator(const ArgMaxSpec& spec, const LayerSource& source, Layer& layer) {
  layer.output = {source.input().shape, DType::kUint8, 0};
  if (spec.result == ArgMax::Result::kIndex) {
    layer.output.dtype = DType::kInt32;
    layer.output.shape.back() = 1;
  }
  layer.operation = ArgMax{spec.result};
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
