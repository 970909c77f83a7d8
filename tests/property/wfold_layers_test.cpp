// Random layers on random chips of W-fold cores: outputs against the reference operators, beats against SPEC
// WF-4, everything of one granularity against the other (SPEC WF_1 to WF_8, CY_3).
#include "budget.h"
#include "checked_run.h"
#include "engines/wfold/config.h"
#include "random_wfold.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {

using wfold::FoldPlace;
using wfold::ReadChoice;
using wfold::WfoldConfig;

namespace {

struct FoldTally : Refusals {
  int cut = 0, reduced = 0, strided = 0, grouped = 0, dilated = 0;
};

void count(const ConvShape& shape, FoldTally& tally) {
  tally.strided += shape.stride[1] > 1 ? 1 : 0;
  tally.grouped += shape.groups > 1 ? 1 : 0;
  tally.dilated += shape.dilation[1] > 1 ? 1 : 0;
}

/// The granularity of a layer in one group.
int granularity_of(const ConvShape& s, const HardwareConfig& hardware) {
  const WfoldConfig& c = hardware.engine<WfoldConfig>();
  if (c.pci > 0) return c.pci;
  const auto columns = static_cast<int>(ceiling(s.pads[1] + s.width + s.pads[3], s.stride[1]));
  return chosen_granularity(s.stride[1] * s.channels, columns, c.smallest_pci, c.tolerance_bytes,
                            c.line_bytes);
}

/// Both granularities; returns the run of one, or nothing when the planner refused.
std::optional<SimulatedRun> check_on_chip(const ConvShape& shape, const HardwareConfig& hardware,
                                          FoldTally& tally) {
  RC_LOG() << to_text(shape) << "\n";
  const Workload workload = conv_workload(shape);
  const auto plan = plan_or_refusal(workload, hardware, {"chip.", "wfold.", "dram."}, tally);
  if (!plan) return std::nullopt;
  count(shape, tally);
  const LayerMapping& mapping = plan->mappings.at(0);
  tally.cut += mapping.cores() > 1 || mapping.kernel_buffers > 1 ? 1 : 0;
  tally.reduced += mapping.channel_parts > 1 ? 1 : 0;
  SimulatedRun run = check_both_granularities(workload, hardware, plan->plan, 30);
  SimulationOptions options;
  options.granularity = one_in(2) ? Granularity::kTile : Granularity::kClock;
  options.jitter_seed = static_cast<std::uint32_t>(number(1, 1000));
  RC_ASSERT(simulate_in_child(hardware, plan->plan, options, 30).report_text == run.report_text);
  std::int64_t left = 0;  // what the slaves gave is what the writers wrote
  for (const auto& counter : run.report.at("counters")) {
    if (counter.at("name") != "results") continue;
    const std::string module = counter.at("module");
    const auto value = counter.at("value").get<std::int64_t>();
    if (module.find(".engine.sl") != std::string::npos) left += value;
    if (module.find(".engine.writer") != std::string::npos) left -= value;
  }
  RC_ASSERT(left == 0);
  return run;
}

constexpr std::int64_t kMacs = 300'000;

/// What the layers or chips of a test have in common.
enum class Kind { kAny, kStrided, kGrouped, kWide, kTight, kReduced };
void PrintTo(Kind kind, std::ostream* out) {
  constexpr std::array<const char*, 6> kNames{"any", "strided", "grouped", "wide", "tight", "reduced"};
  *out << kNames.at(static_cast<std::size_t>(kind));
}
class RandomWfoldLayers : public ::testing::TestWithParam<Kind> {
 protected:
  static std::pair<ConvShape, HardwareConfig> make() {
    ConvShape shape = random_wfold_layer(kMacs);
    HardwareConfig hardware = random_wfold_chip();
    switch (GetParam()) {
      case Kind::kAny:
        break;
      case Kind::kStrided:
        hardware.engine<WfoldConfig>().fold_place = one_in(2) ? FoldPlace::kInPlace : FoldPlace::kDram;
        widen(shape, 1, number(2, 8), shape.dilation[1]);
        break;
      case Kind::kGrouped: {
        shape.groups = std::max(2, std::min(shape.channels, shape.out_channels) / number(1, 4));
        shape.channels = shape.groups * number(1, 3), shape.out_channels = shape.groups * number(1, 2);
        if (shape.requant) shape.requant->scale.resize(1);
        break;
      }
      case Kind::kWide:
        hardware.engine<WfoldConfig>().first_buffer_lines =
            hardware.engine<WfoldConfig>().compute_units + number(1, 2);
        widen(shape, number(5, 11), shape.stride[1], number(1, 3));
        break;
      case Kind::kTight: {
        MemoryConfig& nram = hardware.chip->core.nram;
        const std::int64_t row = std::int64_t{nram.banks} * nram.bank_bytes;
        nram.size_bytes = std::max<std::int64_t>(1, 6144 / row) * row;
        break;
      }
      case Kind::kReduced:
        reduce(shape, hardware.chip->core);
    }
    return {shape, hardware};
  }

