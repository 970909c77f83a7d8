// Reports say where they come from, and `tilebeat rerun` repeats their runs (SPEC UI-11).
#include "tilebeat_command.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kRerunLayer =
    R"({"name": "n", "inputs": [{"name": "x", "shape": [1, 6, 6, 8], "dtype": "int8", "random": {"seed": 1}}],
        "layers": [{"name": "y", "op": "conv2d", "inputs": ["x"], "out_channels": 16, "kernel": [3, 3],
          "stride": [1, 1], "pads": [1, 1, 1, 1], "weights": {"random": {"seed": 2}},
          "requant": {"scale": 0.002}}], "outputs": ["y"]})";

/// Runs with `options` behind --config, and repeats the run; both reports.
std::pair<std::string, std::string> run_twice(const CommandFolder& folder,
                                              const std::vector<std::string>& options, int status = 0) {
  std::vector<std::string> run{"run", "--config", folder.write("chip.json", R"({"chip": {"clusters": 1}})")};
  run.insert(run.end(), options.begin(), options.end());
  const CommandResult first = folder.run(run);
  EXPECT_EQ(first.status, status) << first.err;
  const std::string report = folder.path("tilebeat-out/report.json");
  const std::string before = read_bytes(report);
  folder.write("chip.json", "{}");  // the report has all of the hardware
  const CommandResult again = folder.run({"rerun", report});
  EXPECT_EQ(again.status, status) << again.err;
  EXPECT_THAT(again.out, HasSubstr("The report is the same as " + report));
  return {before, read_bytes(folder.path("tilebeat-rerun/report.json"))};
}

TEST(RerunCommand, UI_11_a_run_of_a_layer_is_repeated) {
  const CommandFolder folder;
  const auto [before, after] = run_twice(folder, {"--layer", folder.write("layer.json", kRerunLayer)});
  EXPECT_EQ(before, after);
}
TEST(RerunCommand, UI_11_a_run_with_an_input_of_its_own_and_a_mapping_is_repeated) {
  const CommandFolder folder;
  const std::string layer = folder.write("layer.json", kRerunLayer);
  const std::string config = folder.write("chip.json", R"({"chip": {"clusters": 1}})");
  const std::string mapping = folder.path("mapping.json"), x = folder.path("tilebeat-out/outputs/x.npy");
  ASSERT_EQ(folder.run({"plan", "--config", config, "--layer", layer, "--mapping", mapping}).status, 0);
  std::string header = "{'descr': '|i1', 'fortran_order': False, 'shape': (1, 6, 6, 8), }";
  header += std::string(128 - 10 - 1 - header.size(), ' ') + "\n";
  std::string npy("\x93NUMPY\x01\x00\x76\x00", 10);
  const std::string given = folder.write("given.npy", npy + header + std::string(288, '\x05'));
  const auto [before, after] =
      run_twice(folder, {"--layer", layer, "--mapping", mapping, "--input", "x=" + given});
  EXPECT_EQ(before, after);
  EXPECT_THAT(before, HasSubstr("\"mapping\": \"" + mapping));
}
TEST(RerunCommand, UI_11_UI_5_a_failed_run_is_repeated_and_fails) {
  const CommandFolder folder;
  const auto [before, after] = run_twice(
      folder, {"--layer", folder.write("layer.json", kRerunLayer), "--fault", "cluster0.core0.nram:0:0:0x80"},
      1);
  EXPECT_EQ(before, after);
}
TEST(RerunCommand, UI_11_programs_by_hand_are_repeated) {
  const CommandFolder folder;
  const auto [before, after] =
      run_twice(folder, {"--program", source_path("models/programs/max_pool.program")});
  EXPECT_EQ(before, after);
}

