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

/// The workload does not fit the hardware. `layer` names the layer, empty for the workload as a whole.
class PlanError : public UserError {
 public:
  /// `names_place`: the message begins with the place in a mapping file that asked for it.
  PlanError(std::string layer, const std::string& message, bool names_place = false)
      : UserError(message), layer_(std::move(layer)), names_place_(names_place) {}
  const std::string& layer() const { return layer_; }
  bool names_place() const { return names_place_; }

 private:
  std::string layer_;
  bool names_place_;
};

/// The planned effect of layer fusion (SPEC FU-5, FU-8).
struct FusionSummary {
  /// DRAM bytes of maps and results, of kernels and factors, of instructions, and of tables (those by which a
  /// chip starts its programs included); estimated cycles.
  struct Totals {
    std::int64_t maps = 0, kernels = 0, instructions = 0, tables = 0;
    Cycle cycles = 0;
    /// All bytes that the report of a run counts.
    std::int64_t bytes() const { return maps + kernels + instructions + tables; }
  };
  Totals alone, fused;
  Totals compulsory;        ///< bytes of inputs, outputs and weights, once each
  int visited = 0;          ///< fusion groups whose cost the optimal planner estimated
  double seconds = 0;       ///< spent on choosing fusion groups
  bool kept_alone = false;  ///< groups were chosen but dropped, because the whole network would take more
};

/// A plan with its mappings: those of fusion groups, and of single layers on matrix units of a chip.
struct PlannedNetwork {
  Plan plan;
  std::vector<LayerMapping> mappings;
  std::vector<GroupMapping> groups;
  std::optional<FusionSummary> fusion;  ///< set when the planner chose the fusion groups
  /// With the planner `optimal`: what the groups that the rules choose, which it considers, give.
  std::optional<FusionSummary> by_rules;
};

/// Simulates one layer of a workload with a mapping; returns its cycles, nothing when it failed.
using MappingTrial = std::function<std::optional<Cycle>(const Layer&, const LayerMapping&)>;

/// Lowers a workload to programs (docs/planner.md), with the requested mappings. Throws PlanError that names
/// the hardware key that is too small, or the request that cannot be fulfilled. `trial` is called for
/// `planner.search` mappings of each layer; without it the estimate decides.
PlannedNetwork plan_network(const Workload& workload, const HardwareConfig& hardware,
                            const NetworkMapping& asked = {}, const MappingTrial& trial = {});
Plan make_plan(const Workload& workload, const HardwareConfig& hardware);

}  // namespace tilebeat
