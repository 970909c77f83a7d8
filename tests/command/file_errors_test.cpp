// Errors of hardware files and workloads: all at once, with hints by meaning (SPEC UI-13).
#include "tilebeat_command.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using Json = nlohmann::json;
using Lines = std::vector<std::string>;

const std::string kWorkload = source_path("models/worked_dilated.json");

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The messages of a run that must end with status 2 and write nothing.
Lines refused(const CommandFolder& folder, const std::string& hardware, const std::string& workload) {
  const CommandResult result = folder.run({"run", "--config", hardware, "--layer", workload, "--out", "out"});
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(folder.files().count("out/"), 0U);
  return lines_of(result.err);
}

struct Hint {
  const char* hardware;
  const char* message;
};

TEST(FileErrors, UI_13_unknown_keys_get_hints_by_meaning) {
  const std::vector<Hint> hints{
      {R"({"switch_array": {"cols": 16}})",
       R"(/switch_array/cols: unknown key "cols", it is called "columns")"},
      {R"({"freq": 500})", R"(/freq: unknown key "freq", it is called "clock_mhz")"},
      {R"({"interconnect": {"bandwidth": 8}})",
       R"(/interconnect/bandwidth: unknown key "bandwidth", it is called "bytes_per_clock")"},
      {R"({"chip": {"core": {"nram": {"size": 8192}}}})",
       R"(/chip/core/nram/size: unknown key "size", it is called "size_bytes")"},
      {R"({"array": {"rows": 8}})",
       R"(/array: unknown key "array", the nearest known name is "switch_array")"},
      {R"({"clusters": 4})", R"(/clusters: unknown key "clusters", it belongs at "/chip/clusters")"},
      {R"({"chip": {"channels": 4}})",
       R"(/chip/channels: unknown key "channels", it belongs at "/dram/channels")"},
      {R"({"chip": {"cores": 2}})",
       R"(/chip/cores: unknown key "cores", the nearest known name is "cores_per_cluster")"},
      {R"({"interconect": 2})",
       R"(/interconect: unknown key "interconect", the nearest known name is "interconnect")"},
      {R"({"cores": 4})", R"(/cores: unknown key "cores", what it may mean is at "/chip/cores_per_cluster")"},
      {R"({"height": 4})", R"(/height: unknown key "height", what it may mean is at "/switch_array/rows")"},
      // Without a meaning the spelling decides.
      {R"({"switch_aray": {}})",
       R"(/switch_aray: unknown key "switch_aray", the nearest known name is "switch_array")"}};
  for (const Hint& hint : hints) {
    const CommandFolder folder;
    const std::string file = folder.write("h.json", hint.hardware);
    const Lines lines = refused(folder, file, kWorkload);
    ASSERT_EQ(lines.size(), 1U) << hint.hardware;
    EXPECT_EQ(lines[0].rfind(fmt::format("tilebeat: {}: {}", file, hint.message), 0), 0U) << lines[0];
  }
}

TEST(FileErrors, UI_13_the_errors_of_a_hardware_file_are_told_at_once) {
  const CommandFolder folder;
  const std::string file = folder.write("h.json", R"({
      "clock_mhz": -1, "dataflow": "systolic", "switch_array": {"rows": 0, "cols": 4},
      "dma": {"burst_bytes": "x"}, "technology": {"memories": [{"bytes": 1}, {"bytes": 0, "pj_per_byte": 1}]},
      "clusters": 2})");
  const Lines lines = refused(folder, file, kWorkload);
  const Lines wanted{"/clock_mhz: -1 is not allowed, allowed is a number from 1 to 10000",
                     "/dataflow: \"systolic\" is not allowed, allowed is one of ",
                     "/switch_array/rows: 0 is not allowed, allowed is a whole number from ",
                     "/switch_array/cols: unknown key",
                     "/dma/burst_bytes: \"x\" is not allowed, allowed is a whole number from 1 to 4096",
                     "/technology/memories/0/pj_per_byte: is missing",
                     "/technology/memories/1/bytes: 0 is not allowed",
                     "/clusters: unknown key"};
  ASSERT_EQ(lines.size(), wanted.size()) << ::testing::PrintToString(lines);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(lines[i].rfind(fmt::format("tilebeat: {}: {}", file, wanted[i]), 0), 0U) << lines[i];
}

