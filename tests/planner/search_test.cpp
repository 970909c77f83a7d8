// `planner.search`: mappings are tried, and the fastest is kept (SPEC MA-3).
#include "conv_workload.h"
#include "planner/program/planner.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

class Search : public ::testing::Test {
 protected:
  Search() {
    shape_.height = shape_.width = 28, shape_.channels = 32, shape_.out_channels = 64;
    hardware_.dram = dram_preset(hardware_.dram.preset);
    hardware_.chip.emplace().cores_per_cluster = 4;
  }

  // Plans with trials that take as long as `cycles_of` says; what was tried is in `tried_`.
  template <class CyclesOf>
  LayerMapping plan(int search, CyclesOf cycles_of) {
    hardware_.planner.search = search;
    tried_.clear();
    const PlannedNetwork planned = plan_network(conv_workload(shape_), hardware_, {},
                                                [&](const Layer& layer, const LayerMapping& mapping) {
                                                  EXPECT_EQ(layer.name, "conv");
                                                  tried_.push_back(mapping);
                                                  return cycles_of(mapping);
                                                });
    reason_.clear();
    for (const auto& [key, text] : planned.plan.layers.front().choices) {
      if (key == "chosen") reason_ = text;
    }
    return planned.mappings.front();
  }

  ConvShape shape_;
  HardwareConfig hardware_;
  std::vector<LayerMapping> tried_;
  std::string reason_;
};

std::optional<Cycle> as_long_as_cores(const LayerMapping& mapping) {
  return mapping.cores();
}

TEST_F(Search, MA_3_nothing_is_tried_when_search_is_0) {
  plan(0, as_long_as_cores);
  EXPECT_TRUE(tried_.empty());
}

TEST_F(Search, MA_3_so_many_different_mappings_are_tried_beginning_with_the_planners_own) {
  const LayerMapping own = plan(0, as_long_as_cores);
  plan(6, as_long_as_cores);
  ASSERT_EQ(tried_.size(), 6U);
  const auto same = [](const LayerMapping& a, const LayerMapping& b) {
    return mapping_text({a}) == mapping_text({b});
  };
  EXPECT_TRUE(same(tried_[0], own));
  for (std::size_t i = 0; i < tried_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(same(tried_[i], tried_[j])) << i << " and " << j;
  }
}

TEST_F(Search, MA_3_the_mapping_that_takes_the_fewest_cycles_is_kept) {
  int number = 0;
  const LayerMapping chosen =
      plan(6, [&](const LayerMapping&) { return std::optional<Cycle>(++number == 4 ? 777 : 1000); });
  EXPECT_EQ(mapping_text({chosen}), mapping_text({tried_[3]}));
  EXPECT_NE(reason_.find("6 simulated, this one took 777 cycles by itself"), std::string::npos) << reason_;
}

TEST_F(Search, MA_3_mappings_that_fail_are_passed_over) {
  const LayerMapping own = plan(0, as_long_as_cores);
  const LayerMapping none = plan(3, [](const LayerMapping&) { return std::optional<Cycle>(); });
  EXPECT_EQ(mapping_text({none}), mapping_text({own})) << "the estimate decides";
  int number = 0;
  const LayerMapping second = plan(3, [&](const LayerMapping&) {
    return ++number == 1 ? std::optional<Cycle>() : std::optional<Cycle>(1000 + number);
  });
  EXPECT_EQ(mapping_text({second}), mapping_text({tried_[1]}));
}

}  // namespace
}  // namespace tilebeat::testing
