#include <fmt/format.h>

#include "load_kernels.h"
#include "load_layer.h"
#include "tensor_source.h"
#include "window.h"

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

}  // namespace tilebeat
