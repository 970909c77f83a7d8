// Programs by hand that read what is not there yet: bytes that an instruction under way will write, bytes
// that are overwritten while they are read, and bytes that nobody wrote (SPEC HI_2, CY_3, UI_5).
#include "tilebeat_command.h"
#include "workload/npy.h"

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

CommandResult run_by_hand(const CommandFolder& folder, const std::string& config, const std::string& file,
                          std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"run", "--config", source_path(config), "--program", file};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return folder.run(arguments);
}

// Both granularities, and processes in any order, refuse the program in the same words, and write nothing.
void expect_refused(const CommandFolder& folder, const std::string& config, const std::string& file,
                    const std::string& place, const std::string& message) {
  const auto before = folder.files();
  std::string first;
  for (const std::vector<std::string>& how : {std::vector<std::string>{"--granularity", "tile"},
                                              {"--granularity", "clock"},
                                              {"--jitter-seed", "7"}}) {
    const CommandResult run = run_by_hand(folder, config, file, how);
    EXPECT_EQ(run.status, 2) << run.out << run.err;
    EXPECT_THAT(run.err, AllOf(HasSubstr(place + ": instruction at 0x"), HasSubstr(message)));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << "one line: " << run.err;
    if (first.empty()) first = run.err;
    EXPECT_EQ(run.err, first) << how.front() << " " << how.back();
    EXPECT_EQ(folder.files(), before) << "nothing is written";
  }
}

struct Read {
  const char* name;
  const char* config;
  const char* text;  // the last of its instructions but for layer.end and halt is refused
  const char* message;
};
void PrintTo(const Read& read, std::ostream* out) {
  *out << read.name;
}
class RefusedRead : public ::testing::TestWithParam<Read> {};

