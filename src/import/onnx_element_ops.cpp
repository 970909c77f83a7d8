// ONNX operators on single elements, windows and rows.
#include "base/types.h"
#include "import/onnx_lowering.h"
#include "import/problems.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

namespace tilebeat {
namespace {

bool is_plain(const Extents& axes) {
  return std::is_sorted(axes.begin(), axes.end());
}

}  // namespace

WindowFields whole_windows(const OnnxWindow& window, const Extents& map) {
  WindowFields fields{window.kernel, window.stride, window.dilation, window.pads};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t extent = (window.kernel[axis] - 1) * window.dilation[axis] + 1;
    const std::int64_t reach = (window.output[axis] - 1) * window.stride[axis] + extent;
    fields.pads[axis + 2] = std::max<std::int64_t>(0, reach - map[2 + axis] - window.pads[axis]);
  }
  return fields;
}

OnnxValue OnnxLowering::combined(const std::string& op, OnnxValue a, OnnxValue b, const Wanted& wanted,
                                 Rounding rounding) {
  const Extents shape = broadcast_shape(a.shape, b.shape);
  a = with_rank(a, shape.size()), b = with_rank(b, shape.size());
  // In the order of the larger tensor, so that fewer elements move.
  const OnnxValue& large = element_count(a.shape) >= element_count(b.shape) ? a : b;
  const Extents axes = is_plain(a.axes) && is_plain(b.axes) ? a.axes : large.axes;
  a = laid_out(a, axes), b = laid_out(b, axes);
  const Held made = emitter_.elementwise(op, a.held, b.held, held_shape(shape, axes), wanted, rounding);
  return made_of(made, shape, axes);
}

/// Quantised sums and products are laid down for ONNX Runtime; differences and quotients are not.
void OnnxLowering::combine(const GraphNode& node, const std::string& op, OnnxValue a, OnnxValue b,
                           const Wanted& wanted) {
  const bool named = op == "add" || op == "mul" || builder_.arithmetic() == Arithmetic::kExact;
  set(node, combined(op, std::move(a), std::move(b), wanted, named ? Rounding::kRuntime : Rounding::kExact));
}

/// The combination of x with the constant c as a factor and an offset.
std::array<double, 2> factor_and_offset(const std::string& op, double c, bool first) {
  if (op == "Add" || op == "Sum") return {1, c};
  if (op == "Sub") return first ? std::array<double, 2>{-1, c} : std::array<double, 2>{1, -c};
  if (op == "Mul") return {c, 0};
  if (op == "Div" && c != 0) return {1 / c, 0};
  throw Unsupported("a division of a constant");
}

bool OnnxLowering::with_constant(const GraphNode& node, std::size_t constant) {
  if (node.op == "Div" && constant == 0) return false;
  const OnnxValue& c = value(node, constant);
  if (!c.known() || c.stands || value(node, 1 - constant).known()) return false;
  OnnxValue x = materialised(real(node, 1 - constant));
  if (broadcast_shape(x.shape, c.shape) != x.shape) return false;
  // All extents are 1, except at most one: the channels'.
  std::optional<std::size_t> axis;
  for (std::size_t i = 0; i < c.shape.size(); ++i) {
    if (c.shape[i] == 1) continue;
    if (axis) return false;
    axis = x.shape.size() - c.shape.size() + i;
  }
  if (axis && x.axes.back() != to_signed(*axis)) {
    Extents axes;
    for (std::size_t i = 0; i < x.shape.size(); ++i) {
      if (i != *axis) axes.push_back(to_signed(i));
    }
    axes.push_back(to_signed(*axis));
    x = laid_out(x, axes);
  }
  std::vector<double> factors, offsets;
  for (const double number : c.constant->values()) {
    const auto [factor, offset] = factor_and_offset(node.op, number, constant == 0);
    factors.push_back(factor), offsets.push_back(offset);
  }
  const Held made = emitter_.linear(x.held, factors, offsets, need_result(node));
  if (calibration_ == nullptr) emitter_.name_inexact(made, "scale");
  set(node, made_of(made, x.shape, x.axes));
  return true;
}

