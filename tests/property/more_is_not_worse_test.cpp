// Adding to a chip does not make a layer slower (SPEC MA-4), and the examples that once did.

#include "budget.h"
#include "conv_workload.h"
#include "random_cases.h"
#include "simulated_run.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

HardwareConfig chip_of(int clusters, int cores) {
  HardwareConfig hardware;
  hardware.dram = dram_preset(hardware.dram.preset);
  ChipConfig& chip = hardware.chip.emplace();
  chip.clusters = clusters, chip.cores_per_cluster = cores;
  return hardware;
}

Cycle cycles_of(const ConvShape& shape, const HardwareConfig& hardware) {
  const SimulatedRun run = simulate_in_child(conv_workload(shape), hardware);
  EXPECT_TRUE(run.failures.empty()) << run.failures.front();
  return run.cycles();
}

// What SPEC MA-4 allows.
bool slower(Cycle before, Cycle after) {
  return after > before + std::max<Cycle>(64, before / 50);
}

ConvShape layer(int extent, int channels, int out_channels, int kernel) {
  ConvShape shape;
  shape.height = shape.width = extent, shape.channels = channels, shape.out_channels = out_channels;
  shape.kernel = {kernel, kernel};
  shape.pads = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
  shape.requant = Requant{{0.001}, 0, DType::kInt8};
  return shape;
}

TEST(MoreIsNotWorse, MA_4_28x28x32_to_64_on_four_clusters_takes_no_longer_than_on_one) {
  for (const int kernel : {1, 3, 5}) {
    const ConvShape shape = layer(28, 32, 64, kernel);
    const Cycle one = cycles_of(shape, chip_of(1, 4)), four = cycles_of(shape, chip_of(4, 4));
    EXPECT_FALSE(slower(one, four)) << "kernel " << kernel << ": " << one << " cycles on 1x4, " << four
                                    << " on 4x4";
  }
}

TEST(MoreIsNotWorse, HI_4_MA_4_auto_takes_no_longer_than_direct) {
  const ConvShape shape = layer(14, 64, 96, 1);
  for (const int bus_bytes : {1, 4, 16, 64}) {
    HardwareConfig hardware = chip_of(4, 4);
    hardware.chip->cluster_bus.bytes_per_clock = bus_bytes;
    hardware.chip->sram.bank_bytes = std::min(hardware.chip->sram.bank_bytes, bus_bytes);
    const Cycle automatic = cycles_of(shape, hardware);
    hardware.chip->dram_path = DramPath::kDirect;
    EXPECT_FALSE(slower(cycles_of(shape, hardware), automatic))
        << "a cluster bus of " << bus_bytes << " bytes";
  }
}

TEST(MoreIsNotWorse, MA_4_a_wider_interconnect_and_more_DRAM_channels_take_no_longer) {
  const std::vector<ConvShape> shapes{layer(28, 64, 64, 3), layer(56, 64, 256, 1), layer(14, 256, 256, 1),
                                      layer(1, 4096, 1024, 1)};
  for (const ConvShape& shape : shapes) {
    Cycle before = 0;
    for (const int bytes : {8, 16, 32, 64}) {
      HardwareConfig hardware = chip_of(4, 4);
      hardware.interconnect.bytes_per_clock = bytes;
      const Cycle now = cycles_of(shape, hardware);
      if (before != 0) {
        EXPECT_FALSE(slower(before, now)) << bytes << " bytes a cycle: " << before << ", " << now;
      }
      before = now;
    }
    before = 0;
    for (const int channels : {1, 2, 4}) {
      HardwareConfig hardware = chip_of(4, 4);
      hardware.dram.channels = channels;
      const Cycle now = cycles_of(shape, hardware);
      if (before != 0) {
        EXPECT_FALSE(slower(before, now)) << channels << " channels: " << before << ", " << now;
      }
      before = now;
    }
  }
}

// ---- random layers and chips ----

template <class T>
T one_of(const std::vector<T>& values) {
  return values[static_cast<std::size_t>(number(0, static_cast<int>(values.size()) - 1))];
}

ConvShape random_layer() {
  const int kernel = one_of<int>({1, 1, 3, 3, 5, 7});
  const int extent = kernel == 1 ? one_of<int>({1, 7, 14, 28, 56}) : one_of<int>({7, 10, 14, 28, 56});
  const int many = extent == 1 ? 4 : 1;
  ConvShape shape = layer(extent, many * one_of<int>({3, 16, 32, 64, 96, 128, 256}),
                          many * one_of<int>({16, 32, 48, 64, 100, 128, 256}), kernel);
  if (extent > 1) {
    shape.width = one_of<int>({extent, extent, 14, 20, 30});
    shape.stride = {number(1, 2), 1};
    shape.stride[1] = shape.stride[0];
  }
  return shape;
}

HardwareConfig random_base(const std::vector<std::string>& dataflows) {
  HardwareConfig hardware = chip_of(one_of<int>({1, 1, 2, 4}), one_of<int>({1, 2, 4}));
  hardware.dataflow = one_of(dataflows);
  hardware.dram.channels = one_of<int>({1, 1, 2});
  hardware.interconnect.bytes_per_clock = one_of<int>({8, 16, 32});
  hardware.chip->memory_controllers = one_of<int>({1, 2});
  hardware.chip->cluster_bus.bytes_per_clock = one_of<int>({16, 32, 64});
  hardware.chip->core.nram.size_bytes = 1024 * one_of<int>({128, 256, 512});
  hardware.chip->core.wram.size_bytes = 1024 * one_of<int>({256, 512, 1024});
  return hardware;
}