TEST_P(RefusedRead, CY_3_HI_2_UI_5_exit_2_with_line_unit_memory_and_range) {
  const CommandFolder folder;
  std::string text = GetParam().text;
  const auto lines = std::count(text.begin(), text.end(), '\n');
  folder.write("t.program", text + "layer.end layer=0\nhalt\n");
  expect_refused(folder, GetParam().config, "t.program", fmt::format("t.program:{}", lines),
                 GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Units, RefusedRead,
    ::testing::Values(
        Read{"vector_unit_of_nram_that_iodma_writes", "configs/core1.json",
             ".program core 0.0\n"
             ".bytes 0x10000 01 02 03 04 05 06 07 08\n"
             "iodma.copy source=0x10000 destination=0x40000000000 run_bytes=8\n"
             "vector.run kind=maxpool rows=1 columns=1 channels=8 height=1 width=1 destination=0x100\n",
             "maxpool 1x1x8 of the vector unit of core 0.0 reads NRAM of core 0.0, bytes 0x0 to 0x7, which "
             "iodma.copy"},
        Read{"iodma_of_nram_that_the_vector_unit_writes", "configs/core1.json",
             ".program core 0.0\n"
             ".bytes 0x10000 01 02 03 04 05 06 07 08\n"
             "iodma.copy source=0x10000 destination=0x40000000000 run_bytes=8 completes map_full[0]\n"
             "vector.run kind=maxpool rows=1 columns=1 channels=8 height=1 width=1 destination=0x100 waits "
             "map_full[0] completes result_full[0]\n"
             "iodma.copy source=0x40000000104 destination=0x20000 run_bytes=2\n",
             "of the iodma unit of core 0.0 reads NRAM of core 0.0, bytes 0x104 to 0x105, which"},
        Read{"nram_that_iodma_overwrites_while_the_vector_unit_reads", "configs/core1.json",
             ".tensor x 0x10000 int8 4096\n"
             ".program core 0.0\n"
             "iodma.copy source=0x10000 destination=0x40000000000 run_bytes=4096 completes "
             "map_full[0],map_full[1]\n"
             "vector.run kind=maxpool rows=64 columns=8 channels=8 height=64 width=8 destination=0x2000 "
             "waits map_full[0] completes map_free[0],result_full[0]\n"
             "iodma.copy source=0x10000 destination=0x40000000800 run_bytes=16 waits "
             "map_full[1]\n",
             "of the iodma unit of core 0.0 writes NRAM of core 0.0, bytes 0x800 to 0x80f, which vector.run "
             "maxpool 64x8x8 at 0x"},
        Read{"sram_that_nobody_wrote", "configs/cluster4.json",
             ".program core 0.2\nmvdma.copy source=0x20000000040 destination=0x40080000000 run_bytes=16\n",
             "of the mvdma unit of core 0.2 reads SRAM of cluster0, bytes 0x40 to 0x4f, which nobody has "
             "written; --uninitialised allow permits that"},
        Read{"gdma_of_dram_that_it_writes_itself", "configs/cluster4.json",
             ".tensor x 0x10000 int8 64\n"
             ".program memory 0\n"
             "gdma.copy source=0x10000 destination=0x20000000000 run_bytes=64\n"
             "gdma.copy source=0x20000000020 destination=0x30000 run_bytes=16\n",
             "of the gdma unit of memory 0 reads SRAM of cluster0, bytes 0x20 to 0x2f, which gdma.copy"},
        Read{"cdma_of_sram_that_gdma_writes", "configs/cluster4x4.json",
             ".tensor x 0x10000 int8 64\n"
             ".program memory 1\n"
             "gdma.copy source=0x10000 destination=0x20400000000 run_bytes=64\n"
             "cdma.copy source=0x20400000000 destination=0x20000000000 run_bytes=16\n",
             "of the cdma unit of memory 1 reads SRAM of cluster1, bytes 0x0 to 0xf, which gdma.copy"},
        Read{"nram_that_a_broadcast_wrote_half", "configs/cluster4.json",
             ".tensor x 0x10000 int8 64\n"
             ".program memory 0\n"
             "gdma.copy source=0x10000 destination=0x20000000000 run_bytes=64 completes map_full[0]\n"
             "mvdma.copy source=0x20000000000 destination=0x800080000000 run_bytes=64 waits map_full[0] "
             "completes map_full[1]\n"
             "signal processors=2 semaphore=200 waits map_full[1]\n"
             "layer.end layer=0\nhalt\n"
             ".program core 0.1\n"
             "vector.run kind=maxpool rows=1 columns=1 channels=65 height=1 width=1 destination=0x100 waits "
             "peer[0]\n",
             "of the vector unit of core 0.1 reads NRAM of core 0.1, bytes 0x40 to 0x40, which nobody has"},
        Read{"wram_that_iodma_writes", "configs/core1.json",
             ".tensor x 0x10000 int8 1024\n"
             ".program core 0.0\n"
             "iodma.copy source=0x10000 destination=0x80000000000 run_bytes=1024\n"
             "load.kernels address=0x80000000000 post_address=0x80000000300 words=9 post_records=1\n",
             "of the parameter unit of core 0.0 reads WRAM of core 0.0, bytes 0x0 to 0x23f, which"},
        Read{"input_banks_that_nobody_wrote", "configs/switch16.json",
             ".program soc\nconv.setup output_type=int8\n"
             "conv.run rows=1 columns=1 height=1 width=1 planes=1 kernels=1 output_stride=16\n",
             "of the matrix unit of soc reads the input banks of soc, places 0x0 to 0x0, which nobody has"},
        Read{"parameter_buffer_that_nobody_wrote", "configs/switch16.json",
             ".tensor x 0x10000 int8 64\n"
             ".program soc\nconv.setup output_type=int8\n"
             "load.input address=0x10000 row_stride=4 pixel_stride=4 height=1 width=1 channels=4 completes "
             "input_full[0]\n"
             "conv.run rows=1 columns=1 height=1 width=1 planes=1 kernels=1 output_stride=16 waits "
             "input_full[0]\n",
             "reads the parameter buffer of soc, places 0x0 to 0x0, which nobody has"},
        Read{"output_buffer_that_nobody_wrote", "configs/switch16.json",
             ".program soc\nstore.output address=0x20000 source=0x40 pixel_bytes=16 rows=1 columns=1\n",
             "of the store unit of soc reads the output buffer of soc, places 0x40 to 0x4f, which nobody"},
        Read{"dram_that_nobody_wrote", "configs/switch16.json",
             ".program soc\n"
             "load.input address=0x10000 row_stride=4 pixel_stride=4 height=1 width=1 channels=4\n",
             "of the load unit of soc reads DRAM, bytes 0x10000 to 0x10003, which nobody has written"}),
    [](const auto& test) { return test.param.name; });

// ---- matrix engines ----

struct EngineRead {
  const char* name;
  const char* config;
  const char* run;
  const char* message;
};
void PrintTo(const EngineRead& read, std::ostream* out) {
  *out << read.name;
}
class RefusedRun : public ::testing::TestWithParam<EngineRead> {};

// A planned program whose first run no longer waits for its operands.
TEST_P(RefusedRun, CY_3_HI_2_UI_5_of_every_engine_that_does_not_wait) {
  const EngineRead& of = GetParam();
  const CommandFolder folder;
  ASSERT_EQ(folder
                .run({"plan", "--config", source_path(of.config), "--layer",
                      source_path("models/worked_dilated.json"), "--export", "made.program"})
                .status,
            0);
  ASSERT_EQ(run_by_hand(folder, of.config, "made.program", {"--out", "planned"}).status, 0);
  std::istringstream made(read_bytes(folder.path("made.program")));
  std::string text;
  int number = 0, changed = 0;
  for (std::string line; std::getline(made, line);) {
    ++number;
    if (changed == 0 && line.find(of.run) != std::string::npos) {
      changed = number;
      line = std::regex_replace(line, std::regex("  waits [^ ]+"), "");
    }
    text += line + "\n";
  }
  ASSERT_NE(changed, 0) << of.run;
  folder.write("changed.program", text);
  expect_refused(folder, of.config, "changed.program", fmt::format("changed.program:{}", changed),
                 of.message);
}

INSTANTIATE_TEST_SUITE_P(
    Engines, RefusedRun,
    ::testing::Values(EngineRead{"switch_array", "configs/switch16.json", "conv.run",
                                 "of the matrix unit of soc reads the input banks"},
                      EngineRead{"switch_array_of_a_core", "configs/core1.json", "conv.run",
                                 "of the matrix unit of core 0.0 reads the input banks"},
                      EngineRead{"wfold", "configs/wfold16x4.json", "wfold.run",
                                 "of the matrix unit of core 0.0 reads WRAM of core 0.0"},
                      EngineRead{"rolling", "configs/rolling16.json", "rolling.run",
                                 "of the matrix unit of core 0.0 reads WRAM of core 0.0"},
                      EngineRead{"offset", "configs/offset16.json", "offset.run",
                                 "of the matrix unit of core 0.0 reads WRAM of core 0.0"}),
    [](const auto& test) { return test.param.name; });

// ---- bytes that nobody wrote ----

constexpr const char* kReadsNothing =
    ".tensor y 0x20000 int8 8\n"
    ".program core 0.0\n"
    "{}"
    "iodma.copy source=0x40000000100 destination=0x20000 run_bytes=8\n"
    "layer.end layer=0\nhalt\n";

TEST(UninitialisedReads, HI_2_UI_5_are_zero_where_they_are_allowed) {
  const CommandFolder folder;
  const std::string file = folder.write("t.program", fmt::format(fmt::runtime(kReadsNothing), ""));
  for (const std::vector<std::string>& how : {std::vector<std::string>{}, {"--uninitialised", "refuse"}}) {
    const CommandResult refused = run_by_hand(folder, "configs/core1.json", file, how);
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr("NRAM of core 0.0, bytes 0x100 to 0x107, which nobody has written"));
  }
  const CommandResult allowed = run_by_hand(folder, "configs/core1.json", file, {"--uninitialised", "allow"});
  ASSERT_EQ(allowed.status, 0) << allowed.err;
  EXPECT_EQ(read_npy(folder.path("tilebeat-out/outputs/y.npy")).bytes, std::vector<std::uint8_t>(8, 0));
  const CommandResult again = folder.run({"rerun", "tilebeat-out/report.json"});
  EXPECT_EQ(again.status, 0) << "the report says how the run was allowed: " << again.err;
}

