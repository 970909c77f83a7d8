// Evaluation of operators that pick or place elements by indices, and of those on integers.
#include "base/types.h"
#include "import/evaluate.h"
#include "import/problems.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// Steps from one element to the next along every axis.
Extents steps_between(const Extents& shape) {
  Extents strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

/// The place of element `index` of a tensor.
Extents place_of(std::int64_t index, const Extents& shape) {
  Extents at(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) at[axis] = index % shape[axis], index /= shape[axis];
  return at;
}

std::int64_t index_in(std::int64_t index, std::int64_t extent) {
  return to_signed(axis_of(index, to_size(extent)));
}

/// The first element of each part of `x` that the last axis of `indices` names, and the number of its
/// elements.
struct Parts {
  std::vector<std::int64_t> begins;
  std::int64_t size = 1;
  Extents shape;
};
Parts parts_of(const Extents& x, const Constant& indices, std::int64_t batch) {
  if (indices.shape.empty() || batch < 0 || batch >= ssize(indices.shape))
    throw Unsupported("indices without axes");
  const std::int64_t depth = indices.shape.back();
  if (depth < 1 || batch + depth > ssize(x))
    throw Unsupported(fmt::format("indices of {} axes for {}", depth, extents_text(x)));
  const Extents strides = steps_between(x);
  Parts made;
  made.shape.assign(indices.shape.begin(), indices.shape.end() - 1);
  for (std::size_t axis = to_size(batch + depth); axis < x.size(); ++axis) {
    made.size *= x[axis];
    made.shape.push_back(x[axis]);
  }
  const std::vector<std::int64_t> list = indices.integers();
  const std::int64_t rows = ssize(list) / depth;
  std::int64_t batches = 1, around = 1;
  for (std::int64_t axis = 0; axis < batch; ++axis) {
    if (nth(indices.shape, axis) != nth(x, axis)) throw Unsupported("indices of another batch");
    batches *= nth(x, axis);
  }
  around = batches == 0 ? 1 : rows / batches;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t begin = batch == 0 ? 0 : row / around * nth(strides, batch - 1);
    for (std::int64_t k = 0; k < depth; ++k)
      begin += index_in(nth(list, row * depth + k), nth(x, batch + k)) * nth(strides, batch + k);
    made.begins.push_back(begin);
  }
  return made;
}

Constant gather_parts(const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  const Parts parts = parts_of(x.shape, need(inputs, 1), attributes.integer("batch_dims", 0));
  const std::vector<double> values = x.values();
  std::vector<double> made;
  room_for(parts.shape);
  for (const std::int64_t begin : parts.begins) {
    for (std::int64_t i = 0; i < parts.size; ++i) made.push_back(nth(values, begin + i));
  }
  return make_constant(x.type, parts.shape, made);
}

Constant scatter_parts(const KnownInputs& inputs, Attributes& attributes) {
  const Constant &x = need(inputs, 0), &updates = need(inputs, 2);
  if (attributes.text("reduction", "none") != "none") throw Unsupported("a reduction of what is placed");
  const Parts parts = parts_of(x.shape, need(inputs, 1), 0);
  if (updates.shape != parts.shape)
    throw Unsupported(fmt::format("updates of {}", extents_text(updates.shape)));
  std::vector<double> made = x.values();
  const std::vector<double> values = updates.values();
  for (std::int64_t row = 0; row < ssize(parts.begins); ++row) {
    for (std::int64_t i = 0; i < parts.size; ++i)
      nth(made, nth(parts.begins, row) + i) = nth(values, row * parts.size + i);
  }
  return make_constant(x.type, x.shape, made);
}

Constant scatter_elements(const KnownInputs& inputs, Attributes& attributes) {
  const Constant &x = need(inputs, 0), &indices = need(inputs, 1), &updates = need(inputs, 2);
  const std::size_t axis = axis_of(attributes.integer("axis", 0), x.shape.size());
  if (attributes.text("reduction", "none") != "none") throw Unsupported("a reduction of what is placed");
  if (indices.shape != updates.shape || indices.shape.size() != x.shape.size())
    throw Unsupported(fmt::format("updates of {}", extents_text(updates.shape)));
  std::vector<double> made = x.values();
  const std::vector<double> values = updates.values();
  const std::vector<std::int64_t> list = indices.integers();
  const Extents strides = steps_between(x.shape);
  for (std::int64_t i = 0; i < ssize(list); ++i) {
    Extents at = place_of(i, indices.shape);
    at[axis] = index_in(nth(list, i), x.shape[axis]);
    std::int64_t to = 0;
    for (std::size_t k = 0; k < at.size(); ++k) to += at[k] * strides[k];
    nth(made, to) = nth(values, i);
  }
  return make_constant(x.type, x.shape, made);
}

