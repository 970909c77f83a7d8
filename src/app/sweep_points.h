#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sweep_file.h"

namespace tilebeat {

/// One run of a sweep: the texts of its files, by SweepTarget. A workload's paths are absolute or start at
/// the folder of the point.
struct SweepPoint {
  std::string name;                 ///< of its folder, too
  std::vector<std::string> labels;  ///< by axis
  std::array<std::optional<std::string>, kSweepTargets> texts;
};

/// The names of the axes; none of a list of points.
std::vector<std::string> axis_names(const SweepFile& file);

/// All points of the sweep that was read from `path`, in their order, for folders below `points`: of a
/// product the last axis changes first, and a name is `axis=label+axis=label`, which no other point can have.
/// Throws UserError for a file that cannot be read, a pointer that leads nowhere, a hardware file that is
/// wrong without changes, a change that no point with it has a right hardware file with, names that are too
/// long for a folder, too many points, and files that lie where the points' files are written.
std::vector<SweepPoint> sweep_points(const SweepFile& file, const std::string& path,
                                     const std::string& points);

}  // namespace tilebeat
