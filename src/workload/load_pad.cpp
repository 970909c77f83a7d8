#include "load_layer.h"
#include "npy_header.h"
#include "tensor_source.h"

namespace tilebeat {

void load_operator(const PadSpec& spec, const LayerSource& source, Layer& layer) {
  layer.output = source.input();
  Pad pad = spec.pad;
  pad.value = spec.value.value_or(layer.output.zero_point);
  check_zero_point(pad.value, layer.output.dtype, source.place.key("value"));
  auto& shape = layer.output.shape;
  shape[1] += pad.pads[0] + pad.pads[2], shape[2] += pad.pads[1] + pad.pads[3];
  shape[3] += pad.channel_pads[0] + pad.channel_pads[1];
  check_shape(shape, source.place);
  layer.operation = pad;
}

}  // namespace tilebeat
