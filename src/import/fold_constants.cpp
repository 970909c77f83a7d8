// What an import computes of constants alone, and what it may spend on that.
#include "base/types.h"
#include "import/evaluate.h"
#include "import/graph.h"
#include "import/problems.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr double kMostOperations = 2147483648.0;          // 2^31
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of results

double count_in(const Constant* x) {
  return x == nullptr ? 0 : static_cast<double>(x->elements());
}

/// Pixels of a map of shape `from` with the pads of a window.
double padded_elements(const Constant& x, const GraphNode& node) {
  double count = 1;
  const auto found = node.attributes.find("pads");
  const auto* pads =
      found == node.attributes.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&found->second);
  const std::size_t spatial = x.shape.size() - std::min<std::size_t>(x.shape.size(), 2);
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    auto extent = static_cast<double>(x.shape[axis]);
    if (axis >= 2 && pads != nullptr && pads->size() == 2 * spatial)
      extent += std::abs(static_cast<double>((*pads)[axis - 2])) +
                std::abs(static_cast<double>((*pads)[axis - 2 + spatial]));
    count *= extent;
  }
  return count;
}

/// An upper bound of the multiplications, comparisons and moves of an operator with these inputs.
double operations_of(const GraphNode& node, const KnownInputs& inputs) {
  double all = 1;
  for (const Constant* input : inputs) all += count_in(input);
  if (inputs.empty() || inputs[0] == nullptr) return all;
  const Constant& x = *inputs[0];
  const Constant* w = inputs.size() > 1 ? inputs[1] : nullptr;
  if (is_product_op(node.op) && w != nullptr && !w->shape.empty()) {
    const double k = x.shape.empty() ? 1 : static_cast<double>(std::max<std::int64_t>(1, x.shape.back()));
    const double columns = static_cast<double>(*std::max_element(w->shape.begin(), w->shape.end()));
    return all + std::max(count_in(&x) * columns, count_in(w) * (count_in(&x) / k));
  }
  if (is_window_op(node.op)) {
    if (w != nullptr && x.shape.size() >= 2 && node.op.rfind("Conv", 0) == 0)
      return all + padded_elements(x, node) / static_cast<double>(std::max<std::int64_t>(1, x.shape[1])) *
                       count_in(w);
    const auto found = node.attributes.find("kernel_shape");
    const auto* kernel =
        found == node.attributes.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&found->second);
    double taps = 1;
    for (std::size_t i = 0; kernel != nullptr && i < kernel->size(); ++i)
      taps *= static_cast<double>((*kernel)[i]);
    return all + padded_elements(x, node) * taps;
  }
  if (node.op == "LRN" && x.shape.size() > 1) return all * static_cast<double>(x.shape[1]);
  return all;
}

}  // namespace

std::vector<Constant> FoldingBudget::evaluate(const GraphNode& node, const KnownInputs& inputs,
                                              std::int64_t opset) {
  const auto charge = [this](double operations) {
    operations_ += operations;
    if (operations_ > kMostOperations)
      throw Exceeded(
          fmt::format("what depends on constants alone takes more than {:.0f} operations; compute "
                      "it before the network is exported",
                      kMostOperations));
  };
  charge(operations_of(node, inputs));
  std::vector<Constant> made = tilebeat::evaluate(node, inputs, opset);
  for (const Constant& result : made) charge(count_in(&result));
  return made;
}

void FoldingBudget::keep(const Constant& made) {
  bytes_ += made.bytes.size();
  if (bytes_ > kMostBytes)
    throw Exceeded(fmt::format("results that depend on constants alone take more than {} bytes", kMostBytes));
}

// ---- shapes ----

void ShapeRun::grow() {
  shapes_.resize(graph_.tensors.size());
  values_.resize(graph_.tensors.size());
}

const Constant* ShapeRun::value(std::size_t tensor) {
  const GraphTensor& found = graph_.tensors[tensor];
  if (found.data) return &*found.data;
  grow();
  const bool given = std::find(graph_.inputs.begin(), graph_.inputs.end(), tensor) != graph_.inputs.end();
  if (!values_[tensor] && !shapes_[tensor] && given && found.shape && found.type != ElementType::kOther) {
    shapes_[tensor] = found.shape;
    values_[tensor] = make_constant(found.type, *found.shape, std::vector<double>(room_for(*found.shape)));
  }
  return values_[tensor] ? &*values_[tensor] : nullptr;
}

