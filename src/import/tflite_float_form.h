#pragma once

#include "import/attributes.h"
#include "import/evaluate.h"
#include "import/graph.h"
#include "import/operator_table.h"
#include "import/problems.h"
#include "import/tflite_lowering.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {

/// Writes nodes of ONNX for the nodes of a file; tensors keep their numbers, new ones follow.
class FloatForm {
 public:
  /// Whether an operator has a form in ONNX.
  static bool has(const std::string& op) { return rules().count(op) != 0 || names().count(op) != 0; }
  explicit FloatForm(const ModelGraph& source) : made_(source) {
    made_.opset = 17;
    made_.nodes.clear();
    for (GraphTensor& tensor : made_.tensors) {
      if (tensor.data && tensor.type == ElementType::kFloat16) {
        tensor.data = make_constant(ElementType::kFloat32, tensor.data->shape, tensor.data->values());
        tensor.type = ElementType::kFloat32;
      }
    }
    for (const GraphNode& node : source.nodes) add_node(node);
    if (!problems_.empty()) problems_.refuse(source.path);
  }
  ModelGraph take() { return std::move(made_); }

 private:
  using Values = std::map<std::string, AttributeValue>;
  using Numbers = std::vector<std::int64_t>;
  using Operand = std::optional<std::size_t>;
  using Rule = void (FloatForm::*)(const GraphNode&, Attributes&);
  static const std::map<std::string, Rule>& rules();
  /// Operators of one operand that ONNX has under another name.
  static const std::map<std::string, std::string>& names();

  void add_node(const GraphNode& node) {
    GraphNode named = node;
    named.name = node_text(node, made_);
    try {
      refuse_types(node);
      const auto rule = rules().find(node.op);
      const auto name = names().find(node.op);
      if (rule == rules().end() && name == names().end())
        throw Unsupported(fmt::format("is no operator that is built for float32: {}", why_refused(node.op)));
      Attributes attributes(node);
      attributes.without_effect("bias_type"), attributes.without_effect("powers_of_two");  // of int16
      if (rule != rules().end()) {
        (this->*rule->second)(node, attributes);
      } else {
        add(name->second, {operand(node, 0)}, result(node));
      }
      attributes.finish();
    } catch (const Unsupported& reason) {
      problems_.add(named, reason.what());
    } catch (const std::out_of_range&) {
      problems_.add(named, "its operands do not fit each other");
    }
  }

  void refuse_types(const GraphNode& node) const {
    for (const auto& input : node.inputs) {
      if (!input) continue;
      const GraphTensor& tensor = made_.tensors[*input];
      if (is_byte(tensor.type))
        throw Unsupported(
            fmt::format("its operand {} is {}: a hybrid network; convert it again without quantisation of "
                        "the weights, or with "
                        "full integer quantisation",
                        tensor.name, element_name(tensor.type)));
    }
  }

