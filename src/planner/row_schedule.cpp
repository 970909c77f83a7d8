#include "row_schedule.h"

#include <algorithm>

namespace tilebeat {
namespace {

Interval joined(Interval a, Interval b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

}  // namespace

RowSchedule::RowSchedule(const UnitGraph& unit, const std::vector<Holding>& holdings, const UnitAxes& axes,
                         const UnitPart& part) {
  const std::size_t tensors = unit.tensors.size();
  const auto output = static_cast<std::size_t>(unit.output());
  // One step: what layers read of each tensor, from the output backwards; `make` says what is made of it.
  const auto step = [&](Interval outs, const auto& make, std::vector<Interval>& made,
                        std::vector<Interval>& read) {
    made.assign(tensors, {}), read.assign(tensors, {});
    made[output] = outs;
    for (std::size_t l = unit.layers.size(); l-- > 0;) {
      const UnitLayer& layer = unit.layers[l];
      const auto of = static_cast<std::size_t>(layer.output);
      if (of != output) made[of] = make(of, read[of]);
      if (made[of].empty()) continue;
      for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
        Interval& rows = read[static_cast<std::size_t>(layer.inputs[i])];
        rows = joined(rows, axes[l][i].inputs_of(made[of]));
      }
    }
    for (std::size_t t = 0; t < tensors; ++t) {
      if (unit.tensors[t].producer < 0) made[t] = make(t, read[t]);
    }
  };
  std::vector<Interval> all, all_read;
  step(
      part.rows, [](std::size_t, Interval read) { return read; }, all, all_read);
  std::vector<int> made_to(tensors);  // of tensors whose rows stay
  for (std::size_t t = 0; t < tensors; ++t) made_to[t] = all[t].begin;
  const auto make = [&](std::size_t t, Interval read) -> Interval {
    if (holdings[t] == Holding::kRecompute || read.empty()) return read;
    // Rows that a stride leaves out between two steps are not made.
    const int begin = std::max(made_to[t], read.begin);
    const Interval rows{begin, std::max(begin, holdings[t] == Holding::kWhole ? all[t].end : read.end)};
    made_to[t] = rows.end;
    return rows;
  };
  for (int row = part.rows.begin; row < part.rows.end; row += part.step_rows) {
    made_.emplace_back(), read_.emplace_back();
    step({row, std::min(part.rows.end, row + part.step_rows)}, make, made_.back(), read_.back());
  }
}

int RowSchedule::live_rows(int tensor) const {
  int most = 0, end = 0;
  for (int s = 0; s < steps(); ++s) {
    if (made(s, tensor).empty() && read(s, tensor).empty()) continue;
    if (!made(s, tensor).empty()) end = made(s, tensor).end;
    const int first = read(s, tensor).empty() ? made(s, tensor).begin : read(s, tensor).begin;
    most = std::max(most, end - first);
  }
  return most;
}

std::int64_t RowSchedule::made_rows(int tensor) const {
  std::int64_t rows = 0;
  for (int s = 0; s < steps(); ++s) rows += made(s, tensor).size();
  return rows;
}

UnitAxes row_axes(const Workload& workload, const UnitGraph& unit, MapAxis axis) {
  UnitAxes axes;
  for (const UnitLayer& layer : unit.layers) {
    axes.emplace_back();
    for (std::size_t i = 0; i < layer.inputs.size(); ++i)
      axes.back().push_back(*row_axis(workload, *layer.layer, i, unit.view, axis));
  }
  return axes;
}

// Columns are found as the rows of a single step are.
std::vector<Interval> columns_of(const UnitGraph& unit, const UnitAxes& axes, Interval outs) {
  const std::vector<Holding> holdings(unit.tensors.size(), Holding::kRecompute);
  const RowSchedule schedule(unit, holdings, axes, {0, 1, outs, outs.size()});
  std::vector<Interval> columns;
  for (std::size_t t = 0; t < unit.tensors.size(); ++t)
    columns.push_back(schedule.made(0, static_cast<int>(t)));
  return columns;
}

}  // namespace tilebeat
