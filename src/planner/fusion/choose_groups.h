#pragma once

#include "planner/fusion/fusion_group.h"
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

/// A fusion group that was chosen, and why it is as it is.
struct ChosenGroup {
  GroupRequest request;
  std::vector<std::pair<std::string, std::string>> reasons;  ///< for the plan: name and text
};

/// For the plan: what layers take one by one, and as a group.
std::pair<std::string, std::string> compared(const GroupEstimate& alone, const GroupEstimate& fused);

/// Bytes of the inputs, the outputs and the weights of a network, once each: no plan moves less over DRAM.
FusionSummary::Totals compulsory_bytes(const Workload& workload);

/// The groups that a network may be cut into: layers that are neighbours in the workload, with one output.
/// What it is made of outlives it.
class GroupSpace {
 public:
  /// `alone`: the plan without groups.
  GroupSpace(const Workload& workload, const HardwareConfig& hardware, const Plan& alone);

  int layers() const { return count_of(workload_.layers); }
  const Layer& layer(int number) const { return nth(workload_.layers, number); }
  const Workload& workload() const { return workload_; }
  const HardwareConfig& hardware() const { return hardware_; }

  /// The least end behind `end` at which layers [begin, end) are a group: a layer more of a chain, or a whole
  /// block (rules 3 and 4); nothing: there is none.
  std::optional<int> next_end(int begin, int end) const;
  bool is_unit(int begin, int end) const;
  GroupGraph graph(int begin, int end) const;
  /// Asks for layers [begin, end), all else open.
  GroupRequest request(int begin, int end) const;

  /// What layers [begin, end) take one by one.
  GroupEstimate alone(int begin, int end) const;
  /// What a group takes; nothing: it does not fit. Careful cycles beyond `limit` are infinite.
  std::optional<GroupEstimate> fused(const GroupRequest& request,
                                     double limit = std::numeric_limits<double>::infinity());
  std::optional<std::int64_t> fused_bytes(const GroupRequest& request);
  /// The group with cores that share the channels of layers which leave some without work (SPEC FU-2), or,
  /// with `to_fit`, of those that take less memory of a core so; nothing: there are none.
  std::optional<GroupRequest> in_reduction_groups(const GroupRequest& request, bool to_fit);

 private:
  const Workload& workload_;
  const HardwareConfig& hardware_;
  GroupTrials parts_;
  std::vector<GroupEstimate> alone_;  // by layer
};

struct ChosenGroups {
  std::vector<ChosenGroup> groups;
  int visited = 0;  ///< groups whose cost the optimal planner worked out
};

/// The groups of a workload as `fusion.planner` asks: by the rules of document 001 (SPEC FU-2, FU-3, FU-10),
/// as far as they are not slower than their layers one by one and move no more bytes over DRAM, both as
/// planned (FU-5); or those that take least (FU-8). `alone`: the plan without groups.
ChosenGroups choose_groups(const Workload& workload, const HardwareConfig& hardware, const Plan& alone);

/// The cut of a network into groups and single layers that takes least of what `fusion.objective` names (SPEC
/// FU-8). A group is made of neighbours in the workload, so the best cut of the first n layers ends in a
/// group or a layer behind a best cut of fewer: one pass over the layers finds the best cut, exactly. A group
/// costs what its best form costs, of these: all clusters (for bytes also fewer), rows of a step halved from
/// a cluster's share down to one, tensors held in rings of rows or, in the best of those, made again. Tensors
/// held whole take more of the SRAM and save nothing against rings. `visited`: groups whose cost was worked
/// out.
std::vector<ChosenGroup> optimal_groups(GroupSpace& space, int& visited);

/// The groups by the rules of document 001 (SPEC FU-2, FU-3, FU-10), as far as they are not slower than their
/// layers one by one and move no more bytes over DRAM, both as planned (FU-5).
std::vector<ChosenGroup> units_by_rules(GroupSpace& space);

}  // namespace tilebeat
