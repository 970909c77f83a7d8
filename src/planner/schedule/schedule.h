#pragma once

#include "isa/instruction.h"
#include "planner/language/task_graph.h"

#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <vector>

namespace tilebeat {

/// The resources that the tasks of a graph share, for estimates.
struct Machine {
  double dram_bytes_per_clock = 16;  ///< reached bandwidth of all channels together
  std::vector<double> starts;        ///< by processor: the cycle at which it starts to decode; absent: 0
  double instruction_buffer = 4096;  ///< bytes of instructions that a processor holds
  double fetched_bytes = 0;          ///< bytes of instructions for later layers, fetched during this one
  double signal_cycles = 0;          ///< from an event of a task to a task of another processor
  int controllers = 1;  ///< memory controllers; each has an equal share of the DRAM bytes a cycle
  double sram_bytes_per_clock = 64;  ///< bytes that the SRAM of a cluster delivers a cycle, and that it takes
  /// Processors of a cluster whose last one, the memory core, has a single DMA engine for GDMA, CDMA and
  /// broadcast; 0: it has one engine for each.
  int merged_dma_of = 0;
  /// DRAM as single requests find it.
  struct Requests {
    double bytes_per_clock = 0;                       ///< 0: requests are not followed
    double refresh_interval = 0, refresh_cycles = 0;  ///< cycles between refreshes, of one; 0: none is made
  };
  Requests requests = {};
};

/// The expected times of a graph's tasks, from a list schedule: a free unit takes, among the tasks with
/// complete operands, the one with the longest tail. Transfers share the controllers and the SRAMs that they
/// use with all instruction fetches, from the first cycle on.
///
/// Where `machine.requests` has a rate, `cycles` comes from a replay of the same order, in which each request
/// of a DMA engine is followed (replayed_cycles): it knows buffers and ports, and costs more.
struct Schedule {
  std::vector<double> start, end, done;  ///< by task, in cycles
  double cycles = 0;                     ///< until all tasks are done; infinite when above the limit
};
/// Gives up a schedule that takes more than `limit` cycles.
Schedule schedule(const TaskGraph& graph, const std::vector<Dependency>& dependencies, const Machine& machine,
                  double limit = std::numeric_limits<double>::infinity());
/// A lower bound of the cycles of any schedule of a graph: those of the busiest unit, or direction of a port
/// to DRAM, and those of all DRAM bytes. It is cheaper than a schedule and needs no dependencies. The graph
/// and the machine outlive it.
class LeastCycles {
 public:
  LeastCycles(const TaskGraph& graph, const Machine& machine) : graph_(graph), machine_(machine) {}
  /// The bound for all tasks that the graph has now; only tasks added since the last call are visited.
  double now();

 private:
  const TaskGraph& graph_;
  const Machine& machine_;
  std::size_t seen_ = 0;  // number of tasks visited
  struct Busy {
    double cycles = 0, to_dram = 0;  // of followed copies to DRAM apart
  };
  std::vector<std::array<Busy, kQueuedUnits + 1>> of_units_;  // by processor
  double most_ = 0, bytes_ = 0;
};

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
