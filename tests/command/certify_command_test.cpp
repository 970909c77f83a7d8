// `tilebeat certify` (SPEC AP-4): how far the mapping of a layer is from the best of a set of mappings.
#include "planner/layer/mapping_set.h"
#include "sweep_files.h"

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Sizes {
  int height = 4, width = 8, channels = 4, kernels = 32, kernel = 3, stride = 1, groups = 1;
};

json layer_of(const Sizes& s, const std::string& name, const std::string& input) {
  const int pad = s.kernel / 2;
  return {{"name", name},
          {"op", "conv2d"},
          {"inputs", {input}},
          {"out_channels", s.kernels},
          {"kernel", {s.kernel, s.kernel}},
          {"stride", {s.stride, s.stride}},
          {"dilation", {1, 1}},
          {"pads", {pad, pad, pad, pad}},
          {"groups", s.groups},
          {"weights", {{"random", {{"seed", 2}}}, {"zero_point", 0}}},
          {"bias", {{"random", {{"seed", 3}}}}},
          {"activation", "relu"},
          {"requant", {{"scale", 0.001}, {"zero_point", 0}, {"dtype", "int8"}}}};
}

/// A workload of layers of the same sizes, "conv" and "again", both of the input.
std::string write_workload(const CommandFolder& folder, const Sizes& s, bool twice = false,
                           const std::string& file = "work.json") {
  json work{{"name", "work"},
            {"inputs",
             {{{"name", "x"},
               {"shape", {1, s.height, s.width, s.channels}},
               {"dtype", "int8"},
               {"random", {{"seed", 1}}},
               {"zero_point", 0}}}},
            {"layers", {layer_of(s, "conv", "x")}},
            {"outputs", {"conv"}}};
  if (twice) work["layers"].push_back(layer_of(s, "again", "x")), work["outputs"].push_back("again");
  return folder.write(file, work.dump());
}

std::string write_mapping(const CommandFolder& folder, json fields) {
  fields["layer"] = "conv";
  return folder.write("mapping.json", json{{"tilebeat_mapping", 1}, {"layers", {fields}}}.dump());
}

/// The cycles of a run of the workload with a mapping; nothing where it does not fit.
std::optional<std::int64_t> run_cycles(const CommandFolder& folder, const std::string& config,
                                       const std::string& work, const std::string& mapping) {
  const CommandResult run = folder.run({"run", "--config", config, "--layer", work, "--mapping", mapping,
                                        "--granularity", "tile", "--check", "off", "--out", "run"});
  EXPECT_TRUE(run.status == 0 || run.status == 2) << run.err;
  if (run.status != 0) return {};
  return folder.report("run").at("total").at("cycles").get<std::int64_t>();
}

/// The certificate of a layer: numbers by heading.
struct Row {
  std::vector<std::vector<std::string>> csv;
  std::string layer = "conv";
  double operator[](const std::string& column) const { return std::stod(cell_of(csv, layer, column)); }
};
Row certified(const CommandFolder& folder, const std::string& config, const std::string& work,
              const std::vector<std::string>& more = {}) {
  std::vector<std::string> command{"certify", "--config", config, "--layer", work, "--out", "c"};
  command.insert(command.end(), more.begin(), more.end());
  const CommandResult made = folder.run(command);
  EXPECT_EQ(made.status, 0) << made.err;
  return {csv_cells(read_bytes(folder.path("c/certificate.csv")))};
}

const std::string kCore = source_path("configs/core1.json");

/// Every value of the fields that a mapping of the layer of Sizes{} on one core has: two rows of grains, two
/// kernel blocks.
std::vector<json> all_mappings() {
  std::vector<json> all;
  const std::vector<std::vector<std::string>> ways{{"direct", "direct", "direct"},
                                                   {"sram", "direct", "direct"},
                                                   {"direct", "sram", "direct"},
                                                   {"direct", "direct", "sram"},
                                                   {"sram", "sram", "sram"}};
  for (const int rows : {2, 4}) {
    for (const auto& [blocks, kernels] : {std::pair(1, 1), {1, 2}, {2, 1}}) {
      for (const auto& [strips, maps] : {std::pair(false, 1), {false, 2}, {true, 1}}) {
        if (rows == 4 && (strips || maps == 2)) continue;
        for (const char* order : {"tile_outer", "kernel_outer"}) {
          for (const std::vector<std::string>& way : ways)
            all.push_back({{"tile_rows", rows},
                           {"tile_columns", 8},
                           {"blocks_per_load", blocks},
                           {"kernel_buffers", kernels},
                           {"map_strips", strips},
                           {"map_buffers", maps},
                           {"order", order},
                           {"maps", way[0]},
                           {"kernels", way[1]},
                           {"results", way[2]}});
        }
      }
    }
  }
  return all;
}

