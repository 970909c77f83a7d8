#pragma once

// What the planner expected of the layers of a run against what they took (SPEC MA-3).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {

/// The greatest of the bounds of a layer of a report.json.
inline std::int64_t bound_of(const nlohmann::json& layer) {
  const auto& bound = layer.at("bound_cycles");
  return std::max({bound.at("compute").get<std::int64_t>(), bound.at("beats").get<std::int64_t>(),
                   bound.at("dram").get<std::int64_t>()});
}

/// The estimates of layers that take more than kLong cycles.
class LayerEstimates {
 public:
  static constexpr std::int64_t kLong = 10000;

  /// Expects of the layers of a report.json that no estimate is below the layer's bounds, and that those of
  /// long layers are within a fifth.
  void add(const nlohmann::json& report, const std::string& model) {
    for (const auto& layer : report.at("layers")) {
      const std::int64_t cycles = layer.at("cycles"), estimated = layer.at("estimated_cycles");
      const std::string name = fmt::format("{} of {}", layer.at("name").get<std::string>(), model);
      EXPECT_GE(estimated, bound_of(layer)) << name;
      if (cycles < kLong) continue;
      estimates_.push_back({name, static_cast<double>(estimated) / static_cast<double>(cycles) - 1});
      EXPECT_LE(std::abs(estimates_.back().error), 0.20) << name << ": " << estimated << " for " << cycles;
    }
  }
  void expect_half_within_a_twentieth() {
    ASSERT_GE(estimates_.size(), 3U) << "layers of more than " << kLong << " cycles";
    std::sort(estimates_.begin(), estimates_.end(),
              [](const Estimate& a, const Estimate& b) { return std::abs(a.error) < std::abs(b.error); });
    const Estimate& median = estimates_[estimates_.size() / 2];
    EXPECT_LE(std::abs(median.error), 0.05) << median.layer << ", of " << estimates_.size();
  }

 private:
  struct Estimate {
    std::string layer;
    double error = 0;
  };
  std::vector<Estimate> estimates_;
};

}  // namespace tilebeat::testing
