// What post-processing uses while lanes drain, biases, scales and the registers of conv.setup: held until the
// last lane has drained, or copied with the accumulators (SPEC SW-9).
#include "../../data/temporary_folder.h"
#include "changed_program.h"
#include "engines/switch_array/config.h"
#include "engines/switch_array/operations.h"
#include "isa/instruction.h"
#include "program/program_file.h"
#include "reference/reference.h"
#include "simulated_run.h"
#include "workload/npy.h"
#include "workload/workload.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {

using switch_array::ConvRun;
using switch_array::RecordsKind;
using switch_array::SwitchArrayConfig;

namespace {

std::string layer_file(const std::string& name) {
  return TILEBEAT_SOURCE_DIR "/tests/data/layers/" + name;
}

class SwitchRecords : public ::testing::TestWithParam<Granularity> {
 protected:
  static SimulatedRun run(const HardwareConfig& hardware, const Plan& plan) {
    SimulationOptions options;
    options.granularity = GetParam();
    SimulatedRun done = simulate_in_child(hardware, plan, options);
    EXPECT_EQ(done.failures, std::vector<std::string>{});
    return done;
  }
  /// The cycles of a layer of four kernel blocks and one slot, after its outputs were compared.
  static Cycle cycles_of(HardwareConfig hardware, const Workload& workload, RecordsKind records) {
    hardware.engine<SwitchArrayConfig>().records = records;
    const SimulatedRun done = run(hardware, make_plan(workload, hardware));
    const std::map<std::string, Tensor> reference = run_reference(workload);
    EXPECT_FALSE(first_mismatch("c", reference.at("c"), done.outputs.at("c")).has_value());
    return done.cycles();
  }
};
INSTANTIATE_TEST_SUITE_P(SwitchArray, SwitchRecords,
                         ::testing::Values(Granularity::kClock, Granularity::kTile), [](const auto& test) {
                           return test.param == Granularity::kClock ? "clock" : "tile";
                         });

// A refilled slot: the last lane drains in cycle m + D, for a last MAC in cycle m. Held, its C records are
// written in the cycles m + D + 1 to m + D + C, the kernels are there in the next one, the run begins in the
// one after, its first MAC is 2 cycles and the last one of its first operation cycle t - 1 cycles later.
// Copied, records and kernels come while lanes drain, and that MAC waits for the shadow registers alone,
// until cycle m + D.
TEST_P(SwitchRecords, SW_9_a_refill_waits_for_the_last_lane_where_records_are_held) {
  const int refills = 3;
  for (const auto& [hw, layer, beats] : {std::tuple("hw", "layer", 18), std::tuple("hw_d1", "layer_d1", 9)}) {
    const HardwareConfig hardware = load_hardware(layer_file(fmt::format("records/{}.json", hw)));
    const Workload workload = load_workload(layer_file(fmt::format("records/{}.json", layer)));
    const int columns = hardware.engine<SwitchArrayConfig>().columns;
    const Cycle held = cycles_of(hardware, workload, RecordsKind::kHeld);
    const Cycle copied = cycles_of(hardware, workload, RecordsKind::kCopied);
    EXPECT_EQ(held - copied, refills * (columns + 2 + 2 + beats - 1)) << hw;
  }
}

TEST_P(SwitchRecords, SW_9_slots_that_are_not_refilled_cost_nothing) {
  HardwareConfig hardware = load_hardware(layer_file("records/hw_d1.json"));
  const Workload workload = load_workload(layer_file("records/layer_d1.json"));
  SwitchArrayConfig& array = hardware.engine<SwitchArrayConfig>();
  array.parameter_slots = 4, array.parameter_depth_words = 64;
  EXPECT_EQ(cycles_of(hardware, workload, RecordsKind::kHeld),
            cycles_of(hardware, workload, RecordsKind::kCopied));
}

/// Results of the two runs of the program: a valid 3x3 convolution whose sums get the record's bias, a floor
/// of `least`, the record's scale and a zero point.
std::vector<std::uint8_t> expected_results(std::int32_t least, int zero_point, DType map = DType::kInt8) {
  const std::string folder = layer_file("setup_in_drain/");
  const Tensor x = read_npy(folder + "x.npy"), k = read_npy(folder + "k.npy"),
               r = read_npy(folder + "rec.npy");
  constexpr int kRows = 6, kColumns = 12, kMapColumns = 14, kChannels = 3, kKernels = 16, kPort = 4;
  std::vector<std::uint8_t> bytes;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      for (int kernel = 0; kernel < kKernels; ++kernel) {
        const PostParameter record = decode_post_parameter(r.bytes.data() + kernel * kPostParameterBytes);
        std::int32_t sum = record.bias;
        for (int tap = 0; tap < 9; ++tap) {
          for (int channel = 0; channel < kChannels; ++channel) {
            const int pixel = (row + tap / 3) * kMapColumns + column + tap % 3;
            const std::uint8_t byte = nth(x.bytes, pixel * kChannels + channel);
            sum += (map == DType::kUint8 ? byte : static_cast<std::int8_t>(byte)) *
                   static_cast<std::int8_t>(nth(k.bytes, (tap * kKernels + kernel) * kPort + channel));
          }
        }
        const double real = std::nearbyint(std::max(sum, least) * record.scale) + zero_point;
        bytes.push_back(static_cast<std::uint8_t>(std::clamp(real, -128.0, 127.0)));
      }
    }
  }
  return bytes;
}