const std::optional<Extents>& ShapeRun::shape(std::size_t tensor) {
  grow();
  if (const Constant* known = value(tensor)) shapes_[tensor] = known->shape;
  return shapes_[tensor];
}

void ShapeRun::forget(std::size_t tensor) {
  shape(tensor);
  values_[tensor].reset();
}

void ShapeRun::run(const GraphNode& node) {
  KnownInputs inputs;
  if (!evaluates(node.op)) return;
  grow();
  for (const auto& input : node.inputs) {
    const Constant* known = input ? value(*input) : nullptr;
    if (known == nullptr && input) return;
    inputs.push_back(known);
  }
  try {
    Evaluated made = evaluate(node, inputs, graph_.opset);
    for (std::size_t k = 0; k < made.size() && k < node.outputs.size(); ++k) {
      if (!node.outputs[k]) continue;
      shapes_[*node.outputs[k]] = made[k].shape;
      values_[*node.outputs[k]] = std::move(made[k]);
    }
  } catch (const Unsupported&) {
    // Whoever needs the shape says so, or lowering does.
  }
}

namespace {

/// Evaluates nodes whose inputs are known, in the order of the file.
class ConstantFolder {
 public:
  explicit ConstantFolder(ModelGraph& graph) : graph_(graph), reads_(graph.tensors.size(), 0) {
    for (const std::size_t input : graph.inputs) is_input(input) = true;
    count(graph.nodes);
    for (const std::size_t output : graph.outputs) ++reads_[output];
  }

  void run() {
    std::vector<GraphNode> nodes;
    nodes.swap(graph_.nodes);
    for (GraphNode& node : nodes) take(node);
  }

 private:
  std::vector<bool>::reference is_input(std::size_t tensor) {
    inputs_.resize(graph_.tensors.size());
    return inputs_[tensor];
  }
  void count(const std::vector<GraphNode>& nodes) {
    for (const GraphNode& node : nodes) {
      for (const auto& input : node.inputs) reads_[input.value_or(0)] += input ? 1U : 0U;
      for (const GraphBody& body : node.bodies) {
        for (const std::size_t output : body.outputs) ++reads_[output];
        count(body.nodes);
      }
    }
  }

  void take(GraphNode& node) {
    try {
      if (node.op == "If" && decided(node)) return;
      if (folds(node)) return free_inputs(node);
    } catch (const FoldingBudget::Exceeded& reason) {
      Problems problems;
      problems.add(node, reason.what());
      problems.refuse(graph_.path);
    } catch (const Unsupported&) {
      // It is reported with all others.
    }
    graph_.nodes.push_back(std::move(node));
  }

  bool decided(const GraphNode& node) {
    if (node.inputs.empty() || !node.inputs[0]) return false;
    const auto& condition = graph_.tensors[*node.inputs[0]].data;
    if (!condition || condition->elements() != 1) return false;
    std::vector<GraphNode> branch = branch_of(node, condition->values()[0] != 0);
    // Its readers were counted as part of the If; the copies of its results are new ones.
    for (GraphNode& inner : branch) take(inner);
    return true;
  }

