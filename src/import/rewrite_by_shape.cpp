// Operators of float networks that are written as others once shapes are known.
#include "base/types.h"
#include "import/node_writer.h"
#include "import/problems.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

namespace tilebeat {
namespace {

using Writer = NodeWriter;
constexpr std::int64_t kMostFlat = 65535;  // elements of a tensor that is moved one by one

Extents counted(std::size_t rank) {
  Extents axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}
std::int64_t product_of(const Extents& shape, std::size_t first, std::size_t end) {
  return std::accumulate(shape.begin() + to_signed(first), shape.begin() + to_signed(end), std::int64_t{1},
                         std::multiplies<>());
}
/// A factor and an offset a channel, along axis 1 of a tensor of rank `rank`.
void per_channel(Writer& w, const GraphNode& node, Operand x, std::size_t rank, std::size_t factor) {
  const auto along = [&](std::size_t i) -> std::size_t {
    const Constant* list = w.data(node, i);
    if (list == nullptr) throw Unsupported("parameters that are no constants");
    Extents shape(rank - 1, 1);
    shape[0] = list->elements();
    return w.reals(node, shape, list->values());
  };
  const std::size_t scaled = w.add(node, "Mul", {x, along(factor)});
  w.add(node, "Add", {scaled, along(factor + 1)}, Writer::output(node));
}
/// Rows of `x` with mean 0 and variance 1.
std::size_t centred_rows(Writer& w, const GraphNode& node, std::size_t x, std::int64_t row, float epsilon) {
  const std::size_t ones = w.reals(node, {row}, std::vector<double>(to_size(row), 1));
  return w.add(node, "LayerNormalization", {x, ones}, std::nullopt,
               {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

// ---- normalisations ----

void instance_norm(Writer& w, const GraphNode& node, Attributes& attributes) {
  const Operand x = node.inputs.at(0);
  const Extents shape = w.shape(x);
  if (shape.size() < 3) throw Unsupported(fmt::format("a tensor of shape {}", extents_text(shape)));
  const float epsilon = attributes.real("epsilon", 1e-5F);
  const std::int64_t row = product_of(shape, 2, shape.size());
  const std::size_t rows = centred_rows(w, node, w.reshape(node, x, {shape[0], shape[1], row}), row, epsilon);
  per_channel(w, node, w.reshape(node, rows, shape), shape.size(), 1);
}

/// One factor and offset a channel, or a group (opsets before 21).
void group_norm(Writer& w, const GraphNode& node, Attributes& attributes) {
  const Operand x = node.inputs.at(0);
  const Extents shape = w.shape(x);
  const std::int64_t groups = attributes.integer("num_groups", 0);
  if (shape.size() < 3 || groups < 1 || shape[1] % groups != 0)
    throw Unsupported(fmt::format("{} groups of a tensor of shape {}", groups, extents_text(shape)));
  const float epsilon = attributes.real("epsilon", 1e-5F);
  attributes.without_effect("stash_type");  // type of the sums
  const Constant* scale = w.data(node, 1);
  if (scale == nullptr) throw Unsupported("parameters that are no constants");
  const std::int64_t row = product_of(shape, 1, shape.size()) / groups;
  GraphNode channels = node;
  if (scale->elements() == groups && groups != shape[1]) {
    for (const std::size_t i : {1U, 2U}) {
      const Constant* list = w.data(node, i);
      if (list == nullptr || list->elements() != groups) throw Unsupported("parameters of another number");
      std::vector<double> values;
      for (const double value : list->values())
        values.insert(values.end(), to_size(shape[1] / groups), value);
      channels.inputs[i] = w.reals(node, {shape[1]}, values);
    }
  }
  const std::size_t rows = centred_rows(w, node, w.reshape(node, x, {shape[0], groups, row}), row, epsilon);
  per_channel(w, channels, w.reshape(node, rows, shape), shape.size(), 1);
}

/// The form with its mean and deviation as results.
void layer_norm(Writer& w, const GraphNode& node, Attributes& attributes) {
  const Operand x = node.inputs.at(0);
  const Extents shape = w.shape(x);
  const std::size_t first = axis_of(attributes.integer("axis", -1), shape.size());
  const double epsilon = static_cast<double>(attributes.real("epsilon", 1e-5F));
  attributes.without_effect("stash_type");
  Extents axes;
  for (std::size_t axis = first; axis < shape.size(); ++axis) axes.push_back(to_signed(axis));
  const std::size_t mean = w.reduce(node, "ReduceMean", x, axes, Writer::result(node, 1));
  const std::size_t distance = w.add(node, "Sub", {x, mean});
  const std::size_t variance = w.reduce(node, "ReduceMean", w.add(node, "Mul", {distance, distance}), axes);
  const std::size_t root = w.add(node, "Sqrt", {w.add(node, "Add", {variance, w.number(node, epsilon)})});
  const std::size_t inverse = w.add(node, "Reciprocal", {root}, Writer::result(node, 2));
  const std::size_t normal = w.add(node, "Mul", {distance, inverse});
  const Operand beta = Writer::operand(node, 2);
  const std::size_t scaled =
      w.add(node, "Mul", {normal, node.inputs.at(1)}, beta ? std::nullopt : Writer::output(node));
  if (beta) w.add(node, "Add", {scaled, beta}, Writer::output(node));
}

void mean_variance(Writer& w, const GraphNode& node, Attributes& attributes) {
  const Operand x = node.inputs.at(0);
  const Extents axes = attributes.integers("axes").value_or(Extents{0, 2, 3});
  const std::size_t distance = w.add(node, "Sub", {x, w.reduce(node, "ReduceMean", x, axes)});
  const std::size_t variance = w.reduce(node, "ReduceMean", w.add(node, "Mul", {distance, distance}), axes);
  const std::size_t root = w.add(node, "Sqrt", {w.add(node, "Add", {variance, w.number(node, 1e-9)})});
  w.add(node, "Div", {distance, root}, Writer::output(node));
}

void lp_norm(Writer& w, const GraphNode& node, Attributes& attributes) {
  const Operand x = node.inputs.at(0);
  const Extents axis{attributes.integer("axis", -1)};
  const std::int64_t p = attributes.integer("p", 2);
  if (p != 1 && p != 2) throw Unsupported(fmt::format("a p of {}", p));
  std::size_t length = 0;
  if (p == 1) {
    length =
        w.reduce(node, "ReduceSum", w.add(node, "LeakyRelu", {x}, std::nullopt, {{"alpha", -1.0F}}), axis);
  } else {
    length = w.add(node, "Sqrt", {w.reduce(node, "ReduceSum", w.add(node, "Mul", {x, x}), axis)});
  }
  w.add(node, "Div", {x, length}, Writer::output(node));
}

// ---- logarithms of sums ----

/// x - max - log(sum(exp(x - max))), which 8 bits hold better than the logarithm of a softmax.
void log_softmax_over(Writer& w, const GraphNode& node, Operand x, std::int64_t axis, Operand to) {
  const std::size_t distance = w.add(node, "Sub", {x, w.reduce(node, "ReduceMax", x, {axis})});
  const std::size_t sum = w.reduce(node, "ReduceSum", w.add(node, "Exp", {distance}), {axis});
  w.add(node, "Sub", {distance, w.add(node, "Log", {sum})}, to);
}

void log_softmax(Writer& w, const GraphNode& node, Attributes& attributes) {
  const Operand x = node.inputs.at(0);
  const bool rows = w.graph.opset < 13;
  const Extents shape = w.shape(x);
  const std::size_t axis = axis_of(attributes.integer("axis", rows ? 1 : -1), shape.size());
  if (!rows || product_of(shape, axis + 1, shape.size()) == 1)
    return log_softmax_over(w, node, x, to_signed(axis), Writer::output(node));
  const std::size_t flat =
      w.reshape(node, x, {product_of(shape, 0, axis), product_of(shape, axis, shape.size())});
  const std::size_t made = w.tensor(node);
  log_softmax_over(w, node, flat, 1, made);
  w.reshape(node, made, shape, Writer::output(node));
}

void log_of_sum(Writer& w, const GraphNode& node, Attributes& attributes) {
  const Operand x = node.inputs.at(0);
  const std::size_t rank = w.shape(x).size();
  const bool keep = attributes.integer("keepdims", 1) != 0;
  Extents axes = attributes.integers("axes").value_or(Extents{});
  if (const Constant* given = w.data(node, 1)) axes = given->integers();
  if (attributes.integer("noop_with_empty_axes", 0) != 0 && axes.empty())
    throw Unsupported("its attribute noop_with_empty_axes");
  if (axes.empty()) axes = counted(rank);
  if (node.op == "ReduceLogSum") {
    w.add(node, "Log", {w.reduce(node, "ReduceSum", x, axes, std::nullopt, keep)}, Writer::output(node));
    return;
  }
  const std::size_t most = w.reduce(node, "ReduceMax", x, axes);
  const std::size_t sum =
      w.reduce(node, "ReduceSum", w.add(node, "Exp", {w.add(node, "Sub", {x, most})}), axes);
  const std::size_t made =
      w.add(node, "Add", {w.add(node, "Log", {sum}), most}, keep ? Writer::output(node) : std::nullopt);
  if (keep) return;
  Extents shape = w.shape(x), left;
  std::set<std::size_t> gone;
  for (const std::int64_t axis : axes) gone.insert(axis_of(axis, rank));
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (gone.count(axis) == 0) left.push_back(shape[axis]);
  }
  w.reshape(node, made, left, Writer::output(node));
}

// ---- products ----

/// Sums of all elements up to each one, as a product with a triangle of ones.
void running_sum(Writer& w, const GraphNode& node, Attributes& attributes) {
  const Operand x = node.inputs.at(0);
  const Constant* along = w.data(node, 1);
  if (along == nullptr) throw Unsupported("an axis that is computed");
  const Extents shape = w.shape(x);
  const std::size_t axis = axis_of(along->integers().at(0), shape.size());
  const bool exclusive = attributes.integer("exclusive", 0) != 0,
             reverse = attributes.integer("reverse", 0) != 0;
  const std::int64_t count = shape[axis];
  std::vector<double> ones;
  for (std::int64_t from = 0; from < count; ++from) {
    for (std::int64_t to = 0; to < count; ++to) {
      const std::int64_t behind = reverse ? from - to : to - from;
      ones.push_back(behind > 0 || (behind == 0 && !exclusive) ? 1 : 0);
    }
  }
  Extents perm = counted(shape.size());
  std::swap(perm[axis], perm.back());
  const bool last = axis + 1 == shape.size();
  Operand rows = last ? x : w.transpose(node, x, perm);
  const bool vector = shape.size() == 1;
  if (vector) rows = w.reshape(node, rows, {1, count});
  const std::size_t made = w.add(node, "MatMul", {rows, w.reals(node, {count, count}, ones)},
                                 last && !vector ? Writer::output(node) : std::nullopt);
  if (vector) w.reshape(node, made, shape, Writer::output(node));
  if (!last) w.transpose(node, made, perm, Writer::output(node));
}

// ---- selections ----

/// A comparison of two tensors as one of their distance with 0, which is a function of one element.
void compare(Writer& w, const GraphNode& node, Attributes&) {
  const std::size_t distance = w.add(node, "Sub", {node.inputs.at(0), node.inputs.at(1)});
  w.add(node, node.op, {distance, w.number(node, 0)}, Writer::output(node));
}

/// b + mask * (a - b), or x * mask + the other numbers where one side is constant.
void where(Writer& w, const GraphNode& node, Attributes&) {
  const Operand condition = node.inputs.at(0), a = node.inputs.at(1), b = node.inputs.at(2);
  const Constant *mask = w.data(node, 0), *left = w.data(node, 1), *right = w.data(node, 2);
  const auto infinite = [](const Constant* side) {
    if (side == nullptr) return false;
    const std::vector<double> values = side->values();
    return std::any_of(values.begin(), values.end(), [](double v) { return !std::isfinite(v); });
  };
  if (mask == nullptr && (infinite(left) || infinite(right))) {
    w.graph.nodes.push_back(node);  // a function of one element keeps it
    return;
  }
  if (mask == nullptr || (left == nullptr && right == nullptr)) {
    const std::size_t share = mask != nullptr
                                  ? w.reals(node, mask->shape, mask->values())
                                  : w.add(node, "Cast", {condition}, std::nullopt, {{"to", std::int64_t{1}}});
    const std::size_t distance = w.add(node, "Sub", {a, b});
    w.add(node, "Add", {w.add(node, "Mul", {distance, share}), b}, Writer::output(node));
    return;
  }
  // One number that stands where the mask says so: its product is computed here, for it may be infinite.
  const bool first = left != nullptr;
  std::vector<double> keeps = mask->values();
  if (first) {
    for (double& keep : keeps) keep = keep != 0 ? 0 : 1;
  }
  GraphNode select;
  select.op = "Where", select.outputs = {std::nullopt};
  const Constant zero = make_constant(ElementType::kFloat32, {}, {0});
  const Constant numbers =
      evaluate(select, {mask, first ? left : &zero, first ? &zero : right}, w.graph.opset).at(0);
  const Extents shape = mask->shape;
  const std::size_t kept = w.add(node, "Mul", {first ? b : a, w.reals(node, shape, keeps)});
  w.add(node, "Add", {kept, w.reals(node, numbers.shape, numbers.values())}, Writer::output(node));
}

/// Elements of tensors laid one behind another, by constant indices: those that the operator itself picks
/// from their numbers.
void by_indices(Writer& w, const GraphNode& node, Attributes&) {
  const bool places = node.op.rfind("Scatter", 0) == 0;
  Constant numbers = make_constant(ElementType::kInt32, w.shape(node.inputs.at(0)), {}), updates;
  std::vector<std::int64_t> all(to_size(element_count(numbers.shape)));
  std::iota(all.begin(), all.end(), 1);
  numbers = make_constant(ElementType::kInt32, numbers.shape, {all.begin(), all.end()});
  const std::int64_t count = ssize(all);
  KnownInputs inputs{&numbers};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (places && i == 2) {
      updates = make_constant(ElementType::kInt32, w.shape(node.inputs[i]), {});
      std::vector<double> more(to_size(element_count(updates.shape)));
      std::iota(more.begin(), more.end(), static_cast<double>(count + 1));
      updates = make_constant(ElementType::kInt32, updates.shape, more);
      inputs.push_back(&updates);
      continue;
    }
    inputs.push_back(w.data(node, i));
    if (node.inputs[i] && inputs.back() == nullptr) throw Unsupported("indices that are computed");
  }
  const Constant picked = evaluate(node, inputs, w.graph.opset).at(0);
  const std::int64_t total = count + (places ? updates.elements() : 0);
  if (std::max(total, picked.elements()) + 1 > kMostFlat)
    throw Unsupported(fmt::format("{} elements, up to {} are moved one by one", total, kMostFlat - 1));
  if (picked.elements() == 0) throw Unsupported("a result without elements");
  std::vector<Operand> parts{w.reshape(node, node.inputs[0], {count})};
  if (places) parts.emplace_back(w.reshape(node, node.inputs[2], {updates.elements()}));
  std::vector<std::int64_t> indices = picked.integers();
  const bool blanks = std::find(indices.begin(), indices.end(), 0) != indices.end();
  for (std::int64_t& index : indices) index = index == 0 ? total : index - 1;
  if (blanks) parts.emplace_back(w.reals(node, {1}, {0}));
  const std::size_t flat =
      parts.size() == 1 ? *parts[0] : w.add(node, "Concat", parts, std::nullopt, {{"axis", std::int64_t{0}}});
  const std::size_t made = w.add(node, "Gather", {flat, w.integers(node, {ssize(indices)}, indices)},
                                 std::nullopt, {{"axis", std::int64_t{0}}});
  w.reshape(node, made, picked.shape, Writer::output(node));
}

// ---- losses ----

/// The number of the class of every element of a target, and its factor: 0 for what is ignored.
struct Classes {
  Extents shape;
  std::vector<std::int64_t> indices;
  std::vector<double> factors;
};
Classes classes_of(Writer& w, const GraphNode& node, const Extents& shape,
                   std::optional<std::int64_t> ignored) {
  const Constant *target = w.data(node, 1), *weight = w.data(node, 2);
  if (target == nullptr || (weight == nullptr && Writer::operand(node, 2)))
    throw Unsupported("a target or weights that are no constants");
  Classes made{target->shape, target->integers(), {}};
  const std::vector<double> weights = weight != nullptr ? weight->values() : std::vector<double>{};
  for (std::int64_t& index : made.indices) {
    const bool counts = !ignored || index != *ignored;
    if (!counts) index = 0;
    if (index < 0 || index >= shape.at(1))
      throw Unsupported(fmt::format("a class {} of {}", index, shape[1]));
    made.factors.push_back(!counts ? 0 : weight == nullptr ? 1 : weights.at(to_size(index)));
  }
  return made;
}

void loss_of(Writer& w, const GraphNode& node, Attributes& attributes, Operand logarithms) {
  const Extents shape = w.shape(node.inputs.at(0));
  if (shape.size() < 2) throw Unsupported(fmt::format("a tensor of shape {}", extents_text(shape)));
  const std::string way = attributes.text("reduction", "mean");
  std::optional<std::int64_t> ignored;
  if (attributes.has("ignore_index")) ignored = attributes.integer("ignore_index", 0);
  Classes classes = classes_of(w, node, shape, ignored);
  const std::int64_t inner = product_of(shape, 2, shape.size());
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < ssize(classes.indices); ++i)
    places.push_back((i / inner * shape[1] + nth(classes.indices, i)) * inner + i % inner);
  const double all = std::accumulate(classes.factors.begin(), classes.factors.end(), 0.0);
  for (double& factor : classes.factors) factor = -factor / (way == "mean" ? all : 1);
  const std::int64_t count = element_count(shape);
  if (count > kMostFlat)
    throw Unsupported(fmt::format("{} elements, up to {} are moved one by one", count, kMostFlat));
  const std::size_t picked =
      w.add(node, "Gather", {w.reshape(node, logarithms, {count}), w.integers(node, {ssize(places)}, places)},
            std::nullopt, {{"axis", std::int64_t{0}}});
  const std::size_t each = w.add(node, "Mul", {picked, w.reals(node, {ssize(places)}, classes.factors)});
  if (way == "none") {
    w.reshape(node, each, classes.shape, Writer::output(node));
  } else if (way == "mean" || way == "sum") {
    w.reduce(node, "ReduceSum", each, {0}, Writer::output(node), false);
  } else {
    throw Unsupported(fmt::format("reduction {}", way));
  }
}

void likelihood_loss(Writer& w, const GraphNode& node, Attributes& attributes) {
  loss_of(w, node, attributes, node.inputs.at(0));
}

void cross_entropy(Writer& w, const GraphNode& node, Attributes& attributes) {
  const Operand given = Writer::result(node, 1);
  const std::size_t logarithms = given ? *given : w.tensor(node);
  log_softmax_over(w, node, node.inputs.at(0), 1, logarithms);
  loss_of(w, node, attributes, logarithms);
}

/// The first least element is the first greatest of the negatives.
void arg_min(Writer& w, const GraphNode& node, Attributes& attributes) {
  NodeAttributes kept = node.attributes;
  for (const auto& entry : kept) attributes.without_effect(entry.first);  // ArgMax reads them
  w.add(node, "ArgMax", {w.add(node, "Neg", {node.inputs.at(0)})}, Writer::output(node), std::move(kept));
}

/// A product of all elements along axes, two halves at a time.
void product_along(Writer& w, const GraphNode& node, Attributes& attributes) {
  Operand x = node.inputs.at(0);
  const Extents shape = w.shape(x);
  const bool keep = attributes.integer("keepdims", 1) != 0;
  Extents axes = attributes.integers("axes").value_or(Extents{}), left;
  if (const Constant* given = w.data(node, 1)) axes = given->integers();
  if (attributes.integer("noop_with_empty_axes", 0) != 0 && axes.empty())
    throw Unsupported("its attribute noop_with_empty_axes");
  if (axes.empty()) axes = counted(shape.size());
  std::set<std::size_t> gone;
  for (const std::int64_t axis : axes) gone.insert(axis_of(axis, shape.size()));
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (gone.count(axis) == 0 || keep) left.push_back(gone.count(axis) != 0 ? 1 : shape[axis]);
    if (gone.count(axis) == 0) continue;
    for (std::int64_t count = shape[axis]; count > 1; count = (count + 1) / 2) {
      const std::int64_t half = count / 2, at = to_signed(axis);
      const std::size_t made =
          w.add(node, "Mul", {w.slice(node, x, at, 0, half), w.slice(node, x, at, half, 2 * half)});
      x = count % 2 == 0 ? made
                         : w.add(node, "Concat", {made, w.slice(node, x, at, count - 1, count)}, std::nullopt,
                                 {{"axis", at}});
    }
  }
  w.reshape(node, x, left, Writer::output(node));
}

std::map<std::string, RewriteRule> all_rules() {
  std::map<std::string, RewriteRule> all{{"InstanceNormalization", instance_norm},
                                         {"GroupNormalization", group_norm},
                                         {"MeanVarianceNormalization", mean_variance},
                                         {"LpNormalization", lp_norm},
                                         {"LogSoftmax", log_softmax},
                                         {"ReduceLogSum", log_of_sum},
                                         {"ReduceLogSumExp", log_of_sum},
                                         {"ReduceProd", product_along},
                                         {"CumSum", running_sum},
                                         {"Einsum", rewrite_einsum},
                                         {"Where", where},
                                         {"GatherElements", by_indices},
                                         {"GatherND", by_indices},
                                         {"ScatterElements", by_indices},
                                         {"Scatter", by_indices},
                                         {"ScatterND", by_indices},
                                         {"ReverseSequence", by_indices},
                                         {"Compress", by_indices},
                                         {"Trilu", by_indices},
                                         {"NegativeLogLikelihoodLoss", likelihood_loss},
                                         {"SoftmaxCrossEntropyLoss", cross_entropy},
                                         {"ArgMin", arg_min}};
  all.insert(attention_rules().begin(), attention_rules().end());
  return all;
}
const std::map<std::string, RewriteRule>& rules() {
  static const std::map<std::string, RewriteRule> all = all_rules();
  return all;
}
const std::set<std::string>& comparisons() {
  static const std::set<std::string> all{"Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"};
  return all;
}

}  // namespace

bool is_written_by_shape(const std::string& op) {
  return rules().count(op) != 0 || comparisons().count(op) != 0;
}

bool rewrite_by_shape(NodeWriter& writer, const GraphNode& node) {
  auto found = rules().find(node.op);
  RewriteRule rule = found == rules().end() ? nullptr : found->second;
  const auto computed = [&](std::size_t i) {
    return i < node.inputs.size() && writer.data(node, i) == nullptr;
  };
  if (comparisons().count(node.op) != 0 && computed(0) && computed(1)) rule = compare;
  if (node.op == "LayerNormalization" && (Writer::result(node, 1) || Writer::result(node, 2)))
    rule = layer_norm;
  if (rule == nullptr) return false;
  Attributes attributes(node);
  rule(writer, node, attributes);
  if (rule != by_indices) attributes.finish();
  return true;
}

}  // namespace tilebeat
