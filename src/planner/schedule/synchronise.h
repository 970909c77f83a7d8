#pragma once

#include "isa/instruction.h"
#include "planner/language/task_graph.h"
#include "planner/schedule/schedule.h"

#include <map>
#include <vector>

namespace tilebeat {

/// Returns the programs that carry out a graph, by processor, in the order of `schedule`. This is the only
/// code that assigns semaphores (SPEC MA-2).
///
/// Every dependency becomes tokens of a counting semaphore. Units take and complete their tasks in program
/// order, so one semaphore per pair of units (and event, and cause) is enough: of the tasks of another unit
/// that a task waits for only the last one counts, and only when no earlier task of its own unit has waited
/// for it. The k-th token given is then the k-th token taken, because a semaphore is taken by one queue
/// alone: that of a unit or that of the signals. Between processors a `signal` of the giving processor passes
/// the token on, one for each cluster; processors are numbered cluster by cluster, `cluster_size` each.
///
/// There is no deadlock: in the order of all instructions of all processors by `schedule`, each instruction
/// comes after everything that it waits for, and every program is a subsequence. The first instruction in
/// that order that is not complete can always proceed: all instructions before it in its processor's program,
/// in its unit's queue and in the queue of signals are complete, and so are those that give its tokens. This
/// holds for queues of any depth from one on.
///
/// Throws SimulationError when a task is an instruction that the decoder itself carries out, as barriers are.
std::map<int, std::vector<Instruction>> synchronise(const TaskGraph& graph,
                                                    const std::vector<Dependency>& dependencies,
                                                    const Schedule& schedule, int cluster_size);

}  // namespace tilebeat
