#pragma once

#include "tilebeat/mapping/task_graph.h"

#include <vector>

namespace tilebeat {

/// What the tasks of a graph share, for estimates.
struct Machine {
  double dram_bytes_per_clock = 16;  ///< of all channels, as far as it is reached
  std::vector<double> starts;        ///< by processor: the clock from which on it decodes; absent: 0
};

/// When the tasks of a graph are expected to run: a list schedule. A unit that is free takes, of the tasks
/// whose operands are there, the one that was added first; transfers share DRAM evenly.
struct Schedule {
  std::vector<double> start, end, done;  ///< by task, in clocks
  double cycles = 0;                     ///< until all is done
};
Schedule schedule(const TaskGraph& graph, const std::vector<Dependency>& dependencies,
                  const Machine& machine);

}  // namespace tilebeat
