// Runs of workloads with steps: reports by scene, and steps that are extrapolated (SPEC AT-3).
#include "report_schema.h"
#include "tilebeat_command.h"

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

/// A row that every step puts behind what there is, its products with all rows and with weights.
nlohmann::json growing(int steps) {
  nlohmann::json file = nlohmann::json::parse(R"({
    "inputs": [{"name": "x", "shape": [1, 1, 40, 64], "random": {"seed": 1}},
               {"name": "row", "shape": [1, 1, 1, 64], "random": {"seed": 2}}],
    "layers": [{"name": "first", "op": "relu", "inputs": ["x"]}],
    "steps": {
      "numbers": {"past": {"from": 40, "by": 1}},
      "carried": {"rows": {"from": "first", "next": "longer"}, "last": {"from": "row", "next": "added"}},
      "layers": [
        {"name": "longer", "op": "concat", "inputs": ["rows", "last"], "axis": 2},
        {"name": "scores", "op": "matmul", "inputs": ["last", "longer"], "transpose_b": true,
         "requant": {"scale": 0.002}},
        {"name": "product", "op": "matmul", "inputs": ["last"], "out_features": 1024,
         "weights": {"random": {"seed": 3}}, "requant": {"scale": 0.002}},
        {"name": "best", "op": "slice", "inputs": ["scores"], "starts": [0, 0, 0, "$past"], "ends": [1, 1, 1, "$past + 1"]},
        {"name": "end", "op": "slice", "inputs": ["product"], "starts": [0, 0, 0, 64], "ends": [1, 1, 1, 128]},
        {"name": "added", "op": "add", "inputs": ["end", "last"], "requant": {"scale": 0.5}}],
      "outputs": ["added"]}})");
  file["steps"]["count"] = steps;
  return file;
}