void OnnxLowering::linear(const GraphNode& node, Attributes& attributes) {
  const OnnxValue x = materialised(real(node, 0));
  Wanted wanted = need_result(node);
  double factor = -1, offset = 0;
  if (node.op == "HardSigmoid") {
    factor = static_cast<double>(attributes.real("alpha", 0.2F));
    offset = static_cast<double>(attributes.real("beta", 0.5F));
    const auto limits = element_range(0, 1, wanted), before = wanted.range.value_or(limits);
    wanted.range =
        std::array<std::int64_t, 2>{std::max(limits[0], before[0]), std::min(limits[1], before[1])};
  }
  set(node, made_of(emitter_.linear(x.held, {factor}, {offset}, wanted), x.shape, x.axes));
}

void OnnxLowering::elementwise(const GraphNode& node, Attributes&) {
  if (node.inputs.size() == 1 && node.op == "Sum") return set(node, value(node, 0));
  if (node.inputs.size() != 2) throw Unsupported(fmt::format("{} operands", node.inputs.size()));
  if (reads_reals(node)) return real_elementwise(node);
  if (with_constant(node, 0) || with_constant(node, 1)) return;
  // A float32 constant between quantised tensors gets the scale that its values need.
  bool rounded = false;
  std::array<OnnxValue, 2> operands;
  for (std::size_t i = 0; i < 2; ++i) {
    const OnnxValue& found = value(node, i);
    const bool plain = found.known() && !found.stands && calibration_ == nullptr;
    rounded = rounded || plain;
    const Quantisation q = plain ? range_of(found.constant->values()) : Quantisation{};
    operands[i] =
        plain ? held_constant(quantised_constant(*found.constant, q), q, graph_.tensors[*node.inputs[i]].name)
              : real(node, i);
  }
  const std::string op = node.op == "Sum" ? "add" : lower_case(node.op);
  if (!rounded) return combine(node, op, operands[0], operands[1], need_result(node));
  set(node, combined(op, operands[0], operands[1], need_result(node), Rounding::kExact));
}

/// Operands that do not have the result's scale are brought to it first, which keeps their order; then
/// elements are compared.
void OnnxLowering::extreme(const GraphNode& node, Attributes&) {
  if (reads_reals(node)) return real_elementwise(node);
  const Wanted wanted = need_result(node);
  const std::string op = lower_case(node.op);
  std::optional<OnnxValue> all;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Wanted alike{fmt::format("{}_part{}", wanted.name, i), wanted.type, wanted.scale,
                       wanted.zero_point};
    OnnxValue part = value(node, i);
    if (part.known() && !part.stands) {
      const Quantisation q{{wanted.scale}, {wanted.zero_point}, 0};
      part = held_constant(quantised_constant(*part.constant, q, wanted.type), q, alike.name);
    } else {
      part = materialised(real(node, i));
      const bool same = part.held.scale == alike.scale && part.held.zero_point == alike.zero_point &&
                        part.held.type == alike.type;
      if (!same) part.held = emitter_.function("requantize", part.held, part.held.shape, alike);
    }
    if (!all) {
      all = part;
      continue;
    }
    const bool last = i + 1 == node.inputs.size();
    all = combined(
        op, *all, part,
        last ? wanted
             : Wanted{fmt::format("{}_some{}", wanted.name, i), wanted.type, wanted.scale, wanted.zero_point},
        Rounding::kSame);
  }
  if (node.inputs.size() == 1 && wanted.range)
    all->held = emitter_.function("requantize", all->held, all->held.shape, wanted);
  set(node, *all);
}

void OnnxLowering::quantised_elementwise(const GraphNode& node, Attributes&) {
  const OnnxValue a = quantised(node, 0, 1, 2), b = quantised(node, 3, 4, 5);
  combine(node, node.op == "com.microsoft.QLinearAdd" ? "add" : "mul", a, b, quantised_result(node, 6, 7));
}

void OnnxLowering::average(const GraphNode& node, Attributes& attributes, OnnxValue x, const Wanted& wanted,
                           Layout layout) {
  if (layout == Layout::kPlain && x.shape.size() == 4) {  // the source's own order is [N, H, W, C]
    x = laid_out(x, Layout::kPlain);
    x.shape = x.viewed = {x.shape[0], x.shape[3], x.shape[1], x.shape[2]};
  } else {
    x = laid_out(x, Layout::kMap);
  }
  const Extents map = as_map(x.shape);
  const OnnxWindow window = read_window(attributes, map, std::nullopt, x.shape.size());
  const bool include = attributes.integer("count_include_pad", 0) != 0;
  if (window.dilation != std::array<std::int64_t, 2>{1, 1}) throw Unsupported("dilations");
  const WindowFields fields = whole_windows(window, map);
  if (include && (fields.pads[2] > window.pads[2] || fields.pads[3] > window.pads[3]))
    throw Unsupported("count_include_pad with ceil_mode");
  const Held made = emitter_.average_pool(x.held, fields, include,
                                          {map[0], window.output[0], window.output[1], map[1]}, wanted);
  if (layout == Layout::kPlain)
    return set(node, made_of(made, {map[0], window.output[0], window.output[1], map[1]},
                             layout_axes(Layout::kPlain, 4)));
  const Extents shape = from_map({map[0], map[1], window.output[0], window.output[1]}, x.shape.size());
  set(node, made_of(made, shape, layout_axes(Layout::kMap, shape.size())));
}