TEST(CertifyCommand, AP_4_the_best_mapping_is_that_of_all_that_can_be_run) {
  const CommandFolder folder;
  const std::string work = write_workload(folder, {});
  std::int64_t best = std::numeric_limits<std::int64_t>::max(), fit = 0;
  for (const json& mapping : all_mappings()) {
    const auto cycles = run_cycles(folder, kCore, work, write_mapping(folder, mapping));
    if (cycles) best = std::min(best, *cycles), ++fit;
  }
  ASSERT_GT(fit, 50);
  const Row row = certified(folder, kCore, work);
  EXPECT_EQ(row["best_cycles"], best);
  EXPECT_EQ(row["least_cycles"], best);
  EXPECT_EQ(row["simulated"] + row["bounded"] + row["unfit"], row["mappings"]);
  EXPECT_EQ(row["open"], 0);
  EXPECT_EQ(run_cycles(folder, kCore, work, folder.path("c/best_mapping.json")), best);
}

TEST(CertifyCommand, AP_4_a_worse_mapping_has_a_gap_of_what_its_run_takes_more) {
  const CommandFolder folder;
  const std::string work = write_workload(folder, {});
  const std::string mapping = write_mapping(folder, {{"tile_rows", 2},
                                                     {"map_strips", false},
                                                     {"map_buffers", 1},
                                                     {"blocks_per_load", 1},
                                                     {"kernel_buffers", 1},
                                                     {"order", "tile_outer"}});
  const Row row = certified(folder, kCore, work, {"--mapping", mapping});
  EXPECT_EQ(row["chosen_cycles"], run_cycles(folder, kCore, work, mapping));
  EXPECT_GT(row["gap_percent"], 1);
  EXPECT_NEAR(row["gap_percent"], 100 * (row["chosen_cycles"] / row["best_cycles"] - 1), 0.001);
  EXPECT_EQ(certified(folder, kCore, work)["best_cycles"], row["best_cycles"]);
}

TEST(CertifyCommand, AP_4_no_simulation_takes_fewer_cycles_than_its_lower_bound) {
  std::mt19937 random(7);
  const std::vector<Sizes> layers{
      {6, 20, 8, 48, 3, 1, 1}, {12, 40, 16, 16, 1, 1, 1}, {9, 17, 32, 32, 3, 2, 32}};
  for (const char* config : {"core1", "cluster4", "wfold_cluster4x4", "rolling_cluster4x4"}) {
    const std::string hardware_file = source_path(fmt::format("configs/{}.json", config));
    const HardwareConfig hardware = load_hardware(hardware_file);
    double bounds = 0, cycles = 0;
    for (const Sizes& sizes : layers) {
      const CommandFolder folder;
      const std::string work = write_workload(folder, sizes);
      const Workload workload = load_workload(work);
      const MappingSet set(workload, hardware, 2'000'000);
      ASSERT_FALSE(set.mappings().empty());
      for (int i = 0; i < 5; ++i) {
        const std::size_t number = random() % set.mappings().size();
        TaskGraph graph;
        const auto cost = set.cost(number, graph, std::numeric_limits<double>::infinity());
        const std::string mapping = folder.write("mapping.json", mapping_text({set.mappings()[number]}));
        const auto run = run_cycles(folder, hardware_file, work, mapping);
        if (!cost || !run) continue;
        EXPECT_LE(cost->least, static_cast<double>(*run)) << config << read_bytes(mapping);
        bounds += cost->least, cycles += static_cast<double>(*run);
      }
    }
    EXPECT_GT(bounds, 0.2 * cycles) << "bounds are of use on " << config;
  }
}

