#pragma once

#include "import/attributes.h"
#include "import/evaluate.h"
#include "import/graph.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

using Operand = std::optional<std::size_t>;
using NodeAttributes = std::map<std::string, AttributeValue>;

/// Appends nodes to a graph in place of others.
class NodeWriter {
 public:
  explicit NodeWriter(ModelGraph& written) : graph(written), run_(written) {}

  /// The elements of an operand; null where it is left out or computed.
  const Constant* data(const GraphNode& node, std::size_t i) const {
    if (i >= node.inputs.size() || !node.inputs[i]) return nullptr;
    const auto& found = graph.tensors[*node.inputs[i]].data;
    return found ? &*found : nullptr;
  }
  static Operand operand(const GraphNode& node, std::size_t i) {
    return i < node.inputs.size() ? node.inputs[i] : std::nullopt;
  }
  static Operand result(const GraphNode& node, std::size_t i = 0) {
    return i < node.outputs.size() ? node.outputs[i] : std::nullopt;
  }
  /// The first result of `node`, which it must have: Unsupported otherwise.
  static Operand output(const GraphNode& node) {
    const Operand made = result(node);
    if (!made) throw Unsupported("it lacks its output");
    return made;
  }
  /// A new tensor, named after the first result of `node`.
  std::size_t tensor(const GraphNode& node, std::optional<Constant> values = std::nullopt) {
    GraphTensor made;
    Operand named = result(node);
    for (std::size_t i = 1; !named && i < node.outputs.size(); ++i) named = node.outputs[i];
    made.name = graph.tensors[named.value()].name + "_part" + std::to_string(++parts_);
    made.type = values ? values->type : ElementType::kFloat32;
    if (values) made.shape = values->shape;
    made.data = std::move(values);
    graph.tensors.push_back(std::move(made));
    return graph.tensors.size() - 1;
  }
  std::size_t number(const GraphNode& node, double value) {
    return tensor(node, make_constant(ElementType::kFloat32, {}, {value}));
  }
  std::size_t reals(const GraphNode& node, const Extents& shape, const std::vector<double>& values) {
    return tensor(node, make_constant(ElementType::kFloat32, shape, values));
  }
  std::size_t integers(const GraphNode& node, const Extents& shape, const std::vector<std::int64_t>& values) {
    return tensor(node, make_constant(ElementType::kInt64, shape, {values.begin(), values.end()}));
  }
  /// Adds a node with `node`'s name; its result goes to `output`, or to a new tensor.
  std::size_t add(const GraphNode& node, const std::string& op, const std::vector<Operand>& inputs,
                  Operand output = std::nullopt, NodeAttributes attributes = {}) {
    const std::size_t to = output ? *output : tensor(node);
    GraphNode made;
    made.name = node.name, made.op = op;
    made.inputs = inputs, made.outputs = {to};
    made.attributes = std::move(attributes);
    graph.nodes.push_back(std::move(made));
    return to;
  }
  std::size_t reshape(const GraphNode& node, Operand x, const Extents& shape, Operand output = std::nullopt) {
    return add(node, "Reshape", {x, integers(node, {static_cast<std::int64_t>(shape.size())}, shape)},
               output);
  }
  std::size_t transpose(const GraphNode& node, Operand x, const Extents& perm,
                        Operand output = std::nullopt) {
    return add(node, "Transpose", {x}, output, {{"perm", perm}});
  }
  /// A reduction over `axes`, which keeps them.
  std::size_t reduce(const GraphNode& node, const std::string& op, Operand x, const Extents& axes,
                     Operand output = std::nullopt, bool keep = true) {
    return add(node, op, {x}, output, {{"axes", axes}, {"keepdims", std::int64_t{keep ? 1 : 0}}});
  }
  std::size_t slice(const GraphNode& node, Operand x, std::int64_t axis, std::int64_t begin,
                    std::int64_t end) {
    return add(node, "Slice", {x}, std::nullopt,
               {{"axes", Extents{axis}}, {"starts", Extents{begin}}, {"ends", Extents{end}}});
  }
  /// The shape of a tensor that nodes so far make. Throws Unsupported where it cannot be told.
  const Extents& shape(Operand x) {
    if (!x) throw Unsupported("it lacks an operand");
    for (; ran_ < graph.nodes.size(); ++ran_) run_.run(graph.nodes[ran_]);
    const auto& found = run_.shape(*x);
    if (!found) throw Unsupported(fmt::format("the shape of {} is not known", graph.tensors[*x].name));
    return *found;
  }
  /// Removes the nodes from `count` on.
  void take_back(std::size_t count) {
    graph.nodes.resize(count);
    ran_ = std::min(ran_, count);
  }

  ModelGraph& graph;

 private:
  ShapeRun run_;
  std::size_t ran_ = 0;  ///< nodes that have been run
  int parts_ = 0;
};

/// Writes a node as others. Throws Unsupported where it cannot; attributes that it does not read are refused.
using RewriteRule = void (*)(NodeWriter&, const GraphNode&, Attributes&);
/// Attention, rotations by position and norms of language models, by operator (SPEC AT-1).
const std::map<std::string, RewriteRule>& attention_rules();
/// The attributes of a kCausalSoftmax that has the effect of an added mask [..., queries, keys]; nothing
/// where none has.
std::optional<NodeAttributes> causal_mask(const Constant& mask, std::int64_t queries, std::int64_t keys);

/// LSTM, GRU and RNN as a product of all steps with the input weights, and the operators of every step.
bool rewrite_recurrent(NodeWriter& writer, const GraphNode& node);
/// A product of tensors by letters. Throws Unsupported for ellipses and diagonals.
void rewrite_einsum(NodeWriter& writer, const GraphNode& node, Attributes& attributes);
bool is_written_by_shape(const std::string& op);
/// Normalisations, LogSoftmax, losses, sums along an axis, products by letters (Einsum), selections, and
/// moves by constant indices, as operators that layers can be made of. Returns whether `node` is one of
/// those; throws Unsupported where it cannot be written so.
bool rewrite_by_shape(NodeWriter& writer, const GraphNode& node);

}  // namespace tilebeat
