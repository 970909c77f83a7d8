// Operators on single elements, on rows (softmax) and reductions.
#include "base/types.h"
#include "import/evaluate.h"
#include "import/problems.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include <fmt/format.h>

namespace tilebeat {
namespace {

using Unary = std::function<double(double)>;
using Binary = double (*)(double, double);

Constant mapped(const Constant& x, const Unary& f) {
  std::vector<double> values = x.values();
  for (double& value : values) value = f(value);
  return make_constant(x.type, x.shape, values);
}

/// Strides of `from` along the axes of `to`; 0 where it is repeated.
Extents steps_of(const Extents& from, const Extents& to) {
  Extents steps(to.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    const std::int64_t extent = from[from.size() - i];
    steps[to.size() - i] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
  return steps;
}

Constant combined(const Constant& a, const Constant& b, Binary f) {
  const Extents shape = broadcast_shape(a.shape, b.shape);
  const Extents left = steps_of(a.shape, shape), right = steps_of(b.shape, shape);
  const std::vector<double> x = a.values(), y = b.values();
  std::vector<double> made(room_for(shape));
  Extents at(shape.size(), 0);
  std::int64_t i = 0, j = 0;
  for (double& value : made) {
    value = f(nth(x, i), nth(y, j));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      i += left[axis], j += right[axis];
      if (++at[axis] < shape[axis]) break;
      i -= left[axis] * shape[axis], j -= right[axis] * shape[axis];
      at[axis] = 0;
    }
  }
  return make_constant(a.type, shape, made);
}

bool is_integer(ElementType type) {
  return type != ElementType::kFloat32 && type != ElementType::kFloat64 && type != ElementType::kFloat16;
}

Binary binary_of(const std::string& op, ElementType type) {
  if (op == "Add" || op == "Sum" || op == "Mean") return [](double a, double b) { return a + b; };
  if (op == "Sub") return [](double a, double b) { return a - b; };
  if (op == "Mul") return [](double a, double b) { return a * b; };
  if (op == "Div" && is_integer(type))
    return [](double a, double b) { return b == 0 ? 0 : std::trunc(a / b); };
  if (op == "Div") return [](double a, double b) { return a / b; };
  if (op == "Pow") return [](double a, double b) { return std::pow(a, b); };
  if (op == "PRelu") return [](double a, double b) { return a < 0 ? a * b : a; };
  if (op == "Mod" && is_integer(type))
    return [](double a, double b) { return b == 0 ? 0 : a - b * std::floor(a / b); };
  if (op == "Max") return [](double a, double b) { return std::max(a, b); };
  if (op == "Min") return [](double a, double b) { return std::min(a, b); };
  return nullptr;
}

/// Circular and hyperbolic functions.
Unary angle_of(const std::string& op) {
  using Function = double (*)(double);
  static const std::map<std::string_view, Function> functions{
      {"Sin", std::sin},   {"Cos", std::cos},     {"Tan", std::tan},     {"Asin", std::asin},
      {"Acos", std::acos}, {"Atan", std::atan},   {"Sinh", std::sinh},   {"Cosh", std::cosh},
      {"Tanh", std::tanh}, {"Asinh", std::asinh}, {"Acosh", std::acosh}, {"Atanh", std::atanh}};
  const auto found = functions.find(op);
  if (found == functions.end()) return nullptr;
  return found->second;
}

/// The functions that are exponentials below 0, and those with a threshold.
Unary exponential_of(const std::string& op, Attributes& attributes) {
  if (op == "Shrink") {
    const double bias = attributes.real("bias", 0), least = attributes.real("lambd", 0.5F);
    return [bias, least](double x) { return x < -least ? x + bias : x > least ? x - bias : 0; };
  }
  if (op == "ThresholdedRelu") {
    const double least = attributes.real("alpha", 1.0F);
    return [least](double x) { return x > least ? x : 0; };
  }
  if (op == "Selu") {
    const double alpha = attributes.real("alpha", 1.67326319217681884765625F),
                 gamma = attributes.real("gamma", 1.05070102214813232421875F);
    return [alpha, gamma](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); };
  }
  if (op != "Elu" && op != "Celu") return nullptr;
  const double alpha = attributes.real("alpha", 1.0F), step = op == "Celu" ? alpha : 1;
  return [alpha, step](double x) { return x > 0 ? x : alpha * std::expm1(x / step); };
}

Unary unary_of(const GraphNode& node, Attributes& attributes) {
  const std::string& op = node.op;
  if (op == "Relu") return [](double x) { return std::max(x, 0.0); };
  if (op == "Sigmoid") return [](double x) { return 1 / (1 + std::exp(-x)); };
  if (Unary found = angle_of(op)) return found;
  if (op == "Exp") return [](double x) { return std::exp(x); };
  if (op == "Log") return [](double x) { return std::log(x); };
  if (op == "Sqrt") return [](double x) { return std::sqrt(x); };
  if (op == "Erf") return [](double x) { return std::erf(x); };
  if (op == "Neg") return [](double x) { return -x; };
  if (op == "Abs") return [](double x) { return std::abs(x); };
  if (op == "Floor") return [](double x) { return std::floor(x); };
  if (op == "Ceil") return [](double x) { return std::ceil(x); };
  if (op == "Reciprocal") return [](double x) { return 1 / x; };
  if (op == "HardSwish") return [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; };
  if (op == "Gelu") {
    const std::string form = attributes.text("approximate", "none");
    constexpr double kSlope = 0.7978845608028654, kCubic = 0.044715;  // sqrt(2 / pi)
    if (form == "tanh")
      return [](double x) { return 0.5 * x * (1 + std::tanh(kSlope * (x + kCubic * x * x * x))); };
    if (form == "none") return [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); };
    throw Unsupported(fmt::format("approximate {}", form));
  }
  if (op == "Round") return [](double x) { return std::nearbyint(x); };
  if (op == "Sign") return [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; };
  if (op == "Softsign") return [](double x) { return x / (1 + std::abs(x)); };
  if (op == "Softplus") return [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); };
  if (op == "Mish")
    return [](double x) { return x * std::tanh(std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)))); };
  if (Unary found = exponential_of(op, attributes)) return found;
  if (op == "LeakyRelu") {
    const double slope = attributes.real("alpha", 0.01F);
    return [slope](double x) { return x < 0 ? x * slope : x; };
  }
  if (op == "HardSigmoid") {
    const double alpha = static_cast<double>(attributes.real("alpha", 0.2F)),
                 beta = static_cast<double>(attributes.real("beta", 0.5F));
    return [alpha, beta](double x) { return std::min(std::max(alpha * x + beta, 0.0), 1.0); };
  }
  return nullptr;
}

