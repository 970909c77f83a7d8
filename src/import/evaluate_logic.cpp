// Evaluation of conversions, comparisons and selections, and of what makes tensors of numbers.
#include "base/types.h"
#include "import/evaluate.h"
#include "import/problems.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// For every element of `to`, the index of its source in a tensor of shape `from`, aligned at the ends.
std::vector<std::size_t> sources_of(const Extents& from, const Extents& to) {
  const std::size_t rank = to.size();
  std::vector<std::size_t> steps(rank, 0);
  std::size_t stride = 1;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    const auto extent = to_size(from[from.size() - i]);
    steps[rank - i] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
  std::vector<std::size_t> made(room_for(to));
  Extents at(rank, 0);
  std::size_t place = 0;
  for (std::size_t& source : made) {
    source = place;
    for (std::size_t axis = rank; axis-- > 0;) {
      place += steps[axis];
      if (++at[axis] < to[axis]) break;
      place -= steps[axis] * to_size(to[axis]);
      at[axis] = 0;
    }
  }
  return made;
}

Constant converted(const Constant& x, ElementType type) {
  if (type == ElementType::kOther) throw Unsupported("a cast to a type that is not read");
  if (type != ElementType::kBool) return make_constant(type, x.shape, x.values());
  std::vector<double> values = x.values();
  for (double& value : values) value = value != 0 ? 1 : 0;
  return make_constant(type, x.shape, values);
}

using Comparison = bool (*)(double, double);

Comparison comparison_of(const std::string& op) {
  if (op == "Equal") return [](double a, double b) { return a == b; };
  if (op == "Greater") return [](double a, double b) { return a > b; };
  if (op == "Less") return [](double a, double b) { return a < b; };
  if (op == "GreaterOrEqual") return [](double a, double b) { return a >= b; };
  if (op == "LessOrEqual") return [](double a, double b) { return a <= b; };
  if (op == "And") return [](double a, double b) { return a != 0 && b != 0; };
  if (op == "Or") return [](double a, double b) { return a != 0 || b != 0; };
  if (op == "Xor") return [](double a, double b) { return (a != 0) != (b != 0); };
  return nullptr;
}

Constant compared(const Constant& a, const Constant& b, Comparison holds) {
  const Extents shape = broadcast_shape(a.shape, b.shape);
  const auto left = sources_of(a.shape, shape), right = sources_of(b.shape, shape);
  const std::vector<double> x = a.values(), y = b.values();
  std::vector<double> made(left.size());
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = holds(x[left[i]], y[right[i]]) ? 1 : 0;
  return make_constant(ElementType::kBool, shape, made);
}

Constant selected(const Constant& condition, const Constant& a, const Constant& b) {
  const Extents shape = broadcast_shape(condition.shape, broadcast_shape(a.shape, b.shape));
  const auto which = sources_of(condition.shape, shape), left = sources_of(a.shape, shape),
             right = sources_of(b.shape, shape);
  const std::vector<double> c = condition.values(), x = a.values(), y = b.values();
  std::vector<double> made(which.size());
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = c[which[i]] != 0 ? x[left[i]] : y[right[i]];
  return make_constant(a.type, shape, made);
}

double number_in(const KnownInputs& inputs, std::size_t i) {
  const Constant& x = need(inputs, i);
  if (x.elements() != 1) throw Unsupported(fmt::format("its input {} is no number", i));
  return x.values()[0];
}

Constant range(const KnownInputs& inputs) {
  const double start = number_in(inputs, 0), limit = number_in(inputs, 1), step = number_in(inputs, 2);
  if (step == 0 || !std::isfinite((limit - start) / step))
    throw Unsupported(fmt::format("a step of {}", step));
  const double count = std::max(std::ceil((limit - start) / step), 0.0);
  if (count > std::numeric_limits<std::int32_t>::max()) throw Unsupported(fmt::format("{} numbers", count));
  std::vector<double> made(room_for({static_cast<std::int64_t>(count)}));
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = start + static_cast<double>(i) * step;
  return make_constant(need(inputs, 0).type, {ssize(made)}, made);
}

Constant tiled(const KnownInputs& inputs) {
  const Constant& x = need(inputs, 0);
  const std::vector<std::int64_t> repeats = need(inputs, 1).integers();
  if (repeats.size() != x.shape.size()) throw Unsupported("repeats of another rank");
  Extents shape = x.shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (repeats[axis] < 0 || repeats[axis] > INT32_MAX)
      throw Unsupported(fmt::format("{} repeats", repeats[axis]));
    shape[axis] *= repeats[axis];
  }
  std::vector<double> made(room_for(shape));
  const std::vector<double> values = x.values();
  Extents at(shape.size(), 0);
  for (double& value : made) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      from = from * x.shape[axis] + at[axis] % x.shape[axis];
    value = nth(values, from);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
  return make_constant(x.type, shape, made);
}

