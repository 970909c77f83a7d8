// `tilebeat run --program`: programs that are written by hand, listings of planned ones that run again, and
// what is said of files that are wrong (SPEC HI_2, UI_1, UI_5).
#include "tilebeat_command.h"
#include "workload/npy.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

CommandResult run_program(const CommandFolder& folder, const std::string& config, const std::string& file,
                          std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"run", "--config", source_path(config), "--program", file};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return folder.run(arguments);
}

TEST(ProgramCommand, HI_2_the_example_pools_its_map) {
  for (const std::string granularity : {"tile", "clock"}) {
    const CommandFolder folder;
    const CommandResult result =
        run_program(folder, "configs/core1.json", source_path("models/programs/max_pool.program"),
                    {"--granularity", granularity});
    ASSERT_EQ(result.status, 0) << result.err;
    const Tensor y = read_npy(folder.path("tilebeat-out/outputs/y.npy"));
    EXPECT_EQ(y.shape, (std::vector<std::int64_t>{1, 2, 2, 2}));
    EXPECT_EQ(y.bytes, (std::vector<std::uint8_t>{10, 11, 14, 15, 26, 27, 30, 31}));
    const nlohmann::json report = folder.report();
    EXPECT_EQ(report.at("layers").size(), 1U);
    EXPECT_EQ(report.at("total").at("dram_write_bytes"), 8);
  }
}

// ---- what ends a layer ----
// What these programs move does not matter, and nobody writes it.

// A copy of 4 KiB to core 0, then one of 64 bytes to core 1.
constexpr const char* kTwoCores =
    ".program core 0.0\n"
    "iodma.copy source=0x10000 destination=0x40000000000 run_bytes=4096\n"
    "{}halt\n"
    ".program core 0.1\n"
    "iodma.copy source=0x20000 destination=0x40040000000 run_bytes=64\n"
    "{}halt\n";

nlohmann::json report_of_two_cores(const std::string& first, const std::string& second) {
  const CommandFolder folder;
  const std::string file = folder.write("t.program", fmt::format(fmt::runtime(kTwoCores), first, second));
  const CommandResult result =
      run_program(folder, "configs/cluster4.json", file, {"--uninitialised", "allow"});
  EXPECT_EQ(result.status, 0) << result.err;
  return folder.report();
}

TEST(ProgramLayers, UI_4_a_program_without_layer_end_is_one_row_for_the_whole_run) {
  const nlohmann::json report = report_of_two_cores("", "");
  ASSERT_EQ(report.at("layers").size(), 1U);
  EXPECT_EQ(report.at("layers").at(0).at("name"), "program");
  const auto cycles = report.at("total").at("cycles").get<std::int64_t>();
  EXPECT_GT(cycles, 4096 / 16) << "the copy alone";
  EXPECT_EQ(cycles, report.at("layers").at(0).at("cycles"));
  EXPECT_EQ(report.at("layers").at(0).at("bytes").at("nram").at("write"), 4096 + 64);
  for (const auto& m : report.at("modules")) {
    if (m.at("clock") == "npu") {
      EXPECT_EQ(m.at("cycles"), cycles) << m.at("name");
    }
  }
}

TEST(ProgramLayers, UI_4_a_layer_ends_when_all_processors_that_name_it_have_ended_it) {
  const nlohmann::json apart = report_of_two_cores("layer.end layer=1\n", "layer.end layer=0\n").at("layers"),
                       together = report_of_two_cores("layer.end\n", "layer.end\n").at("layers");
  ASSERT_EQ(apart.size(), 2U);
  EXPECT_EQ(apart.at(0).at("name"), "layer0") << "a core other than the first ends a layer";
  EXPECT_EQ(apart.at(1).at("name"), "layer1");
  const auto clocks = [](const nlohmann::json& layer) { return layer.at("cycles").get<std::int64_t>(); };
  EXPECT_GT(clocks(apart.at(1)), 0);
  ASSERT_EQ(together.size(), 1U);
  EXPECT_EQ(clocks(together.at(0)), clocks(apart.at(0)) + clocks(apart.at(1))) << "the last one counts";
}

// ---- layers that overlap ----