TEST(UninitialisedReads, HI_2_UI_5_do_not_allow_reads_under_way) {
  const CommandFolder folder;
  const std::string file = folder.write(
      "t.program", fmt::format(fmt::runtime(kReadsNothing),
                               "iodma.copy source=0x10000 destination=0x40000000100 run_bytes=4\n"));
  const CommandResult run = run_by_hand(folder, "configs/core1.json", file, {"--uninitialised", "allow"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("t.program:4: "));
  EXPECT_THAT(run.err, HasSubstr("bytes 0x100 to 0x103, which iodma.copy"));
}

TEST(UninitialisedReads, UI_5_are_a_question_of_programs_alone) {
  const CommandFolder folder;
  const CommandResult layer =
      folder.run_layer("configs/switch16.json", "models/worked_dilated.json", {"--uninitialised", "allow"});
  EXPECT_EQ(layer.status, 2);
  EXPECT_THAT(layer.err, AllOf(HasSubstr("--uninitialised"), HasSubstr("--layer")));
  const CommandResult other =
      run_by_hand(folder, "configs/core1.json", "t.program", {"--uninitialised", "0"});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("--uninitialised"));
}

// What a pooling's windows leave out is not read: neither padding nor what lies between dilated taps.
TEST(UninitialisedReads, HI_2_only_what_is_read_counts) {
  const CommandFolder folder;
  const std::string text = folder.write(
      "t.program",
      ".label nram 0x40000000000\n"
      ".bytes 0x10000 01 02\n"
      ".tensor y 0x20000 int8 1 2 1 1\n"
      ".program core 0.0\n"
      "iodma.copy source=0x10000 destination=@nram run_bytes=1 completes map_full[0]\n"
      "iodma.copy source=0x10001 destination=@nram+2 run_bytes=1 completes map_full[0]\n"
      "vector.run kind=maxpool rows=2 columns=1 channels=1 height=3 width=1 kernel_h=2 stride_h=2 "
      "dilation_h=2 h_offset=-2 destination=0x100 waits map_full[0],map_full[0] completes result_full[0]\n"
      "iodma.copy source=@nram+256 destination=0x20000 run_bytes=2 waits result_full[0]\n"
      "layer.end layer=0\nhalt\n");
  const CommandResult run = run_by_hand(folder, "configs/core1.json", text);
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(read_npy(folder.path("tilebeat-out/outputs/y.npy")).bytes, (std::vector<std::uint8_t>{1, 2}));
}

