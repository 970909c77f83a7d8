#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/mapping/task_graph.h"
#include "tilebeat/workload/workload.h"

#include <map>
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
class Borders {
 public:
  explicit Borders(const Workload& workload);

  /// The tensors that the next layer, or fused unit, makes and reads, and whether it works apart.
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

}  // namespace tilebeat
