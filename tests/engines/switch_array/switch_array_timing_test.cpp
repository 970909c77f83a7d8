// Cycles of the switch array in a whole SoC: exact pairs around each threshold of SPEC SW-8.
#include "conv_workload.h"
#include "engines/switch_array/config.h"
#include "parameter_names.h"
#include "planned_tiles.h"
#include "recording_trace.h"
#include "simulated_run.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {

using switch_array::ArrangementKind;
using switch_array::SwitchArrayConfig;

namespace {

constexpr int kLanes = 8;  // L of the default array, R = 16 in G = 2 groups
constexpr int kPort = 4;   // P

/// Hardware on which a delay of k cycles shifts everything behind it by k cycles: the DRAM ticks with the NPU
/// and is never refreshed.
HardwareConfig in_step() {
  HardwareConfig hardware;
  hardware.dram.clock_ps = hardware.clock_ps();
  hardware.dram.refresh = false;
  return hardware;
}

/// 1x1 kernels, so that an operation cycle takes `beats` beats: as many channel blocks. Two output rows, one
/// row block.
ConvShape short_cycles(int beats, int operation_cycles) {
  ConvShape shape;
  shape.height = 2, shape.width = operation_cycles * kLanes;
  shape.channels = beats * kPort;
  return shape;
}

Cycle stall(const ConvShape& shape, const HardwareConfig& hardware, const std::string& cause,
            Granularity granularity = Granularity::kClock) {
  const SimulatedRun run = simulate_in_child(conv_workload(shape), hardware, granularity);
  EXPECT_EQ(run.failures, std::vector<std::string>{});
  return SimulatedRun::stall(run.layer(), cause);
}

class BothGranularities : public ::testing::TestWithParam<Granularity> {};
INSTANTIATE_TEST_SUITE_P(SwitchArray, BothGranularities,
                         ::testing::Values(Granularity::kClock, Granularity::kTile), [](const auto& test) {
                           return test.param == Granularity::kClock ? "clock" : "tile";
                         });

TEST_P(BothGranularities, SW_8_output_drain_hides_under_eight_beats) {
  for (const int cycles : {1, 2, 5}) {
    const auto drain = [&](int beats) {
      return stall(short_cycles(beats, cycles), in_step(), "output_drain", GetParam());
    };
    // The first operation cycle finds the shadow registers empty; each later one waits for what is left of L
    // cycles.
    EXPECT_EQ(drain(9), 0) << "hidden under 9 beats, " << cycles << " operation cycles";
    EXPECT_EQ(drain(8), 0) << "8 cycles of draining under 8 beats";
    EXPECT_EQ(drain(7), cycles - 1) << "one cycle short, " << cycles << " operation cycles";
    EXPECT_EQ(drain(6), 2 * (cycles - 1));
    EXPECT_EQ(drain(1), 7 * (cycles - 1));
  }
}

TEST_P(BothGranularities, SW_8_output_drain_at_slower_post_processing) {
  for (const int per_lane : {2, 3}) {
    HardwareConfig hardware = in_step();
    hardware.engine<SwitchArrayConfig>().drain_clocks_per_lane = per_lane;
    const int hidden = kLanes * per_lane;
    EXPECT_EQ(stall(short_cycles(hidden, 4), hardware, "output_drain", GetParam()), 0)
        << per_lane << " cycles a lane";
    EXPECT_EQ(stall(short_cycles(hidden - 1, 4), hardware, "output_drain", GetParam()), 3)
        << per_lane << " cycles a lane";
    EXPECT_EQ(stall(short_cycles(3, 4), hardware, "output_drain", GetParam()), 3 * (hidden - 3));
  }
}

TEST_P(BothGranularities, SW_8_the_pipeline_fills_once_a_chunk) {
  ConvShape shape;
  shape.height = 10, shape.width = 16, shape.kernel = {3, 3};
  for (const int tile_rows : {2, 4, 8}) {
    HardwareConfig hardware = in_step();
    hardware.planner.max_tile_rows = tile_rows;
    const Workload workload = conv_workload(shape);
    const Plan plan = make_plan(workload, hardware);
    SimulationOptions options;
    options.granularity = GetParam();
    const SimulatedRun run = simulate_in_child(hardware, plan, options);
    const int taken = planned_tiles(plan, 8, 14).tile_rows;
    const std::int64_t chunks = ceiling(8, taken);
    ASSERT_LE(taken, tile_rows);
    EXPECT_EQ(run.counter("engine.switch", "chunks"), chunks);
    EXPECT_EQ(SimulatedRun::stall(run.layer(), "pipeline_fill"), 2 * chunks)
        << "bank read and switch, before the first MAC";
    EXPECT_EQ(run.layer().at("beats"), 4 * 2 * 9) << "tiles of whole row blocks add no beats";
  }
}

// With s stages in a PE's adder tree, the first MAC of a chunk is 1 + s cycles after its first read, and
// everything behind it as much later.
TEST_P(BothGranularities, CY_1_stages_of_the_adder_trees_are_paid_as_pipeline_fill) {
  const Workload workload = conv_workload(short_cycles(9, 3));
  const auto run = [&](int stages) {
    HardwareConfig hardware = in_step();
    hardware.engine<SwitchArrayConfig>().adder_stages = stages;
    const SimulatedRun done = simulate_in_child(workload, hardware, GetParam());
    EXPECT_EQ(done.failures, std::vector<std::string>{});
    return done;
  };
  const SimulatedRun one = run(1);
  for (const int stages : {1, 2, 5}) {
    const SimulatedRun more = run(stages);
    EXPECT_EQ(SimulatedRun::stall(more.layer(), "pipeline_fill"), 1 + stages);
    EXPECT_EQ(more.cycles(), one.cycles() + stages - 1);
    EXPECT_EQ(more.outputs.at("conv").bytes, one.outputs.at("conv").bytes);
  }
}

/// The cycles in which a strobe is high, from the first one on.
std::vector<Cycle> high_cycles(const RecordingTrace& trace, const std::string& strobe, Picoseconds period) {
  std::vector<Cycle> cycles;
  const auto changes = trace.of(strobe);
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    for (Picoseconds at = changes[i].first; changes[i].second != 0 && at < changes[i + 1].first; at += period)
      cycles.push_back(at / period);
  }
  return cycles;
}

