// The same run gives the same bytes, whatever the order of processes and of construction (SPEC CY-4, UI-3).
#include "tilebeat_command.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

struct Scene {
  const char* name;
  const char* config;
  const char* workload;
  std::vector<std::string> options;
};
void PrintTo(const Scene& scene, std::ostream* out) {
  *out << scene.name;
}
class SameBytes : public ::testing::TestWithParam<Scene> {
 protected:
  /// Every file that a run with `more` writes.
  static std::map<std::string, std::string> run(const std::vector<std::string>& more) {
    const CommandFolder folder;
    std::vector<std::string> options = GetParam().options;
    options.insert(options.end(), more.begin(), more.end());
    const CommandResult result = folder.run_layer(GetParam().config, GetParam().workload, options);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_TRUE(folder.files().count("tilebeat-out/report.json"));
    return folder.files();
  }
};

TEST_P(SameBytes, CY_4_second_run) {
  EXPECT_TRUE(run({}) == run({}));
}

TEST_P(SameBytes, CY_4_random_delta_delays) {
  const auto plain = run({});
  for (const char* seed : {"1", "2", "3", "77"})
    EXPECT_TRUE(run({"--jitter-seed", seed}) == plain) << "jitter seed " << seed;
}

TEST_P(SameBytes, CY_4_permuted_construction_order) {
  const auto plain = run({});
  for (const char* seed : {"1", "2", "3", "77"}) {
    EXPECT_TRUE(run({"--build-order-seed", seed}) == plain) << "build order seed " << seed;
  }
}

TEST_P(SameBytes, CY_4_both_at_once) {
  EXPECT_TRUE(run({"--jitter-seed", "5", "--build-order-seed", "6"}) == run({}));
}

const std::vector<std::string> kTraced{"--vcd", "w.vcd", "--timeline", "t.json"};
INSTANTIATE_TEST_SUITE_P(
    Scene, SameBytes,
    ::testing::Values(Scene{"traced_dilated", "configs/switch16.json", "models/worked_dilated.json", kTraced},
                      Scene{"traced_chain", "configs/switch16_table1.json", "models/small_chain.json",
                            kTraced},
                      Scene{"traced_scenes", "configs/switch8.json", "models/worked_scenes.json", kTraced},
                      Scene{"clock_chain",
                            "configs/switch16_lpddr4.json",
                            "models/small_chain.json",
                            {"--granularity", "clock"}},
                      Scene{"tile_stride_2",
                            "configs/switch16.json",
                            "models/resnet50_3x3_s2.json",
                            {"--timeline", "t.json"}}),
    [](const auto& test) { return test.param.name; });

TEST(Granularity, CY_3_reports_and_outputs_are_the_same_bytes) {
  for (const char* workload : {"models/worked_scenes.json", "models/small_chain.json"}) {
    for (const char* config :
         {"configs/switch16.json", "configs/switch16_table1.json", "configs/switch16_p32.json"}) {
      std::map<std::string, std::map<std::string, std::string>> files;
      for (const std::string granularity : {"clock", "tile"}) {
        const CommandFolder folder;
        ASSERT_EQ(
            folder.run_layer(config, workload, {"--granularity", granularity, "--timeline", "t.json"}).status,
            0);
        files[granularity] = folder.files();
      }
      EXPECT_TRUE(files["clock"] == files["tile"]) << workload << " on " << config;
    }
  }
}

