// Patterns of nodes that frameworks write for one operator.
#include "base/types.h"
#include "import/attributes.h"
#include "import/graph.h"
#include "import/problems.h"

#include <algorithm>
#include <set>

namespace tilebeat {
namespace {

/// Finds patterns from their last nodes on, and replaces them by one node each.
class PatternFolder {
 public:
  explicit PatternFolder(ModelGraph& graph) : graph_(graph) {}

  void run() { take({&PatternFolder::norm, &PatternFolder::factor, &PatternFolder::bias}); }
  void run_biases() {
    marks_ = true;
    take({&PatternFolder::bias});
  }

 private:
  using Step = void (PatternFolder::*)(std::size_t);

  void take(const std::vector<Step>& steps) {
    for (const Step step : steps) {
      look();
      for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
        if (gone_.count(i) == 0) (this->*step)(i);
      }
      std::vector<GraphNode> kept;
      for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
        if (gone_.count(i) == 0) kept.push_back(std::move(graph_.nodes[i]));
      }
      graph_.nodes = std::move(kept);
    }
  }

  using Operand = std::optional<std::size_t>;

  void look() {
    gone_.clear();
    makers_.assign(graph_.tensors.size(), graph_.nodes.size());
    readers_.assign(graph_.tensors.size(), 0);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const auto& input : graph_.nodes[i].inputs) {
        if (input) ++readers_[*input];
      }
      for (const auto& output : graph_.nodes[i].outputs) {
        if (output) makers_[*output] = i;
      }
    }
    for (const std::size_t output : graph_.outputs) readers_[output] += 2;  // it stays
  }
  const Constant* data(const GraphNode& node, std::size_t i) const {
    if (i >= node.inputs.size() || !node.inputs[i]) return nullptr;
    const auto& found = graph_.tensors[*node.inputs[i]].data;
    return found ? &*found : nullptr;
  }
  /// The number in an operand.
  std::optional<double> number(const GraphNode& node, std::size_t i) const {
    const Constant* found = data(node, i);
    if (found == nullptr || found->elements() != 1) return std::nullopt;
    return found->values()[0];
  }
  /// The node that makes a tensor, if it is `op` with one result.
  std::optional<std::size_t> maker(const Operand& tensor, const std::string& op) const {
    if (!tensor || *tensor >= makers_.size() || makers_[*tensor] == graph_.nodes.size()) return std::nullopt;
    const std::size_t node = makers_[*tensor];
    if (gone_.count(node) != 0 || graph_.nodes[node].op != op || graph_.nodes[node].outputs.size() != 1)
      return std::nullopt;
    return node;
  }
  const GraphNode& at(std::size_t node) const { return graph_.nodes[node]; }
  Operand operand(std::size_t node, std::size_t i) const {
    return i < at(node).inputs.size() ? at(node).inputs[i] : std::nullopt;
  }
  bool read_once(const Operand& tensor) const {
    return tensor && *tensor < readers_.size() && readers_[*tensor] == 1;
  }
  static bool binary(const GraphNode& node, const char* op) {
    return node.op == op && node.inputs.size() == 2 && node.inputs[0] && node.inputs[1] &&
           node.outputs.size() == 1 && node.outputs[0];
  }

  // ---- a bias behind a product ----

  /// MatMul by a matrix, or Conv or Gemm without a bias, and the addition of one number an output channel.
  void bias(std::size_t last) {
    const GraphNode& add = at(last);
    if (!binary(add, "Add")) return;
    for (const std::size_t i : {0U, 1U}) {
      const Constant* addend = data(add, i);
      const Operand sum = add.inputs[1 - i];
      if (addend == nullptr || addend->type != ElementType::kFloat32 || !read_once(sum)) continue;
      for (const char* op : {"MatMul", "Conv", "Gemm"}) {
        const auto product = maker(sum, op);
        if (product && takes(*product, *addend, add.inputs[i])) {
          graph_.nodes[*product].outputs = add.outputs;
          move_behind(*product, last);
          return;
        }
      }
    }
  }
  bool takes(std::size_t product, const Constant& addend, const Operand& tensor) {
    GraphNode& node = graph_.nodes[product];
    const Constant* weights = weights_of(node);
    if (weights == nullptr || (node.inputs.size() > 2 && node.inputs[2])) return false;
    if (node.attributes.count("beta") != 0) return false;  // it would scale the bias
    const bool conv = node.op == "Conv";
    if (conv ? weights->shape.size() < 3 : weights->shape.size() != 2) return false;
    const auto turned = node.attributes.find("transB");
    const bool rows = turned != node.attributes.end() && turned->second.index() == 0 &&
                      std::get<std::int64_t>(turned->second) != 0;
    const std::int64_t channels = weights->shape[conv || rows ? 0 : 1];
    // The channels lie at axis 1 of a map, at the last one of a product.
    Extents shape = addend.shape;
    const std::size_t behind = conv ? weights->shape.size() - 2 : 0;
    if (shape.size() < behind + 1) return false;
    const std::size_t axis = shape.size() - 1 - behind;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] != (i == axis ? channels : 1)) return false;
    }
    if (conv && shape.size() > weights->shape.size()) return false;
    GraphTensor flat = graph_.tensors[*tensor];
    flat.name += "_bias";
    flat.shape = flat.data->shape = {channels};
    graph_.tensors.push_back(std::move(flat));
    node.inputs.resize(3);
    node.inputs[2] = graph_.tensors.size() - 1;
    if (marks_) node.attributes["added_bias"] = std::int64_t{1};
    return true;
  }
  /// The constant that operand 1 is, or the integers that stand for it.
  const Constant* weights_of(const GraphNode& node) const {
    if (const Constant* found = data(node, 1)) return found;
    const auto pair = maker(operand_of(node, 1), "DequantizeLinear");
    return pair ? data(at(*pair), 0) : nullptr;
  }
  static Operand operand_of(const GraphNode& node, std::size_t i) {
    return i < node.inputs.size() ? node.inputs[i] : std::nullopt;
  }
  /// Node `node` takes the place of `last`.
  void move_behind(std::size_t node, std::size_t last) {
    graph_.nodes[last] = graph_.nodes[node];
    gone_.insert(node);
    for (const auto& output : graph_.nodes[last].outputs) makers_[*output] = last;
  }

  // ---- a factor before or behind a product ----

  void factor(std::size_t place) {
    const GraphNode& scale = at(place);
    const bool divides = binary(scale, "Div");
    if (!divides && !binary(scale, "Mul")) return;
    for (const std::size_t i : {0U, 1U}) {
      const auto by = number(scale, i);
      if (!by || !(*by > 0) || (divides && i == 0)) continue;
      const double alpha = divides ? 1 / *by : *by;
      const Operand x = scale.inputs[1 - i];
      if (adds_axes(*data(scale, i), *x)) continue;
      const auto before = maker(x, "MatMul");
      if (before && read_once(x) && at(*before).inputs.size() == 2) {
        multiply(*before, alpha);
        graph_.nodes[*before].outputs = scale.outputs;
        return move_behind(*before, place);
      }
      if (!read_once(scale.outputs[0])) return;
      for (std::size_t next = place + 1; next < graph_.nodes.size(); ++next) {
        GraphNode& node = graph_.nodes[next];
        const auto operand = std::find(node.inputs.begin(), node.inputs.end(), scale.outputs[0]);
        if (operand == node.inputs.end()) continue;
        if (node.op != "MatMul" || node.inputs.size() != 2) return;
        *operand = x;
        multiply(next, alpha);
        gone_.insert(place);
        return;
      }
    }
  }
  /// Whether a number of several axes may give the tensor that it is combined with more axes.
  bool adds_axes(const Constant& number, std::size_t tensor) const {
    const auto& shape = graph_.tensors[tensor].shape;
    return number.shape.size() > (shape ? shape->size() : 1);
  }
  void multiply(std::size_t product, double alpha) {
    AttributeValue& value = graph_.nodes[product].attributes.emplace("alpha", 1.0F).first->second;
    value = static_cast<float>(static_cast<double>(std::get<float>(value)) * alpha);
  }

  // ---- norms of rows ----

  /// A square of a tensor: Pow by 2, or the product with itself.
  Operand squared(const Operand& tensor) const {
    if (const auto power = maker(tensor, "Pow"))
      return number(at(*power), 1) == 2.0 ? operand(*power, 0) : std::nullopt;
    const auto product = maker(tensor, "Mul");
    if (!product || at(*product).inputs.size() != 2) return std::nullopt;
    return at(*product).inputs[0] == at(*product).inputs[1] ? at(*product).inputs[0] : std::nullopt;
  }
  /// The operand of a mean over the last axis that keeps it.
  Operand mean_of(const Operand& tensor) const {
    const auto mean = maker(tensor, "ReduceMean");
    if (!mean) return std::nullopt;
    try {
      Attributes attributes(at(*mean));
      if (attributes.integer("keepdims", 1) == 0) return std::nullopt;
      auto axes = attributes.integers("axes");
      if (!axes && data(at(*mean), 1) != nullptr) axes = data(at(*mean), 1)->integers();
      return axes == std::vector<std::int64_t>{-1} ? operand(*mean, 0) : std::nullopt;
    } catch (const Unsupported&) {
      return std::nullopt;
    }
  }
  /// sqrt(mean(x^2) + epsilon); without x it is none.
  struct Root {
    Operand x;
    double epsilon = 0;
  };
  Root root(const Operand& tensor) const {
    const auto sqrt = maker(tensor, "Sqrt");
    const auto sum = sqrt ? maker(operand(*sqrt, 0), "Add") : std::nullopt;
    if (!sum) return {};
    for (const std::size_t i : {0U, 1U}) {
      const auto epsilon = number(at(*sum), i);
      if (!epsilon) continue;
      const Operand x = squared(mean_of(operand(*sum, 1 - i)));
      if (x) return {x, *epsilon};
    }
    return {};
  }

  /// x / sqrt(mean(x^2) + epsilon), x being the distances from a mean or not, with a factor and an offset a
  /// channel behind it.
  void norm(std::size_t place) {
    const GraphNode& node = at(place);
    Root found;
    if (binary(node, "Div")) {
      found = root(node.inputs[1]);
      if (found.x != node.inputs[0]) return;
    } else if (binary(node, "Mul")) {
      for (const std::size_t i : {0U, 1U}) {
        const auto inverse = maker(node.inputs[i], "Reciprocal");
        const auto quotient = maker(node.inputs[i], "Div");
        if (inverse) found = root(operand(*inverse, 0));
        if (quotient && number(at(*quotient), 0) == 1.0) found = root(operand(*quotient, 1));
        if (found.x == node.inputs[1 - i]) break;
        found = {};
      }
    }
    if (found.x) replace(place, found.x, found.epsilon);
  }

  void replace(std::size_t place, Operand x, double epsilon) {
    std::string op = "RMSNormalization";
    if (const auto distance = maker(x, "Sub");
        distance && mean_of(operand(*distance, 1)) == operand(*distance, 0))
      op = "LayerNormalization", x = operand(*distance, 0);
    std::size_t last = place;
    const auto gamma = behind(last, "Mul");
    if (!gamma) return;
    const auto beta = op == "LayerNormalization" ? behind(last, "Add") : std::nullopt;
    GraphNode made;
    made.name = at(last).name, made.op = op;
    made.inputs = {x, gamma};
    if (beta) made.inputs.push_back(beta);
    made.outputs = at(last).outputs;
    made.attributes = {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(epsilon)}};
    graph_.nodes[last] = std::move(made);
    gone_.merge(unread_nodes(graph_, gone_));
  }
  /// The list of numbers that the only reader of a result combines it with; that reader becomes the last
  /// node.
  Operand behind(std::size_t& last, const char* op) {
    const Operand made = at(last).outputs[0];
    if (!read_once(made)) return std::nullopt;
    for (std::size_t next = last + 1; next < graph_.nodes.size(); ++next) {
      const GraphNode& node = at(next);
      const auto operand = std::find(node.inputs.begin(), node.inputs.end(), made);
      if (operand == node.inputs.end()) continue;
      if (!binary(node, op)) return std::nullopt;
      const std::size_t other = operand == node.inputs.begin() ? 1 : 0;
      const Constant* list = data(node, other);
      if (list == nullptr || list->shape.size() != 1) return std::nullopt;
      last = next;
      return node.inputs[other];
    }
    return std::nullopt;
  }
  ModelGraph& graph_;
  bool marks_ = false;  ///< nodes that a bias was added to get an attribute
  std::set<std::size_t> gone_;
  std::vector<std::size_t> makers_;  ///< the node, by tensor; the number of nodes: there is none
  std::vector<int> readers_;         ///< how many, by tensor
};

}  // namespace

