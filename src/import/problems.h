#pragma once

#include "base/types.h"
#include "import/graph.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {

/// The reason why a node cannot be imported; caught by the loop over nodes.
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

/// All problems of an import, collected so that a user sees them at once.
class Problems {
 public:
  void add(const std::string& node, const std::string& reason);
  void add(const GraphNode& node, const std::string& reason);
  bool empty() const { return found_.empty(); }
  /// Adds the reason for which `made` gives up: Unsupported, or operands that are missing or do not fit.
  /// Returns what it returns, false where it gives up.
  bool collect(const GraphNode& node, const std::function<bool()>& made);
  /// Throws ImportError with a line per reason: the number and names of the nodes.
  [[noreturn]] void refuse(const std::string& path) const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> found_;  // reason, nodes
  std::size_t nodes_ = 0;
};

/// The map shape of tensors with fewer axes: [C], [N, C] and [N, T, C] become [1, 1, 1, C], [N, 1, 1, C] and
/// [N, 1, T, C].
Extents map_shape(const Extents& shape);
/// The map shape of a tensor that is held with its axes in the order `axes`.
Extents held_shape(const Extents& shape, const Extents& axes);
std::string lower_case(std::string text);
/// Axis `axis` of a tensor with `rank` axes, as an axis of its map.
std::size_t map_axis(std::size_t axis, std::size_t rank);

/// The largest model file, and the largest file of external data: 2 GiB, the limit of both formats.
constexpr std::uint64_t kMaxModelBytes = std::uint64_t{1} << 31;

/// `count` bytes of a regular file from `offset` on; all that is left when `count` is 0. Throws UserError.
std::vector<std::uint8_t> read_model_bytes(const std::string& path, std::uint64_t offset = 0,
                                           std::uint64_t count = 0);

}  // namespace tilebeat