// A run of 2 x 56 pixels of 16 kernels over 256 channels on core 1: 2 * 4 column blocks * 9 taps * 64 channel
// blocks = 4,032 beats at 14 pixels a beat, 4,128,768 multiply-accumulates. Core 0 ends two layers meanwhile.
constexpr std::int64_t kRunBeats = 4032, kRunMacs = std::int64_t{2} * 56 * 16 * 256 * 9;
std::string overlapping_layers(const std::string& last) {
  const auto copies = [](int count) {
    std::string text =
        "iodma.copy source=0x10000 destination=0x40000000000 run_bytes=4096 completes map_full[0]\n";
    for (int i = 1; i < count; ++i) {
      text +=
          "iodma.copy source=0x10000 destination=0x40000000000 run_bytes=4096 waits map_full[0] completes "
          "map_full[0]\n";
    }
    return text;
  };
  return ".program core 0.0\n" + copies(6) + "layer.end layer=0\n" + copies(5) +
         "layer.end layer=1\nhalt\n"
         ".program core 0.1\n"
         "conv.setup kernel_h=3 kernel_w=3 output_type=int8 requantise=1 clamp=1 post_parameters=1 "
         "clamp_high=2147483647\n"
         "load.input address=0x40040000000 row_stride=14336 pixel_stride=256 height=3 width=56 channels=256 "
         "slice=64 completes input_full[0]\n"
         "load.kernels address=0x80040000000 post_address=0x80040012000 words=576 post_records=16 completes "
         "kernels_full[0]\n"
         "conv.run rows=2 columns=56 height=3 width=56 h_offset=-1 w_offset=-1 planes=64 kernels=16 "
         "output_stride=32 macs_per_pixel=36864 waits input_full[0],kernels_full[0] completes "
         "output_full[0]\n"
         "store.output address=0x4004001c000 row_stride=1792 pixel_stride=32 pixel_bytes=32 rows=2 "
         "columns=56 "
         "waits output_full[0]\n" +
         last + "halt\n";
}

std::int64_t array_cycles(const nlohmann::json& layer) {
  std::int64_t cycles = layer.at("beats");
  for (const auto& [cause, count] : layer.at("stall_cycles").items()) {
    EXPECT_GT(count, 0) << cause;
    cycles += count.get<std::int64_t>();
  }
  return cycles;
}

TEST(ProgramLayers, CY_1_CY_3_UI_4_what_a_core_computes_belongs_to_the_layer_that_it_ends_next) {
  for (const std::string last : {"layer.end layer=2\n", ""}) {
    const CommandFolder folder;
    const std::string config =
        folder.write("two.json", R"({"chip": {"clusters": 1, "cores_per_cluster": 2}})");
    const std::string file = folder.write("t.program", overlapping_layers(last));
    nlohmann::json layers;
    for (const std::string granularity : {"tile", "clock"}) {
      const CommandResult result = folder.run({"run", "--config", config, "--program", file, "--granularity",
                                               granularity, "--uninitialised", "allow"});
      ASSERT_EQ(result.status, 0) << result.out << result.err;
      const nlohmann::json report = folder.report();
      if (!layers.is_null()) {
        EXPECT_EQ(report.at("layers"), layers) << "both granularities";
      }
      layers = report.at("layers");
      ASSERT_EQ(layers.size(), 3U);
      EXPECT_EQ(layers.at(2).at("name"), last.empty() ? "rest" : "layer2");
      std::int64_t arrays = 0, cycles = 0;
      for (const auto& layer : layers) {
        const auto clocks = array_cycles(layer);
        const std::int64_t macs = layer.at("macs");
        EXPECT_EQ(layer.at("beats"), &layer == &layers.at(2) ? kRunBeats : 0) << layer.at("name");
        EXPECT_EQ(macs, &layer == &layers.at(2) ? kRunMacs : 0) << layer.at("name");
        EXPECT_DOUBLE_EQ(layer.at("utilization").get<double>(),
                         static_cast<double>(macs) / (static_cast<double>(clocks) * 1024));
        EXPECT_LE(layer.at("busiest").at("share").get<double>(), 1.0);
        arrays += clocks, cycles += layer.at("cycles").get<std::int64_t>();
      }
      // All cycles of both arrays belong to some layer.
      EXPECT_EQ(cycles, report.at("total").at("cycles"));
      EXPECT_EQ(arrays, 2 * cycles);
      for (const auto& m : report.at("modules")) {
        if (m.at("clock") == "npu") {
          EXPECT_EQ(m.at("cycles"), cycles) << m.at("name");
        }
      }
      const std::string out = folder.path("tilebeat-out/report.json");
      EXPECT_EQ(folder.run({"compare", out, out}).status, 0) << "a report that compare takes";
    }
  }
}

