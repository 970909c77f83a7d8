#pragma once

#include "planner/language/task_graph.h"
#include "planner/layer/matrix_tasks.h"
#include "planner/schedule/schedule.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace tilebeat {

/// A layer or a fused unit, some of whose kernels can be loaded while an earlier one runs.
struct AheadTarget {
  /// Adds its tasks to a graph, for an estimate, without the first `loads` loads of kernels.
  std::function<PlannedUse(TaskGraph&, int loads)> add_tasks;
  /// Adds the first `loads` loads to the graph of another one that takes `sram` bytes of a cluster's SRAM.
  /// Throws UserError when there is no room left.
  std::function<PlannedUse(TaskGraph&, int loads, std::int64_t sram)> add_loads;
};

/// The tasks of a layer or a fused unit, with the loads for others that it makes already.
struct HostTasks {
  TaskGraph graph;
  std::int64_t sram = 0;        ///< bytes of a cluster's that are in use
  std::optional<double> alone;  ///< its cycles without further loads, once somebody has estimated them
};
/// A layer or a fused unit during which kernels of a later one can be loaded.
struct AheadHost {
  std::function<HostTasks&()> tasks;  ///< for an estimate; loads are added for a while
  Machine machine;
  int most = 0;  ///< loads that WRAM has room for from then on
};

/// So many loads of the target's kernels are made while `hosts[host]` runs.
struct KernelsAhead {
  std::size_t host = 0;
  int loads = 0;
  double cycles = 0;  ///< of the target, and those that the host takes longer
};
/// The host and the loads with which it and the target are expected to take least together; no loads where
/// nothing is gained.
KernelsAhead choose_kernels_ahead(const std::vector<AheadHost>& hosts, const AheadTarget& target,
                                  const HardwareConfig& hardware);

/// Whether the SRAM has room for so many loads while `host` runs.
bool fits_sram(const AheadHost& host, const AheadTarget& target, int loads);

/// Parts of a core's WRAM that are taken.
class WramInUse {
 public:
  explicit WramInUse(std::int64_t bytes) : bytes_(bytes) {}
  void add(std::int64_t begin, std::int64_t size);
  /// The lowest place for `size` bytes whose first `ahead` bytes are free; nothing: there is none.
  std::optional<std::int64_t> find(std::int64_t ahead, std::int64_t size, std::int64_t alignment) const;

 private:
  std::int64_t bytes_;
  std::map<std::int64_t, std::int64_t> parts_;  // end by begin
};

}  // namespace tilebeat
