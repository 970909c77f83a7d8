#include "workload/workload_file.h"

#include "base/types.h"
#include "schema/json_file.h"
#include "workload/steps.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

void set_operator(const Operator& op, LayerSpec& layer) {
  layer.op = &op;
  layer.form = op.form();
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Operator& op : operators()) {
    if (std::find(names.begin(), names.end(), op.name) == names.end()) names.emplace_back(op.name);
  }
  return names;
}

/// By operator: the text of its inputs and of its fields' schema. Operators with equal texts have the same
/// fields.
const std::vector<std::string>& signatures() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> made;
    for (const Operator& op : operators()) {
      const Form form = op.form();
      const OrderedJson schema = object_schema([&form](Fields& v) { form->describe(v); });
      made.push_back(fmt::format("{} {} {}", op.inputs.low, op.inputs.high, schema.dump()));
    }
    return made;
  }();
  return all;
}

bool alike(const Operator& a, const Operator& b) {
  const auto signature = [](const Operator& op) -> const std::string& {
    return nth(signatures(), &op - operators().data());
  };
  return signature(a) == signature(b);
}

/// The names of the operators that have the fields of `op`.
std::vector<std::string> names_like(const Operator& op) {
  std::vector<std::string> names;
  for (const Operator& other : operators()) {
    if (alike(other, op)) names.emplace_back(other.name);
  }
  return names;
}

/// The first operator of every set of fields.
std::vector<const Operator*> kinds() {
  std::vector<const Operator*> kinds;
  for (const Operator& op : operators()) {
    const auto same = [&op](const Operator* kind) { return alike(*kind, op); };
    if (std::none_of(kinds.begin(), kinds.end(), same)) kinds.push_back(&op);
  }
  return kinds;
}

/// The name of an operator; reading it also gives the layer that operator's fields with their defaults.
struct OperatorValue {
  LayerSpec& layer;
  void read(const Json& json, const Place& place) {
    const std::vector<std::string> names = all_names();
    const std::string& name = names[read_choice(json, place, names)];
    const auto named = [&name](const Operator& op) { return op.name == name; };
    set_operator(*std::find_if(operators().begin(), operators().end(), named), layer);
  }
  OrderedJson write() const { return layer.op->name; }
  OrderedJson schema() const { return choice_schema(names_like(*layer.op)); }
};

/// The range of input counts over all operators with this name.
Count inputs_of(const Operator& op) {
  Count count = op.inputs;
  for (const Operator& other : operators()) {
    if (other.name != op.name) continue;
    count = {std::min(count.low, other.inputs.low), std::max(count.high, other.inputs.high)};
  }
  return count;
}

/// Chooses, among the operators with one name, the one with this number of inputs.
void choose_by_inputs(LayerSpec& layer) {
  const auto fits = [&layer](const Operator& op) {
    return op.name == layer.op->name && layer.inputs.size() >= op.inputs.low &&
           layer.inputs.size() <= op.inputs.high;
  };
  const auto chosen = std::find_if(operators().begin(), operators().end(), fits);
  if (chosen != operators().end() && &*chosen != layer.op) set_operator(*chosen, layer);
}

void describe_all(Fields& v) {
  for (const Operator* kind : kinds()) {
    LayerSpec layer;
    set_operator(*kind, layer);
    describe(v, layer);
  }
}

}  // namespace

void describe(Fields& v, LayerSpec& s) {
  v.required().name("name", s.name, "name of the layer and of its output");
  v.required().special("op", OperatorValue{s}, "operator");
  if (s.op == nullptr) return v.stop();
  v.name("scene", s.scene,
         "label of the program that the layer belongs to; scenes run in the order of first mention");
  v.optional_choice("arithmetic", s.arithmetic, kArithmeticNames,
                    "whose arithmetic makes the results; without it the workload's");
  v.required().names("inputs", s.inputs, v.reading() ? inputs_of(*s.op) : s.op->inputs,
                     "workload inputs or layers that are read, in the operator's order");
  if (v.reading()) choose_by_inputs(s);
  s.form->describe(v);
}

void LayerValue::read(const Json& json, const Place& place) {
  read_kind(json, place, fields_of(value), describe_all,
            [this] { return fmt::format("op {}", value.op->name); });
}

OrderedJson LayerValue::write() const {
  return write_object(fields_of(value));
}

