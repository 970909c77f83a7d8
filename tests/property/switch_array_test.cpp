// Random layers on random switch arrays, whole SoC, both granularities: results against the reference
// operators, beats and conflicts against SPEC section 3, everything of one granularity against the other.
#include "budget.h"
#include "checked_run.h"
#include "engines/switch_array/config.h"
#include "planned_tiles.h"
#include "random_cases.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {

using switch_array::ArrangementKind;
using switch_array::SwitchArrayConfig;

namespace {

void compare_counts(const ConvShape& shape, const HardwareConfig& hardware, const PlannedTiles& tiling,
                    const SimulatedRun& run) {
  const SpecConv conv = spec_conv(shape);
  const auto beats = run.layer().at("beats").get<std::int64_t>();
  RC_ASSERT(beats == beats_of(conv, spec_array(hardware)));
  RC_ASSERT(
      run.layer().at("bank_conflict_cycles").get<std::int64_t>() ==
      conflicts_of(conv, spec_array(hardware), tiling.tile_rows, tiling.tile_columns, layout_of(hardware)));
  std::int64_t clocks = beats;
  for (const auto& [cause, count] : run.layer().at("stall_cycles").items())
    clocks += count.get<std::int64_t>();
  RC_ASSERT(run.layer().at("cycles").get<std::int64_t>() == clocks);
  RC_ASSERT(run.cycles() == clocks);
}

void check_layer(const ConvShape& shape, const HardwareConfig& hardware, Refusals& tally) {
  RC_LOG() << to_text(shape) << "\n";
  const Workload workload = conv_workload(shape);
  const auto plan = plan_or_refusal(workload, hardware, {"switch_array.", "dram."}, tally);
  if (!plan) return;
  const SimulatedRun run = check_both_granularities(workload, hardware, plan->plan);
  compare_counts(shape, hardware, planned_tiles(plan->plan, shape.out_extent(0), shape.out_extent(1)), run);
}

/// `cases` layers of `make`, as many of them as the budget has, of which at least two thirds must fit.
template <class Make>
void check_layers(int cases, Make make) {
  Refusals tally;
  cases = budget(cases, kFewest);
  check_cases(cases, [&] {
    const auto [shape, hardware] = make();
    check_layer(shape, hardware, tally);
  });
  EXPECT_LE(tally.refused * 3, tally.cases) << "layers that cannot fit are the exception";
  EXPECT_GE(tally.cases, cases) << "every case was run";
}

using LayerOnArray = std::pair<ConvShape, HardwareConfig>;

TEST(RandomLayers, SW_3_SW_5_CY_3_on_the_array_of_document_000) {
  check_layers(200, [] {
    HardwareConfig hardware;
    hardware.engine<SwitchArrayConfig>().arrangement =
        one_in(2) ? ArrangementKind::kTable1 : ArrangementKind::kStrideAware;
    return LayerOnArray{random_layer(spec_array(hardware)), hardware};
  });
}

TEST(RandomLayers, SW_4_on_arrays_of_any_shape) {
  check_layers(200, [] {
    const HardwareConfig hardware = random_array_shape();
    return LayerOnArray{random_layer(spec_array(hardware)), hardware};
  });
}

TEST(RandomLayers, SW_7_in_tiles_and_channel_pieces) {
  check_layers(200, [] {
    HardwareConfig hardware = random_array_shape();
    tighten_buffers(hardware);
    return LayerOnArray{random_layer(spec_array(hardware), {3000, 5, 4, 4, 4, 70}), hardware};
  });
}

TEST(RandomLayers, HI_6_CY_2_on_any_memory_system) {
  check_layers(200, [] {
    HardwareConfig hardware = random_array_shape();
    vary_memory(hardware);
    return LayerOnArray{random_layer(spec_array(hardware)), hardware};
  });
}

TEST(RandomLayers, CY_1_small_buffers_and_any_memory_system) {
  check_layers(200, [] {
    HardwareConfig hardware = random_array_shape();
    tighten_buffers(hardware);
    vary_memory(hardware);
    return LayerOnArray{random_layer(spec_array(hardware), {2000, 4, 3, 3, 3, 40}), hardware};
  });
}

// ---- single cases that deserve a run of their own ----

void check_one(const ConvShape& shape, const HardwareConfig& hardware) {
  check_layers(1, [&] { return LayerOnArray{shape, hardware}; });
}

TEST(CornerLayers, SW_7_tiles_of_padding_alone) {
  ConvShape shape;
  shape.height = 2, shape.pads = {4, 0, 5, 0}, shape.input_zero_point = 3, shape.bias = true;
  HardwareConfig hardware;
  hardware.planner.max_tile_rows = 2;
  check_one(shape, hardware);
  shape.kernel = {3, 3}, shape.pads = {9, 20, 8, 20};
  hardware.planner.max_tile_columns = 8;
  check_one(shape, hardware);
}

TEST(CornerLayers, SW_4_words_that_straddle_bus_beats) {
  for (const int port : {3, 5, 7, 12, 24, 48}) {  // of 16 bytes a cycle
    ConvShape shape;
    shape.channels = 2 * port + 1, shape.kernel = {2, 3}, shape.bias = true;
    shape.requant = Requant{{0.001}, 0, DType::kInt8};
    HardwareConfig hardware;
    hardware.engine<SwitchArrayConfig>().port_channels = port;
    check_one(shape, hardware);
  }
}

TEST(CornerLayers, SW_8_one_parameter_slot_and_many_kernel_blocks) {
  ConvShape shape;
  shape.out_channels = 70, shape.channels = 40, shape.kernel = {3, 3}, shape.bias = true;
  HardwareConfig hardware;
  hardware.engine<SwitchArrayConfig>().parameter_slots = 1;
  hardware.engine<SwitchArrayConfig>().parameter_depth_words = 60;
  check_one(shape, hardware);
}

}  // namespace
}  // namespace tilebeat::testing
