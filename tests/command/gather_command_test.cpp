// Rows at computed indices, with the real program (SPEC OP-2): what is read of a table, what is refused,
// programs whose indices lead elsewhere.
#include "tilebeat_command.h"

#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json tensor(const char* name, const json& shape) {
  return {{"name", name}, {"shape", shape}, {"random", {{"seed", 1}}}};
}

/// Rows of a table of [64, 32, 48] at three places (i, j), and a layer that is made of `gather`.
json lookup(const json& gather) {
  json layer{{"name", "y"}, {"op", "gather"}, {"inputs", {"t", "i", "j"}}};
  layer.update(gather);
  return {{"inputs", {tensor("t", {64, 32, 48}), tensor("a", {3, 64}), tensor("b", {3, 32})}},
          {"layers",
           {{{"name", "i"}, {"op", "argmax"}, {"inputs", {"a"}}},
            {{"name", "j"}, {"op", "argmax"}, {"inputs", {"b"}}},
            layer}},
          {"outputs", {"y"}}};
}

TEST(GatherCommand, OP_2_rows_are_read_and_nothing_else_of_the_table) {
  for (const char* config : {"configs/core1.json", "configs/cluster4x4.json"}) {
    const CommandFolder folder;
    const std::string work = folder.write("w.json", lookup(json::object()).dump());
    const CommandResult run =
        folder.run({"run", "--config", source_path(config), "--layer", work, "--check", "on"});
    ASSERT_EQ(run.status, 0) << run.out << run.err;
    const json report = folder.report();
    const json& layer = report.at("layers").at(2);
    EXPECT_EQ(layer.at("check"), "passed");
    std::int64_t read = 0;  // by the DMA engines of the cores
    for (const json& counter : report.at("counters")) {
      const std::string module = counter.at("module");
      if (module.rfind("noc.", 0) == 0 && module.find("iodma") != std::string::npos &&
          counter.at("name") == "read")
        read += counter.at("value").get<std::int64_t>();
    }
    EXPECT_EQ(read, 3 * 64 + 3 * 32 + 2 * 3 * 4 + 3 * 48) << "scores, indices and rows";
  }
}

TEST(GatherCommand, OP_2_UI_5_files_are_refused_in_one_line) {
  const CommandFolder folder;
  const auto refused = [&](const json& gather) {
    const std::string work = folder.write("w.json", lookup(gather).dump());
    const CommandResult run =
        folder.run({"run", "--config", source_path("configs/core1.json"), "--layer", work});
    EXPECT_EQ(run.status, 2) << run.out;
    return run.err;
  };
  EXPECT_THAT(refused({{"inputs", {"t", "i", "b"}}}),
              HasSubstr("/layers/2/inputs/2: \"b\" of int8 is not allowed, allowed is indices of int32"));
  EXPECT_THAT(refused({{"axis", 2}}),
              HasSubstr("/layers/2/axis: 2 is not allowed, allowed is one with another "
                        "axis behind it"));
  EXPECT_THAT(refused({{"inputs", {"i", "j"}}}), HasSubstr("/layers/2/inputs/0: \"i\" with int32"));
  EXPECT_THAT(refused({{"indices", {0}}}), HasSubstr("/layers/2/indices"));
}

// 64 bytes of NRAM hold the indices, behind them come the rows.
std::string program_of(const std::string& gather, const std::string& indices) {
  return ".int32 0x2000 " + indices + "\n.tensor table 0x1000 int8 8 16\n.tensor y 0x3000 int8 4 16\n" +
         ".bytes 0x1000 01 02 03\n.program core 0.0\n" +
         "iodma.copy source=0x2000 destination=0x40000000000 run_bytes=16 completes map_full[0]\n" +
         "iodma.gather source=0x1000 destination=0x40000000040 indices=0x40000000000 count=4 row_bytes=16 "
         "pitch=16 rows=8 " +
         gather + " waits map_full[0] completes map_full[1]\n" +
         "iodma.copy source=0x40000000040 destination=0x3000 run_bytes=64 waits map_full[1]\nhalt\n";
}

TEST(GatherCommand, OP_2_UI_5_programs_that_lead_elsewhere_are_named) {
  const CommandFolder folder;
  const auto said = [&](const std::string& gather, const std::string& indices, int status) {
    const CommandResult run = folder.run({"run", "--config", source_path("configs/core1.json"), "--program",
                                          folder.write("p.prog", program_of(gather, indices))});
    EXPECT_EQ(run.status, status) << run.out << run.err;
    return run.out + run.err;
  };
  said("", "0 7 7 3", 0);
  EXPECT_THAT(said("", "0 8 1 2", 1), HasSubstr("iodma.gather: index 1 is 8, the table has 8 rows"));
  EXPECT_THAT(said("", "0 1 2 -1", 1), HasSubstr("iodma.gather: index 3 is -1, the table has 8 rows"));
  EXPECT_THAT(said("more_rows=2 more_indices=0x2000", "0 1 2 3", 1),
              HasSubstr("iodma.gather: indices at 0x2000 are not in the core"));
}

// The engine has registers for sixteen indices: the seventeenth is read when the rows before it are
// requested.
TEST(GatherCommand, OP_2_CY_8_sixteen_indices_are_held_and_the_next_ones_are_waited_for) {
  const auto cycles_of = [](int count) {
    const CommandFolder folder;
    std::string indices;
    for (int i = 0; i < 32; ++i) indices += fmt::format(" {}", i % 8);
    const std::string program = fmt::format(
        ".int32 0x2000{}\n.tensor table 0x1000 int8 8 16\n.program core 0.0\n"
        "iodma.copy source=0x2000 destination=0x40000000000 run_bytes=128 completes map_full[0]\n"
        "iodma.gather source=0x1000 destination=0x40000000080 indices=0x40000000000 count={} row_bytes=16 "
        "pitch=16 rows=8 waits map_full[0]\nhalt\n",
        indices, count);
    const CommandResult run = folder.run(
        {"run", "--config", source_path("configs/core1.json"), "--program", folder.write("p.prog", program)});
    EXPECT_EQ(run.status, 0) << run.out << run.err;
    return folder.report().at("total").at("cycles").get<std::int64_t>();
  };
  const std::int64_t fifteen = cycles_of(15), sixteen = cycles_of(16), seventeen = cycles_of(17);
  const std::int64_t row = sixteen - fifteen;
  EXPECT_EQ(cycles_of(18) - seventeen, row);
  // The way of the indices: request and response of the core's bus, and the latency of NRAM.
  EXPECT_GE(seventeen - sixteen, row + 3);
}

}  // namespace
}  // namespace tilebeat::testing
