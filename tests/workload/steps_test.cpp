// `steps` of a workload: layers that are written once and computed again and again (SPEC AT-3).
#include "../data/temporary_folder.h"
#include "reference/reference.h"
#include "report_schema.h"
#include "workload/workload.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// A row that every step puts behind what there is, the sum of all rows so far and a token.
json growing() {
  return json::parse(R"({
    "inputs": [{"name": "x", "shape": [1, 1, 3, 8], "random": {"seed": 1}},
               {"name": "table", "shape": [1, 1, 9, 8], "random": {"seed": 2}}],
    "layers": [{"name": "first", "op": "slice", "inputs": ["x"], "starts": [0, 0, 2, 0], "ends": [1, 1, 3, 8]}],
    "steps": {
      "count": 3,
      "numbers": {"past": {"from": 3, "by": 1}, "row": {"from": 8, "by": -2}},
      "carried": {"rows": {"from": "x", "next": "longer"}, "last": {"from": "first", "next": "added"}},
      "layers": [
        {"name": "longer", "op": "concat", "inputs": ["rows", "last"], "axis": 2},
        {"name": "turned", "op": "transpose", "inputs": ["longer"], "perm": [0, 1, 3, 2]},
        {"name": "flat", "op": "reshape", "inputs": ["turned"], "shape": [1, 8, 1, "$past + 1"]},
        {"name": "sum", "op": "reduce_max", "inputs": ["flat"], "axes": [3]},
        {"name": "as_row", "op": "reshape", "inputs": ["sum"], "shape": [1, 1, 1, 8]},
        {"name": "of_table", "op": "slice", "inputs": ["table"],
         "starts": [0, 0, "$row - 1", 0], "ends": [1, 1, "$row", 8]},
        {"name": "added", "op": "add", "inputs": ["as_row", "of_table"], "requant": {"scale": 0.5}}],
      "outputs": ["longer", "added"]}})");
}

/// The same with the layers of every step written out.
json written_out() {
  json all = growing();
  const json steps = all["steps"];
  all.erase("steps");
  all["outputs"] = json::array();
  for (int step = 1; step <= 3; ++step) {
    for (json layer : steps["layers"]) {
      for (json& input : layer["inputs"]) {
        const std::string name = input;
        if (name == "rows")
          input = step == 1 ? "x" : fmt::format("longer.{}", step - 1);
        else if (name == "last")
          input = step == 1 ? "first" : fmt::format("added.{}", step - 1);
        else if (name != "table")
          input = fmt::format("{}.{}", name, step);
      }
      if (layer["name"] == "flat") layer["shape"][3] = 3 + step;
      if (layer["name"] == "of_table") layer["starts"][2] = 9 - 2 * step, layer["ends"][2] = 10 - 2 * step;
      layer["name"] = fmt::format("{}.{}", layer["name"].get<std::string>(), step);
      layer["scene"] = fmt::format("step{}", step);
      all["layers"].push_back(layer);
    }
    all["outputs"].push_back(fmt::format("longer.{}", step));
    all["outputs"].push_back(fmt::format("added.{}", step));
  }
  return all;
}

class WorkloadSteps : public ::testing::Test {
 protected:
  Workload load(const json& file) { return load_workload(folder_.write("w.json", file.dump(1))); }
  std::string message(const json& file) {
    return refusal([&] { load(file); });
  }
  /// The message for the workload above after a change of its steps.
  template <class Change>
  std::string message_after(const Change& change) {
    json file = growing();
    change(file["steps"]);
    return message(file);
  }
  TemporaryFolder folder_;
};

TEST_F(WorkloadSteps, AT_3_are_the_layers_written_out) {
  const Workload steps = load(growing()), plain = load(written_out());
  ASSERT_EQ(steps.layers.size(), 1U + 3 * 7);
  ASSERT_EQ(steps.layers.size(), plain.layers.size());
  for (std::size_t i = 0; i < steps.layers.size(); ++i) {
    EXPECT_EQ(steps.layers[i].name, plain.layers[i].name);
    EXPECT_EQ(steps.layers[i].scene, plain.layers[i].scene);
    EXPECT_EQ(steps.layers[i].inputs, plain.layers[i].inputs);
    EXPECT_EQ(steps.layers[i].output.shape, plain.layers[i].output.shape);
  }
  EXPECT_EQ(steps.outputs, plain.outputs);
  EXPECT_EQ(steps.tensor("longer.3").shape, (std::vector<std::int64_t>{1, 1, 6, 8}));
  const auto results = run_reference(steps), others = run_reference(plain);
  for (const std::string& name : steps.outputs) EXPECT_EQ(results.at(name).bytes, others.at(name).bytes);
}

