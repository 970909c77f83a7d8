// Operators that move bytes and compute nothing.
#include <fmt/format.h>

#include "load_layer.h"
#include "npy_header.h"
#include "tensor_source.h"

namespace tilebeat {
namespace {

void load_reshape(std::vector<std::int64_t> shape, const LayerSource& source, Layer& layer) {
  layer.output = source.input();
  layer.output.shape = std::move(shape);
  layer.operation = Reshape{};
}

}  // namespace

void load_flatten(const LayerSource& source, Layer& layer) {
  const auto& shape = source.input().shape;
  const std::vector<std::int64_t> flat{shape[0], 1, 1, shape[1] * shape[2] * shape[3]};
  check_shape(flat, source.place);
  load_reshape(flat, source, layer);
}

void load_operator(const ReshapeSpec& spec, const LayerSource& source, Layer& layer) {
  const Place place = source.place.key("shape");
  check_shape(spec.shape, place);
  const std::int64_t elements = source.input().elements();
  if (TensorInfo{spec.shape, DType::kInt8, 0}.elements() != elements) {
    place.refuse(shape_text(spec.shape), fmt::format("a shape of {} elements, as many as {} has", elements,
                                                     shown(source.spec.inputs.front())));
  }
  load_reshape(spec.shape, source, layer);
}

void load_operator(const ConcatSpec& spec, const LayerSource& source, Layer& layer) {
  const TensorInfo& first = source.input();
  const std::string first_name = shown(source.spec.inputs.front());
  const int axis = axis_of(spec.axis, first.shape.size(), source.place.key("axis"));
  const auto joined = static_cast<std::size_t>(axis);
  const bool channels = first.shape.size() == 4 && axis == 3;
  layer.output = first;
  layer.operation = Concat{axis};
  for (std::size_t i = 1; i < source.inputs.size(); ++i) {
    const TensorInfo& input = source.inputs[i];
    const std::string name = shown(source.spec.inputs[i]);
    std::vector<std::int64_t> shape = input.shape;
    if (shape.size() == first.shape.size()) shape[joined] = first.shape[joined];
    if (shape != first.shape) {
      source.input_place(i).refuse(fmt::format("{} with shape {}", name, shape_text(input.shape)),
                                   channels ? fmt::format("a map [{}, {}, {}, C], as {}", first.shape[0],
                                                          first.shape[1], first.shape[2], first_name)
                                            : fmt::format("the shape {} of {} but for axis {}",
                                                          shape_text(first.shape), first_name, axis));
    }
    if (input.dtype != first.dtype || input.zero_point != first.zero_point) {
      source.input_place(i).refuse(
          fmt::format("{} of {} with zero point {}", name, dtype_name(input.dtype), input.zero_point),
          fmt::format("{} with zero point {}, as {}; requantize it first", dtype_name(first.dtype),
                      first.zero_point, first_name));
    }
    layer.output.shape[joined] += input.shape[joined];
  }
  check_shape(layer.output.shape, source.place);
}

}  // namespace tilebeat