TEST(FileErrors, UI_13_rules_between_fields_are_told_at_once) {
  const CommandFolder folder;
  const std::string file = folder.write("h.json", R"({
      "interconnect": {"bytes_per_clock": 24}, "dram": {"banks": 3},
      "chip": {"memory_controllers": 3, "core": {"nram": {"size_bytes": 1000}}, "copy": {"buffer_bytes": 64}}})");
  const Lines lines = refused(folder, file, kWorkload);
  for (const char* place :
       {"/interconnect/bytes_per_clock: 24", "/dram/banks: 3", "/chip/memory_controllers: 3",
        "/chip/core/nram/size_bytes: 1000", "/chip/copy/buffer_bytes: 64"}) {
    const auto at = fmt::format("tilebeat: {}: {} is not allowed", file, place);
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [&](const auto& l) { return l.rfind(at, 0) == 0; }),
              1)
        << place << ::testing::PrintToString(lines);
  }
}

/// A workload of so many layers, each with a key that none has.
std::string wrong_layers(int count) {
  Json layers = Json::array();
  for (int i = 0; i < count; ++i)
    layers.push_back({{"name", fmt::format("l{}", i)}, {"op", "relu"}, {"inputs", {"x"}}, {"wrong", i}});
  return Json{{"inputs", {{{"name", "x"}, {"shape", {1, 4, 4, 4}}, {"random", {{"seed", 1}}}}}},
              {"layers", layers}}
      .dump();
}

TEST(FileErrors, UI_13_ten_errors_are_shown_and_the_others_are_counted) {
  const CommandFolder folder;
  const std::string hardware = source_path("configs/core1.json");
  for (const int count : {1, 2, 10, 11, 500}) {
    const std::string file = folder.write("w.json", wrong_layers(count));
    const Lines lines = refused(folder, hardware, file);
    ASSERT_EQ(lines.size(), count > 10 ? 11U : static_cast<std::size_t>(count));
    EXPECT_EQ(lines[0].rfind(fmt::format("tilebeat: {}: /layers/0/wrong: ", file), 0), 0U) << lines[0];
    if (count > 10) {
      EXPECT_EQ(lines[10], fmt::format("tilebeat: and {} more", count - 10));
    }
  }
}

TEST(FileErrors, UI_13_what_layers_need_of_each_other_is_told_at_once) {
  const CommandFolder folder;
  const Json input{{"name", "x"}, {"shape", {1, 4, 4, 4}}, {"random", {{"seed", 1}}}};
  const auto pool = [](const char* name, const char* reads, int kernel) {
    return Json{{"name", name}, {"op", "max_pool"}, {"inputs", {reads}}, {"kernel", {kernel, kernel}}};
  };
  const auto file = [&](const Json& layers) {
    return folder.write("w.json", Json{{"inputs", {input}}, {"layers", layers}}.dump());
  };
  const std::string hardware = source_path("configs/core1.json");
  const Lines names =
      refused(folder, hardware, file({pool("a", "y", 2), pool("b", "x", 2), pool("c", "z", 2)}));
  ASSERT_EQ(names.size(), 2U) << ::testing::PrintToString(names);
  EXPECT_NE(names[0].find("/layers/0/inputs/0: \"y\" is not allowed"), std::string::npos) << names[0];
  EXPECT_NE(names[1].find("/layers/2/inputs/0: \"z\" is not allowed"), std::string::npos) << names[1];
  // Layer d reads what cannot be: it has no error of its own.
  const Lines shapes =
      refused(folder, hardware, file({pool("a", "x", 9), pool("b", "x", 8), pool("d", "a", 9)}));
  ASSERT_EQ(shapes.size(), 2U) << ::testing::PrintToString(shapes);
  EXPECT_NE(shapes[0].find("w.json: /layers/0"), std::string::npos) << shapes[0];
  EXPECT_NE(shapes[1].find("w.json: /layers/1"), std::string::npos) << shapes[1];
}

}  // namespace
}  // namespace tilebeat::testing
