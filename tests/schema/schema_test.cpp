#include "../data/sample_layers.h"
#include "../data/temporary_folder.h"
#include "config/hardware_config.h"
#include "schema/fields.h"
#include "schema/json_file.h"
#include "workload/workload.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

namespace tilebeat {
namespace {

struct Inner {
  int depth_words = 4;
  std::array<int, 2> pair{1, 2};
};
struct Outer {
  Inner inner;
  std::optional<std::int64_t> seed;
  std::vector<Inner> list;
  bool flag = false;
};

template <class V>
void describe(V& v, Inner& c) {
  v.integer("depth_words", c.depth_words, {1, 8}, "words");
  v.integers("pair", c.pair, {0, 9}, "[height, width]");
}
template <class V>
void describe(V& v, Outer& c) {
  v.object("inner", c.inner, "an object");
  v.optional_integer("seed", c.seed, {0, 99}, "a number");
  v.objects("list", c.list, {0, 2}, "objects");
  v.required().boolean("flag", c.flag, "a switch");
}

TEST(Schema, UI_2_one_declaration_reads_and_writes) {
  Outer outer;
  const Json document =
      Json::parse(R"({"$schema": "a", "flag": true, "list": [{}, {"pair": [3, 4]}], "seed": 7})");
  read_document(document, "f.json", outer);
  EXPECT_TRUE(outer.flag);
  EXPECT_EQ(outer.seed, 7);
  ASSERT_EQ(outer.list.size(), 2U);
  EXPECT_EQ(outer.list[1].pair[1], 4);
  EXPECT_EQ(ObjectValue<Outer>{outer}.write().dump(),
            R"({"inner":{"depth_words":4,"pair":[1,2]},"seed":7,)"
            R"("list":[{"depth_words":4,"pair":[1,2]},{"depth_words":4,"pair":[3,4]}],"flag":true})");
}

TEST(Schema, UI_2_one_declaration_makes_schema_and_table) {
  Outer outer;
  const OrderedJson schema = schema_document("T", "Words.", ObjectValue<Outer>{outer}.schema());
  EXPECT_EQ(schema["$schema"], "http://json-schema.org/draft-07/schema#");
  EXPECT_EQ(schema["required"], OrderedJson({"flag"}));
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["inner"]["properties"]["depth_words"]["default"], 4);
  const std::string table = schema_markdown(schema);
  EXPECT_NE(table.find("| `/inner/depth_words` | integer 1 to 8 | `4` | words |"), std::string::npos)
      << table;
  EXPECT_NE(table.find("| `/list/N/pair` | list of 2: integer 0 to 9 | `[1,2]` | [height, width] |"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("| `/flag` | boolean | required | a switch |"), std::string::npos) << table;
}

TEST(Schema, UI_2_every_object_may_have_a_comment_which_has_no_effect) {
  Outer outer;
  const Json document = Json::parse(
      R"({"flag": true, "comment": "a text", "list": [{"comment": ["two", "lines"], "depth_words": 3}]})");
  read_document(document, "f.json", outer);
  EXPECT_EQ(outer.list.at(0).depth_words, 3);
  EXPECT_EQ(ObjectValue<Outer>{outer}.write().dump().find("comment"), std::string::npos);
  EXPECT_EQ(refusal([&] { read_document(Json::parse(R"({"flag": true, "comment": 7})"), "f.json", outer); }),
            "f.json: /comment: 7 is not allowed, allowed is a text, or a list of texts");
  EXPECT_EQ(refusal([&] {
              read_document(Json::parse(R"({"flag": true, "inner": {"comment": ["a", 7]}})"), "f.json",
                            outer);
            }),
            "f.json: /inner/comment/1: 7 is not allowed, allowed is a text");
  const std::string table = schema_markdown(schema_document("T", "W.", ObjectValue<Outer>{outer}.schema()));
  EXPECT_EQ(table.find("| `/comment`"), std::string::npos) << table;
}

TEST(Schema, UI_2_the_nearest_name_has_the_fewest_changes) {
  const std::vector<std::string> names{"rows", "columns", "groups"};
  EXPECT_EQ(nearest_name("row", names), "rows");
  EXPECT_EQ(nearest_name("colums", names), "columns");
  EXPECT_EQ(nearest_name("", names), "rows");
  EXPECT_EQ(nearest_name(std::string(10000000, 'x'), names), "rows") << "long names cost no time";
}

TEST(Schema, UI_2_messages_stay_short_and_on_one_line) {
  EXPECT_EQ(one_line("a\nb\tc\x7f"), "a b c ");
  EXPECT_LT(shown(Json(std::string(1000, 'x'))).size(), 100U);
  const std::string message = refusal([] { Place("f\n.json").key("a\nb").item(2).fail("bad"); });
  EXPECT_EQ(message, "f .json: /a b/2: bad");
}

using Loader = std::function<void(const std::string&)>;

/// A JSON Schema that valijson checks.
class Validator {
 public:
  explicit Validator(const OrderedJson& schema) {
    const Json plain = Json::parse(schema.dump());
    valijson::SchemaParser(valijson::SchemaParser::kDraft7)
        .populateSchema(valijson::adapters::NlohmannJsonAdapter(plain), schema_);
  }
  bool accepts(const Json& document) {
    const valijson::adapters::NlohmannJsonAdapter target(document);
    return valijson::Validator().validate(schema_, target, nullptr);
  }

