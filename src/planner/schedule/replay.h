#pragma once

#include "planner/language/task_graph.h"
#include "planner/schedule/ready_tasks.h"
#include "planner/schedule/schedule.h"

#include <vector>

namespace tilebeat {

/// The tasks of a unit of a processor in the order in which it takes them.
struct UnitOrder {
  double opens = 0;  ///< the cycle at which its processor starts to decode
  std::vector<int> tasks;
};

/// Bytes of instructions that processors fetch from DRAM, evenly over `cycles` cycles; 0: at once.
struct InstructionFetch {
  double bytes = 0, cycles = 0;
  int processors = 1;
};

/// What a schedule has found for a graph.
struct ScheduledTasks {
  const std::vector<Task>& tasks;
  const Followers &released, &completed;
  std::vector<UnitOrder> orders;
  InstructionFetch fetch;
};

/// The cycles of a graph whose units take their tasks in the orders of a schedule, with every request of the
/// copies from and to DRAM followed (CopyRequests). Ports of SRAMs are not shared here. Infinite when above
/// the limit.
double replayed_cycles(const ScheduledTasks& scheduled, const Machine& machine, double limit);

}  // namespace tilebeat
