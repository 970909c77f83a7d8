#pragma once

#include <cstdint>
#include <vector>

#include "row_schedule.h"
#include "unit_tasks.h"

namespace tilebeat {

/// The rows of a fused unit that one cluster makes: its parts of maps, and in which step it makes what.
struct ClusterRows {
  int cluster = 0;
  std::vector<UnitPart> parts;
  std::vector<RowSchedule> schedules;          ///< by part
  std::vector<std::vector<Interval>> columns;  ///< by part and tensor: those of its rows

  /// The most rows of a tensor that a step makes, of all its images, and that must be there at a time.
  int most_made(int tensor) const;
  /// The most outputs that a step computes for a tensor of one image: rows, or what makes several of them at
  /// a time.
  int most_computed(int tensor, const RowAxis& axis) const;
  int most_live(int tensor) const;
  /// The most columns of a tensor that are there at a time, and, likewise, that are computed.
  int most_columns(int tensor) const;
  int most_computed_columns(int tensor, const RowAxis& axis) const;
};

/// The output's rows, counted over all images, shared out evenly: of each cluster that makes some.
std::vector<ClusterRows> rows_of_clusters(const UnitWork& work);

/// Pixels of a tensor that all clusters make, those that are made again included.
std::int64_t made_pixels(const UnitWork& work, int tensor);
/// Likewise the outputs that are computed for the output of layer `layer`: pixels, or what makes several of
/// them at a time.
std::int64_t computed_outputs(const UnitWork& work, std::size_t layer);

}  // namespace tilebeat