OrderedJson LayerValue::schema() const {
  OrderedJson all = OrderedJson::array();
  for (const Operator* kind : kinds()) {
    LayerSpec layer;
    set_operator(*kind, layer);
    OrderedJson schema{{"title", fmt::format("op {}{}", fmt::join(names_like(*kind), ", "), kind->which)}};
    schema.update(object_schema(fields_of(layer)));
    all.push_back(std::move(schema));
  }
  return {{"anyOf", std::move(all)}};
}

// ---- the whole file ----

namespace {

enum class InputType : std::uint8_t { kInt8, kUint8, kFloat32, kInt16 };
constexpr std::array<std::string_view, 4> kInputTypeNames{"int8", "uint8", "float32", "int16"};
constexpr Count kTensorNames{1, 65536};
constexpr Range kExpectedCycles{1, std::int64_t{1} << 53};
constexpr Bounds kTolerance{0, 1000};
constexpr const char* kToleranceText = "per cent of `cycles` by which the run may differ, up or down";

/// By layer name the file with its output, or an object with more.
struct ExpectedValue {
  std::map<std::string, ExpectedSpec>& value;
  void read(const Json& json, const Place& place) {
    if (!json.is_object()) place.refuse_value(json, R"(an object: {"layer": "file.npy"})");
    for (const auto& [layer, expected] : json.items()) {
      ExpectedSpec& spec = value[layer];
      const Place here = place.key(layer);
      if (!expected.is_object()) {
        spec.file = read_text(expected, here);
        continue;
      }
      ObjectValue<ExpectedSpec>{spec}.read(expected, here);
      if (!spec.file && !spec.cycles) here.fail("has neither a file nor cycles, one of them is expected");
    }
  }
  OrderedJson write() const { return OrderedJson::object(); }
  OrderedJson schema() const {
    ExpectedSpec spec;
    return {{"type", "object"},
            {"additionalProperties", {{"anyOf", {text_schema(), ObjectValue<ExpectedSpec>{spec}.schema()}}}}};
  }
};

/// Objects by name.
template <class T>
struct NamedValues {
  std::map<std::string, T>& value;
  void read(const Json& json, const Place& place) {
    if (!json.is_object()) place.refuse_value(json, R"(an object: {"name": {...}})");
    for (const auto& [name, entry] : json.items()) {
      if (name == kCommentKey) continue;
      const Place here = place.key(name);
      ObjectValue<T>{value[read_name(name, here)]}.read(entry, here);
    }
  }
  OrderedJson write() const { return OrderedJson::object(); }
  OrderedJson schema() const {
    T entry;
    return {{"type", "object"}, {"additionalProperties", ObjectValue<T>{entry}.schema()}};
  }
};

/// Layers that are read once the numbers of a step are known.
struct LayersOfSteps {
  std::vector<Json>& value;
  void read(const Json& json, const Place& place) {
    check_list(json, place, kTensorNames);
    for (std::size_t i = 0; i < json.size(); ++i) {
      if (!json[i].is_object()) place.item(i).refuse_value(json[i], "a layer, an object");
    }
    value.assign(json.begin(), json.end());
  }
  OrderedJson write() const { return OrderedJson::array(); }
  OrderedJson schema() const {
    return list_schema({{"type", "object"},
                        {"required", {"name", "op", "inputs"}},
                        {"properties", {{"name", name_schema()}, {"op", choice_schema(all_names())}}}},
                       kTensorNames);
  }
};

}  // namespace

void describe(Fields& v, InputSpec& s) {
  v.required().name("name", s.name, "name that layers refer to");
  v.required().integers("shape", s.info.shape, kExtent, {1, 8}, "extents, [N, H, W, C] for maps");
  InputType type = InputType::kInt8;
  v.choice("dtype", type, kInputTypeNames, "type of the elements; float32 comes from a file");
  constexpr std::array<DType, 4> kTypes{DType::kInt8, DType::kUint8, DType::kFloat32, DType::kInt16};
  if (v.reading()) s.info.dtype = kTypes.at(to_size(type));
  v.integer("zero_point", s.info.zero_point, kZeroPoint,
            "element that stands for 0, within the type's range");
  v.integers(
      "file_axes", s.file_axes, {0, 7}, {0, 8},
      "the axis of the tensor that each axis of its file is, such as [0, 3, 1, 2] for files of [N, C, H, "
      "W]; without it the same axes");
  describe(v, s.source);
}

