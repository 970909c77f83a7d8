#include "app/suite_file.h"

#include "planner/language/mapping_file.h"
#include "schema/json_file.h"
#include "schema/place.h"
#include "tilebeat/error.h"
#include "workload/workload_file.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kMostProducts = 1000, kMostInputs = 10'000, kMostOptions = 1000;
constexpr Bounds kTolerance{0, 1000}, kEnergy{0, 1e30};
constexpr Range kCount{0, std::int64_t{1} << 53};
constexpr const char* kOfRuns = "of every run, per cent by which it may differ from the stored value";

// A file, or an object that names it.
struct InputValue {
  SuiteInput& input;

  void read(const Json& json, const Place& place);
  OrderedJson write() const { return {}; }
  OrderedJson schema() const;
};

// An object with an entry for each of any number of names.
template <class T, class MakeEntry>
struct ByNameValue {
  std::map<std::string, T>& entries;
  MakeEntry make;

  void read(const Json& json, const Place& place) {
    if (!json.is_object()) place.refuse_value(json, "an object: {...}");
    for (const auto& [name, entry] : json.items()) make(entries[name]).read(entry, place.key(name));
  }
  OrderedJson write() const { return OrderedJson::object(); }
  OrderedJson schema() const {
    T entry{};
    return {{"type", "object"}, {"additionalProperties", make(entry).schema()}};
  }
};

// A SHA-256 in hexadecimal.
struct HashValue {
  std::string& value;

  void read(const Json& json, const Place& place) {
    constexpr std::size_t kDigits = 64;
    if (!json.is_string() || json.get<std::string>().size() != kDigits ||
        json.get<std::string>().find_first_not_of("0123456789abcdef") != std::string::npos)
      place.refuse_value(json, "a SHA-256: 64 hexadecimal digits");
    value = json.get<std::string>();
  }
  OrderedJson write() const { return value; }
  OrderedJson schema() const { return {{"type", "string"}, {"pattern", "^[0-9a-f]{64}$"}}; }
};

// What a hardware file may have at a JSON pointer.
struct ScalarValue {
  Json& value;

  void read(const Json& json, const Place& place) {
    if (!json.is_primitive() && !json.empty()) place.refuse_value(json, "a number, a text, true or false");
    value = json;
  }
  OrderedJson write() const { return value; }
  OrderedJson schema() const {
    return {{"anyOf",
             {{{"type", "number"}},
              {{"type", "string"}},
              {{"type", "boolean"}},
              {{"type", "null"}},
              {{"type", "array"}, {"items", OrderedJson::object()}, {"minItems", 0}, {"maxItems", 0}},
              {{"type", "object"}, {"additionalProperties", false}}}}};
  }
};

template <class T, class MakeEntry>
ByNameValue<T, MakeEntry> by_name(std::map<std::string, T>& entries, MakeEntry make) {
  return {entries, make};
}

}  // namespace

void describe(Fields& v, SuiteInput& input) {
  v.required().name("name", input.name, "what runs with it are called by");
  v.required().special("file", TextValue{input.file}, "file; paths start at this suite");
}

void describe(Fields& v, SuiteOption& option) {
  describe(v, option.change);
  v.choice("check", option.how.check, kSweepCheckNames,
           "whether outputs are compared with the reference, as for tilebeat run");
  v.optional_choice("granularity", option.how.granularity, kRunGranularityNames, "as for tilebeat run");
}

void describe(Fields& v, SuiteTolerances& tolerances) {
  v.number("cycles", tolerances.cycles, kTolerance, kOfRuns);
  v.number("dram_bytes", tolerances.dram_bytes, kTolerance, kOfRuns);
  v.number("energy_pj", tolerances.energy_pj, kTolerance, kOfRuns);
}

void describe(Fields& v, SuiteProduct& product) {
  const auto input = [](SuiteInput& entry) { return InputValue{entry}; };
  using Inputs = ListValue<std::vector<SuiteInput>, decltype(input)>;
  v.required().special("configs", Inputs{product.configs, {1, kMostInputs}, input},
                       "hardware files, or objects of a `name` and a `file`");
  v.required().special("layers", Inputs{product.layers, {1, kMostInputs}, input}, "workloads, likewise");
  v.objects("options", product.options, {0, kMostOptions},
            "ways to run each of them; their labels end the names of runs");
  v.optional_object("tolerances", product.tolerances, "of these runs, instead of those of the suite");
}

