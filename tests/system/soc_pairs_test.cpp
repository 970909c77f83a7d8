// Sizes of the system on chip at N - 1 and N, and what bandwidths and limits cost: expectations from the
// hardware's numbers (SPEC SW-7, HI-6, CY-1).
#include "config/hardware_config.h"
#include "conv_workload.h"
#include "engines/switch_array/config.h"
#include "planned_tiles.h"
#include "simulated_run.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {

using switch_array::SwitchArrayConfig;

namespace {

/// The DRAM ticks with the NPU, 16 bytes a cycle, and is never refreshed.
// Its banks are in no groups, and only tRCD, tRP, tCL and tRAS keep commands apart.
HardwareConfig in_step() {
  HardwareConfig hardware;
  DramConfig& dram = hardware.dram;
  dram.clock_ps = hardware.clock_ps();
  dram.refresh = false;
  dram.bank_groups = 1;
  dram.tCWL_ps = dram.tCL_ps;
  dram.tCCD_L_ps = dram.tCCD_L_WR_ps = dram.tCCD_ps;
  dram.tRRD_ps = dram.tRRD_L_ps = dram.tFAW_ps = 0;
  dram.tWR_ps = dram.tWTR_ps = dram.tWTR_L_ps = dram.tRTP_ps = 0;
  return hardware;
}

const Requant kInt8Results{{0.01}, 0, DType::kInt8};

/// The document's map and kernels: 14 x 8 x 3, 16 kernels of 3x3, int8 results: 6 x 12 pixels in one tile.
ConvShape worked(int channels = 3) {
  ConvShape shape;
  shape.channels = channels, shape.kernel = {3, 3}, shape.requant = kInt8Results;
  return shape;
}

struct PlannedRun {
  PlannedTiles tiling;
  SimulatedRun run;
};
PlannedRun plan_and_run(const ConvShape& shape, const HardwareConfig& hardware) {
  const Workload workload = conv_workload(shape);
  const Plan plan = make_plan(workload, hardware);
  PlannedRun result{planned_tiles(plan, shape.out_extent(0), shape.out_extent(1)),
                    simulate_in_child(hardware, plan, {})};
  EXPECT_EQ(result.run.failures, std::vector<std::string>{});
  EXPECT_EQ(result.run.counter("engine.switch", "chunks"), result.tiling.chunks);
  return result;
}
void expect_same_output(const PlannedRun& a, const PlannedRun& b) {
  EXPECT_EQ(a.run.outputs.at("conv").bytes, b.run.outputs.at("conv").bytes);
}

TEST(SocPairs, SW_7_a_bank_holds_the_map_or_misses_a_word) {
  HardwareConfig hardware = in_step();
  hardware.engine<SwitchArrayConfig>().bank_depth_words = 7;  // table 1: b0 holds d0.0 d0.8 ... d6.6
  const PlannedRun whole = plan_and_run(worked(), hardware);
  EXPECT_EQ(whole.tiling.row_tiles * whole.tiling.column_tiles, 1);
  EXPECT_EQ(whole.run.counter("dma_load", "streamed"), 8 * 14 * 3) << "every pixel once";
  hardware.engine<SwitchArrayConfig>().bank_depth_words = 6;
  const PlannedRun cut = plan_and_run(worked(), hardware);
  EXPECT_EQ(cut.tiling.row_tiles, 2);
  EXPECT_EQ(cut.tiling.column_tiles, 1) << "whole rows as long as they fit";
  EXPECT_EQ(cut.run.counter("dma_load", "streamed"), (8 + 2) * 14 * 3) << "and two rows of halo";
  EXPECT_EQ(cut.run.layer().at("beats"), whole.run.layer().at("beats")) << "tiling adds no beats";
  expect_same_output(whole, cut);
}

TEST(SocPairs, SW_8_the_parameter_buffer_holds_a_kernel_or_misses_a_word) {
  HardwareConfig hardware = in_step();
  hardware.engine<SwitchArrayConfig>().parameter_depth_words = 18;  // 3 x 3 taps of two channel blocks
  const PlannedRun whole = plan_and_run(worked(8), hardware);
  EXPECT_EQ(whole.tiling.channel_blocks, 2);
  EXPECT_EQ(whole.run.counter("engine.switch", "chunks"), whole.tiling.row_tiles * whole.tiling.column_tiles);
  hardware.engine<SwitchArrayConfig>().parameter_depth_words = 17;
  const PlannedRun pieces = plan_and_run(worked(8), hardware);
  EXPECT_EQ(pieces.tiling.channel_blocks, 1);
  EXPECT_EQ(pieces.run.counter("engine.switch", "chunks"), 2 * 6) << "6 operation cycles in two pieces";
  EXPECT_EQ(pieces.run.layer().at("beats"), whole.run.layer().at("beats"));
  expect_same_output(whole, pieces);
  hardware.engine<SwitchArrayConfig>().parameter_depth_words = 9;
  expect_same_output(whole, plan_and_run(worked(8), hardware));
  hardware.engine<SwitchArrayConfig>().parameter_depth_words = 8;
  EXPECT_THROW(make_plan(conv_workload(worked(8)), hardware), PlanError) << "no tap may be missing";
}

TEST(SocPairs, SW_7_half_of_the_output_buffer_holds_the_tile_or_misses_a_byte) {
  HardwareConfig hardware = in_step();
  hardware.engine<SwitchArrayConfig>().output_buffer_bytes = 2 * 6 * 12 * 16;
  const PlannedRun whole = plan_and_run(worked(), hardware);
  EXPECT_EQ(whole.tiling.row_tiles * whole.tiling.column_tiles, 1);
  hardware.engine<SwitchArrayConfig>().output_buffer_bytes -= 1;
  const PlannedRun cut = plan_and_run(worked(), hardware);
  EXPECT_EQ(cut.tiling.row_tiles, 2);
  EXPECT_EQ(cut.tiling.column_tiles, 1);
  EXPECT_EQ(cut.run.counter("dma_store", "stored"), 6 * 12 * 16) << "results have no halo";
  expect_same_output(whole, cut);
}

TEST(SocPairs, HI_2_instruction_buffers_of_any_size) {
  ConvShape shape = worked();
  shape.height = 40, shape.out_channels = 48;
  HardwareConfig hardware = in_step();
  hardware.dram.data_bits = 512;  // what is fetched ahead keeps nothing else waiting
  hardware.planner.max_tile_rows = 2;
  const PlannedRun large = plan_and_run(shape, hardware);
  ASSERT_GT(large.run.counter("control", "fetched"), 4096) << "the program is longer than the largest buffer";
  Cycle smaller_takes = 0;
  for (const int bytes : {64, 65, 100, 127, 128, 130, 200, 255, 256, 257, 511, 512, 1000, 4096}) {
    hardware.host.instruction_buffer_bytes = bytes;
    const PlannedRun run = plan_and_run(shape, hardware);
    expect_same_output(large, run);
    EXPECT_EQ(run.run.counter("control", "instructions"), large.run.counter("control", "instructions"))
        << bytes;
    EXPECT_GE(run.run.cycles(), large.run.cycles()) << bytes;
    if (bytes == 64) smaller_takes = run.run.cycles();
    EXPECT_LE(run.run.cycles(), smaller_takes) << bytes;
  }
}

TEST(SocPairs, CY_2_a_bank_queue_holds_a_burst_or_misses_a_word) {
  // One row of 1024 pixels of a byte is one burst of 16 beats. Each brings 8 words to each of 8 banks, which
  // write one a cycle from the next cycle on: 16 * 8 words have come and 15 are written when the last is
  // taken.
  ConvShape shape;
  shape.height = 1, shape.width = 1024, shape.channels = 1;
  HardwareConfig hardware = in_step();
  hardware.interconnect.bytes_per_clock = 64;
  hardware.engine<SwitchArrayConfig>().arrangement_queue_words = 16 * 8 - 15;
  const PlannedRun enough = plan_and_run(shape, hardware);
  hardware.engine<SwitchArrayConfig>().arrangement_queue_words -= 1;
  const PlannedRun short_of_one = plan_and_run(shape, hardware);
  EXPECT_EQ(SimulatedRun::stall(enough.run.module("dma_load.stream"), "bank_write"), 0);
  EXPECT_EQ(SimulatedRun::stall(short_of_one.run.module("dma_load.stream"), "bank_write"), 1);
  EXPECT_EQ(enough.run.cycles(), short_of_one.run.cycles()) << "the banks are written no later";
}

/// A load of two map rows of 128 channels, so that there is one tile: what another 16 KiB, two DRAM rows, add
/// to the array's wait for it.
constexpr int kAddedBytes = 2 * 8192;
Cycle added_wait(const HardwareConfig& hardware) {
  const auto wait = [&](int columns) {
    ConvShape shape;
    shape.height = 2, shape.width = columns, shape.channels = 128, shape.requant = kInt8Results;
    const PlannedRun run = plan_and_run(shape, hardware);
    EXPECT_EQ(run.tiling.row_tiles * run.tiling.column_tiles, 1);
    return SimulatedRun::stall(run.run.layer(), "input_load");
  };
  return wait(128) - wait(64);
}

TEST(SocPairs, HI_6_outstanding_bursts_share_the_way_to_memory) {
  HardwareConfig hardware = in_step();
  const Cycle tcl = 14, trcd = 14;  // 13.32 ns in cycles of 1 ns
  for (const int burst : {64, 128, 256, 512}) {
    hardware.dma.burst_bytes = burst;
    const int bursts = kAddedBytes / burst;
    // There, seen by the scheduler a cycle later, first data, the burst on the DRAM's bus, back, the burst on
    // the port's bus.
    const Cycle beats = burst / 16;
    const Cycle way = hardware.interconnect.request_cycles + 1 + tcl + beats +
                      hardware.interconnect.response_cycles + beats;
    hardware.dma.max_outstanding = 1;
    EXPECT_EQ(added_wait(hardware), bursts * way + 2 * trcd) << "one at a time, of " << burst << " bytes";
    for (const int outstanding : {2, 3, 4, 8, 16}) {
      hardware.dma.max_outstanding = outstanding;
      const double least =
          std::max(1.0 * kAddedBytes / 16, 1.0 * bursts * static_cast<double>(way) / outstanding);
      const auto added = static_cast<double>(added_wait(hardware));
      EXPECT_GE(added, least) << outstanding << " bursts of " << burst << " bytes";
      EXPECT_LE(added, 1.04 * least) << outstanding << " bursts of " << burst << " bytes";
    }
  }
}

TEST(SocPairs, HI_6_the_narrowest_of_bus_and_DRAM_sets_the_pace) {
  for (const int dram_bytes : {4, 8, 16, 32}) {  // a cycle: two transfers
    for (const int bus_bytes : {2, 4, 8, 16, 32}) {
      HardwareConfig hardware = in_step();
      hardware.dram.data_bits = dram_bytes / 2 * 8;
      hardware.interconnect.bytes_per_clock = bus_bytes;
      EXPECT_EQ(added_wait(hardware), kAddedBytes / std::min(dram_bytes, bus_bytes))
          << dram_bytes << " bytes a cycle from DRAM, " << bus_bytes << " over the bus";
    }
  }
}

TEST(SocPairs, CY_1_a_layer_bound_by_DRAM_takes_as_long_as_its_bytes) {
  ConvShape shape;
  shape.height = 32, shape.width = 32, shape.channels = 128, shape.requant = kInt8Results;
  Cycle faster = 0;
  for (const int dram_bytes : {16, 8, 4, 2}) {
    HardwareConfig hardware = in_step();
    hardware.dram.data_bits = dram_bytes / 2 * 8;
    hardware.planner.max_tile_rows = 4;
    const SimulatedRun run = plan_and_run(shape, hardware).run;
    const auto& total = run.report.at("total");
    const Cycle data =
        (total.at("dram_read_bytes").get<Cycle>() + total.at("dram_write_bytes").get<Cycle>()) / dram_bytes;
    EXPECT_GE(run.cycles(), data) << dram_bytes << " bytes a cycle";
    EXPECT_LE(static_cast<double>(run.cycles()), 1.05 * static_cast<double>(data) + 700)
        << dram_bytes << " bytes a cycle, and the latencies of begin and end";
    if (faster > 0) {
      EXPECT_NEAR(static_cast<double>(run.cycles()) / static_cast<double>(faster), 2, 0.1)
          << "half the bandwidth";
    }
    faster = run.cycles();
  }
}

TEST(SocPairs, HI_6_a_landing_buffer_of_one_burst) {
  HardwareConfig hardware = in_step();
  hardware.dma.burst_bytes = hardware.dma.buffer_bytes = 256;
  check_hardware(hardware, "test");
  const Cycle one_place = added_wait(hardware);
  hardware.dma.buffer_bytes = 2 * 256;
  const Cycle two_places = added_wait(hardware);
  EXPECT_GT(one_place, two_places);
  hardware.dma.buffer_bytes = 4096, hardware.dma.max_outstanding = 1;
  EXPECT_GE(one_place, added_wait(hardware))
      << "one at a time, and the place is free after the burst was taken";
  hardware.dma.buffer_bytes = 255;
  EXPECT_THROW(check_hardware(hardware, "test"), UserError);
}

}  // namespace
}  // namespace tilebeat::testing
