#pragma once

#include "planner/fusion/fusion_group.h"
#include "planner/language/mapping_file.h"
#include "planner/program/planner.h"
#include "program/plan.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilebeat {

/// A chosen fusion group and the reasons for its form.
struct ChosenGroup {
  GroupRequest request;
  std::vector<std::pair<std::string, std::string>> reasons;  ///< name and text of each reason, for the plan
};

/// A reason for the plan: estimates of the layers one by one and as a fusion group.
std::pair<std::string, std::string> compared(const GroupEstimate& alone, const GroupEstimate& fused);

/// Bytes of the inputs, outputs and weights of a network, once each: no plan moves fewer bytes over DRAM.
FusionSummary::Totals compulsory_bytes(const Workload& workload);

/// Planned bytes and cycles of a network.
FusionSummary::Totals totals_of(const Plan& plan);
/// Whether a network with fusion groups is worse than its layers one by one. Groups are compared one by one,
/// but in a network they also start processors and wait at barriers: compares the whole network (SPEC FU-5,
/// FU-8).
bool is_worse(const FusionSummary::Totals& fused, const FusionSummary::Totals& alone,
              const FusionConfig& config);
/// Adds, to the facts of the layer that ends it, each group of a way that `network` does not have: with these
/// groups the network takes `with` as planned, and `taken` as it is.
void tell_dropped(const std::vector<ChosenGroup>& way, const FusionSummary::Totals& with,
                  const FusionSummary::Totals& taken, PlannedNetwork& network);

/// The fusion groups that a network may be cut into: runs of neighbouring layers of the workload with one
/// output. The constructor's arguments outlive it.
class GroupSpace {
 public:
  /// `alone`: the plan without fusion groups.
  GroupSpace(const Workload& workload, const HardwareConfig& hardware, const Plan& alone);

  int layers() const { return count_of(workload_.layers); }
  const Layer& layer(int number) const { return nth(workload_.layers, number); }
  const Workload& workload() const { return workload_; }
  const HardwareConfig& hardware() const { return hardware_; }

  /// The least end behind `end` at which layers [begin, end) can be a fusion group: one more layer of a
  /// chain, or a whole block (rules 3 and 4); nothing: there is no such end.
  std::optional<int> next_end(int begin, int end) const;
  bool is_unit(int begin, int end) const;
  /// The first layers of all fusion groups of at least two layers that end before layer `end`, the nearest
  /// first.
  std::vector<int> begins_of(int end) const;
  GroupGraph graph(int begin, int end) const;
  /// A request for layers [begin, end) that leaves all else open.
  GroupRequest request(int begin, int end) const;

  /// Whether another layer of the network, fused with this one or not, has the kernels of a layer, too
  /// (document 001 [0105]).
  bool shares_kernels(int layer) const;

  /// The estimate of layers [begin, end) without fusion.
  GroupEstimate alone(int begin, int end) const;
  /// The estimate of a fusion group; nothing: it does not fit. `careful` is infinite above `limit`.
  std::optional<GroupEstimate> fused(const GroupRequest& request,
                                     double limit = std::numeric_limits<double>::infinity());
  /// All bytes that a fusion group moves over DRAM, instructions and tables included; nothing: it does not
  /// fit. Above `limit` the number is a lower bound.
  std::optional<std::int64_t> fused_bytes(const GroupRequest& request,
                                          double limit = std::numeric_limits<double>::infinity());
  /// Why clusters that could make rows of the output of layers [begin, end), or cores of the others, have no
  /// work; nothing: all have some.
  std::optional<std::string> unused(int begin, int end, const GroupRequest& request) const;
  /// Whether layers of a group may hand on maps in the NRAM of a core (`fusion.inner`).
  bool may_hold_in_nram(const GroupGraph& graph) const {
    return hardware_.fusion.inner != FusionInner::kSram && count_of(graph.layers) > 1;
  }
  /// What a fusion group takes of memories, as its executor says (SPEC FU-12); nothing: its kernels or
  /// factors do not fit a core, or it cannot be made.
  std::optional<GroupNeeds> needs(const GroupRequest& request);
  /// `request` with reduction groups for layers that leave cores without work (SPEC FU-2), or, with `to_fit`,
  /// for layers that then take less memory of a core; nothing: there are no such layers.
  std::optional<GroupRequest> in_reduction_groups(const GroupRequest& request, bool to_fit);