void describe(Fields& v, StoredCosts& costs) {
  v.required().integer("cycles", costs.cycles, kCount, "stored cycles");
  v.required().integer("dram_bytes", costs.dram_bytes, kCount, "stored bytes to and from DRAM");
  v.required().number("energy_pj", costs.energy_pj, kEnergy, "stored energy");
}

void describe(Fields& v, StoredRun& run) {
  describe(v, run.costs);
  v.required().special(
      "layers", by_name(run.layers, [](StoredCosts& costs) { return ObjectValue<StoredCosts>{costs}; }),
      "the same of each layer, by its name");
  v.required().special("outputs", by_name(run.outputs, [](std::string& hash) { return HashValue{hash}; }),
                       "SHA-256 of each output's file, by its name");
}

void describe(Fields& v, SuiteFile& suite) {
  v.required().integer("tilebeat_suite", suite.version, {kSuiteVersion, kSuiteVersion},
                       "version of the format");
  v.required().name("name", suite.name, "name of the suite");
  v.object("tolerances", suite.tolerances, "what may differ; bytes of outputs never may");
  v.required().objects(
      "runs", suite.runs, {1, kMostProducts},
      "what runs: every one of `configs` with every one of `layers`, in every way of `options`");
  const auto configuration = [](StoredConfiguration& values) {
    return by_name(values, [](Json& value) { return ScalarValue{value}; });
  };
  v.special("configurations", by_name(suite.configurations, configuration),
            "written by --update: effective values of the hardware by JSON pointer");
  v.special("results", by_name(suite.results, [](StoredRun& run) { return ObjectValue<StoredRun>{run}; }),
            "written by --update: what runs came to, by name");
}

namespace {

void InputValue::read(const Json& json, const Place& place) {
  if (json.is_object()) return ObjectValue<SuiteInput>{input}.read(json, place);
  input.file = read_text(json, place);
  input.name = std::filesystem::path(input.file).stem().string();
  if (!is_name(input.name))
    place.fail(fmt::format("{} is no name for runs, write {{\"name\": ..., \"file\": {}}}", shown(input.name),
                           shown(input.file)));
}

OrderedJson InputValue::schema() const {
  return {{"anyOf", {text_schema(), ObjectValue<SuiteInput>{input}.schema()}}};
}

void check_names(const std::vector<SuiteInput>& inputs, const Place& place) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!seen.insert(inputs[i].name).second)
      place.item(i).fail(
          fmt::format("the name '{}' stands there twice, write {{\"name\": ..., \"file\": {}}}",
                      inputs[i].name, shown(inputs[i].file)));
  }
}

PointAxis axis_of(const std::vector<SuiteInput>& inputs, SweepTarget target, const Place& place) {
  PointAxis axis;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SweepChange change;
    change.label = inputs[i].name;
    nth(change.files, target) = inputs[i].file;
    axis.changes.push_back({std::move(change), place.item(i)});
  }
  return axis;
}

bool changes_hardware(const SweepChange& change) {
  constexpr auto kConfig = to_size(SweepTarget::kConfig);
  return change.files[kConfig].has_value() || !change.set[kConfig].empty();
}

// The runs of a product in one way; without `option` as `tilebeat run` does.
void add_runs(const SuiteProduct& product, const SuiteOption* option, const SuiteTolerances& tolerances,
              const std::vector<PointAxis>& axes, const std::string& path, const std::string& points,
              std::vector<SuiteRun>& runs) {
  SweepFile files;
  files.config = product.configs.front().file, files.layer = product.layers.front().file;
  std::vector<SweepPoint> made;
  try {
    made = points_of(files, axes, path, points);
  } catch (const UserError& error) {
    std::string reason = error.what();  // the folder is another one every time
    for (auto at = reason.find(points + "/"); at != std::string::npos; at = reason.find(points + "/"))
      reason.erase(at, points.size() + 1);
    throw UserError(reason);
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    std::string name = made[i].name;
    std::string configuration = product.configs[i / product.layers.size()].name;
    if (option != nullptr && changes_hardware(option->change)) configuration += "/" + option->change.label;
    const SweepChange change = option != nullptr ? option->change : SweepChange{};
    runs.push_back(
        {std::move(name), std::move(configuration),
         (std::filesystem::path(path).parent_path() /
          nth(change.files, SweepTarget::kLayer).value_or(product.layers[i % product.layers.size()].file))
             .string(),
         tolerances,
         PointFolder(points, std::move(made[i]), option != nullptr ? option->how : PointOptions{})});
  }
}

