// Operands and results of ONNX operators.
#include "base/types.h"
#include "import/calibrate.h"
#include "import/onnx_lowering.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tilebeat {
namespace {

struct RealRange {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

}  // namespace

const OnnxValue& OnnxLowering::value(const GraphNode& node, std::size_t i) const {
  if (!has(node, i)) throw Unsupported(fmt::format("it lacks input {}", i));
  const auto& found = values_[*node.inputs[i]];
  if (!found) throw Unsupported("it reads what another part of this list makes");
  return *found;
}

const OnnxValue& OnnxLowering::value_of_output(const GraphNode& node) const {
  const auto& found = values_[node.outputs.at(0).value()];
  if (!found) throw Unsupported("it lacks its output");
  return *found;
}

KnownInputs OnnxLowering::known(const GraphNode& node) const {
  KnownInputs inputs;
  for (const auto& input : node.inputs) {
    const bool there = input && values_[*input] && values_[*input]->known() && !values_[*input]->stands;
    inputs.push_back(there ? &*values_[*input]->constant : nullptr);
  }
  return inputs;
}

std::vector<double> OnnxLowering::numbers(const GraphNode& node, std::size_t i) const {
  const OnnxValue& found = value(node, i);
  if (!found.known()) throw Unsupported(fmt::format("its input {} is no constant", i));
  return found.constant->values();
}

OnnxValue OnnxLowering::quantised(const GraphNode& node, std::size_t i, std::size_t s, std::size_t z) {
  const std::vector<double> scales = numbers(node, s);
  const std::vector<double> zeros = has(node, z) ? numbers(node, z) : std::vector<double>{0};
  if (scales.size() != 1 || zeros.size() != 1) throw Unsupported("an activation with several scales");
  const auto scale = static_cast<float>(scales[0]);
  const auto zero_point = whole_number(zeros[0]);
  if (!(scale > 0)) throw Unsupported("a scale that is not positive");
  OnnxValue found = value(node, i);
  if (found.known()) {
    Quantisation q{{scale}, {zero_point}, 0};
    found = held_constant(*found.constant, q, graph_.tensors[*node.inputs[i]].name);
  }
  if (!is_byte(found.held.type))
    throw Unsupported(fmt::format("an operand of {}", element_name(found.held.type)));
  if (found.held.zero_point != zero_point)
    throw Unsupported(
        fmt::format("a zero point of {} for a tensor made with {}", zero_point, found.held.zero_point));
  found.held.scale = scale;
  found.real = false;
  return found;
}

OnnxValue OnnxLowering::real(const GraphNode& node, std::size_t i) {
  OnnxValue found = value(node, i);
  if (found.known() && found.stands) {
    found = held_constant(*found.constant, *found.stands, graph_.tensors[*node.inputs[i]].name);
  } else if (found.known() && calibration_ != nullptr) {
    const Quantisation q = range_of(found.constant->values());
    found = held_constant(quantised_constant(*found.constant, q), q, graph_.tensors[*node.inputs[i]].name);
  }
  const bool is_float = !found.known() && !found.real && found.held.type == ElementType::kFloat32;
  if (is_float && calibration_ != nullptr && calibration_->ranges[*node.inputs[i]]) {
    const std::size_t tensor = *node.inputs[i];
    const auto there = on_demand_.find(tensor);
    if (there != on_demand_.end()) return there->second;
    const Quantisation& q = *calibration_->ranges[tensor];
    found.held = emitter_.quantize(found.held, {graph_.tensors[tensor].name + "_quantized",
                                                ElementType::kInt8, q.scales[0], q.zero_points[0]});
    found.real = true;
    return on_demand_[tensor] = found;
  }
  if (found.known() || !found.real)
    throw Unsupported(
        fmt::format("its input {} is float32, which no DequantizeLinear makes; {}", i, kFloatParts));
  return found;
}

void OnnxLowering::read_pair_attributes(Attributes& attributes) {
  // Of a single scale, of float8 types, and of the quotient's type, which float32 is.
  for (const char* name : {"axis", "saturate", "precision"}) attributes.without_effect(name);
  attributes.without_effect("output_dtype");  // a zero point has the same type; quantised_result reads it
  if (attributes.integer("block_size", 0) != 0) throw Unsupported("scales of blocks (block_size)");
}

Wanted OnnxLowering::quantised_result(const GraphNode& node, std::size_t s, std::size_t z) const {
  const std::vector<double> scales = numbers(node, s);
  if (scales.size() != 1) throw Unsupported("a result with several scales");
  if (!(scales[0] > 0)) throw Unsupported(fmt::format("a result with the scale {}", scales[0]));
  Wanted wanted{graph_.tensors[*node.outputs[0]].name, ElementType::kUint8, static_cast<float>(scales[0])};
  const auto type = node.attributes.find("output_dtype");
  const auto* number = type == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&type->second);
  if (number != nullptr && *number != 0) wanted.type = onnx_type(static_cast<std::int32_t>(*number));
  if (has(node, z)) {
    const Constant& zero = *value(node, z).constant;
    const std::vector<double> zeros = numbers(node, z);
    if (zeros.size() != 1) throw Unsupported("a result with several zero points");
    if (zero.four_bits) throw Unsupported("a result of int4 or uint4");
    wanted.type = zero.type, wanted.zero_point = whole_number(zeros[0]);
  }
  if (!is_byte(wanted.type)) throw Unsupported(fmt::format("a result of {}", element_name(wanted.type)));
  return wanted;
}

