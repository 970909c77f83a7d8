// Every stall cause of the system on chip: a slower resource raises the cause that is named after it, in the
// module where it belongs, and that cause dominates the cycles that are added (SPEC CY-2).
#include "conv_workload.h"
#include "engines/switch_array/config.h"
#include "simulated_run.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {

using switch_array::ArrangementKind;
using switch_array::SwitchArrayConfig;

namespace {

using Change = std::function<void(HardwareConfig&)>;

/// 3x3 over several tiles and two kernel blocks: maps, kernels and results all matter.
ConvShape all_round() {
  ConvShape shape;
  shape.height = 24, shape.width = 24, shape.channels = 16, shape.out_channels = 32, shape.kernel = {3, 3};
  return shape;
}
/// One operation cycle of 64 beats for 1024 bytes of map: loading maps takes longest.
ConvShape loading() {
  ConvShape shape;
  shape.height = 32, shape.width = 32, shape.channels = 128, shape.requant = Requant{{0.01}, 0, DType::kInt8};
  return shape;
}
/// One operation cycle a kernel block: loading kernels takes longest.
ConvShape fetching_kernels() {
  ConvShape shape;
  shape.height = 2, shape.width = 8, shape.channels = 64, shape.out_channels = 1024;
  shape.requant = Requant{{0.01}, 0, DType::kInt8};
  return shape;
}
/// 4 bytes in and 64 bytes of int32 out a pixel: storing takes longest.
ConvShape storing() {
  ConvShape shape;
  shape.height = 24, shape.width = 24, shape.channels = 4;
  return shape;
}
/// Operation cycles of 2 beats: the post-processor takes longest.
ConvShape draining() {
  ConvShape shape;
  shape.height = 32, shape.width = 32, shape.channels = 8, shape.out_channels = 64;
  shape.requant = Requant{{0.01}, 0, DType::kInt8};
  return shape;
}
/// Maps and kernels are loaded at the same time.
ConvShape loading_both() {
  ConvShape shape = loading();
  shape.channels = 256, shape.out_channels = 256;
  return shape;
}
/// One tile of one kernel block.
ConvShape single_chunk() {
  ConvShape shape;
  shape.kernel = {3, 3};
  return shape;
}
/// Stride 2 along the rows, where table 1 has conflicts.
ConvShape strided() {
  ConvShape shape = all_round();
  shape.width = 49, shape.stride = {1, 2};
  return shape;
}
/// Pixels of one byte: 64 words a bus beat for 8 banks.
ConvShape single_channel() {
  ConvShape shape;
  shape.height = 2, shape.width = 1024, shape.channels = 1;
  return shape;
}

/// The DRAM ticks with the NPU and is never refreshed; tiles of four rows.
HardwareConfig usual() {
  HardwareConfig hardware;
  hardware.dram.clock_ps = hardware.clock_ps();
  hardware.dram.refresh = false;
  hardware.planner.max_tile_rows = 4;
  hardware.dma = {256, 8, 4096, 8};
  return hardware;
}

void small_tiles(HardwareConfig& h) {
  h.planner.max_tile_rows = 2, h.planner.max_tile_columns = 8;
}
/// Memory that is faster than two ports ask for, and two ports that ask once in two cycles: a target takes
/// one request a cycle.
void many_small_bursts(HardwareConfig& h) {
  h.dram.channels = 16, h.dram.data_bits = 16, h.dram.tCCD_ps = 1000;
  h.dma = {32, 64, 4096, 8};
  h.interconnect.max_outstanding = 64;
}

struct Cause {
  const char* name;
  const char* module;
  const char* cause;
  ConvShape (*shape)();
  Change base;  ///< of `usual()`, for both runs
  Change slower;
  bool takes_longer =
      true;  ///< false: units hold two instructions or a beat themselves, the run takes as long
};
void PrintTo(const Cause& cause, std::ostream* out) {
  *out << cause.name;
}

/// Cycles of a module by activity, `busy` among them.
std::map<std::string, Cycle> clocks_of(const nlohmann::json& module) {
  std::map<std::string, Cycle> clocks = module.at("stall_cycles");
  clocks["busy"] = module.at("busy");
  return clocks;
}

class StallCause : public ::testing::TestWithParam<Cause> {};

TEST_P(StallCause, CY_2_grows_when_its_resource_is_slower) {
  const Cause& c = GetParam();
  HardwareConfig base = usual();
  if (c.base) c.base(base);
  HardwareConfig slower = base;
  c.slower(slower);
  const Workload workload = conv_workload(c.shape());
  const Plan plan = make_plan(workload, base);  // the same programs for both
  const SimulatedRun before = simulate_in_child(base, plan, {});
  // But for the quotients of `conv.run`, which belong to the arrangement.
  const bool same =
      base.engine<SwitchArrayConfig>().arrangement == slower.engine<SwitchArrayConfig>().arrangement;
  const SimulatedRun after = simulate_in_child(slower, same ? plan : make_plan(workload, slower), {});
  ASSERT_EQ(before.failures, std::vector<std::string>{});
  ASSERT_EQ(after.failures, std::vector<std::string>{});
  EXPECT_GE(after.cycles(), before.cycles() + (c.takes_longer ? 1 : 0));
  EXPECT_EQ(after.layer().at("beats"), before.layer().at("beats")) << "the work is the same";

  std::map<std::string, Cycle> added = clocks_of(after.module(c.module));
  for (const auto& [activity, clocks] : clocks_of(before.module(c.module))) added[activity] -= clocks;
  std::string listed;
  Cycle all = 0;
  for (const auto& [activity, clocks] : added) {
    all += clocks;
    listed += " " + activity + " " + std::to_string(clocks);
  }
  EXPECT_GT(added[c.cause], 0) << c.module << ":" << listed;
  EXPECT_GE(2 * added[c.cause], all) << "at least half of the cycles added to " << c.module << ":" << listed;
  added.erase("busy");  // shorter bursts are more requests
  for (const auto& [activity, clocks] : added)
    EXPECT_LE(clocks, added[c.cause]) << activity << " grows more in " << c.module << ":" << listed;
}

INSTANTIATE_TEST_SUITE_P(
    Soc, StallCause,
    ::testing::Values(
        Cause{"input_load",
              "engine.array",
              "input_load",
              loading,
              {},
              [](HardwareConfig& h) { h.dram.data_bits = 16; }},
        Cause{"weight_load",
              "engine.array",
              "weight_load",
              fetching_kernels,
              {},
              [](HardwareConfig& h) { h.dram.data_bits = 16; }},
        Cause{"input_release",
              "dma_load.request",
              "input_release",
              draining,
              {},
              [](HardwareConfig& h) { h.engine<SwitchArrayConfig>().drain_clocks_per_lane = 4; }},
        Cause{"weight_release", "dma_parameter.request", "weight_release", draining,
              [](HardwareConfig& h) { h.engine<SwitchArrayConfig>().parameter_slots = 2; },
              [](HardwareConfig& h) { h.engine<SwitchArrayConfig>().drain_clocks_per_lane = 4; }},
        Cause{"output_space",
              "engine.array",
              "output_space",
              storing,
              {},
              [](HardwareConfig& h) { h.interconnect.bytes_per_clock = 4; }},
        Cause{"output_ready",
              "dma_store.read",
              "output_ready",
              draining,
              {},
              [](HardwareConfig& h) { h.engine<SwitchArrayConfig>().drain_clocks_per_lane = 4; }},
        Cause{"output_ready_at_the_request",
              "dma_store.request",
              "output_ready",
              draining,
              {},
              [](HardwareConfig& h) { h.engine<SwitchArrayConfig>().drain_clocks_per_lane = 16; }},
        Cause{"output_drain",
              "engine.array",
              "output_drain",
              draining,
              {},
              [](HardwareConfig& h) { h.engine<SwitchArrayConfig>().drain_clocks_per_lane = 4; }},
        Cause{"layer_end",
              "engine.array",
              "layer_end",
              single_chunk,
              {},
              [](HardwareConfig& h) { h.engine<SwitchArrayConfig>().post_latency_cycles = 100; }},
        Cause{"layer_end_at_the_decoder",
              "control.decode",
              "layer_end",
              single_chunk,
              {},
              [](HardwareConfig& h) { h.engine<SwitchArrayConfig>().post_latency_cycles = 100; }},
        Cause{"instruction_fetch", "control.decode", "instruction_fetch", storing,
              [](HardwareConfig& h) { h.planner.max_tile_rows = 2, h.planner.max_tile_columns = 8; },
              [](HardwareConfig& h) { h.host.instruction_buffer_bytes = 64; }},
        Cause{"instruction_fetch_at_the_array", "engine.array", "instruction_fetch", storing,
              [](HardwareConfig& h) { h.planner.max_tile_rows = 2, h.planner.max_tile_columns = 8; },
              [](HardwareConfig& h) { h.host.instruction_buffer_bytes = 64; }},
        Cause{"queue_full", "control.decode", "queue_full", storing, small_tiles,
              [](HardwareConfig& h) { h.dma.command_queue = 1; }, false},
        Cause{"bus_grant", "dma_parameter.request", "bus_grant", loading_both, many_small_bursts,
              [](HardwareConfig& h) { h.dma.burst_bytes = 16; }},
        Cause{"memory_queue",
              "dma_load.stream",
              "memory_queue",
              loading_both,
              {},
              [](HardwareConfig& h) { h.dram.data_bits = 16; }},
        Cause{"data_latency_of_the_stream",
              "dma_load.stream",
              "data_latency",
              loading,
              {},
              [](HardwareConfig& h) { h.dram.tCL_ps = 200000; }},
        Cause{"row_miss_of_the_stream",
              "dma_load.stream",
              "row_miss",
              loading,
              {},
              [](HardwareConfig& h) { h.dram.tRCD_ps = 200000; }},
        Cause{"refresh_of_the_stream", "dma_load.stream", "refresh", loading,
              [](HardwareConfig& h) { h.dram.refresh = true; },
              [](HardwareConfig& h) { h.dram.tREFI_ps = 1000000; }},
        Cause{"bus_latency_of_the_kernels",
              "dma_parameter.stream",
              "bus_latency",
              fetching_kernels,
              {},
              [](HardwareConfig& h) { h.interconnect.response_cycles = 100; }},
        Cause{"landing",
              "dma_load.request",
              "landing",
              loading,
              {},
              [](HardwareConfig& h) { h.dma.buffer_bytes = 256; }},
        Cause{"staging",
              "dma_store.request",
              "staging",
              storing,
              {},
              [](HardwareConfig& h) { h.interconnect.bytes_per_clock = 4; }},
        Cause{"bank_write", "dma_load.stream", "bank_write", single_channel,
              [](HardwareConfig& h) { h.interconnect.bytes_per_clock = 64; },
              [](HardwareConfig& h) { h.engine<SwitchArrayConfig>().arrangement_queue_words = 65; }, false},
        Cause{"bank_write_at_the_arrangement", "engine.arrangement", "bank_write", single_channel,
              [](HardwareConfig& h) { h.interconnect.bytes_per_clock = 64; },
              [](HardwareConfig& h) { h.engine<SwitchArrayConfig>().arrangement_queue_words = 65; }, false},
        Cause{"outstanding",
              "dma_load.request",
              "outstanding",
              loading,
              {},
              [](HardwareConfig& h) { h.dma.max_outstanding = 1; }},
        Cause{"outstanding_on_the_bus",
              "bus.load.read",
              "outstanding",
              loading,
              {},
              [](HardwareConfig& h) { h.interconnect.max_outstanding = 1; }},
        Cause{"data_latency",
              "dram.ch0",
              "data_latency",
              all_round,
              {},
              [](HardwareConfig& h) { h.dram.tCL_ps = 200000; }},
        Cause{"row_miss",
              "dram.ch0",
              "row_miss",
              all_round,
              {},
              [](HardwareConfig& h) { h.dram.tRP_ps = h.dram.tRCD_ps = 200000; }},
        Cause{"write_recovery", "dram.ch0", "write_recovery", all_round,
              [](HardwareConfig& h) { h.dram.banks = 4; }, [](HardwareConfig& h) { h.dram.tWR_ps = 900000; }},
        Cause{"activate_window",
              "dram.ch0",
              "activate_window",
              all_round,
              {},
              [](HardwareConfig& h) { h.dram.tRRD_ps = 200000; }},
        Cause{"bank_group",
              "dram.ch0",
              "bank_group",
              all_round,
              {},
              [](HardwareConfig& h) { h.dram.tCCD_L_ps = 50000; }},
        Cause{"write_to_read",
              "dram.ch0",
              "write_to_read",
              all_round,
              {},
              [](HardwareConfig& h) { h.dram.tWTR_ps = 500000; }},
        Cause{"refresh", "dram.ch0", "refresh", loading, [](HardwareConfig& h) { h.dram.refresh = true; },
              [](HardwareConfig& h) { h.dram.tREFI_ps = 1000000; }},
        Cause{
            "bank_conflict",
            "engine.array",
            "bank_conflict",
            strided,
            {},
            [](HardwareConfig& h) { h.engine<SwitchArrayConfig>().arrangement = ArrangementKind::kTable1; }},
        Cause{"host",
              "engine.array",
              "host",
              single_chunk,
              {},
              [](HardwareConfig& h) { h.host.register_write_cycles = 100; }}),
    [](const auto& test) { return test.param.name; });

// ---- waits that several modules share ----

const std::vector<std::string> kUnits{
    "control.decode",        "control.fetch",           "dma_load.request",  "dma_load.stream",
    "dma_parameter.request", "dma_parameter.stream",    "dma_store.request", "dma_store.read",
    "engine.arrangement",    "engine.parameter_loader", "engine.array",      "engine.post"};

TEST(SharedWaits, CY_2_the_hosts_time_is_the_same_everywhere) {
  std::map<std::string, Cycle> at_10;
  for (const int write_clocks : {10, 11, 60}) {
    HardwareConfig hardware = usual();
    hardware.host.register_write_cycles = write_clocks;
    ConvShape shape = all_round();
    shape.bias = true, shape.requant = Requant{{0.01}, 0, DType::kInt8};
    const SimulatedRun run = simulate_in_child(conv_workload(shape), hardware);
    ASSERT_EQ(run.failures, std::vector<std::string>{});
    for (const std::string& unit : kUnits) {
      const Cycle host = SimulatedRun::stall(run.module(unit), "host");
      if (write_clocks == 10) at_10[unit] = host;
      // Units hear of a program's start a cycle after the decoder and of its end two cycles later at most.
      EXPECT_NEAR(static_cast<double>(host),
                  static_cast<double>(SimulatedRun::stall(run.module("control.decode"), "host")), 2)
          << unit;
      EXPECT_EQ(host - at_10[unit], 3 * (write_clocks - 10)) << unit << ": three registers are written";
    }
  }
}

TEST(SharedWaits, CY_2_what_takes_the_stream_waits_for_what_its_channel_waits_for) {
  for (ConvShape (*shape)() : {all_round, loading, fetching_kernels, storing}) {
    const SimulatedRun run = simulate_in_child(conv_workload(shape()), usual());
    ASSERT_EQ(run.failures, std::vector<std::string>{});
    EXPECT_EQ(run.module("engine.arrangement").at("stall_cycles"),
              run.module("dma_load.stream").at("stall_cycles"));
    EXPECT_EQ(run.module("engine.parameter_loader").at("stall_cycles"),
              run.module("dma_parameter.stream").at("stall_cycles"));
  }
}

/// What the way to a memory and the memory itself took.
Cycle waits_for_memory(const nlohmann::json& module) {
  Cycle sum = 0;
  for (const char* cause : {"bus_grant", "bus_latency", "target_queue", "memory_queue", "data_latency",
                            "row_miss", "activate_window", "bank_group"})
    sum += SimulatedRun::stall(module, cause);
  return sum;
}

// But for what a layer's end has cut in two, and there is one layer.
TEST(NamedWaits, CY_2_no_wait_for_a_memory_is_without_a_name) {
  for (ConvShape (*shape)() : {all_round, loading, fetching_kernels, storing, loading_both}) {
    const SimulatedRun run = simulate_in_child(conv_workload(shape()), usual());
    ASSERT_EQ(run.failures, std::vector<std::string>{});
    for (const auto& module : run.report.at("modules"))
      EXPECT_EQ(SimulatedRun::stall(module, "memory"), 0) << module.at("name");
  }
}

TEST(SharedWaits, CY_2_slower_memory_is_not_the_hosts_time) {
  const Workload workload = conv_workload(all_round());
  HardwareConfig hardware = usual();
  const Plan plan = make_plan(workload, hardware);
  const SimulatedRun before = simulate_in_child(hardware, plan, {});
  hardware.dram.data_bits = 16;
  const SimulatedRun after = simulate_in_child(hardware, plan, {});
  for (const std::string& unit : kUnits) {
    EXPECT_EQ(SimulatedRun::stall(after.module(unit), "host"),
              SimulatedRun::stall(before.module(unit), "host"))
        << unit;
  }
  for (const char* sink : {"engine.arrangement", "engine.parameter_loader"}) {
    const Cycle more = waits_for_memory(after.module(sink)) - waits_for_memory(before.module(sink));
    EXPECT_GT(more, 0) << sink;
  }
  EXPECT_GT(SimulatedRun::stall(after.module("engine.post"), "input_load") +
                SimulatedRun::stall(after.module("engine.post"), "weight_load") +
                SimulatedRun::stall(after.module("engine.post"), "output_space"),
            SimulatedRun::stall(before.module("engine.post"), "input_load") +
                SimulatedRun::stall(before.module("engine.post"), "weight_load") +
                SimulatedRun::stall(before.module("engine.post"), "output_space"))
      << "the post-processor waits for what the array waits for";
}

}  // namespace
}  // namespace tilebeat::testing