TEST(CertifyCommand, AP_4_equal_layers_are_certified_once_and_any_number_of_jobs_finds_the_same) {
  const CommandFolder folder;
  const std::string work = write_workload(folder, {8, 16, 64, 16, 1, 1, 1}, true);
  const Row row = certified(folder, kCore, work, {"--jobs", "1"});
  EXPECT_EQ(row["layers"], 2);
  EXPECT_GT(row["bounded"], 0);
  EXPECT_EQ(row.csv.size(), 2U);
  const std::string table = read_bytes(folder.path("c/certificate.csv"));
  const CommandResult again = folder.run(
      {"certify", "--config", kCore, "--layer", work, "--out", "c", "--jobs", "4", "--layers", "con*,again"});
  EXPECT_EQ(read_bytes(folder.path("c/certificate.csv")), table);
  EXPECT_THAT(again.out, HasSubstr("conv and 1 more"));
  EXPECT_THAT(again.out, HasSubstr("Of 2 layers the median gap is at most"));
  const json best = json::parse(read_bytes(folder.path("c/best_mapping.json")));
  EXPECT_EQ(best.at("layers").size(), 2U);
}

TEST(CertifyCommand, AP_4_at_the_end_of_the_budget_the_gap_is_at_most_that_to_the_bounds) {
  const CommandFolder folder;
  const std::string work = write_workload(folder, {12, 40, 16, 48, 3, 1, 1});
  const Row row = certified(folder, kCore, work, {"--budget", "0.001"});
  EXPECT_GT(row["open"], 0);
  EXPECT_EQ(row["simulated"], 0);
  EXPECT_EQ(row["gap_percent"], 0);
  EXPECT_LT(row["least_cycles"], row["best_cycles"]);
  EXPECT_NEAR(row["most_gap_percent"], 100 * (row["chosen_cycles"] / row["least_cycles"] - 1), 0.001);
}

TEST(CertifyCommand, AP_4_a_set_that_is_too_large_has_its_size_and_no_gap) {
  const CommandFolder folder;
  const std::string work = write_workload(folder, {12, 40, 16, 48, 3, 1, 1});
  const Row row = certified(folder, source_path("configs/cluster4x4.json"), work);
  EXPECT_GE(row["mappings"], 10'000);
  EXPECT_EQ(cell_of(row.csv, "conv", "gap_percent"), "");
  EXPECT_EQ(cell_of(row.csv, "conv", "simulated"), "");
}

TEST(CertifyCommand, AP_4_a_search_certifies_the_layers_of_the_best_point) {
  const CommandFolder folder;
  json space = small_sweep();
  space["config"] = kCore;
  space["layer"] = write_workload(folder, {});
  space["axes"] = {config_axis("bus", "/chip/core/bus/bytes_per_clock", {32, 64})};
  space["check"] = "off";
  const std::string file = folder.write("space.json", space.dump());
  const CommandResult found = folder.run({"search", file, "--out", "s", "--certify"});
  ASSERT_EQ(found.status, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("Of 1 layers the median gap is at most"));
  const auto csv = csv_cells(read_bytes(folder.path("s/certificate.csv")));
  EXPECT_THAT(found.out, HasSubstr(fmt::format("Least cycles: {}", cell_of(csv, "conv", "chosen_cycles"))));
}

TEST(CertifyCommand, AP_4_wrong_arguments_are_refused) {
  const CommandFolder folder;
  const std::string work = write_workload(folder, {});
  const auto refused = [&](const std::vector<std::string>& more, const std::string& config,
                           const std::string& said) {
    std::vector<std::string> command{"certify", "--config", config, "--layer", work, "--out", "c"};
    command.insert(command.end(), more.begin(), more.end());
    const CommandResult result = folder.run(command);
    EXPECT_EQ(result.status, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(said));
    EXPECT_FALSE(std::filesystem::exists(folder.path("c/certificate.csv")));
  };
  refused({}, source_path("configs/switch16.json"), "switch16.json: /chip");
  refused({"--layers", "pool"}, kCore, "--layers pool");
  refused({"--budget", "0"}, kCore, "--budget");
  refused({"--mapping", write_mapping(folder, {{"tile_rows", 999'999}})}, kCore,
          "mapping.json: /layers/0: layer 'conv' cannot fit");
  const std::string other =
      folder.write("other.json", json{{"tilebeat_mapping", 1}, {"layers", {{{"layer", "none"}}}}}.dump());
  refused({"--mapping", other}, kCore, "no layer 'none' on matrix units");
}

}  // namespace
}  // namespace tilebeat::testing
