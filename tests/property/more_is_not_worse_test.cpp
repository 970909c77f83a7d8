// Adding to a chip does not make a layer or a fused network slower (SPEC MA-4, MA-6), and the examples that
// once did.

#include "../data/temporary_folder.h"
#include "budget.h"
#include "conv_workload.h"
#include "more_hardware.h"
#include "random_cases.h"
#include "simulated_run.h"
#include "workload/workload.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using nlohmann::json;

Cycle cycles_of(const ConvShape& shape, const HardwareConfig& hardware) {
  return testing::cycles_of(conv_workload(shape), hardware);
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

// ---- random layers and networks, and chips ----

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

const std::vector<std::string> kDataflows{"dilated", "dilated", "wfold", "rolling", "offset"};

Pair pair_of_layer() {
  const ConvShape shape = random_layer();
  return pair_of(conv_workload(shape), to_text(shape), random_base(kDataflows));
}

// Two to six convolutions and poolings of a map, with sums of blocks.
json random_network() {
  json layers = json::array();
  int extent = one_of<int>({7, 14, 14, 28, 28, 56}), channels = one_of<int>({16, 32, 64});
  const json input{{"name", "x"},
                   {"shape", {one_of<int>({1, 1, 1, 4}), extent, extent, channels}},
                   {"dtype", "int8"},
                   {"random", {{"seed", 1}}}};
  std::string last = "x", before;  // `before`: a map of the same extents in front of `last`
  for (int i = 0, count = number(2, 6); i < count; ++i) {
    const std::string name = fmt::format("l{}", i);
    if (!before.empty() && one_in(3)) {
      layers.push_back(
          {{"name", name}, {"op", "add"}, {"inputs", {last, before}}, {"requant", {{"scale", 0.5}}}});
      before.clear(), last = name;
      continue;
    }
    const int kernel = one_of<int>({1, 1, 3, 3, 5}), stride = extent >= 14 && one_in(4) ? 2 : 1;
    const int made = one_of<int>({channels, channels, 32, 64, 128});
    layers.push_back({{"name", name},
                      {"op", "conv2d"},
                      {"inputs", {last}},
                      {"out_channels", made},
                      {"kernel", {kernel, kernel}},
                      {"stride", {stride, stride}},
                      {"pads", {kernel / 2, kernel / 2, kernel / 2, kernel / 2}},
                      {"weights", {{"random", {{"seed", i + 2}}}}},
                      {"requant", {{"scale", 0.001}}}});
    if (stride == 1 && made == channels) {
      if (before.empty()) before = last;
    } else {
      before.clear();
    }
    extent = (extent + stride - 1) / stride, channels = made, last = name;
  }
  return {{"name", "network"}, {"inputs", {input}}, {"layers", layers}};
}

Pair pair_of_network() {
  const json network = random_network();
  HardwareConfig hardware = random_base(kDataflows);
  hardware.fused = true;
  hardware.fusion.planner = one_of<FusionPlanner>({FusionPlanner::kRules, FusionPlanner::kOptimal});
  const TemporaryFolder folder;
  return pair_of(load_workload(folder.write("network.json", network.dump())), network.dump(), hardware);
}

const std::vector<KnownPair> kKnownLayers{
    {343, 8754, 9017}, {363, 4649, 5209}, {515, 4540, 4631}, {746, 2571, 2672}, {769, 5213, 5506}},
    kKnownNetworks{
        {9, 5173, 5495}, {88, 19453, 19932}, {90, 26777, 27846}, {239, 2097, 2281}, {242, 31653, 32645}};

// Fifty pairs a part; on a push the first ones of each part.
void check_part(int part, const std::function<Pair()>& draw, const std::vector<KnownPair>& known) {
  constexpr int kOfPart = 50, kOfPush = 2;
  const int first = part * kOfPart + 1;
  check_pairs(first, first + (is_push() ? kOfPush : kOfPart) - 1, draw, known);
}
std::string number_of_part(const ::testing::TestParamInfo<int>& test) {
  return fmt::format("{}", test.param);
}

class MoreIsNotWorseOfLayers : public ::testing::TestWithParam<int> {};
TEST_P(MoreIsNotWorseOfLayers, MA_4_numbered_layers_on_chips_that_get_more) {
  check_part(GetParam(), pair_of_layer, kKnownLayers);
}
INSTANTIATE_TEST_SUITE_P(Thousand, MoreIsNotWorseOfLayers, ::testing::Range(0, 20), number_of_part);

class MoreIsNotWorseOfNetworks : public ::testing::TestWithParam<int> {};
TEST_P(MoreIsNotWorseOfNetworks, MA_6_numbered_fused_networks_on_chips_that_get_more) {
  check_part(GetParam(), pair_of_network, kKnownNetworks);
}
INSTANTIATE_TEST_SUITE_P(TwoHundredAndFifty, MoreIsNotWorseOfNetworks, ::testing::Range(0, 5),
                         number_of_part);

// Other pairs in every run. About one in two hundred is slower: here at most two of 24 may be, which chance
// exceeds once in some thousand runs, and none by more than a half: a third more has been met.
TEST(MoreIsNotWorse, MA_4_few_of_any_layers_and_chips_are_slower_with_more) {
  constexpr int kMostSlower = 2;
  std::vector<std::string> slow;
  check_cases(24, [&] {
    const Pair pair = pair_of_layer();
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

// One core takes 1,261 cycles, two take 1,728 as mapped for two.
TEST(MoreIsNotWorse, MA_4_one_core_of_several_computes_a_short_layer_where_that_is_faster) {
  ConvShape shape = layer(10, 32, 16, 3);
  shape.width = 14, shape.stride = {2, 2};
  HardwareConfig hardware = chip_of(1, 1);
  hardware.interconnect.bytes_per_clock = 8, hardware.chip->memory_controllers = 2;
  hardware.chip->cluster_bus.bytes_per_clock = 32, hardware.chip->sram.size_bytes = 65536;
  hardware.chip->core.nram.size_bytes = hardware.chip->core.wram.size_bytes = 262144;
  const Cycle one = cycles_of(shape, hardware);
  for (const int cores : {2, 4}) {
    hardware.chip->cores_per_cluster = cores;
    EXPECT_EQ(cycles_of(shape, hardware), one) << cores << " cores";
  }
}

// As mapped for four cores a cluster the layer takes 10,326 cycles; two of each take 9,712.
TEST(MoreIsNotWorse, MA_4_cores_of_each_cluster_stay_idle_where_a_short_layer_is_faster_so) {
  ConvShape shape = layer(10, 96, 64, 3);
  shape.width = 30;
  HardwareConfig hardware = chip_of(4, 2);
  hardware.dataflow = "offset", hardware.planner.search = 0;
  hardware.interconnect.bytes_per_clock = 32, hardware.chip->memory_controllers = 2;
  hardware.chip->cluster_bus.bytes_per_clock = 32, hardware.chip->sram.size_bytes = 131072;
  hardware.chip->core.nram.size_bytes = 131072, hardware.chip->core.wram.size_bytes = 524288;
  const Cycle before = cycles_of(shape, hardware);
  hardware.chip->cores_per_cluster = 4;
  EXPECT_EQ(cycles_of(shape, hardware), before);
  const PlannedNetwork planned = plan_network(conv_workload(shape), hardware);
  EXPECT_EQ(planned.mappings.front().cores_per_cluster, 2);
}

// Kernel blocks of 64 are large for 1 MiB of WRAM, not for 2 MiB; with them the layer takes a fifth longer.
TEST(MoreIsNotWorse, MA_4_the_W_fold_engine_has_small_kernel_blocks_with_more_WRAM_too) {
  ConvShape shape = layer(10, 96, 100, 7);
  shape.width = 30;
  HardwareConfig hardware = chip_of(2, 1);
  hardware.dataflow = "wfold";
  hardware.interconnect.bytes_per_clock = 16, hardware.chip->sram.size_bytes = 131072;
  hardware.chip->core.nram.size_bytes = 262144, hardware.chip->core.wram.size_bytes = 1 << 20;
  const Cycle before = cycles_of(shape, hardware);
  hardware.chip->core.wram.size_bytes = 2 << 20;
  EXPECT_FALSE(slower(before, cycles_of(shape, hardware)));
}

// The last layer by itself is faster on five cores than on four, the network is not.
TEST(MoreIsNotWorse, MA_6_a_small_network_is_mapped_as_on_fewer_cores_where_that_is_faster) {
  json layers = json::array();
  std::string last = "x";
  for (const auto& [channels, kernel] : {std::pair(16, 1), std::pair(16, 1), std::pair(128, 5)}) {
    const std::string name = fmt::format("l{}", layers.size());
    layers.push_back({{"name", name},
                      {"op", "conv2d"},
                      {"inputs", {last}},
                      {"out_channels", channels},
                      {"kernel", {kernel, kernel}},
                      {"pads", {kernel / 2, kernel / 2, kernel / 2, kernel / 2}},
                      {"weights", {{"random", {{"seed", layers.size() + 2}}}}},
                      {"requant", {{"scale", 0.001}}}});
    last = name;
  }
  const json input{{"name", "x"}, {"shape", {1, 7, 7, 16}}, {"dtype", "int8"}, {"random", {{"seed", 1}}}};
  const TemporaryFolder folder;
  const Workload workload = load_workload(folder.write(
      "network.json", json{{"name", "network"}, {"inputs", {input}}, {"layers", layers}}.dump()));
  HardwareConfig hardware = chip_of(4, 1);
  hardware.fused = true, hardware.fusion.planner = FusionPlanner::kOptimal;
  hardware.chip->cluster_bus.bytes_per_clock = 64, hardware.chip->memory_controllers = 1;
  hardware.interconnect.bytes_per_clock = 16, hardware.chip->sram.size_bytes = 524288;
  hardware.chip->core.nram.size_bytes = 262144, hardware.chip->core.wram.size_bytes = 524288;
  const Cycle before = testing::cycles_of(workload, hardware);
  hardware.chip->cores_per_cluster = 2;
  EXPECT_FALSE(slower(before, testing::cycles_of(workload, hardware)));
  const Plan plan = make_plan(workload, hardware);
  const auto& facts = plan.layers.front().facts;
  EXPECT_TRUE(
      std::any_of(facts.begin(), facts.end(), [](const auto& f) { return f.first == "fewer cores"; }));
}

}  // namespace
}  // namespace tilebeat::testing
