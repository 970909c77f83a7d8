#include "workload/load_layer.h"
#include "workload/tensor_source.h"

#include <fmt/format.h>

namespace tilebeat {
namespace {

void infer_output(const Conv2d& conv, const TensorInfo& input, const Place& place, TensorInfo& output) {
  const std::int64_t channels = input.shape[3];
  if (channels % conv.groups != 0 || conv.out_channels % conv.groups != 0) {
    place.key("groups").refuse_value(conv.groups, fmt::format("a divisor of {} channels and {} out_channels",
                                                              channels, conv.out_channels));
  }
  const WindowShape window{conv.kernel, conv.stride, conv.dilation, conv.pads};
  output.shape = {input.shape[0], output_pixels(window, input.shape, 0, place),
                  output_pixels(window, input.shape, 1, place), conv.out_channels};
  check_shape(output.shape, place);
  output.dtype = conv.requant ? conv.requant->dtype : DType::kInt32;
  output.zero_point = conv.requant ? conv.requant->zero_point : 0;
}

/// `spec` with its kernel; the weights are written in the shape `weights`.
void load_kernels(const Conv2dSpec& spec, const std::vector<std::int64_t>& weights, const LayerSource& source,
                  Conv2d& conv) {
  const Place& place = source.place;
  load_weights(spec.weights, weights, place.key("weights"), conv);
  conv.weights.shape = {conv.out_channels, conv.kernel[0], conv.kernel[1],
                        source.input().shape[3] / conv.groups};
  if (spec.bias) load_bias(*spec.bias, place.key("bias"), conv);
  check_accumulators(source.spec.name, conv, source.input(), place);
}

}  // namespace

void load_operator(const Conv2dSpec& spec, const LayerSource& source, Layer& layer) {
  Conv2d conv = spec.conv;
  infer_output(conv, source.input(), source.place, layer.output);
  check_requant(conv, "out_channels", source.place.key("requant"));
  const bool in_channels = conv.groups > 1 && conv.groups == source.input().shape[3];
  if (conv.requant && spec.depthwise.value_or(in_channels)) conv.requant->rule = ProductRule::kDepthwise;
  load_kernels(spec,
               {conv.out_channels, conv.kernel[0], conv.kernel[1], source.input().shape[3] / conv.groups},
               source, conv);
  layer.operation = std::move(conv);
}

void load_operator(const FullyConnectedSpec& spec, const LayerSource& source, Layer& layer) {
  Conv2d conv = spec.layer.conv;
  const auto& map = source.input().shape;
  conv.kernel = {static_cast<int>(map[1]), static_cast<int>(map[2])};
  infer_output(conv, source.input(), source.place, layer.output);
  check_requant(conv, "out_features", source.place.key("requant"));
  if (conv.requant) conv.requant->rule = ProductRule::kFullyConnected;
  load_kernels(spec.layer, {conv.out_channels, map[1] * map[2] * map[3]}, source, conv);
  layer.operation = std::move(conv);
}

namespace {

void check_extents(const ConvTransposeSpec& spec, const Place& place) {
  const Conv2d& conv = spec.layer.conv;
  for (std::size_t side = 0; side < conv.pads.size(); ++side) {
    if (conv.pads[side] >= conv.kernel[side % 2])
      place.key("pads").item(side).refuse_value(
          conv.pads[side], fmt::format("0 to {}, less than the kernel of {}", conv.kernel[side % 2] - 1,
                                       conv.kernel[side % 2]));
  }
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (spec.output_padding[axis] >= conv.stride[axis])
      place.key("output_padding")
          .item(axis)
          .refuse_value(spec.output_padding[axis], fmt::format("0 to {}, less than the stride of {}",
                                                               conv.stride[axis] - 1, conv.stride[axis]));
  }
}

std::int64_t output_pixels(const ConvTransposeSpec& spec, std::int64_t pixels, std::size_t axis,
                           const Place& place) {
  const Conv2d& conv = spec.layer.conv;
  const std::int64_t whole = (pixels - 1) * conv.stride[axis] + conv.kernel[axis] + spec.output_padding[axis];
  const std::int64_t cut = std::int64_t{conv.pads[axis]} + conv.pads[axis + 2];
  if (cut >= whole) {
    place.key("pads").refuse(
        fmt::format("{} {} and {} of an output of {}", axis == 0 ? "top and bottom" : "left and right",
                    conv.pads[axis], conv.pads[axis + 2], whole),
        "pads that leave an output");
  }
  return whole - cut;
}

}  // namespace

void load_operator(const ConvTransposeSpec& spec, const LayerSource& source, Layer& layer) {
  const Place& place = source.place;
  const auto& map = source.input().shape;
  Conv2d conv = spec.layer.conv;
  conv.form = ConvForm::kTransposed;
  check_extents(spec, place);
  layer.output.shape = {map[0], output_pixels(spec, map[1], 0, place), output_pixels(spec, map[2], 1, place),
                        conv.out_channels};
  check_shape(layer.output.shape, place);
  layer.output.dtype = conv.requant ? conv.requant->dtype : DType::kInt32;
  layer.output.zero_point = conv.requant ? conv.requant->zero_point : 0;
  check_requant(conv, "out_channels", place.key("requant"));
  load_weights(spec.layer.weights, {conv.out_channels, conv.kernel[0], conv.kernel[1], map[3]},
               place.key("weights"), conv);
  conv.weights.shape = {conv.out_channels, conv.kernel[0], conv.kernel[1], map[3]};
  if (spec.layer.bias) load_bias(*spec.layer.bias, place.key("bias"), conv);
  check_transposed_accumulators(source.spec.name, conv, source.input(), place);
  layer.operation = std::move(conv);
}

std::int64_t output_pixels(const WindowShape& window, const std::vector<std::int64_t>& shape,
                           std::size_t axis, const Place& place) {
  const std::int64_t padded = shape[1 + axis] + window.pads[axis] + window.pads[axis + 2];
  const std::int64_t extent = window.extent(axis);
  if (extent > padded) {
    place.key("kernel").item(axis).refuse(fmt::format("{} with dilation {}, a window of {},",
                                                      window.kernel[axis], window.dilation[axis], extent),
                                          fmt::format("a window that fits the padded map of {}", padded));
  }
  return (padded - extent) / window.stride[axis] + 1;
}

}  // namespace tilebeat
