#pragma once

// Random chips of every matrix engine, for tests that hold for all of them.

#include "random_chip.h"
#include "random_offset.h"
#include "random_rolling.h"
#include "random_wfold.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace tilebeat::testing {

enum class Engine { kSwitchArray, kWfold, kRolling, kOffset };
constexpr std::array<Engine, 4> kEngines{Engine::kSwitchArray, Engine::kWfold, Engine::kRolling,
                                         Engine::kOffset};

/// At most so many clusters of so many cores; the switch array's chips have their own limits.
struct MostCores {
  int clusters, cores;
};

inline HardwareConfig random_chip_with(Engine engine, MostCores most = {2, 2}) {
  switch (engine) {
    case Engine::kSwitchArray:
      return random_chip();
    case Engine::kWfold:
      return random_wfold_chip(most.clusters, most.cores);
    case Engine::kRolling:
      return random_rolling_chip(most.clusters, most.cores);
    default:
      return random_offset_chip(most.clusters, most.cores);
  }
}

inline void PrintTo(Engine engine, std::ostream* out) {
  constexpr std::array<const char*, 4> kNames{"switch_array", "wfold", "rolling", "offset"};
  *out << kNames.at(static_cast<std::size_t>(engine));
}
/// The name of a test of an engine.
inline std::string engine_name(const ::testing::TestParamInfo<Engine>& info) {
  return ::testing::PrintToString(info.param);
}

}  // namespace tilebeat::testing
