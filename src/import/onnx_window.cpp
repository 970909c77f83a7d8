// Windows of ONNX operators; norms; index of the maximum.
#include "base/types.h"
#include "import/onnx_lowering.h"
#include "import/problems.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::int64_t kMostPixels = 65535;

/// A list with one number an axis as [height, width].
std::array<std::int64_t, 2> pair_of(Attributes& attributes, const std::string& name, std::size_t spatial,
                                    std::int64_t otherwise, std::int64_t least) {
  std::array<std::int64_t, 2> pair{
      spatial == 1 ? std::max(least, std::int64_t{name != "output_padding"}) : otherwise, otherwise};
  const auto list = attributes.integers(name);
  if (!list) return pair;
  if (list->size() != spatial) throw Unsupported(fmt::format("{} of {} numbers", name, list->size()));
  for (std::size_t i = 0; i < spatial; ++i) {
    if ((*list)[i] < least || (*list)[i] > kMostPixels)
      throw Unsupported(fmt::format("{} of {}", name, (*list)[i]));
    pair[2 - spatial + i] = (*list)[i];
  }
  return pair;
}

std::array<std::int64_t, 4> pads_of(Attributes& attributes, std::size_t spatial) {
  std::array<std::int64_t, 4> pads{0, 0, 0, 0};
  const auto list = attributes.integers("pads");
  if (!list) return pads;
  if (list->size() != 2 * spatial) throw Unsupported(fmt::format("pads of {} numbers", list->size()));
  for (std::size_t side = 0; side < 2; ++side) {
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::int64_t pad = (*list)[side * spatial + i];
      if (pad < 0 || pad > kMostPixels) throw Unsupported(fmt::format("pads of {}", pad));
      pads[side * 2 + 2 - spatial + i] = pad;
    }
  }
  return pads;
}

void check_kernel(OnnxWindow& window, Attributes& attributes, const std::optional<Extents>& kernel,
                  std::size_t spatial) {
  window.kernel = pair_of(attributes, "kernel_shape", spatial, 0, 1);
  if (!kernel) {
    if (!attributes.has("kernel_shape")) throw Unsupported("it lacks kernel_shape");
    return;
  }
  const std::array<std::int64_t, 2> real{(*kernel)[0], (*kernel)[1]};
  if (attributes.has("kernel_shape") && window.kernel != real)
    throw Unsupported("a kernel_shape that is not the weights'");
  window.kernel = real;
}

}  // namespace

Extents as_map(const Extents& shape) {
  if (shape.size() == 4) return shape;
  if (shape.size() == 3) return {shape[0], shape[1], 1, shape[2]};
  throw Unsupported(
      fmt::format("a tensor of shape {}, maps of one or two spatial axes are read", extents_text(shape)));
}

Extents from_map(const Extents& map, std::size_t rank) {
  return rank == 4 ? map : Extents{map[0], map[1], map[3]};
}

OnnxWindow read_window(Attributes& attributes, const Extents& map, const std::optional<Extents>& kernel,
                       std::size_t rank) {
  const std::size_t spatial = rank - 2;
  OnnxWindow window;
  check_kernel(window, attributes, kernel, spatial);
  window.stride = pair_of(attributes, "strides", spatial, 1, 1);
  window.dilation = pair_of(attributes, "dilations", spatial, 1, 1);
  window.pads = pads_of(attributes, spatial);
  const std::string automatic = attributes.text("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "NOTSET" && automatic != "VALID")
    throw Unsupported(fmt::format("auto_pad {}", automatic));
  if (automatic != "NOTSET") window.pads = {0, 0, 0, 0};
  const bool up = attributes.integer("ceil_mode", 0) != 0;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t in = map[2 + axis], stride = window.stride[axis];
    const std::int64_t extent = (window.kernel[axis] - 1) * window.dilation[axis] + 1;
    if (same) {
      window.output[axis] = (in + stride - 1) / stride;
      const std::int64_t total = std::max<std::int64_t>(0, (window.output[axis] - 1) * stride + extent - in);
      window.pads[axis] = automatic == "SAME_LOWER" ? total - total / 2 : total / 2;
      window.pads[axis + 2] = total - window.pads[axis];
      continue;
    }
    const std::int64_t room = in + window.pads[axis] + window.pads[axis + 2] - extent;
    if (room < 0) throw Unsupported("its kernel is larger than the padded map");
    window.output[axis] = (room + (up ? stride - 1 : 0)) / stride + 1;
    // A window that would begin in the padding behind the map is dropped.
    if (up && (window.output[axis] - 1) * stride >= in + window.pads[axis]) --window.output[axis];
  }
  return window;
}

OnnxTransposedWindow read_transposed_window(Attributes& attributes, const Extents& map, const Extents& kernel,
                                            std::size_t rank) {
  const std::size_t spatial = rank - 2;
  OnnxTransposedWindow made;
  OnnxWindow& window = made.window;
  check_kernel(window, attributes, kernel, spatial);
  window.stride = pair_of(attributes, "strides", spatial, 1, 1);
  window.dilation = pair_of(attributes, "dilations", spatial, 1, 1);
  if (window.dilation != std::array<std::int64_t, 2>{1, 1}) throw Unsupported("dilations");
  window.pads = pads_of(attributes, spatial);
  made.more = pair_of(attributes, "output_padding", spatial, 0, 0);
  const std::string automatic = attributes.text("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "NOTSET" && automatic != "VALID")
    throw Unsupported(fmt::format("auto_pad {}", automatic));
  const bool wished = attributes.has("output_shape");
  const auto wish = pair_of(attributes, "output_shape", spatial, 1, 1);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t stride = window.stride[axis];
    const std::int64_t whole = (map[2 + axis] - 1) * stride + window.kernel[axis] + made.more[axis];
    if (same || wished) {
      window.output[axis] = wished ? wish[axis] : map[2 + axis] * stride;
      const std::int64_t total = whole - window.output[axis];
      if (total < 0) made.more[axis] -= total;
      const std::int64_t cut = std::max<std::int64_t>(0, total);
      window.pads[axis] = automatic == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
      window.pads[axis + 2] = cut - window.pads[axis];
    } else {
      window.output[axis] = whole - window.pads[axis] - window.pads[axis + 2];
    }
    if (window.output[axis] < 1) throw Unsupported("pads that leave no output");
  }
  return made;
}

