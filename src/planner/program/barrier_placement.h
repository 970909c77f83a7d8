#pragma once

#include "config/hardware_config.h"
#include "planner/language/task_graph.h"
#include "planner/schedule/schedule.h"
#include "workload/workload.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilebeat {

/// Whether every core works on its own memories and DRAM alone: memory cores have no tasks, and no task waits
/// for one of another processor.
bool works_apart(const TaskGraph& graph, const std::vector<Dependency>& dependencies, const ChipConfig& chip);

/// Barrier placement (SPEC FU-9): all processors of a program wait for each other in front of a layer that
/// reads a result made since the last barrier, or that shares more than DRAM between cores. Prefetched
/// kernels need no barrier between layers that work apart, as every core has loaded its own.
class BarrierNeeds {
 public:
  explicit BarrierNeeds(const Workload& workload);

  /// The tensors that the next layer or fusion group makes and reads, and whether its cores work apart.
  struct Next {
    std::vector<std::string> makes, reads;
    bool apart = false;
  };
  /// Whether a barrier must precede the next layer.
  bool needs_barrier(const Next& next) const;
  /// Adds the next layer, with or without a barrier in front of it.
  void add(const Next& next, bool barrier);

 private:
  const std::string& stored_as(const std::string& tensor) const;

  std::map<std::string, std::string> base_;  // by result of a reshape: the tensor that stores its bytes
  std::set<std::string> made_;               // tensors made since the last barrier
  bool apart_ = true;                        // whether all layers since the last barrier work apart
};

/// The layers of a program since its last barrier, for estimates: each processor begins the next layer when
/// it has finished its own part of the previous one.
class OverlappingLayers {
 public:
  /// Starts over, behind a barrier, with a layer that takes `cycles` cycles.
  void begin(const TaskGraph& graph, const std::vector<Dependency>& dependencies, const Machine& machine,
             double cycles);
  /// Adds one more layer if that is estimated to take fewer cycles than a barrier of `barrier` cycles
  /// followed by the layer alone in `cycles` cycles. It may take more, because processors that run ahead
  /// compete for DRAM with those behind.
  bool add_if_faster(const TaskGraph& graph, const std::vector<Dependency>& dependencies, double barrier,
                     double cycles);

 private:
  std::vector<Task> tasks_;  // without accesses
  std::vector<Dependency> dependencies_;
  std::vector<int> ends_;  // tasks of the last layer that no task waits for
  Machine machine_;
  double buffer_ = 0;  // bytes of instructions that a processor holds
  double cycles_ = 0;
};

/// Barrier placement between the layers of one program, in order. A barrier in front of a layer prevents that
/// it reads results before they are stored, or overwrites data in use; further barriers are placed where they
/// save cycles. A reshape needs no barrier but has one behind it: no processor runs ahead of it.
class BarrierPlacement {
 public:
  BarrierPlacement(const Workload& workload, const ChipConfig& chip) : chip_(chip), needs_(workload) {}

  /// A layer or fusion group, with its estimated cycles behind a barrier.
  struct Next {
    std::uint32_t number = 0;  ///< in the plan
    bool works = false;        ///< whether it has tasks
    std::vector<std::string> makes, reads;
    const TaskGraph& graph;
    const std::vector<Dependency>& dependencies;
    const Machine& machine;
    double cycles = 0;
  };
  enum class Border {
    kNothing,  ///< the layer is the first one, or has no tasks
    kBarrier,
    kOpen  ///< the layer begins while other processors may still work on the previous one
  };
  Border add(const Next& next);
  /// The layer that was added last.
  std::optional<std::uint32_t> last() const { return last_; }

 private:
  const ChipConfig& chip_;
  BarrierNeeds needs_;
  OverlappingLayers open_;
  std::optional<std::uint32_t> last_;
  bool last_works_ = false;
};

}  // namespace tilebeat