void fold_patterns(ModelGraph& graph) {
  PatternFolder(graph).run();
}

void fold_biases(ModelGraph& graph) {
  PatternFolder(graph).run_biases();
}

void quantise_before_moves(ModelGraph& graph) {
  static const std::set<std::string> moves{"Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze"};
  constexpr int kLongest = 8;  // moves in a row
  const auto is_constant = [&](const GraphNode& node, std::size_t i) {
    return i >= node.inputs.size() || !node.inputs[i] || graph.tensors[*node.inputs[i]].data.has_value();
  };
  const auto has_one_scale = [&](const GraphNode& node) {
    return node.op == "QuantizeLinear" && node.inputs.size() > 1 && node.inputs[1] && !node.outputs.empty() &&
           node.outputs[0] && is_constant(node, 1) && is_constant(node, 2) &&
           graph.tensors[*node.inputs[1]].data->elements() == 1;
  };
  for (int round = 0; round < kLongest; ++round) {
    std::vector<std::size_t> makers(graph.tensors.size(), graph.nodes.size()), reads(graph.tensors.size(), 0);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const auto& input : graph.nodes[i].inputs) reads[input.value_or(0)] += input ? 1U : 0U;
      for (const auto& output : graph.nodes[i].outputs) {
        if (output) makers[*output] = i;
      }
    }
    for (const std::size_t output : graph.outputs) ++reads[output];
    const auto maker = [&](const std::optional<std::size_t>& tensor) -> GraphNode* {
      const bool made = tensor && reads[*tensor] == 1 && makers[*tensor] < graph.nodes.size();
      return made ? &graph.nodes[makers[*tensor]] : nullptr;
    };
    bool moved = false;
    for (GraphNode& last : graph.nodes) {
      if (!has_one_scale(last)) continue;
      GraphNode* move = maker(last.inputs[0]);
      if (move == nullptr || moves.count(move->op) == 0 || move->outputs.size() != 1) continue;
      const GraphNode* source = maker(move->inputs.at(0));
      if (source == nullptr || source->op == "DequantizeLinear") continue;
      GraphTensor tensor;
      tensor.name = graph.tensors[*last.outputs[0]].name + "_quantized";
      graph.tensors.push_back(std::move(tensor));
      const std::size_t between = graph.tensors.size() - 1;
      reads.push_back(1), makers.push_back(graph.nodes.size());
      std::swap(last.op, move->op), std::swap(last.name, move->name);
      std::swap(last.attributes, move->attributes);
      std::vector<std::optional<std::size_t>> operands = last.inputs;
      last.inputs = move->inputs, move->inputs = operands;
      move->inputs[0] = last.inputs[0], last.inputs[0] = between;
      move->outputs[0] = between;
      moved = true;
    }
    if (!moved) return;
  }
}

}  // namespace tilebeat
