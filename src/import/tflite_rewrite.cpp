// Dilated convolutions as TensorFlow's converter writes them.
#include "base/types.h"
#include "import/attributes.h"
#include "import/problems.h"
#include "import/tflite_float.h"

#include <algorithm>
#include <array>
#include <set>

namespace tilebeat {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Folds the pixels of a map into batches of phases, a dense convolution of each and the way back.
class DilationFolder {
 public:
  explicit DilationFolder(ModelGraph& graph) : graph_(graph), readers_(graph.tensors.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const auto& input : graph.nodes[i].inputs) {
        if (input) readers_[*input].push_back(i);
      }
    }
    for (const std::size_t output : graph.outputs) readers_[output].push_back(graph.nodes.size());
  }

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].op == "SPACE_TO_BATCH_ND") fold(i);
    }
    std::vector<GraphNode> kept;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (const auto before = before_.find(i); before != before_.end()) kept.push_back(before->second);
      if (gone_.count(i) == 0) kept.push_back(std::move(graph_.nodes[i]));
      if (const auto after = after_.find(i); after != after_.end()) kept.push_back(after->second);
    }
    graph_.nodes = std::move(kept);
  }

 private:
  /// The only node that reads a tensor; none if there are several, or if the model gives it out.
  std::optional<std::size_t> reader(std::size_t tensor) const {
    if (tensor >= readers_.size() || readers_[tensor].size() != 1 ||
        readers_[tensor][0] == graph_.nodes.size())
      return std::nullopt;
    return readers_[tensor][0];
  }
  static bool is_reshape(const GraphNode& node) {
    return node.op == "EXPAND_DIMS" || node.op == "RESHAPE" || node.op == "SQUEEZE";
  }
  std::optional<std::size_t> output(std::size_t node) const {
    const auto& outputs = graph_.nodes[node].outputs;
    return outputs.size() == 1 ? outputs[0] : std::nullopt;
  }
  std::optional<Numbers> numbers(const GraphNode& node, std::size_t i) const {
    if (i >= node.inputs.size() || !node.inputs[i] || !graph_.tensors[*node.inputs[i]].data)
      return std::nullopt;
    return graph_.tensors[*node.inputs[i]].data->integers();
  }
  const Extents& shape(std::size_t tensor) const { return *graph_.tensors[tensor].shape; }

  /// The nodes from a SPACE_TO_BATCH_ND to its BATCH_TO_SPACE_ND: with maps of one spatial axis the
  /// convolution stands between two reshapes.
  struct Match {
    std::size_t divide = 0, convolution = 0, join = 0;
    std::vector<std::size_t> reshapes;
    std::size_t input = 0, output = 0;
  };
  std::optional<Match> match(std::size_t divide) const {
    Match found;
    found.divide = divide;
    std::optional<std::size_t> next = divide;
    const auto advance = [&] {
      const auto made = output(*next);
      next = made ? reader(*made) : std::nullopt;
      return next.has_value();
    };
    if (!advance()) return std::nullopt;
    if (is_reshape(graph_.nodes[*next])) {
      found.reshapes.push_back(*next);
      if (!advance()) return std::nullopt;
    }
    found.convolution = *next;
    const std::string& op = graph_.nodes[*next].op;
    if ((op != "CONV_2D" && op != "DEPTHWISE_CONV_2D") || !advance()) return std::nullopt;
    if (!found.reshapes.empty()) {
      if (!is_reshape(graph_.nodes[*next])) return std::nullopt;
      found.reshapes.push_back(*next);
      if (!advance()) return std::nullopt;
    }
    found.join = *next;
    const auto &from = graph_.nodes[divide].inputs, &conv = graph_.nodes[found.convolution].inputs;
    const auto made = output(found.join);
    if (graph_.nodes[*next].op != "BATCH_TO_SPACE_ND" || from.empty() || !from[0] || !made)
      return std::nullopt;
    if (conv.size() < 2 || !conv[0] || !conv[1]) return std::nullopt;
    found.input = *from[0], found.output = *made;
    return found;
  }

  static std::int64_t integer(const GraphNode& node, const char* name, std::size_t i) {
    const auto found = node.attributes.find(name);
    const auto* list = found == node.attributes.end() ? nullptr : std::get_if<Numbers>(&found->second);
    return list != nullptr && i < list->size() ? (*list)[i] : 0;
  }

  void fold(std::size_t divide) {
    const auto found = match(divide);
    if (!found) return;
    GraphNode& conv = graph_.nodes[found->convolution];
    const auto block = numbers(graph_.nodes[divide], 1), pads = numbers(graph_.nodes[divide], 2);
    const auto back = numbers(graph_.nodes[found->join], 1), crops = numbers(graph_.nodes[found->join], 2);
    const std::size_t rank = shape(found->input).size();
    const Extents& kernels = shape(*conv.inputs[1]);
    const bool same_block = block && pads && back && crops && *block == *back && block->size() + 2 == rank &&
                            pads->size() == 2 * block->size() && crops->size() == pads->size();
    if (!same_block || kernels.size() != 4 || (rank == 4) != found->reshapes.empty() || rank < 3 || rank > 4)
      return;
    // Along which axes of the convolution the block divides.
    std::array<std::size_t, 2> axes{0, 1};
    if (shape(*conv.inputs[0]).size() != 4) return;
    if (rank == 3) axes[0] = shape(*conv.inputs[0])[1] == 1 ? 1 : 0;
    const auto padding = conv.attributes.find("padding");
    const auto* text =
        padding == conv.attributes.end() ? nullptr : std::get_if<std::string>(&padding->second);
    const bool same = text != nullptr && *text == "SAME";
    Numbers dilation{1, 1}, sides{0, 0, 0, 0};
    for (std::size_t i = 0; i < 2; ++i) {
      if (integer(conv, "stride", i) != 1 || integer(conv, "dilation", i) != 1) return;
      const std::int64_t taps = same ? kernels[1 + i] - 1 : 0;
      sides[i] = taps / 2, sides[2 + i] = taps - taps / 2;
    }
    for (std::size_t i = 0; i < block->size(); ++i) {
      const std::size_t axis = axes.at(i);
      dilation[axis] = (*block)[i];
      if (dilation[axis] < 1) return;
      sides[axis] = sides[axis] * dilation[axis] + (*pads)[2 * i] - (*crops)[2 * i];
      sides[2 + axis] = sides[2 + axis] * dilation[axis] + (*pads)[2 * i + 1] - (*crops)[2 * i + 1];
    }
    if (std::any_of(sides.begin(), sides.end(), [](std::int64_t side) { return side < 0; })) return;
    conv.attributes["dilation"] = dilation;
    conv.attributes["padding"] = std::string("EXPLICIT");
    conv.attributes["pads"] = sides;
    connect(*found, axes[0]);
  }

  /// The convolution reads the whole map and makes the whole result; a map of one spatial axis is reshaped.
  void connect(const Match& found, std::size_t axis) {
    GraphNode& conv = graph_.nodes[found.convolution];
    gone_.insert({found.divide, found.join});
    gone_.insert(found.reshapes.begin(), found.reshapes.end());
    if (found.reshapes.empty()) {
      conv.inputs[0] = found.input, conv.outputs[0] = found.output;
      return;
    }
    const std::size_t wide = widened(found.input, axis), made = widened(found.output, axis);
    conv.inputs[0] = wide, conv.outputs[0] = made;
    before_[found.convolution] = reshape_between(found.input, wide);
    after_[found.convolution] = reshape_between(made, found.output);
  }
  std::size_t widened(std::size_t tensor, std::size_t axis) {
    GraphTensor made = graph_.tensors[tensor];
    made.name += "_map";
    made.shape->insert(made.shape->begin() + (axis == 1 ? 1 : 2), 1);
    graph_.tensors.push_back(std::move(made));
    return graph_.tensors.size() - 1;
  }
  static GraphNode reshape_between(std::size_t from, std::size_t to) {
    GraphNode node;
    node.op = "RESHAPE", node.name = "reshape", node.inputs = {from}, node.outputs = {to};
    return node;
  }

  ModelGraph& graph_;
  std::vector<std::vector<std::size_t>> readers_;  ///< by tensor
  std::set<std::size_t> gone_;
  std::map<std::size_t, GraphNode> before_, after_;
};

}  // namespace

void fold_dilated_convolutions(ModelGraph& graph) {
  DilationFolder(graph).run();
}

}  // namespace tilebeat
