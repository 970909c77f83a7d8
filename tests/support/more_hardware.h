#pragma once

// Pairs of a chip and of the same chip with more of something (SPEC MA-4, MA-6), by number: what is drawn for
// a number is always the same.

#include "app/planning.h"
#include "random_cases.h"
#include "simulated_run.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {

/// A chip with the usual memories.
inline HardwareConfig chip_of(int clusters, int cores) {
  HardwareConfig hardware;
  hardware.dram = dram_preset(hardware.dram.preset);
  ChipConfig& chip = hardware.chip.emplace();
  chip.clusters = clusters, chip.cores_per_cluster = cores;
  return hardware;
}

/// Whether more of something may not take so many cycles more (SPEC MA-4, MA-6).
inline bool slower(Cycle before, Cycle after) {
  return after > before + std::max<Cycle>(64, before / 50);
}

template <class T>
T one_of(const std::vector<T>& values) {
  return values[static_cast<std::size_t>(number(0, static_cast<int>(values.size()) - 1))];
}

/// A chip with one of these dataflows, small enough that more of anything may matter.
inline HardwareConfig random_base(const std::vector<std::string>& dataflows) {
  HardwareConfig hardware = chip_of(one_of<int>({1, 1, 2, 4}), one_of<int>({1, 2, 4}));
  hardware.dataflow = one_of(dataflows);
  hardware.dram.channels = one_of<int>({1, 1, 2});
  hardware.interconnect.bytes_per_clock = one_of<int>({8, 16, 32});
  hardware.chip->memory_controllers = one_of<int>({1, 2});
  hardware.chip->cluster_bus.bytes_per_clock = one_of<int>({16, 32, 64});
  hardware.chip->sram.size_bytes = 1024 * one_of<int>({64, 128, 512, 2048});
  hardware.chip->core.nram.size_bytes = 1024 * one_of<int>({128, 256, 512});
  hardware.chip->core.wram.size_bytes = 1024 * one_of<int>({256, 512, 1024});
  return hardware;
}

/// Adds something to a chip; returns what.
inline std::string add_something(HardwareConfig& hardware) {
  ChipConfig& chip = *hardware.chip;
  const int times = one_of<int>({2, 4});
  switch (number(0, 8)) {
    case 0:
      chip.clusters *= times;
      return "clusters";
    case 1:
      chip.cores_per_cluster *= times;
      return "cores";
    case 2:
      chip.memory_controllers *= 2;
      return "memory controllers";
    case 3:
      hardware.dram.channels *= 2;
      return "DRAM channels";
    case 4:
      hardware.interconnect.bytes_per_clock *= 2;
      return "interconnect width";
    case 5:
      chip.cluster_bus.bytes_per_clock = std::min(128, times * chip.cluster_bus.bytes_per_clock);
      return "cluster bus width";
    case 6:
      chip.core.nram.size_bytes *= 2;
      return "NRAM";
    case 7:
      chip.core.wram.size_bytes *= 2;
      return "WRAM";
    default:
      chip.sram.size_bytes *= 2;
      return "SRAM";
  }
}

/// A workload on a chip, and on the same chip with more of something.
struct Pair {
  std::string text;
  Cycle before = 0, after = 0;
  bool is_slower() const { return slower(before, after); }
};

inline Cycle cycles_of(const Workload& workload, const HardwareConfig& hardware) {
  const SimulatedRun run = simulate_in_child(hardware, plan_workload(workload, hardware, "").plan, {});
  EXPECT_TRUE(run.failures.empty()) << run.failures.front();
  return run.cycles();
}

/// What the planner expects.
inline Cycle estimated_cycles_of(const Workload& workload, const HardwareConfig& hardware) {
  Cycle sum = 0;
  for (const LayerPlan& layer : plan_workload(workload, hardware, "").plan.layers)
    sum += layer.estimated_cycles;
  return sum;
}

/// A random pair. `described`: the workload in a failure's text.
inline Pair pair_of(const Workload& workload, const std::string& described, HardwareConfig hardware) {
  Pair pair;
  const std::string base = hardware_to_json(hardware).dump();
  pair.before = cycles_of(workload, hardware);
  const HardwareConfig less = hardware;
  const std::string added = add_something(hardware);
  pair.after = cycles_of(workload, hardware);
  pair.text =
      fmt::format("{} with more {}: {} -> {} cycles on {}", described, added, pair.before, pair.after, base);
  if (pair.is_slower())
    pair.text += fmt::format(", estimated {} -> {}", estimated_cycles_of(workload, less),
                             estimated_cycles_of(workload, hardware));
  return pair;
}

/// A pair that is slower than SPEC MA-4 allows: its number, which is the seed that it is drawn from, and its
/// cycles. The planner chooses by estimates, which err by some per cent (docs/planner.md).
struct KnownPair {
  int number;
  Cycle before, after;
};

/// Draws the pairs numbered `first` to `last`: those that are slower are the known ones. Lists may only get
/// shorter: whoever makes a pair faster takes it off, and no other one may come.
inline void check_pairs(int first, int last, const std::function<Pair()>& draw,
                        const std::vector<KnownPair>& known) {
  for (int number = first; number <= last; ++number) {
    Pair pair;
    check_cases(
        1, [&] { pair = draw(); }, static_cast<std::uint64_t>(number));
    const auto listed =
        std::find_if(known.begin(), known.end(), [number](const KnownPair& k) { return k.number == number; });
    const std::string found = fmt::format("{{{}, {}, {}}}", number, pair.before, pair.after);
    if (listed == known.end()) {
      EXPECT_FALSE(pair.is_slower()) << "slower: " << found << ": " << pair.text;
      continue;
    }
    EXPECT_TRUE(pair.is_slower()) << "pair " << number << " is slower no longer: take it off the list";
    EXPECT_EQ(std::make_pair(pair.before, pair.after), std::make_pair(listed->before, listed->after))
        << "pair " << found << ": " << pair.text;
  }
}

}  // namespace tilebeat::testing