class StepsCommand : public ::testing::Test {
 protected:
  CommandResult run(const nlohmann::json& workload, const std::vector<std::string>& more,
                    const std::string& out) {
    folder_.write("w.json", workload.dump());
    std::vector<std::string> arguments{
        "run", "--config", source_path("configs/core1.json"), "--layer", "w.json", "--out", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return folder_.run(arguments);
  }
  CommandFolder folder_;
};

TEST_F(StepsCommand, AT_3_steps_that_are_not_simulated_lie_on_the_line_of_those_that_are) {
  constexpr int kSteps = 20, kSimulated = 10;
  ASSERT_EQ(run(growing(kSteps), {}, "all").status, 0);
  const CommandResult part = run(growing(kSteps), {"--extrapolate", std::to_string(kSimulated)}, "part");
  ASSERT_EQ(part.status, 0) << part.err;
  const nlohmann::json all = folder_.report("all"), some = folder_.report("part"),
                       &made = some.at("extrapolated");
  ASSERT_EQ(all.at("scenes").size(), 1U + kSteps);
  ASSERT_EQ(some.at("scenes").size(), 1U + kSimulated);
  EXPECT_FALSE(all.contains("extrapolated"));
  EXPECT_EQ(folder_.tensors("part").size(), static_cast<std::size_t>(kSimulated));
  EXPECT_EQ(made.at("simulated_steps"), kSimulated);
  EXPECT_EQ(made.at("steps"), kSteps);
  // By hand: the slope of ten points is (9 y10 + 7 y9 + ... - 9 y1) / 165, their line passes the mean at 5.5.
  const auto by_hand = [&](const char* key, double measured) {
    const auto y = [&](int step) {
      return some.at("scenes")[static_cast<std::size_t>(step)].at(key).get<double>();
    };
    double slope = 0, mean = 0;
    for (int step = 1; step <= kSimulated; ++step)
      slope += (2 * step - 11) * y(step) / 165, mean += y(step) / kSimulated;
    double sum = measured;
    for (int step = kSimulated + 1; step <= kSteps; ++step) sum += mean + (step - 5.5) * slope;
    return sum;
  };
  const auto extrapolated = [&](const char* key) {
    return made.at(std::string("extrapolated_") + key).get<double>();
  };
  const auto total = [](const nlohmann::json& report, const char* key) {
    return report.at("total").at(key).get<double>();
  };
  for (const char* key : {"cycles", "dram_read_bytes", "dram_write_bytes"}) {
    EXPECT_NEAR(extrapolated(key), by_hand(key, total(some, key)), 0.6) << key;
    EXPECT_NEAR(extrapolated(key) / total(all, key), 1, 0.03) << key;
  }
  const auto energy = [](const nlohmann::json& report) {
    return report.at("energy").at("pj").at("total").get<double>();
  };
  EXPECT_NEAR(extrapolated("energy_pj") / by_hand("energy_pj", energy(some)), 1, 1e-9);
  EXPECT_NEAR(extrapolated("energy_pj") / energy(all), 1, 0.03);
  EXPECT_NEAR(extrapolated("last_step_cycles") / all.at("scenes")[kSteps].at("cycles").get<double>(), 1,
              0.05);
}

TEST_F(StepsCommand, AT_3_UI_4_every_extrapolated_number_says_so) {
  const CommandResult part = run(growing(6), {"--extrapolate", "3"}, "part");
  EXPECT_THAT(
      part.out,
      HasSubstr(
          "NOT SIMULATED: 3 of 6 steps. Extrapolated by the line that fits the first 3 best, all take "));
  const nlohmann::json report = folder_.report("part");
  for (const auto& [key, value] : report.at("extrapolated").items()) {
    if (key != "steps" && key != "simulated_steps" && key != "largest_deviation") {
      EXPECT_EQ(key.rfind("extrapolated_", 0), 0U) << key;
    }
  }
  ASSERT_EQ(folder_.run({"report", "part/report.json", "--html", "part.html"}).status, 0);
  EXPECT_THAT(read_bytes(folder_.path("part.html")),
              HasSubstr("<b>Not simulated:</b> this run computed the first "));
  EXPECT_THAT(read_bytes(folder_.path("part.html")), HasSubstr("<h3>Scene by scene</h3>"));
  EXPECT_THAT(part.out, HasSubstr("Scene by scene, one program after the other:"));
  const CommandResult again = folder_.run({"rerun", "part/report.json"});
  EXPECT_THAT(again.out, HasSubstr("The report is the same")) << again.err;
}

// What a file expects of the steps that are left out, and of the whole run, is not looked at.
TEST_F(StepsCommand, AT_3_outputs_and_expected_results_of_later_steps_are_left_out) {
  nlohmann::json file = growing(5);
  file["outputs"] = {"product.2", "product.4"};
  file["expected"] = {{"end.4", {{"cycles", 1}}}};
  file["expected_total"] = {{"cycles", 1}};
  const CommandResult part = run(file, {"--extrapolate", "3"}, "part");
  EXPECT_EQ(part.status, 0) << part.out << part.err;
  EXPECT_EQ(folder_.report("part").at("outputs"),
            (nlohmann::json{"product.2", "added.1", "added.2", "added.3"}));
  for (const char* name : {"end.6", "end.004"}) {
    file["expected"] = {{name, {{"cycles", 1}}}};
    EXPECT_THAT(run(file, {"--extrapolate", "3"}, "part").err,
                HasSubstr(fmt::format("/expected/{0}: \"{0}\" is not allowed", name)));
  }
  file["expected"] = {{"end.1", {{"cycles", 1}}}};
  EXPECT_EQ(run(file, {"--extrapolate", "3"}, "part").status, 1);
  EXPECT_TRUE(folder_.report("part").contains("extrapolated")) << "a run that fails says what it is, too";
}

// Only the fifth step reads beyond the map.
TEST_F(StepsCommand, AT_3_UI_2_steps_that_are_not_simulated_are_checked) {
  nlohmann::json file = growing(6);
  file["steps"]["numbers"]["place"] = {{"from", 1020}, {"by", 1}};
  file["steps"]["layers"][4]["starts"][3] = "$place - 63",
  file["steps"]["layers"][4]["ends"][3] = "$place + 1";
  const CommandResult refused = run(file, {"--extrapolate", "3"}, "out");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("/steps/layers/4/ends/3: 1025 is not allowed"));
  EXPECT_THAT(refused.err, HasSubstr(", in step 5"));
}