TEST(SwitchStages, SW_9_the_parameter_buffer_is_read_in_the_switch_stage) {
  for (const int stages : {1, 3}) {
    const std::string differences = in_child([&] {
      HardwareConfig hardware = in_step();
      hardware.engine<SwitchArrayConfig>().adder_stages = stages;
      RecordingTrace trace;
      SimulationOptions options;
      options.granularity = Granularity::kClock;
      options.observers = {&trace, nullptr};
      simulate(hardware, make_plan(conv_workload(short_cycles(9, 3)), hardware), options);
      const auto high = [&](const std::string& strobe) {
        return high_cycles(trace, "soc.engine." + strobe, hardware.clock_ps());
      };
      std::vector<Cycle> multiplied = high("pe.valid");
      for (Cycle& at : multiplied) at -= stages;
      std::string text = multiplied.size() == 3 * 9 ? "" : "beats are missing";
      if (high("parameters.w0_valid") != multiplied) text += "kernels are not read before the multiplication";
      if (high("switch.sw0_valid") != multiplied) text += "the switch does not deliver in the same cycle";
      return text;
    });
    EXPECT_EQ(differences, "") << stages << " stages";
  }
}

TEST_P(BothGranularities, SW_8_results_leave_after_drain_and_post_latency) {
  const Workload workload = conv_workload(short_cycles(9, 1));
  const auto cycles = [&](int latency, int per_lane) {
    HardwareConfig hardware = in_step();
    hardware.engine<SwitchArrayConfig>().post_latency_cycles = latency;
    hardware.engine<SwitchArrayConfig>().drain_clocks_per_lane = per_lane;
    return simulate_in_child(workload, hardware, GetParam()).cycles();
  };
  const Cycle at_default = cycles(4, 1);
  EXPECT_EQ(cycles(5, 1), at_default + 1);
  EXPECT_EQ(cycles(3, 1), at_default - 1);
  EXPECT_EQ(cycles(0, 1), at_default - 4);
  EXPECT_EQ(cycles(4, 2), at_default + kLanes) << "one cycle more for each of L lanes";
  EXPECT_EQ(cycles(4, 3), at_default + 2 * kLanes);
}

TEST_P(BothGranularities, CY_1_the_drain_takes_a_slot_for_lanes_without_results_too) {
  ConvShape shape = short_cycles(9, 1);
  shape.width = 1;  // one lane of eight
  const Workload workload = conv_workload(shape);
  const auto cycles = [&](int per_lane) {
    HardwareConfig hardware = in_step();
    hardware.engine<SwitchArrayConfig>().drain_clocks_per_lane = per_lane;
    return simulate_in_child(workload, hardware, GetParam()).cycles();
  };
  const Cycle at_one = cycles(1);
  EXPECT_EQ(cycles(2), at_one + kLanes);
  EXPECT_EQ(cycles(3), at_one + 2 * kLanes);
}

