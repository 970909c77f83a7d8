// What the planner makes of a layer and of its settings (SPEC SW-7, UI-2).
#include "program/plan.h"

#include "config/hardware_config.h"
#include "conv_workload.h"
#include "engines/switch_array/config.h"
#include "planned_tiles.h"
#include "planner/program/planner.h"
#include "workload/workload.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {

using switch_array::SwitchArrayConfig;

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

HardwareConfig hardware() {
  HardwareConfig config;
  config.dram = dram_preset(config.dram.preset);
  return config;
}

TEST(Plan, UI_2_tile_limits_are_multiples_of_groups_and_lanes_and_at_least_one) {
  ConvShape shape;
  shape.height = 24, shape.width = 48;
  const Workload workload = conv_workload(shape);
  const struct {
    int limit, rows, columns;
  } cases[] = {{1, 2, 8}, {2, 2, 8}, {3, 2, 8}, {9, 8, 8}, {17, 16, 16}};
  for (const auto& c : cases) {
    HardwareConfig config = hardware();
    config.planner.max_tile_rows = config.planner.max_tile_columns = c.limit;
    const PlannedTiles tile =
        planned_tiles(make_plan(workload, config), shape.out_extent(0), shape.out_extent(1));
    EXPECT_LE(tile.tile_rows, c.rows) << "limit " << c.limit;
    EXPECT_EQ(tile.tile_rows % 2, 0) << "limit " << c.limit << ", two groups";
    EXPECT_EQ(tile.tile_columns, c.columns) << "limit " << c.limit << ", eight lanes";
  }
}

TEST(Plan, UI_2_a_layer_that_does_not_fit_is_named) {
  ConvShape shape;
  shape.kernel = {5, 5};
  HardwareConfig config = hardware();
  config.engine<SwitchArrayConfig>().parameter_depth_words = 16;
  try {
    make_plan(conv_workload(shape), config);
    FAIL() << "25 words do not fit into 16";
  } catch (const PlanError& error) {
    EXPECT_EQ(error.layer(), "conv");
    EXPECT_NE(std::string(error.what()).find("switch_array.parameter_depth_words is 16"), std::string::npos)
        << error.what();
  }
}

TEST(Plan, UI_2_a_workload_that_does_not_fit_into_DRAM_names_no_layer) {
  HardwareConfig config = hardware();
  config.dram.size_bytes = 4096;
  try {
    make_plan(conv_workload({}), config);
    FAIL() << "a page does not hold it";
  } catch (const PlanError& error) {
    EXPECT_EQ(error.layer(), "");
    EXPECT_NE(std::string(error.what()).find("dram.size_bytes is 4096"), std::string::npos) << error.what();
  }
}

// SPEC MA-4: streams of kernels that are read side by side must not meet in one bank of DRAM.
TEST(Plan, MA_4_parts_of_kernels_begin_in_different_banks_and_at_different_controllers) {
  ConvShape shape;  // a fully connected layer, 4 MiB of kernels
  shape.height = shape.width = 1, shape.channels = 4096, shape.out_channels = 1024, shape.kernel = {1, 1};
  HardwareConfig config = hardware();
  config.chip.emplace();
  config.chip->cores_per_cluster = 4, config.chip->memory_controllers = 2;
  const Plan plan = make_plan(conv_workload(shape), config);
  const std::int64_t all_banks = config.dram.row_bytes * config.dram.banks * 2;
  std::vector<std::int64_t> phases;  // of the parts
  std::uint64_t end = 0;
  for (const MemorySegment& segment : plan.image) {
    if (segment.what != "kernels of conv") continue;
    if (segment.address != end) phases.push_back(static_cast<std::int64_t>(segment.address) % all_banks);
    end = segment.address + segment.bytes.size();
  }
  ASSERT_EQ(phases.size(), 4U) << "a part for every core";
  std::set<std::int64_t> banks;
  int controllers[2] = {};
  for (const std::int64_t phase : phases) {
    banks.insert(phase / (2 * config.dram.row_bytes));
    ++controllers[phase / 4096 % 2];
  }
  EXPECT_EQ(banks.size(), 4U);
  EXPECT_EQ(controllers[0], 2);
  EXPECT_EQ(controllers[1], 2);
}

std::string choice(const LayerPlan& layer, const std::string& name) {
  for (const auto& [key, text] : layer.choices) {
    if (key == name) return text;
  }
  return "";
}

// Where kernels of a layer are loaded before it begins, another mapping is the fastest: by itself the layer
// loads few kernels for many cores.
TEST(Plan, MA_1_FU_4_layers_are_mapped_for_kernels_that_are_there_already) {
  const Workload resnet = load_workload(TILEBEAT_SOURCE_DIR "/models/resnet18.json");
  const HardwareConfig hardware = load_hardware(TILEBEAT_SOURCE_DIR "/configs/cluster4x4.json");
  const Plan plan = make_plan(resnet, hardware);
  const auto layer = [&](const std::string& name) -> const LayerPlan& {
    return *std::find_if(plan.layers.begin(), plan.layers.end(),
                         [&](const LayerPlan& l) { return l.name == name; });
  };
  EXPECT_THAT(choice(layer("s2b1_conv2"), "chosen"), HasSubstr("when kernels are loaded before"));
  EXPECT_NE(choice(layer("s2b1_conv2"), "prefetch"), "");
  EXPECT_THAT(choice(layer("s2b2_conv2"), "chosen"), HasSubstr("as for 's2b")) << "the same sizes";
}

// Blocks of an encoder have the same products: of two results, and with weights.
TEST(Plan, MA_1_products_of_the_same_sizes_are_mapped_alike) {
  const Workload encoder = load_workload(TILEBEAT_SOURCE_DIR "/models/encoder.json");
  const Plan plan = make_plan(encoder, load_hardware(TILEBEAT_SOURCE_DIR "/configs/core1.json"));
  std::map<std::string, std::string> chosen;
  for (const LayerPlan& layer : plan.layers) chosen[layer.name] = choice(layer, "chosen");
  for (const std::string product : {"scores", "context", "attended", "up", "down"}) {
    EXPECT_THAT(chosen.at("b2_" + product), HasSubstr("as for 'b"));
    EXPECT_THAT(chosen.at("b2_" + product), HasSubstr("_" + product + "'"));
  }
  EXPECT_THAT(chosen.at("b0_context"), Not(HasSubstr("as for"))) << "scores have other sizes";
}

}  // namespace
}  // namespace tilebeat::testing
