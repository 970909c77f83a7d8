#include <algorithm>

#include <fmt/format.h>

#include "load_layer.h"
#include "tensor_source.h"
#include "window.h"

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

}  // namespace tilebeat
