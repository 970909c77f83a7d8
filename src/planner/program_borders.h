#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/mapping/task_graph.h"
#include "tilebeat/workload/workload.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "borders.h"
#include "open_layers.h"

namespace tilebeat {

/// What stands between the layers of one program, as they follow each other. A barrier in front of a layer
/// lets nobody read what others have not stored, or touch what they use; another one stands where it saves
/// cycles. A layer that only gives bytes another shape needs none, and has one behind it: nobody runs ahead
/// of it.
class ProgramBorders {
 public:
  ProgramBorders(const Workload& workload, const ChipConfig& chip) : chip_(chip), borders_(workload) {}

  /// A layer, or fused unit, and the cycles that it is expected to take behind a barrier.
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
  Borders borders_;
  OpenLayers open_;
  std::optional<std::uint32_t> last_;
  bool last_works_ = false;
};

}  // namespace tilebeat
