// Chains of operators on single elements as one table, and operators on float32 tensors.
#include "base/types.h"
#include "import/onnx_lowering.h"
#include "import/problems.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// Operators whose results are functions of one element where all other operands are numbers. The last column
/// says whether float32 has one result, which every runtime computes.
struct TableOp {
  std::string_view name;
  bool exact;
};
constexpr std::array<TableOp, 57> kTableOps{{{"Add", true},
                                             {"Sub", true},
                                             {"Mul", true},
                                             {"Div", true},
                                             {"Neg", true},
                                             {"Abs", true},
                                             {"Relu", true},
                                             {"Clip", true},
                                             {"Max", true},
                                             {"Min", true},
                                             {"Floor", true},
                                             {"Ceil", true},
                                             {"Round", true},
                                             {"Sign", true},
                                             {"Reciprocal", true},
                                             {"LeakyRelu", true},
                                             {"PRelu", true},
                                             {"ThresholdedRelu", true},
                                             {"Shrink", true},
                                             {"Equal", true},
                                             {"Greater", true},
                                             {"Less", true},
                                             {"GreaterOrEqual", true},
                                             {"LessOrEqual", true},
                                             {"And", true},
                                             {"Or", true},
                                             {"Xor", true},
                                             {"Not", true},
                                             {"Where", true},
                                             {"Cast", true},
                                             {"Sqrt", false},
                                             {"HardSigmoid", false},
                                             {"HardSwish", false},
                                             {"Softsign", false},
                                             {"Sigmoid", false},
                                             {"Tanh", false},
                                             {"Exp", false},
                                             {"Log", false},
                                             {"Erf", false},
                                             {"Gelu", false},
                                             {"Pow", false},
                                             {"Sin", false},
                                             {"Cos", false},
                                             {"Tan", false},
                                             {"Asin", false},
                                             {"Acos", false},
                                             {"Atan", false},
                                             {"Sinh", false},
                                             {"Cosh", false},
                                             {"Asinh", false},
                                             {"Acosh", false},
                                             {"Atanh", false},
                                             {"Softplus", false},
                                             {"Elu", false},
                                             {"Selu", false},
                                             {"Mish", false},
                                             {"Celu", false}}};

const TableOp* table_op(const std::string& name) {
  const auto* const found =
      std::find_if(kTableOps.begin(), kTableOps.end(), [&](const TableOp& op) { return op.name == name; });
  return found == kTableOps.end() ? nullptr : found;
}

/// Whether the result is a real number, not the truth of a comparison.
bool makes_reals(const GraphNode& node) {
  static const std::set<std::string> truths{
      "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor", "Not"};
  if (node.op != "Cast") return truths.count(node.op) == 0;
  const auto to = node.attributes.find("to");
  const auto* type = to == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&to->second);
  return type != nullptr && onnx_type(static_cast<std::int32_t>(*type)) == ElementType::kFloat32;
}

bool only_bounds(const GraphNode& node) {
  return node.op == "Relu" || node.op == "Clip";
}

constexpr std::size_t kLongestChain = 48;  // nodes that are looked at

}  // namespace

std::optional<bool> OnnxLowering::chain_promise(const std::string& op) {
  const TableOp* found = table_op(op);
  return found == nullptr ? std::nullopt : std::optional(found->exact);
}

/// Whether a node adds 0, or multiplies or divides by 1.
bool OnnxLowering::changes_nothing(const GraphNode& node) const {
  const bool product = node.op == "Mul" || node.op == "Div", sum = node.op == "Add" || node.op == "Sub";
  if (node.op == "Identity") return true;
  if (!product && !sum) return false;
  for (std::size_t i = node.op == "Div" || node.op == "Sub" ? 1 : 0; i < node.inputs.size(); ++i) {
    const auto& value = values_[node.inputs[i].value()];
    if (!value || !value->known() || value->stands || value->constant->elements() != 1) continue;
    if (value->constant->values()[0] == (product ? 1 : 0)) return true;
  }
  return false;
}

