// Kernels travel as they are (SPEC WF-9): DRAM moves each byte of a kernel once, and nothing that fills.
#include "tilebeat_command.h"

#include <regex>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

// A convolution; the map is small enough to stay on every chip, so that kernels are loaded once.
struct KernelCase {
  const char* name;
  int channels, out_channels, kernel, stride, dilation, groups;
  std::int64_t kernel_bytes;  ///< out_channels x kernel x kernel x channels / groups
};

std::string workload_of(const KernelCase& c) {
  const int pad = (c.kernel - 1) * c.dilation / 2;
  const nlohmann::json random = {{"random", {{"seed", 2}}}};
  const nlohmann::json conv = {{"name", "conv"},
                               {"op", "conv2d"},
                               {"inputs", {"x"}},
                               {"out_channels", c.out_channels},
                               {"kernel", {c.kernel, c.kernel}},
                               {"stride", {c.stride, c.stride}},
                               {"dilation", {c.dilation, c.dilation}},
                               {"groups", c.groups},
                               {"pads", {pad, pad, pad, pad}},
                               {"weights", random},
                               {"bias", random},
                               {"requant", {{"scale", 0.001}}}};
  const nlohmann::json x = {{"name", "x"}, {"shape", {1, 8, 8, c.channels}}, {"random", {{"seed", 1}}}};
  return nlohmann::json{{"inputs", {x}}, {"layers", {conv}}}.dump();
}

std::int64_t number_in(const std::string& text, const char* pattern) {
  std::smatch found;
  EXPECT_TRUE(std::regex_search(text, found, std::regex(pattern))) << pattern << " in " << text;
  return found.empty() ? -1 : std::stoll(found[1]);
}

// The instructions of all programs of a plan.
std::int64_t instructions_in(const std::string& plan) {
  const std::regex pattern(R"((\d+) instructions of 64 bytes)");
  std::int64_t sum = 0;
  for (std::sregex_iterator program(plan.begin(), plan.end(), pattern), end; program != end; ++program)
    sum += std::stoll((*program)[1]);
  return sum;
}

class KernelBytes : public ::testing::TestWithParam<const char*> {};

TEST_P(KernelBytes, WF_9_dram_moves_every_byte_of_a_kernel_once_and_a_record_a_kernel) {
  const std::string config = source_path(std::string("configs/") + GetParam() + ".json");
  for (const KernelCase& c : {KernelCase{"pointwise_stride_2", 256, 512, 1, 2, 1, 1, 131072},
                              KernelCase{"stride_2", 64, 64, 3, 2, 1, 1, 36864},
                              KernelCase{"one_kernel_more", 64, 17, 3, 1, 1, 1, 9792},
                              KernelCase{"one_kernel_more_of_16_channels", 16, 17, 3, 1, 1, 1, 2448},
                              KernelCase{"odd_channels", 17, 33, 3, 1, 1, 1, 5049},
                              KernelCase{"three_channels", 3, 20, 7, 2, 1, 1, 2940},
                              KernelCase{"dilated_stride_2", 24, 40, 3, 2, 3, 1, 8640},
                              KernelCase{"groups_stride_2", 24, 36, 3, 2, 1, 3, 2592},
                              KernelCase{"depthwise", 64, 64, 3, 1, 1, 64, 576}}) {
    const CommandFolder folder;
    const std::string layer = folder.write("layer.json", workload_of(c));
    const std::string plan = folder.run({"plan", "--config", config, "--layer", layer}).out;
    const std::int64_t kernels = number_in(plan, R"(DRAM bytes .* of maps, (\d+) of kernels)");
    EXPECT_EQ(kernels, c.kernel_bytes + 16 * c.out_channels) << c.name << plan;
    const CommandResult run = folder.run({"run", "--config", config, "--layer", layer, "--check", "on"});
    ASSERT_EQ(run.status, 0) << c.name << run.out << run.err;
    // What the plan says is what the simulation moves: maps, kernels, instructions and tables.
    const std::int64_t maps = number_in(plan, R"(DRAM bytes +(\d+) of maps)");
    const std::int64_t read = folder.report().at("total").at("dram_read_bytes").get<std::int64_t>();
    if (std::string(GetParam()) == "offset16") continue;  // its tables come from DRAM, too
    EXPECT_EQ(read, maps + kernels + 64 * instructions_in(plan)) << c.name << plan;
  }
}
INSTANTIATE_TEST_SUITE_P(Configs, KernelBytes,
                         ::testing::Values("switch16", "core1", "wfold16x4", "rolling16", "offset16"),
                         [](const auto& config) { return config.param; });

