#include "base/types.h"
#include "import/attributes.h"
#include "import/evaluate.h"
#include "import/graph.h"
#include "import/node_writer.h"
#include "import/onnx_lowering.h"
#include "import/operator_table.h"
#include "import/problems.h"
#include "workload/npy.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {
namespace {

constexpr const char* kBlockedProduct = "com.microsoft.MatMulNBits";

/// Replaces nodes by others.
class Rewriter : private NodeWriter {
 public:
  explicit Rewriter(ModelGraph& written) : NodeWriter(written) {}

  void run() {
    std::vector<GraphNode> nodes;
    nodes.swap(graph.nodes);
    for (GraphNode& node : nodes) {
      const std::size_t before = graph.nodes.size();
      const bool made = problems_.collect(node, [&] {
        if (rewrite_recurrent(*this, node) || rewrite_by_shape(*this, node)) return true;
        return node.outputs.size() == 1 && node.outputs[0] && rewritten(node);
      });
      if (made) continue;
      take_back(before);
      graph.nodes.push_back(std::move(node));
    }
    if (!problems_.empty()) problems_.refuse(graph.path);
    drop_unread();
  }

 private:
  void drop_unread() {
    const std::set<std::size_t> unread = unread_nodes(graph);
    std::vector<GraphNode> kept;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (unread.count(i) == 0) kept.push_back(std::move(graph.nodes[i]));
    }
    graph.nodes = std::move(kept);
  }

  /// Adds nodes that compute the same, if there is a rule. Returns whether there was.
  bool rewritten(const GraphNode& node) {
    if (node.op == "Sum" || node.op == "Mean") return sum(node);
    if (node.op == "Pow") return power(node);
    if (node.op == "Abs") return unary(node, "LeakyRelu", {{"alpha", -1.0F}});
    if (node.op == "PRelu") return prelu(node);
    if (node.op == "Softsign") return softsign(node);
    if (node.op == "Max" || node.op == "Min") return bound(node);
    if (node.op == "ConvTranspose") return plain_transposed(node);
    if (node.op == "Gemm") return product(node);
    if (node.op == "Softmax") return causal(node);
    if (node.op == kBlockedProduct) return blocked_product(node);
    if (node.op.rfind("Reduce", 0) == 0) return reduction(node);
    return false;
  }

  bool unary(const GraphNode& node, const std::string& op, std::map<std::string, AttributeValue> attributes) {
    add(node, op, {node.inputs.at(0)}, node.outputs[0], std::move(attributes));
    return true;
  }

  /// A sum or mean of several tensors, two at a time in order.
  bool sum(const GraphNode& node) {
    const bool mean = node.op == "Mean";
    const std::size_t count = node.inputs.size();
    if (count == 0 || (!mean && count <= 2)) return false;
    Operand all = node.inputs[0];
    for (std::size_t i = 1; i < count; ++i)
      all = add(node, "Add", {all, node.inputs[i]}, !mean && i + 1 == count ? node.outputs[0] : std::nullopt);
    if (mean) add(node, "Mul", {all, number(node, 1.0 / static_cast<double>(count))}, node.outputs[0]);
    return true;
  }

  bool power(const GraphNode& node) {
    const Constant* exponent = data(node, 1);
    if (exponent == nullptr || exponent->elements() != 1) return false;
    const double by = exponent->values()[0];
    const Operand x = node.inputs[0];
    if (by == 0.5) return unary(node, "Sqrt", {});
    if (by == 1) return unary(node, "Identity", {});
    if (by == 2) return add(node, "Mul", {x, x}, node.outputs[0]), true;
    if (by == 3) return add(node, "Mul", {add(node, "Mul", {x, x}), x}, node.outputs[0]), true;
    return false;
  }

