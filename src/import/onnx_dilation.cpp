// Dilated convolutions that ONNX files spell as space to batch, a dense convolution, and batch to space.
#include "base/types.h"
#include "import/evaluate.h"
#include "import/graph.h"
#include "import/problems.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

namespace tilebeat {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kMostElements = std::int64_t{1} << 24;  // of a map that is followed element by element
constexpr std::int64_t kLargestBlock = 64;

bool moves(const GraphNode& node) {
  static const std::set<std::string> ops{"Pad",     "Reshape",   "Transpose", "SpaceToDepth", "DepthToSpace",
                                         "Squeeze", "Unsqueeze", "Slice",     "Flatten",      "Identity"};
  return ops.count(node.op) != 0;
}

/// Operators of single elements that keep 0 in front of the convolution, or may stand anywhere behind it.
bool commutes(const GraphNode& node, bool before) {
  static const std::set<std::string> pairs{"QuantizeLinear", "DequantizeLinear"},
      functions{"Relu", "Clip", "LeakyRelu", "Sigmoid", "Tanh", "HardSwish", "Elu"};
  return pairs.count(node.op) != 0 || (!before && functions.count(node.op) != 0);
}

/// Maps [N, C, spatial...] may also lie as [N, spatial..., C] or [C, N, spatial...]: axis i of the plain
/// order is axis order[i].
std::vector<Numbers> orders(std::size_t rank) {
  Numbers plain(rank), last(rank), swapped(rank);
  std::iota(plain.begin(), plain.end(), 0);
  last = swapped = plain;
  std::rotate(last.begin() + 1, last.end() - 1, last.end());
  std::swap(swapped[0], swapped[1]);
  return {plain, last, swapped};
}

/// The shapes of all tensors.
std::vector<std::optional<Extents>> shapes_of(const ModelGraph& graph) {
  std::vector<std::size_t> last(graph.tensors.size(), 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const auto& input : graph.nodes[i].inputs) last[input.value_or(0)] = i;
  }
  ShapeRun run(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    run.run(graph.nodes[i]);
    for (const auto& input : graph.nodes[i].inputs) {
      if (input && last[*input] == i) run.forget(*input);
    }
  }
  std::vector<std::optional<Extents>> shapes;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) shapes.push_back(run.shape(i));
  return shapes;
}

/// Where the planes of phases lie: plane n' holds sample `sample[n']`, from row `first[n'][0]` on, every
/// `block[0]`-th.
struct Phases {
  std::array<std::int64_t, 2> block{1, 1}, pad{0, 0};
  Numbers sample;
  std::vector<std::array<std::int64_t, 2>> phase;
};