TEST(RerunCommand, UI_11_files_have_their_SHA_256) {
  const CommandFolder folder;
  const std::string layer = folder.write("layer.json", kRerunLayer);
  const std::string config = folder.write("chip.json", "{}");
  ASSERT_EQ(folder.run({"run", "--config", config, "--layer", layer}).status, 0);
  const nlohmann::json inputs = folder.report().at("provenance").at("inputs");
  ASSERT_EQ(inputs.size(), 2U);
  EXPECT_EQ(inputs[0].at("file"), config);
  EXPECT_EQ(inputs[0].at("sha256"), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")
      << "of {}";
}

TEST(RerunCommand, UI_2_UI_11_another_file_than_the_report_s_is_refused) {
  const CommandFolder folder;
  const std::string layer = folder.write("layer.json", kRerunLayer);
  const std::string config = folder.write("chip.json", "{}");
  ASSERT_EQ(folder.run({"run", "--config", config, "--layer", layer}).status, 0);
  const std::string report = folder.path("tilebeat-out/report.json");
  folder.write("layer.json", std::string(kRerunLayer) + " ");
  const auto refused = [&](const std::string& message) {
    const CommandResult again = folder.run({"rerun", report});
    EXPECT_EQ(again.status, 2);
    EXPECT_THAT(again.err, HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists(folder.path("tilebeat-rerun")));
  };
  refused("is not the file of " + report);
  std::filesystem::remove(layer);
  refused("is not there");
  nlohmann::ordered_json without = nlohmann::ordered_json::parse(read_bytes(report));
  without.erase("provenance");
  const CommandResult old = folder.run({"rerun", folder.write("old.json", without.dump())});
  EXPECT_EQ(old.status, 2);
  EXPECT_THAT(old.err, HasSubstr("has no /provenance"));
  nlohmann::ordered_json none = nlohmann::ordered_json::parse(read_bytes(report));
  none["provenance"].erase("digest");
  none["provenance"]["inputs"] = nlohmann::ordered_json::array();
  const CommandResult empty = folder.run({"rerun", folder.write("none.json", none.dump())});
  EXPECT_EQ(empty.status, 2);
  EXPECT_THAT(empty.err, HasSubstr("/provenance/inputs: has no \"" + config + "\", which the run has read"));
  EXPECT_EQ(folder.run({"rerun", report, "--out", folder.path("tilebeat-out")}).status, 2);
}

TEST(RerunCommand, UI_11_a_report_of_an_earlier_version_that_has_less_is_the_same) {
  const CommandFolder folder;
  const std::string layer = folder.write("layer.json", kRerunLayer);
  const std::string config = folder.write("chip.json", R"({"chip": {"clusters": 1}})");
  ASSERT_EQ(folder.run({"run", "--config", config, "--layer", layer}).status, 0);
  nlohmann::ordered_json report =
      nlohmann::ordered_json::parse(read_bytes(folder.path("tilebeat-out/report.json")));
  report["provenance"].erase("digest"), report["provenance"].erase("outputs");
  EXPECT_EQ(report.erase("graph"), 1U);
  EXPECT_EQ(report.erase("memory_over_time"), 1U);
  const std::string old = folder.write("old.json", report.dump());
  const CommandResult same = folder.run({"rerun", old});
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_THAT(same.out,
              HasSubstr("The report is the same as " + old +
                        ". It has more than that one, of an earlier version: graph, memory_over_time."));
  report["layers"][0]["cycles"] = 1;
  const CommandResult other = folder.run({"rerun", folder.write("old.json", report.dump())});
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.out, HasSubstr("first at /layers/0/cycles"));
}

// Fields that do not change the run, too: a preset of which every field is there, the hash of a file.
TEST(RerunCommand, UI_11_a_report_that_was_changed_is_refused) {
  const CommandFolder folder;
  const std::string layer = folder.write("layer.json", kRerunLayer);
  ASSERT_EQ(folder.run({"run", "--config", folder.write("chip.json", "{}"), "--layer", layer}).status, 0);
  const std::string written = read_bytes(folder.path("tilebeat-out/report.json"));
  EXPECT_EQ(folder.run({"rerun", folder.write("same.json", written)}).status, 0);
  const auto report = nlohmann::ordered_json::parse(written);
  for (const auto& [pointer, value] :
       {std::pair("/configuration/dram/preset", "hbm2"), std::pair("/provenance/inputs/0/sha256", "0"),
        std::pair("/provenance/digest", "0")}) {
    nlohmann::ordered_json changed = report;
    changed[nlohmann::ordered_json::json_pointer(pointer)] = value;
    for (const int indent : {1, -1}) {
      const CommandResult again = folder.run({"rerun", folder.write("changed.json", changed.dump(indent))});
      EXPECT_EQ(again.status, 2) << pointer;
      EXPECT_THAT(again.err, HasSubstr("changed.json: was changed after the run wrote it")) << pointer;
    }
  }
}

TEST(RerunCommand, UI_11_a_report_that_says_something_else_is_noticed) {
  const CommandFolder folder;
  const std::string layer = folder.write("layer.json", kRerunLayer);
  ASSERT_EQ(folder.run({"run", "--config", folder.write("chip.json", "{}"), "--layer", layer}).status, 0);
  nlohmann::ordered_json report =
      nlohmann::ordered_json::parse(read_bytes(folder.path("tilebeat-out/report.json")));
  report["provenance"].erase("digest");
  report["total"]["cycles"] = report["total"]["cycles"].get<int>() + 1;
  const CommandResult again = folder.run({"rerun", folder.write("changed.json", report.dump())});
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.out, HasSubstr("first at /total/cycles"));
}

}  // namespace
}  // namespace tilebeat::testing
