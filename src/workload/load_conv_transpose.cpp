#include <fmt/format.h>

#include "load_kernels.h"
#include "load_layer.h"
#include "tensor_source.h"

namespace tilebeat {
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

}  // namespace tilebeat
