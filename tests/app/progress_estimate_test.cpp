// How far a run is, and how long it still takes (UI-1).
#include "app/progress.h"

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

std::vector<LayerPlan> layers_of(const std::vector<Cycle>& estimates) {
  std::vector<LayerPlan> layers(estimates.size());
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i].estimated_cycles = estimates[i];
  return layers;
}

TEST(SimulatedShare, UI_1_layers_count_by_the_cycles_that_are_expected_of_them) {
  SimulatedShare share(layers_of({100, 300, 600}));
  EXPECT_DOUBLE_EQ(share.at(0, 0), 0);
  EXPECT_DOUBLE_EQ(share.at(50, 0), 0.05);
  EXPECT_DOUBLE_EQ(share.at(250, 0), 0.1) << "a layer that takes longer than expected is not done";
  EXPECT_DOUBLE_EQ(share.at(260, 1), 0.1);
  EXPECT_DOUBLE_EQ(share.at(410, 1), 0.25);
  EXPECT_DOUBLE_EQ(share.at(500, 2), 0.4);
  EXPECT_DOUBLE_EQ(share.at(700, 3), 1);
}

TEST(SimulatedShare, UI_1_never_falls) {
  SimulatedShare share(layers_of({100, 100}));
  EXPECT_DOUBLE_EQ(share.at(100, 0), 0.5);
  EXPECT_DOUBLE_EQ(share.at(110, 1), 0.5);
}

TEST(SimulatedShare, UI_1_of_programs_by_hand_nothing_is_expected) {
  SimulatedShare share(layers_of({0}));
  EXPECT_DOUBLE_EQ(share.at(1000, 0), 0);
  SimulatedShare none({});
  EXPECT_DOUBLE_EQ(none.at(1000, 0), 0);
}

TEST(DurationText, UI_1_in_the_unit_that_a_reader_expects) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(0.2), "1 s");
  EXPECT_EQ(duration_text(119), "119 s");
  EXPECT_EQ(duration_text(121), "3 min");
  EXPECT_EQ(duration_text(7140), "119 min");
  EXPECT_EQ(duration_text(7200), "2 h 0 min");
  EXPECT_EQ(duration_text(90 * 60 * 2), "3 h 0 min");
}

}  // namespace
}  // namespace tilebeat::testing