std::optional<Wanted> OnnxLowering::real_result(const GraphNode& node, std::size_t output) {
  if (output >= node.outputs.size() || !node.outputs[output]) throw Unsupported("it lacks its output");
  std::size_t tensor = *node.outputs[output];
  RealRange range;
  bool limited = false;
  std::vector<std::size_t> passed;
  while (readers_[tensor].size() == 1 && !is_output_[tensor]) {
    const std::size_t reader = readers_[tensor].front();
    const GraphNode& next = graph_.nodes[reader];
    if (next.op != "Relu" && next.op != "Clip") break;
    if (next.inputs[0] != tensor) break;
    Attributes attributes(next);
    double low = 0, high = std::numeric_limits<double>::infinity();
    if (next.op == "Clip") {
      low = static_cast<double>(attributes.real("min", -std::numeric_limits<float>::infinity()));
      high = static_cast<double>(attributes.real("max", std::numeric_limits<float>::infinity()));
      if (has(next, 1)) low = numbers(next, 1).at(0);
      if (has(next, 2)) high = numbers(next, 2).at(0);
    }
    range.low = std::max(range.low, low), range.high = std::min(std::max(range.high, low), high);
    limited = true;
    passed.push_back(reader);
    tensor = next.outputs.at(0).value();
  }
  std::optional<Wanted> wanted;
  result_ = tensor;
  if (readers_[tensor].size() == 1 && !is_output_[tensor] &&
      graph_.nodes[readers_[tensor].front()].op == "QuantizeLinear") {
    const GraphNode& last = graph_.nodes[readers_[tensor].front()];
    wanted = quantised_result(last, 1, 2);
    if (has(last, 2) == false) wanted->zero_point = 0;
    Attributes attributes(last);
    read_pair_attributes(attributes);
    attributes.finish();
    passed.push_back(readers_[tensor].front());
    result_ = *last.outputs[0];
  } else if (calibration_ != nullptr) {
    const auto& q = calibration_->ranges[tensor];
    if (!q) throw Unsupported("a result that calibration did not see");
    wanted = Wanted{graph_.tensors[tensor].name, ElementType::kInt8, q->scales[0], q->zero_points[0]};
  }
  if (!wanted && options_.float_on_host) {  // the host computes the activations
    result_ = *node.outputs[output];
    return wanted;
  }
  if (!wanted && limited)
    throw Unsupported(fmt::format("an activation behind it whose result is not quantised; {}", kFloatParts));
  if (!wanted) return wanted;
  for (const std::size_t reader : passed) done_[reader] = true;
  if (limited) wanted->range = element_range(range.low, range.high, *wanted);
  return wanted;
}

Wanted OnnxLowering::need_result(const GraphNode& node, std::size_t output) {
  const auto wanted = real_result(node, output);
  if (!wanted)
    throw Unsupported(
        fmt::format("its result is not quantised: no QuantizeLinear alone reads it; {}", kFloatParts));
  return *wanted;
}