  bool folds(const GraphNode& node) {
    // Integers that stand for reals stay so; those with scales of blocks are weights of a float network.
    const auto block = node.attributes.find("block_size");
    const auto* size = block == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&block->second);
    const bool stand = node.op == "DequantizeLinear" && (size == nullptr || *size == 0);
    if (!evaluates(node.op) || stand) return false;
    KnownInputs inputs;
    Constant shaped;
    for (const auto& input : node.inputs) {
      const Constant* known = nullptr;
      if (input) {
        const GraphTensor& tensor = graph_.tensors[*input];
        if (tensor.data) known = &*tensor.data;
        if (known == nullptr && (node.op == "Shape" || node.op == "Size") && is_input(*input) &&
            tensor.shape) {
          shaped = {ElementType::kInt8, *tensor.shape, {}};
          known = &shaped;
        }
        if (known == nullptr) return false;
      }
      inputs.push_back(known);
    }
    const bool is_read = std::any_of(node.outputs.begin(), node.outputs.end(),
                                     [this](const auto& output) { return output && reads_[*output] > 0; });
    if (!is_read) return true;
    Evaluated made = budget_.evaluate(node, inputs, graph_.opset);
    for (std::size_t i = made.size(); i < node.outputs.size(); ++i) {
      if (node.outputs[i]) return false;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i] || reads_[*node.outputs[i]] == 0) continue;
      budget_.keep(made[i]);
      GraphTensor& tensor = graph_.tensors[*node.outputs[i]];
      tensor.type = made[i].type, tensor.shape = made[i].shape;
      tensor.data = std::move(made[i]);
      is_made(*node.outputs[i]) = true;
    }
    return true;
  }
  void free_inputs(const GraphNode& node) {
    for (const auto& input : node.inputs) {
      if (!input || --reads_[*input] > 0 || !graph_.tensors[*input].data) continue;
      if (is_made(*input)) budget_.free(*graph_.tensors[*input].data);
      graph_.tensors[*input].data.reset();
    }
  }
  std::vector<bool>::reference is_made(std::size_t tensor) {
    made_.resize(graph_.tensors.size());
    return made_[tensor];
  }

 public:
  /// The nodes of a branch, with the copies that give its results the names of the If's.
  static std::vector<GraphNode> branch_of(const GraphNode& node, bool condition) {
    for (const GraphBody& body : node.bodies) {
      if (body.name != (condition ? "then_branch" : "else_branch")) continue;
      if (body.outputs.size() < node.outputs.size())
        throw Unsupported(
            fmt::format("a {} of {} outputs for {}", body.name, body.outputs.size(), node.outputs.size()));
      std::vector<GraphNode> made = body.nodes;
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (!node.outputs[i] || renamed(made, body.outputs[i], *node.outputs[i])) continue;
        GraphNode copy;
        copy.name = node.name, copy.op = "Identity";
        copy.inputs = {body.outputs[i]}, copy.outputs = {node.outputs[i]};
        made.push_back(std::move(copy));
      }
      return made;
    }
    throw Unsupported(fmt::format("it has no {}", condition ? "then_branch" : "else_branch"));
  }

 private:
  /// Gives the result `from` of one of the nodes the name `to`. Returns whether a node makes it.
  static bool renamed(std::vector<GraphNode>& nodes, std::size_t from, std::size_t to) {
    const auto makes = [&](const GraphNode& node) {
      return std::find(node.outputs.begin(), node.outputs.end(), std::optional(from)) != node.outputs.end();
    };
    if (std::none_of(nodes.begin(), nodes.end(), makes)) return false;
    rename(nodes, from, to);
    return true;
  }
  static void rename(std::vector<GraphNode>& nodes, std::size_t from, std::size_t to) {
    for (GraphNode& node : nodes) {
      std::replace(node.inputs.begin(), node.inputs.end(), std::optional(from), std::optional(to));
      std::replace(node.outputs.begin(), node.outputs.end(), std::optional(from), std::optional(to));
      for (GraphBody& body : node.bodies) {
        std::replace(body.outputs.begin(), body.outputs.end(), from, to);
        rename(body.nodes, from, to);
      }
    }
  }

  ModelGraph& graph_;
  FoldingBudget budget_;
  std::vector<std::size_t> reads_;   ///< by tensor: nodes, branches and outputs that read it
  std::vector<bool> inputs_, made_;  ///< by tensor: given to the model; computed here
};

}  // namespace

void fold_constants(ModelGraph& graph) {
  ConstantFolder(graph).run();
  check_order(graph);
}

void take_branch(ModelGraph& graph, const DecidedBranch& decided) {
  const auto at = graph.nodes.begin() + to_signed(decided.node);
  const GraphNode node = *at;
  std::vector<GraphNode> branch = ConstantFolder::branch_of(node, decided.condition);
  graph.nodes.insert(graph.nodes.erase(at), branch.begin(), branch.end());
  check_order(graph);
}

}  // namespace tilebeat
