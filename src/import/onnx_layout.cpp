// The order of the elements of ONNX tensors in their holders.
#include "base/types.h"
#include "import/onnx_lowering.h"
#include "import/problems.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace tilebeat {
namespace {

Extents permuted(const Extents& shape, const Extents& axes) {
  Extents made;
  for (const std::int64_t axis : axes) made.push_back(nth(shape, axis));
  return made;
}

/// The axes of extent above 1, in order: they alone determine the places of elements.
Extents order_of(const Extents& shape, const Extents& axes) {
  Extents order;
  for (const std::int64_t axis : axes) {
    if (nth(shape, axis) != 1) order.push_back(axis);
  }
  return order;
}

}  // namespace

std::vector<double> OnnxLowering::in_held_order(const std::vector<double>& values,
                                                const SourceTensor& source) {
  if (source.axes.empty()) return values;
  const std::size_t rank = source.axes.size();
  Extents strides(rank, 1), at(rank, 0);
  for (std::size_t axis = rank; axis-- > 1;) strides[axis - 1] = strides[axis] * source.viewed[axis];
  std::vector<double> made;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t from = 0;
    for (std::size_t k = 0; k < rank; ++k) from += at[k] * nth(strides, source.axes[k]);
    made.push_back(nth(values, from));
    for (std::size_t k = rank; k-- > 0;) {
      if (++at[k] < nth(source.viewed, source.axes[k])) break;
      at[k] = 0;
    }
  }
  return made;
}

Extents OnnxLowering::layout_axes(Layout layout, std::size_t rank) {
  Extents axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (layout == Layout::kMap && (rank == 3 || rank == 4))
    std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  return axes;
}

OnnxValue OnnxLowering::laid_out(OnnxValue value, const Extents& axes) {
  value = materialised(value);
  if (value.axes == axes) return value;
  const std::size_t rank = axes.size();
  const Extents to = permuted(value.shape, axes), held = map_shape(to);
  if (order_of(value.shape, value.axes) == order_of(value.shape, axes)) {
    value.held = emitter_.reshape(value.held, held, value.held.holder + "_map");
  } else {
    Extents perm(std::max<std::size_t>(rank, 4));
    std::iota(perm.begin(), perm.end(), 0);
    for (std::size_t i = 0; i < rank; ++i) {
      const auto from = std::find(value.axes.begin(), value.axes.end(), axes[i]) - value.axes.begin();
      perm[map_axis(i, rank)] = to_signed(map_axis(to_size(from), rank));
    }
    value.held = emitter_.movement("transpose", {value.held}, held, value.held.holder + "_transposed",
                                   {{"perm", perm}});
  }
  value.axes = axes;
  return value;
}

OnnxValue OnnxLowering::laid_out(const OnnxValue& value, Layout layout) {
  return laid_out(value, layout_axes(layout, value.shape.size()));
}

OnnxValue OnnxLowering::materialised(const OnnxValue& value) {
  if (value.viewed == value.shape) return value;
  OnnxValue plain = value;
  plain.shape = value.viewed;
  plain = laid_out(plain, layout_axes(Layout::kPlain, plain.shape.size()));
  plain.held = emitter_.reshape(plain.held, map_shape(value.shape), plain.held.holder + "_map");
  plain.shape = plain.viewed = value.shape;
  plain.axes = layout_axes(Layout::kPlain, value.shape.size());
  return plain;
}

OnnxValue OnnxLowering::with_rank(const OnnxValue& value, std::size_t rank) {
  OnnxValue made = materialised(value);
  const std::size_t more = rank - std::min(rank, made.shape.size());
  if (more == 0) return made;
  made.shape.insert(made.shape.begin(), more, 1);
  for (std::int64_t& axis : made.axes) axis += to_signed(more);
  for (std::size_t i = more; i-- > 0;) made.axes.insert(made.axes.begin(), to_signed(i));
  made.viewed = made.shape;
  made.held =
      emitter_.reshape(made.held, map_shape(permuted(made.shape, made.axes)), made.held.holder + "_map");
  return made;
}

OnnxValue OnnxLowering::held_constant(const Constant& constant, const Quantisation& quantisation,
                                      const std::string& name) {
  if (quantisation.scales.size() != 1) throw Unsupported("an operand with several scales");
  OnnxValue made;
  made.shape = made.viewed = constant.shape;
  made.axes = layout_axes(Layout::kPlain, constant.shape.size());
  made.real = true;
  made.held = {"", map_shape(constant.shape), constant.type, quantisation.scales[0],
               quantisation.zero_points[0]};
  Constant stored = constant;
  stored.shape = made.held.shape;
  made.held.holder = builder_.add_input(name, made.held.shape, constant.type, made.held.zero_point,
                                        builder_.add_tensor(name, stored));
  return made;
}

OnnxValue OnnxLowering::made_of(const Held& held, const Extents& shape, const Extents& axes) const {
  OnnxValue made;
  made.held = held, made.shape = made.viewed = shape, made.axes = axes;
  return made;
}

}  // namespace tilebeat
