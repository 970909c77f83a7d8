#pragma once

#include "tilebeat/mapping/task_graph.h"

#include <vector>

#include "task/schedule.h"

namespace tilebeat {

/// The layers of a program since its last barrier, for estimates: each processor begins the next one when it
/// has ended its own part of the one before.
class OpenLayers {
 public:
  /// Begins anew, behind a barrier, with a layer that takes `cycles`.
  void begin(const TaskGraph& graph, const std::vector<Dependency>& dependencies, const Machine& machine,
             double cycles);
  /// Adds one more layer when that is expected to take fewer cycles than a barrier of `barrier` cycles and
  /// then `cycles` for the layer alone. Processors that run ahead take DRAM from those behind, so that it may
  /// take more.
  bool add_if_faster(const TaskGraph& graph, const std::vector<Dependency>& dependencies, double barrier,
                     double cycles);

 private:
  std::vector<Task> tasks_;  // without accesses
  std::vector<Dependency> dependencies_;
  std::vector<int> ends_;  // tasks of the last layer that none waits for
  Machine machine_;
  double cycles_ = 0;
};

}  // namespace tilebeat
