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

/// The files of `tilebeat run` that a point of a sweep can change.
enum class SweepTarget { kConfig, kLayer, kMapping };
constexpr std::array<std::string_view, 3> kSweepTargetNames{"config", "layer", "mapping"};
constexpr std::size_t kSweepTargets = kSweepTargetNames.size();

/// Values by JSON pointer.
using SweepSettings = std::map<std::string, Json>;

/// The changes of one label of an axis, or of one point of a list.
struct SweepChange {
  std::string label;
  std::array<std::optional<std::string>, kSweepTargets> files;  ///< in place of the sweep's, by SweepTarget
  std::array<SweepSettings, kSweepTargets> set;                 ///< by SweepTarget
};

/// One dimension of a product: `choices`, or as a short form the `values` of one place of one file.
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

/// A sweep file. All paths are relative to it.
struct SweepFile {
  int version = 0;
  std::string name, config, layer;
  std::optional<std::string> mapping;
  SweepCheck check = SweepCheck::kDefault;
  std::vector<SweepAxis> axes;
  std::vector<SweepChange> points;  ///< in place of `axes`
};

/// Version of the sweep file's format.
constexpr int kSweepVersion = 1;

/// Reads and checks a sweep file; `values` of axes have become `choices`. Throws UserError, one line with
/// file, JSON path, value and what is allowed.
SweepFile load_sweep(const std::string& path);

/// The JSON Schema (draft-07) of sweep files.
OrderedJson sweep_schema();

/// One run of a sweep: the texts of its files, by SweepTarget. A workload's paths are absolute or relative to
/// the folder of the point.
struct SweepPoint {
  std::string name;                 ///< also that of its folder
  std::vector<std::string> labels;  ///< by axis
  std::array<std::optional<std::string>, kSweepTargets> texts;
};

/// The names of the axes; empty for a list of points.
std::vector<std::string> axis_names(const SweepFile& file);

/// All points of the sweep read from `path`, in order, for folders below `points`. In a product the last axis
/// changes first, and a name is `axis=label+axis=label`, which is unique. Throws UserError for a file that
/// cannot be read, a pointer to a missing value, a hardware file that is invalid without changes, a change
/// for which no point has a valid hardware file, names that are too long for a folder, too many points, and
/// files that lie where the points' files are written.
std::vector<SweepPoint> sweep_points(const SweepFile& file, const std::string& path,
                                     const std::string& points);

}  // namespace tilebeat