void OnnxLowering::pool(const GraphNode& node, Attributes& attributes) {
  if (node.op == "AveragePool") {
    const OnnxValue x = real(node, 0);
    return average(node, attributes, x, need_result(node), Layout::kMap);
  }
  if (node.outputs.size() > 1 && node.outputs[1]) throw Unsupported("indices");
  OnnxValue x = value(node, 0);
  if (x.known() || x.held.type == ElementType::kFloat32 || x.held.type == ElementType::kInt32)
    x = real(node, 0);
  x = laid_out(x, Layout::kMap);
  const Extents map = as_map(x.shape);
  OnnxWindow window;
  window.kernel = window.stride = {map[2], map[3]};
  if (node.op == "MaxPool") {
    window = read_window(attributes, map, std::nullopt, x.shape.size());
    if (attributes.integer("storage_order", 0) != 0) throw Unsupported("storage_order 1");
  }
  const std::string name = graph_.tensors[*node.outputs.at(0)].name;
  const Held made = emitter_.max_pool(x.held, whole_windows(window, map),
                                      {map[0], window.output[0], window.output[1], map[1]},
                                      {name, x.held.type, x.held.scale, x.held.zero_point});
  const Extents shape = from_map({map[0], map[1], window.output[0], window.output[1]}, x.shape.size());
  OnnxValue result = made_of(made, shape, layout_axes(Layout::kMap, shape.size()));
  result.real = x.real;
  set(node, result);
}

void OnnxLowering::quantised_pool(const GraphNode& node, Attributes& attributes) {
  const bool last = attributes.integer("channels_last", 0) != 0;
  average(node, attributes, quantised(node, 0, 1, 2), quantised_result(node, 3, 4),
          last ? Layout::kPlain : Layout::kMap);
}

/// The value with `axes` of the source adjacent in its holder; if they are not, they become the last axes.
OnnxValue OnnxLowering::with_neighbours(const OnnxValue& value, const std::vector<std::int64_t>& axes) {
  const auto is_one = [&axes](std::int64_t axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  Extents order;
  for (const std::int64_t axis : value.axes) {
    // Axes of extent 1 never separate others.
    if (nth(value.shape, axis) != 1 || is_one(axis)) order.push_back(is_one(axis));
  }
  const auto first = std::find(order.begin(), order.end(), 1);
  const auto end = std::find(first, order.end(), 0);
  if (std::find(end, order.end(), 1) == order.end()) return value;
  Extents wanted = value.axes;
  std::stable_partition(wanted.begin(), wanted.end(), [&](std::int64_t axis) { return !is_one(axis); });
  return laid_out(value, wanted);
}

/// `axes` of the source, which rise.
void OnnxLowering::mean(const GraphNode& node, const std::string& op, OnnxValue x,
                        std::vector<std::int64_t> axes, bool keep, const Wanted& wanted, Rounding rounding) {
  x = with_neighbours(materialised(x), axes);
  const std::size_t rank = x.shape.size();
  Extents kept = x.shape, shape, order, held_axes;
  for (const std::int64_t axis : axes) {
    nth(kept, axis) = 1;
    const auto at = std::find(x.axes.begin(), x.axes.end(), axis) - x.axes.begin();
    held_axes.push_back(to_signed(map_axis(to_size(at), rank)));
  }
  std::sort(held_axes.begin(), held_axes.end());
  // Axes between the reduced ones have extent 1, so the reduction may include them.
  Extents between(to_size(held_axes.back() - held_axes.front() + 1));
  std::iota(between.begin(), between.end(), held_axes.front());
  held_axes = between;
  const Extents reduced = held_shape(kept, x.axes);
  const bool moves = op == "reduce_max";  // keeps scale and zero point
  Held made = moves ? emitter_.movement(op, {x.held}, reduced, wanted.name, {{"axes", held_axes}})
                    : emitter_.function(op, x.held, reduced, wanted, {{"axes", held_axes}}, rounding);
  const bool same = made.scale == wanted.scale && made.zero_point == wanted.zero_point;
  if (moves && !same) made = emitter_.function("requantize", made, reduced, wanted);
  if (keep) return set(node, made_of(made, kept, x.axes));
  std::vector<std::int64_t> place(rank, 0);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    place[axis] = ssize(shape);
    if (std::find(axes.begin(), axes.end(), to_signed(axis)) == axes.end()) shape.push_back(kept[axis]);
  }
  for (const std::int64_t axis : x.axes) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) order.push_back(nth(place, axis));
  }
  set(node, made_of(emitter_.reshape(made, held_shape(shape, order), made.holder + "_map"), shape, order));
}