Constant clip(const KnownInputs& inputs, Attributes& attributes) {
  double low = attributes.real("min", std::numeric_limits<float>::lowest());
  double high = attributes.real("max", std::numeric_limits<float>::max());
  if (inputs.size() > 1 && inputs[1] != nullptr && inputs[1]->elements() == 1) low = inputs[1]->values()[0];
  if (inputs.size() > 2 && inputs[2] != nullptr && inputs[2]->elements() == 1) high = inputs[2]->values()[0];
  return mapped(need(inputs, 0), [=](double x) { return std::min(std::max(x, low), high); });
}

/// Before opset 13 the axes from `axis` on are one row.
Constant softmax(const KnownInputs& inputs, std::int64_t opset, Attributes& attributes, bool logarithm) {
  const Constant& x = need(inputs, 0);
  const std::size_t axis = axis_of(attributes.integer("axis", opset < 13 ? 1 : -1), x.shape.size());
  std::vector<double> values = x.values();
  std::size_t count = to_size(x.shape[axis]), inner = 1;
  for (std::size_t i = axis + 1; i < x.shape.size(); ++i) {
    auto& group = opset < 13 ? count : inner;
    group *= to_size(x.shape[i]);
  }
  for (std::size_t begin = 0; begin < values.size(); begin += count * inner) {
    for (std::size_t j = begin; j < begin + inner; ++j) {
      double most = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::size_t i = 0; i < count; ++i) most = std::max(most, values[j + i * inner]);
      for (std::size_t i = 0; i < count; ++i)
        sum += values[j + i * inner] = std::exp(values[j + i * inner] - most);
      for (std::size_t i = 0; i < count; ++i) {
        values[j + i * inner] /= sum;
        if (logarithm) values[j + i * inner] = std::log(values[j + i * inner]);
      }
    }
  }
  return make_constant(x.type, x.shape, values);
}

Constant causal_softmax(const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  const std::int64_t past = attributes.integer("past", 0), window = attributes.integer("window", 0);
  if (x.shape.size() < 2) throw Unsupported("scores without rows");
  const std::int64_t queries = x.shape[x.shape.size() - 2], keys = x.shape.back();
  std::vector<double> values = x.values();
  for (std::int64_t row = 0; row < ssize(values) / std::max<std::int64_t>(1, keys); ++row) {
    const std::int64_t last = row % queries + past, first = window > 0 ? last - window + 1 : 0;
    const auto sees = [&](std::int64_t key) { return key >= first && key <= last; };
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t key = 0; key < keys; ++key) {
      if (sees(key)) most = std::max(most, nth(values, row * keys + key));
    }
    for (std::int64_t key = 0; key < keys; ++key) {
      double& value = nth(values, row * keys + key);
      value = sees(key) ? std::exp(value - most) : 0;
      sum += value;
    }
    for (std::int64_t key = 0; key < keys; ++key) nth(values, row * keys + key) /= sum;
  }
  return make_constant(x.type, x.shape, values);
}

