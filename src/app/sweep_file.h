#pragma once

#include "schema/fields.h"
#include "schema/place.h"

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

void describe(Fields& v, SweepChange& change);

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

/// How a run is simulated, as `tilebeat run --granularity` says.
enum class RunGranularity { kTile, kClock };
constexpr std::array<std::string_view, 2> kRunGranularityNames{"tile", "clock"};

/// By column of the table (`sweep_costs`) the most that a point may take.
using SweepLimits = std::map<std::string, double>;

/// A sweep file. All paths start at it.
struct SweepFile {
  int version = 0;
  std::string name, config, layer;
  std::optional<std::string> mapping;
  SweepCheck check = SweepCheck::kDefault;
  SweepLimits limits;
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

/// A change, and where it stands in its file.
struct PlacedChange {
  SweepChange change;
  Place place;
};

/// One dimension of a product of changes.
struct PointAxis {
  std::string name;  ///< empty: names of points have its labels alone
  std::vector<PlacedChange> changes;
};

/// Sets the value at a JSON pointer of the contents of `file`; missing objects on the way are made. Throws
/// UserError about `place`, where the pointer stands, when nothing can stand there.
void set_at(Json& root, const std::string& pointer, const Json& value, const std::string& file,
            const Place& place);

/// The names of the axes; none of a list of points.
std::vector<std::string> axis_names(const SweepFile& file);

/// All points of the sweep read from `path`, in order, for folders below `points`. In a product the last axis
/// changes first, and a name is `axis=label+axis=label`, which is unique. Throws UserError for a file that
/// cannot be read, a pointer to a missing value, a hardware file that is invalid without changes, a change
/// for which no point has a valid hardware file, names that are too long for a folder, too many points, and
/// files that lie where the points' files are written.
std::vector<SweepPoint> sweep_points(const SweepFile& file, const std::string& path,
                                     const std::string& points);
/// The same of axes from elsewhere: only the files of `file` count. Labels of axes without a name are joined
/// by `/`.
std::vector<SweepPoint> points_of(const SweepFile& file, std::vector<PointAxis> axes, const std::string& path,
                                  const std::string& points);

}  // namespace tilebeat
