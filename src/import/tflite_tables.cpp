// Operators of TensorFlow Lite whose built-in int8 kernels look every element up in a table that they compute
// in float32, and those that only choose elements.
#include "base/types.h"
#include "import/tflite_lowering.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// The kernel's function of a real number. LOG of what is not positive is the least element.
float real_function(const std::string& op, bool approximate, float x) {
  const auto wide = static_cast<double>(x);
  if (op == "EXP") return std::exp(x);
  if (op == "ELU") return x < 0 ? std::expm1(x) : x;
  if (op == "LOG")
    return x > 0 ? static_cast<float>(std::log(wide)) : -std::numeric_limits<float>::infinity();
  if (op == "RSQRT")
    return x > 0 ? static_cast<float>(1 / std::sqrt(wide)) : std::numeric_limits<float>::infinity();
  // GELU
  if (!approximate) {
    const float place = x * static_cast<float>(1 / std::sqrt(2.0));
    return 0.5F * x * (1.0F + static_cast<float>(std::erf(static_cast<double>(place))));
  }
  const float cubic = x + 0.044715F * x * x * x;
  return 0.5F * x * (1.0F + static_cast<float>(std::tanh(static_cast<double>(0.7978845608F * cubic))));
}

/// The element for a real number: rounded half away from zero.
std::int64_t element_for(float value, const Wanted& made) {
  const auto [low, high] = element_bounds(made.type);
  const float quotient = value * (1.0F / made.scale);
  if (!(std::abs(quotient) < 1e6F)) return quotient > 0 ? high : low;
  return std::clamp(static_cast<std::int64_t>(std::round(quotient)) + made.zero_point, low, high);
}

/// v * factor in fixed point, rounded twice, for distances 0 <= v < 2^8 of bytes. The runtime has factors
/// below 2^-32 as 0; of those from 2^16 on every distance but 0 is far beyond a byte.
std::int64_t rounded_twice(std::int64_t v, double factor) {
  constexpr double kGreatest = 0x1p16, kLeast = 0x1p-32;
  if (v == 0 || factor < kLeast) return 0;
  if (factor > kGreatest) factor = kGreatest;
  int exponent = 0;
  const auto mantissa = static_cast<std::int64_t>(std::round(std::frexp(factor, &exponent) * 0x1p31));
  const std::int64_t high = ((v << std::max(exponent, 0)) * mantissa + (std::int64_t{1} << 30)) >> 31;
  const int right = std::max(-exponent, 0);
  return right == 0 ? high : (high + (std::int64_t{1} << (right - 1))) >> right;
}

}  // namespace

/// EXP, LOG, ELU, GELU, RSQRT, ABS and NEG of int8.
void TfliteLowering::tabulated(const GraphNode& node, Attributes& attributes) {
  const Held x = held(node, 0);
  const Wanted made = wanted(node);
  if (x.type != ElementType::kInt8 || made.type != ElementType::kInt8)
    throw Unsupported("it is of uint8, the runtime has it of int8 alone");
  const bool approximate = attributes.integer("approximate", 0) != 0;
  const auto [low, high] = element_bounds(x.type);
  std::vector<std::int64_t> results;
  for (std::int64_t q = low; q <= high; ++q) {
    const std::int64_t v = q - x.zero_point;
    if (node.op == "NEG") {  // whatever the scales are
      results.push_back(q == low ? low : -q);
    } else if (node.op == "ABS") {
      const auto factor = static_cast<double>(x.scale / made.scale);  // the runtime divides floats
      results.push_back(std::clamp(rounded_twice(std::abs(v), factor) + made.zero_point, low, high));
    } else {
      results.push_back(
          element_for(real_function(node.op, approximate, x.scale * static_cast<float>(v)), made));
    }
  }
  // RSQRT of the runtime is in fixed point, by a rule that no recording shows.
  const bool same = in_fixed_point() && node.op != "RSQRT";
  set(node, emitter_.table(x, results, made, same ? Rounding::kSame : Rounding::kExact));
}

/// The index of the first greatest element along an axis.
void TfliteLowering::arg_max(const GraphNode& node, Attributes& attributes) {
  attributes.without_effect("output_type");  // the output's declared type
  const std::size_t rank = input(node, 0).shape->size();
  const std::size_t axis = map_axis(to_size(axis_in(constant(node, 1).integers().at(0), rank)), rank);
  Held x = held(node, 0);
  const std::string name = layer_name(node);
  if (axis + 1 != x.shape.size()) {
    Extents perm(x.shape.size()), shape;
    std::iota(perm.begin(), perm.end(), 0);
    std::rotate(perm.begin() + to_signed(axis), perm.begin() + to_signed(axis) + 1, perm.end());
    for (const std::int64_t from : perm) shape.push_back(nth(x.shape, from));
    x = emitter_.movement("transpose", {x}, shape, name + "_axes", {{"perm", perm}});
  }
  Held made{builder_.add_layer(name, "argmax", {x.holder}, FieldsJson::object()), x.shape,
            ElementType::kInt32};
  made.shape.back() = 1;
  if (element_count(*output(node).shape) != element_count(made.shape))
    throw Unsupported(fmt::format("its output is declared as {}", extents_text(*output(node).shape)));
  held_[*node.outputs.at(0)] = made;
}

/// SPLIT_V divides a tensor into parts of given lengths.
void TfliteLowering::split_by_lengths(const GraphNode& node, Attributes& attributes) {
  attributes.without_effect("num_splits");
  const Extents& shape = *input(node, 0).shape;
  const auto axis = to_size(axis_in(constant(node, 2).integers().at(0), shape.size()));
  Extents lengths = constant(node, 1).integers();
  if (lengths.size() != node.outputs.size())
    throw Unsupported(fmt::format("{} lengths for {} outputs", lengths.size(), node.outputs.size()));
  const std::int64_t known = std::accumulate(
      lengths.begin(), lengths.end(), std::int64_t{0},
      [](std::int64_t sum, std::int64_t length) { return sum + std::max<std::int64_t>(0, length); });
  Extents starts(shape.size(), 0), ends = shape;
  for (std::size_t part = 0; part < lengths.size(); ++part) {
    if (lengths[part] == -1) lengths[part] = shape[axis] - known;  // the rest
    ends[axis] = starts[axis] + lengths[part];
    emit_slice(node, part, starts, ends, Extents(shape.size(), 1));
    starts[axis] = ends[axis];
  }
  if (starts[axis] != shape[axis]) throw Unsupported("parts that are not the whole");
}

}  // namespace tilebeat