void describe(Fields& v, FloatReferenceSpec& s) {
  v.required().name("layer", s.layer, "layer whose output stands for these numbers");
  v.required().optional_text("file", s.file, ".npy file of float32 in the layer's shape");
  v.number("scale", s.scale, kPositiveScale, "real value of one step of the layer's output");
}

void describe(Fields& v, ExpectedSpec& s) {
  v.optional_text("file", s.file, ".npy file that the layer's output must equal");
  v.optional_integer("cycles", s.cycles, kExpectedCycles, "cycles that the layer must take");
  v.number("tolerance_percent", s.tolerance_percent, kTolerance, kToleranceText);
}

void describe(Fields& v, ExpectedTotalSpec& s) {
  v.required().integer("cycles", s.cycles, kExpectedCycles, "cycles that the whole run must take");
  v.number("tolerance_percent", s.tolerance_percent, kTolerance, kToleranceText);
}

void describe(Fields& v, StepNumberSpec& s) {
  v.required().integer("from", s.from, {-kMostOfNumber, kMostOfNumber}, "value in the first step");
  v.integer("by", s.by, {-kMostOfNumber, kMostOfNumber}, "what every step adds");
}

void describe(Fields& v, CarriedSpec& s) {
  v.required().name("from", s.from,
                    "what the first step reads: a workload input, or a layer that is none of the steps");
  v.required().name("next", s.next, "what the others read: this layer of the step before");
}

void describe(Fields& v, StepsSpec& s) {
  v.required().integer("count", s.count, {1, 65536}, "steps");
  v.special("numbers", NamedValues<StepNumberSpec>{s.numbers},
            "by name a number that changes from step to step: layers say \"$name\", \"$name + 3\" or "
            "\"$name - 3\" in place of a number");
  v.special("carried", NamedValues<CarriedSpec>{s.carried},
            "by the name that layers read it under, a tensor that a step takes over from the one before");
  v.required().special("layers", LayersOfSteps{s.layers},
                       "layers as above, without `scene`; layer `y` of step 2 is called y.2");
  v.names(
      "outputs", s.outputs, {0, kTensorNames.high},
      "layers of which every step's output is written, besides the workload's `outputs`; with these alone "
      "no others are");
}

void describe(Fields& v, WorkloadSpec& s) {
  v.name("name", s.name, "name of the workload, shown in reports");
  v.choice("arithmetic", s.arithmetic, kArithmeticNames,
           "whose arithmetic makes the results of layers that do not name their own");
  v.required().objects("inputs", s.inputs, kTensorNames, "tensors that are there before the run");
  const auto layer = [](LayerSpec& entry) { return LayerValue{entry}; };
  using Layers = ListValue<std::vector<LayerSpec>, decltype(layer)>;
  v.required().special("layers", Layers{s.layers, kTensorNames, layer}, "layers, in any order");
  v.optional_object("steps", s.steps,
                    "layers that are computed again and again behind the others, each time as a scene step1, "
                    "step2, ...");
  v.optional_names("outputs", s.outputs, kTensorNames,
                   "layers whose outputs are written; without it those that no layer reads");
  v.special(
      "expected", ExpectedValue{s.expected},
      "by layer the .npy file that its output must equal, or an object of `file`, `cycles` that it must "
      "take and `tolerance_percent` of them");
  v.optional_object("expected_total", s.expected_total, "cycles of the whole run");
  v.objects(
      "float_references", s.float_references, {0, kTensorNames.high},
      "what a float network computes of the inputs named here: the report says how well the layers' outputs "
      "stand for it");
}

WorkloadSpec read_workload_file(const std::string& path) {
  WorkloadSpec spec;
  const Json document = read_json_file(path);
  check_file_kind(document, FileKind::kWorkload, path);
  read_document(document, path, spec);
  if (spec.steps) expand_steps(*spec.steps, Place(path, "/steps"), spec);
  return spec;
}

OrderedJson workload_schema() {
  WorkloadSpec spec;
  return schema_document("Tilebeat workload file",
                         "A layer or a network with its tensors. Maps are [N, H, W, C].",
                         ObjectValue<WorkloadSpec>{spec}.schema());
}

}  // namespace tilebeat