// ---- .expect, .int32, .double, .label ----

constexpr const char* kCopies =
    ".label in 0x10000\n"
    ".label nram 0x40000000000\n"
    ".label ready map_full[0]\n"
    ".int32 @in -2147483648 0x7 5\n"
    ".double @in+16 0.5 -1e3\n"
    ".tensor y 0x20000 int32 7\n"
    ".expect y e.npy\n"
    ".program core 0.0\n"
    "iodma.copy source=@in destination=@nram+64 run_bytes=12 completes @ready\n"
    "iodma.copy source=@in+16 destination=@nram+76 run_bytes=16 completes @ready\n"
    "iodma.copy source=@nram+64 destination=0x20000 run_bytes=28 waits @ready,@ready\n"
    "layer.end layer=0\nhalt\n";

// An array of int32 elements.
Tensor elements(const std::vector<std::int32_t>& values) {
  Tensor made;
  made.shape = {static_cast<std::int64_t>(values.size())}, made.dtype = DType::kInt32;
  for (const std::int32_t value : values) {
    for (int i = 0; i < 4; ++i)
      made.bytes.push_back(static_cast<std::uint8_t>(static_cast<std::uint32_t>(value) >> 8 * i));
  }
  return made;
}

TEST(ProgramDirectives, CY_8_HI_2_a_result_is_compared_with_what_is_expected) {
  const CommandFolder folder;
  const std::string file = folder.write("t.program", kCopies);
  // 0.5 and -1000 as IEEE doubles.
  const std::vector<std::int32_t> right{
      INT32_MIN, 7, 5, 0, 0x3fe00000, 0, static_cast<std::int32_t>(0xc08f4000)};
  write_npy(folder.path("e.npy"), elements(right));
  const CommandResult same = run_by_hand(folder, "configs/core1.json", file);
  ASSERT_EQ(same.status, 0) << same.out << same.err;
  std::vector<std::int32_t> wrong = right;
  wrong[1] = 8, wrong[5] = -3;
  write_npy(folder.path("e.npy"), elements(wrong));
  const CommandResult run = run_by_hand(folder, "configs/core1.json", file);
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out,
              HasSubstr("FAILED: 2 of 7 elements of 'y' differ from e.npy: the first one, [1], is 7, "
                        "8 is expected"));
  EXPECT_EQ(folder.report().at("passed"), false);
  EXPECT_EQ(read_npy(folder.path("tilebeat-out/outputs/y.npy")).bytes, elements(right).bytes)
      << "the outputs are written all the same";
}

TEST(ProgramDirectives, UI_5_an_expected_array_of_another_shape_is_refused) {
  const CommandFolder folder;
  const std::string file = folder.write("t.program", kCopies);
  write_npy(folder.path("e.npy"), elements({1, 2}));
  const CommandResult run = run_by_hand(folder, "configs/core1.json", file);
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("t.program:7: e.npy: is int32 [2], the .tensor \"y\" is int32 [7]"));
}

}  // namespace
}  // namespace tilebeat::testing