  // ---- tensors and nodes ----
  std::size_t operand(const GraphNode& node, std::size_t i) const {
    if (i >= node.inputs.size() || !node.inputs[i]) throw Unsupported(fmt::format("it lacks input {}", i));
    return *node.inputs[i];
  }
  static std::size_t result(const GraphNode& node, std::size_t i = 0) {
    if (i >= node.outputs.size() || !node.outputs[i]) throw Unsupported(fmt::format("it lacks output {}", i));
    return *node.outputs[i];
  }
  Extents shape_of(std::size_t tensor) const { return made_.tensors[tensor].shape.value(); }
  const Constant& constant(const GraphNode& node, std::size_t i) const {
    const GraphTensor& tensor = made_.tensors[operand(node, i)];
    if (!tensor.data) throw Unsupported(fmt::format("its input {} is no constant", i));
    return *tensor.data;
  }
  std::size_t new_tensor(std::size_t like, const Extents& shape,
                         std::optional<Constant> data = std::nullopt) {
    GraphTensor tensor;
    tensor.name = fmt::format("{}_part{}", made_.tensors[like].name, ++parts_);
    tensor.type = data ? data->type : ElementType::kFloat32;
    tensor.shape = shape, tensor.data = std::move(data);
    made_.tensors.push_back(std::move(tensor));
    return made_.tensors.size() - 1;
  }
  std::size_t numbers(std::size_t like, const Numbers& values) {
    return new_tensor(like, {ssize(values)},
                      make_constant(ElementType::kInt64, {ssize(values)}, {values.begin(), values.end()}));
  }
  std::size_t number(std::size_t like, double value) {
    return new_tensor(like, {}, make_constant(ElementType::kFloat32, {}, {value}));
  }
  void add(const std::string& op, const std::vector<Operand>& inputs, std::size_t output,
           Values attributes = {}) {
    GraphNode node;
    node.name = made_.tensors[output].name, node.op = op;
    node.inputs = inputs, node.outputs = {output}, node.attributes = std::move(attributes);
    made_.nodes.push_back(std::move(node));
  }
  std::size_t permuted(std::size_t tensor, const Numbers& perm) {
    Extents shape;
    for (const std::int64_t axis : perm) shape.push_back(shape_of(tensor).at(to_size(axis)));
    const std::size_t made = new_tensor(tensor, shape);
    add("Transpose", {tensor}, made, {{"perm", perm}});
    return made;
  }
  std::size_t channels_first(std::size_t tensor) {
    if (shape_of(tensor).size() != 4)
      throw Unsupported(fmt::format("an input of {} axes", shape_of(tensor).size()));
    return permuted(tensor, {0, 3, 1, 2});
  }
  /// A tensor [N, C, H, W] that becomes `output`, [N, H, W, C].
  std::size_t before_last(std::size_t output) {
    const Extents to = shape_of(output);
    if (to.size() != 4) throw Unsupported(fmt::format("an output of {} axes", to.size()));
    return new_tensor(output, {to[0], to[3], to[1], to[2]});
  }
  void channels_last(std::size_t tensor, std::size_t output) {
    add("Transpose", {tensor}, output, {{"perm", Numbers{0, 2, 3, 1}}});
  }
  /// `op` and the activation that is fused with it.
  void add_activated(const std::string& op, const std::vector<Operand>& inputs, std::size_t output,
                     const std::string& activation, Values attributes = {}) {
    if (activation.empty() || activation == "NONE") return add(op, inputs, output, std::move(attributes));
    const std::size_t before = new_tensor(output, shape_of(output));
    add(op, inputs, before, std::move(attributes));
    activate(activation, before, output);
  }
  void activate(const std::string& activation, std::size_t from, std::size_t to) {
    if (activation == "RELU") return add("Relu", {from}, to);
    if (activation == "TANH") return add("Tanh", {from}, to);
    if (activation == "RELU6") return add("Clip", {from, number(to, 0), number(to, 6)}, to);
    if (activation != "RELU_N1_TO_1") throw Unsupported(fmt::format("a fused activation {}", activation));
    add("Clip", {from, number(to, -1), number(to, 1)}, to);
  }
  std::size_t turned_constant(const GraphNode& node, std::size_t i, const Numbers& perm) {
    const Constant from = constant(node, i);
    if (from.shape.size() != perm.size()) throw Unsupported("weights of another rank");
    GraphNode turn;
    turn.op = "Transpose", turn.outputs = {0}, turn.attributes = {{"perm", perm}};
    Constant made = evaluate(turn, {&from}, made_.opset).at(0);
    const Extents shape = made.shape;
    return new_tensor(operand(node, i), shape, std::move(made));
  }

  // ---- the operators ----
  void convolution(const GraphNode& node, Attributes& attributes);
  void transposed_convolution(const GraphNode& node, Attributes& attributes);
  void fully_connected(const GraphNode& node, Attributes& attributes);
  void elementwise(const GraphNode& node, Attributes& attributes);
  void squares(const GraphNode& node, Attributes& attributes);
  void pool(const GraphNode& node, Attributes& attributes);
  void reduce(const GraphNode& node, Attributes& attributes);
  void softmax(const GraphNode& node, Attributes& attributes);
  void bounds(const GraphNode& node, Attributes& attributes);
  void function(const GraphNode& node, Attributes& attributes);
  void reshape(const GraphNode& node, Attributes& attributes);
  void pad(const GraphNode& node, Attributes& attributes);
  void concat(const GraphNode& node, Attributes& attributes);
  void transpose(const GraphNode& node, Attributes& attributes);
  void resize(const GraphNode& node, Attributes& attributes);
  void blocks(const GraphNode& node, Attributes& attributes);
  void slice(const GraphNode& node, Attributes& attributes);
  void split(const GraphNode& node, Attributes& attributes);
  void gather(const GraphNode& node, Attributes& attributes);
  void pack(const GraphNode& node, Attributes& attributes);
  void matmul(const GraphNode& node, Attributes& attributes);
  void dequantize(const GraphNode& node, Attributes& attributes);
  void arg_max(const GraphNode& node, Attributes& attributes);

  ModelGraph made_;
  Problems problems_;
  int parts_ = 0;
};

}  // namespace tilebeat
