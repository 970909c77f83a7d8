#pragma once

#include "tilebeat/mapping/unit_mapping.h"

#include <cstdint>
#include <vector>

#include "row_axis.h"
#include "unit_graph.h"

namespace tilebeat {

/// Output rows of one image that a cluster makes, so many at a time; or all rows of several images, which it
/// makes at a time. Of rows of columns `columns` alone.
struct UnitPart {
  int image = 0, images = 1;
  Interval rows;
  int step_rows = 1;
  Interval columns = {};
};

/// row_axis of every layer and input of a unit.
using UnitAxes = std::vector<std::vector<RowAxis>>;
UnitAxes row_axes(const Workload& workload, const UnitGraph& unit, MapAxis axis = MapAxis::kRows);

/// Which rows of each tensor, of every image of a part, are made in which step: derived from the output
/// backwards (SPEC FU-2). Tensors in DRAM are loaded as if a layer made them.
class RowSchedule {
 public:
  /// `holdings`: by tensor of the unit; that of the output has no meaning. `axes` are those of row_axis, by
  /// layer and input.
  RowSchedule(const UnitGraph& unit, const std::vector<Holding>& holdings, const UnitAxes& axes,
              const UnitPart& part);

  int steps() const { return static_cast<int>(made_.size()); }
  /// Rows of a tensor that a step makes, and those of it that the step's layers read; both may be empty.
  Interval made(int step, int tensor) const { return at(made_, step, tensor); }
  Interval read(int step, int tensor) const { return at(read_, step, tensor); }
  /// Rows of a tensor that must be there at a time: from the first that a step reads to the last that it
  /// makes.
  int live_rows(int tensor) const;
  /// Rows that are made, those that are made again included.
  std::int64_t made_rows(int tensor) const;

 private:
  using Rows = std::vector<std::vector<Interval>>;  // by step and tensor
  static Interval at(const Rows& rows, int step, int tensor) {
    return rows[static_cast<std::size_t>(step)][static_cast<std::size_t>(tensor)];
  }
  Rows made_, read_;
};

/// The columns of each tensor of a unit that columns `outs` of its output need, by tensor; empty for those
/// that need none. `axes` are those of MapAxis::kColumns.
std::vector<Interval> columns_of(const UnitGraph& unit, const UnitAxes& axes, Interval outs);

}  // namespace tilebeat
