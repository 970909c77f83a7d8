// Parts of a quantised network that stay float32: layers that the host computes (--float-on-host). Their
// tensors lie in the source's shape and order of axes.
#include "base/types.h"
#include "import/onnx_lowering.h"
#include "import/problems.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// Operators that are one layer of the host, and its name.
const std::map<std::string, std::string>& host_names() {
  static const std::map<std::string, std::string> names{
      {"Add", "host_add"},
      {"Sub", "host_sub"},
      {"Mul", "host_mul"},
      {"Div", "host_div"},
      {"Max", "host_max"},
      {"Min", "host_min"},
      {"Sum", "host_add"},
      {"Pow", "host_pow"},
      {"Relu", "host_relu"},
      {"Clip", "host_clip"},
      {"LeakyRelu", "host_leaky_relu"},
      {"HardSigmoid", "host_hard_sigmoid"},
      {"HardSwish", "host_hard_swish"},
      {"Sigmoid", "host_sigmoid"},
      {"Tanh", "host_tanh"},
      {"Exp", "host_exp"},
      {"Erf", "host_erf"},
      {"Log", "host_log"},
      {"Sqrt", "host_sqrt"},
      {"Abs", "host_abs"},
      {"Neg", "host_neg"},
      {"Softmax", "host_softmax"},
      {"ReduceMean", "host_reduce_mean"},
      {"ReduceSum", "host_reduce_sum"},
      {"Conv", "host_conv"},
      {"MaxPool", "host_max_pool"},
      {"AveragePool", "host_average_pool"},
      {"GlobalMaxPool", "host_max_pool"},
      {"GlobalAveragePool", "host_global_average_pool"},
      {"MatMul", "host_matmul"},
      {"Gemm", "host_gemm"},
      {"Transpose", "host_transpose"},
      {"Slice", "host_slice"},
      {"Split", "host_slice"},
      {"Concat", "host_concat"},
      {"Reshape", "host_reshape"},
      {"Flatten", "host_reshape"},
      {"Squeeze", "host_reshape"},
      {"Unsqueeze", "host_reshape"},
      {"Identity", ""},
      {"Dropout", ""},
  };
  return names;
}

bool is_product(const std::string& op) {
  return op == "Conv" || op == "Gemm" || op == "MatMul";
}

/// Layers have an axis at least.
Extents with_an_axis(const Extents& shape) {
  return shape.empty() ? Extents{1} : shape;
}

FieldsJson window_fields(const WindowFields& window) {
  return {{"stride", window.stride}, {"dilation", window.dilation}, {"pads", window.pads}};
}

}  // namespace

bool runs_on_host(const std::string& op) {
  return host_names().count(op) != 0;
}

bool OnnxLowering::quantised_behind(const GraphNode& node) const {
  if (node.outputs.empty() || !node.outputs[0]) return false;
  std::size_t tensor = *node.outputs[0];
  while (readers_[tensor].size() == 1 && !is_output_[tensor]) {
    const GraphNode& next = graph_.nodes[readers_[tensor].front()];
    if (next.op == "QuantizeLinear") return true;
    if ((next.op != "Relu" && next.op != "Clip") || next.inputs[0] != tensor || !next.outputs.at(0)) break;
    tensor = *next.outputs[0];
  }
  return false;
}

bool OnnxLowering::stays_on_host(std::size_t index) const {
  const GraphNode& node = graph_.nodes[index];
  if (!options_.float_on_host || node.op == "QuantizeLinear" || node.op == "DequantizeLinear") return false;
  bool stands = false;  // integers that stand for real numbers
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i] || !values_[*node.inputs[i]]) continue;
    const OnnxValue& x = *values_[*node.inputs[i]];
    const bool weights = is_product(node.op) && i < 2;
    if (x.known() ? weights && !x.stands : x.held.type == ElementType::kFloat32) return true;
    stands = stands || (!x.known() && x.real);
  }
  const auto row = table().find(node.op);
  const bool moves = row != table().end() && row->second.promise == Promise::kMoves;
  // Sums of Conv and Gemm may be a layer's result.
  if (!stands || node.op == "Conv" || node.op == "Gemm" || moves) return false;
  const Chain chain = chain_from(index);
  return !quantised_behind(chain.nodes.empty() ? node : graph_.nodes[chain.nodes.back()]);
}