  /// x * slope + (1 - slope) * relu(x), with one slope a LeakyRelu.
  bool prelu(const GraphNode& node) {
    const Constant* slope = data(node, 1);
    if (slope == nullptr || slope->type != ElementType::kFloat32) return false;
    std::vector<double> slopes = slope->values();
    if (slopes.size() == 1) return unary(node, "LeakyRelu", {{"alpha", static_cast<float>(slopes[0])}});
    const Extents shape = slope->shape;
    const Operand x = node.inputs[0], slope_tensor = node.inputs[1];
    for (double& value : slopes) value = 1 - value;
    const std::size_t rest = tensor(node, make_constant(ElementType::kFloat32, shape, slopes));
    const std::size_t scaled = add(node, "Mul", {x, slope_tensor});
    const std::size_t positive = add(node, "Mul", {add(node, "Relu", {x}), rest});
    add(node, "Add", {scaled, positive}, node.outputs[0]);
    return true;
  }

  /// x / (1 + |x|).
  bool softsign(const GraphNode& node) {
    const std::size_t magnitude =
        add(node, "LeakyRelu", {node.inputs.at(0)}, std::nullopt, {{"alpha", -1.0F}});
    const std::size_t below = add(node, "Add", {magnitude, number(node, 1)});
    add(node, "Div", {node.inputs[0], below}, node.outputs[0]);
    return true;
  }

  /// A maximum or minimum of one tensor is that tensor; with a number it is a bound.
  bool bound(const GraphNode& node) {
    if (node.inputs.size() == 1) return unary(node, "Identity", {});
    if (node.inputs.size() != 2) return false;
    for (const std::size_t i : {0U, 1U}) {
      const Constant* limit = data(node, i);
      if (limit == nullptr || limit->elements() != 1) continue;
      const auto& other = graph.tensors[*node.inputs[1 - i]];
      if (limit->shape.size() > (other.shape ? other.shape->size() : 1)) continue;
      const Operand low = node.op == "Max" ? node.inputs[i] : std::nullopt,
                    high = node.op == "Max" ? std::nullopt : node.inputs[i];
      add(node, "Clip", {node.inputs[1 - i], low, high}, node.outputs[0]);
      return true;
    }
    return false;
  }

  /// A Gemm of two activations, or one that adds a matrix: a product of tensors, and an addition.
  bool product(const GraphNode& node) {
    const Constant *b = data(node, 1), *c = data(node, 2);
    const bool adds = node.inputs.size() > 2 && node.inputs[2];
    const bool of_results = b == nullptr && node.inputs.size() > 1 && node.inputs[1];
    const bool matrix = adds && c != nullptr && c->shape.size() == 2 && c->shape[0] != 1;
    if (!of_results && !matrix) return false;
    Attributes attributes(node);
    const float beta = attributes.real("beta", 1);
    const Operand to = adds ? std::nullopt : node.outputs[0];
    std::size_t made = 0;
    if (of_results) {
      const auto turned = [&](std::size_t i, const char* flag) -> Operand {
        if (attributes.integer(flag, 0) == 0) return node.inputs[i];
        return add(node, "Transpose", {node.inputs[i]}, std::nullopt,
                   {{"perm", std::vector<std::int64_t>{1, 0}}});
      };
      const Operand left = turned(0, "transA"), right = turned(1, "transB");
      const float alpha = attributes.real("alpha", 1);
      made = add(node, "MatMul", {left, right}, alpha == 1 ? to : std::nullopt);
      if (alpha != 1) made = add(node, "Mul", {made, number(node, static_cast<double>(alpha))}, to);
    } else {
      std::map<std::string, AttributeValue> kept = node.attributes;
      kept.erase("beta");
      made = add(node, "Gemm", {node.inputs[0], node.inputs[1]}, to, std::move(kept));
    }
    if (!adds) return true;
    Operand addend = node.inputs[2];
    if (beta != 1) addend = add(node, "Mul", {addend, number(node, static_cast<double>(beta))});
    add(node, "Add", {made, addend}, node.outputs[0]);
    return true;
  }

