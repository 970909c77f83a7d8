#pragma once

#include "config/hardware_config.h"
#include "planner/language/mapping_file.h"
#include "program/plan.h"
#include "tilebeat/error.h"
#include "workload/workload.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// A workload does not fit the hardware: `layer` names the layer, empty when it is the workload as a whole.
class PlanError : public UserError {
 public:
  PlanError(std::string layer, const std::string& message) : UserError(message), layer_(std::move(layer)) {}
  const std::string& layer() const { return layer_; }

 private:
  std::string layer_;
};

/// What fusing layers changes, as planned (SPEC FU-5, FU-8).
struct FusionSummary {
  /// Over DRAM: bytes of maps and results, and of kernels and factors; estimated cycles.
  struct Totals {
    std::int64_t maps = 0, kernels = 0;
    Cycle cycles = 0;
  };
  Totals alone, fused;
  Totals compulsory;        ///< bytes of inputs, outputs and weights, once each
  int visited = 0;          ///< groups whose cost the optimal planner worked out
  double seconds = 0;       ///< that choosing groups took
  bool kept_alone = false;  ///< groups were chosen, but all together would take more: there are none
};

/// A plan, and the mappings that it carries out: those of fusion groups, and of the layers on matrix units of
/// a chip that run by themselves.
struct PlannedNetwork {
  Plan plan;
  std::vector<LayerMapping> mappings;
  std::vector<GroupMapping> groups;
  std::optional<FusionSummary> fusion;  ///< where the planner chose the groups
};

/// The cycles of one layer of a workload, mapped so, when it is simulated by itself; nothing: it failed.
using MappingTrial = std::function<std::optional<Cycle>(const Layer&, const LayerMapping&)>;

/// Lowers a workload to programs (docs/planner.md), with the mappings that are asked for. Throws PlanError,
/// with the hardware's key that is too small in its message, or with what a mapping asks and cannot have.
/// `trial` is asked for `planner.search` mappings of each layer; without it the estimate decides.
PlannedNetwork plan_network(const Workload& workload, const HardwareConfig& hardware,
                            const NetworkMapping& asked = {}, const MappingTrial& trial = {});
Plan make_plan(const Workload& workload, const HardwareConfig& hardware);

}  // namespace tilebeat
