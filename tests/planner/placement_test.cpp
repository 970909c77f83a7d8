// Places of kernels in DRAM (docs/planner.md).
#include "planner/layer/placement.h"

#include "config/hardware_config.h"

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

// Three blocks; the bytes of each are its number.
KernelBytes three_blocks() {
  KernelBytes kernels;
  kernels.layout.blocks = {0, 10, 30, 60};
  kernels.block = [layout = kernels.layout](std::size_t block) {
    return std::vector<std::uint8_t>(layout.blocks[block + 1] - layout.blocks[block],
                                     static_cast<std::uint8_t>(block));
  };
  kernels.post = {7, 7};
  return kernels;
}

class Placement : public ::testing::Test {
 protected:
  HardwareConfig hardware_;
  Plan plan_;
  DramPlaces places_{hardware_, plan_};
};

TEST_F(Placement, MA_1_blocks_lie_one_behind_the_other_and_are_packed_once) {
  const KernelBytes kernels = three_blocks();
  std::vector<std::size_t> packed;
  KernelBytes counted = kernels;
  counted.block = [&](std::size_t block) {
    packed.push_back(block);
    return kernels.block(block);
  };
  const WeightPlace place = places_.place_weights("l", counted, {0});
  EXPECT_EQ(packed, (std::vector<std::size_t>{0, 1, 2}));
  ASSERT_EQ(place.blocks.size(), 3U);
  ASSERT_EQ(plan_.image.size(), 4U) << "three blocks and the post-parameters";
  for (std::size_t block = 0; block < 3; ++block) {
    EXPECT_EQ(place.blocks[block], place.blocks[0] + kernels.layout.blocks[block]);
    EXPECT_EQ(plan_.image[block].address, place.blocks[block]);
    EXPECT_EQ(plan_.image[block].bytes, kernels.block(block));
  }
  EXPECT_EQ(plan_.image[3].address, place.post);
  EXPECT_EQ(plan_.image[3].bytes, kernels.post);
}

TEST_F(Placement, MA_1_kernels_that_are_a_tensor_have_their_bytes_there) {
  KernelBytes kernels = three_blocks();
  kernels.block = nullptr;
  places_.place_weights("l", kernels, {0});
  ASSERT_EQ(plan_.image.size(), 1U);
  EXPECT_EQ(plan_.image[0].bytes, kernels.post);
}

TEST_F(Placement, MA_1_kernels_of_one_name_with_the_same_bytes_have_one_place) {
  KernelBytes kernels = three_blocks();
  const WeightPlace nameless = places_.place_weights("l", kernels, {0});
  kernels.name = "w.npy";
  const WeightPlace first = places_.place_weights("l", kernels, {0});
  EXPECT_NE(first.blocks, nameless.blocks);
  KernelBytes with_others = kernels;
  with_others.post = {8, 8};
  const WeightPlace again = places_.place_weights("m", with_others, {0});
  EXPECT_EQ(again.blocks, first.blocks);
  EXPECT_NE(again.post, first.post) << "each layer has post-parameters of its own";
  EXPECT_NE(places_.place_weights("m", kernels, {0, 1}).blocks, first.blocks) << "parts begin elsewhere";
  KernelBytes packed_otherwise = kernels;
  packed_otherwise.block = [&kernels](std::size_t block) {
    std::vector<std::uint8_t> bytes = kernels.block(block);
    if (block == 2) bytes.back() = 0;
    return bytes;
  };
  EXPECT_NE(places_.place_weights("m", packed_otherwise, {0}).blocks, first.blocks);
}

TEST_F(Placement, MA_1_equal_constants_have_one_place) {
  const std::uint64_t first = places_.place_constant("constants of l", {1, 2, 3});
  EXPECT_NE(places_.place_constant("constants of l", {1, 2, 4}), first);
  EXPECT_EQ(places_.place_constant("constants of m", {1, 2, 3}), first);
  EXPECT_EQ(places_.place_constant("constants of m", {}), 0U);
  EXPECT_EQ(plan_.image.size(), 2U);
}

TEST_F(Placement, MA_1_an_engine_whose_blocks_are_longer_than_it_said_is_an_error) {
  KernelBytes kernels = three_blocks();
  kernels.layout.blocks.back() -= 1;
  EXPECT_THROW(places_.place_weights("l", kernels, {0}), std::logic_error);
}

// 8 bytes a transfer, a DRAM clock of 800 ps, an NPU clock of 1000 ps: 6400 bytes are 800 transfers.
TEST(DramBound, MA_3_is_the_bytes_by_the_bytes_of_a_clock_whatever_the_transfers_of_a_clock) {
  HardwareConfig hardware;
  hardware.clock_mhz = 1000;
  hardware.dram.clock_ps = 800;
  for (const auto& [transfers, cycles] : {std::pair(1, 640), {2, 320}, {4, 160}, {8, 80}}) {
    hardware.dram.transfers_per_clock = transfers;
    EXPECT_EQ(dram_bound(6400, hardware), cycles) << transfers << " transfers a clock";
    EXPECT_EQ(dram_bound(6401, hardware), (800 / transfers + 1) * 800 / 1000) << "one clock of DRAM more";
  }
  // A burst of eight transfers takes a clock, also where the bus could carry 16.
  hardware.dram.transfers_per_clock = 16;
  EXPECT_EQ(dram_bound(6400, hardware), 80);
  hardware.dram.channels = 2;
  EXPECT_EQ(dram_bound(6400, hardware), 40);
}

}  // namespace
}  // namespace tilebeat::testing
