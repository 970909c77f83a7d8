// Planned networks on every DRAM preset, with every number of transfers a clock and every order of maps, on
// every matrix engine: right outputs, and no read of bytes that are under way or that nobody wrote, though
// planned programs are not checked for that when users run them (SPEC HI_2, HI_6, OT_2).
#include "random_network.h"
#include "reference/reference.h"
#include "simulated_run.h"
#include "tilebeat_command.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr int kLayouts = static_cast<int>(kMapLayoutNames.size());

struct Memory {
  const char* engine;
  DramPreset preset;
};
void PrintTo(const Memory& memory, std::ostream* out) {
  *out << memory.engine << " on " << nth(kDramPresetNames, memory.preset);
}

class EveryMemory : public ::testing::TestWithParam<Memory> {};

TEST_P(EveryMemory, HI_2_HI_6_OT_2_planned_networks_read_nothing_too_early) {
  const auto& [engine, preset] = GetParam();
  for (int i = 0; i < kLayouts; ++i) {
    HardwareConfig hardware = load_hardware(source_path(fmt::format("configs/{}.json", engine)));
    hardware.planner.map_layout = static_cast<MapLayout>(i);
    const int controllers = hardware.chip->memory_controllers;
    hardware.dram = dram_preset(preset);
    // With four presets every order meets 1, 2, 4 and 8.
    hardware.dram.transfers_per_clock = 1 << (static_cast<int>(preset) + i) % kLayouts;
    hardware.chip->memory_controllers = controllers;
    hardware.planner.map_block_channels = 8;
    check_cases(1, [&] {
      const RandomNetwork network(number(2, 5));
      const Workload workload = network.load();
      const auto expected = run_reference(workload);
      SimulationOptions options;
      options.check_reads = UninitialisedReads::kRefused;
      const SimulatedRun run = simulate_in_child(hardware, make_plan(workload, hardware), options);
      RC_LOG() << nth(kMapLayoutNames, static_cast<MapLayout>(i)) << ", " << hardware.dram.transfers_per_clock
               << " transfers a clock\n"
               << network.text();
      RC_ASSERT(run.failures.empty());
      for (const auto& [name, tensor] : run.outputs) RC_ASSERT(tensor.bytes == expected.at(name).bytes);
      RC_ASSERT(!run.outputs.empty());
    });
    if (HasFailure()) return;
  }
}

std::vector<Memory> memories() {
  std::vector<Memory> all;
  for (const char* engine : {"cluster4x4", "wfold_cluster4x4", "rolling_cluster4x4", "offset_cluster4x4"}) {
    for (std::size_t preset = 0; preset < kDramPresetNames.size(); ++preset)
      all.push_back({engine, static_cast<DramPreset>(preset)});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Networks, EveryMemory, ::testing::ValuesIn(memories()), [](const auto& test) {
  return fmt::format("{}_{}", test.param.engine, nth(kDramPresetNames, test.param.preset));
});

}  // namespace
}  // namespace tilebeat::testing
