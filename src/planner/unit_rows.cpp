#include "unit_rows.h"

#include "tilebeat/base/math.h"

#include <algorithm>

namespace tilebeat {
namespace {

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
      parts.push_back({image, 1, part, work.step_rows});
  }
  return parts;
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

std::vector<ClusterRows> rows_of_clusters(const UnitWork& work) {
  const auto axes = row_axes(work.workload, work.graph);
  std::vector<ClusterRows> clusters;
  for (int cluster = 0; cluster < work.clusters; ++cluster) {
    ClusterRows rows{cluster, parts_of(work, cluster), {}};
    for (const UnitPart& part : rows.parts)
      rows.schedules.emplace_back(work.graph, work.holdings, axes, part);
    if (!rows.parts.empty()) clusters.push_back(std::move(rows));
  }
  return clusters;
}

std::int64_t made_rows(const UnitWork& work, int tensor) {
  std::int64_t made = 0;
  for (const ClusterRows& rows : rows_of_clusters(work)) {
    for (std::size_t p = 0; p < rows.parts.size(); ++p)
      made += rows.parts[p].images * rows.schedules[p].made_rows(tensor);
  }
  return made;
}

std::int64_t computed_outputs(const UnitWork& work, int tensor, const RowAxis& axis) {
  std::int64_t computed = 0;
  for (const ClusterRows& rows : rows_of_clusters(work)) {
    for (std::size_t p = 0; p < rows.parts.size(); ++p) {
      const RowSchedule& schedule = rows.schedules[p];
      for (int s = 0; s < schedule.steps(); ++s)
        computed += std::int64_t{rows.parts[p].images} * axis.computed(schedule.made(s, tensor));
    }
  }
  return computed;
}

}  // namespace tilebeat
