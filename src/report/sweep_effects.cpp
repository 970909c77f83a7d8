#include "report/sweep_table.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilebeat {
namespace {

using Json = nlohmann::ordered_json;

/// The texts of all axes but one: points with equal ones differ in that one alone.
std::vector<std::string> other_axes(const SweepTable& table, const Json& row, const std::string& axis) {
  std::vector<std::string> texts;
  for (const std::string& other : table.axes) {
    if (other != axis) texts.push_back(axis_text(row, other));
  }
  return texts;
}

AxisEffect effect_of(const SweepTable& table, const ParetoAxes& costs, const std::string& axis) {
  AxisEffect effect{axis, {}};
  std::map<std::vector<std::string>, const Json*> first;  // points of the first value, by the other axes
  std::vector<std::array<double, 2>> logarithms;          // by value: sums
  const auto value_of = [&](const Json& row) -> std::size_t {
    const std::string text = axis_text(row, axis);
    const auto found = std::find_if(effect.values.begin(), effect.values.end(),
                                    [&](const ValueEffect& value) { return value.value == text; });
    if (found != effect.values.end()) return static_cast<std::size_t>(found - effect.values.begin());
    effect.values.push_back({text});
    logarithms.push_back({});
    return effect.values.size() - 1;
  };
  for (const Json& row : table.rows) {
    if (value_of(row) == 0 && row["result"] == "passed") first[other_axes(table, row, axis)] = &row;
  }
  for (const Json& row : table.rows) {
    if (row["result"] != "passed") continue;
    const std::size_t number = value_of(row);
    ValueEffect& value = effect.values[number];
    ++value.points;
    const auto partner = first.find(other_axes(table, row, axis));
    if (partner == first.end()) continue;
    std::array<double, 2> quotients{};
    bool good = true;
    for (std::size_t cost = 0; cost < costs.size(); ++cost) {
      const double before = number_in(*partner->second, costs[cost]).value_or(0);
      const double now = number_in(row, costs[cost]).value_or(0);
      good = good && before > 0 && now > 0;
      if (good) quotients[cost] = now / before;
    }
    if (!good) continue;
    ++value.compared;
    for (std::size_t cost = 0; cost < costs.size(); ++cost)
      logarithms[number][cost] += std::log(quotients[cost]);
  }
  double least = 1, most = 1;
  for (std::size_t number = 0; number < effect.values.size(); ++number) {
    ValueEffect& value = effect.values[number];
    if (value.compared == 0) continue;
    for (std::size_t cost = 0; cost < costs.size(); ++cost)
      value.times[cost] = std::exp(logarithms[number][cost] / static_cast<double>(value.compared));
    least = std::min(least, *value.times[0]), most = std::max(most, *value.times[0]);
  }
  effect.spread = most / least;
  return effect;
}

}  // namespace

std::string axis_text(const Json& row, const std::string& axis) {
  if (!row.contains(axis)) return "";
  return row[axis].is_string() ? row[axis].get<std::string>() : row[axis].dump();
}

std::vector<AxisEffect> axis_effects(const SweepTable& table, const ParetoAxes& costs) {
  std::vector<AxisEffect> effects;
  for (const std::string& axis : table.axes) effects.push_back(effect_of(table, costs, axis));
  std::stable_sort(effects.begin(), effects.end(),
                   [](const AxisEffect& a, const AxisEffect& b) { return a.spread > b.spread; });
  return effects;
}

}  // namespace tilebeat