TEST_P(BothGranularities, SW_5_conflict_clocks_add_to_the_layer) {
  ConvShape shape;
  shape.height = 4, shape.width = 56, shape.channels = 4, shape.stride = {2, 2}, shape.kernel = {1, 2};
  HardwareConfig hardware = in_step();
  const SimulatedRun aware = simulate_in_child(conv_workload(shape), hardware, GetParam());
  hardware.engine<SwitchArrayConfig>().arrangement = ArrangementKind::kTable1;
  const SimulatedRun table = simulate_in_child(conv_workload(shape), hardware, GetParam());
  // Two taps, all 56 columns in the banks. 28 output columns: 3 full operation cycles, 4 cycles a beat, and
  // one of 4 lanes a row group: w = 48, 50, 52, 54 of rows 0 and 2, that is n = 48.. and 104.. in half 0,
  // banks 0, 2, 4, 6 twice: 2 cycles.
  EXPECT_EQ(table.layer().at("beats"), 2 * 4);
  EXPECT_EQ(table.layer().at("bank_conflict_cycles"), 2 * (3 * 3 + 1));
  EXPECT_EQ(aware.layer().at("bank_conflict_cycles"), 0);
}

TEST(HostTiming, UI_4_register_writes_are_counted_as_host) {
  const Workload workload = conv_workload(short_cycles(9, 1));
  const auto run = [&](int clocks) {
    HardwareConfig hardware = in_step();
    hardware.host.register_write_cycles = clocks;
    return simulate_in_child(workload, hardware);
  };
  const SimulatedRun at10 = run(10), at11 = run(11);
  const Cycle more = SimulatedRun::stall(at11.layer(), "host") - SimulatedRun::stall(at10.layer(), "host");
  EXPECT_GE(more, 1) << "a register write takes a cycle longer";
  EXPECT_EQ(at11.cycles() - at10.cycles(), more) << "and nothing else changes";
}

// Address, size and start of a program; the first write of the second program, too, is prepared when the
// first one has ended.
TEST(HostTiming, SW_6_each_of_two_programs_takes_three_register_writes) {
  const Workload workload = load_workload(TILEBEAT_SOURCE_DIR "/models/worked_scenes.json");
  const auto host = [&](int clocks, std::size_t layer) {
    HardwareConfig hardware = in_step();
    hardware.host.register_write_cycles = clocks;
    return SimulatedRun::stall(simulate_in_child(workload, hardware).layer(layer), "host");
  };
  for (const std::size_t layer : {0U, 1U})
    EXPECT_EQ(host(11, layer) - host(10, layer), 3) << "layer " << layer;
  EXPECT_EQ(host(10, 1), host(10, 0));
}

TEST(HostTiming, HI_2_an_instruction_buffer_of_one_instruction_is_enough) {
  HardwareConfig hardware = in_step();
  hardware.host.instruction_buffer_bytes = 64;
  const SimulatedRun run = simulate_in_child(conv_workload(short_cycles(9, 2)), hardware);
  EXPECT_EQ(run.failures, std::vector<std::string>{});
}

TEST(BankWriteQueues, CY_2_short_queues_in_front_of_the_banks) {
  // A single-channel map under a wide bus: 64 pixels a cycle for the eight banks of a row, of one word a
  // cycle each.
  ConvShape shape;
  shape.height = 2, shape.width = 1024, shape.channels = 1;
  HardwareConfig hardware = in_step();
  hardware.interconnect.bytes_per_clock = 64;
  const Workload workload = conv_workload(shape);
  const Plan plan = make_plan(workload, hardware);
  Cycle blocked = -1;
  Cycle cycles = 0;
  for (const int words : {256, 100, 65}) {
    hardware.engine<SwitchArrayConfig>().arrangement_queue_words = words;
    const SimulatedRun run = simulate_in_child(hardware, plan, {});
    ASSERT_EQ(run.failures, std::vector<std::string>{});
    const Cycle now = SimulatedRun::stall(run.module("engine.arrangement"), "bank_write");
    EXPECT_EQ(now, SimulatedRun::stall(run.module("dma_load.stream"), "bank_write"))
        << "both sides of the stream wait";
    if (words == 256) {
      EXPECT_EQ(now, 0) << "all words find room";
    } else {
      EXPECT_GT(now, blocked) << words << " words";
    }
    EXPECT_GE(run.cycles(), cycles);
    blocked = now, cycles = run.cycles();
  }
}

}  // namespace
}  // namespace tilebeat::testing