/// The operands of a node that are neither numbers nor left out.
std::vector<std::size_t> OnnxLowering::unknown_operands(const GraphNode& node) const {
  std::vector<std::size_t> found;
  for (const auto& input : node.inputs) {
    if (!input) continue;
    const auto& value = values_[*input];
    const bool number = value && value->known() && !value->stands && value->constant->elements() == 1;
    if (!number) found.push_back(*input);
  }
  return found;
}

OnnxLowering::Chain OnnxLowering::chain_from(std::size_t first) const {
  Chain all;
  const auto starts = unknown_operands(graph_.nodes[first]);
  if (table_op(graph_.nodes[first].op) == nullptr || starts.empty()) return {};
  all.source = starts[0];
  const auto& source = values_[all.source];
  if (!source || source->known()) return {};
  std::set<std::size_t> of_source{all.source};
  for (std::size_t i = first; i < graph_.nodes.size() && i < first + kLongestChain; ++i) {
    const GraphNode& node = graph_.nodes[i];
    if (done_[i] || table_op(node.op) == nullptr || node.outputs.size() != 1 || !node.outputs[0]) continue;
    const auto operands = unknown_operands(node);
    const bool inside =
        !operands.empty() &&
        std::all_of(operands.begin(), operands.end(), [&](std::size_t t) { return of_source.count(t) != 0; });
    if (!inside) continue;
    all.nodes.push_back(i);
    of_source.insert(*node.outputs[0]);
  }
  // The longest beginning whose inner results nobody else reads.
  while (!all.nodes.empty()) {
    Chain whole = ancestors(all);
    const bool is_whole = whole.nodes.front() == first && closed(whole);
    if (is_whole && makes_reals(graph_.nodes[whole.nodes.back()])) return whole;
    all.nodes.pop_back();
  }
  return {};
}

/// The nodes that the last one of the chain depends on.
OnnxLowering::Chain OnnxLowering::ancestors(const Chain& chain) const {
  std::set<std::size_t> needed{*graph_.nodes[chain.nodes.back()].outputs[0]};
  Chain made{chain.source, {}};
  for (auto node = chain.nodes.rbegin(); node != chain.nodes.rend(); ++node) {
    if (needed.count(*graph_.nodes[*node].outputs[0]) == 0) continue;
    made.nodes.push_back(*node);
    for (const auto& input : graph_.nodes[*node].inputs) {
      if (input) needed.insert(*input);
    }
  }
  std::reverse(made.nodes.begin(), made.nodes.end());
  return made;
}

bool OnnxLowering::closed(const Chain& chain) const {
  for (const std::size_t node : chain.nodes) {
    if (node == chain.nodes.back()) continue;
    const std::size_t tensor = *graph_.nodes[node].outputs[0];
    if (is_output_[tensor]) return false;
    for (const std::size_t reader : readers_[tensor]) {
      if (std::find(chain.nodes.begin(), chain.nodes.end(), reader) == chain.nodes.end()) return false;
    }
  }
  return true;
}

bool OnnxLowering::tabulated(std::size_t first) {
  const GraphNode& node = graph_.nodes[first];
  const Chain chain = chain_from(first);
  if (chain.nodes.empty()) return false;
  const bool bounds = std::all_of(chain.nodes.begin(), chain.nodes.end(),
                                  [this](std::size_t i) { return only_bounds(graph_.nodes[i]); });
  // Between quantised tensors a table has the float32 arithmetic of the runtime, which other layers have not.
  const bool alone = chain.nodes.size() == 1 && table().count(node.op) != 0 &&
                     (calibration_ != nullptr || !table_op(node.op)->exact);
  if (bounds || alone) return false;
  const auto operand = std::find(node.inputs.begin(), node.inputs.end(), std::optional(chain.source));
  const OnnxValue& source = *values_[chain.source];
  if (!source.real && (calibration_ == nullptr || source.held.type != ElementType::kFloat32)) return false;
  const GraphNode& last = graph_.nodes[chain.nodes.back()];
  const OnnxValue x = materialised(real(node, to_size(operand - node.inputs.begin())));
  const Wanted wanted = need_result(last);
  bool exact = true;
  for (const std::size_t i : chain.nodes) {
    done_[i] = true;
    exact = exact && table_op(graph_.nodes[i].op)->exact;
  }
  // ONNX Runtime removes operators that change nothing, and merges the pairs around them.
  exact = exact && !std::all_of(chain.nodes.begin(), chain.nodes.end(),
                                [this](std::size_t i) { return changes_nothing(graph_.nodes[i]); });
  const auto table = results_of(chain, x.held, wanted);
  const Held made = emitter_.table(x.held, table, wanted,
                                   exact || calibration_ != nullptr ? Rounding::kSame : Rounding::kExact);
  set(last, made_of(made, x.shape, x.axes));
  return true;
}

