// `tilebeat plan --export`: the program file runs as it is, in the same cycles and to the same bytes as the
// workload (SPEC CY-8, HI-2).
#include "tilebeat_command.h"

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

struct Exported {
  const char* name;
  const char* config;
  const char* layer;
  friend std::ostream& operator<<(std::ostream& to, const Exported& exported) { return to << exported.name; }
};

class ExportedProgram : public ::testing::TestWithParam<Exported> {};

nlohmann::json modules_of(const nlohmann::json& report) {
  nlohmann::json cycles;
  for (const nlohmann::json& module : report.at("modules"))
    cycles[module.at("name").get<std::string>()] = {module.at("cycles"), module.at("busy")};
  return cycles;
}

TEST_P(ExportedProgram, CY_8_HI_2_runs_in_the_same_cycles_to_the_same_bytes) {
  const Exported& of = GetParam();
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(of.config, of.layer, {"--check", "off", "--out", "planned"}).status, 0);
  const std::string config = source_path(of.config);
  const CommandResult plan =
      folder.run({"plan", "--config", config, "--layer", source_path(of.layer), "--export", "made.program"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  const CommandResult run =
      folder.run({"run", "--config", config, "--program", "made.program", "--out", "again"});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto planned = nlohmann::json::parse(read_bytes(folder.path("planned/report.json"))),
             again = nlohmann::json::parse(read_bytes(folder.path("again/report.json")));
  EXPECT_EQ(again.at("total").at("cycles"), planned.at("total").at("cycles"));
  EXPECT_EQ(modules_of(again), modules_of(planned));
  std::size_t outputs = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path("planned/outputs"))) {
    if (file.path().extension() != ".npy") continue;
    ++outputs;
    EXPECT_EQ(read_bytes(folder.path("again/outputs/" + file.path().filename().string())),
              read_bytes(file.path().string()))
        << file.path();
  }
  EXPECT_GT(outputs, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Hardware, ExportedProgram,
    ::testing::Values(Exported{"switch", "configs/switch16.json", "models/worked_dilated.json"},
                      Exported{"scenes", "configs/switch16.json", "models/worked_scenes.json"},
                      Exported{"wfold", "configs/wfold16x4.json", "models/worked_dilated.json"},
                      Exported{"rolling", "configs/rolling16.json", "models/worked_dilated.json"},
                      Exported{"offset", "configs/offset16.json", "models/worked_dilated.json"},
                      Exported{"chip", "configs/cluster4.json", "models/small_chain.json"}),
    [](const auto& exported) { return std::string(exported.param.name); });

TEST(ExportCommand, CY_8_UI_5_no_input_is_overwritten) {
  const CommandFolder folder;
  const std::string layer = folder.write("layer.json", read_bytes(source_path("models/worked_dilated.json")));
  const std::string before = read_bytes(layer);
  const CommandResult plan = folder.run(
      {"plan", "--config", source_path("configs/switch16.json"), "--layer", layer, "--export", layer});
  EXPECT_EQ(plan.status, 2);
  EXPECT_NE(plan.err.find("--export"), std::string::npos) << plan.err;
  EXPECT_EQ(read_bytes(layer), before);
  const CommandResult twice =
      folder.run({"plan", "--config", source_path("configs/switch16.json"), "--layer",
                  source_path("models/worked_dilated.json"), "--export", "one", "--mapping", "./one"});
  EXPECT_EQ(twice.status, 2);
  EXPECT_FALSE(std::filesystem::exists(folder.path("one")));
}

}  // namespace
}  // namespace tilebeat::testing
