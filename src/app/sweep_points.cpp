#include "app/output_files.h"
#include "app/sweep_file.h"
#include "config/hardware_config.h"
#include "planner/language/mapping_file.h"
#include "schema/json_file.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include <fmt/format.h>

namespace tilebeat {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPoints = 100'000, kLongestName = 200;
constexpr auto kMappingFile = to_size(SweepTarget::kMapping);
constexpr auto kLayerFile = to_size(SweepTarget::kLayer);

std::vector<PointAxis> placed_axes(const SweepFile& file, const Place& root) {
  std::vector<PointAxis> axes;
  const auto add = [&axes](const std::string& name, const std::vector<SweepChange>& changes,
                           const Place& list) {
    PointAxis axis{name, {}};
    for (std::size_t i = 0; i < changes.size(); ++i) axis.changes.push_back({changes[i], list.item(i)});
    axes.push_back(std::move(axis));
  };
  for (std::size_t i = 0; i < file.axes.size(); ++i) {
    const SweepAxis& axis = file.axes[i];
    add(axis.name, axis.choices, root.key("axes").item(i).key(axis.pointer ? "values" : "choices"));
  }
  if (file.axes.empty()) add("", file.points, root.key("points"));
  return axes;
}

std::vector<std::string> tokens_of(const std::string& pointer) {
  std::vector<std::string> tokens;
  for (std::size_t at = 0; at < pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', at + 1), pointer.size());
    std::string token;
    for (std::size_t i = at + 1; i < end; ++i) {
      const bool escape =
          pointer[i] == '~' && i + 1 < end && (pointer[i + 1] == '0' || pointer[i + 1] == '1');
      token += !escape ? pointer[i] : pointer[++i] == '0' ? '~' : '/';
    }
    tokens.push_back(token);
    at = end;
  }
  return tokens;
}

std::string rebased(const std::string& path, const fs::path& from, const fs::path& to) {
  if (fs::path(path).is_absolute()) return path;
  return place_of((from / path).string()).lexically_relative(to).string();
}

// Makes the paths of a workload, which are relative to folder `from`, relative to `to`.
void rebase_files(Json& json, const fs::path& from, const fs::path& to) {
  if (!json.is_structured()) return;
  for (auto item = json.begin(); item != json.end(); ++item) {
    if (json.is_object() && item.key() == "file" && item->is_string()) {
      *item = rebased(item->get<std::string>(), from, to);
    } else {
      rebase_files(*item, from, to);
    }
  }
}

void rebase(Json& workload, const fs::path& from, const fs::path& to) {
  rebase_files(workload, from, to);
  if (!workload.is_object() || !workload.contains("expected")) return;
  for (Json& file : workload["expected"]) {
    if (file.is_string()) file = rebased(file.get<std::string>(), from, to);
  }
}

class Maker {
 public:
  Maker(const SweepFile& file, std::vector<PointAxis> axes, const std::string& path, std::string points)
      : file_(file),
        folder_(fs::path(path).parent_path()),
        points_(std::move(points)),
        axes_(std::move(axes)) {
    for (const PointAxis& axis : axes_) {
      for (const auto& [change, place] : axis.changes)
        any_mapping_ = any_mapping_ || change.files[kMappingFile] || !change.set[kMappingFile].empty();
    }
    parse_hardware(base(SweepTarget::kConfig, file.config), beside(file.config));
  }

  std::vector<SweepPoint> all() {
    std::size_t count = 1;
    for (const PointAxis& axis : axes_) {
      count *= axis.changes.size();
      if (count > kMostPoints)
        throw UserError(
            fmt::format("{}: more than {} points", axis.changes.front().place.file(), kMostPoints));
    }
    std::vector<SweepPoint> points;
    for (std::size_t i = 0; i < count; ++i) points.push_back(make(i));
    // Values are blamed before files that they are put into.
    for (const bool values : {true, false}) {
      for (const PointAxis& axis : axes_) {
        for (const PlacedChange& placed : axis.changes) {
          if (placed.change.set[0].empty() != values) check(placed);
        }
      }
    }
    return points;
  }

 private:
  std::string beside(const std::string& path) const { return (folder_ / path).string(); }

  const Json& base(SweepTarget target, const std::string& path) {
    const std::string full = beside(path);
    const auto [found, added] = files_.try_emplace(full);
    if (added) {
      const fs::path place = place_of(full), points = place_of(points_);
      if (std::search(place.begin(), place.end(), points.begin(), points.end()) == place.begin())
        throw UserError(fmt::format("{}: lies in {}, where the sweep writes", full, points_));
      found->second = read_json_file(full);
    }
    constexpr std::array<FileKind, kSweepTargets> kKinds{FileKind::kHardware, FileKind::kWorkload,
                                                         FileKind::kMapping};
    check_file_kind(found->second, nth(kKinds, target), full);
    return found->second;
  }