 private:
  valijson::Schema schema_;
};

/// `json` with one place below `below` changed at a time: every value replaced by values of other kinds and
/// sizes, every key removed, a key added to every object.
std::vector<Json> mutations(const Json& document, const std::string& below) {
  std::vector<Json> all;
  const Json flat = document.flatten();
  std::vector<Json::json_pointer> places;
  for (const auto& [path, value] : flat.items()) {
    for (Json::json_pointer place(path); !place.empty(); place = place.parent_pointer())
      places.push_back(place);
  }
  std::sort(places.begin(), places.end(),
            [](const auto& a, const auto& b) { return a.to_string() < b.to_string(); });
  places.erase(std::unique(places.begin(), places.end()), places.end());
  places.erase(std::remove_if(
                   places.begin(), places.end(),
                   [&](const auto& place) { return place.to_string().compare(0, below.size(), below) != 0; }),
               places.end());
  for (const Json::json_pointer& place : places) {
    for (const char* value :
         {"null", "true", "\"text\"", "\"\"", "-1", "0.5", "4000000000", "1e300", "[]", "{}", "[1]", "[1, 1]",
          "[0.5, 1, 1, 1]", "{\"clamp\": [0, 1]}", "{\"nothing\": 1}"}) {
      all.push_back(document);
      all.back()[place] = Json::parse(value);
    }
    Json parent = document[place.parent_pointer()];
    if (!parent.is_object()) continue;
    all.push_back(document);
    all.back()[place.parent_pointer()].erase(place.back());
    all.push_back(document);
    all.back()[place.parent_pointer()]["unknown"] = 1;
  }
  return all;
}

constexpr const char* kBadEnough = "the mutations must be bad enough to mean something";

/// The loader may refuse more than the schema can say, and then for a rule between fields, but must not take
/// more. Returns how many files the schema refuses.
int expect_agreement(Validator& validator, const Json& good, const Loader& load,
                     const std::string& below = "") {
  const TemporaryFolder folder;
  const auto complaint = [&](const Json& document) {
    return refusal([&] { load(folder.write("f.json", document.dump())); });
  };
  EXPECT_TRUE(validator.accepts(good));
  EXPECT_EQ(complaint(good), "");
  int refused = 0;
  for (const Json& document : mutations(good, below)) {
    const std::string message = complaint(document);
    if (!validator.accepts(document)) {
      EXPECT_NE(message, "") << "only the schema refuses " << document.dump();
      ++refused;
    }
    for (const char* single :
         {"a whole number from", "a number from", "true or false", "an object: {", "is missing",
          "unknown key", "one of \"", "a name of", "a text of", "of the keys", "key \""}) {
      if (message.find(single) == std::string::npos) continue;
      EXPECT_FALSE(validator.accepts(document))
          << "only the loader refuses " << document.dump() << ": " << message;
    }
  }
  return refused;
}

TEST(SchemaAgreement, UI_2_hardware_loader_and_schema) {
  Validator validator(hardware_schema());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TILEBEAT_SOURCE_DIR "/configs")) {
    if (!entry.is_regular_file()) continue;
    EXPECT_TRUE(validator.accepts(read_json_file(entry.path().string()))) << entry.path();
  }
  EXPECT_GT(
      expect_agreement(validator, Json::parse(hardware_to_json(parse_hardware(Json::object(), "f")).dump()),
                       load_hardware),
      100)
      << kBadEnough;
}