// Objects of single values stand in one line, others have a line for every member.
void write_json(const Json& json, const std::string& indent, std::string& text) {
  const auto single = [](const Json& value) { return !value.is_structured() || value.empty(); };
  constexpr std::size_t kMostInLine = 3;  // as StoredCosts has
  const bool short_object =
      json.is_object() && json.size() <= kMostInLine && std::all_of(json.begin(), json.end(), single);
  const bool short_list = json.is_array() && std::all_of(json.begin(), json.end(), [](const Json& value) {
                            return value.is_number() || value.is_boolean();
                          });
  if (single(json)) {
    text += json.dump();
    return;
  }
  const bool in_line = short_object || short_list;
  const std::string inner = indent + " ";
  text += json.is_object() ? "{" : "[";
  for (auto item = json.begin(); item != json.end(); ++item) {
    if (item != json.begin()) text += in_line ? ", " : ",";
    if (!in_line) text += "\n" + inner;
    if (json.is_object()) text += Json(item.key()).dump() + ": ";
    write_json(*item, inner, text);
  }
  if (!in_line) text += "\n" + indent;
  text += json.is_object() ? "}" : "]";
}

Json costs_json(const StoredCosts& costs) {
  return {{"cycles", costs.cycles}, {"dram_bytes", costs.dram_bytes}, {"energy_pj", costs.energy_pj}};
}

}  // namespace

LoadedSuite load_suite(const std::string& path) {
  LoadedSuite suite{{}, read_json_file(path)};
  check_file_kind(suite.json, FileKind::kSuite, path);
  read_document(suite.json, path, suite.file);
  return suite;
}

std::string suite_text(Json json, const std::map<std::string, StoredConfiguration>& configurations,
                       const std::map<std::string, StoredRun>& results) {
  json["configurations"] = configurations;
  Json& stored = json["results"] = Json::object();
  for (const auto& [name, run] : results) {
    Json entry = costs_json(run.costs);
    entry["layers"] = Json::object(), entry["outputs"] = run.outputs;
    for (const auto& [layer, costs] : run.layers) entry["layers"][layer] = costs_json(costs);
    stored[name] = std::move(entry);
  }
  std::string text;
  write_json(json, "", text);
  return text + "\n";
}

OrderedJson suite_schema() {
  SuiteFile suite;
  return schema_document("Tilebeat suite file",
                         "Runs and what they came to, for `tilebeat check`: every one of a list of "
                         "configurations with every one of a list of workloads.",
                         ObjectValue<SuiteFile>{suite}.schema());
}

std::vector<SuiteRun> suite_runs(const SuiteFile& suite, const std::string& path, const std::string& points) {
  std::vector<SuiteRun> runs;
  std::set<std::string> names;
  std::map<std::string, std::string> hardware;  // by the name of the configuration
  for (std::size_t i = 0; i < suite.runs.size(); ++i) {
    const SuiteProduct& product = suite.runs[i];
    const Place place = Place(path).key("runs").item(i);
    check_names(product.configs, place.key("configs"));
    check_names(product.layers, place.key("layers"));
    for (const SuiteInput& layer : product.layers)  // a wrong one is no result of a run
      read_workload_file((std::filesystem::path(path).parent_path() / layer.file).string());
    for (const SuiteOption& option : product.options) {  // nor is a wrong mapping file
      if (const auto& file = nth(option.change.files, SweepTarget::kMapping))
        load_mapping((std::filesystem::path(path).parent_path() / *file).string());
    }
    const std::vector<PointAxis> pair{axis_of(product.configs, SweepTarget::kConfig, place.key("configs")),
                                      axis_of(product.layers, SweepTarget::kLayer, place.key("layers"))};
    const SuiteTolerances tolerances = product.tolerances.value_or(suite.tolerances);
    const std::size_t before = runs.size();
    if (product.options.empty()) add_runs(product, nullptr, tolerances, pair, path, points, runs);
    for (std::size_t o = 0; o < product.options.size(); ++o) {
      std::vector<PointAxis> axes = pair;
      axes.push_back({"", {{product.options[o].change, place.key("options").item(o)}}});
      add_runs(product, &product.options[o], tolerances, axes, path, points, runs);
    }
    for (std::size_t r = before; r < runs.size(); ++r) {
      if (!names.insert(runs[r].name).second)
        place.fail(fmt::format("the run '{}' stands there twice", runs[r].name));
      const std::string& text = *nth(runs[r].folder.point().texts, SweepTarget::kConfig);
      if (hardware.emplace(runs[r].configuration, text).first->second != text)
        place.fail(
            fmt::format("the configuration '{}' has another hardware than in front of it, give it "
                        "another name",
                        runs[r].configuration));
    }
  }
  return runs;
}

}  // namespace tilebeat
