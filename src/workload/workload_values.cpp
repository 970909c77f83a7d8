#include "workload/workload_values.h"

#include "base/types.h"

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr Range kInt32{INT32_MIN, INT32_MAX};
constexpr Bounds kOutputScale{1e-30, 1e9}, kSlopes{-1e6, 1e6};
constexpr double kDefaultSlope = 0.01;
constexpr Count kChannels{1, to_size(kMaxDimension)};

/// The object form of an activation.
struct Clamp {
  std::array<std::int32_t, 2> limits{INT32_MIN, INT32_MAX};
};

void describe(Fields& v, Clamp& clamp) {
  v.required().integers("clamp", clamp.limits, kInt32, "[low, high] in units of the accumulator");
}

/// A function in the object form: {"sigmoid": {"output_scale": 256}}.
struct FunctionParameters {
  Activation& value;
};

void describe(Fields& v, FunctionParameters& f) {
  v.number("output_scale", f.value.output_scale, kOutputScale, "factor from the function's value to output");
  if (f.value.function == RealFunction::kLeakyRelu)
    v.number("slope", f.value.slope, kSlopes, "factor of negative values");
}

// Index of the first name in kFunctions that is a function.
constexpr std::size_t kFirstFunction = to_size(RealFunction::kLeakyRelu);
constexpr std::array<std::string_view, 6> kFunctions{"none", "leaky_relu", "sigmoid",
                                                     "tanh", "hard_swish", "gelu"};

Activation default_of(std::size_t function) {
  Activation made;
  made.kind = ActivationKind::kFunction, made.function = static_cast<RealFunction>(function);
  if (made.function == RealFunction::kLeakyRelu) made.slope = kDefaultSlope;
  return made;
}

auto channel_list(std::vector<double>& values, Bounds bounds) {
  const auto element = [bounds](double& value) { return NumberValue{value, bounds}; };
  return ListValue<std::vector<double>, decltype(element)>{values, kChannels, element};
}

}  // namespace

void ActivationValue::read(const Json& json, const Place& place) {
  if (json == "none" || json == "relu") {
    value.kind = json == "none" ? ActivationKind::kNone : ActivationKind::kRelu;
    return;
  }
  if (!json.is_object()) {
    place.refuse_value(
        json,
        R"("none", "relu", {"clamp": [low, high]} or a function like {"sigmoid": {"output_scale": 256}})");
  }
  for (std::size_t i = kFirstFunction; i < kFunctions.size(); ++i) {
    const std::string name(kFunctions[i]);
    if (!json.contains(name)) continue;
    if (json.size() != 1) place.refuse_value(json, "an object with one function");
    value = default_of(i);
    FunctionParameters parameters{value};
    ObjectValue<FunctionParameters>{parameters}.read(json[name], place.key(name));
    return;
  }
  Clamp clamp;
  ObjectValue<Clamp>{clamp}.read(json, place);
  if (clamp.limits[0] > clamp.limits[1])
    place.key("clamp").refuse_value(json["clamp"], "[low, high] with low <= high");
  value = {};
  value.kind = ActivationKind::kClamp, value.low = clamp.limits[0], value.high = clamp.limits[1];
}

OrderedJson ActivationValue::write() const {
  if (value.kind == ActivationKind::kClamp) return {{"clamp", {value.low, value.high}}};
  if (value.kind == ActivationKind::kFunction) {
    OrderedJson parameters{{"output_scale", value.output_scale}};
    if (value.function == RealFunction::kLeakyRelu) parameters["slope"] = value.slope;
    return {{std::string(nth(kFunctions, value.function)), parameters}};
  }
  return value.kind == ActivationKind::kRelu ? "relu" : "none";
}

OrderedJson ActivationValue::schema() const {
  Clamp clamp;
  OrderedJson forms{{{"enum", {"none", "relu"}}}, ObjectValue<Clamp>{clamp}.schema()};
  for (std::size_t i = kFirstFunction; i < kFunctions.size(); ++i) {
    Activation function = default_of(i);
    FunctionParameters parameters{function};
    const std::string name(kFunctions[i]);
    forms.push_back({{"type", "object"},
                     {"additionalProperties", false},
                     {"required", {name}},
                     {"properties", {{name, ObjectValue<FunctionParameters>{parameters}.schema()}}}});
  }
  return {{"anyOf", forms}};
}

void QuantisedTypeValue::read(const Json& json, const Place& place) {
  constexpr std::array<DType, 3> kTypes{DType::kInt8, DType::kUint8, DType::kInt16};
  value = kTypes.at(to_size(read_choice(json, place, {"int8", "uint8", "int16"})));
}

void ReluValue::read(const Json& json, const Place& place) {
  value = read_choice(json, place, {"none", "relu"}) == 1;
}

void PerChannelValue::read(const Json& json, const Place& place) {
  if (json.is_array()) return channel_list(value, bounds).read(json, place);
  value.assign(1, read_number(json, place, bounds));
}

OrderedJson PerChannelValue::write() const {
  if (value.empty()) return {};
  if (value.size() == 1) return value.front();
  return value;
}

OrderedJson PerChannelValue::schema() const {
  double number = 1;
  return {{"anyOf", {NumberValue{number, bounds}.schema(), channel_list(value, bounds).schema()}}};
}

}  // namespace tilebeat
