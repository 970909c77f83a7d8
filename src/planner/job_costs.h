#pragma once

#include "tilebeat/mapping/matrix_backend.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace tilebeat {

struct LayerShare;

/// What is known of the jobs of a share of a layer: by all that their cost depends on, how the engine cuts
/// them included. Many mappings of a layer have the same jobs.
struct KnownJobCosts {
  std::map<std::vector<std::int64_t>, TaskCost> costs;
};

/// What jobs of a layer cost their unit, in one mapping: the schedule of the engine's own tasks. Jobs of one
/// shape cost the same, wherever they find their operands.
class JobCosts {
 public:
  /// `largest`: the job that the engine has cut them for; `same_kernels`: all jobs of a core have the same.
  JobCosts(const LayerShare& share, const MatrixJob& largest, bool same_kernels);

  const TaskCost& of(const MatrixJob& job);

 private:
  TaskCost cost_of(const MatrixJob& job) const;
  std::pair<double, std::size_t> jobs_alone(MatrixJob job, int count) const;

  const LayerShare& share_;
  bool same_kernels_;
  std::vector<std::int64_t> cut_;  // what is decided for all jobs
  std::map<std::tuple<int, int, int, int, int, int, bool, bool>, TaskCost> of_shapes_;
};

}  // namespace tilebeat