void OnnxLowering::sums_to_reals(const GraphNode& node, float x_scale, const Kernels& kernels) {
  OnnxValue& made = *values_[*node.outputs.at(0)];
  const std::string name = graph_.tensors[*node.outputs[0]].name + "_real";
  if (options_.float_on_host)
    emitter_.name_inexact(made.held, "exact sums, which the runtime computes in float32");
  if (kernels.scales.size() == 1) {
    made.held.scale = x_scale * kernels.scales[0];
    made.held = emitter_.dequantize(made.held, name);
    return;
  }
  if (!options_.float_on_host)
    throw Unsupported(
        fmt::format("its result is not quantised: no QuantizeLinear alone reads it; {}", kFloatParts));
  std::vector<double> scales;  // one a channel, which is the last axis of the holder
  for (const float scale : kernels.scales) scales.push_back(static_cast<double>(x_scale * scale));
  made.held.holder = builder_.add_layer(name, "host_dequantize", {made.held.holder}, {{"scale", scales}});
  made.held.type = ElementType::kFloat32;
}

/// A layer of the host with a result of shape `shape`.
OnnxValue OnnxLowering::host_layer(const std::string& name, const std::string& op,
                                   const std::vector<OnnxValue>& inputs, const Extents& shape,
                                   const FieldsJson& fields) {
  std::vector<std::string> holders;
  for (const OnnxValue& input : inputs) holders.push_back(input.held.holder);
  const Held held{builder_.add_layer(name, op, holders, fields), with_an_axis(shape), ElementType::kFloat32};
  return made_of(held, shape, layout_axes(Layout::kPlain, shape.size()));
}

OnnxValue OnnxLowering::host_reshaped(const OnnxValue& x, const Extents& shape, const std::string& name) {
  if (x.held.shape == with_an_axis(shape))
    return made_of(x.held, shape, layout_axes(Layout::kPlain, shape.size()));
  return host_layer(name, "host_reshape", {x}, shape, {{"shape", with_an_axis(shape)}});
}

/// Operand `i` as float32 in the source's shape and order of axes.
OnnxValue OnnxLowering::host_operand(const GraphNode& node, std::size_t i) {
  const OnnxValue& found = value(node, i);
  const std::size_t tensor = *node.inputs[i];
  const auto known = on_host_.find(tensor);
  if (known != on_host_.end()) return known->second;
  const std::string name = graph_.tensors[tensor].name;
  OnnxValue x = found;
  if (found.known()) {
    Constant real = *found.constant;
    if (found.stands) real = real_constant(*found.constant, *found.stands);
    real.shape = with_an_axis(real.shape);
    x = made_of({"", real.shape, ElementType::kFloat32}, found.shape,
                layout_axes(Layout::kPlain, found.shape.size()));
    const Constant stored = make_constant(ElementType::kFloat32, real.shape, real.values());
    x.held.holder =
        builder_.add_input(name, real.shape, ElementType::kFloat32, 0, builder_.add_tensor(name, stored));
  } else {
    x = materialised(x);
    if (x.real) x.held = emitter_.dequantize(x.held, name + "_real");
    if (x.held.type != ElementType::kFloat32)
      throw Unsupported(
          fmt::format("its input {} is {}, the host reads float32", i, element_name(x.held.type)));
    const Extents plain = layout_axes(Layout::kPlain, x.shape.size());
    if (x.axes != plain) {
      Extents held, perm(x.axes.size());
      for (std::size_t axis = 0; axis < x.axes.size(); ++axis) {
        held.push_back(nth(x.shape, x.axes[axis]));
        nth(perm, x.axes[axis]) = to_signed(axis);
      }
      x = host_reshaped(x, held, name + "_axes");
      x = host_layer(name + "_plain", "host_transpose", {x}, found.shape, {{"axes", perm}});
    }
    x = host_reshaped(x, found.shape, name + "_shape");
  }
  x.real = false;
  return on_host_[tensor] = x;
}