void OnnxLowering::set(const GraphNode& node, OnnxValue made, std::size_t output) {
  if (output >= node.outputs.size() || !node.outputs[output]) throw Unsupported("it lacks its output");
  const std::size_t tensor = result_.value_or(*node.outputs[output]);
  result_.reset();
  if (calibration_ != nullptr && is_byte(made.held.type)) made.real = !is_quantised_[tensor];
  values_[tensor] = std::move(made);
}

Kernels OnnxLowering::kernels_of(const GraphNode& node, std::size_t i, std::int64_t axis, float x_scale,
                                 std::size_t bias) {
  const OnnxValue& found = value(node, i);
  if (!found.known()) throw Unsupported("weights that are no constant");
  Kernels kernels;
  Quantisation q;
  if (found.stands) {
    kernels.weights = *found.constant;
    kernels.four_bits = kernels.weights.four_bits;
    q = *found.stands;
  } else if (calibration_ != nullptr) {
    const bool by_channel = options_.four_bits && options_.four_bits->group == 0 && !found.constant->blocks;
    q = weight_scales(*found.constant, axis, by_channel ? kMostInt4 : kMostInt8);
    kernels.weights = quantised_constant(*found.constant, q);
    kernels.blocks = found.constant->blocks;
  } else {
    throw Unsupported("weights that are not quantised: float networks need --calibrate");
  }
  if (!is_byte(kernels.weights.type))
    throw Unsupported(fmt::format("weights of {}", element_name(kernels.weights.type)));
  if (q.scales.size() > 1 && q.axis != axis)
    throw Unsupported(fmt::format("weights with scales along axis {}", q.axis));
  kernels.scales = q.scales;
  set_zero_points({q.zero_points.begin(), q.zero_points.end()}, axis, kernels);
  add_bias(node, bias, x_scale, kernels);
  return kernels;
}

void set_zero_points(const std::vector<double>& zeros, std::int64_t axis, Kernels& kernels) {
  if (zeros.empty()) throw Unsupported("weights without their zero points");
  kernels.zero_point = whole_number(zeros[0]);
  if (std::all_of(zeros.begin(), zeros.end(), [&](double zero) { return zero == zeros[0]; })) return;
  Constant& weights = kernels.weights;
  if (axis < 0 || axis >= ssize(weights.shape) || nth(weights.shape, axis) != ssize(zeros))
    throw Unsupported("weights with several zero points that are not one an output channel");
  std::vector<double> values = weights.values();
  std::size_t inner = 1;
  for (std::size_t i = to_size(axis) + 1; i < weights.shape.size(); ++i) inner *= to_size(weights.shape[i]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& value = values[i];
    value -= zeros[i / inner % zeros.size()];
    if (value < -128 || value > 127)
      throw Unsupported("weights whose distances from their several zero points leave int8");
  }
  weights = make_constant(ElementType::kInt8, weights.shape, values);
  kernels.zero_point = 0;
}

/// Biases are int32 in units of input times weight; real ones are rounded to them.
void OnnxLowering::add_bias(const GraphNode& node, std::size_t bias, float x_scale, Kernels& kernels) {
  if (!has(node, bias)) return;
  const OnnxValue& found = value(node, bias);
  if (!found.known()) throw Unsupported("a bias that is no constant");
  Constant made = *found.constant;
  if (made.type != ElementType::kInt32) {
    std::vector<double> values = made.values();
    if (values.size() == 1) values.resize(kernels.scales.size(), values[0]);  // one number for all columns
    made.shape = {ssize(values)};
    for (std::size_t c = 0; c < values.size(); ++c) {
      const float scale = kernels.scales.size() == 1 ? kernels.scales[0] : kernels.scales.at(c);
      const float step = x_scale * scale;
      values[c] = static_cast<double>(std::nearbyint(static_cast<float>(values[c]) / step));
    }
    made = make_constant(ElementType::kInt32, made.shape, values);
  }
  made.shape = {made.elements()};
  kernels.bias = std::move(made);
}

}  // namespace tilebeat