 private:
  // What a request asks, in numbers: layers of the same sizes that read each other in the same way have the
  // same.
  using Question = std::vector<int>;
  Question question(const GroupRequest& request);
  void number_layers();
  // What decides which neighbours a layer may be fused with.
  struct Neighbour {
    bool by_maps = false, by_rows = false;  // whether its rows are made of rows, seen as TensorView says
    bool slides = false;                    // it reads a neighbourhood of pixels: the group sees maps
    bool does_nothing = false;              // a reshape, which is not at the border of a group
    int matrices = 0;                       // as TensorView::matrices
    int kernels_from = -1;                  // the layer that makes B of a product of two results
    int last_reader = -1;                   // beyond all layers: the result is read outside any group
  };
  void look_at_neighbours();
  bool is_fusable(const Neighbour& layer) const { return layer.by_maps || layer.by_rows; }
  bool has_scene_of(int layer, int other) const {
    return this->layer(layer).scene == this->layer(other).scene;
  }
  struct Estimated {
    std::optional<GroupEstimate> estimate;
    double limit = 0;  // above which `careful` is infinite
  };

  const Workload& workload_;
  const HardwareConfig& hardware_;
  GroupTrials parts_;
  std::vector<GroupEstimate> alone_;                       // by layer
  std::vector<Neighbour> neighbours_;                      // by layer
  std::unordered_map<std::string, int> numbers_;           // of layers, by name
  std::vector<int> alike_;                                 // by layer: the first one that is mapped alike
  std::unordered_map<std::string, int> users_of_kernels_;  // number of layers, by the source of their kernels
  std::map<Question, Estimated> estimated_;
  std::map<Question, std::optional<GroupNeeds>> needs_;
  // By question and `to_fit`: sizes of reduction groups by layer of the group.
  std::map<std::pair<Question, bool>, std::optional<std::map<int, int>>> reductions_;
};

struct ChosenGroups {
  /// Ways to cut the network, each with at least one fusion group. The best by the plans of the whole
  /// network is taken, or none of them.
  std::vector<std::vector<ChosenGroup>> ways;
  std::size_t by_rules = 0;  ///< number of the first way that the rules choose; the others follow it
  int visited = 0;           ///< fusion groups whose cost the optimal planner estimated
};

/// Chooses the fusion groups of a workload as `fusion.planner` asks: by the rules of document 001 (SPEC FU-2,
/// FU-3, FU-10), as far as they are planned to be neither slower than their layers one by one nor to move
/// more bytes over DRAM (FU-5); or with the least cost (FU-8), and beside that by the rules, so that the
/// optimal plan is never worse than theirs (FU-13). `alone`: the plan without fusion groups.
ChosenGroups choose_groups(const Workload& workload, const HardwareConfig& hardware, const Plan& alone);

/// The cut of a network into fusion groups and single layers with the least `fusion.objective` (SPEC FU-8). A
/// group consists of neighbours in the workload, so the best cut of the first n layers is a best cut of fewer
/// layers plus one group or layer: one pass over the layers finds the optimum. Of the groups that end with a
/// layer those with one of the 24 nearest beginnings are looked at, and those that begin like the best ones
/// which end a little earlier. The cost of a group is that of its best form. The forms that are tried: all
/// clusters, half of them and so on (for cycles as long as that is better); rows of a step halved from a
/// cluster's share down to one; tensors in row buffers or, in the best of those forms, recomputed or in NRAM.
/// In small networks, and of chosen groups of few layers, fewer cores, other rows and holdings of single
/// tensors are tried, too; in small networks also all that chips with fewer clusters or cores would try.
/// `visited`: number of groups whose cost was estimated.
std::vector<ChosenGroup> optimal_groups(GroupSpace& space, int& visited);

/// The fusion groups by the rules of document 001 (SPEC FU-2, FU-3, FU-10), as far as they are planned to be
/// neither slower than their layers one by one nor to move more bytes over DRAM (FU-5): with resident kernels
/// and, where these do not fit WRAM, also with kernels that come in portions of their output channels
/// (FU-11). Either may be the better one for the whole network.
std::vector<std::vector<ChosenGroup>> ways_by_rules(GroupSpace& space);

}  // namespace tilebeat