/// The product of the extents before, at and behind `axis`.
struct Lines {
  std::size_t outer = 1, count = 1, inner = 1;
};
Lines lines_of(const Extents& shape, std::size_t axis) {
  Lines made;
  for (std::size_t i = 0; i < shape.size(); ++i)
    (i < axis ? made.outer : i == axis ? made.count : made.inner) *= to_size(shape[i]);
  return made;
}

Constant running_sum(const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  const std::size_t axis = axis_of(need(inputs, 1).integers().at(0), x.shape.size());
  const bool exclusive = attributes.integer("exclusive", 0) != 0,
             reverse = attributes.integer("reverse", 0) != 0;
  std::vector<double> values = x.values();
  const Lines lines = lines_of(x.shape, axis);
  for (std::size_t line = 0; line < lines.outer * lines.inner; ++line) {
    const std::size_t first = line / lines.inner * lines.count * lines.inner + line % lines.inner;
    double sum = 0;
    for (std::size_t k = 0; k < lines.count; ++k) {
      double& value = values[first + (reverse ? lines.count - 1 - k : k) * lines.inner];
      const double before = sum;
      sum += value;
      value = exclusive ? before : sum;
    }
  }
  return make_constant(x.type, x.shape, values);
}

Constant gathered_elements(const KnownInputs& inputs, Attributes& attributes) {
  const Constant &x = need(inputs, 0), &indices = need(inputs, 1);
  const std::size_t axis = axis_of(attributes.integer("axis", 0), x.shape.size());
  if (indices.shape.size() != x.shape.size()) throw Unsupported("indices of another rank");
  const std::vector<double> values = x.values();
  std::vector<double> made;
  Extents at(x.shape.size(), 0);
  for (const std::int64_t index : indices.integers()) {
    std::int64_t from = 0;
    for (std::size_t i = 0; i < at.size(); ++i)
      from = from * x.shape[i] + (i == axis ? to_signed(axis_of(index, to_size(x.shape[i]))) : at[i]);
    made.push_back(values.at(to_size(from)));
    for (std::size_t i = at.size(); i-- > 0;) {
      if (++at[i] < indices.shape[i]) break;
      at[i] = 0;
    }
  }
  return make_constant(x.type, indices.shape, made);
}

/// The scale, and the zero point, for every element of a tensor of shape `shape`.
struct Steps {
  std::vector<float> scales;
  std::vector<double> zeros;
  std::size_t inner = 1;
  // Of blocks: elements that share a scale along the axis, its extent, and the number of blocks; 0: no
  // blocks.
  std::size_t block = 0, extent = 0, blocks = 0;

  std::size_t at(std::size_t element) const {
    if (block == 0) return element / inner % scales.size();
    const std::size_t along = element / inner % extent, outer = element / inner / extent;
    return (outer * blocks + along / block) * inner + element % inner;
  }
};
Steps steps_of(const KnownInputs& inputs, const Extents& shape, Attributes& attributes) {
  const std::int64_t block = attributes.integer("block_size", 0);
  for (const char* name : {"saturate", "precision"}) attributes.without_effect(name);  // of float8 types
  const std::int64_t axis = attributes.integer("axis", 1);
  Steps steps;
  for (const double scale : need(inputs, 1).values()) steps.scales.push_back(static_cast<float>(scale));
  steps.zeros.assign(steps.scales.size(), 0);
  if (inputs.size() > 2 && inputs[2] != nullptr) steps.zeros = inputs[2]->values();
  if (steps.scales.empty() || steps.scales.size() != steps.zeros.size())
    throw Unsupported("scales without their zero points");
  if (std::any_of(steps.scales.begin(), steps.scales.end(), [](float s) { return !(s > 0); }))
    throw Unsupported("a scale that is not positive");
  if (block > 0) {
    const std::size_t along = axis_of(axis, shape.size());
    Extents of_scales = shape;
    nth(of_scales, to_signed(along)) = ceil_div(nth(shape, to_signed(along)), block);
    if (need(inputs, 1).shape != of_scales) throw Unsupported("scales that do not fit their blocks");
    steps.inner = lines_of(shape, along).inner, steps.block = to_size(block);
    steps.extent = to_size(nth(shape, to_signed(along))),
    steps.blocks = to_size(nth(of_scales, to_signed(along)));
    return steps;
  }
  if (steps.scales.size() == 1) return steps;
  const std::size_t along = axis_of(axis, shape.size());
  if (nth(shape, to_signed(along)) != ssize(steps.scales))
    throw Unsupported("scales that do not fit their axis");
  steps.inner = lines_of(shape, along).inner;
  return steps;
}

