#pragma once

#include "config/hardware_config.h"
#include "planner/language/mapping_file.h"
#include "planner/language/task_graph.h"
#include "planner/layer/shards.h"
#include "program/plan.h"
#include "workload/workload.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace tilebeat {

/// The mappings of a layer on a chip that a certificate compares with the planner's (SPEC AP-4,
/// docs/search.md): those that the planner lists itself, and all that fit of a grid over the fields of
/// mapping files.
///
/// The grid has every kernel block size of the engine, every split over cores, tiles, kernel loads and
/// channel parts of every number (for each number of parts the even cut), up to three buffers for maps and
/// kernels or all of them, shared rows, both orders, and the data paths.
class MappingSet {
 public:
  /// `workload` has one layer, on matrix units. At most `most` mappings are kept; of more, none. Both
  /// arguments outlive it. Throws UserError when the layer cannot fit.
  MappingSet(const Workload& workload, const HardwareConfig& hardware, std::size_t most);

  /// The number of mappings of the set.
  std::int64_t size() const { return size_; }
  /// They themselves; none where there are more than `most`.
  const std::vector<LayerMapping>& mappings() const { return mappings_; }

  /// What is known of a mapping without a simulation, in cycles of the layer by itself.
  struct Cost {
    double least = 0;      ///< a lower bound (least_cycles)
    double estimated = 0;  ///< the planner's estimate
  };
  /// Of mapping `number`; nothing where it does not fit after all. Where `least` is not below `limit`, it is
  /// some lower bound and the estimate is infinite. Overwrites `graph`, to reuse its memory.
  std::optional<Cost> cost(std::size_t number, TaskGraph& graph, double limit) const;

 private:
  void add_layer(ShardedLayer layer);
  void add(const LayerMapping& mapping);

  const Workload& workload_;
  const HardwareConfig& hardware_;
  std::size_t most_;
  Plan places_;  // of the operands
  TensorLayout output_;
  std::vector<ShardedLayer> layers_;
  std::vector<LayerMapping> mappings_;
  std::vector<std::size_t> layer_of_;  // by mapping
  std::int64_t size_ = 0;
};

/// A lower bound of the simulated cycles of a layer whose tasks are those of `graph`: no order of them, and
/// no latency, is assumed. It is the longest way through the tasks where a unit of a matrix engine takes its
/// beats, and a transfer its bytes over the widest part of its way, and the work of each unit, port and of
/// DRAM between what must come before it and behind it.
double least_cycles(const TaskGraph& graph, const std::vector<Dependency>& dependencies,
                    const HardwareConfig& hardware);

/// A part of that bound for a graph that still grows: the beats of the busiest unit, and all bytes over DRAM.
/// Both arguments outlive it.
class LeastWork {
 public:
  LeastWork(const TaskGraph& graph, const HardwareConfig& hardware);
  /// For all tasks that the graph has now; only tasks added since the last call are visited.
  double now();

 private:
  const TaskGraph& graph_;
  double dram_;  // bytes a cycle
  std::size_t seen_ = 0;
  std::map<int, double> beats_;  // by processor
  double most_ = 0, bytes_ = 0;
};

}  // namespace tilebeat