Constant reduce(const GraphNode& node, const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  const std::size_t rank = x.shape.size();
  std::vector<bool> gone(rank, true);
  if (const auto axes = axes_of(attributes, inputs); axes && !axes->empty()) {
    gone.assign(rank, false);
    for (const std::int64_t axis : *axes) gone[axis_of(axis, rank)] = true;
  } else if (attributes.integer("noop_with_empty_axes", 0) != 0) {
    gone.assign(rank, false);
  }
  attributes.without_effect("noop_with_empty_axes");
  const bool keep = attributes.integer("keepdims", 1) != 0;
  Extents kept = x.shape, shape;
  std::int64_t count = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    if (gone[i]) count *= x.shape[i], kept[i] = 1;
    if (!gone[i] || keep) shape.push_back(kept[i]);
  }
  const bool max = node.op == "ReduceMax", min = node.op == "ReduceMin", product = node.op == "ReduceProd";
  const Extents steps = steps_of(kept, x.shape);
  std::vector<double> made(room_for(kept), product ? 1 : 0);
  if (min) std::fill(made.begin(), made.end(), std::numeric_limits<double>::infinity());
  if (max) std::fill(made.begin(), made.end(), -std::numeric_limits<double>::infinity());
  Extents at(rank, 0);
  std::int64_t to = 0;
  for (const double value : x.values()) {
    double& sum = nth(made, to);
    sum = max ? std::max(sum, value) : min ? std::min(sum, value) : product ? sum * value : sum + value;
    for (std::size_t axis = rank; axis-- > 0;) {
      to += steps[axis];
      if (++at[axis] < x.shape[axis]) break;
      to -= steps[axis] * x.shape[axis];
      at[axis] = 0;
    }
  }
  for (double& value : made) value = node.op == "ReduceMean" ? value / static_cast<double>(count) : value;
  return make_constant(x.type, shape, made);
}

constexpr std::array<std::string_view, 57> kElementOps{kCausalSoftmax,
                                                       "Relu",
                                                       "Sigmoid",
                                                       "Tanh",
                                                       "Exp",
                                                       "Log",
                                                       "Sqrt",
                                                       "Erf",
                                                       "Neg",
                                                       "Abs",
                                                       "Floor",
                                                       "Ceil",
                                                       "Reciprocal",
                                                       "HardSwish",
                                                       "Gelu",
                                                       "LeakyRelu",
                                                       "HardSigmoid",
                                                       "Add",
                                                       "Sub",
                                                       "Mul",
                                                       "Div",
                                                       "Max",
                                                       "Min",
                                                       "Sum",
                                                       "Clip",
                                                       "Softmax",
                                                       "ReduceMean",
                                                       "ReduceSum",
                                                       "ReduceMax",
                                                       "ReduceMin",
                                                       "ReduceProd",
                                                       "LogSoftmax",
                                                       "Pow",
                                                       "Mod",
                                                       "PRelu",
                                                       "Round",
                                                       "Sign",
                                                       "Sin",
                                                       "Cos",
                                                       "Softplus",
                                                       "Elu",
                                                       "Selu",
                                                       "Mish",
                                                       "Celu",
                                                       "Softsign",
                                                       "Mean",
                                                       "ThresholdedRelu",
                                                       "Tan",
                                                       "Asin",
                                                       "Acos",
                                                       "Atan",
                                                       "Sinh",
                                                       "Cosh",
                                                       "Asinh",
                                                       "Acosh",
                                                       "Atanh",
                                                       "Shrink"};

}  // namespace

bool is_element_op(const std::string& op) {
  return std::find(kElementOps.begin(), kElementOps.end(), op) != kElementOps.end();
}

Evaluated evaluate_element(const GraphNode& node, const KnownInputs& inputs, std::int64_t opset,
                           Attributes& attributes) {
  if (node.op == "Clip") return {clip(inputs, attributes)};
  if (node.op == kCausalSoftmax) return {causal_softmax(inputs, attributes)};
  if (node.op == "Softmax") return {softmax(inputs, opset, attributes, false)};
  if (node.op == "LogSoftmax") return {softmax(inputs, opset, attributes, true)};
  if (node.op.rfind("Reduce", 0) == 0) return {reduce(node, inputs, attributes)};
  const Constant& first = need(inputs, 0);
  if (const Binary f = binary_of(node.op, first.type)) {
    Constant made = first;
    for (std::size_t i = 1; i < inputs.size(); ++i) made = combined(made, need(inputs, i), f);
    if (node.op == "Mean")
      made = mapped(made, [&](double x) { return x / static_cast<double>(inputs.size()); });
    if (node.op == "Mod") attributes.without_effect("fmod");
    return {made};
  }
  const Unary f = unary_of(node, attributes);
  if (!f) throw Unsupported("an approximation");
  return {mapped(first, f)};
}

}  // namespace tilebeat