// Adds something to a chip; its name.
std::string add_to(HardwareConfig& hardware) {
  ChipConfig& chip = *hardware.chip;
  const int times = one_of<int>({2, 4});
  switch (number(0, 7)) {
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
    default:
      chip.core.wram.size_bytes *= 2;
      return "WRAM";
  }
}

/// A layer on a chip, and on the same chip with more of something.
struct Pair {
  std::string text;
  Cycle before = 0, after = 0;
  bool is_slower() const { return slower(before, after); }
};
Pair pair_of(const std::vector<std::string>& dataflows) {
  const ConvShape shape = random_layer();
  HardwareConfig hardware = random_base(dataflows);
  Pair pair;
  const std::string base = hardware_to_json(hardware).dump();
  pair.before = cycles_of(shape, hardware);
  const std::string added = add_to(hardware);
  pair.after = cycles_of(shape, hardware);
  pair.text = fmt::format("{} with more {}: {} -> {} cycles on {}", to_text(shape), added, pair.before,
                          pair.after, base);
  return pair;
}

const std::vector<std::string> kConvolving{"dilated", "dilated", "wfold"}, kMultiplying{"rolling", "offset"};

/// A pair that is slower than SPEC MA-4 allows: its number, which is the seed that it is drawn from, and its
/// cycles. The planner chooses by estimates, which err by some per cent (docs/planner.md).
struct KnownPair {
  int number;
  Cycle before, after;
};
/// Lists may only get shorter: whoever makes a pair faster takes it off, and no other one may come.
const std::vector<KnownPair> kKnownConvolving{{14, 2885, 3217}}, kKnownMultiplying{{12, 25269, 29256}};

void check_pairs(int pairs, const std::vector<std::string>& dataflows, const std::vector<KnownPair>& known) {
  for (int number = 1; number <= pairs; ++number) {
    Pair pair;
    check_cases(
        1, [&] { pair = pair_of(dataflows); }, static_cast<std::uint64_t>(number));
    const auto same = [number](const KnownPair& k) { return k.number == number; };
    const auto listed = std::find_if(known.begin(), known.end(), same);
    if (listed == known.end()) {
      EXPECT_FALSE(pair.is_slower()) << "pair " << number << ": " << pair.text;
      continue;
    }
    EXPECT_TRUE(pair.is_slower()) << "pair " << number << " is slower no longer: take it off the list";
    EXPECT_EQ(pair.before, listed->before) << "pair " << number << ": " << pair.text;
    EXPECT_EQ(pair.after, listed->after) << "pair " << number << ": " << pair.text;
  }
}
TEST(MoreIsNotWorse, MA_4_numbered_layers_on_chips_that_get_more) {
  check_pairs(budget(60), kConvolving, kKnownConvolving);
}
TEST(MoreIsNotWorse, MA_4_numbered_layers_on_matmul_units_that_get_more) {
  check_pairs(budget(20), kMultiplying, kKnownMultiplying);
}

// Other pairs in every run. About one in fifty is slower: here at most three of 24 may be, which chance
// exceeds once in some thousand runs, and none by more than a half:
// a third more has been met.
TEST(MoreIsNotWorse, MA_4_few_of_any_layers_and_chips_are_slower_with_more) {
  constexpr int kMostSlower = 3;
  std::vector<std::string> slow;
  check_cases(24, [&] {
    const Pair pair = pair_of(one_in(4) ? kMultiplying : kConvolving);
    RC_LOG() << pair.text << "\n";
    if (pair.is_slower()) slow.push_back(pair.text);
    RC_ASSERT(pair.after <= pair.before + std::max<Cycle>(64, pair.before / 2));
  });
  for (const std::string& text : slow) std::cout << "slower: " << text << "\n";
  EXPECT_LE(slow.size(), static_cast<std::size_t>(kMostSlower)) << fmt::format("{}", fmt::join(slow, "\n"));
}

// The kernels of a short layer came through the SRAM: more controllers made that look better than it was.
TEST(MoreIsNotWorse, MA_4_28x28x3_to_48_takes_no_longer_with_more_memory_controllers) {
  ConvShape shape = layer(28, 3, 48, 5);
  HardwareConfig hardware = chip_of(4, 2);
  hardware.dram.channels = 2, hardware.interconnect.bytes_per_clock = 8;
  hardware.chip->cluster_bus.bytes_per_clock = 16;
  Cycle before = 0;
  for (const int controllers : {1, 2, 4, 8}) {
    hardware.chip->memory_controllers = controllers;
    const Cycle now = cycles_of(shape, hardware);
    if (before != 0) {
      EXPECT_FALSE(slower(before, now)) << controllers << " controllers: " << before << ", " << now;
    }
    before = now;
  }
}

// What cores store of these pixels lies at one or two of four controllers.
TEST(MoreIsNotWorse, MA_4_HI_6_stores_at_one_controller_are_not_taken_for_faster) {
  ConvShape shape = layer(14, 3, 100, 1);
  shape.stride = {2, 2};
  HardwareConfig hardware = chip_of(1, 4);
  hardware.chip->core.nram.size_bytes = 131072, hardware.chip->core.wram.size_bytes = 262144;
  hardware.chip->cluster_bus.bytes_per_clock = 16;
  hardware.chip->memory_controllers = 2;
  const Cycle two = cycles_of(shape, hardware);
  hardware.chip->memory_controllers = 4;
  EXPECT_FALSE(slower(two, cycles_of(shape, hardware)));
}

}  // namespace
}  // namespace tilebeat::testing
