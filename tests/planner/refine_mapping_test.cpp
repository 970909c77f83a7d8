// Single fields of a mapping are changed as long as its estimate falls (SPEC MA-3).
#include "conv_workload.h"
#include "planner/program/planner.h"

#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

// A 1x1 convolution whose kernels fit WRAM, on a chip of one core.
class Refined : public ::testing::Test {
 protected:
  Refined() {
    shape_.height = shape_.width = 14, shape_.channels = 96, shape_.out_channels = 576;
    shape_.requant = Requant{{0.01}, 0, DType::kInt8};
    hardware_.dram = dram_preset(hardware_.dram.preset);
    ChipConfig& chip = hardware_.chip.emplace();
    chip.cores_per_cluster = chip.memory_controllers = 1;
  }

  LayerMapping plan(const MappingRequest& request = {}) {
    NetworkMapping asked;
    if (!request.layer.empty()) asked.layers.push_back(request);
    const PlannedNetwork planned = plan_network(conv_workload(shape_), hardware_, asked, {});
    cycles_ = planned.plan.layers.front().estimated_cycles;
    return planned.mappings.front();
  }
  // All fields of a mapping but those that the test changes.
  static MappingRequest like(const LayerMapping& mapping) {
    MappingRequest request = request_of(mapping);
    request.weight_prefetch.reset(), request.weight_prefetch_during.reset(), request.engine.reset();
    return request;
  }

  ConvShape shape_;
  HardwareConfig hardware_;
  std::int64_t cycles_ = 0;  // of the last plan
};

TEST_F(Refined, MA_3_kernels_that_stay_come_in_loads_so_small_that_computing_begins_early) {
  const LayerMapping own = plan();
  const std::int64_t cycles = cycles_;
  MappingRequest at_once = like(own);
  at_once.blocks_per_load = 36, at_once.kernel_buffers = 1;
  plan(at_once);
  EXPECT_LT(own.blocks_per_load, 36);
  EXPECT_LT(static_cast<double>(cycles), 0.9 * static_cast<double>(cycles_));
}

TEST_F(Refined, MA_3_results_or_maps_go_through_the_sram_where_copies_of_one_engine_wait_for_each_other) {
  shape_.height = shape_.width = 56, shape_.channels = 24, shape_.out_channels = 144;
  const LayerMapping own = plan();
  const std::int64_t cycles = cycles_;
  MappingRequest direct = like(own);
  direct.maps = direct.results = DataPath::kDirect;
  plan(direct);
  EXPECT_TRUE(own.maps == DataPath::kSram || own.results == DataPath::kSram);
  EXPECT_LT(cycles + 40, cycles_);
  hardware_.chip->dram_path = DramPath::kDirect;
  EXPECT_FALSE(plan().uses_memory_cores());
}

// Two 3x3 convolutions, one of which computes for so long that nothing else counts.
TEST_F(Refined, MA_3_a_mapping_within_a_percent_of_what_any_mapping_takes_is_not_changed) {
  constexpr std::int64_t kLeast = std::int64_t{224} * 224 * 64 * 64 * 9 / 1024;  // 1,024 products a clock
  shape_.kernel = {3, 3}, shape_.pads = {1, 1, 1, 1};
  const auto reason = [this] {
    const PlannedNetwork planned = plan_network(conv_workload(shape_), hardware_, {}, {});
    cycles_ = planned.plan.layers.front().estimated_cycles;
    EXPECT_LE(planned.plan.layers.front().bound.compute, cycles_);
    return fmt::format("{}", fmt::join(planned.plan.layers.front().choices, "; "));
  };
  shape_.height = shape_.width = 224, shape_.channels = shape_.out_channels = 64;
  EXPECT_NE(reason().find(fmt::format("no mapping takes less than {}", kLeast)), std::string::npos);
  EXPECT_EQ(reason().find("changes of single fields"), std::string::npos);
  EXPECT_LT(static_cast<double>(cycles_), 1.01 * kLeast);
  shape_.height = shape_.width = 7;
  EXPECT_EQ(reason().find("no mapping takes less than"), std::string::npos);
  EXPECT_GT(static_cast<double>(cycles_), 1.01 * (std::int64_t{7} * 7 * 64 * 64 * 9 / 1024));
}

TEST_F(Refined, MA_3_no_field_that_a_mapping_file_names_is_changed) {
  MappingRequest request;
  request.layer = "conv", request.tile_rows = 7, request.blocks_per_load = 36, request.map_buffers = 1;
  request.results = DataPath::kDirect;
  const LayerMapping mapping = plan(request);
  EXPECT_EQ(mapping.tile_rows, 7);
  EXPECT_EQ(mapping.blocks_per_load, 36);
  EXPECT_EQ(mapping.map_buffers, 1);
  EXPECT_EQ(mapping.results, DataPath::kDirect);
}

TEST_F(Refined, MA_3_with_search_the_planners_own_mapping_is_simulated_too) {
  const LayerMapping own = plan();
  hardware_.planner.search = 3;
  const auto as_own = [&](const LayerMapping& m) {
    LayerMapping named = m;
    named.engine = own.engine, named.engine_choices = own.engine_choices;
    return mapping_text({named}) == mapping_text({own});
  };
  const PlannedNetwork planned = plan_network(
      conv_workload(shape_), hardware_, {},
      [&](const Layer&, const LayerMapping& m) { return std::optional<Cycle>(as_own(m) ? 500 : 1000); });
  EXPECT_EQ(mapping_text({planned.mappings.front()}), mapping_text({own}));
}

}  // namespace
}  // namespace tilebeat::testing