Constant reversed_sequences(const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  const std::size_t rank = x.shape.size(), time = axis_of(attributes.integer("time_axis", 0), rank),
                    batch = axis_of(attributes.integer("batch_axis", 1), rank);
  const std::vector<std::int64_t> lengths = need(inputs, 1).integers();
  if (ssize(lengths) != x.shape[batch]) throw Unsupported("lengths of another batch");
  const std::vector<double> values = x.values();
  std::vector<double> made(values.size());
  const Extents strides = steps_between(x.shape);
  for (std::int64_t i = 0; i < ssize(made); ++i) {
    const Extents at = place_of(i, x.shape);
    const std::int64_t length = nth(lengths, at[batch]);
    if (length < 0 || length > x.shape[time]) throw Unsupported(fmt::format("a length of {}", length));
    const std::int64_t from = at[time] < length ? length - 1 - at[time] : at[time];
    nth(made, i) = nth(values, i + (from - at[time]) * strides[time]);
  }
  return make_constant(x.type, x.shape, made);
}

Constant compressed(const KnownInputs& inputs, Attributes& attributes) {
  Constant x = need(inputs, 0);
  const std::vector<std::int64_t> condition = need(inputs, 1).integers();
  if (!attributes.has("axis")) x.shape = {x.elements()};
  const std::size_t axis = axis_of(attributes.integer("axis", 0), x.shape.size());
  const std::vector<double> values = x.values();
  std::vector<double> made;
  Extents shape = x.shape;
  shape[axis] = 0;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(ssize(condition), x.shape[axis]); ++i)
    shape[axis] += nth(condition, i) != 0 ? 1 : 0;
  for (std::int64_t i = 0; i < ssize(values); ++i) {
    const std::int64_t at = place_of(i, x.shape)[axis];
    if (at < ssize(condition) && nth(condition, at) != 0) made.push_back(nth(values, i));
  }
  return make_constant(x.type, shape, made);
}

Constant triangle(const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  const bool upper = attributes.integer("upper", 1) != 0;
  const std::int64_t k = inputs.size() > 1 && inputs[1] != nullptr ? inputs[1]->integers().at(0) : 0;
  if (x.shape.size() < 2) throw Unsupported("a tensor of less than two axes");
  std::vector<double> values = x.values();
  const std::int64_t columns = x.shape.back(), rows = x.shape[x.shape.size() - 2];
  for (std::int64_t i = 0; i < ssize(values); ++i) {
    const std::int64_t over = i % columns - i / columns % rows;
    if (upper ? over < k : over > k) nth(values, i) = 0;
  }
  return make_constant(x.type, x.shape, values);
}

Constant one_hot(const KnownInputs& inputs, Attributes& attributes) {
  const Constant &indices = need(inputs, 0), &values = need(inputs, 2);
  const std::int64_t depth = need(inputs, 1).integers().at(0);
  Extents shape = indices.shape;
  const std::size_t axis = axis_of(attributes.integer("axis", -1), shape.size() + 1);
  if (depth < 1) throw Unsupported(fmt::format("a depth of {}", depth));
  shape.insert(shape.begin() + to_signed(axis), depth);
  const std::vector<double> either = values.values();
  std::vector<double> made(room_for(shape), either.at(0));
  const Extents strides = steps_between(shape);
  const std::vector<std::int64_t> list = indices.integers();
  for (std::int64_t i = 0; i < ssize(list); ++i) {
    const std::int64_t index = nth(list, i) < 0 ? nth(list, i) + depth : nth(list, i);
    if (index < 0 || index >= depth) continue;  // such a row has no other value
    Extents at = place_of(i, indices.shape);
    at.insert(at.begin() + to_signed(axis), index);
    std::int64_t to = 0;
    for (std::size_t k = 0; k < at.size(); ++k) to += at[k] * strides[k];
    nth(made, to) = either.at(1);
  }
  return make_constant(values.type, shape, made);
}