/// The elements of the chain's result for every element of its source, computed in float32 node by node.
std::vector<std::int64_t> OnnxLowering::results_of(const Chain& chain, const Held& x,
                                                   const Wanted& wanted) const {
  const auto [low, high] = element_bounds(x.type);
  std::vector<double> reals;
  for (std::int64_t q = low; q <= high; ++q)
    reals.push_back(static_cast<double>(static_cast<float>(q - x.zero_point) * x.scale));
  std::map<std::size_t, Constant> found;
  found[chain.source] = make_constant(ElementType::kFloat32, {ssize(reals)}, reals);
  for (const std::size_t i : chain.nodes) {
    const GraphNode& node = graph_.nodes[i];
    KnownInputs inputs = known(node);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const auto own = node.inputs[k] ? found.find(*node.inputs[k]) : found.end();
      if (own != found.end()) inputs[k] = &own->second;
    }
    found[*node.outputs[0]] = evaluate(node, inputs, graph_.opset).at(0);
  }
  const auto bounds = wanted.range.value_or(element_bounds(wanted.type));
  std::vector<std::int64_t> made;
  for (const double value : found[*graph_.nodes[chain.nodes.back()].outputs[0]].values()) {
    const double quotient = static_cast<double>(static_cast<float>(value) / wanted.scale);
    const double element =
        std::isnan(quotient) ? 0 : std::nearbyint(quotient) + static_cast<double>(wanted.zero_point);
    made.push_back(
        whole_number(std::clamp(element, static_cast<double>(bounds[0]), static_cast<double>(bounds[1]))));
  }
  return made;
}

// ---- float32 ----

/// Whether the operands of a node are float32 tensors, which nothing has quantised, and constants.
bool OnnxLowering::reads_reals(const GraphNode& node) const {
  bool any = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!has(node, i)) continue;
    const OnnxValue& x = value(node, i);
    if (!x.known() && x.held.type != ElementType::kFloat32) return false;
    any = any || !x.known();
  }
  return any;
}

OnnxValue OnnxLowering::real_operand(const GraphNode& node, std::size_t i) {
  const OnnxValue& x = value(node, i);
  if (!x.known()) return x;
  if (x.stands) throw Unsupported("quantised constants beside float32");
  OnnxValue made;
  made.shape = made.viewed = x.shape;
  made.axes = layout_axes(Layout::kPlain, x.shape.size());
  made.held = {"", map_shape(x.shape), ElementType::kFloat32};
  const std::string name = graph_.tensors[*node.inputs[i]].name;
  made.held.holder = builder_.add_input(
      name, made.held.shape, ElementType::kFloat32, 0,
      builder_.add_tensor(name, make_constant(ElementType::kFloat32, made.held.shape, x.constant->values())));
  return made;
}

OnnxValue OnnxLowering::combined_reals(const std::string& op, OnnxValue a, OnnxValue b,
                                       const std::string& name) {
  const Extents shape = broadcast_shape(a.shape, b.shape);
  a = with_rank(a, shape.size()), b = with_rank(b, shape.size());
  // Constants and numbers go into the order of the other operand.
  const Extents axes = element_count(a.shape) >= element_count(b.shape) ? a.axes : b.axes;
  a = laid_out(a, axes), b = laid_out(b, axes);
  Held made{builder_.add_layer(name, op, {a.held.holder, b.held.holder}, FieldsJson::object()),
            held_shape(shape, axes), a.held.type};
  return made_of(made, shape, axes);
}

