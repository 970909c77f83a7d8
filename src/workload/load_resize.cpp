#include <fmt/format.h>

#include "load_layer.h"
#include "npy_header.h"
#include "tensor_source.h"

namespace tilebeat {

void load_operator(const ResizeSpec& spec, const LayerSource& source, Layer& layer) {
  const TensorInfo& input = source.input();
  if (input.shape[1] > kTapExtent.high || input.shape[2] > kTapExtent.high) {
    source.input_place(0).refuse(
        fmt::format("{} with shape {}", shown(source.spec.inputs[0]), shape_text(input.shape)),
        fmt::format("a map of at most {} x {} pixels", kTapExtent.high, kTapExtent.high));
  }
  if (spec.rounding && spec.mode != Resize::Mode::kNearest) {
    source.place.key("nearest_mode").refuse("a nearest_mode with mode \"bilinear\"", "mode \"nearest\"");
  }
  layer.output = input;
  layer.output.shape[1] = spec.size[0], layer.output.shape[2] = spec.size[1];
  check_shape(layer.output.shape, source.place);
  layer.operation =
      Resize{spec.mode, spec.coordinates, spec.rounding.value_or(Resize::Rounding::kPreferFloor)};
}

}  // namespace tilebeat