void load_any_workload(const std::string& path) {
  load_workload(path);
}

TEST(SchemaAgreement, UI_6_workload_loader_and_schema) {
  Validator validator(workload_schema());
  for (const auto& entry : std::filesystem::directory_iterator(TILEBEAT_SOURCE_DIR "/models")) {
    if (entry.path().extension() != ".json") continue;
    EXPECT_TRUE(validator.accepts(read_json_file(entry.path().string()))) << entry.path();
  }
  EXPECT_GT(expect_agreement(validator, read_json_file(TILEBEAT_SOURCE_DIR "/models/worked_scenes.json"),
                             load_any_workload),
            100)
      << kBadEnough;
}

TEST(SchemaAgreement, UI_6_operators_loader_and_schema) {
  Validator validator(workload_schema());
  for (const auto& [op, layer] : sample_layers()) {
    SCOPED_TRACE(op);
    EXPECT_GT(expect_agreement(validator, sample_workload(layer), load_any_workload, "/layers/0"), 50)
        << kBadEnough;
  }
}

TEST(SchemaAgreement, UI_2_comments) {
  for (const bool workload : {true, false}) {
    Validator validator(workload ? workload_schema() : hardware_schema());
    const std::string file = workload ? "/models/worked_scenes.json" : "/configs/cluster4x4.json";
    for (const char* place : {"", workload ? "/layers/0" : "/chip/core"}) {
      for (const auto& [comment, allowed] : {std::pair("\"text\"", true),
                                             {"[\"a\", \"b\"]", true},
                                             {"7", false},
                                             {"[1]", false},
                                             {"{}", false}}) {
        Json document = read_json_file(TILEBEAT_SOURCE_DIR + file);
        document[Json::json_pointer(place)]["comment"] = Json::parse(comment);
        const TemporaryFolder folder;
        const std::string path = folder.write("f.json", document.dump());
        const std::string message =
            refusal([&] { workload ? load_any_workload(path) : static_cast<void>(load_hardware(path)); });
        EXPECT_EQ(validator.accepts(document), allowed) << place << ": " << comment;
        EXPECT_EQ(message.empty(), allowed) << place << ": " << comment << ": " << message;
      }
    }
  }
}

TEST(SchemaAgreement, UI_14_expected_cycles) {
  Validator validator(workload_schema());
  Json document = read_json_file(TILEBEAT_SOURCE_DIR "/models/worked_dilated.json");
  document["expected"] = {{"conv1", {{"cycles", 500}, {"tolerance_percent", 1.5}}}};
  document["expected_total"] = {{"cycles", 600}, {"tolerance_percent", 0}};
  EXPECT_GT(expect_agreement(validator, document, load_any_workload, "/expected"), 20) << kBadEnough;
}

TEST(SchemaAgreement, OP_1_product_of_two_inputs) {
  Validator validator(workload_schema());
  EXPECT_GT(expect_agreement(validator, sample_workload(sample_product()), load_any_workload, "/layers/0"),
            50)
      << kBadEnough;
}

TEST(SchemaAgreement, UI_6_operators_have_their_own_fields) {
  Validator validator(workload_schema());
  const TemporaryFolder folder;
  for (const auto& [op, layer] : sample_layers()) {
    for (const auto& [other, other_layer] : sample_layers()) {
      Json changed = layer;
      changed["op"] = other;
      const Json file = sample_workload(changed);
      const std::string message = refusal([&] { load_workload(folder.write("f.json", file.dump())); });
      // A schema knows no types of tensors.
      const bool of_type = message.find("allowed is indices of int32") != std::string::npos;
      EXPECT_EQ(validator.accepts(file), message.empty() || of_type)
          << op << " as " << other << ": " << message;
    }
  }
}

}  // namespace
}  // namespace tilebeat
