// Normalisations of ONNX, and the place of the greatest element.
#include <algorithm>

#include <fmt/format.h>

#include "map_shape.h"
#include "onnx_lowering.h"

namespace tilebeat {
namespace {

FieldsJson numbers_of(const std::vector<double>& values) {
  if (values.size() == 1) return values.front();
  return values;
}

}  // namespace

OnnxValue OnnxLowering::with_last(const OnnxValue& value, std::size_t axis) {
  OnnxValue found = materialised(value);
  if (found.axes.back() == static_cast<std::int64_t>(axis)) return found;
  Extents axes;
  for (std::size_t i = 0; i < found.shape.size(); ++i) {
    if (i != axis) axes.push_back(static_cast<std::int64_t>(i));
  }
  axes.push_back(static_cast<std::int64_t>(axis));
  return laid_out(found, axes);
}

/// Rows are all that is behind `axis`.
void OnnxLowering::layer_norm(const GraphNode& node, Attributes& attributes) {
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i]) throw Unsupported("a second output");
  }
  const OnnxValue x = laid_out(real(node, 0), Layout::kPlain);
  const std::size_t first = axis_of(attributes.integer("axis", -1), x.shape.size());
  attributes.without_effect("stash_type");  // of the sums, which are exact here
  std::int64_t row = 1;
  for (std::size_t axis = first; axis < x.shape.size(); ++axis) row *= x.shape[axis];
  FieldsJson fields{{"gamma", numbers_of(numbers(node, 1))}};
  if (has(node, 2)) fields["beta"] = numbers_of(numbers(node, 2));
  fields["epsilon"] = static_cast<double>(attributes.real("epsilon", 1e-5F));
  const Wanted wanted = need_result(node);
  const Held rows =
      emitter_.reshape(x.held, {element_count(x.shape) / row, 1, 1, row}, x.held.holder + "_rows");
  Held made = emitter_.function("layernorm", rows, rows.shape, wanted, fields, Rounding::kExact);
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

/// The first greatest of the reversed row, as a one among zeros; turned round again, it picks its index out
/// of a column of all of them.
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
    made.shape.erase(made.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    made.axes.pop_back();
    for (std::int64_t& other : made.axes) other -= other > static_cast<std::int64_t>(axis) ? 1 : 0;
  }
  made.viewed = made.shape;
  set(node, made);
}

}  // namespace tilebeat