  bool reduction(const GraphNode& node) {
    std::vector<Operand> inputs = node.inputs;
    if (inputs.empty()) return false;
    const Operand x = inputs[0];
    const auto reduce = [&](const std::string& op, std::size_t of, Operand output = std::nullopt) {
      inputs[0] = of;
      return add(node, op, inputs, output, node.attributes);
    };
    if (node.op == "ReduceMin") {
      add(node, "Neg", {reduce("ReduceMax", add(node, "Neg", {x}))}, node.outputs[0]);
      return true;
    }
    if (node.op == "ReduceL1") {
      reduce("ReduceSum", add(node, "LeakyRelu", {x}, std::nullopt, {{"alpha", -1.0F}}), node.outputs[0]);
      return true;
    }
    if (node.op != "ReduceSumSquare" && node.op != "ReduceL2") return false;
    const std::size_t squares = add(node, "Mul", {x, x});
    if (node.op == "ReduceSumSquare") return reduce("ReduceSum", squares, node.outputs[0]), true;
    add(node, "Sqrt", {reduce("ReduceSum", squares)}, node.outputs[0]);
    return true;
  }

  /// A softmax of scores to which a constant is added that hides the keys behind each query, or before a
  /// window.
  bool causal(const GraphNode& node) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].op != "Add" || graph.nodes[n].outputs[0] != node.inputs.at(0)) continue;
      for (const std::size_t i : {0U, 1U}) {
        const Constant* mask = data(graph.nodes[n], i);
        if (mask == nullptr || mask->shape.size() < 2) continue;
        const Extents of = mask->shape;
        const auto attributes = causal_mask(*mask, of[of.size() - 2], of.back());
        if (!attributes) continue;
        const Operand scores = graph.nodes[n].inputs[1 - i];
        const Extents sum = shape(node.inputs[0]);
        Attributes given(node);
        const std::int64_t axis = given.integer("axis", graph.opset >= 13 ? -1 : 1);
        if (axis_of(axis, sum.size()) + 1 != sum.size() || shape(scores) != sum ||
            sum[sum.size() - 2] != of[of.size() - 2])
          return false;
        add(node, kCausalSoftmax, {scores}, node.outputs[0], *attributes);
        return true;
      }
    }
    return false;
  }

  /// A transposed convolution as a plain one, with zeros for the gaps between dilated taps and for the
  /// channels of other groups.
  bool plain_transposed(const GraphNode& node) {
    const Constant* weights = data(node, 1);
    if (weights == nullptr || weights->type != ElementType::kFloat32) return false;
    if (weights->shape.size() != 3 && weights->shape.size() != 4) return false;
    Attributes attributes(node);
    const std::size_t spatial = weights->shape.size() - 2;
    const std::int64_t groups = attributes.integer("group", 1);
    Extents dilation = attributes.integers("dilations").value_or(Extents(spatial, 1));
    if (dilation.size() != spatial || groups < 1 || weights->shape[0] % groups != 0) return false;
    if (spatial == 1) dilation.insert(dilation.begin(), 1);
    if (groups == 1 && dilation == Extents{1, 1}) return false;
    if (std::any_of(dilation.begin(), dilation.end(), [](auto d) { return d < 1 || d > 255; })) return false;
    std::map<std::string, AttributeValue> kept = node.attributes;
    for (const char* name : {"group", "dilations", "kernel_shape"}) kept.erase(name);
    const std::size_t dense = tensor(node, dense_kernels(*weights, groups, dilation));
    std::vector<Operand> inputs = node.inputs;
    inputs[1] = dense;
    add(node, "ConvTranspose", inputs, node.outputs[0], std::move(kept));
    return true;
  }
  /// A product with weights of four or eight bits and scales of blocks along K: with real weights.
  bool blocked_product(const GraphNode& node) {
    Attributes attributes(node);
    const std::int64_t k = attributes.integer("K", 0), n = attributes.integer("N", 0);
    const std::int64_t bits = attributes.integer("bits", 4), block = attributes.integer("block_size", 0);
    attributes.without_effect("accuracy_level");
    attributes.finish();
    const Constant *codes = data(node, 1), *scales = data(node, 2), *zeros = data(node, 3);
    const bool whole = node.inputs.size() <= 3 || !node.inputs[3] ||
                       (zeros != nullptr && zeros->type == ElementType::kUint8);
    if (codes == nullptr || scales == nullptr || !whole)
      throw Unsupported("weights, scales or zero points that are no constants of whole numbers");
    if (node.inputs.size() > 4 && node.inputs[4]) throw Unsupported("an order of its groups (g_idx)");
    if ((bits != 4 && bits != 8) || k < 1 || n < 1 || block < 1 || k > kMaxElements || n > kMaxElements ||
        block > kMaxElements)
      throw Unsupported(fmt::format("{} x {} weights of {} bits in blocks of {}", k, n, bits, block));
    const std::int64_t blocks = ceil_div(k, block), of_byte = 8 / bits;
    const std::int64_t blob = ceil_div(block, of_byte), zero_row = ceil_div(blocks, of_byte);
    if (codes->elements() != n * blocks * blob || scales->elements() != n * blocks ||
        (zeros != nullptr && zeros->elements() != n * zero_row))
      throw Unsupported("weights, scales or zero points that do not fit K, N and block_size");
    const auto number_at = [&](const Constant& of, std::int64_t row, std::int64_t i) {
      const int byte = nth(of.bytes, row + i / of_byte);
      return bits == 8 ? byte : byte >> (4 * (i % 2)) & 15;
    };
    const std::vector<double> steps = scales->values();
    std::vector<double> weights(room_for({k, n}));
    for (std::int64_t column = 0; column < n; ++column) {
      for (std::int64_t i = 0; i < k; ++i) {
        const std::int64_t of = i / block;
        const int zero = zeros == nullptr ? 1 << (bits - 1) : number_at(*zeros, column * zero_row, of);
        const int code = number_at(*codes, (column * blocks + of) * blob, i % block);
        nth(weights, i * n + column) = static_cast<double>(
            static_cast<float>(code - zero) * static_cast<float>(nth(steps, column * blocks + of)));
      }
    }
    const std::size_t real = tensor(node, make_constant(ElementType::kFloat32, {k, n}, weights));
    if (bits == 4) graph.tensors[real].data->blocks = four_bit_form(block, zeros != nullptr);
    const Operand bias = operand(node, 5);
    const Operand product =
        add(node, "MatMul", {node.inputs.at(0), real}, bias ? std::nullopt : Operand(node.outputs[0]));
    if (bias) add(node, "Add", {product, bias}, node.outputs[0]);
    return true;
  }
  /// [C, Co of a group, Kh, Kw] as [C, Co, dilated Kh, dilated Kw].
  static Constant dense_kernels(const Constant& weights, std::int64_t groups, const Extents& dilation) {
    const Extents k = as_map(weights.shape);
    const Extents shape{k[0], k[1] * groups, (k[2] - 1) * dilation[0] + 1, (k[3] - 1) * dilation[1] + 1};
    const std::vector<double> values = weights.values();
    std::vector<double> made(room_for(shape), 0);
    std::size_t from = 0;
    for (std::int64_t c = 0; c < k[0]; ++c) {
      const std::int64_t first = c / (k[0] / groups) * k[1];
      for (std::int64_t co = first; co < first + k[1]; ++co) {
        for (std::int64_t i = 0; i < k[2]; ++i) {
          for (std::int64_t j = 0; j < k[3]; ++j)
            nth(made, ((c * shape[1] + co) * shape[2] + i * dilation[0]) * shape[3] + j * dilation[1]) =
                values[from++];
        }
      }
    }
    return make_constant(ElementType::kFloat32, from_map(shape, weights.shape.size()), made);
  }

  Problems problems_;
};

}  // namespace

bool is_rewritten(const std::string& op) {
  static const std::set<std::string> others{
      "Sum", "Mean", "Pow",       "Abs",      "PRelu",    "Softsign",        "LSTM",
      "GRU", "RNN",  "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", kBlockedProduct};
  return others.count(op) != 0 || is_written_by_shape(op);
}

void rewrite_operators(ModelGraph& graph) {
  Rewriter(graph).run();
}

}  // namespace tilebeat