TEST_F(WorkloadSteps, AT_3_the_workload_may_name_outputs_too) {
  json file = growing();
  file["outputs"] = {"first", "turned.2"};
  file["steps"]["outputs"] = {"added"};
  EXPECT_EQ(load(file).outputs,
            (std::vector<std::string>{"first", "turned.2", "added.1", "added.2", "added.3"}));
}

TEST_F(WorkloadSteps, AT_3_UI_2_numbers_that_do_not_exist_are_refused) {
  const auto with = [&](const char* text) {
    return message_after([text](json& steps) { steps["layers"][2]["shape"][3] = text; });
  };
  for (const char* text :
       {"$pas + 1", "$past+1", "$past + ", "$past + -1", "$past * 2", "$past + 1x", "$", "$past "}) {
    EXPECT_THAT(with(text),
                HasSubstr("/steps/layers/2/shape/3: \"" + std::string(text) + "\" is not allowed"))
        << text;
    EXPECT_THAT(with(text), HasSubstr("with a name of `numbers`: past, row")) << text;
  }
  EXPECT_THAT(message_after([](json& steps) { steps.erase("numbers"); }),
              HasSubstr("as the steps have no `numbers`"));
  EXPECT_THAT(message_after([](json& steps) {
                steps["numbers"]["pas"] = {{"from", 1}};
              }),
              HasSubstr("/steps/numbers/pas: no layer of the steps has it"));
}

TEST_F(WorkloadSteps, AT_3_UI_2_a_number_that_leaves_its_range_is_refused_where_it_stands) {
  EXPECT_THAT(message_after([](json& steps) { steps["count"] = 5; }),
              HasSubstr("w.json: /steps/layers/5/starts/2: -1 is not allowed"));
  EXPECT_THAT(message_after([](json& steps) { steps["count"] = 5; }), HasSubstr(", in step 5"));
  // Rows of the table that it does not have, from the third step on.
  const std::string told =
      message_after([](json& steps) { steps["count"] = 9, steps["numbers"]["row"]["by"] = 1; });
  EXPECT_THAT(told, HasSubstr("/steps/layers/5/ends/2: 10 is not allowed"));
  EXPECT_THAT(told, ::testing::EndsWith(", in step 3"));
  EXPECT_THAT(message_after([](json& steps) { steps["count"] = 0; }),
              HasSubstr("/steps/count: 0 is not allowed"));
  EXPECT_THAT(message_after([](json& steps) { steps["layers"][2]["shape"][3] = "$past + 2"; }),
              HasSubstr("/steps/layers/2/shape"));
}

TEST_F(WorkloadSteps, AT_3_UI_2_names_that_do_not_exist_or_are_taken_are_refused) {
  EXPECT_THAT(message_after([](json& steps) { steps["carried"]["rows"]["from"] = "y"; }),
              HasSubstr("/steps/carried/rows/from: \"y\" is not allowed, allowed is a workload input or a "
                        "layer before the steps"));
  EXPECT_THAT(message_after([](json& steps) { steps["carried"]["rows"]["next"] = "longest"; }),
              HasSubstr("/steps/carried/rows/next: \"longest\" is not allowed, allowed is a layer of the "
                        "steps, the nearest is \"longer\""));
  EXPECT_THAT(message_after([](json& steps) { steps["carried"]["x"] = steps["carried"]["rows"]; }),
              HasSubstr("/steps/carried/x: \"x\" is not allowed"));
  EXPECT_THAT(message_after([](json& steps) { steps["carried"]["sum"] = steps["carried"]["rows"]; }),
              HasSubstr("/steps/carried/sum: \"sum\" is not allowed"));
  EXPECT_THAT(message_after([](json& steps) { steps["outputs"] = {"adde"}; }),
              HasSubstr("/steps/outputs/0: \"adde\" is not allowed"));
  EXPECT_THAT(message_after([](json& steps) { steps["layers"][1]["inputs"][0] = "row"; }),
              HasSubstr("/steps/layers/1/inputs/0: \"row\" is not allowed"));
  EXPECT_THAT(message_after([](json& steps) { steps["layers"][1]["name"] = "longer"; }),
              HasSubstr("/steps/layers/1/name: \"longer.1\" is not allowed"));
  json scene = growing();
  scene["layers"][0]["scene"] = "step1";
  EXPECT_THAT(message(scene), HasSubstr("/layers/0/scene: \"step1\" is not allowed"));
  EXPECT_THAT(message_after([](json& steps) { steps["layers"][0]["scene"] = "main"; }),
              HasSubstr("/steps/layers/0/scene: layers of steps have none"));
  EXPECT_THAT(message_after([](json& steps) { steps["layers"][0] = 7; }),
              HasSubstr("/steps/layers/0: 7 is not allowed"));
}

