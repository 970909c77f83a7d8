#include "unit_rows.h"

#include "tilebeat/base/math.h"

#include <algorithm>

namespace tilebeat {
namespace {

// Each part cut into strips of columns, one beside the other.
std::vector<UnitPart> in_strips(const std::vector<UnitPart>& parts, int width, int strip) {
  std::vector<UnitPart> strips;
  for (const UnitPart& part : parts) {
    for (int column = 0; column < width; column += strip) {
      strips.push_back(part);
      strips.back().columns = {column, std::min(width, column + strip)};
    }
  }
  return strips;
}

std::vector<UnitPart> parts_of(const UnitWork& work, int cluster) {
  const UnitTensor& output = work.graph.tensors[static_cast<std::size_t>(work.graph.output())];
  const Interval rows = part_of(output.images() * output.height(), work.clusters, cluster, 1);
  std::vector<UnitPart> parts;
  for (int image = 0; image < output.images(); ++image) {
    const int first = image * output.height();
    const Interval part{std::max(rows.begin, first) - first,
                        std::min(rows.end, first + output.height()) - first};
    if (part.empty()) continue;
    const bool joins = part.size() == output.height() && !parts.empty() && parts.back().rows == part &&
                       parts.back().images < work.step_maps;
    if (joins)
      ++parts.back().images;
    else
      parts.push_back({image, 1, part, work.step_rows, {}});
  }
  return in_strips(parts, output.map.width, work.step_columns);
}

}  // namespace

int ClusterRows::most_made(int tensor) const {
  int most = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (int s = 0; s < schedules[p].steps(); ++s)
      most = std::max(most, parts[p].images * schedules[p].made(s, tensor).size());
  }
  return most;
}

int ClusterRows::most_computed(int tensor, const RowAxis& axis) const {
  int most = 0;
  for (const RowSchedule& schedule : schedules) {
    for (int s = 0; s < schedule.steps(); ++s) most = std::max(most, axis.computed(schedule.made(s, tensor)));
  }
  return most;
}

int ClusterRows::most_live(int tensor) const {
  int most = 0;
  for (std::size_t p = 0; p < parts.size(); ++p)
    most = std::max(most, parts[p].images * schedules[p].live_rows(tensor));
  return most;
}

int ClusterRows::most_columns(int tensor) const {
  int most = 0;
  for (const std::vector<Interval>& of : columns)
    most = std::max(most, of[static_cast<std::size_t>(tensor)].size());
  return most;
}

int ClusterRows::most_computed_columns(int tensor, const RowAxis& axis) const {
  int most = 0;
  for (const std::vector<Interval>& of : columns)
    most = std::max(most, axis.computed(of[static_cast<std::size_t>(tensor)]));
  return most;
}

std::vector<ClusterRows> rows_of_clusters(const UnitWork& work) {
  const UnitAxes rows = row_axes(work.workload, work.graph),
                 columns = row_axes(work.workload, work.graph, MapAxis::kColumns);
  std::vector<ClusterRows> clusters;
  for (int cluster = 0; cluster < work.clusters; ++cluster) {
    ClusterRows of{cluster, parts_of(work, cluster), {}, {}};
    for (const UnitPart& part : of.parts) {
      of.schedules.emplace_back(work.graph, work.holdings, rows, part);
      of.columns.push_back(columns_of(work.graph, columns, part.columns));
    }
    if (!of.parts.empty()) clusters.push_back(std::move(of));
  }
  return clusters;
}

std::int64_t made_pixels(const UnitWork& work, int tensor) {
  std::int64_t made = 0;
  for (const ClusterRows& of : rows_of_clusters(work)) {
    for (std::size_t p = 0; p < of.parts.size(); ++p)
      made += of.parts[p].images * of.schedules[p].made_rows(tensor) *
              of.columns[p][static_cast<std::size_t>(tensor)].size();
  }
  return made;
}

std::int64_t computed_outputs(const UnitWork& work, std::size_t layer) {
  const UnitLayer& of_unit = work.graph.layers[layer];
  const auto axis_of = [&](MapAxis axis) {
    return *row_axis(work.workload, *of_unit.layer, 0, work.graph.view, axis);
  };
  const RowAxis down = axis_of(MapAxis::kRows), across = axis_of(MapAxis::kColumns);
  std::int64_t computed = 0;
  for (const ClusterRows& of : rows_of_clusters(work)) {
    for (std::size_t p = 0; p < of.parts.size(); ++p) {
      std::int64_t rows = 0;
      for (int s = 0; s < of.schedules[p].steps(); ++s)
        rows += down.computed(of.schedules[p].made(s, of_unit.output));
      computed += of.parts[p].images * rows *
                  across.computed(of.columns[p][static_cast<std::size_t>(of_unit.output)]);
    }
  }
  return computed;
}

}  // namespace tilebeat
