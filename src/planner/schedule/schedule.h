#pragma once

#include "planner/language/task_graph.h"

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

namespace tilebeat {

/// What the tasks of a graph share, for estimates.
struct Machine {
  double dram_bytes_per_clock = 16;  ///< of all channels, as far as it is reached
  std::vector<double> starts;        ///< by processor: the cycle from which on it decodes; absent: 0
  double fetched_bytes = 0;          ///< of instructions for what comes later, which are fetched meanwhile
  double signal_cycles = 0;          ///< from an event of a task to a task of another processor
  int controllers = 1;               ///< of memory: each has its share of the bytes a clock
  /// Processors of a cluster, of which the last one, the memory core, has one DMA engine for GDMA, CDMA and
  /// broadcast; 0: it has one for each.
  int merged_dma_of = 0;
};

/// When the tasks of a graph are expected to run: a list schedule. A unit that is free takes, of the tasks
/// whose operands are there, the one behind which most remains to be done; transfers share the controllers
/// that they go to evenly, and fetching instructions takes its part of it all the time.
struct Schedule {
  std::vector<double> start, end, done;  ///< by task, in cycles
  double cycles = 0;                     ///< until all is done; infinite when that is after the limit
};
/// A schedule that lasts longer than `limit` cycles is given up.
Schedule schedule(const TaskGraph& graph, const std::vector<Dependency>& dependencies, const Machine& machine,
                  double limit = std::numeric_limits<double>::infinity());
/// Cycles that no schedule of a graph is shorter than: those of the unit with most to do, and of all bytes
/// over DRAM. Cheaper than a schedule, and than the dependencies that it needs. What it refers to outlives
/// it.
class LeastCycles {
 public:
  LeastCycles(const TaskGraph& graph, const Machine& machine) : graph_(graph), machine_(machine) {}
  /// Of the tasks that the graph has now: those that were added since the last call are looked at.
  double now();

 private:
  const TaskGraph& graph_;
  const Machine& machine_;
  std::size_t seen_ = 0;                                        // tasks
  std::vector<std::array<double, kQueuedUnits + 1>> of_units_;  // cycles, by processor
  double most_ = 0, bytes_ = 0;
};

}  // namespace tilebeat