void OnnxLowering::reduce(const GraphNode& node, Attributes& attributes) {
  const OnnxValue x = real(node, 0);
  const std::size_t rank = x.shape.size();
  std::vector<std::int64_t> axes;
  bool keep = true;
  if (node.op == "GlobalAveragePool") {
    for (std::size_t axis = 2; axis < rank; ++axis) axes.push_back(to_signed(axis));
  } else {
    keep = attributes.integer("keepdims", 1) != 0;
    if (has(node, 1) && !value(node, 1).known()) throw Unsupported("axes that are not known");
    for (const std::int64_t axis : axes_of(attributes, known(node)).value_or(Extents{}))
      axes.push_back(to_signed(axis_of(axis, rank)));
    if (attributes.integer("noop_with_empty_axes", 0) != 0 && axes.empty()) return set(node, x);
    for (std::size_t axis = 0, all = axes.empty() ? rank : 0; axis < all; ++axis)
      axes.push_back(to_signed(axis));
  }
  std::sort(axes.begin(), axes.end());
  if (axes.empty() || std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    throw Unsupported("axes that are said twice, or none");
  const std::string op = node.op == "ReduceSum"   ? "reduce_sum"
                         : node.op == "ReduceMax" ? "reduce_max"
                                                  : "reduce_mean";
  const bool named = node.op == "GlobalAveragePool" || calibration_ != nullptr;
  mean(node, op, x, axes, keep, need_result(node), named ? Rounding::kRuntime : Rounding::kExact);
}

void OnnxLowering::quantised_global_pool(const GraphNode& node, Attributes& attributes) {
  const OnnxValue x = quantised(node, 0, 1, 2);
  const bool last = attributes.integer("channels_last", 0) != 0;
  std::vector<std::int64_t> axes;
  for (std::size_t axis = last ? 1 : 2; axis < x.shape.size() - (last ? 1 : 0); ++axis)
    axes.push_back(to_signed(axis));
  if (axes.empty()) throw Unsupported("a tensor without spatial axes");
  mean(node, "reduce_mean", x, axes, true, quantised_result(node, 3, 4), Rounding::kRuntime);
}

/// Softmax of rows along `axis`; before opset 13 a row covers all axes from `axis` on.
void OnnxLowering::rows_softmax(const GraphNode& node, OnnxValue x, std::int64_t axis, bool one_axis,
                                const Wanted& wanted) {
  const std::size_t rank = x.shape.size(), at = axis_of(axis, rank);
  const bool alone =
      std::all_of(x.shape.begin() + to_signed(at) + 1, x.shape.end(), [](auto e) { return e == 1; });
  if (!one_axis && !alone) {
    x = laid_out(x, Layout::kPlain);
    std::int64_t row = 1;
    for (std::size_t i = at; i < rank; ++i) row *= x.shape[i];
    const Held rows =
        emitter_.reshape(x.held, {element_count(x.shape) / row, 1, 1, row}, x.held.holder + "_rows");
    Held made = emitter_.function("softmax", rows, rows.shape, wanted);
    made = emitter_.reshape(made, x.held.shape, wanted.name + "_map");
    return set(node, made_of(made, x.shape, x.axes));
  }
  Extents axes;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i != at) axes.push_back(to_signed(i));
  }
  axes.push_back(to_signed(at));
  x = laid_out(x, materialised(x).axes.back() == to_signed(at) ? materialised(x).axes : axes);
  set(node, made_of(emitter_.function("softmax", x.held, x.held.shape, wanted), x.shape, x.axes));
}