// One core ends its part of t2 in the cycle in which the other begins its own part of t4.
TEST(SameBytesOfCores, CY_4_a_core_that_begins_a_layer_in_the_cycle_in_which_another_layer_ends) {
  const CommandFolder folder;
  folder.write("hardware.json", R"({"dataflow": "wfold",
    "wfold": {"slaves": 2, "masters": 2, "first_buffer_lines": 6, "write_queue": 3, "tolerance_bytes": 31},
    "interconnect": {"bytes_per_clock": 32}, "host": {"instruction_buffer_bytes": 512},
    "dram": {"mapping": "row_bank_column_channel", "channels": 2, "bank_groups": 8, "data_bits": 32,
             "burst_length": 16, "clock_ps": 416, "tCCD_L_ps": 4992, "tCCD_L_WR_ps": 9984},
    "chip": {"core": {"wram": {"banks": 2},
                      "bus": {"bytes_per_clock": 32, "request_cycles": 3, "max_outstanding": 6},
                      "copy": {"burst_bytes": 32, "max_outstanding": 7}},
             "cluster_bus": {"bytes_per_clock": 16}}})");
  folder.write("products.json", R"({"name": "products",
    "inputs": [{"name": "a", "shape": [1, 2, 1, 1, 106], "dtype": "uint8", "random": {"seed": 1}},
               {"name": "b", "shape": [1, 2, 1, 1, 9], "dtype": "uint8", "random": {"seed": 1}},
               {"name": "c", "shape": [1, 1, 2, 1], "dtype": "uint8", "random": {"seed": 1}}],
    "layers": [{"name": "t2", "op": "matmul", "inputs": ["a", "b"], "transpose_a": true,
                "requant": {"dtype": "uint8", "scale": 1e-6, "zero_point": 0}},
               {"name": "t4", "op": "conv2d", "inputs": ["c"], "kernel": [1, 1], "out_channels": 106,
                "weights": {"random": {"seed": 1}}, "requant": {"dtype": "uint8", "scale": 0.001, "zero_point": 0}},
               {"name": "t5", "op": "reshape", "inputs": ["t4"], "shape": [1, 2, 1, 1, 106]},
               {"name": "t6", "op": "matmul", "inputs": ["t2", "t5"], "transpose_a": true, "transpose_b": true,
                "requant": {"dtype": "uint8", "scale": 1e-6, "zero_point": 0}}],
    "outputs": ["t2", "t6"]})");
  folder.write("mapping.json", R"({"tilebeat_mapping": 1, "groups": [], "layers": [
    {"layer": "t2", "column_parts": 1, "image_parts": 1}, {"layer": "t4", "kernel_parts": 2}]})");
  const auto report = [&](const std::string& granularity, int seed) {
    const CommandResult result = folder.run({"run", "--config", "hardware.json", "--layer", "products.json",
                                             "--mapping", "mapping.json", "--granularity", granularity,
                                             "--jitter-seed", std::to_string(seed), "--check", "off"});
    EXPECT_EQ(result.status, 0) << result.err;
    return folder.results();
  };
  const std::string plain = report("clock", 0);
  for (int seed = 1; seed <= 4; ++seed) {
    for (const char* granularity : {"tile", "clock"})
      EXPECT_EQ(report(granularity, seed), plain) << granularity << ", jitter seed " << seed;
  }
}

/// What `plan` prints, with threads that are delayed as `seed` says; 0: not at all.
std::string planned(const CommandFolder& folder, const std::string& hardware, const std::string& workload,
                    int seed) {
  CommandSetting setting;
  if (seed != 0)
    setting.environment = {{"LD_PRELOAD", TILEBEAT_DELAYED_THREADS}, {"DELAY_SEED", std::to_string(seed)}};
  const CommandResult result =
      folder.run({"plan", "--config", hardware, "--layer", workload, "--disassemble"}, setting);
  EXPECT_EQ(result.status, 0) << result.err;
  return result.out;
}

TEST(DelayedThreads, CY_4_plans_do_not_depend_on_which_thread_comes_first) {
  const CommandFolder folder;
  const std::string hardware = folder.write("hardware.json", R"({"dataflow": "rolling",
    "chip": {"clusters": 2, "cores_per_cluster": 4, "sync_cycles": 20}, "dram": {"preset": "lpddr5_6400"}})");
  const std::string workload = folder.write("workload.json", R"({"name": "three",
    "inputs": [{"name": "x", "shape": [1, 1, 1, 4], "dtype": "int8", "random": {"seed": 1}}],
    "layers": [{"name": "r", "op": "relu", "inputs": ["x"]},
               {"name": "y", "op": "fully_connected", "inputs": ["r"], "out_features": 32,
                "weights": {"random": {"seed": 2}}}],
    "outputs": ["y"]})");
  const std::string plain = planned(folder, hardware, workload, 0);
  for (int seed = 1; seed <= 200; ++seed)
    ASSERT_EQ(planned(folder, hardware, workload, seed), plain) << "delays of seed " << seed;
}

// A machine that has no further thread gives the same answers, later.
TEST(DelayedThreads, CY_4_no_thread_can_be_made) {
  const CommandFolder folder;
  CommandSetting alone;
  alone.environment = {{"LD_PRELOAD", TILEBEAT_DELAYED_THREADS}, {"NO_THREADS", "1"}};
  const std::vector<std::string> arguments{"run",
                                           "--config",
                                           source_path("configs/wfold_cluster4x4.json"),
                                           "--layer",
                                           source_path("models/alexnet_small.json"),
                                           "--check",
                                           "on"};
  const auto outputs = [&](const CommandSetting& setting) {
    const CommandResult result = folder.run(arguments, setting);
    EXPECT_EQ(result.status, 0) << result.err;
    return folder.files();
  };
  EXPECT_TRUE(outputs(alone) == outputs({}));
}

TEST(DelayedThreads, CY_4_plans_of_many_candidates) {
  const CommandFolder folder;
  const std::string hardware = source_path("configs/wfold_cluster4x4.json");
  const std::string workload = source_path("models/alexnet_small.json");
  const std::string plain = planned(folder, hardware, workload, 0);
  for (int seed = 1; seed <= 20; ++seed)
    ASSERT_EQ(planned(folder, hardware, workload, seed), plain) << "delays of seed " << seed;
}

}  // namespace
}  // namespace tilebeat::testing