/// A float32 result of the host in the shape and the order of axes that layers of the chip read.
OnnxValue OnnxLowering::for_chip(const OnnxValue& value, const std::string& name) {
  OnnxValue x = value;
  const Extents axes = layout_axes(input_layout_, x.shape.size());
  if (x.axes != axes) {
    if (x.axes != layout_axes(Layout::kPlain, x.shape.size())) throw Unsupported("another order of axes");
    Extents held;
    for (const std::int64_t axis : axes) held.push_back(nth(x.shape, axis));
    x = host_layer(name + "_map", "host_transpose", {x}, held, {{"axes", axes}});
  }
  x = host_reshaped(x, map_shape(x.held.shape), name + "_shape");
  return made_of(x.held, value.shape, axes);
}

void OnnxLowering::host(const GraphNode& node, Attributes& attributes) {
  const auto found = host_names().find(node.op);
  if (found == host_names().end())
    throw Unsupported(
        "reads or makes float32, and the host does not compute it; --calibrate X.npy quantises it instead");
  const std::string& op = found->second;
  const std::string name = graph_.tensors[node.outputs.at(0).value()].name;
  if (node.op == "Conv") return host_convolution(node, attributes);
  if (node.op.find("Pool") != std::string::npos) return host_pool(node, attributes, op);
  if (node.op == "MatMul" || node.op == "Gemm") return host_product(node, attributes);
  if (op == "host_slice") return host_slice(node, attributes);
  if (node.op == "ReduceMean" || node.op == "ReduceSum") return host_reduction(node, attributes, op);
  const OnnxValue x = host_operand(node, 0);
  if (op.empty() || op == "host_reshape" || op == "host_transpose" || op == "host_concat")
    return host_move(node, attributes, op);
  if (node.op == "Softmax") return host_softmax(node, attributes);
  const bool combines = op == "host_add" || op == "host_sub" || op == "host_mul" || op == "host_div" ||
                        op == "host_max" || op == "host_min" || op == "host_pow";
  if (combines) {
    OnnxValue made = x;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const OnnxValue other = host_operand(node, i);
      made = host_layer(name, op, {made, other}, broadcast_shape(made.shape, other.shape));
    }
    return set(node, made);
  }
  FieldsJson fields = FieldsJson::object();
  if (node.op == "Clip") {
    // Without a bound the runtime has the last finite number: infinity becomes that.
    const float least = attributes.real("min", std::numeric_limits<float>::lowest());
    const float most = attributes.real("max", std::numeric_limits<float>::max());
    const double low = has(node, 1) ? numbers(node, 1).at(0) : static_cast<double>(least);
    const double high = has(node, 2) ? numbers(node, 2).at(0) : static_cast<double>(most);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (std::isnan(low) || std::isnan(high) || low == kInfinity || high == -kInfinity)
      throw Unsupported(fmt::format("bounds {} and {}", low, high));
    if (low != -kInfinity) fields["low"] = low;
    if (high != kInfinity) fields["high"] = high;
  } else if (node.op == "LeakyRelu") {
    fields["slope"] = static_cast<double>(attributes.real("alpha", 0.01F));
  } else if (node.op == "HardSigmoid") {
    fields["slope"] = static_cast<double>(attributes.real("alpha", 0.2F));
    fields["offset"] = static_cast<double>(attributes.real("beta", 0.5F));
  }
  set(node, host_layer(name, op, {x}, x.shape, fields));
}

void OnnxLowering::host_move(const GraphNode& node, Attributes& attributes, const std::string& op) {
  const std::string name = graph_.tensors[*node.outputs[0]].name;
  const OnnxValue x = host_operand(node, 0);
  if (op.empty()) {
    for (const char* unused : {"ratio", "seed", "is_test"}) attributes.without_effect(unused);
    return set(node, x);
  }
  if (op == "host_reshape")
    return set(node, host_reshaped(x, moved_shape(node, x.shape, known(node), attributes), name));
  if (op == "host_transpose") {
    Extents perm(x.shape.size()), shape;
    std::iota(perm.rbegin(), perm.rend(), 0);
    if (const auto wish = attributes.integers("perm")) perm = *wish;
    if (perm.size() != x.shape.size()) throw Unsupported("a perm of another rank");
    for (const std::int64_t axis : perm) shape.push_back(x.shape.at(to_size(axis)));
    return set(node, host_layer(name, op, {x}, shape, {{"axes", perm}}));
  }
  const auto axis = axis_of(attributes.integer("axis", 1), x.shape.size());
  std::vector<OnnxValue> parts{x};
  Extents shape = x.shape;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    parts.push_back(host_operand(node, i));
    shape[axis] += parts.back().shape.at(axis);
  }
  if (parts.size() == 1) return set(node, x);
  set(node, host_layer(name, op, parts, shape, {{"axis", axis}}));
}