void OnnxLowering::softmax(const GraphNode& node, Attributes& attributes) {
  if (node.op == "Softmax") {
    const OnnxValue x = real(node, 0);
    const bool one_axis = graph_.opset >= 13;
    const std::int64_t axis = attributes.integer("axis", one_axis ? -1 : 1);
    return rows_softmax(node, x, axis, one_axis, need_result(node));
  }
  const bool one_axis = attributes.integer("opset", 13) >= 13;
  const OnnxValue x = quantised(node, 0, 1, 2);
  rows_softmax(node, x, attributes.integer("axis", -1), one_axis, quantised_result(node, 3, 4));
}

void OnnxLowering::causal_softmax(const GraphNode& node, Attributes& attributes) {
  OnnxValue x = real(node, 0);
  Extents axes;
  for (std::int64_t i = 0; i < ssize(x.shape); ++i) axes.push_back(i);
  x = laid_out(x, axes);
  const std::size_t rank = x.shape.size();
  const std::int64_t queries = x.shape[rank - 2], keys = x.shape[rank - 1];
  const Held maps = emitter_.reshape(x.held, {1, element_count(x.shape) / (queries * keys), queries, keys},
                                     x.held.holder + "_heads");
  const Wanted wanted = need_result(node);
  FieldsJson causal{{"past", attributes.integer("past", 0)}};
  if (const std::int64_t window = attributes.integer("window", 0); window > 0) causal["window"] = window;
  const FieldsJson fields{{"causal", causal}};
  const Held made = emitter_.function("softmax", maps, maps.shape, wanted, fields, Rounding::kExact);
  set(node, made_of(emitter_.reshape(made, x.held.shape, wanted.name + "_map"), x.shape, x.axes));
}

void OnnxLowering::function(const GraphNode& node, Attributes& attributes) {
  const bool quantised_op = node.op.rfind("com.microsoft.QLinear", 0) == 0;
  const std::string op = quantised_op ? node.op.substr(21) : node.op;
  if (!quantised_op && (op == "Relu" || op == "Clip")) {
    // An activation that no result has taken in: the same numbers within its bounds.
    double low = 0, high = std::numeric_limits<double>::infinity();
    if (op == "Clip") {
      low = static_cast<double>(attributes.real("min", -std::numeric_limits<float>::infinity()));
      high = static_cast<double>(attributes.real("max", std::numeric_limits<float>::infinity()));
      if (has(node, 1)) low = numbers(node, 1).at(0);
      if (has(node, 2)) high = numbers(node, 2).at(0);
    }
    if (reads_reals(node)) return real_bounds(node, low, high);
    const OnnxValue x = real(node, 0);
    Wanted wanted = need_result(node);
    const auto limits = element_range(low, high, wanted);
    const auto before = wanted.range.value_or(limits);
    wanted.range =
        std::array<std::int64_t, 2>{std::max(before[0], limits[0]), std::min(before[1], limits[1])};
    return set(node, made_of(emitter_.function("requantize", materialised(x).held, materialised(x).held.shape,
                                               wanted),
                             x.shape, materialised(x).axes));
  }
  static const std::map<std::string, std::string> names{{"LeakyRelu", "leaky_relu"},
                                                        {"Sigmoid", "sigmoid"},
                                                        {"Tanh", "tanh"},
                                                        {"HardSwish", "hard_swish"},
                                                        {"Gelu", "gelu"},
                                                        {"Exp", "exp"},
                                                        {"Sqrt", "sqrt"},
                                                        {"Erf", "erf"}};
  const OnnxValue x = materialised(quantised_op ? quantised(node, 0, 1, 2) : real(node, 0));
  const Wanted wanted = quantised_op ? quantised_result(node, 3, 4) : need_result(node);
  FieldsJson fields = FieldsJson::object();
  if (op == "LeakyRelu") fields["slope"] = static_cast<double>(attributes.real("alpha", 0.01F));
  std::string name = names.at(op);
  if (op == "Gelu") {
    const std::string form = attributes.text("approximate", "none");
    if (form != "none" && form != "tanh") throw Unsupported(fmt::format("approximate {}", form));
    if (form == "tanh") name = "gelu_tanh";
  }
  set(node, made_of(emitter_.function(name, x.held, x.held.shape, wanted, fields, Rounding::kExact), x.shape,
                    x.axes));
}

}  // namespace tilebeat
