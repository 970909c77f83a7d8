#pragma once

#include "planner/language/task_graph.h"
#include "planner/schedule/schedule.h"

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace tilebeat {

/// The tasks of a schedule that move bytes over DRAM or through the SRAM of a cluster, while they run. They
/// share the memory controllers, and the two directions of each SRAM.
class RunningCopies {
 public:
  /// `dram_rate`: bytes a cycle that DRAM has for them.
  RunningCopies(const Machine& machine, double dram_rate);

  /// Whether tasks of such a cost are copies that share a memory.
  static bool shares(const TaskCost& cost) { return cost.dram_bytes > 0 || cost.sram_bytes > 0; }
  void start(int task, const TaskCost& cost);
  /// Starts to fetch the instructions of so many processors, which is no task, in `cycles` cycles or more.
  void fetch(double bytes, int processors, double cycles);
  /// Cycles until the first one ends; the largest double: no task is running.
  double least_cycles();
  /// Moves bytes for `cycles` cycles, at most until the first one ends. Returns the bytes that tasks moved
  /// over DRAM.
  double advance(double cycles);
  /// Calls `ended` with each task that has ended.
  template <class Function>
  void each_ended(const Function& ended) {
    constexpr double kNothing = 1e-6;
    for (std::size_t i = 0; i < flows_.size();) {
      if (flows_[i].left > kNothing) {
        ++i;
        continue;
      }
      const Flow flow = std::move(flows_[i]);
      if (i + 1 < flows_.size()) flows_[i] = std::move(flows_.back());
      flows_.pop_back();
      changed(flow);
      if (flow.task != kFetch) ended(flow.task);
    }
  }

 private:
  static constexpr int kFetch = -1;
  struct Flow {
    int task;        // or kFetch
    bool dram;       // moves bytes over DRAM, which `left` and rates count; else they count bytes at the SRAM
    double left;     // bytes
    double fastest;  // bytes a cycle that its ports can carry
    double weight;   // bytes of a request; requests are served in turn
    double rate = 0;    // current bytes a cycle
    double most = 0;    // bytes a cycle that its ports and the SRAMs can carry
    double sram_bytes;  // bytes at an SRAM for each byte that rates count
    int sram_read, sram_write;
    std::vector<double> parts = {};  // fraction of its bytes, by memory controller; empty: evenly distributed
  };
  std::vector<double> parts_by_controller(const TaskCost& cost) const;
  void changed(const Flow& flow);
  void share();
  void share_srams();
  void share_sram(std::size_t direction);
  void share_dram();

  std::size_t controllers_;
  double dram_rate_, sram_rate_;
  std::vector<Flow> flows_;
  bool dram_shared_ = true, srams_shared_ = true;
  // Scratch of the functions that share.
  std::vector<Flow*> open_;
  std::vector<double> left_, wanted_, demand_;
};

}  // namespace tilebeat