// The second setup comes when the last MAC is done: held, it waits for L lanes; copied, the array waits a
// cycle for the run behind it, which is sent when the first run is released.
TEST_P(SwitchRecords, SW_9_a_setup_waits_for_the_drain_or_takes_effect_behind_it) {
  for (const int per_lane : {1, 2, 7}) {
    for (const RecordsKind records : {RecordsKind::kHeld, RecordsKind::kCopied}) {
      HardwareConfig hardware;
      SwitchArrayConfig& array = hardware.engine<SwitchArrayConfig>();
      array.records = records, array.drain_clocks_per_lane = per_lane;
      const Plan plan = load_programs(layer_file("setup_in_drain/two_setups.program"), hardware).plan;
      const SimulatedRun done = run(hardware, plan);
      EXPECT_EQ(done.outputs.at("y").bytes, expected_results(0, 0)) << per_lane;
      EXPECT_EQ(done.outputs.at("z").bytes, expected_results(INT32_MIN, 5)) << per_lane;
      const nlohmann::json& module = done.module("engine.array");
      const bool held = records == RecordsKind::kHeld;
      EXPECT_EQ(SimulatedRun::stall(module, "setup_wait"), held ? 8 * per_lane : 0);
      EXPECT_EQ(SimulatedRun::stall(module, "dispatch"), held ? 0 : 1);
      EXPECT_EQ(SimulatedRun::stall(module, "no_work"), 0);
    }
  }
}

// The second run reads the same tile, which nobody has written since, but takes its bytes for uint8.
TEST_P(SwitchRecords, SW_9_a_setup_gives_the_same_tile_another_type) {
  const HardwareConfig hardware;
  Plan plan = load_programs(layer_file("setup_in_drain/two_setups.program"), hardware).plan;
  int setups = 0;
  for (Instruction& instruction : plan.programs.at(0).instructions) {
    if (auto* setup = instruction.operation.get_if<ConvSetup>(); setup != nullptr && ++setups == 2)
      setup->input_type = DType::kUint8;
  }
  write_back(plan, plan.programs.at(0));
  const SimulatedRun done = run(hardware, plan);
  EXPECT_EQ(done.outputs.at("y").bytes, expected_results(0, 0));
  EXPECT_EQ(done.outputs.at("z").bytes, expected_results(INT32_MIN, 5, DType::kUint8));
}

// ---- quotients of conv.run ----

/// The runs of a program whose map of 9 x 11 pixels, at stride 2 x 3, begins 3 rows and 5 columns outside.
std::vector<ConvRun> runs_of(const HardwareConfig& hardware, const std::string& fields) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("t.program",
                   ".program soc\nconv.setup stride_h=2 stride_w=3\n"
                   "conv.run rows=1 columns=1 height=9 width=11 h_offset=-3 w_offset=-5 planes=1 kernels=1" +
                       fields + "\nhalt\n");
  std::vector<ConvRun> runs;
  for (const Instruction& instruction : load_programs(file, hardware).plan.programs.at(0).instructions) {
    if (instruction.operation.is<ConvRun>()) runs.push_back(instruction.operation.get<ConvRun>());
  }
  return runs;
}

// G = 2, L = 8: of every 4 rows a half has 2, the fuller one 5 of 9 rows: 55 words in lines of 8.
TEST(SwitchSetup, SW_9_the_assembler_fills_in_quotients_that_are_omitted) {
  HardwareConfig hardware;
  const ConvRun run = runs_of(hardware, "").at(0);
  EXPECT_EQ(run.plane_words, 7);
  EXPECT_EQ(run.phase_columns, 3) << "11 div 3";
  EXPECT_EQ(run.h_quotient, -2) << "-3 div 2, rounded down";
  EXPECT_EQ(run.w_quotient, -2) << "-5 div 3, rounded down";
  EXPECT_EQ(runs_of(hardware, " plane_words=9").at(0).phase_columns, 0) << "given ones stay as they are";
  hardware.engine<SwitchArrayConfig>().arrangement = switch_array::ArrangementKind::kTable1;
  const ConvRun plain = runs_of(hardware, "").at(0);
  EXPECT_EQ(plain.plane_words, 7) << "5 of 9 rows";
  EXPECT_EQ(std::tuple(plain.phase_columns, plain.h_quotient, plain.w_quotient), std::tuple(0, 0, 0));
}

TEST_P(SwitchRecords, SW_9_a_run_with_wrong_quotients_is_refused) {
  HardwareConfig hardware;
  Plan plan = load_programs(layer_file("setup_in_drain/two_setups.program"), hardware).plan;
  for (Instruction& instruction : plan.programs.at(0).instructions) {
    if (auto* run = instruction.operation.get_if<ConvRun>()) ++run->plane_words;
  }
  write_back(plan, plan.programs.at(0));
  SimulationOptions options;
  options.granularity = GetParam();
  const SimulatedRun refused = simulate_in_child(hardware, plan, options);
  EXPECT_THAT(refused.failures,
              ::testing::Contains(::testing::HasSubstr(
                  "conv.run: plane_words 8, phase_columns 0, h_quotient 0, w_quotient 0; its "
                  "map, offsets and strides have plane_words 7,")));
}

}  // namespace
}  // namespace tilebeat::testing
