#include "workload_values.h"

#include "tilebeat/workload/npy.h"

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr Range kInt32{INT32_MIN, INT32_MAX};
constexpr Bounds kScale{1e-30, 1e9};
constexpr Count kScales{1, static_cast<std::size_t>(kMaxDimension)};

/// The object form of an activation.
struct Clamp {
  std::array<std::int32_t, 2> limits{INT32_MIN, INT32_MAX};
};

template <class V>
void describe(V& v, Clamp& clamp) {
  v.required().integers("clamp", clamp.limits, kInt32, "[low, high] in units of the accumulator");
}

auto scale_list(std::vector<double>& scales) {
  const auto element = [](double& scale) { return NumberValue{scale, kScale}; };
  return ListValue<std::vector<double>, decltype(element)>{scales, kScales, element};
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

void ScaleValue::read(const Json& json, const Place& place) {
  if (json.is_array()) return scale_list(value).read(json, place);
  value.assign(1, read_number(json, place, kScale));
}

OrderedJson ScaleValue::write() const {
  if (value.size() == 1) return value.front();
  return value;
}

OrderedJson ScaleValue::schema() const {
  double scale = 1;
  return {{"anyOf", {NumberValue{scale, kScale}.schema(), scale_list(value).schema()}}};
}

void FilesByLayerValue::read(const Json& json, const Place& place) {
  if (!json.is_object()) place.refuse_value(json, R"(an object: {"layer": "file.npy"})");
  for (const auto& [layer, file] : json.items()) value[layer] = read_text(file, place.key(layer));
}

OrderedJson FilesByLayerValue::schema() const {
  return {{"type", "object"}, {"additionalProperties", text_schema()}};
}

}  // namespace tilebeat