TEST(ProgramLayers, CY_1_no_run_claims_more_multiply_accumulates_than_its_beats_hold) {
  for (const auto& [macs, taken] : {std::pair(16 * 256 * 9, true), std::pair(16 * 256 * 9 + 1, false)}) {
    const CommandFolder folder;
    const std::string config =
        folder.write("two.json", R"({"chip": {"clusters": 1, "cores_per_cluster": 2}})");
    std::string program = overlapping_layers("");
    const std::string field = "macs_per_pixel=36864";
    program.replace(program.find(field), field.size(), fmt::format("macs_per_pixel={}", macs));
    const CommandResult result = folder.run({"run", "--config", config, "--program",
                                             folder.write("t.program", program), "--uninitialised", "allow"});
    EXPECT_EQ(result.status, taken ? 0 : 1) << result.err;
    EXPECT_EQ(
        result.out.find("conv.run: 36865 useful multiply-accumulates an output pixel, 256 channels of 16 "
                        "kernels 3 x 3 have 36864") != std::string::npos,
        !taken)
        << result.out;
  }
}

// Two cores that a barrier lets go on in one cycle end a layer, or one each; the second one works on.
constexpr const char* kSameClock =
    ".program core 0.1\n"
    "iodma.copy source=0x20000 destination=0x40040000000 run_bytes=64\n"
    "barrier id=1 participants=3\n"
    "layer.end layer={}\n"
    "iodma.copy source=0x30000 destination=0x40040001000 run_bytes=1024\n"
    "layer.end layer=2\n"
    "halt\n"
    ".program core 0.0\n"
    "iodma.copy source=0x10000 destination=0x40000000000 run_bytes=4096 completes map_full[0]\n"
    "barrier id=1 participants=3 waits map_full[0]\n"
    "layer.end layer={}\n"
    "halt\n"
    ".program core 0.2\n"
    "barrier id=1 participants=3\n"
    "signal processors=8 semaphore=200\n"
    "halt\n";

TEST(ProgramLayers, CY_4_layers_that_end_in_one_clock_do_not_depend_on_the_order_of_processes) {
  for (const auto& [first, second] : {std::pair(0, 0), std::pair(0, 1), std::pair(1, 0)}) {
    const CommandFolder folder;
    const std::string file = folder.write("t.program", fmt::format(fmt::runtime(kSameClock), first, second));
    const auto files = [&](std::vector<std::string> more) {
      more.insert(more.end(), {"--uninitialised", "allow"});
      const CommandResult result = run_program(folder, "configs/cluster4.json", file, more);
      EXPECT_EQ(result.status, 0) << result.err;
      return folder.files("tilebeat-out");
    };
    const auto plain = files({});
    const nlohmann::json layers = folder.report().at("layers");
    ASSERT_EQ(layers.size(), first == second ? 2U : 3U);
    for (std::size_t i = 0; i + 1 < layers.size(); ++i)
      EXPECT_EQ(layers.at(i).at("name"), fmt::format("layer{}", i)) << "in the order of their numbers";
    if (first != second) {
      EXPECT_EQ(layers.at(1).at("cycles"), 0) << "both end in one clock";
      EXPECT_EQ(layers.at(1).at("utilization"), 0) << "a number";
    }
    for (const char* seed : {"1", "2", "3", "4", "5", "77"}) {
      EXPECT_TRUE(files({"--jitter-seed", seed}) == plain) << "jitter seed " << seed;
      EXPECT_TRUE(files({"--build-order-seed", seed}) == plain) << "build order seed " << seed;
      EXPECT_TRUE(files({"--jitter-seed", seed, "--build-order-seed", seed}) == plain) << "both " << seed;
    }
    EXPECT_TRUE(files({"--granularity", "clock"}) == plain) << "CY-3";
  }
}

