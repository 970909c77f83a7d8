#include "workload_values.h"

#include "tilebeat/workload/npy.h"

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr Range kInt32{INT32_MIN, INT32_MAX};
constexpr Count kChannels{1, static_cast<std::size_t>(kMaxDimension)};

/// The object form of an activation.
struct Clamp {
  std::array<std::int32_t, 2> limits{INT32_MIN, INT32_MAX};
};

template <class V>
void describe(V& v, Clamp& clamp) {
  v.required().integers("clamp", clamp.limits, kInt32, "[low, high] in units of the accumulator");
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
  if (!json.is_object()) place.refuse_value(json, R"("none", "relu" or {"clamp": [low, high]})");
  Clamp clamp;
  ObjectValue<Clamp>{clamp}.read(json, place);
  if (clamp.limits[0] > clamp.limits[1])
    place.key("clamp").refuse_value(json["clamp"], "[low, high] with low <= high");
  value = {ActivationKind::kClamp, clamp.limits[0], clamp.limits[1]};
}

OrderedJson ActivationValue::write() const {
  if (value.kind == ActivationKind::kClamp) return {{"clamp", {value.low, value.high}}};
  return value.kind == ActivationKind::kRelu ? "relu" : "none";
}

OrderedJson ActivationValue::schema() const {
  Clamp clamp;
  return {{"anyOf", {{{"enum", {"none", "relu"}}}, ObjectValue<Clamp>{clamp}.schema()}}};
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

void FilesByLayerValue::read(const Json& json, const Place& place) {
  if (!json.is_object()) place.refuse_value(json, R"(an object: {"layer": "file.npy"})");
  for (const auto& [layer, file] : json.items()) value[layer] = read_text(file, place.key(layer));
}

OrderedJson FilesByLayerValue::schema() const {
  return {{"type", "object"}, {"additionalProperties", text_schema()}};
}

}  // namespace tilebeat
