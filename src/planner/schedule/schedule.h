#pragma once

#include "planner/language/task_graph.h"

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

namespace tilebeat {

/// The resources that the tasks of a graph share, for estimates.
struct Machine {
  double dram_bytes_per_clock = 16;  ///< reached bandwidth of all channels together
  std::vector<double> starts;        ///< by processor: the cycle at which it starts to decode; absent: 0
  double fetched_bytes = 0;          ///< bytes of instructions for later layers, fetched during this one
  double signal_cycles = 0;          ///< from an event of a task to a task of another processor
  int controllers = 1;  ///< memory controllers; each has an equal share of the DRAM bytes a cycle
  /// Processors of a cluster whose last one, the memory core, has a single DMA engine for GDMA, CDMA and
  /// broadcast; 0: it has one engine for each.
  int merged_dma_of = 0;
};

/// The expected times of a graph's tasks, from a list schedule: a free unit takes, among the tasks with
/// complete operands, the one with the longest tail. Transfers share the controllers that they use evenly,
/// and instruction fetches take a part of DRAM throughout.
struct Schedule {
  std::vector<double> start, end, done;  ///< by task, in cycles
  double cycles = 0;                     ///< until all tasks are done; infinite when above the limit
};
/// Gives up a schedule that takes more than `limit` cycles.
Schedule schedule(const TaskGraph& graph, const std::vector<Dependency>& dependencies, const Machine& machine,
                  double limit = std::numeric_limits<double>::infinity());
/// A lower bound of the cycles of any schedule of a graph: those of the busiest unit and those of all DRAM
/// bytes. It is cheaper than a schedule and needs no dependencies. The graph and the machine outlive it.
class LeastCycles {
 public:
  LeastCycles(const TaskGraph& graph, const Machine& machine) : graph_(graph), machine_(machine) {}
  /// The bound for all tasks that the graph has now; only tasks added since the last call are visited.
  double now();

 private:
  const TaskGraph& graph_;
  const Machine& machine_;
  std::size_t seen_ = 0;                                        // number of tasks visited
  std::vector<std::array<double, kQueuedUnits + 1>> of_units_;  // cycles, by processor
  double most_ = 0, bytes_ = 0;
};

}  // namespace tilebeat
