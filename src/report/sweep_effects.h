#pragma once

#include "report/sweep_table.h"

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// What a value of an axis does: points that differ from one another in this axis alone are compared, those
/// of this value with those of the axis's first value.
struct ValueEffect {
  std::string value;
  std::size_t points = 0;                        ///< that passed
  std::size_t compared = 0;                      ///< of them, those with a partner at the first value
  std::array<std::optional<double>, 2> times{};  ///< by Pareto axis: the geometric mean of the quotients
};

/// What an axis of a sweep does.
struct AxisEffect {
  std::string axis;
  std::vector<ValueEffect> values;  ///< in the order of the points
  /// The most that its values differ by in the first Pareto axis: the largest mean quotient over the
  /// smallest.
  double spread = 1;
};

/// The effects of all axes, the largest first; of a list of points without axes none.
std::vector<AxisEffect> axis_effects(const SweepTable& table, const ParetoAxes& costs);

/// The text of a row's axis.
std::string axis_text(const nlohmann::ordered_json& row, const std::string& axis);

}  // namespace tilebeat
