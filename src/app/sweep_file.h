#pragma once

#include "schema/fields.h"

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

/// What a point of a sweep changes: files of `tilebeat run`.
enum class SweepTarget { kConfig, kLayer, kMapping };
constexpr std::array<std::string_view, 3> kSweepTargetNames{"config", "layer", "mapping"};
constexpr std::size_t kSweepTargets = kSweepTargetNames.size();

/// Values by JSON pointer.
using SweepSettings = std::map<std::string, Json>;

/// What one label of an axis, or one point of a list, changes.
struct SweepChange {
  std::string label;
  std::array<std::optional<std::string>, kSweepTargets> files;  ///< instead of the sweep's, by SweepTarget
  std::array<SweepSettings, kSweepTargets> set;                 ///< by SweepTarget
};

/// One dimension of a product: `choices`, or in short `values` of one place of one file.
struct SweepAxis {
  std::string name;
  std::optional<SweepTarget> target;
  std::optional<std::string> pointer;
  std::vector<Json> values;
  std::vector<SweepChange> choices;
};

/// Whether outputs are compared with the reference, as `tilebeat run --check` says.
enum class SweepCheck { kDefault, kOn, kOff };
constexpr std::array<std::string_view, 3> kSweepCheckNames{"default", "on", "off"};

/// A sweep file. All paths start at it.
struct SweepFile {
  int version = 0;
  std::string name, config, layer;
  std::optional<std::string> mapping;
  SweepCheck check = SweepCheck::kDefault;
  std::vector<SweepAxis> axes;
  std::vector<SweepChange> points;  ///< instead of `axes`
};

/// Version of the sweep file's format.
constexpr int kSweepVersion = 1;

/// Reads and checks a sweep file; `values` of axes have become `choices`. Throws UserError, one line with
/// file, JSON path, value and what is allowed.
SweepFile load_sweep(const std::string& path);

/// The JSON Schema (draft-07) of sweep files.
OrderedJson sweep_schema();

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
