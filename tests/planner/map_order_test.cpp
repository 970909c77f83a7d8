// Networks whose maps lie in DRAM in another order than NHWC (SPEC OT-2).
#include "../data/temporary_folder.h"
#include "config/hardware_config.h"
#include "engines/offset_table/config.h"
#include "isa/address_map.h"
#include "planner/program/planner.h"

#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

const std::string kRest =
    R"("stride": [1, 1], "weights": {"random": {"seed": 2}}, "bias": {"random": {"seed": 3}},
  "requant": {"scale": 0.002, "zero_point": 2, "dtype": "uint8"}})";

Workload network(const std::string& tail, const std::string& output) {
  const TemporaryFolder folder;
  return load_workload(folder.write("network.json", R"({"name": "maps",
    "inputs": [{"name": "x", "shape": [2, 6, 5, 32], "dtype": "uint8", "random": {"seed": 1}}],
    "layers": [
      {"name": "a", "op": "conv2d", "inputs": ["x"], "out_channels": 48, "kernel": [3, 3], "pads": [1, 1, 1, 1], )" +
                                                        kRest + R"(,
      {"name": "p", "op": "max_pool", "inputs": ["a"], "kernel": [2, 2], "stride": [1, 1], "pads": [0, 0, 0, 0]},
      {"name": "b", "op": "conv2d", "inputs": ["p"], "out_channels": 16, "kernel": [1, 1], "pads": [0, 0, 0, 0], )" +
                                                        kRest + tail + R"(],
    "outputs": [")" + output + R"("]})"));
}

HardwareConfig hardware(MapLayout layout) {
  HardwareConfig hardware;
  hardware.dram = dram_preset(hardware.dram.preset);
  hardware.chip.emplace();
  hardware.chip->clusters = hardware.chip->cores_per_cluster = 1;
  hardware.dataflow = offset_table::kDataflow;
  hardware.engine<offset_table::OffsetConfig>().layout = layout;
  hardware.planner.map_layout = layout;
  return hardware;
}

TEST(MapOrder, OT_2_inputs_are_written_to_DRAM_in_the_chosen_order) {
  const Workload workload = network("", "b");
  const Plan plan = make_plan(workload, hardware(MapLayout::kCnhw));
  const auto input = std::find_if(plan.image.begin(), plan.image.end(),
                                  [](const MemorySegment& segment) { return segment.what == "input x"; });
  ASSERT_NE(input, plan.image.end());
  const std::vector<std::uint8_t>& nhwc = workload.input_data.at("x").bytes;
  ASSERT_EQ(input->bytes.size(), nhwc.size());
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t q = 0; q < 30; ++q) {
      for (std::size_t c = 0; c < 32; ++c)
        ASSERT_EQ(input->bytes[n * 30 + c * 2 * 30 + q], nhwc[(n * 30 + q) * 32 + c]);
    }
  }
}

// Copies of maps between DRAM and NRAM, by the bytes of their runs.
std::map<std::uint32_t, int> runs_of_maps(const Plan& plan, bool loads) {
  std::map<std::uint32_t, int> runs;
  const auto lies_in_map = [&](std::uint64_t address) {
    return std::any_of(plan.tensors.begin(), plan.tensors.end(), [&](const auto& tensor) {
      const Placement& place = tensor.second;
      return address >= place.address &&
             address < place.address + static_cast<std::uint64_t>(place.size_bytes());
    });
  };
  for (const ProgramImage& program : plan.programs) {
    for (const Instruction& instruction : program.instructions) {
      const auto* copy = instruction.operation.get_if<Copy>();
      if (copy != nullptr && lies_in_map(loads ? copy->source : copy->destination)) ++runs[copy->run_bytes];
    }
  }
  return runs;
}

TEST(MapOrder, OT_2_maps_in_the_order_of_the_engine_come_in_whole_planes) {
  HardwareConfig same = hardware(MapLayout::kNchwc), other = same;
  same.planner.map_block_channels = 16;
  other.planner.map_layout = MapLayout::kNhwc;
  // Convolutions read a block's whole plane of an image (30 or 20 pixels) or its rows at once; the pooling
  // brings blocks into the order of its vector unit.
  const auto with = runs_of_maps(make_plan(network("", "b"), same), true),
             without = runs_of_maps(make_plan(network("", "b"), other), true);
  EXPECT_GE(with.rbegin()->first, 20U * 16);
  EXPECT_EQ(with.begin()->first, 16U);
  EXPECT_EQ(without.begin()->first, 16U);
  EXPECT_EQ(runs_of_maps(make_plan(network("", "b"), same), false).begin()->first % 16, 0U);
}

TEST(MapOrder, OT_2_tensors_of_two_shapes_stay_in_order) {
  const Workload workload =
      network(R"(, {"name": "flat", "op": "reshape", "inputs": ["b"], "shape": [2, 320]})", "flat");
  const Plan plan = make_plan(workload, hardware(MapLayout::kNchw));
  EXPECT_NE(plan.tensors.at("x").stored, nullptr);
  EXPECT_NE(plan.tensors.at("p").stored, nullptr);
  EXPECT_EQ(plan.tensors.at("b").stored, nullptr);
  EXPECT_EQ(plan.tensors.at("flat").stored, nullptr);
}

TEST(MapOrder, OT_2_blocks_that_are_not_full_take_room) {
  HardwareConfig chip = hardware(MapLayout::kNchwc);
  chip.planner.map_block_channels = 20;
  const Plan plan = make_plan(network("", "b"), chip);
  EXPECT_EQ(plan.tensors.at("x").size_bytes(), 2 * 30 * 40);
  EXPECT_EQ(plan.tensors.at("a").size_bytes(), 2 * 30 * 60);
}

}  // namespace
}  // namespace tilebeat::testing
