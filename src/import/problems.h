#pragma once

#include "tilebeat/import/graph.h"

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {

/// Why a node cannot be imported; caught where nodes are gone through.
class Unsupported : public std::runtime_error {
 public:
  explicit Unsupported(const std::string& reason) : std::runtime_error(reason) {}
};

/// `value` as a whole number. Throws Unsupported when it is none, or beyond what a double counts one by one.
inline std::int64_t whole_number(double value) {
  constexpr double kMost = 9007199254740992;  // 2^53
  if (!(value >= -kMost && value <= kMost) || value != std::floor(value))
    throw Unsupported(fmt::format("{} where a whole number is needed", value));
  return static_cast<std::int64_t>(value);
}

/// All that stands in the way of an import, collected so that a user sees it at once.
class Problems {
 public:
  void add(const std::string& node, const std::string& reason);
  void add(const GraphNode& node, const std::string& reason);
  bool empty() const { return found_.empty(); }
  /// Throws ImportError with one line a reason: how many nodes, their names.
  [[noreturn]] void refuse(const std::string& path) const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> found_;  // reason, nodes
  std::size_t nodes_ = 0;
};

}  // namespace tilebeat