TEST(KernelPlace, WF_9_offline_moves_folded_lines_load_is_no_slower_and_folding_in_place_takes_cycles) {
  const CommandFolder folder;
  auto hardware = nlohmann::json::parse(read_bytes(source_path("configs/wfold16x4.json")));
  const std::string layer = folder.write("layer.json", workload_of({"stride_2", 64, 64, 3, 2, 1, 1, 36864}));
  const auto cycles_of = [&](const char* place, std::int64_t kernels) {
    hardware["wfold"]["kernel_place"] = place;
    const std::string config = folder.write("hardware.json", hardware.dump());
    const std::string plan = folder.run({"plan", "--config", config, "--layer", layer}).out;
    EXPECT_EQ(number_in(plan, R"(of maps, (\d+) of kernels)"), kernels) << place;
    EXPECT_EQ(folder.run({"run", "--config", config, "--layer", layer, "--check", "on"}).status, 0);
    return folder.report().at("total").at("cycles").get<std::int64_t>();
  };
  // Folded, a row of three taps takes two columns of two phases.
  const std::int64_t offline = cycles_of("offline", 64 * 3 * 2 * 2 * 64 + 16 * 64);
  const std::int64_t load = cycles_of("load", 64 * 3 * 3 * 64 + 16 * 64);
  EXPECT_LE(load, offline);
  // Before the first run, 4 kernels a slave x 3 rows x 2 columns x 2 blocks of 64 bytes are read and written.
  const std::int64_t in_place = cycles_of("in_place", 64 * 3 * 3 * 64 + 16 * 64);
  EXPECT_GT(in_place, load);
  const nlohmann::json modules = folder.report().at("modules");
  for (const auto& module : modules) {
    if (module.at("name") != "cluster0.core0.engine.weights") continue;
    EXPECT_GE(module.at("busy"), 4 * 3 * 2 * 2 * 2);
  }
}

// Resident kernels of a fusion group are used in every step, and folded in the first one alone: what is
// folded already would be folded again.
TEST(KernelPlace, WF_9_FU_4_a_group_in_steps_folds_its_kernels_once) {
  const auto conv = [](const char* name, const char* input, int kernels, int stride, int groups) {
    const nlohmann::json random = {{"random", {{"seed", stride + groups}}}};
    return nlohmann::json{{"name", name},
                          {"op", "conv2d"},
                          {"inputs", {input}},
                          {"out_channels", kernels},
                          {"kernel", {3, 3}},
                          {"stride", {stride, stride}},
                          {"groups", groups},
                          {"pads", {1, 1, 1, 1}},
                          {"weights", random},
                          {"bias", random},
                          {"requant", {{"scale", 0.004}}}};
  };
  const nlohmann::json network = {
      {"inputs", {{{"name", "x"}, {"shape", {1, 64, 64, 16}}, {"random", {{"seed", 1}}}}}},
      {"layers",
       {conv("c1", "x", 32, 1, 1), conv("c2", "c1", 32, 2, 1), conv("c3", "c2", 32, 1, 32),
        conv("c4", "c3", 16, 2, 1)}}};
  auto hardware = nlohmann::json::parse(read_bytes(source_path("configs/wfold_cluster4x4.json")));
  hardware["wfold"]["kernel_place"] = "in_place", hardware["fused"] = true;
  hardware["fusion"] = {{"planner", "optimal"}, {"objective", "dram_bytes"}};
  hardware["chip"]["clusters"] = 1, hardware["chip"]["cores_per_cluster"] = 2;
  hardware["chip"]["sram"]["size_bytes"] = 65536;
  const CommandFolder folder;
  const std::string config = folder.write("hardware.json", hardware.dump());
  const std::string layer = folder.write("network.json", network.dump());
  const nlohmann::json group = {
      {"layers", {"c1", "c2", "c3", "c4"}}, {"step_rows", 4}, {"cores", 2}, {"holding", "nram"}};
  folder.write("mapping.json", nlohmann::json{{"tilebeat_mapping", 1}, {"groups", {group}}}.dump());
  const CommandResult run = folder.run({"run", "--config", config, "--layer", layer, "--mapping",
                                        "mapping.json", "--vectors", "v", "--check", "on"});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  const nlohmann::json made = folder.report().at("layers");
  ASSERT_EQ(made.size(), 1U) << "4 layers in 1 group";
  EXPECT_NE(made.at(0).at("facts").dump().find("4 output rows a step"), std::string::npos) << "4 steps";
  const std::string programs = read_bytes(folder.path("v/programs.txt"));
  std::size_t folds = 0;
  for (auto at = programs.find("wfold.align "); at != std::string::npos;
       at = programs.find("wfold.align ", at + 1))
    ++folds;
  EXPECT_EQ(folds, 3U * 2) << "three layers have something to fold, on two cores";
}

}  // namespace
}  // namespace tilebeat::testing