void OnnxLowering::host_softmax(const GraphNode& node, Attributes& attributes) {
  constexpr std::int64_t kAlongOneAxis = 13;  // earlier opsets see a matrix that begins at the axis
  const std::string name = graph_.tensors[*node.outputs[0]].name;
  const OnnxValue x = host_operand(node, 0);
  const bool one = graph_.opset >= kAlongOneAxis;
  const std::size_t axis = axis_of(attributes.integer("axis", one ? -1 : 1), x.shape.size());
  if (one) return set(node, host_layer(name, "host_softmax", {x}, x.shape, {{"axis", axis}}));
  Extents rows(x.shape.begin(), x.shape.begin() + to_signed(axis));
  const Extents matrix{element_count(rows), element_count(x.shape) / element_count(rows)};
  const OnnxValue made =
      host_layer(name, "host_softmax", {host_reshaped(x, matrix, name + "_rows")}, matrix, {{"axis", 1}});
  set(node, host_reshaped(made, x.shape, name + "_shape"));
}

void OnnxLowering::host_reduction(const GraphNode& node, Attributes& attributes, const std::string& op) {
  const std::string name = graph_.tensors[*node.outputs[0]].name;
  const OnnxValue x = host_operand(node, 0);
  const bool keep = attributes.integer("keepdims", 1) != 0;
  const bool none = attributes.integer("noop_with_empty_axes", 0) != 0;
  auto axes = axes_of(attributes, known(node));
  if ((!axes || axes->empty()) && none) return set(node, x);
  if (!axes || axes->empty()) {
    axes.emplace(x.shape.size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  Extents kept = x.shape, shape;
  for (std::int64_t& axis : *axes) {
    axis = to_signed(axis_of(axis, x.shape.size()));
    nth(kept, axis) = 1;
  }
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    const bool gone = std::find(axes->begin(), axes->end(), to_signed(i)) != axes->end();
    if (!gone) shape.push_back(x.shape[i]);
  }
  const OnnxValue made = host_layer(name, op, {x}, kept, {{"axes", *axes}});
  emitter_.name_inexact(made.held, op);
  set(node, keep ? made : host_reshaped(made, shape, name + "_shape"));
}

void OnnxLowering::host_convolution(const GraphNode& node, Attributes& attributes) {
  const std::string name = graph_.tensors[*node.outputs[0]].name;
  OnnxValue x = host_operand(node, 0), kernels = host_operand(node, 1);
  const Extents map = as_map(x.shape), k = as_map(kernels.shape);
  const OnnxWindow window = read_window(attributes, map, Extents{k[2], k[3]}, x.shape.size());
  FieldsJson fields = window_fields({window.kernel, window.stride, window.dilation, window.pads});
  fields["groups"] = attributes.integer("group", 1);
  if (!value(node, 1).known()) fields["weights"] = "result";
  std::vector<OnnxValue> inputs{host_reshaped(x, map, name + "_map"),
                                host_reshaped(kernels, k, name + "_kernels")};
  if (has(node, 2)) inputs.push_back(host_operand(node, 2));
  const Extents made{map[0], k[0], window.output[0], window.output[1]};
  set(node, host_reshaped(host_layer(name, "host_conv", inputs, made, fields), from_map(made, x.shape.size()),
                          name + "_shape"));
}

void OnnxLowering::host_pool(const GraphNode& node, Attributes& attributes, const std::string& op) {
  if (node.outputs.size() > 1 && node.outputs[1]) throw Unsupported("indices");
  const std::string name = graph_.tensors[*node.outputs[0]].name;
  const OnnxValue x = host_operand(node, 0);
  const Extents map = as_map(x.shape);
  if (op == "host_global_average_pool") {
    const OnnxValue made =
        host_layer(name, op, {host_reshaped(x, map, name + "_map")}, {map[0], map[1], 1, 1});
    return set(node, host_reshaped(made, from_map(made.shape, x.shape.size()), name + "_shape"));
  }
  OnnxWindow window;
  window.kernel = {map[2], map[3]};
  if (node.op.rfind("Global", 0) != 0) window = read_window(attributes, map, std::nullopt, x.shape.size());
  const WindowFields whole = whole_windows(window, map);
  FieldsJson fields = window_fields(whole);
  fields["kernel"] = whole.kernel;
  if (op == "host_average_pool") {
    if (window.dilation != std::array<std::int64_t, 2>{1, 1}) throw Unsupported("dilations");
    fields.erase("dilation");
    const bool include = attributes.integer("count_include_pad", 0) != 0;
    if (include && (whole.pads[2] > window.pads[2] || whole.pads[3] > window.pads[3]))
      throw Unsupported("count_include_pad with ceil_mode");
    fields["count_include_pad"] = include;
  } else if (attributes.integer("storage_order", 0) != 0) {
    throw Unsupported("storage_order 1");
  }
  const Extents made{map[0], map[1], window.output[0], window.output[1]};
  set(node, host_reshaped(host_layer(name, op, {host_reshaped(x, map, name + "_map")}, made, fields),
                          from_map(made, x.shape.size()), name + "_shape"));
}

void OnnxLowering::host_product(const GraphNode& node, Attributes& attributes) {
  const std::string name = graph_.tensors[*node.outputs[0]].name;
  const OnnxValue a = host_operand(node, 0), b = host_operand(node, 1);
  if (a.shape.size() < 2 || b.shape.size() < 2) throw Unsupported("an operand of one axis");
  FieldsJson fields = FieldsJson::object();
  if (!value(node, 1).known()) fields["weights"] = "result";
  std::vector<OnnxValue> inputs{a, b};
  if (node.op == "MatMul") {
    Extents shape =
        broadcast_shape({a.shape.begin(), a.shape.end() - 2}, {b.shape.begin(), b.shape.end() - 2});
    shape.push_back(a.shape[a.shape.size() - 2]), shape.push_back(b.shape.back());
    OnnxValue made = host_layer(name, "host_matmul", inputs, shape, fields);
    if (has(node, 2)) made = host_layer(name, "host_add", {made, host_operand(node, 2)}, shape);
    return set(node, made);
  }
  const bool ta = attributes.integer("transA", 0) != 0, tb = attributes.integer("transB", 0) != 0;
  fields["a_transposed"] = ta, fields["b_transposed"] = tb;
  fields["alpha"] = static_cast<double>(attributes.real("alpha", 1));
  fields["beta"] = static_cast<double>(attributes.real("beta", 1));
  if (has(node, 2)) inputs.push_back(host_operand(node, 2));
  set(node, host_layer(name, "host_gemm", inputs, {a.shape.at(ta ? 1 : 0), b.shape.at(tb ? 0 : 1)}, fields));
}

/// Slice and Split.
void OnnxLowering::host_slice(const GraphNode& node, Attributes& attributes) {
  const OnnxValue x = host_operand(node, 0);
  if (node.op == "Slice") {
    const SliceRange range = read_slice(attributes, known(node), x.shape);
    if (element_count(range.shape) == 0) throw Unsupported("a result without elements");
    return set(node, host_layer(graph_.tensors[*node.outputs[0]].name, "host_slice", {x}, range.shape,
                                {{"begin", range.starts}, {"size", range.shape}, {"step", range.steps}}));
  }
  const std::size_t axis = axis_of(attributes.integer("axis", 0), x.shape.size());
  Extents begin(x.shape.size(), 0);
  std::size_t i = 0;
  for (const std::int64_t part : read_split(attributes, known(node), x.shape[axis], node.outputs.size())) {
    Extents shape = x.shape;
    shape[axis] = part;
    if (node.outputs[i])
      set(node,
          host_layer(graph_.tensors[*node.outputs[i]].name, "host_slice", {x}, shape,
                     {{"begin", begin}, {"size", shape}}),
          i);
    begin[axis] += part, ++i;
  }
}

}  // namespace tilebeat
