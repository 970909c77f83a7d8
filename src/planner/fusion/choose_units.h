#pragma once

#include "planner/fusion/fused_unit.h"
#include "planner/language/mapping_file.h"
#include "planner/program/planner.h"
#include "program/plan.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// A fused unit that was chosen, and why it is as it is.
struct ChosenUnit {
  UnitRequest request;
  std::vector<std::pair<std::string, std::string>> reasons;  ///< for the plan: name and text
};

/// For the plan: what layers take one by one, and as a unit.
std::pair<std::string, std::string> compared(const UnitEstimate& alone, const UnitEstimate& fused);

/// Bytes of the inputs, the outputs and the weights of a network, once each: no plan moves less over DRAM.
FusionSummary::Totals compulsory_bytes(const Workload& workload);

/// The units that a network may be cut into: layers that are neighbours in the workload, with one output.
/// What it is made of outlives it.
class UnitSpace {
 public:
  /// `alone`: the plan without units.
  UnitSpace(const Workload& workload, const HardwareConfig& hardware, const Plan& alone);

  int layers() const { return static_cast<int>(workload_.layers.size()); }
  const Layer& layer(int number) const { return workload_.layers[static_cast<std::size_t>(number)]; }
  const Workload& workload() const { return workload_; }
  const HardwareConfig& hardware() const { return hardware_; }

  /// The least end behind `end` at which layers [begin, end) are a unit: a layer more of a chain, or a whole
  /// block (rules 3 and 4); nothing: there is none.
  std::optional<int> next_end(int begin, int end) const;
  bool is_unit(int begin, int end) const;
  UnitGraph graph(int begin, int end) const;
  /// Asks for layers [begin, end), all else open.
  UnitRequest request(int begin, int end) const;

  /// What layers [begin, end) take one by one.
  UnitEstimate alone(int begin, int end) const;
  /// What a unit takes; nothing: it does not fit. Careful cycles beyond `limit` are infinite.
  std::optional<UnitEstimate> fused(const UnitRequest& request,
                                    double limit = std::numeric_limits<double>::infinity());
  std::optional<std::int64_t> fused_bytes(const UnitRequest& request);
  /// The unit with cores that share the channels of layers which leave some without work (SPEC FU-2), or,
  /// with `to_fit`, of those that take less memory of a core so; nothing: there are none.
  std::optional<UnitRequest> in_teams(const UnitRequest& request, bool to_fit);

 private:
  const Workload& workload_;
  const HardwareConfig& hardware_;
  UnitParts parts_;
  std::vector<UnitEstimate> alone_;  // by layer
};

struct ChosenUnits {
  std::vector<ChosenUnit> units;
  int visited = 0;  ///< units whose cost the optimal planner worked out
};

/// The units of a workload as `fusion.planner` asks: by the rules of document 001 (SPEC FU-2, FU-3, FU-10),
/// as far as they are not slower than their layers one by one and move no more bytes over DRAM, both as
/// planned (FU-5); or those that take least (FU-8). `alone`: the plan without units.
ChosenUnits choose_units(const Workload& workload, const HardwareConfig& hardware, const Plan& alone);

/// The cut of a network into units and single layers that takes least of what `fusion.objective` names (SPEC
/// FU-8). A unit is made of neighbours in the workload, so the best cut of the first n layers ends in a unit
/// or a layer behind a best cut of fewer: one pass over the layers finds the best cut, exactly. A unit costs
/// what its best form costs, of these: all clusters (for bytes also fewer), rows of a step halved from a
/// cluster's share down to one, tensors held in rings of rows or, in the best of those, made again. Tensors
/// held whole take more of the SRAM and save nothing against rings. `visited`: units whose cost was worked
/// out.
std::vector<ChosenUnit> optimal_units(UnitSpace& space, int& visited);

/// The units by the rules of document 001 (SPEC FU-2, FU-3, FU-10), as far as they are not slower than their
/// layers one by one and move no more bytes over DRAM, both as planned (FU-5).
std::vector<ChosenUnit> units_by_rules(UnitSpace& space);

}  // namespace tilebeat
