#pragma once

#include "isa/instruction.h"
#include "planner/language/task_graph.h"
#include "planner/schedule/schedule.h"

#include <map>
#include <vector>

namespace tilebeat {

/// The programs that carry out a graph, by processor, in the order of `schedule`. This is the only code that
/// knows semaphores (SPEC MA-2).
///
/// Every dependency becomes tokens of a counting semaphore. Units take their tasks in the order of the
/// program and complete them in that order, so one semaphore a pair of units (and event, and cause) is
/// enough: of what a task waits for on another unit only the last task counts, and only when no earlier task
/// of its own unit has waited for it. The k-th token that is given is then the k-th that is taken, because a
/// semaphore is taken by one queue alone: that of a unit or that of the signals. Between
/// processors a `signal` of the giving processor passes the token on, one for each cluster; processors are
/// numbered cluster by cluster, `cluster_size` each.
///
/// No deadlock: there is one order of all instructions of all processors in which each stands behind
/// everything that it waits for, and every program is a part of it. The first instruction of that order that
/// is not complete can always go on: everything in front of it in its processor's program, in its unit's
/// queue and in the queue of signals is complete, and so are those that give its tokens. That holds for
/// queues of any depth from one on.
///
/// Throws SimulationError when a task is an instruction that the decoder itself carries out, as barriers are.
std::map<int, std::vector<Instruction>> synchronise(const TaskGraph& graph,
                                                    const std::vector<Dependency>& dependencies,
                                                    const Schedule& schedule, int cluster_size);

}  // namespace tilebeat
