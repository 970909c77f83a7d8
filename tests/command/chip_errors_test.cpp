// What a user is told when a program of a chip cannot go on, or a layer does not fit a chip (SPEC HI_2 to
// HI_5, UI_5).
#include "tilebeat_command.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

struct FailingProgram {
  const char* name;
  const char* text;
  std::vector<const char*> messages;
};
void PrintTo(const FailingProgram& parameter, std::ostream* out) {
  *out << parameter.name;
}
class FailedProgram : public ::testing::TestWithParam<FailingProgram> {};

// Programs begin at 0x1000. Memories of core1: NRAM and SRAM of 512 KiB, WRAM of 1 MiB, DRAM of 8 GiB.
TEST_P(FailedProgram, HI_2_UI_5_exit_1_and_the_instruction_is_named) {
  for (const char* granularity : {"tile", "clock"}) {
    const CommandFolder folder;
    folder.write("t.program", GetParam().text);
    const CommandResult result =
        folder.run({"run", "--config", source_path("configs/core1.json"), "--program", "t.program",
                    "--granularity", granularity, "--uninitialised", "allow"});
    EXPECT_EQ(result.status, 1) << result.out << result.err;
    for (const char* message : GetParam().messages) EXPECT_THAT(result.out + result.err, HasSubstr(message));
    const nlohmann::json report = folder.report();
    EXPECT_FALSE(report.at("passed"));
    EXPECT_THAT(report.at("failures").at(0).get<std::string>(), HasSubstr(GetParam().messages.front()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Programs, FailedProgram,
    ::testing::Values(
        FailingProgram{
            "deadlock",
            ".program core 0.0\niodma.copy destination=0x40000000000 run_bytes=64 waits map_full[3]\n"
            "halt\n",
            {"deadlock: nothing can happen any more",
             "iodma     holds 0, 0 under way, 1 queued; instruction at 0x1000 waits for map_full[3]"}},
        FailingProgram{"barrier",
                       ".program core 0.0\nbarrier id=3 participants=2\nhalt\n.program memory 0\nhalt\n",
                       {"deadlock", "barrier 3: 1 of 2 arrived: cluster0.core0",
                        "decoder at 0x1000: waits for barrier"}},
        FailingProgram{"nram",
                       ".program core 0.0\niodma.copy destination=0x4000007fff0 run_bytes=64\nhalt\n",
                       {"instruction at 0x1000: iodma.copy: the destination 0x4000007fff0 to 0x4000008002f "
                        "leaves the memory at 0x40000000000 to 0x4000007ffff"}},
        FailingProgram{"wram",
                       ".program core 0.0\niodma.copy destination=0x800000ffff0 run_bytes=64\nhalt\n",
                       {"instruction at 0x1000: iodma.copy: the destination 0x800000ffff0 to 0x8000010002f "
                        "leaves the memory at 0x80000000000 to 0x800000fffff"}},
        FailingProgram{"sram",
                       ".program memory 0\ngdma.copy destination=0x2000007fff0 run_bytes=64\nhalt\n",
                       {"instruction at 0x1000: gdma.copy: the destination 0x2000007fff0 to 0x2000008002f "
                        "leaves the memory at 0x20000000000 to 0x2000007ffff"}},
        FailingProgram{"sram_of_a_core",
                       ".program core 0.0\nmvdma.copy source=0x40000000000 destination=0x2000007fff0 "
                       "run_bytes=64\nhalt\n",
                       {"mvdma.outer: no memory at address 0x20000080000",
                        "chip.cluster0.core0.control works on mvdma at 0x1000"}},
        FailingProgram{"dram",
                       ".program core 0.0\niodma.copy source=0x1fffffff0 destination=0x40000000000 "
                       "run_bytes=64\nhalt\n",
                       {"iodma.outer: no memory at address 0x200000000",
                        "chip.cluster0.core0.control works on iodma at 0x1000"}},
        FailingProgram{
            "vector",
            ".program core 0.0\nvector.run kind=table rows=1 columns=1 channels=1 a=0x80000\nhalt\n",
            {"vector.a: no memory at address 0x40000080000",
             "chip.cluster0.core0.control works on vector at 0x1000"}},
        FailingProgram{"matrix",
                       ".program core 0.0\nload.kernels address=0x80000000000 words=70000\nhalt\n",
                       {"load.kernels: words 0 to 70000 lie beyond the 16384 of the parameter buffer",
                        "control works on parameter at 0x1000"}},
        FailingProgram{"missing_unit",
                       ".program core 0.0\ngdma.copy destination=0x20000000000 run_bytes=1\nhalt\n",
                       {"instruction at 0x1000: this processor has no gdma unit"}},
        FailingProgram{
            "missing_unit_of_a_memory_core",
            ".program memory 0\nlayer.end\nvector.run kind=table rows=1 columns=1 channels=1\nhalt\n",
            {"instruction at 0x1040: this processor has no vector unit"}},
        FailingProgram{"without_halt", ".program core 0.0\nlayer.end\n", {"the program ends without halt"}}),
    [](const auto& program) { return program.param.name; });

TEST(Programs, HI_2_addresses_need_no_alignment) {
  const CommandFolder folder;
  folder.write("t.program",
               ".bytes 0x10001 01 02 03\n.tensor y 0x30003 uint8 3\n.program core 0.0\n"
               "iodma.copy source=0x10001 destination=0x40000000007 run_bytes=3 completes map_full[0]\n"
               "iodma.copy source=0x40000000007 destination=0x30003 run_bytes=3 waits map_full[0]\n"
               "layer.end\nhalt\n");
  const CommandResult result =
      folder.run({"run", "--config", source_path("configs/core1.json"), "--program", "t.program"});
  ASSERT_EQ(result.status, 0) << result.err;
  const std::string y = read_bytes(folder.path("tilebeat-out/outputs/y.npy"));
  EXPECT_EQ(y.substr(y.size() - 3), "\1\2\3");
}

// ---- layers that cannot fit ----

struct Unfit {
  const char* name;
  const char* layer;  // one that reads x
  int channels;
  const char* core;  // of the chip
  const char* message;
};
void PrintTo(const Unfit& parameter, std::ostream* out) {
  *out << parameter.name;
}
class UnfitLayer : public ::testing::TestWithParam<Unfit> {};

TEST_P(UnfitLayer, UI_5_file_path_key_and_value_are_named) {
  const CommandFolder folder;
  const std::string config =
      folder.write("small.json",
                   fmt::format(R"({{"chip": {{"cores_per_cluster": 2, "core": {{{}}}}}}})", GetParam().core));
  const std::string workload = folder.write(
      "layers.json",
      fmt::format(R"({{"inputs": [{{"name": "x", "shape": [1, 4, 4, {}], "random": {{"seed": 1}}}}],
                     "layers": [{{"name": "first", "op": "relu", "inputs": ["x"]}},
                                {{"name": "y", "inputs": ["x"], {}}}]}})",
                  GetParam().channels, GetParam().layer));
  for (const char* command : {"run", "plan"}) {
    const CommandResult result = folder.run({command, "--config", config, "--layer", workload});
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr("layers.json: /layers/1: layer 'y' cannot fit: "));
    EXPECT_THAT(result.err, HasSubstr(GetParam().message));
  }
  EXPECT_EQ(folder.files().size(), 2U) << "nothing is written";
}