// Steps that shrink would take less than nothing on a line.
TEST_F(StepsCommand, AT_3_no_step_takes_less_than_nothing) {
  nlohmann::json file = growing(60);
  file["inputs"].push_back({{"name", "z"}, {"shape", {1, 1, 64, 1024}}, {"random", {{"seed", 5}}}});
  file["steps"]["numbers"]["rows"] = {{"from", 64}, {"by", -1}};
  file["steps"]["layers"].push_back({{"name", "less"},
                                     {"op", "slice"},
                                     {"inputs", {"z"}},
                                     {"starts", {0, 0, 0, 0}},
                                     {"ends", {1, 1, "$rows", 1024}}});
  ASSERT_EQ(run(file, {"--extrapolate", "3"}, "part").status, 0);
  const nlohmann::json report = folder_.report("part");
  EXPECT_THAT(schema_violations(nlohmann::json::parse(folder_.run({"schema", "report"}).out), report),
              ::testing::IsEmpty());
  EXPECT_GE(report.at("extrapolated").at("extrapolated_dram_read_bytes"),
            report.at("total").at("dram_read_bytes"));
}

// The mapping file of the whole workload names layers of all steps.
TEST_F(StepsCommand, AT_3_MA_1_a_mapping_of_all_steps_goes_with_some) {
  folder_.write("w.json", growing(5).dump());
  ASSERT_EQ(folder_
                .run({"plan", "--config", source_path("configs/core1.json"), "--layer", "w.json", "--mapping",
                      "m.json"})
                .status,
            0);
  const CommandResult part = run(growing(5), {"--extrapolate", "3", "--mapping", "m.json"}, "part");
  EXPECT_EQ(part.status, 0) << part.err;
  EXPECT_EQ(folder_.report("part").at("scenes").size(), 4U);
}

TEST_F(StepsCommand, AT_3_UI_2_there_must_be_more_steps_than_are_simulated) {
  for (const int steps : {4, 5}) {
    const CommandResult refused = run(growing(4), {"--extrapolate", std::to_string(steps)}, "out");
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err,
                HasSubstr(fmt::format(
                    "--extrapolate {} is not allowed: w.json has 4 steps, fewer are expected", steps)));
  }
  for (const char* steps : {"2", "0x3", "03", "+3", " 3", "3.0", "many"}) {
    const CommandResult refused = run(growing(8), {"--extrapolate", steps}, "out");
    EXPECT_EQ(refused.status, 2) << steps;
    EXPECT_THAT(refused.err, HasSubstr("is not allowed, allowed is 3 to 65535")) << steps;
  }
  EXPECT_EQ(run(growing(4), {"--extrapolate", "3", "--plan-cache", "kept"}, "out").status, 2);
}

// A layer on the host divides a step into two programs, which are one step for the line.
TEST_F(StepsCommand, AT_3_RN_7_programs_before_and_behind_a_layer_of_the_host_are_one_step) {
  const auto layers = nlohmann::json::parse(R"([
    {"name": "before", "op": "relu", "inputs": ["last"]},
    {"name": "real", "op": "host_dequantize", "inputs": ["before"], "scale": 0.5},
    {"name": "again", "op": "host_quantize", "inputs": ["real"], "scale": 0.5},
    {"name": "added", "op": "add", "inputs": ["again", "last"], "requant": {"scale": 0.5}}])");
  nlohmann::json file = growing(6);
  file["steps"]["layers"] = layers;
  file["steps"].erase("numbers"), file["steps"]["carried"].erase("rows");
  const CommandResult part = run(file, {"--extrapolate", "3"}, "part");
  ASSERT_EQ(part.status, 0) << part.err;
  const nlohmann::json report = folder_.report("part"), &scenes = report.at("scenes");
  ASSERT_EQ(scenes.size(), 1U + 2 * 3);
  EXPECT_EQ(scenes[2].at("name"), "step1.2");
  std::int64_t steps = 0;
  for (std::size_t i = 1; i < scenes.size(); ++i) steps += scenes[i].at("cycles").get<std::int64_t>();
  const auto all = report.at("extrapolated").at("extrapolated_cycles").get<double>();
  EXPECT_NEAR((all - report.at("total").at("cycles").get<double>()) / static_cast<double>(steps), 1, 0.2)
      << "three steps more";
}

}  // namespace
}  // namespace tilebeat::testing