Constant identity_like(const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  if (x.shape.size() != 2) throw Unsupported("a tensor that is no matrix");
  const std::int64_t k = attributes.integer("k", 0);
  const ElementType type =
      attributes.has("dtype") ? onnx_type(static_cast<std::int32_t>(attributes.integer("dtype", 1))) : x.type;
  std::vector<double> made(room_for(x.shape), 0);
  for (std::int64_t i = 0; i < ssize(made); ++i) nth(made, i) = i % x.shape[1] - i / x.shape[1] == k ? 1 : 0;
  return make_constant(type, x.shape, made);
}

/// x less its zero point: one, or one an index of `axis`.
Constant centred(const KnownInputs& inputs, std::size_t i, std::size_t zero, std::int64_t axis) {
  const Constant& x = need(inputs, i);
  std::vector<double> values = x.values(), zeros{0};
  if (zero < inputs.size() && inputs[zero] != nullptr) zeros = inputs[zero]->values();
  if (zeros.empty()) throw Unsupported("no zero point");
  if (axis < 0) axis += ssize(x.shape);
  std::int64_t inner = 1;
  for (std::int64_t k = axis + 1; k < ssize(x.shape); ++k) inner *= nth(x.shape, k);
  for (std::int64_t k = 0; k < ssize(values); ++k)
    nth(values, k) -= nth(zeros, zeros.size() == 1 ? 0 : k / inner % ssize(zeros));
  return make_constant(ElementType::kFloat64, x.shape, values);
}

/// MatMulInteger and ConvInteger: the operator of real numbers on what the integers stand for.
Constant integer_product(const GraphNode& node, const KnownInputs& inputs, std::int64_t opset) {
  const bool conv = node.op == "ConvInteger";
  const Constant x = centred(inputs, 0, 2, -2), w = centred(inputs, 1, 3, conv ? 0 : -1);
  GraphNode plain = node;
  plain.op = conv ? "Conv" : "MatMul";
  plain.inputs.resize(2);
  Constant made = evaluate(plain, {&x, &w}, opset).at(0);
  return make_constant(ElementType::kInt32, made.shape, made.values());
}

/// uint8 elements with a scale and a zero point that take in 0.
Evaluated dynamically_quantised(const KnownInputs& inputs) {
  const Constant& x = need(inputs, 0);
  std::vector<double> values = x.values();
  float low = 0, high = 0;
  for (const double value : values)
    low = std::min(low, static_cast<float>(value)), high = std::max(high, static_cast<float>(value));
  const float scale = std::max((high - low) / 255, std::numeric_limits<float>::min());
  const auto zero = static_cast<double>(std::clamp(std::nearbyint(-low / scale), 0.0F, 255.0F));
  for (double& value : values)
    value =
        std::clamp(static_cast<double>(std::nearbyint(static_cast<float>(value) / scale)) + zero, 0.0, 255.0);
  return {make_constant(ElementType::kUint8, x.shape, values),
          make_constant(ElementType::kFloat32, {}, {static_cast<double>(scale)}),
          make_constant(ElementType::kUint8, {}, {zero})};
}

bool computes_integers(const std::string& op) {
  return op == "MatMulInteger" || op == "ConvInteger" || op == "DynamicQuantizeLinear";
}

struct IndexOp {
  std::string_view name;
  Constant (*evaluate)(const KnownInputs&, Attributes&);
};
constexpr std::array<IndexOp, 9> kIndexOps{{{"GatherND", gather_parts},
                                            {"ScatterND", scatter_parts},
                                            {"ScatterElements", scatter_elements},
                                            {"Scatter", scatter_elements},
                                            {"ReverseSequence", reversed_sequences},
                                            {"Compress", compressed},
                                            {"Trilu", triangle},
                                            {"OneHot", one_hot},
                                            {"EyeLike", identity_like}}};

const IndexOp* index_op(const std::string& name) {
  const auto* const found =
      std::find_if(kIndexOps.begin(), kIndexOps.end(), [&](const IndexOp& op) { return op.name == name; });
  return found == kIndexOps.end() ? nullptr : found;
}

}  // namespace

bool is_index_op(const std::string& op) {
  return index_op(op) != nullptr || computes_integers(op);
}

Evaluated evaluate_index(const GraphNode& node, const KnownInputs& inputs, std::int64_t opset,
                         Attributes& attributes) {
  if (node.op == "DynamicQuantizeLinear") return dynamically_quantised(inputs);
  if (computes_integers(node.op)) {
    for (const auto& entry : node.attributes) attributes.without_effect(entry.first);  // Conv reads them
    return {integer_product(node, inputs, opset)};
  }
  return {index_op(node.op)->evaluate(inputs, attributes)};
}

}  // namespace tilebeat