 private:
  static void widen(ConvShape& shape, int kernel, int stride, int dilation) {
    const int outs = shape.out_extent(1);
    shape.kernel[1] = std::max(shape.kernel[1], kernel), shape.stride[1] = stride,
    shape.dilation[1] = dilation;
    set_outputs(shape, 1, outs);
  }
  /// Small kernels over many channels, of which a region of WRAM holds a half or less; NRAM holds the map.
  static void reduce(ConvShape& shape, CoreConfig& core) {
    MemoryConfig &nram = core.nram, &wram = core.wram;
    const std::int64_t row = std::int64_t{nram.banks} * nram.bank_bytes;
    nram.size_bytes = std::max(nram.size_bytes, align_up<std::int64_t>(65536, row));
    shape.batch = shape.groups = 1;
    shape.channels = number(150, 400), shape.out_channels = std::min(shape.out_channels, number(1, 40));
    if (shape.requant) shape.requant->scale.resize(1);
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const int outs = std::min(shape.out_extent(axis), axis == 0 ? 2 : 8);
      shape.kernel[axis] = std::min(shape.kernel[axis], 2);
      set_outputs(shape, axis, outs);
    }
    const std::int64_t taps = std::int64_t{shape.kernel[0]} * shape.kernel[1];
    const std::int64_t least = 3 * (64 * taps + kPostParameterBytes + 64);
    wram.size_bytes =
        wram.banks * align_up<std::int64_t>(std::max(least, shape.channels * taps / number(1, 3)), 64);
  }
  /// Sets the map's extent so that there are so many outputs.
  static void set_outputs(ConvShape& shape, std::size_t axis, int outs) {
    const int window = (shape.kernel[axis] - 1) * shape.dilation[axis] + 1 + (outs - 1) * shape.stride[axis];
    (axis == 0 ? shape.height : shape.width) =
        std::max(1, window - shape.pads[axis] - shape.pads[axis + 2] + number(0, shape.stride[axis] - 1));
  }
};

TEST_P(RandomWfoldLayers, WF_1_WF_2_WF_5_WF_6_WF_7_CY_3_on_random_chips) {
  const int cases = budget(110, kFewest);
  FoldTally tally;
  const auto enough = [&] {
    if (GetParam() == Kind::kReduced) return tally.reduced >= budget(30) && tally.strided >= budget(10);
    return tally.cases >= cases &&
           (GetParam() != Kind::kAny || (tally.cut >= budget(10) && tally.strided >= budget(10) &&
                                         tally.grouped >= budget(5) && tally.dilated >= budget(5)));
  };
  check_cases_until(enough, cases, [&] {
    const auto [shape, hardware] = make();
    check_on_chip(shape, hardware, tally);
  });
  EXPECT_GE(tally.cases, cases);
  EXPECT_LE(tally.refused * 2, tally.cases) << "layers that cannot fit are the exception";
  if (GetParam() == Kind::kReduced) {
    EXPECT_GE(tally.reduced, budget(30)) << "layers whose channels are cut";
    EXPECT_GE(tally.strided, budget(10));
  }
  if (GetParam() != Kind::kAny) return;
  EXPECT_GE(tally.cut, budget(10)) << "layers that are cut";
  EXPECT_GE(tally.strided, budget(10));
  EXPECT_GE(tally.grouped, budget(5));
  EXPECT_GE(tally.dilated, budget(5));
}
INSTANTIATE_TEST_SUITE_P(Layers, RandomWfoldLayers,
                         ::testing::Values(Kind::kAny, Kind::kStrided, Kind::kGrouped, Kind::kWide,
                                           Kind::kTight, Kind::kReduced),
                         [](const auto& test) { return ::testing::PrintToString(test.param); });

