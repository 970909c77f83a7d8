// `tilebeat import` of SCALE-Sim's topologies, by the runs of what it makes.
#include "tilebeat_command.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

const std::string kHeading =
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n";

// Imports a topology and runs it; the report.
nlohmann::json report_of(const CommandFolder& folder, const std::string& topology) {
  const CommandResult imported =
      folder.run({"import", folder.write("net.csv", topology), "--out", folder.path("net")});
  EXPECT_EQ(imported.status, 0) << imported.err;
  const CommandResult run = folder.run({"run", "--config", source_path("configs/core1.json"), "--layer",
                                        folder.path("net/workload.json"), "--check", "on"});
  EXPECT_EQ(run.status, 0) << run.err;
  return folder.report();
}

std::vector<std::pair<std::string, int>> macs_of(const nlohmann::json& report) {
  std::vector<std::pair<std::string, int>> macs;
  for (const auto& layer : report.at("layers"))
    macs.emplace_back(layer.at("name"), layer.at("macs").get<int>());
  return macs;
}

TEST(Topology, AP_4_convolutions_have_the_sizes_of_their_lines) {
  const CommandFolder folder;
  const nlohmann::json report = report_of(folder, kHeading +
                                                      "Conv1,\t35,\t31,\t11,\t7,\t3,\t16,\t4,\n"
                                                      "\n"
                                                      "two strides, 15, 15, 3, 3, 16, 8, 2, 1,\n"
                                                      "DPlayer, 9, 9, 3, 3, 24, 1, 1,\n"
                                                      "Conv1, 8, 8, 1, 1, 16, 32, 2, 1:1\n");
  EXPECT_THAT(macs_of(report), ::testing::ElementsAre(std::pair("Conv1", 7 * 7 * 11 * 7 * 3 * 16),
                                                      std::pair("two_strides", 7 * 13 * 9 * 16 * 8),
                                                      std::pair("DPlayer", 7 * 7 * 9 * 24),
                                                      std::pair("Conv1_2", 4 * 4 * 16 * 32)));
  // Random elements neither vanish nor saturate.
  for (const auto& [name, bytes] : folder.tensors("tilebeat-out")) {
    const std::string elements = bytes.substr(128);
    EXPECT_GT(std::set<char>(elements.begin(), elements.end()).size(), 50U) << name;
    EXPECT_LT(std::count(elements.begin(), elements.end(), 127),
              static_cast<std::ptrdiff_t>(elements.size() / 20))
        << name;
  }
}

TEST(Topology, AP_4_products_have_rows_columns_and_sums) {
  const CommandFolder folder;
  // As a spreadsheet writes it: with a mark of the byte order, and with carriage returns.
  const nlohmann::json report =
      report_of(folder, "\xEF\xBB\xBFLayer,M,N,K,\r\nfc,48,20,64,\r\nheads,16,8,32,3,\r\n");
  EXPECT_THAT(macs_of(report),
              ::testing::ElementsAre(std::pair("fc", 48 * 20 * 64), std::pair("heads", 3 * 16 * 8 * 32)));
  const auto outputs = folder.tensors("tilebeat-out");
  EXPECT_THAT(outputs.at("fc.npy"), HasSubstr("'shape': (48, 20)"));
  EXPECT_THAT(outputs.at("heads.npy"), HasSubstr("'shape': (3, 16, 8)"));
}

TEST(Topology, AP_4_a_heading_may_be_missing_and_the_same_file_makes_the_same_workload) {
  const CommandFolder folder;
  const std::string file = folder.write("net.csv", "a, 8, 8, 3, 3, 4, 4, 1,\nb, 8, 8, 3, 3, 4, 4, 1,\n");
  for (const char* out : {"one", "two"})
    EXPECT_EQ(folder.run({"import", file, "--out", folder.path(out)}).status, 0);
  EXPECT_EQ(folder.files("one"), folder.files("two"));
  const auto workload = nlohmann::json::parse(read_bytes(folder.path("one/workload.json")));
  ASSERT_EQ(workload.at("layers").size(), 2U);
  EXPECT_NE(workload.at("inputs").at(0).at("random"), workload.at("inputs").at(1).at("random"));
}

TEST(Topology, AP_4_wrong_entries_name_line_column_and_value) {
  const CommandFolder folder;
  const auto refused = [&](const std::string& text, const std::string& what,
                           std::vector<std::string> more = {}) {
    folder.write("net.csv", text);
    std::vector<std::string> arguments{"import", "net.csv", "--out", folder.path("net")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = folder.run(arguments);
    EXPECT_EQ(result.status, 2) << text;
    EXPECT_THAT(result.err, HasSubstr("tilebeat: net.csv: " + what));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder.path("net")));
  };
  refused("", "has no layers");
  refused(kHeading, "has no layers");
  refused(
      kHeading + "a, 8, 8, 3x, 3, 4, 4, 1,\n",
      "line 2, column 4 (filter height): \"3x\" is not allowed, allowed is a whole number from 1 to 65535");
  for (const char* wrong : {"0", "-1", "1.5", "", "99999999999999999999", "1e3", "\"8\"", "+8"})
    refused(kHeading + "a, 8, 8, 3, 3, 4, 4, 1,\nb, 8, " + wrong + ", 3, 3, 4, 4, 1,\n",
            "line 3, column 3 (IFMAP width): ");
  refused(kHeading + "a, 8, 8, 3, 9, 4, 4, 1,\n",
          "line 2, column 5 (filter width): \"9\" is not allowed, allowed is up to the map's width, 8");
  refused(kHeading + "a, 8, 8, 3, 3, 4,\n", "line 2: 5 sizes are behind the layer's name");
  refused(kHeading + "a, 8, 8, 3, 3, 4, 4, 1, 1, 1,\n", "line 2: 9 sizes are behind");
  refused(kHeading + "a, 8, 8, 3, 3, 4, 4, 1, 2:4,\n", "line 2, column 9 (sparsity): \"2:4\" is not allowed");
  refused(kHeading + "a, 1000000, 1000000, 3, 3, 4, 4, 1,\n",
          "line 2: the layer reads 4000000000000 elements");
  refused(kHeading + "a, 10, 10, 3, 3, 1048576, 1048576, 1,\n",
          "line 2, layer \"a\": no layer can compute it");
  refused(kHeading + "a, 8, 8, 3, 3, 4, 4, 1,\n", "a topology has no values", {"--float-on-host"});
}

}  // namespace
}  // namespace tilebeat::testing