// Core 1 ends layer 1 while core 0 computes on zeros, in the middle of a chunk or not.
TEST(ProgramLayers, CY_3_a_layer_may_end_while_another_core_computes) {
  for (const int bytes : {1 << 10, 100 << 10, 200 << 10, 256 << 10}) {
    const CommandFolder folder;
    const CommandResult listing =
        folder.run({"plan", "--config", source_path("configs/core1.json"), "--layer",
                    source_path("models/resnet50_3x3_s2.json"), "--disassemble"});
    std::string text;
    std::istringstream lines(listing.out);
    for (std::string line; std::getline(lines, line);) {
      const bool alone = line.find("barrier") == std::string::npos;
      if (line.rfind("  0x", 0) == 0 && alone) text += line + "\n";
    }
    const std::string file = folder.write(
        "t.program", fmt::format(".program core 0.0\n{}.program core 0.1\niodma.copy source=0x10000 "
                                 "destination=0x40040000000 run_bytes={}\nlayer.end layer=1\nhalt\n",
                                 text, bytes));
    std::vector<nlohmann::json> reports;
    for (const char* granularity : {"tile", "clock"}) {
      const CommandResult result = run_program(folder, "configs/cluster4.json", file,
                                               {"--granularity", granularity, "--uninitialised", "allow"});
      ASSERT_EQ(result.status, 0) << result.out << result.err;
      reports.push_back(folder.report());
      const nlohmann::json& layers = reports.back().at("layers");
      ASSERT_EQ(layers.size(), 2U);
      EXPECT_EQ(layers.at(0).at("name"), "layer1");
    }
    for (const char* key : {"total", "modules", "counters"})
      EXPECT_EQ(reports[0].at(key), reports[1].at(key)) << key << " of " << bytes << " bytes";
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(reports[0]["layers"][i]["cycles"], reports[1]["layers"][i]["cycles"]);
  }
}

// ---- a listing is a program ----

struct Listing {
  const char* name;
  const char* config;
  const char* workload;
};
void PrintTo(const Listing& parameter, std::ostream* out) {
  *out << parameter.name;
}
class ListedProgram : public ::testing::TestWithParam<Listing> {};

