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
    if (!part.empty()) parts.push_back({image, part, work.step_rows});
  }
  return parts;
}

}  // namespace

int ClusterRows::most_made(int tensor) const {
  int most = 0;
  for (const RowSchedule& schedule : schedules) {
    for (int s = 0; s < schedule.steps(); ++s) most = std::max(most, schedule.made(s, tensor).size());
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
  for (const RowSchedule& schedule : schedules) most = std::max(most, schedule.live_rows(tensor));
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
    for (const RowSchedule& schedule : rows.schedules) made += schedule.made_rows(tensor);
  }
  return made;
}

std::int64_t computed_outputs(const UnitWork& work, int tensor, const RowAxis& axis) {
  std::int64_t computed = 0;
  for (const ClusterRows& rows : rows_of_clusters(work)) {
    for (const RowSchedule& schedule : rows.schedules) {
      for (int s = 0; s < schedule.steps(); ++s) computed += axis.computed(schedule.made(s, tensor));
    }
  }
  return computed;
}

}  // namespace tilebeat
