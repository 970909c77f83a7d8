// Random layers and random networks on random chips: outputs against the reference operators, one granularity
// against the other, a refusal where something cannot fit (SPEC HI_1 to HI_5, CY_3).
#include "base/types.h"
#include "budget.h"
#include "checked_run.h"
#include "isa/address_map.h"
#include "random_chip.h"
#include "random_network.h"
#include "reference/reference.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {

using switch_array::SwitchArrayConfig;

namespace {

struct Tally : Refusals {
  int shared = 0, cut = 0, reduced = 0;
  int staged = 0, shared_maps = 0;  // layers with everything, with maps through the SRAM
};

/// What is forced to go one way does not go the other (SPEC HI-4).
void check_path(const ChipConfig& chip, const SimulatedRun& run) {
  std::int64_t direct = 0, staged = 0;
  for (const auto& counter : run.report.at("counters")) {
    const std::string module = counter.at("module"), name = counter.at("name");
    if (module.substr(0, 4) != "noc." || (name != "read" && name != "written")) continue;
    const auto value = counter.at("value").get<std::int64_t>();
    if (module.find(".iodma") != std::string::npos) direct += value;
    if (module.find(".gdma") != std::string::npos) staged += value;
  }
  RC_ASSERT(chip.dram_path != DramPath::kSram || direct == 0);
  RC_ASSERT(chip.dram_path != DramPath::kDirect || staged == 0);
}

void check_on_chip(const Workload& workload, const HardwareConfig& hardware, Tally& tally) {
  const auto planned = plan_or_refusal(workload, hardware, {"chip.", "switch_array.", "dram."}, tally);
  if (!planned) return;
  const bool forced = hardware.chip->dram_path == DramPath::kSram;
  for (const LayerMapping& mapping : planned->mappings) {
    const bool cut = mapping.cores() > 1 || mapping.channel_parts > 1 || mapping.kernel_buffers > 1;
    tally.shared += broadcasts(mapping.kernels) ? 1 : 0;
    tally.cut += cut ? 1 : 0;
    tally.reduced += mapping.channel_parts > 1 ? 1 : 0;
    tally.staged += forced ? 1 : 0;
    tally.shared_maps += broadcasts(mapping.maps) && !forced ? 1 : 0;
  }
  check_path(*hardware.chip, check_both_granularities(workload, hardware, planned->plan, 20));
}

TEST(ChipLayers, HI_1_HI_4_CY_3_random_convolutions_on_random_chips) {
  Tally tally;
  const auto enough = [&] {
    return tally.shared >= budget(10) && tally.staged >= budget(20) && tally.shared_maps >= 1 &&
           tally.cut >= budget(40);
  };
  check_cases_until(enough, budget(200, kFewest), [&] {
    const HardwareConfig hardware = random_chip();
    const ConvShape shape = random_layer(spec_array(hardware), {1500, 5, 3, 3, 4, 50});
    RC_LOG() << to_text(shape) << "\n";
    check_on_chip(conv_workload(shape), hardware, tally);
  });
  EXPECT_LE(tally.refused * 2, tally.cases) << "layers that cannot fit are the exception";
  EXPECT_GE(tally.shared, budget(10)) << "layers whose kernels come through the SRAM";
  EXPECT_GE(tally.staged, budget(20)) << "layers that the SRAM serves alone";
  EXPECT_GE(tally.shared_maps, 1) << "layers whose maps are fetched once for several cores";
  EXPECT_GE(tally.cut, budget(40)) << "layers that are cut";
}

// Kernels that do not stay in WRAM: cores load them again and again, not all in step, and channels are cut.
TEST(ChipLayers, HI_4_MA_1_CY_3_random_convolutions_with_little_wram) {
  Tally tally;
  check_cases_until([&] { return tally.reduced >= budget(8); }, budget(300, kFewest),
                    [&] {
                      HardwareConfig hardware = random_chip();
                      const ConvShape shape = random_layer(spec_array(hardware), {1500, 5, 3, 3, 4, 50});
                      MemoryConfig& wram = hardware.chip->core.wram;
                      const std::int64_t row = std::int64_t{wram.banks} * wram.bank_bytes;
                      const std::int64_t kernel =
                          std::int64_t{shape.kernel[0]} * shape.kernel[1] * shape.channels + 16;
                      const std::int64_t block = kernel * hardware.engine<SwitchArrayConfig>().columns;
                      wram.size_bytes = row * std::max<std::int64_t>(1, 3 * block / number(2, 5) / row);
                      RC_LOG() << to_text(shape) << "\n";
                      check_on_chip(conv_workload(shape), hardware, tally);
                    });
  EXPECT_GE(tally.reduced, budget(8)) << "layers whose channels are cut";
}

TEST(ChipNetworks, HI_2_HI_3_FU_7_random_networks_on_random_chips) {
  Tally tally;
  check_cases(budget(100, kFewest), [&] {
    const RandomNetwork network(number(1, 7));
    RC_LOG() << network.text() << "\n";
    check_on_chip(network.load(), random_chip(), tally);
  });
  EXPECT_LE(tally.refused * 2, tally.cases) << "networks that cannot fit are the exception";
}

TEST(ChipNetworks, HI_1_CY_3_the_same_bytes_on_every_chip_in_both_granularities) {
  check_cases(budget(8), [] {
    const RandomNetwork network(number(1, 5));
    RC_LOG() << network.text() << "\n";
    const Workload workload = network.load();
    std::vector<HardwareConfig> chips(4);
    constexpr int kSizes[][2] = {{1, 1}, {1, 4}, {4, 4}, {16, 4}};
    for (std::size_t i = 0; i < chips.size(); ++i) {
      ChipConfig& chip = chips[i].chip.emplace();
      chip.clusters = kSizes[i][0], chip.cores_per_cluster = kSizes[i][1];
      check_hardware(chips[i], "chip");
    }
    chips.push_back(random_chip());
    std::map<std::string, Tensor> first;
    for (const HardwareConfig& hardware : chips) {
      try {
        make_plan(workload, hardware);
      } catch (const PlanError&) {  // the random one may be too small
        continue;
      }
      for (const Granularity granularity : {Granularity::kTile, Granularity::kClock}) {
        const SimulatedRun run = simulate_in_child(workload, hardware, granularity);
        RC_ASSERT(run.failures == std::vector<std::string>{});
        if (first.empty()) first = run.outputs;
        for (const std::string& name : workload.outputs)
          RC_ASSERT(run.outputs.at(name).bytes == first.at(name).bytes);
      }
    }
  });
}

TEST(ChipNetworks, HI_4_the_same_bytes_by_every_way_between_dram_and_cores) {
  int compared = 0;
  const auto enough = [&] { return compared >= 4; };
  check_cases_until(enough, 12, [&] {
    const RandomNetwork network(number(2, 5));
    const Workload workload = network.load();
    HardwareConfig hardware = random_chip();
    RC_LOG() << network.text() << "\n" << hardware_to_json(hardware).dump() << "\n";
    std::map<std::string, Tensor> direct;
    for (const DramPath path : {DramPath::kDirect, DramPath::kSram, DramPath::kAuto}) {
      hardware.chip->dram_path = path;
      try {
        make_plan(workload, hardware);
      } catch (const PlanError&) {  // a small SRAM; or nothing fits at all
        if (path == DramPath::kDirect) return;
        continue;
      }
      const SimulatedRun run = simulate_in_child(workload, hardware);
      RC_ASSERT(run.failures == std::vector<std::string>{});
      check_path(*hardware.chip, run);
      if (path == DramPath::kDirect) direct = run.outputs;
      compared += path == DramPath::kSram ? 1 : 0;
      for (const std::string& name : workload.outputs)
        RC_ASSERT(run.outputs.at(name).bytes == direct.at(name).bytes);
    }
  });
  EXPECT_GE(compared, 4) << "networks that the SRAM serves alone";
}

// ---- kernels that pass through the SRAM in one load ----

/// A chip of one cluster of four cores whose SRAM holds so many bytes; so many controllers, and ports that
/// take as much.
HardwareConfig kernel_chip(DramPath path, std::int64_t sram_bytes, int controllers) {
  HardwareConfig hardware;
  ChipConfig& chip = hardware.chip.emplace();
  chip.cores_per_cluster = 4;
  chip.memory_controllers = controllers;
  hardware.interconnect.bytes_per_clock = 16 * controllers;
  chip.sram.size_bytes = sram_bytes;
  chip.dram_path = path;
  check_hardware(hardware, "chip of the kernels");
  return hardware;
}

struct KernelRun {
  Plan plan;
  LayerMapping mapping;
  std::int64_t broadcasts = 0;            // of kernels
  std::int64_t taken = 0, delivered = 0;  // bytes, of everything
};
/// Right in both granularities, and what went over the broadcast bus.
KernelRun run_kernels(const Workload& workload, const HardwareConfig& hardware) {
  KernelRun result;
  PlannedNetwork planned = plan_network(workload, hardware);
  result.plan = std::move(planned.plan), result.mapping = planned.mappings.front();
  const Tensor expected = run_reference(workload).at("conv");
  std::string report;
  for (const Granularity granularity : {Granularity::kTile, Granularity::kClock}) {
    const SimulatedRun run = simulate_in_child(workload, hardware, granularity);
    EXPECT_EQ(run.failures, std::vector<std::string>{});
    EXPECT_EQ(run.outputs.at("conv").bytes, expected.bytes);
    EXPECT_TRUE(report.empty() || report == run.report_text);
    report = run.report_text;
    result.taken = run.counter("cluster0.memory.broadcast", "taken");
    result.delivered = run.counter("cluster0.memory.broadcast", "delivered");
  }
  for (const ProgramImage& program : result.plan.programs) {
    for (const Instruction& instruction : program.instructions) {
      const auto* copy = instruction.operation.get_if<Copy>();
      if (copy != nullptr && copy->unit == Unit::kMvdma && (copy->destination & kMulticastWram) != 0)
        ++result.broadcasts;
    }
  }
  return result;
}

/// Bytes of kernels and post-parameters of so many blocks of 16 kernels 3x3 of 16 channels in a buffer: both
/// begin at multiples of 256.
std::int64_t kernel_buffer(int blocks) {
  return blocks * align_up<std::int64_t>(align_up<std::int64_t>(16 * 9 * 16, 256) + 16 * 16, 256);
}

TEST(KernelBuffers, HI_4_one_load_has_two_buffers_in_the_sram) {
  ConvShape shape;  // the map is spread over the cores, which need the same two kernel blocks
  shape.height = 64, shape.width = 64, shape.channels = 16, shape.out_channels = 32, shape.kernel = {3, 3};
  shape.bias = true;
  shape.requant = Requant{std::vector<double>(32, 0.001), 3, DType::kInt8};
  const Workload workload = conv_workload(shape);
  const std::int64_t both = 2 * kernel_buffer(2);
  struct Case {
    DramPath path;
    std::int64_t sram;
    bool broadcast;
  };
  // `auto` gives the SRAM to them whole, `sram` half of it; 256 bytes are the least step of its size.
  for (const Case& c :
       {Case{DramPath::kAuto, both, true}, Case{DramPath::kAuto, both - 256, false},
        Case{DramPath::kSram, 2 * both, true}, Case{DramPath::kSram, 2 * both - 256, false}}) {
    SCOPED_TRACE(::testing::Message() << "path " << static_cast<int>(c.path) << ", SRAM " << c.sram);
    const KernelRun run = run_kernels(workload, kernel_chip(c.path, c.sram, 1));
    EXPECT_EQ(run.mapping.kernel_parts, 1);
    EXPECT_EQ(run.mapping.blocks_per_load, 2) << "all in one load";
    EXPECT_EQ(run.mapping.kernels == DataPath::kBroadcast, c.broadcast);
    EXPECT_EQ(run.broadcasts, c.broadcast ? 2 : 0) << "kernels and post-parameters once";
    EXPECT_EQ(run.taken, c.broadcast ? 32 * 9 * 16 + 32 * 16 : 0);
    EXPECT_EQ(run.delivered, run.mapping.cores() * run.taken);
  }
}

TEST(KernelBuffers, HI_4_one_load_of_each_of_four_cores_takes_turns_in_two_buffers) {
  ConvShape shape;  // 2 x 8 outputs an image, all of an array's: only the channels can be spread
  shape.batch = 16, shape.height = 4, shape.width = 10, shape.channels = 64, shape.out_channels = 128;
  shape.kernel = {3, 3};
  shape.requant = Requant{std::vector<double>(128, 0.0005), 0, DType::kInt8};
  const Workload workload = conv_workload(shape);
  const KernelRun run = run_kernels(workload, kernel_chip(DramPath::kSram, 512 * 1024, 4));
  EXPECT_EQ(run.mapping.kernel_parts, 4);
  EXPECT_EQ(run.mapping.blocks_per_load, 2);
  EXPECT_EQ(run.broadcasts, 8) << "kernels and post-parameters of every core are one load of its own";
  constexpr std::int64_t kKernels = 128 * 9 * 64 + 128 * 16, kMaps = 16 * 4 * 10 * 64;
  EXPECT_EQ(run.taken, kKernels + kMaps);
  EXPECT_EQ(run.delivered, kKernels + 4 * kMaps) << "every core gets the maps";
}

// Three channels a group: blocks of kernels touch one word of channels or two. Of two parts of eleven
// blocks the second one begins with two large blocks, which no load of both parts together would have.
TEST(KernelBuffers, MA_1_every_part_of_the_kernels_has_loads_of_its_own) {
  ConvShape shape;
  shape.height = shape.width = 16, shape.channels = 33, shape.out_channels = 176, shape.groups = 11;
  shape.kernel = {3, 3};
  shape.bias = true;
  shape.requant = Requant{std::vector<double>(176, 0.001), 3, DType::kInt8};
  const Workload workload = conv_workload(shape);
  HardwareConfig hardware;
  hardware.chip.emplace().cores_per_cluster = 2;
  hardware.engine<SwitchArrayConfig>().parameter_slots = 1;  // kernels are read late
  check_hardware(hardware, "two cores");
  MappingRequest request;
  request.layer = "conv";
  request.row_parts = request.column_parts = 1, request.kernel_parts = 2;
  request.blocks_per_load = 2, request.kernel_buffers = 2;
  const Plan plan = plan_network(workload, hardware, {"by hand", {request}}).plan;
  const SimulatedRun run = simulate_in_child(hardware, plan, {});
  EXPECT_EQ(run.failures, std::vector<std::string>{});
  EXPECT_EQ(run.outputs.at("conv").bytes, run_reference(workload).at("conv").bytes);
}

}  // namespace
}  // namespace tilebeat::testing
