// Two masters, and one memory that both storages are blocks of (SPEC WF-9; document 003 [0056], [0060],
// [0062]), on the document's examples.
#include "checked_run.h"
#include "config/hardware_config.h"
#include "conv_workload.h"
#include "engines/wfold/config.h"
#include "wfold_engine_bench.h"

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {

using ::testing::HasSubstr;
using wfold::StoragePlace;
using wfold::WfoldKernels;

namespace {

HardwareConfig changed(const std::function<void(WfoldConfig&, CoreConfig&)>& change) {
  HardwareConfig hardware = load_hardware(TILEBEAT_SOURCE_DIR "/configs/wfold16x4.json");
  hardware.chip->core.nram.bank_bytes = 64;
  change(hardware.engine<WfoldConfig>(), hardware.chip->core);
  return hardware;
}
void share(WfoldConfig& config, CoreConfig& /*core*/) {
  config.storage = StoragePlace::kShared;
}

/// A layer in both granularities, whose outputs are the reference's.
SimulatedRun run_layer(const ConvShape& shape, const HardwareConfig& hardware) {
  SimulatedRun run;
  check_cases(1, [&] {
    const Workload workload = conv_workload(shape);
    run = check_both_granularities(workload, hardware, plan_network(workload, hardware).plan, 60);
  });
  return run;
}

constexpr const char* kCore = "cluster0.core0.";
std::int64_t of_core(const SimulatedRun& run, const std::string& module, const char* counter) {
  return run.counter(kCore + module, counter);
}
std::int64_t busy(const SimulatedRun& run, const std::string& module) {
  return run.module(kCore + module).at("busy").get<std::int64_t>();
}

/// Figures 7a to 7c: 4 x 9 pixels, three lines of four columns a row.
ConvShape shape_of_figure_7(int channels) {
  ConvShape shape;
  shape.height = 4, shape.width = 9, shape.kernel = {1, 1};
  shape.channels = channels, shape.out_channels = 64;
  return shape;
}
HardwareConfig hardware_of_figure_7(int masters) {
  return changed([masters](WfoldConfig& c, CoreConfig&) {
    c.compute_units = 3, c.first_buffer_lines = 6, c.pci = 16, c.masters = masters;
  });
}
/// Sixteen columns of 3x3 kernels in four groups of 16 kernels and 48 channels: three blocks, as in
/// example 2.
ConvShape four_groups() {
  ConvShape shape;
  shape.height = 3, shape.width = 18, shape.kernel = {3, 3};
  shape.channels = 192, shape.out_channels = 64, shape.groups = 4;
  return shape;
}

// ---- masters ----

// Each master reads what its slaves need: the 12, 108 and 36 requests of the figures, and as many again for
// the other half of the slaves, who need the same lines. Beats stay as they are.
TEST(WfoldOptions, WF_9_two_masters_each_read_figure_7) {
  for (const auto& [channels, requests, lines] : {std::array{14, 12, 12}, std::array{47, 36, 36}}) {
    const SimulatedRun one = run_layer(shape_of_figure_7(channels), hardware_of_figure_7(1));
    const SimulatedRun two = run_layer(shape_of_figure_7(channels), hardware_of_figure_7(2));
    EXPECT_EQ(of_core(one, "engine.master", "read_requests"), requests);
    EXPECT_EQ(of_core(two, "engine.master", "read_requests"), 2 * requests);
    EXPECT_EQ(busy(one, "engine.broadcast"), lines);
    EXPECT_EQ(busy(two, "engine.broadcast"), lines);
    EXPECT_EQ(busy(two, "engine.broadcast1"), lines);
    EXPECT_EQ(two.layer().at("beats"), one.layer().at("beats"));
  }
}

// Of four groups of slaves each master has two: the 180 lines of three blocks and three kernel rows go over
// two buses, 90 each, fewer than the 108 beats. NRAM has to bring more than a line a cycle for that.
TEST(WfoldOptions, WF_9_two_masters_bring_the_lines_of_groups_side_by_side) {
  const auto with_masters = [](int masters) {
    HardwareConfig hardware = changed([masters](WfoldConfig& c, CoreConfig& core) {
      c.multicast_groups = 4, c.masters = masters, c.transit_bytes = 16384;
      core.bus.bytes_per_clock = 128;
    });
    hardware.dram.channels = 64;
    return hardware;
  };
  const SimulatedRun one = run_layer(four_groups(), with_masters(1));
  const SimulatedRun two = run_layer(four_groups(), with_masters(2));
  EXPECT_EQ(one.layer().at("beats"), 108);
  EXPECT_EQ(two.layer().at("beats"), 108);
  EXPECT_EQ(busy(one, "engine.broadcast"), 180);
  EXPECT_EQ(busy(two, "engine.broadcast"), 90);
  EXPECT_EQ(busy(two, "engine.broadcast1"), 90);
  EXPECT_LT(SimulatedRun::stall(two.module(std::string(kCore) + "engine.array"), "input_load"),
            SimulatedRun::stall(one.module(std::string(kCore) + "engine.array"), "input_load"));
}

// Example 1 alone: two masters make nothing faster that one bus and one port of NRAM bring in time.
TEST(WfoldOptions, WF_9_two_masters_take_the_beats_of_example_1) {
  EngineCase c = dense(16, 64, 16);
  const EngineRun one = run_engine(c);
  c.config.masters = 2;
  const EngineRun two = run_engine(c);
  EXPECT_EQ(two.master.beats, 36);
  EXPECT_EQ(two.reader.requests, 2 * one.reader.requests);
  EXPECT_GE(two.released, one.released);
  c.config.first_buffer = wfold::FirstBuffer::kKernels;
  EXPECT_EQ(run_engine(c).master.beats, 36);
}

TEST(WfoldOptions, WF_9_a_second_master_is_a_second_transit_buffer) {
  const auto bytes = [](int masters) {
    return changed([masters](WfoldConfig& c, CoreConfig&) { c.masters = masters; })
        .matrix_engine()
        .buffer_bytes();
  };
  EXPECT_EQ(bytes(2) - bytes(1), WfoldConfig().transit_bytes);
}

// ---- one memory ----

/// A case with separate memories and with one.
std::pair<EngineRun, EngineRun> in_both_storages(EngineCase c) {
  c.bank_bytes = 64, c.config.weight_port_bytes = 64;
  const EngineRun separate = run_engine(c);
  c.config.storage = StoragePlace::kShared;
  return {separate, run_engine(c)};
}

// The regions' ports read 36 kernel lines and 4 records, the map is 15 lines: a bank makes one access a
// cycle, so that together they take at least as many cycles, where separate memories hide the map behind the
// beats.
TEST(WfoldOptions, WF_9_one_memory_serves_maps_or_kernels_in_a_cycle) {
  const auto [separate, shared] = in_both_storages(dense(16, 64, 16));
  EXPECT_EQ(shared.master.beats, 36);
  EXPECT_EQ(shared.reader.requests, separate.reader.requests);
  EXPECT_EQ(shared.master.kernel_lines, separate.master.kernel_lines);
  EXPECT_GE(shared.released - kFirst, 36 + 15);
  EXPECT_GT(shared.released, separate.released);
  EXPECT_GT(cycles_of(shared.beats, Activity::kInputLoad), cycles_of(separate.beats, Activity::kInputLoad));
}

// Kernel 0 alone is read from one bank; the map's words in the other fifteen are free.
TEST(WfoldOptions, WF_9_one_memory_leaves_banks_without_kernels_to_maps) {
  const auto [separate, shared] = in_both_storages(dense(16, 1, 16));
  EXPECT_LE(shared.released, separate.released + 2) << "of 15 words, bank 0 has one or two";
}

// Kernels that are latched for eight lines of columns are read half as often as those that four units share,
// and leave the memory to the map.
TEST(WfoldOptions, WF_9_one_memory_is_freer_with_kernels_in_the_first_buffers) {
  EngineCase c = dense(64, 64, 32, 2);
  c.pci = 64, c.bank_bytes = 64, c.config.second_buffer_lines = 17;
  c.config.storage = StoragePlace::kShared;
  const EngineRun maps = run_engine(c);
  c.config.first_buffer = wfold::FirstBuffer::kKernels;
  const EngineRun kernels = run_engine(c);
  EXPECT_EQ(kernels.master.beats, maps.master.beats);
  EXPECT_LT(kernels.released, maps.released);
}

// The whole core: kernels are loaded, maps read and results written through the same ports, and requests that
// wait for a bank say so.
TEST(WfoldOptions, WF_9_one_memory_in_a_core_names_its_waits) {
  ConvShape shape = four_groups();
  shape.channels = 64, shape.groups = 1, shape.height = 10;
  const SimulatedRun separate = run_layer(shape, changed([](WfoldConfig&, CoreConfig&) {}));
  const SimulatedRun shared = run_layer(shape, changed(share));
  EXPECT_GT(shared.layer().at("cycles"), separate.layer().at("cycles"));
  EXPECT_EQ(shared.layer().at("beats"), separate.layer().at("beats"));
  EXPECT_GT(of_core(shared, "nram", "bank_conflicts"), of_core(separate, "nram", "bank_conflicts"));
  for (const char* counter : {"read", "written", "bank_accesses"}) {
    EXPECT_EQ(of_core(shared, "nram", counter), of_core(separate, "nram", counter)) << counter;
    EXPECT_EQ(of_core(shared, "wram", counter), of_core(separate, "wram", counter)) << counter;
  }
  EXPECT_EQ(shared.report.at("energy").at("area_mm2"), separate.report.at("energy").at("area_mm2"))
      << "the memory has the bytes of both blocks";
}

TEST(WfoldOptions, WF_9_one_memory_with_every_kernel_place_and_read_mode) {
  for (const auto place :
       {wfold::KernelPlace::kLoad, wfold::KernelPlace::kInPlace, wfold::KernelPlace::kOffline}) {
    for (const auto mode : {wfold::ReadChoice::kStrided, wfold::ReadChoice::kTransit}) {
      ConvShape shape = four_groups();
      shape.channels = 64, shape.groups = 1, shape.stride = {1, 2}, shape.width = 33, shape.bias = true;
      run_layer(shape, changed([&](WfoldConfig& c, CoreConfig& core) {
                  share(c, core);
                  c.kernel_place = place, c.read_mode = mode, c.masters = 2;
                }));
    }
  }
}

// ---- refusals ----

std::string refused(const std::function<void(WfoldConfig&, CoreConfig&)>& change) {
  try {
    check_hardware(changed(change), "hw.json");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(WfoldOptions, WF_9_structures_that_cannot_be) {
  EXPECT_EQ(refused(share), "");
  EXPECT_EQ(refused([](WfoldConfig& c, CoreConfig&) { c.masters = 2; }), "");
  EXPECT_THAT(
      refused([](WfoldConfig& c, CoreConfig& core) { c.masters = 2, c.slaves = core.wram.banks = 5; }),
      HasSubstr("hw.json: /wfold/masters: 2 is not allowed, allowed is a divisor of slaves (5)"));
  const auto refused_memory = [](int MemoryConfig::*field) {
    return refused([&](WfoldConfig& c, CoreConfig& core) {
      share(c, core);
      core.nram.*field *= 2;
    });
  };
  EXPECT_THAT(refused_memory(&MemoryConfig::banks),
              HasSubstr("/chip/core/wram/banks: 16 is not allowed, allowed is that of nram (32)"));
  EXPECT_THAT(refused_memory(&MemoryConfig::latency_cycles), HasSubstr("/chip/core/wram/latency_cycles: 1"));
  EXPECT_THAT(refused_memory(&MemoryConfig::request_queue), HasSubstr("/chip/core/wram/request_queue: 16"));
  const auto narrow = [](WfoldConfig& c, CoreConfig& core) {
    share(c, core);
    core.nram.bank_bytes = core.wram.bank_bytes = 32;
  };
  EXPECT_THAT(refused(narrow), HasSubstr("/wfold/weight_port_bytes: 64 is not allowed, allowed is at most "
                                         "chip.core.wram.bank_bytes (32)"));
}

TEST(WfoldOptions, WF_9_groups_of_slaves_that_two_masters_cannot_divide) {
  EngineCase c = dense(16, 64, 16);
  c.config.masters = 2, c.config.slaves = 6, c.config.multicast_groups = 6;
  WfoldKernels layout;
  layout.channels = 4, layout.group_kernels = 16, layout.slave_groups = 3;
  const std::string refusal = in_child([&] {
    EngineCore core(c, Granularity::kClock);
    return core.refusal(c.setup(), {layout});
  });
  EXPECT_THAT(refusal, HasSubstr("wfold.kernels: 3 groups of slaves, 2 masters have equally many each"));
}

}  // namespace
}  // namespace tilebeat::testing