TEST_P(ListedProgram, HI_2_runs_as_the_plan_does) {
  const auto& [name, config, workload] = GetParam();
  const CommandFolder folder;
  const CommandResult planned = folder.run_layer(config, workload, {"--out", "planned"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  const CommandResult listing =
      folder.run({"plan", "--config", source_path(config), "--layer", source_path(workload), "--export",
                  "made.program", "--disassemble"});
  ASSERT_EQ(listing.status, 0) << listing.err;
  const std::string file = folder.write("listed.program", listing.out);
  const CommandResult listed = run_program(folder, config, file, {"--out", "listed"});
  ASSERT_EQ(listed.status, 0) << listed.err;
  EXPECT_EQ(folder.tensors("planned"), folder.tensors("listed"));
  const nlohmann::json a = folder.report("planned"), b = folder.report("listed");
  EXPECT_EQ(a.at("modules"), b.at("modules"));
  EXPECT_EQ(a.at("counters"), b.at("counters"));
  const nlohmann::json &planned_layers = a.at("layers"), &listed_layers = b.at("layers");
  ASSERT_EQ(planned_layers.size(), listed_layers.size());
  const bool overlap = std::any_of(planned_layers.begin(), planned_layers.end(), overlaps);
  EXPECT_EQ(a.at("total").at("dram_read_bytes"), b.at("total").at("dram_read_bytes"));
  for (std::size_t i = 0; i < planned_layers.size(); ++i) {
    EXPECT_EQ(planned_layers[i].at("cycles"), listed_layers[i].at("cycles")) << "of layer " << i;
    // A listing does not tell which layers overlap.
    if (overlaps(planned_layers[i]) || (i + 1 < planned_layers.size() && overlaps(planned_layers[i + 1])))
      continue;
    nlohmann::json planned_layer = planned_layers[i], listed_layer = listed_layers[i];
    // Where any layers overlap, reads of DRAM count when they arrive.
    if (overlap)
      for (nlohmann::json* layer : {&planned_layer, &listed_layer})
        layer->at("bytes").at("dram").erase("read");
    for (const char* key : {"beats", "stall_cycles", "bytes"})
      EXPECT_EQ(planned_layer.at(key), listed_layer.at(key)) << key << " of layer " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Listings, ListedProgram,
    ::testing::Values(Listing{"core1", "configs/core1.json", "models/worked_dilated.json"},
                      Listing{"cluster4", "configs/cluster4.json", "models/worked_dilated.json"},
                      Listing{"cluster4x4", "configs/cluster4x4.json", "models/worked_dense.json"},
                      Listing{"network_on_core1", "configs/core1.json", "models/alexnet_small.json"},
                      Listing{"network_on_cluster4", "configs/cluster4.json", "models/alexnet_small.json"},
                      Listing{"without_a_chip", "configs/switch16.json", "models/worked_dilated.json"}),
    [](const auto& listing) { return listing.param.name; });

// ---- errors ----

struct Refusal {
  const char* name;
  const char* text;
  const char* message;  // behind file and line
};
void PrintTo(const Refusal& parameter, std::ostream* out) {
  *out << parameter.name;
}
class RefusedProgram : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedProgram, UI_5_exit_2_with_file_and_line_and_nothing_written) {
  const CommandFolder folder;
  folder.write("t.program", GetParam().text);
  const auto before = folder.files();
  const CommandResult result = run_program(folder, "configs/core1.json", "t.program");
  EXPECT_EQ(result.status, 2) << result.out;
  EXPECT_THAT(result.err, HasSubstr(fmt::format("t.program:{}", GetParam().message)));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << "one line: " << result.err;
  EXPECT_EQ(folder.files(), before) << "nothing is written";
}

INSTANTIATE_TEST_SUITE_P(
    Files, RefusedProgram,
    ::testing::Values(
        Refusal{"empty", "", " there is no .program"},
        Refusal{"directive", "# a comment\n.code core 0.0\n", "2: \".code\" is no directive; there are"},
        Refusal{"instruction", ".program core 0.0\nnop\n", "2: \"nop\" is no instruction"},
        Refusal{"field", ".program core 0.0\nlayer.end layers=1\n", "2: there is no field \"layers\""},
        Refusal{"field_value", ".program core 0.0\nlayer.end layer=1x\n", "2: \"1x\" is not a number"},
        Refusal{"field_range", ".program core 0.0\nbarrier id=65536\n", "2: id is 65536, allowed are 0 to"},
        Refusal{"semaphore", ".program core 0.0\nhalt waits nobody\n", "2: \"nobody\" behind \"waits\""},
        Refusal{"address_alone", ".program core 0.0\n0x1000\n", "2: \"\" is no instruction"},
        Refusal{"too_early", "halt\n.program core 0.0\n", "1: an instruction before the first .program"},
        Refusal{"no_instructions", ".program core 0.0\n", " a program without instructions"},
        Refusal{"core", ".program core 0.1\nhalt\n", "1: \"1\" is no number from 0 to 0"},
        Refusal{"cluster", ".program core 1.0\nhalt\n", "1: \"1\" is no number from 0 to 0"},
        Refusal{"memory_core", ".program memory 1\nhalt\n", "1: \"1\" is no number from 0 to 0"},
        Refusal{"core_without_a_dot", ".program core 0\nhalt\n", "1: \"0\": CLUSTER.CORE is expected"},
        Refusal{"core_without_a_number", ".program core .\nhalt\n", "1: \"\" is no number"},
        Refusal{"core_missing", ".program core\nhalt\n", "1: CLUSTER.CORE is expected"},
        Refusal{"kind", ".program soc\nhalt\n", "1: \"soc\": \"core CLUSTER.CORE\" or \"memory CLUSTER\""},
        Refusal{"twice", ".program core 0.0\nhalt\n.program core 0.0\nhalt\n",
                "3: this processor has a program"},
        Refusal{"too_much", ".program core 0.0 now\nhalt\n", "1: \"now\": \"at\" or \"scene\" is expected"},
        Refusal{"many_layers", ".program core 0.0\nlayer.end layer=65536\n",
                "2: layer 65536 is beyond 65535"},
        Refusal{"bytes_text", ".bytes 0x1000 0g\n", "1: \"0g\" is no number from 0 to 255"},
        Refusal{"bytes_wide", ".bytes 0x1000 100\n", "1: \"100\" is no number from 0 to 255"},
        Refusal{"bytes_none", ".bytes 0x1000\n", "1: bytes are expected"},
        Refusal{"address", ".bytes 0x200000000 00\n", "1: \"0x200000000\" is no number from 0 to 8589934591"},
        Refusal{"address_negative", ".bytes -1 00\n", "1: \"-1\" is no number from 0 to"},
        Refusal{"address_missing", ".bytes\n", "1: an address in DRAM is expected"},
        Refusal{"bytes_beyond", ".bytes 0x1ffffffff 00 01\n", "1: 2 bytes at 0x1ffffffff lie beyond"},
        Refusal{"overlap", ".bytes 0x1000 00 01\n.bytes 0x1001 02\n",
                "2: the bytes at 0x1001 overlap those at 0x1000"},
        Refusal{"no_room", ".bytes 0x1ffffffff 00\n.program core 0.0\nhalt\n",
                " dram.size_bytes leaves no room for the programs"},
        Refusal{"data_missing", ".data 0x1000 none.npy\n", "1: none.npy: cannot be opened"},
        Refusal{"data_no_array", ".data 0x1000 t.program\n", "1: t.program: is not a .npy file"},
        Refusal{"tensor_type", ".tensor y 0x1000 int9 1\n",
                "1: \"int9\": int8, uint8, int16, int32 or int64"},
        Refusal{"tensor_extent", ".tensor y 0x1000 int8 1 a\n", "1: \"a\": an extent, or the layout nchw"},
        Refusal{"tensor_extent_0", ".tensor y 0x1000 int8 2 0\n", "1: an extent is 0"},
        Refusal{"tensor_parts", ".tensor y 0x1000 int8 2 8 apart:2\n",
                "1: \"apart:2\": apart:PARTS:BYTES is"},
        Refusal{"tensor_parts_unequal", ".tensor y 0x1000 int8 2 8 apart:3:8\n",
                "1: apart:3:8: the tensor's 16 bytes are not 3 equal parts"},
        Refusal{"tensor_parts_none", ".tensor y 0x1000 int8 2 8 apart:0:8\n",
                "1: apart:0:8: the tensor's 16 bytes are not 0 equal parts"},
        Refusal{"tensor_parts_near", ".tensor y 0x1000 int8 2 8 apart:2:7\n",
                "1: apart:2:7: a part has 8 bytes, the next one begins 7 behind it"},
        Refusal{"tensor_parts_far", ".tensor y 0x1000 int8 2 8 apart:2:0x200000000\n",
                "1: \"0x200000000\" is no number from 0 to 4294967296"},
        Refusal{"tensor_extents", ".tensor y 0x1000 int8\n", "1: extents are expected"},
        Refusal{"tensor_large", ".tensor y 0x1000 int8 1048576 1048576\n", "1: 1099511627776 bytes at"},
        Refusal{"tensor_larger_than_64_bits", ".tensor y 0x1000 int8 1048576 1048576 1048576 1048576\n",
                "1: 1099511627776 bytes at 0x1000 lie beyond"},
        Refusal{"tensor_name", ".tensor a/y 0x1000 int8 1\n", "1: \"a/y\" is no name"},
        Refusal{"tensor_name_with_control_characters", ".tensor a\x1b[31m 0x1000 int8 1\n",
                "1: \"a [31m\" is no name"},
        Refusal{"line_with_control_characters", ".program core 0.0\n\x1b[31m\a\n", "2: \" [31m \" is no"},
        Refusal{"int32_beyond", ".int32 0x1000 2147483648\n",
                "1: \"2147483648\" is no number from -2147483648 to 2147483647"},
        Refusal{"int32_text", ".int32 0x1000 1 x\n", "1: \"x\" is no number from -2147483648 to"},
        Refusal{"int32_none", ".int32 0x1000\n", "1: numbers are expected"},
        Refusal{"double_text", ".double 0x1000 1.5x\n", "1: \"1.5x\" is no number from -1.797"},
        Refusal{"double_infinite", ".double 0x1000 inf\n", "1: \"inf\" is no number from -1.797"},
        Refusal{"numbers_beyond", ".double 0x1fffffffc 1\n", "1: 8 bytes at 0x1fffffffc lie beyond"},
        Refusal{"label_unknown", ".program core 0.0\nhalt waits @go\n", "2: \"@go\": no .label before this"},
        Refusal{"label_value", ".label a b\n", "1: \"b\" is no number from 0 to 9223372036854775807"},
        Refusal{"label_name", ".label a/b 1\n", "1: \"a/b\" is no name"},
        Refusal{"label_twice", ".label a 1\n.label a 2\n", "2: there is a label \"a\" already"},
        Refusal{"label_sum", ".label a map_full[0]\n.program core 0.0\nhalt waits @a+1\n",
                "3: \"@a+1\": only a number is added to"},
        Refusal{"expect_nothing", ".program core 0.0\nhalt\n.expect y\n", "3: a .npy file is expected"},
        Refusal{"expect_missing", ".expect y none.npy\n", "1: none.npy: cannot be opened"},
        Refusal{"tensor_twice", ".tensor y 0x1000 int8 1\n.tensor y 0x2000 int8 1\n",
                "2: there is a tensor \"y\" already"}),
    [](const auto& test) { return test.param.name; });

TEST(ProgramCommand, UI_5_files_that_cannot_be_read) {
  const CommandFolder folder;
  for (const auto& [file, what] : {std::pair("none.program", "none.program: cannot be opened"),
                                   std::pair("/tmp", "/tmp: is a directory, a file is needed"),
                                   std::pair("/dev/zero", "/dev/zero: is larger than 67108864 bytes")}) {
    const CommandResult result = run_program(folder, "configs/core1.json", file);
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.err, HasSubstr(what));
  }
  const CommandResult soc =
      run_program(folder, "configs/switch16.json", source_path("models/programs/max_pool.program"));
  EXPECT_EQ(soc.status, 2);
  EXPECT_THAT(soc.err, HasSubstr("max_pool.program:6: .program core: this hardware has no clusters"));
  EXPECT_TRUE(folder.files().empty());
}

TEST(ProgramCommand, UI_5_a_message_has_an_end) {
  const CommandFolder folder;
  const std::string file =
      folder.write("t.program", ".program core 0.0\n" + std::string(10'000'000, 'x') + "\n");
  const CommandResult result = run_program(folder, "configs/core1.json", file);
  EXPECT_EQ(result.status, 2);
  EXPECT_LT(result.err.size(), 5000U);
  EXPECT_THAT(result.err, HasSubstr("more characters)\n"));
}

// Compared with all lines before it, each of these would take a minute together.
TEST(ProgramCommand, UI_5_many_places_in_dram) {
  const CommandFolder folder;
  std::string program = ".program core 0.0\nlayer.end\nhalt\n";
  for (int i = 0; i < 200'000; ++i) program += fmt::format(".bytes {:#x} 2a\n", 0x100000 + 2 * i);
  const CommandResult result = run_program(folder, "configs/core1.json", folder.write("t.program", program));
  EXPECT_EQ(result.status, 0) << result.err;
  const CommandResult overlap =
      run_program(folder, "configs/core1.json", folder.write("o.program", program + ".bytes 0x100007 0 0\n"));
  EXPECT_EQ(overlap.status, 2);
  EXPECT_THAT(overlap.err, HasSubstr("200004: the bytes at 0x100007 overlap those at 0x100008"));
}

// Steps without operands took no place in a buffer: 4 G of them were waiting at once.
TEST(ProgramCommand, UI_5_a_pooling_of_padding_alone_takes_no_more_memory_than_others) {
  const CommandFolder folder;
  const std::string file = folder.write(
      "t.program",
      ".program core 0.0\nvector.run kind=maxpool rows=65535 columns=65535 channels=1 height=1 width=1 "
      "h_offset=5 w_offset=5\nhalt\n");
  CommandSetting setting;
  setting.max_memory_bytes = rlim_t{2} << 30;
  const CommandResult result =
      folder.run({"run", "--config", source_path("configs/core1.json"), "--program", file}, setting);
  EXPECT_EQ(result.status, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("chip.cluster0.core0.vector.result: no memory at address 0x40000080000"));
}

}  // namespace
}  // namespace tilebeat::testing