  std::vector<const PlacedChange*> changes_of(std::size_t number) const {
    std::vector<const PlacedChange*> changes(axes_.size());
    for (std::size_t a = axes_.size(); a-- > 0; number /= axes_[a].changes.size())
      changes[a] = &axes_[a].changes[number % axes_[a].changes.size()];
    return changes;
  }

  SweepPoint make(std::size_t number) {
    const std::vector<const PlacedChange*> changes = changes_of(number);
    SweepPoint point;
    for (std::size_t a = 0; a < changes.size(); ++a) {
      const std::string &label = changes[a]->change.label, &axis = axes_[a].name;
      if (!axis.empty()) point.labels.push_back(label);
      if (a > 0) point.name += axis.empty() ? "/" : "+";
      point.name += axis.empty() ? label : fmt::format("{}={}", axis, label);
    }
    if (point.name.size() > kLongestName)
      changes.back()->place.fail(fmt::format("the name of the point '{}' has {} characters, allowed are {}",
                                             point.name, point.name.size(), kLongestName));
    for (std::size_t t = 0; t < kSweepTargets; ++t) point.texts[t] = text_of(t, point, changes);
    note_hardware(point, changes);
    return point;
  }

  std::optional<std::string> text_of(std::size_t t, const SweepPoint& point,
                                     const std::vector<const PlacedChange*>& changes) {
    std::optional<std::string> path = t == 0            ? std::optional(file_.config)
                                      : t == kLayerFile ? std::optional(file_.layer)
                                                        : file_.mapping;
    bool changed = false;
    for (const PlacedChange* placed : changes) {
      if (placed->change.files[t]) path = placed->change.files[t];
      changed = changed || !placed->change.set[t].empty();
    }
    if (!path && !changed && !(t == kMappingFile && any_mapping_)) return {};
    Json json = path ? base(static_cast<SweepTarget>(t), *path) : Json{{"tilebeat_mapping", kMappingVersion}};
    const std::string shown_path = path ? beside(*path) : "a new mapping file";
    for (const PlacedChange* placed : changes) {
      for (const auto& [pointer, value] : placed->change.set[t]) {
        set_at(json, pointer, value, shown_path, placed->place);
      }
    }
    if (t == kLayerFile)
      rebase(json, fs::path(shown_path).parent_path(), place_of((fs::path(points_) / point.name).string()));
    return json.dump(1) + "\n";
  }

  // An invalid combination is the result of its point, but a change that is never valid is an error.
  void note_hardware(const SweepPoint& point, const std::vector<const PlacedChange*>& changes) {
    std::string problem;
    try {
      parse_hardware(Json::parse(*point.texts[0]), (fs::path(points_) / point.name / "config.json").string());
    } catch (const UserError& error) {
      problem = error.what();
    }
    for (const PlacedChange* change : changes) {
      if (problem.empty()) {
        problems_[change].clear();
      } else {
        problems_.try_emplace(change, problem);
      }
    }
  }
  void check(const PlacedChange& placed) const {
    if (const std::string& problem = problems_.at(&placed); !problem.empty())
      placed.place.fail("every point with it has a wrong hardware file: " + problem);
  }

  const SweepFile& file_;
  fs::path folder_;
  std::string points_;
  std::vector<PointAxis> axes_;
  bool any_mapping_ = false;  // then every point has one, so that all are the same kind of run
  std::map<std::string, Json> files_;
  std::map<const PlacedChange*, std::string> problems_;  ///< empty: one point is right
};

}  // namespace

void set_at(Json& root, const std::string& pointer, const Json& value, const std::string& file,
            const Place& place) {
  Json* at = &root;
  Place here(file);
  for (const std::string& token : tokens_of(pointer)) {
    if (at->is_array()) {
      std::size_t index = 0;
      const char* end = token.data() + token.size();
      const auto [stopped, error] = std::from_chars(token.data(), end, index);
      if (token.empty() || stopped != end || error != std::errc() || index >= at->size())
        place.refuse(Json(token).dump(), at->empty() ? fmt::format("nothing: the list of {} is empty", file)
                                                     : fmt::format("an index from 0 to {} of the list in {}",
                                                                   at->size() - 1, file));
      at = &(*at)[index];
    } else if (at->is_object() || at->is_null()) {
      at = &(*at)[token];
    } else {
      place.fail(
          fmt::format("leads to {} in {}, which has nothing in it, before '{}'", shown(*at), file, token));
    }
  }
  *at = value;
}

std::vector<std::string> axis_names(const SweepFile& file) {
  std::vector<std::string> names;
  for (const SweepAxis& axis : file.axes) names.push_back(axis.name);
  return names;
}

std::vector<SweepPoint> sweep_points(const SweepFile& file, const std::string& path,
                                     const std::string& points) {
  return points_of(file, placed_axes(file, Place(path)), path, points);
}

std::vector<SweepPoint> points_of(const SweepFile& file, std::vector<PointAxis> axes, const std::string& path,
                                  const std::string& points) {
  return Maker(file, std::move(axes), path, points).all();
}

}  // namespace tilebeat