constexpr const char* kBatchnorm =
    R"("op": "batchnorm", "input_scale": 1, "mean": 0, "variance": 1, "requant": {"scale": 1})";
constexpr const char* kConv =
    R"("op": "conv2d", "out_channels": 40, "kernel": [3, 3], "weights": {"random": {"seed": 1}})";

INSTANTIATE_TEST_SUITE_P(
    Chips, UnfitLayer,
    ::testing::Values(
        Unfit{"tile", kConv, 300, R"("nram": {"size_bytes": 4096})", "chip.core.nram.size_bytes is 4096"},
        Unfit{"kernels", kConv, 300, R"("wram": {"size_bytes": 1024})",
              "half of chip.core.wram.size_bytes is 512"},
        Unfit{"window", R"("op": "resize", "size": [8, 8], "mode": "bilinear")", 3000,
              R"("nram": {"size_bytes": 4096})", "do not fit chip.core.nram.size_bytes, which is 4096"},
        Unfit{"pixel", kBatchnorm, 300, R"("nram": {"size_bytes": 7168})",
              "do not fit chip.core.nram.size_bytes, which is 7168"},
        Unfit{"factors_alone", kBatchnorm, 300, R"("nram": {"size_bytes": 4096})",
              "do not fit chip.core.nram.size_bytes, which is 4096"},
        Unfit{"factors", kBatchnorm, 300, R"("vector": {"parameter_bytes": 4096})",
              "4808 bytes of factors, chip.core.vector.parameter_bytes is 4096"},
        Unfit{"channels", R"("op": "softmax", "input_scale": 1)", 300, R"("vector": {"row_elements": 256})",
              "300 channels, chip.core.vector.row_elements and chip.core.copy.buffer_bytes hold 256"}),
    [](const auto& unfit) { return unfit.param.name; });

TEST(UnfitSram, HI_4_UI_5_a_forced_way_that_does_not_fit_is_refused_and_auto_does_without) {
  const CommandFolder folder;
  const std::string workload =
      folder.write("layer.json", R"({"inputs": [{"name": "x", "shape": [1, 4, 4, 8], "random": {"seed": 1}}],
                        "layers": [{"name": "y", "op": "conv2d", "inputs": ["x"], "out_channels": 40,
                                    "kernel": [3, 3], "weights": {"random": {"seed": 1}}}]})");
  for (const char* path : {"sram", "auto", "direct"}) {
    const std::string config = folder.write(
        "small.json",
        fmt::format(
            R"({{"chip": {{"cores_per_cluster": 2, "sram": {{"size_bytes": 256}}, "dram_path": "{}"}}}})",
            path));
    const CommandResult result = folder.run({"run", "--config", config, "--layer", workload});
    if (path != std::string("sram")) {
      EXPECT_EQ(result.status, 0) << result.err;
      continue;
    }
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr("layer.json: /layers/0: layer 'y' cannot fit: "));
    EXPECT_THAT(result.err, HasSubstr("chip.sram.size_bytes is 256"));
  }
}

}  // namespace
}  // namespace tilebeat::testing