// One core; memories that hold every layer's rows, so that tiles of NRAM need to be cut along rows alone,
// which takes no further beats (SPEC WF-4). The planner may still prefer narrower ones.
HardwareConfig one_large_core() {
  HardwareConfig hardware = random_wfold_chip(1, 1);
  ChipConfig& chip = *hardware.chip;
  chip.core.nram.size_bytes = std::int64_t{chip.core.nram.banks} * chip.core.nram.bank_bytes * 8192;
  chip.core.wram.size_bytes = std::int64_t{chip.core.wram.banks} * chip.core.wram.bank_bytes * 16384;
  return hardware;
}

TEST(RandomWfoldBeats, WF_4_WF_6_beats_of_a_layer) {
  FoldTally tally;
  int whole_rows = 0;
  check_cases(budget(100, kFewest), [&] {
    ConvShape shape = random_wfold_layer(kMacs);
    if (shape.groups > 1) shape.groups = 1;
    const HardwareConfig hardware = one_large_core();
    const auto run = check_on_chip(shape, hardware, tally);
    if (!run) return;
    const SpecConv conv = spec_conv(shape);
    const SpecWfold engine = spec_wfold(hardware);
    const int pci = granularity_of(shape, hardware);
    RC_LOG() << "Pci " << pci << "\n";
    const WfoldConfig& c = hardware.engine<WfoldConfig>();
    const LayerMapping mapping = plan_network(conv_workload(shape), hardware).mappings.at(0);
    if (mapping.tile_columns < conv.out_width) return;  // columns at the borders of tiles take further beats
    ++whole_rows;
    const int block = mapping.kernels_per_block;
    SpecWfold of_beats = engine;
    if (c.first_buffer == wfold::FirstBuffer::kKernels)  // a beat is a line of columns and a block of kernels
      of_beats.slaves = block, of_beats.units = 1;
    const std::int64_t beats = wfold_beats(conv, of_beats, pci);
    RC_ASSERT(run->layer().at("beats").get<std::int64_t>() == beats);
    const std::string engine_name = "cluster0.core0.engine";
    RC_ASSERT(run->module(engine_name + ".array").at("busy").get<std::int64_t>() == beats);
    SpecWfold in_blocks = engine;  // a block of kernels is a tile, or fewer that the planner prefers
    in_blocks.second = 2 * block / engine.slaves;
    RC_ASSERT(in_blocks.second <= engine.second);
    SpecConv stored = conv;  // what NRAM has of a row: the columns that are read, or folded ones with padding
    const int span = (conv.kernel[1] - 1) * conv.dilation[1];
    stored.width = std::min(conv.width, (conv.out_width - 1) * conv.stride[1] + span + 1 - conv.pad[1]);
    const bool folded = hardware.engine<WfoldConfig>().fold_place != FoldPlace::kOnChip;
    if (stored.width > 0 && conv.stride[1] > 1 && folded) {
      stored.width = (conv.out_width + span / conv.stride[1]) * conv.stride[1];
      stored.pad[1] = 0;
    }
    RC_ASSERT(run->module(engine_name + ".broadcast").at("busy").get<std::int64_t>() ==
              wfold_map_lines(stored, in_blocks, pci));
  });
  EXPECT_LE(tally.refused * 4, tally.cases);
  EXPECT_GE(whole_rows * 2, tally.cases) << "layers whose tiles have whole rows";
}

// ---- single cases that deserve a run of their own ----