/// rint(f32(x / scale)) + zero point, within the type of the zero point.
Constant quantised(const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  const Steps steps = steps_of(inputs, x.shape, attributes);
  const std::int64_t wish = attributes.integer("output_dtype", 0);
  ElementType type = wish == 0 ? ElementType::kUint8 : onnx_type(static_cast<std::int32_t>(wish));
  if (inputs.size() > 2 && inputs[2] != nullptr) type = inputs[2]->type;
  if (!is_byte(type) && type != ElementType::kInt32 && type != ElementType::kInt16)
    throw Unsupported(fmt::format("a result of {}", element_name(type)));
  std::vector<double> values = x.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float quotient = static_cast<float>(values[i]) / steps.scales[steps.at(i)];
    values[i] = std::nearbyint(static_cast<double>(quotient)) + steps.zeros[steps.at(i)];
  }
  return make_constant(type, x.shape, values);
}

Constant dequantised(const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  const Steps steps = steps_of(inputs, x.shape, attributes);
  attributes.without_effect("output_dtype");
  std::vector<double> values = x.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto centred = static_cast<float>(values[i] - steps.zeros[steps.at(i)]);
    values[i] = static_cast<double>(centred * steps.scales[steps.at(i)]);
  }
  Constant made = make_constant(ElementType::kFloat32, x.shape, values);
  if (x.four_bits && steps.block > 0) {
    const double plain = x.type == ElementType::kInt8 ? 0 : 8;
    const bool zeros =
        std::any_of(steps.zeros.begin(), steps.zeros.end(), [&](double z) { return z != plain; });
    made.blocks = four_bit_form(to_signed(steps.block), zeros);
  }
  return made;
}

constexpr std::array<std::string_view, 20> kLogicOps{
    "Cast", "CastLike", "Equal",          "Greater",        "Less",
    "And",  "Or",       "GreaterOrEqual", "LessOrEqual",    "Xor",
    "Not",  "Where",    "Range",          "Tile",           "CumSum",
    "Size", "NonZero",  "GatherElements", "QuantizeLinear", "DequantizeLinear"};

Constant places(const Constant& x) {
  std::vector<std::vector<double>> found(x.shape.size());
  const std::vector<double> values = x.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    auto rest = to_signed(i);
    for (std::size_t axis = x.shape.size(); axis-- > 0;) {
      found[axis].push_back(static_cast<double>(rest % x.shape[axis]));
      rest /= x.shape[axis];
    }
  }
  std::vector<double> made;
  for (const auto& axis : found) made.insert(made.end(), axis.begin(), axis.end());
  const std::int64_t count = found.empty() ? 0 : ssize(found[0]);
  return make_constant(ElementType::kInt64, {ssize(x.shape), count}, made);
}

}  // namespace

bool is_logic_op(const std::string& op) {
  return std::find(kLogicOps.begin(), kLogicOps.end(), op) != kLogicOps.end();
}

Evaluated evaluate_logic(const GraphNode& node, const KnownInputs& inputs, std::int64_t,
                         Attributes& attributes) {
  const std::string& op = node.op;
  if (op == "Range") return {range(inputs)};
  if (op == "Tile") return {tiled(inputs)};
  if (op == "CumSum") return {running_sum(inputs, attributes)};
  if (op == "GatherElements") return {gathered_elements(inputs, attributes)};
  if (op == "QuantizeLinear") return {quantised(inputs, attributes)};
  if (op == "DequantizeLinear") return {dequantised(inputs, attributes)};
  if (op == "Where") return {selected(need(inputs, 0), need(inputs, 1), need(inputs, 2))};
  const Constant& x = need(inputs, 0);
  if (op == "Size")
    return {make_constant(ElementType::kInt64, {}, {static_cast<double>(element_count(x.shape))})};
  if (op == "NonZero") return {places(x)};
  if (op == "CastLike") return {converted(x, need(inputs, 1).type)};
  if (op == "Not") return {compared(x, x, [](double a, double) { return a == 0; })};
  if (const Comparison holds = comparison_of(op)) return {compared(x, need(inputs, 1), holds)};
  for (const char* name : {"saturate", "round_mode"}) attributes.without_effect(name);  // of float8 types
  return {converted(x, onnx_type(static_cast<std::int32_t>(attributes.integer("to", 0))))};
}

}  // namespace tilebeat