void OnnxLowering::real_elementwise(const GraphNode& node) {
  if (node.inputs.size() != 2) throw Unsupported(fmt::format("{} float32 operands", node.inputs.size()));
  const std::string name = graph_.tensors[*node.outputs.at(0)].name;
  set(node,
      combined_reals(lower_case(node.op) + "_real", real_operand(node, 0), real_operand(node, 1), name));
}

/// Bounds of float32 elements.
void OnnxLowering::real_bounds(const GraphNode& node, double low, double high) {
  const std::string name = graph_.tensors[*node.outputs.at(0)].name;
  OnnxValue made = value(node, 0);
  const auto bound = [&](const char* op, double limit) {
    OnnxValue number;
    number.held = {"", {1, 1, 1, 1}, ElementType::kFloat32};
    number.held.holder = builder_.add_input(
        name + "_limit", number.held.shape, ElementType::kFloat32, 0,
        builder_.add_tensor(name + "_limit",
                            make_constant(ElementType::kFloat32, number.held.shape, {limit})));
    made = combined_reals(op, made, number, name);
  };
  if (std::isfinite(low)) bound("max_real", low);
  if (std::isfinite(high)) bound("min_real", high);
  set(node, made);
}

/// int32 as float32; other conversions of tensors keep their values.
void OnnxLowering::cast(const GraphNode& node, Attributes& attributes) {
  OnnxValue x = value(node, 0);
  const ElementType to = onnx_type(static_cast<std::int32_t>(attributes.integer("to", 0)));
  for (const char* name : {"saturate", "round_mode"}) attributes.without_effect(name);  // of float8 types
  const bool real = x.known() ? x.stands.has_value() : x.real || x.held.type == ElementType::kFloat32;
  const bool to_real =
      to == ElementType::kFloat32 || to == ElementType::kFloat16 || to == ElementType::kFloat64;
  if (real && to_real) return set(node, x);
  if (x.known() || x.held.type != ElementType::kInt32 || to != ElementType::kFloat32)
    throw Unsupported(fmt::format("a cast of a tensor to {}", element_name(to)));
  x.held.scale = 1;
  x.held = emitter_.dequantize(x.held, graph_.tensors[*node.outputs.at(0)].name);
  set(node, x);
}

/// Tile and Expand: indices along every axis that grows.
void OnnxLowering::repeat(const GraphNode& node, Attributes&) {
  OnnxValue x = value(node, 0);
  if (x.known() || x.held.type == ElementType::kFloat32) x = real(node, 0);
  if (!value(node, 1).known()) throw Unsupported("a shape that is not known");
  Extents wish = value(node, 1).constant->integers();
  if (node.op == "Expand") {
    wish = broadcast_shape(x.shape, wish);
  } else if (wish.size() == x.shape.size()) {
    for (std::size_t axis = 0; axis < wish.size(); ++axis) wish[axis] *= x.shape[axis];
  }
  if (wish.size() < x.shape.size() || wish.size() > 6)
    throw Unsupported(fmt::format("a shape of {} axes", wish.size()));
  room_for(wish);
  x = with_rank(x, wish.size());
  for (std::size_t axis = 0; axis < wish.size(); ++axis) {
    if (wish[axis] == x.shape[axis]) continue;
    if (wish[axis] < 1 || wish[axis] > UINT16_MAX)
      throw Unsupported(fmt::format("an extent of {}", wish[axis]));
    Extents indices;
    for (std::int64_t i = 0; i < wish[axis]; ++i) indices.push_back(i % x.shape[axis]);
    x = gathered(x, axis, indices, fmt::format("{}_axis{}", graph_.tensors[*node.outputs.at(0)].name, axis));
  }
  set(node, x);
}

/// One element as a tensor of `shape`.
Held OnnxLowering::repeated(Held number, const Extents& shape, const std::string& name) {
  Extents made(shape.size(), 1);
  number = emitter_.reshape(number, made, name + "_one");
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 1) continue;
    made[axis] = shape[axis];
    number = emitter_.movement("gather", {number}, made, fmt::format("{}_axis{}", name, axis),
                               {{"axis", axis}, {"indices", Extents(to_size(shape[axis]), 0)}});
  }
  return number;
}

}  // namespace tilebeat