TEST_F(WorkloadSteps, AT_3_UI_2_names_that_would_meet_are_refused) {
  const auto carried = [&](const char* name) {
    return message_after([name](json& steps) { steps["carried"][name] = steps["carried"]["rows"]; });
  };
  EXPECT_THAT(carried("longer.2"), HasSubstr("/steps/carried/longer.2: \"longer.2\" is not allowed"));
  EXPECT_THAT(carried("row"), HasSubstr("/steps/carried/row: no layer of the steps reads it"));
  EXPECT_THAT(message_after([](json& steps) { steps["layers"][1]["name"] = "first"; }),
              HasSubstr("/steps/layers/1/name: \"first\" is not allowed, allowed is a name that no input and "
                        "no layer before"));
  EXPECT_THAT(message_after([](json& steps) { steps["layers"][1]["name"] = std::string(123, 'n'); }),
              HasSubstr("allowed is a name that leaves room for the number of a step, six letters"));
  EXPECT_THAT(message_after([](json& steps) {
                steps["outputs"] = {"sum", "sum"};
              }),
              HasSubstr("/steps/outputs/1: \"sum\" is not allowed, allowed is each name once"));
  json twice = growing();
  twice["outputs"] = {"longer.2"};
  EXPECT_THAT(message(twice),
              HasSubstr("/steps/outputs/0: \"longer\" is not allowed, allowed is a layer whose longer.2 "));
}

TEST_F(WorkloadSteps, AT_3_texts_may_begin_with_a_dollar_sign) {
  json file = growing();
  file["steps"]["comment"] = "$past rows", file["steps"]["layers"][0]["comment"] = "$past, and one more";
  file["steps"]["numbers"]["comment"] = "$", file["steps"]["carried"]["comment"] = {"one", "two"};
  EXPECT_EQ(load(file).layers.size(), 1U + 3 * 7);
  EXPECT_THAT(message_after([](json& steps) { steps["layers"][0]["op"] = "$past"; }),
              HasSubstr("/steps/layers/0/op: \"$past\""));
  EXPECT_THAT(message_after([](json& steps) { steps["layers"][1]["inputs"][0] = "$past"; }),
              HasSubstr("/steps/layers/1/inputs/0: \"$past\""));
}

TEST_F(WorkloadSteps, AT_3_UI_2_as_many_layers_as_fit_are_accepted) {
  EXPECT_THAT(message_after([](json& steps) {
                while (steps["layers"].size() < 32) {
                  json more = steps["layers"][3];
                  more["name"] = "more" + std::to_string(steps["layers"].size());
                  steps["layers"].push_back(more);
                }
                steps["count"] = 32769;
              }),
              HasSubstr("/steps/count: 32769 is not allowed, allowed is 1 to 32768, as 32 layers a step are "
                        "at most 1048576 in all"));
}

TEST_F(WorkloadSteps, AT_3_UI_6_the_schema_accepts_numbers_of_steps) {
  EXPECT_THAT(testing::schema_violations(json::parse(workload_schema().dump()), growing()),
              ::testing::IsEmpty());
}

TEST_F(WorkloadSteps, AT_3_UI_13_an_error_of_all_steps_is_told_once) {
  const std::string told = message_after([](json& steps) { steps["layers"][0]["axes"] = 2; });
  EXPECT_THAT(told, HasSubstr("/steps/layers/0/axes: key \"axes\" of op concat is not allowed"));
  EXPECT_EQ(told.find('\n'), std::string::npos) << told;
  const std::string unknown = message_after([](json& steps) { steps["layers"][1]["inputs"][0] = "row"; });
  EXPECT_EQ(unknown.find('\n'), std::string::npos) << unknown;
  const std::string later = message_after([](json& steps) { steps["layers"][1]["inputs"][0] = "added.2"; });
  EXPECT_THAT(later, HasSubstr("/steps/layers/1/inputs/0: \"added.2\" is not allowed"));
}

}  // namespace
}  // namespace tilebeat
