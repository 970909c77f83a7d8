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

/// Whether every core works for itself, on its own memories and DRAM: memory cores do nothing, and no task
/// waits for one of another processor.
bool works_apart(const TaskGraph& graph, const std::vector<Dependency>& dependencies, const ChipConfig& chip);

/// Between which layers of a program all of its processors wait for each other (SPEC FU-9): where a layer
/// reads what one behind the last barrier makes, and where cores share more than DRAM. Kernels that were
/// loaded ahead need none between layers that work apart: every core has loaded its own.
class BarrierNeeds {
 public:
  explicit BarrierNeeds(const Workload& workload);

  /// The tensors that the next layer, or fusion group, makes and reads, and whether it works apart.
  struct Next {
    std::vector<std::string> makes, reads;
    bool apart = false;
  };
  /// Whether a barrier must stand in front of the next layer.
  bool needs_barrier(const Next& next) const;
  /// The next layer follows, behind a barrier or not.
  void add(const Next& next, bool barrier);

 private:
  const std::string& stored_as(const std::string& tensor) const;

  std::map<std::string, std::string> base_;  // of tensors that only have another shape
  std::set<std::string> made_;               // by the layers behind the last barrier
  bool apart_ = true;                        // which all work apart
};

/// The layers of a program since its last barrier, for estimates: each processor begins the next one when it
/// has ended its own part of the one before.
class OverlappingLayers {
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

/// What stands between the layers of one program, as they follow each other. A barrier in front of a layer
/// lets nobody read what others have not stored, or touch what they use; another one stands where it saves
/// cycles. A layer that only gives bytes another shape needs none, and has one behind it: nobody runs ahead
/// of it.
class BarrierPlacement {
 public:
  BarrierPlacement(const Workload& workload, const ChipConfig& chip) : chip_(chip), needs_(workload) {}

  /// A layer, or fusion group, and the cycles that it is expected to take behind a barrier.
  struct Next {
    std::uint32_t number = 0;  ///< in the plan
    bool works = false;        ///< it has tasks
    std::vector<std::string> makes, reads;
    const TaskGraph& graph;
    const std::vector<Dependency>& dependencies;
    const Machine& machine;
    double cycles = 0;
  };
  enum class Border {
    kNothing,  ///< the layer is the first one, or it does nothing
    kBarrier,
    kOpen  ///< the layer begins while others may still end the one before
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
