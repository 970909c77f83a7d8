#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace tilebeat {

/// Runs construction steps in the order given, or in a seeded random order: results must not depend on it
/// (SPEC CY-4).
class BuildOrder {
 public:
  BuildOrder() = default;
  explicit BuildOrder(std::uint32_t seed) : shuffle_(true), generator_(seed) {}

  void run(std::vector<std::function<void()>> steps) {
    if (shuffle_) std::shuffle(steps.begin(), steps.end(), generator_);
    for (const auto& step : steps) step();
  }

 private:
  bool shuffle_ = false;
  std::mt19937 generator_;
};

}  // namespace tilebeat
