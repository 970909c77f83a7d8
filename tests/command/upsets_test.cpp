// Upsets, bits that flip once, and campaigns of random ones (SPEC UI-13, CY-3).
#include "tilebeat_command.h"

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

// A convolution whose sums are its results.
constexpr const char* kSums =
    R"({"name": "n", "inputs": [{"name": "x", "shape": [1, 24, 24, 4], "dtype": "int8", "random": {"seed": 1}}],
        "layers": [{"name": "y", "op": "conv2d", "inputs": ["x"], "out_channels": 64, "kernel": [3, 3],
          "stride": [1, 1], "pads": [1, 1, 1, 1], "weights": {"random": {"seed": 2}}}], "outputs": ["y"]})";

std::string read(const CommandFolder& folder, const std::string& file) {
  return read_bytes(folder.path(file));
}

std::vector<std::vector<std::string>> table_of(const CommandFolder& folder, const std::string& file) {
  std::istringstream lines(read(folder, file));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> row;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    rows.push_back(row);
  }
  return rows;
}

class UpsetsOf : public ::testing::TestWithParam<const char*> {};

TEST_P(UpsetsOf, UI_13_a_pe_makes_what_it_holds_wrong_and_each_can_be_repeated) {
  const CommandFolder folder;
  const std::string config = source_path(std::string("configs/") + GetParam() + ".json");
  const std::string layer = folder.write("layer.json", kSums);
  const CommandResult campaign = folder.run({"run", "--config", config, "--layer", layer, "--fault-campaign",
                                             "60", "--fault-in", "pe", "--fault-table", "faults.csv"});
  ASSERT_EQ(campaign.status, 0) << campaign.err;
  const auto rows = table_of(folder, "faults.csv");
  ASSERT_EQ(rows.size(), 61u);
  const bool rolls = std::string(GetParam()).rfind("rolling", 0) == 0;
  std::set<std::string> outcomes;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i][1], "pe");
    const std::string& outcome = rows[i][2];
    EXPECT_EQ(outcome == "wrong", rows[i][3] != "0") << rows[i][0];
    // An accumulator belongs to one result; an operand rolls through the products of a line.
    if (outcome == "wrong" && !rolls) {
      EXPECT_EQ(rows[i][3], "1") << rows[i][0];
    }
    if (!outcomes.insert(outcome).second) continue;
    const CommandResult again =
        folder.run({"run", "--config", config, "--layer", layer, "--fault", rows[i][0], "--out", "again"});
    EXPECT_EQ(again.status, outcome == "wrong" ? 1 : 0) << rows[i][0] << again.err;
  }
  EXPECT_EQ(outcomes, (std::set<std::string>{"masked", "wrong"}));
}
INSTANTIATE_TEST_SUITE_P(Engines, UpsetsOf,
                         ::testing::Values("switch16", "core1", "wfold16x4", "rolling16", "offset16"),
                         [](const auto& config) { return config.param; });

TEST(Upsets, UI_13_a_bit_of_dram_flips_once_and_is_overwritten_by_a_later_write) {
  const CommandFolder folder;
  const std::string layer = folder.write("layer.json", kSums);
  const auto run = [&](const std::string& fault, const std::string& granularity) {
    std::vector<std::string> arguments{"run",      "--config", source_path("configs/switch16.json"),
                                       "--layer",  layer,      "--granularity",
                                       granularity};
    if (!fault.empty()) arguments.insert(arguments.end(), {"--fault", fault});
    return folder.run(arguments).status;
  };
  ASSERT_EQ(run("", "tile"), 0);
  const auto cycles = folder.report().at("total").at("cycles").get<std::int64_t>();
  const std::string right = read(folder, "tilebeat-out/outputs/y.npy");
  // Byte 0 of DRAM belongs to the input or to an instruction; the results' place is found by trying.
  const CommandResult listing = folder.run(
      {"plan", "--config", source_path("configs/switch16.json"), "--layer", layer, "--disassemble"});
  ASSERT_EQ(listing.status, 0);
  const std::size_t store = listing.out.find("store.output");
  ASSERT_NE(store, std::string::npos);
  const std::size_t dram = listing.out.find("address=", store);
  ASSERT_NE(dram, std::string::npos) << listing.out.substr(store, 200);
  const std::string address =
      listing.out.substr(dram + 8, listing.out.find_first_of(" ,\n", dram) - dram - 8);
  for (const char* granularity : {"tile", "clock"}) {
    EXPECT_EQ(run("dram:" + address + ":0x40@1", granularity), 0) << "the result is written later";
    EXPECT_EQ(read(folder, "tilebeat-out/outputs/y.npy"), right);
    EXPECT_EQ(run(fmt::format("dram:{}:0x40@{}", address, cycles - 1), granularity), 1);
    const std::string wrong = read(folder, "tilebeat-out/outputs/y.npy");
    ASSERT_EQ(wrong.size(), right.size());
    std::vector<std::size_t> at;
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (right[i] != wrong[i]) at.push_back(i);
    }
    ASSERT_EQ(at.size(), 1u);
    EXPECT_EQ(right[at[0]] ^ wrong[at[0]], 0x40);
  }
}

