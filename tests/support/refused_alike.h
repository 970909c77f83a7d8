#pragma once

// Programs that both granularities run, or refuse for the same reason.

#include "simulated_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {

/// Simulates `plan` in both granularities: each ends with one failure that says `message`; null: with none.
inline void expect_same_end(const HardwareConfig& hardware, const Plan& plan, const char* message) {
  for (const Granularity granularity : {Granularity::kTile, Granularity::kClock}) {
    SimulationOptions options;
    options.granularity = granularity;
    const SimulatedRun run = simulate_in_child(hardware, plan, options);
    if (message == nullptr) {
      EXPECT_EQ(run.failures, std::vector<std::string>{});
    } else {
      ASSERT_THAT(run.failures, ::testing::SizeIs(1));
      EXPECT_THAT(run.failures.front(), ::testing::HasSubstr(message));
    }
  }
}

}  // namespace tilebeat::testing