class SpaceToBatchFolder {
 public:
  explicit SpaceToBatchFolder(ModelGraph& graph) : graph_(graph), readers_(graph.tensors.size()) {
    makers_.assign(graph.tensors.size(), graph.nodes.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const auto& input : graph.nodes[i].inputs) {
        if (input) readers_[*input].push_back(i);
      }
      for (const auto& output : graph.nodes[i].outputs) {
        if (output) makers_[*output] = i;
      }
    }
    for (const std::size_t output : graph.outputs) readers_[output].push_back(graph.nodes.size());
  }

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const GraphNode& node = graph_.nodes[i];
      if (node.op != "Conv" || node.inputs.size() < 2 || !node.inputs[0] || !node.inputs[1] ||
          !is_dense(node))
        continue;
      const Match found = match(i);
      if (!found.before.empty() && !found.after.empty()) fold(i, found);
    }
    if (gone_.empty()) return;
    std::vector<GraphNode> kept;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (GraphNode& node : instead_[i]) kept.push_back(std::move(node));
      if (gone_.count(i) == 0) kept.push_back(std::move(graph_.nodes[i]));
    }
    graph_.nodes = std::move(kept);
  }

 private:
  /// Nodes in front of a convolution and behind it, in order, with the tensor that the first one reads.
  struct Match {
    std::vector<std::size_t> before, after;
    std::vector<std::size_t> behind;  ///< operators on single elements that follow
    std::size_t input = 0;
  };

  static bool is_dense(const GraphNode& node) {
    for (const char* name : {"strides", "dilations"}) {
      const auto found = node.attributes.find(name);
      const auto* list = found == node.attributes.end() ? nullptr : std::get_if<Numbers>(&found->second);
      if (list != nullptr && std::any_of(list->begin(), list->end(), [](auto x) { return x != 1; }))
        return false;
    }
    const auto pad = node.attributes.find("auto_pad");
    const auto* text = pad == node.attributes.end() ? nullptr : std::get_if<std::string>(&pad->second);
    return text == nullptr || *text == "NOTSET" || *text == "VALID";
  }
  /// All operands but the first one are constants.
  bool plain_operands(const GraphNode& node) const {
    return std::all_of(
               node.inputs.begin() + 1, node.inputs.end(),
               [&](const auto& input) { return !input || graph_.tensors[*input].data.has_value(); }) &&
           node.outputs.size() == 1 && node.outputs[0] && node.inputs[0];
  }
  Match match(std::size_t conv) const {
    Match found;
    std::size_t tensor = *graph_.nodes[conv].inputs[0];
    bool blocks = false;
    while (makers_[tensor] < graph_.nodes.size() && readers_[tensor].size() == 1) {
      const GraphNode& node = graph_.nodes[makers_[tensor]];
      if (node.inputs.empty() || !plain_operands(node) || (!moves(node) && !commutes(node, true))) break;
      blocks = blocks || node.op == "SpaceToDepth" || node.op == "Reshape";
      found.before.insert(found.before.begin(), makers_[tensor]);
      tensor = *node.inputs[0];
    }
    // Pairs in front of the first move stay where they are.
    while (!found.before.empty() && !moves(graph_.nodes[found.before.front()])) {
      tensor = *graph_.nodes[found.before.front()].outputs[0];
      found.before.erase(found.before.begin());
    }
    found.input = tensor;
    if (!blocks) return {};
    tensor = graph_.nodes[conv].outputs.at(0).value();
    while (readers_[tensor].size() == 1 && readers_[tensor][0] < graph_.nodes.size()) {
      const GraphNode& node = graph_.nodes[readers_[tensor][0]];
      if (node.inputs.empty() || node.inputs[0] != tensor || !plain_operands(node) ||
          (!moves(node) && !commutes(node, false)))
        break;
      found.after.push_back(readers_[tensor][0]);
      tensor = *node.outputs[0];
    }
    return found;
  }

  const std::optional<Extents>& shape(std::size_t tensor) {
    if (shapes_.empty()) shapes_ = shapes_of(graph_);
    return shapes_[tensor];
  }

  /// The elements of a tensor of shape `from`, counted from 1, behind the moves among `nodes`.
  std::optional<Constant> moved(const Extents& from, const std::vector<std::size_t>& nodes) const {
    std::vector<double> numbers(to_size(element_count(from)));
    std::iota(numbers.begin(), numbers.end(), 1.0);
    Constant made = make_constant(ElementType::kInt32, from, numbers);
    for (const std::size_t i : nodes) {
      const GraphNode& node = graph_.nodes[i];
      if (!moves(node)) continue;
      KnownInputs inputs{&made};
      for (std::size_t k = 1; k < node.inputs.size(); ++k)
        inputs.push_back(node.inputs[k] ? &*graph_.tensors[*node.inputs[k]].data : nullptr);
      if (node.op == "Pad" && inputs.size() > 2 && inputs[2] != nullptr &&
          inputs[2]->values() != std::vector<double>{0})
        return std::nullopt;
      made = evaluate(node, inputs, graph_.opset).at(0);
      if (element_count(made.shape) > kMostElements) return std::nullopt;
    }
    return made;
  }

  void fold(std::size_t conv, Match found) {
    try {
      const auto x = shape(found.input), inner = shape(*graph_.nodes[conv].outputs[0]);
      const auto kernels = shape(*graph_.nodes[conv].inputs[1]);
      if (!x || !inner || !kernels || kernels->size() < 3 || kernels->size() > 4) return;
      if (element_count(*x) > kMostElements || element_count(*inner) > kMostElements) return;
      const auto phased = moved(*x, found.before);
      if (!phased || phased->shape.size() != kernels->size() || x->size() != kernels->size()) return;
      // The longest way back that ends with a move.
      for (; !found.after.empty(); found.after.pop_back()) {
        if (!moves(graph_.nodes[found.after.back()])) {
          found.behind.insert(found.behind.begin(), found.after.back());
          continue;
        }
        const auto back = moved(*inner, found.after);
        if (!back || back->shape.size() != kernels->size()) continue;
        for (const Numbers& from : orders(x->size())) {
          const auto phases = phases_of(*phased, *x, from);
          if (!phases) continue;
          for (const Numbers& to : orders(x->size())) {
            const auto crop = crop_of(*back, *inner, to, *phases);
            if (crop && replace(conv, found, *phases, *crop, from, to, *x, back->shape, *kernels)) return;
          }
        }
        found.behind.clear();
      }
    } catch (const Unsupported&) {
      // It stays as it is.
    }
  }

  /// Sample, channel, row and column of element `index` of a tensor whose axes lie in `order`; a map of one
  /// spatial axis has row 0.
  static std::array<std::int64_t, 4> place_of(std::int64_t index, const Extents& shape,
                                              const Numbers& order) {
    Numbers at(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;) at[axis] = index % shape[axis], index /= shape[axis];
    const auto of = [&](std::size_t i) { return nth(at, order[i]); };
    if (shape.size() == 3) return {of(0), of(1), 0, of(2)};
    return {of(0), of(1), of(2), of(3)};
  }

  static std::optional<Phases> phases_of(const Constant& phased, const Extents& x, const Numbers& order) {
    const std::int64_t samples = nth(x, order[0]), planes = phased.shape[0];
    if (samples < 1 || planes % samples != 0 || nth(x, order[1]) != phased.shape[1]) return std::nullopt;
    const Numbers sources = phased.integers();
    // Every element is there once.
    if (std::count_if(sources.begin(), sources.end(), [](auto s) { return s != 0; }) != element_count(x))
      return std::nullopt;
    const std::int64_t blocks = planes / samples;
    for (std::int64_t rows = 1; rows <= std::min(blocks, kLargestBlock); ++rows) {
      if (blocks % rows != 0 || blocks / rows > kLargestBlock || blocks == 1) continue;
      if (x.size() == 3 && rows != 1) continue;
      if (auto found = phases_with({rows, blocks / rows}, phased.shape, sources, x, order)) return found;
    }
    return std::nullopt;
  }

  static std::optional<Phases> phases_with(std::array<std::int64_t, 2> block, const Extents& shape,
                                           const Numbers& sources, const Extents& x, const Numbers& order) {
    Phases made;
    made.block = block;
    Numbers plain(shape.size());
    std::iota(plain.begin(), plain.end(), 0);
    const std::int64_t each = ssize(sources) / shape[0];
    for (std::int64_t plane = 0; plane < shape[0]; ++plane) {
      bool known = false;
      std::array<std::int64_t, 3> origin{};  // sample, and the row and column of element 0
      for (std::int64_t i = plane * each; i < (plane + 1) * each; ++i) {
        if (nth(sources, i) == 0) continue;
        const auto to = place_of(i, shape, plain), from = place_of(nth(sources, i) - 1, x, order);
        const std::array<std::int64_t, 3> here{from[0], from[2] - to[2] * block[0],
                                               from[3] - to[3] * block[1]};
        if (!known) origin = here, known = true;
        if (here != origin || from[1] != to[1]) return std::nullopt;
      }
      if (!known) return std::nullopt;
      made.sample.push_back(origin[0]);
      made.phase.push_back({origin[1], origin[2]});
    }
    for (std::size_t axis = 0; axis < 2; ++axis) {
      std::int64_t least = made.phase[0][axis];
      for (const auto& phase : made.phase) least = std::min(least, phase[axis]);
      made.pad[axis] = -least;
      for (auto& phase : made.phase) phase[axis] -= least;
    }
    std::set<std::array<std::int64_t, 3>> all;
    for (std::size_t i = 0; i < made.phase.size(); ++i) {
      if (made.phase[i][0] >= block[0] || made.phase[i][1] >= block[1]) return std::nullopt;
      all.insert({made.sample[i], made.phase[i][0], made.phase[i][1]});
    }
    return all.size() == made.phase.size() ? std::optional(made) : std::nullopt;
  }

  /// Rows and columns cut off where the planes of the result are put together; none if that is no way back.
  static std::optional<std::array<std::int64_t, 2>> crop_of(const Constant& back, const Extents& inner,
                                                            const Numbers& order, const Phases& phases) {
    const Numbers sources = back.integers();
    Numbers plain(inner.size());
    std::iota(plain.begin(), plain.end(), 0);
    std::optional<std::array<std::int64_t, 2>> crop;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (sources[i] == 0) return std::nullopt;
      const auto from = place_of(sources[i] - 1, inner, plain),
                 to = place_of(to_signed(i), back.shape, order);
      const auto plane = to_size(from[0]);
      if (plane >= phases.phase.size()) return std::nullopt;
      const std::array<std::int64_t, 2> here{from[2] * phases.block[0] + phases.phase[plane][0] - to[2],
                                             from[3] * phases.block[1] + phases.phase[plane][1] - to[3]};
      if (!crop) crop = here;
      if (here != *crop || from[1] != to[1] || phases.sample[plane] != to[0]) return std::nullopt;
    }
    return crop;
  }

  bool replace(std::size_t conv, const Match& found, const Phases& phases,
               const std::array<std::int64_t, 2>& crop, const Numbers& from, const Numbers& to,
               const Extents& x, const Extents& result, const Extents& kernels) {
    GraphNode dilated = graph_.nodes[conv];
    const std::size_t spatial = kernels.size() - 2, skipped = 2 - spatial;
    const auto given = dilated.attributes.find("pads");
    const auto* inner = given == dilated.attributes.end() ? nullptr : std::get_if<Numbers>(&given->second);
    Numbers pads(2 * spatial), dilations(spatial);
    for (std::size_t axis = 0; axis < spatial; ++axis) {
      const std::int64_t block = phases.block.at(axis + skipped);
      const std::int64_t before = inner != nullptr ? inner->at(axis) : 0;
      dilations[axis] = block;
      pads[axis] = phases.pad.at(axis + skipped) + before * block - crop.at(axis + skipped);
      pads[axis + spatial] =
          nth(result, to[2 + axis]) + (kernels[2 + axis] - 1) * block - pads[axis] - nth(x, from[2 + axis]);
    }
    if (std::any_of(pads.begin(), pads.end(), [](auto pad) { return pad < 0; })) return false;
    dilated.attributes["pads"] = pads, dilated.attributes["dilations"] = dilations;
    connect(conv, found, std::move(dilated), from, to);
    return true;
  }

  /// The operators on single elements in front, the convolution, those behind it, with the axes in order.
  void connect(std::size_t conv, const Match& found, GraphNode dilated, const Numbers& from,
               const Numbers& to) {
    const std::size_t last = found.behind.empty() ? found.after.back() : found.behind.back();
    const std::size_t end = *graph_.nodes[last].outputs[0];
    std::vector<GraphNode> made;
    std::size_t tensor = found.input;
    const auto add = [&](GraphNode node) {
      node.inputs[0] = tensor;
      tensor = *node.outputs[0];
      graph_.tensors[tensor].shape.reset();
      made.push_back(std::move(node));
    };
    if (!std::is_sorted(from.begin(), from.end())) add(transpose(graph_.nodes[conv], from));
    for (const std::size_t i : found.before) {
      if (!moves(graph_.nodes[i])) add(graph_.nodes[i]);
    }
    add(std::move(dilated));
    for (const std::size_t i : found.after) {
      if (!moves(graph_.nodes[i])) add(graph_.nodes[i]);
    }
    for (const std::size_t i : found.behind) add(graph_.nodes[i]);
    if (!std::is_sorted(to.begin(), to.end())) {
      Numbers back(to.size());
      for (std::size_t i = 0; i < to.size(); ++i) nth(back, to[i]) = to_signed(i);
      add(transpose(graph_.nodes[conv], back));
    }
    made.back().outputs[0] = end;
    gone_.insert(conv);
    gone_.insert(found.before.begin(), found.before.end());
    gone_.insert(found.after.begin(), found.after.end());
    gone_.insert(found.behind.begin(), found.behind.end());
    instead_[last] = std::move(made);
  }
  GraphNode transpose(const GraphNode& of, const Numbers& perm) {
    GraphTensor tensor;
    tensor.name = graph_.tensors[*of.outputs[0]].name + "_axes" + std::to_string(graph_.tensors.size());
    tensor.type = graph_.tensors[*of.outputs[0]].type;
    graph_.tensors.push_back(std::move(tensor));
    GraphNode made;
    made.name = of.name, made.op = "Transpose";
    made.inputs = {std::nullopt}, made.outputs = {graph_.tensors.size() - 1};
    made.attributes = {{"perm", perm}};
    return made;
  }

  ModelGraph& graph_;
  std::vector<std::vector<std::size_t>> readers_;  ///< by tensor
  std::vector<std::size_t> makers_;                ///< by tensor; the number of nodes: there is none
  std::vector<std::optional<Extents>> shapes_;
  std::set<std::size_t> gone_;
  std::map<std::size_t, std::vector<GraphNode>> instead_;  ///< by the last node that they replace
};

}  // namespace

void fold_space_to_batch(ModelGraph& graph) {
  SpaceToBatchFolder(graph).run();
}

}  // namespace tilebeat