TEST(Upsets, CY_4_a_seed_of_a_campaign_gives_the_same_upsets_in_all_kinds_of_places) {
  const CommandFolder folder;
  const std::string layer = folder.write("layer.json", kSums);
  const auto table = [&](const std::string& seed) {
    const CommandResult result =
        folder.run({"run", "--config", source_path("configs/cluster4.json"), "--layer", layer,
                    "--fault-campaign", "20", "--fault-seed", seed, "--fault-table", "faults.csv"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_NE(result.out.find("wrong elements"), std::string::npos) << result.out;
    return read(folder, "faults.csv");
  };
  const std::string first = table("1");
  EXPECT_EQ(first, table("1"));
  EXPECT_NE(first, table("2"));
  std::set<std::string> places;
  for (const auto& row : table_of(folder, "faults.csv")) places.insert(row.at(1));
  EXPECT_GE(places.size(), 4u);
}

TEST(Upsets, UI_13_a_bus_that_carries_a_byte_in_that_cycle_gives_it_wrong_in_both_granularities) {
  const CommandFolder folder;
  const std::string layer = folder.write("layer.json", kSums);
  const CommandResult campaign =
      folder.run({"run", "--config", source_path("configs/core1.json"), "--layer", layer, "--fault-campaign",
                  "40", "--fault-in", "bus", "--fault-table", "faults.csv"});
  ASSERT_EQ(campaign.status, 0) << campaign.err;
  std::size_t wrong = 0, masked = 0;
  for (const auto& row : table_of(folder, "faults.csv")) {
    masked += row.at(2) == "masked" ? 1 : 0;
    if (row.at(2) != "wrong" || ++wrong > 3) continue;
    std::vector<std::string> outputs;
    for (const char* granularity : {"tile", "clock"}) {
      const CommandResult again = folder.run({"run", "--config", source_path("configs/core1.json"), "--layer",
                                              layer, "--fault", row.at(0), "--granularity", granularity});
      EXPECT_EQ(again.status, 1) << row.at(0);
      outputs.push_back(read(folder, "tilebeat-out/outputs/y.npy"));
    }
    EXPECT_EQ(outputs[0], outputs[1]) << row.at(0);
  }
  EXPECT_GT(wrong, 0u);
  EXPECT_GT(masked, 0u) << "a bus without a beat in that cycle has nothing to make wrong";
}

TEST(Upsets, UI_2_dram_ends_where_the_memory_of_all_controllers_does) {
  const CommandFolder folder;
  const std::string layer = folder.write("layer.json", kSums);
  const auto run = [&](const std::string& fault) {
    return folder.run(
        {"run", "--config", source_path("configs/cluster4.json"), "--layer", layer, "--fault", fault});
  };
  EXPECT_EQ(run("dram:0x1ffffffff:1@5").status, 0) << "nothing lies in the last byte of 8 GiB";
  const CommandResult beyond = run("dram:0x200000000:1@5");
  EXPECT_EQ(beyond.status, 2);
  EXPECT_NE(beyond.err.find("byte 0 to 8589934591"), std::string::npos) << beyond.err;
}

TEST(Upsets, UI_2_places_times_and_options_that_there_are_not_are_refused) {
  const CommandFolder folder;
  const std::string layer = folder.write("layer.json", kSums);
  const auto refused = [&](std::vector<std::string> more, const std::string& because) {
    std::vector<std::string> arguments{"run", "--config", source_path("configs/core1.json"), "--layer",
                                       layer};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = folder.run(arguments);
    EXPECT_EQ(result.status, 2) << because;
    EXPECT_NE(result.err.find(because), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder.path("tilebeat-out/report.json")));
  };
  refused({"--fault", "dram:0:1"}, "@CYCLE is expected");
  refused({"--fault", "pe:0:0:1"}, "@CYCLE is expected");
  refused({"--fault", "nram:0:0:1@0"}, "a cycle from 1 on");
  refused({"--fault", "nram:0:0:1@x"}, "a cycle from 1 on");
  refused({"--fault", "dram:0x7fffffffffff:1@5"}, "BYTE:MASK is expected, byte 0 to");
  refused({"--fault", "noc.nobody.read:0:1@5"}, "there is no bus noc.nobody.read");
  refused({"--fault", "tape:0:0:1@5"}, "in front of BANK:BYTE:MASK");
  refused({"--fault", "pe:0:0:1@5", "--granularity", "tile"}, "use --granularity clock");
  refused({"--fault-campaign", "5", "--check", "off"}, "say --check on");
  refused({"--fault-campaign", "5", "--fault", "nram:0:0:1"}, "excludes");
  refused({"--fault-campaign", "0"}, "--fault-campaign");
}

}  // namespace
}  // namespace tilebeat::testing