namespace {

FieldsJson numbers_of(const std::vector<double>& values) {
  if (values.size() == 1) return values.front();
  return values;
}

}  // namespace

OnnxValue OnnxLowering::with_last(const OnnxValue& value, std::size_t axis) {
  OnnxValue found = materialised(value);
  if (found.axes.back() == to_signed(axis)) return found;
  Extents axes;
  for (std::size_t i = 0; i < found.shape.size(); ++i) {
    if (i != axis) axes.push_back(to_signed(i));
  }
  axes.push_back(to_signed(axis));
  return laid_out(found, axes);
}

/// LayerNormalization and RMSNormalization, of rows that cover all axes from `axis` on.
void OnnxLowering::layer_norm(const GraphNode& node, Attributes& attributes) {
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i]) throw Unsupported("a second output");
  }
  const OnnxValue x = laid_out(real(node, 0), Layout::kPlain);
  const std::size_t first = axis_of(attributes.integer("axis", -1), x.shape.size());
  attributes.without_effect("stash_type");  // type of the sums, which are exact here
  std::int64_t row = 1;
  for (std::size_t axis = first; axis < x.shape.size(); ++axis) row *= x.shape[axis];
  FieldsJson fields{{"gamma", numbers_of(numbers(node, 1))}};
  if (has(node, 2)) fields["beta"] = numbers_of(numbers(node, 2));
  fields["epsilon"] = static_cast<double>(attributes.real("epsilon", 1e-5F));
  const Wanted wanted = need_result(node);
  const Held rows =
      emitter_.reshape(x.held, {element_count(x.shape) / row, 1, 1, row}, x.held.holder + "_rows");
  Held made = emitter_.function(node.op == "LayerNormalization" ? "layernorm" : "rmsnorm", rows, rows.shape,
                                wanted, fields, Rounding::kExact);
  made = emitter_.reshape(made, x.held.shape, wanted.name + "_map");
  set(node, made_of(made, x.shape, x.axes));
}

void OnnxLowering::response_norm(const GraphNode& node, Attributes& attributes) {
  const OnnxValue x = with_last(real(node, 0), 1);
  const FieldsJson fields{{"size", attributes.integer("size", 0)},
                          {"alpha", static_cast<double>(attributes.real("alpha", 1e-4F))},
                          {"beta", static_cast<double>(attributes.real("beta", 0.75F))},
                          {"bias", static_cast<double>(attributes.real("bias", 1))}};
  set(node,
      made_of(emitter_.function("lrn", x.held, x.held.shape, need_result(node), fields, Rounding::kExact),
              x.shape, x.axes));
}

/// The first maximum of the reversed row as a one-hot row; reversed back, it selects its index from a column
/// of all indices.
Held OnnxLowering::last_greatest(const OnnxValue& x, std::size_t axis, const std::string& name) {
  const std::int64_t extent = x.shape[axis];
  if (extent > 256) throw Unsupported(fmt::format("select_last_index of {} elements", extent));
  Extents backwards;
  std::vector<double> indices;
  for (std::int64_t i = 0; i < extent; ++i) {
    backwards.push_back(extent - 1 - i);
    indices.push_back(static_cast<double>(i));
  }
  OnnxValue row = gathered(x, axis, backwards, name + "_backwards");
  row.held.holder = builder_.add_layer(name + "_ones", "argmax", {row.held.holder}, {{"result", "one_hot"}});
  row.held.type = ElementType::kUint8, row.held.scale = 1, row.held.zero_point = 0;
  row = gathered(row, axis, backwards, name + "_forwards");
  Kernels column;
  column.weights = make_constant(ElementType::kUint8, {extent, 1}, indices);
  column.scales = {1};
  Extents shape = row.held.shape;
  shape.back() = 1;
  return emitter_.matmul(row.held, column, shape, name, std::nullopt);
}

void OnnxLowering::arg_max(const GraphNode& node, Attributes& attributes) {
  const bool last = attributes.integer("select_last_index", 0) != 0;
  OnnxValue x = value(node, 0);
  if (x.known() || x.held.type == ElementType::kFloat32) x = real(node, 0);
  const std::size_t axis = axis_of(attributes.integer("axis", 0), x.shape.size());
  const bool keep = attributes.integer("keepdims", 1) != 0;
  x = with_last(x, axis);
  Held held = x.held;
  held.shape.back() = 1;
  const std::string name = graph_.tensors[*node.outputs.at(0)].name;
  held.holder = last ? last_greatest(x, axis, name).holder
                     : builder_.add_layer(name, "argmax", {x.held.holder}, FieldsJson::object());
  held.type = ElementType::kInt32, held.scale = 1, held.zero_point = 0;
  OnnxValue made = made_of(held, x.shape, x.axes);
  made.shape[axis] = 1;
  if (!keep) {
    made.shape.erase(made.shape.begin() + to_signed(axis));
    made.axes.pop_back();
    for (std::int64_t& other : made.axes) other -= other > to_signed(axis) ? 1 : 0;
  }
  made.viewed = made.shape;
  set(node, made);
}

}  // namespace tilebeat