void check_folded(const ConvShape& shape, const HardwareConfig& hardware) {
  FoldTally tally;
  check_cases(1, [&] { check_on_chip(shape, hardware, tally); });
  EXPECT_EQ(tally.refused, 0) << to_text(shape);
}

TEST(CornerWfoldLayers, WF_5_a_surplus_folded_column_is_dropped) {
  ConvShape shape;  // Wi 3, Kw 2, sw 2 has one output
  shape.height = 1, shape.width = 3, shape.kernel = {1, 2}, shape.stride = {1, 2};
  for (const auto place : {FoldPlace::kOnChip, FoldPlace::kDram, FoldPlace::kInPlace}) {
    HardwareConfig hardware = load_hardware(TILEBEAT_SOURCE_DIR "/configs/wfold16x4.json");
    hardware.engine<WfoldConfig>().fold_place = place;
    EXPECT_EQ(shape.out_extent(1), 1);
    check_folded(shape, hardware);
  }
}

TEST(CornerWfoldLayers, WF_2_WF_5_tiles_of_padding_alone) {
  ConvShape shape;
  shape.height = 2, shape.width = 4, shape.kernel = {3, 3}, shape.stride = {2, 3},
  shape.pads = {9, 40, 8, 50};
  shape.input_zero_point = 3, shape.bias = true;
  for (const auto place : {FoldPlace::kOnChip, FoldPlace::kDram, FoldPlace::kInPlace}) {
    HardwareConfig hardware = load_hardware(TILEBEAT_SOURCE_DIR "/configs/wfold16x4.json");
    hardware.engine<WfoldConfig>().fold_place = place;
    check_folded(shape, hardware);
    hardware.chip->core.nram.size_bytes = 16 * 16 * 16;
    check_folded(shape, hardware);
  }
}

// Both kernels fit a line of Pco channels, but a tile has one of them.
TEST(CornerWfoldLayers, WF_7_kernel_tiles_smaller_than_the_result_granularity) {
  for (const bool requant : {false, true}) {
    ConvShape shape;
    shape.height = 3, shape.width = 2, shape.channels = 1, shape.out_channels = 5;
    if (requant) shape.requant = Requant{{0.01}, 0, DType::kInt8};
    HardwareConfig hardware = load_hardware(TILEBEAT_SOURCE_DIR "/configs/wfold16x4.json");
    hardware.engine<WfoldConfig>().slaves = 1, hardware.engine<WfoldConfig>().second_buffer_lines = 2;
    hardware.chip->core.wram.banks = 1;
    check_folded(shape, hardware);
  }
}

// Kernels of the first tile touch both groups, those of the second one alone: half of a pixel.
TEST(CornerWfoldLayers, WF_2_kernel_tiles_that_touch_other_channels) {
  for (const auto mode : {ReadChoice::kAuto, ReadChoice::kStrided, ReadChoice::kTransit}) {
    ConvShape shape;
    shape.channels = 2, shape.groups = 2, shape.out_channels = 26;
    HardwareConfig hardware = load_hardware(TILEBEAT_SOURCE_DIR "/configs/wfold16x4.json");
    hardware.engine<WfoldConfig>().slaves = 4, hardware.chip->core.wram.banks = 4;
    hardware.engine<WfoldConfig>().read_mode = mode;
    check_folded(shape, hardware);
  }
}

TEST(CornerWfoldLayers, WF_1_all_granularities_forced) {
  for (const int pci : {2, 4, 8, 16, 32, 64}) {
    for (const int channels : {1, 3, 47, 64, 65}) {
      ConvShape shape;
      shape.height = 3, shape.width = 12, shape.channels = channels, shape.kernel = {2, 11};
      shape.pads = {0, 3, 1, 9}, shape.weight_zero_point = 5, shape.input_zero_point = -7;
      HardwareConfig hardware = load_hardware(TILEBEAT_SOURCE_DIR "/configs/wfold16x4.json");
      hardware.engine<WfoldConfig>().pci = pci;
      check_folded(shape, hardware);
    }
  }
}

}  // namespace
}  // namespace tilebeat::testing
