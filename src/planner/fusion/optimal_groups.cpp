#include "base/types.h"
#include "planner/fusion/choose_groups.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// In networks of so few layers all forms of groups on small maps are tried, and other groups are refined
// before they are compared; in larger networks those that are chosen are, if they have few layers.
constexpr int kSmallNetwork = 6, kRefinedLayers = 8;
// A form that costs up to this many times the best so far may do so with fewer rows a step. Of 391 groups of
// ResNet-18 and -50 and MobileNetV2 that paid off on three chips, 389 did with the most rows that fit.
constexpr double kWithinReach = 1.1;

class OptimalChooser {
 public:
  OptimalChooser(GroupSpace& space, int& visited)
      : space_(space),
        objective_(space.hardware().fusion.objective),
        chip_(*space.hardware().chip),
        clusters_(chip_.clusters),
        cores_(chip_.cores_per_cluster),
        visited_(visited) {}

  std::vector<ChosenGroup> run() {
    const int layers = space_.layers();
    std::vector<Cut> best(to_size(layers) + 1);
    best.front().cost = 0;
    for (int end = 1; end <= layers; ++end) {
      Cut& cut = nth(best, end);
      cut = {best[to_size(end) - 1].cost + cost_of(space_.alone(end - 1, end)), end - 1, {}};
      // Short groups come first: the better the cut so far, the sooner a long group is given up. Where many
      // in a row do not lower the cost, of the longer ones only those are tried that grow layer by layer.
      const std::vector<int> begins = space_.begins_of(end);
      const std::set<int> grown = begins_of_groups_before(end, begins, best);
      int in_vain = 0;
      for (std::size_t i = 0; i < begins.size(); ++i) {
        const int begin = begins[i];
        if ((i >= kNeighbours || in_vain >= kInVain) && grown.count(begin) == 0) continue;
        const double before = nth(best, begin).cost;
        const double limit = cut.cost - before;
        Trial trial = try_unit(begin, end, limit);
        // In a small network a form that costs more may lead to one that costs less.
        if (layers <= kSmallNetwork && !trial.group)
          take_better(try_unit(begin, end, kNoLimit), limit, trial);
        if (!trial.fits) break;  // longer groups need more memory
        ++in_vain;
        if (trial.group) cut = {before + trial.cost, begin, trial.group}, in_vain = 0;
      }
    }
    return units_of(best);
  }

 private:
  // The best cut of the layers before a position: its last group, or layer, begins at `begin`.
  struct Cut {
    double cost = 0;
    int begin = 0;
    std::optional<GroupRequest> group;
  };
  // The cheapest form of some layers as a fusion group, if one costs less than `cost`.
  struct Trial {
    bool fits = false;
    double cost = 0;
    std::optional<GroupRequest> group;
    bool in_reduction_groups = false;  ///< whether cores that share channels were tried
  };

  // Of the beginnings of groups that end with layer `end` - 1, the nearest first, so many are tried in any
  // case, unless so many in a row were in vain: none of the groups of nine networks on five chips that
  // lowered the cost of a plan came later, but for those that had grown.
  static constexpr std::size_t kNeighbours = 24;
  static constexpr int kInVain = 10;

  // Where the last groups of the best cuts begin that end a little before `end`.
  static std::set<int> begins_of_groups_before(int end, const std::vector<int>& begins,
                                               const std::vector<Cut>& best) {
    std::set<int> grown;
    if (begins.empty()) return grown;
    const int nearest = begins[std::min(kNeighbours, begins.size()) - 1];
    for (int before = end - 1; before >= std::max(1, nearest); --before) {
      if (const Cut& cut = nth(best, before); cut.group) grown.insert(cut.begin);
    }
    return grown;
  }

  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  double cost_of(const GroupEstimate& estimate) const {
    return objective_ == FusionObjective::kCycles ? estimate.cycles
                                                  : static_cast<double>(estimate.bytes + estimate.overhead);
  }

  // Takes the group of another trial where it costs less than `limit` and this one's.
  static void take_better(const Trial& other, double limit, Trial& trial) {
    const bool fits = trial.fits || other.fits;
    if (other.group && other.cost < (trial.group ? trial.cost : limit)) trial = other;
    trial.fits = fits;
  }

  // Layers [begin, end) as a fusion group, if it costs less than `limit`: a dearer one is not part of the
  // best cut. In a small network all that chips with fewer clusters, or fewer cores in each, would try is
  // tried as well: a form that does not pay on many may lead to one that does on few (SPEC MA-6).
  Trial try_unit(int begin, int end, double limit) {
    all_tried_ = false;
    Trial best = try_on(begin, end, limit);
    while (space_.layers() <= kSmallNetwork && clusters_ * cores_ > 1) {
      if (clusters_ > 1)
        clusters_ = ceil_div(clusters_, 2);
      else
        clusters_ = chip_.clusters, cores_ = ceil_div(cores_, 2);
      take_better(try_on(begin, end, best.group ? best.cost : limit), limit, best);
    }
    clusters_ = chip_.clusters, cores_ = chip_.cores_per_cluster;
    return best;
  }
  // The same on at most `clusters_` clusters of `cores_` cores.
  Trial try_on(int begin, int end, double limit) {
    const GroupGraph graph = space_.graph(begin, end);
    const GroupTensor& output = nth(graph.tensors, graph.output());
    const int rows = output.images() * output.height(), all = std::min(clusters_, rows);
    GroupRequest request = request_of(begin, end);
    Trial trial;
    trial.cost = limit;
    // With fewer clusters the kernels are loaded less often; with more of them computing ends sooner.
    const bool cycles = objective_ == FusionObjective::kCycles, is_small = space_.layers() <= kSmallNetwork;
    for (int clusters = all; clusters >= 1; clusters = (clusters + 1) / 2) {
      const double before = trial.cost;
      request.clusters = clusters;
      request.holding = Holding::kRowBuffer;
      try_steps(request, std::min(output.height(), ceil_div(rows, clusters)), trial);
      const bool better = trial.group && trial.cost < before;
      if (clusters == 1 || (cycles && clusters < all && !better)) break;
    }
    const int fewest = cycles ? all : 1;
    // Strips load and compute halo columns twice: where whole rows fit, strips cost more. The wider they are,
    // the fewer rows a step has; their width is halved as long as that lowers the cost.
    const bool strips = !trial.fits && rows_are_too_wide(graph);
    for (int strip = output.map.width / 2; strips && strip > 0; strip /= 2) {
      const bool fitted = trial.fits;
      const double before = trial.cost;
      request.step_columns = strip, request.clusters = all;
      try_steps(request, std::min(output.height(), ceil_div(rows, all)), trial);
      if (fitted && trial.cost >= before) break;
    }
    // To several clusters kernels are streamed only where they do not fit, but in a small network: else that
    // did not pay off for any of nine networks.
    if (!trial.fits || (cycles && (all == 1 || is_small) && kernels_are_large(begin, end)))
      try_streamed(request, output, fewest, trial);
    if (!trial.fits) try_teams(request, output, all, trial);
    if (trial.group && cycles) {
      consider_teams(*trial.group, trial);
      request = *trial.group;
      request.holding = Holding::kRecompute;
      consider(request, trial);
    }
    if (trial.fits && cycles) try_maps(begin, end, output, trial);
    if (space_.may_hold_in_nram(graph)) try_pyramid(begin, end, output, trial);
    if (trial.group && cycles && chip_.dram_path == DramPath::kAuto) {
      request = *trial.group;
      request.results = DataPath::kSram;
      consider(request, trial);
    }
    if (is_small) {
      // All numbers of clusters are among these, unless there are too many.
      if (cores_ == chip_.cores_per_cluster && !all_tried_) all_tried_ = try_all(begin, end, graph, trial);
      if (trial.group) refine(graph, trial);  // also of streamed kernels and strips, which are not among all
    }
    return trial;
  }

  GroupRequest request_of(int begin, int end) const {
    GroupRequest request = space_.request(begin, end);
    if (cores_ < chip_.cores_per_cluster) request.cores = cores_;
    return request;
  }

  // Tries all numbers of clusters and all parts of a step with all holdings of the tensors and both ways of
  // the results; where these are many, the rows of the best form alone in place of the former. Returns
  // whether they were few.
  bool try_all(int begin, int end, const GroupGraph& graph, Trial& trial) {
    constexpr int kSmallMap = 12, kSmallBatch = 4, kMostForms = 10000, kMostOfBatch = 2000,
                  kMostOfRows = 5000;
    const GroupTensor& output = nth(graph.tensors, graph.output());
    if (output.height() > kSmallMap) return false;
    std::vector<const GroupTensor*> held;
    int forms = 2;  // the ways of the results
    for (const GroupTensor& tensor : graph.tensors) {
      if (tensor.name == output.name) continue;
      held.push_back(&tensor);
      forms *= count_of(holdings_of(tensor, graph));
      if (forms > kMostForms) return false;
    }
    const int most = output.images() > kSmallBatch ? kMostOfBatch : kMostForms;
    std::vector<GroupRequest> steps;
    // Each image is a step at least of one cluster.
    if (output.images() * forms <= most) steps = all_steps(begin, end, output);
    const bool few = !steps.empty() && count_of(steps) * forms <= most;
    if (!few) {
      steps = all_rows(trial.group.value_or(request_of(begin, end)), output);
      if (count_of(steps) * forms > kMostOfRows) return false;
    }
    for (int form = 0; form < forms / 2; ++form) {
      std::map<std::string, Holding> holdings;
      int left = form;
      for (const GroupTensor* tensor : held) {
        const std::vector<Holding> some = holdings_of(*tensor, graph);
        holdings[tensor->name] = nth(some, left % count_of(some));
        left /= count_of(some);
      }
      for (GroupRequest request : steps) {
        request.holdings = holdings;
        for (const DataPath results : {DataPath::kDirect, DataPath::kSram}) {
          const bool forced = chip_.dram_path != DramPath::kAuto;
          if (forced && (results == DataPath::kSram) != (chip_.dram_path == DramPath::kSram)) continue;
          request.results = results;
          consider(request, trial);
        }
      }
    }
    return few;
  }
  // All rows of a step on the clusters of a form.
  std::vector<GroupRequest> all_rows(GroupRequest request, const GroupTensor& output) const {
    const int rows = output.images() * output.height(), clusters = std::min(clusters_, rows);
    if (!request.clusters) request.clusters = clusters;
    request.holding.reset(), request.step_maps.reset(), request.reductions.clear();
    std::vector<GroupRequest> steps;
    for (int step = 1; step <= std::min(output.height(), ceil_div(rows, clusters)); ++step) {
      request.step_rows = step;
      steps.push_back(request);
    }
    return steps;
  }
  // Every number of clusters with every part of the output that a cluster may make in a step: rows of a map,
  // or several maps of a batch.
  std::vector<GroupRequest> all_steps(int begin, int end, const GroupTensor& output) const {
    const int height = output.height(), rows = output.images() * height;
    GroupRequest request = request_of(begin, end);
    std::vector<GroupRequest> steps;
    for (int clusters = std::min(clusters_, rows); clusters > 0; --clusters) {
      const int share = ceil_div(rows, clusters);
      request.clusters = clusters, request.step_maps.reset();
      for (int step = 1; step <= std::min(height, share); ++step) {
        request.step_rows = step;
        steps.push_back(request);
      }
      for (int maps = 2; maps * height <= share; ++maps) {
        request.step_rows = height, request.step_maps = maps;
        steps.push_back(request);
      }
    }
    return steps;
  }
  // The ways to hold a tensor of a group.
  std::vector<Holding> holdings_of(const GroupTensor& tensor, const GroupGraph& graph) const {
    std::vector<Holding> holdings{Holding::kRecompute, Holding::kRowBuffer, Holding::kWhole};
    if (tensor.producer >= 0 && space_.may_hold_in_nram(graph)) holdings.push_back(Holding::kNram);
    return holdings;
  }

  // Changes single choices of a group as long as that lowers its cost: the cores that work, the rows of a
  // step, and how each tensor is held.
  void refine(const GroupGraph& graph, Trial& trial) {
    const GroupTensor& output = nth(graph.tensors, graph.output());
    for (double before = trial.cost + 1; trial.cost < before;) {
      before = trial.cost;
      if (objective_ == FusionObjective::kCycles) try_fewer_cores(trial);
      for (const int rows : other_steps(output, *trial.group)) {
        GroupRequest request = *trial.group;
        request.step_rows = rows;
        consider(request, trial);
      }
      for (const GroupTensor& tensor : graph.tensors) {
        if (tensor.name == output.name) continue;
        for (const Holding holding : holdings_of(tensor, graph)) {
          GroupRequest request = *trial.group;
          request.holdings[tensor.name] = holding;
          consider(request, trial);
          // What does not lie in the SRAM leaves room for more rows there.
          const int rows = request.step_rows.value_or(output.height());
          if (holding != Holding::kNram || 2 * rows > output.height()) continue;
          request.step_rows = 2 * rows;
          consider(request, trial);
        }
      }
    }
  }
  // Leaves cores of each cluster without work, half of them and so on: kernels, factors and instructions then
  // come to fewer cores.
  void try_fewer_cores(Trial& trial) {
    for (int cores = trial.group->cores.value_or(chip_.cores_per_cluster); cores > 1;) {
      GroupRequest request = *trial.group;
      request.cores = cores = ceil_div(cores, 2);
      consider(request, trial);
    }
  }
  // Rows of a step that are tried in place of a group's: all of a small map, else some around them.
  static std::vector<int> other_steps(const GroupTensor& output, const GroupRequest& request) {
    constexpr int kSmallMap = 12;
    std::vector<int> steps;
    const int now = request.step_rows.value_or(1), height = output.height();
    if (request.step_maps.value_or(1) > 1) return steps;
    for (int rows = 1; rows <= height; ++rows) {
      const bool near = rows == now - 1 || rows == now + 1 || rows == now * 3 / 4 || rows == now * 3 / 2;
      if (rows != now && (near || height <= kSmallMap)) steps.push_back(rows);
    }
    return steps;
  }

  // Tries maps between layers that stay in the NRAM of the core that makes them: in the steps of the best
  // form so far, and where there is none, in the largest that fits; in a small network in others as well.
  void try_pyramid(int begin, int end, const GroupTensor& output, Trial& trial) {
    const int rows = output.images() * output.height(), clusters = std::min(clusters_, rows);
    const bool is_small = space_.layers() <= kSmallNetwork;
    if (trial.group && trial.group->kernels != GroupKernels::kStreamed) {
      GroupRequest request = *trial.group;
      request.holding = Holding::kNram, request.reductions.clear();
      consider(request, trial);
      if (!is_small) return;
    }
    GroupRequest request = request_of(begin, end);
    request.clusters = clusters, request.holding = Holding::kNram;
    if (!cores_hold_a_row(request)) return;
    for (int step = std::min(output.height(), ceil_div(rows, clusters)); step > 0; step /= 2) {
      request.step_rows = step;
      if (consider(request, trial) != Outcome::kDoesNotFit && !is_small) return;
    }
  }

  // Tries several maps of a batch at once: all that a cluster has, then fewer as long as none fits, or fewer
  // cost less.
  void try_maps(int begin, int end, const GroupTensor& output, Trial& trial) {
    const int rows = output.images() * output.height(), clusters = std::min(clusters_, rows);
    GroupRequest request = request_of(begin, end);
    if (trial.group) request = *trial.group;
    request.clusters = clusters, request.step_rows = output.height(), request.step_columns.reset();
    bool fits = false;
    for (int maps = rows / clusters / output.height(); maps > 1; maps = std::min(maps - 1, maps * 3 / 4)) {
      request.step_maps = maps;
      const Outcome outcome = consider(request, trial);
      if (!trial.group) consider_teams(request, trial);
      if (fits && outcome == Outcome::kCostsMore) return;
      fits = fits || outcome != Outcome::kDoesNotFit;
    }
  }

  // Tries kernels that do not fit WRAM together and are loaded in every step. A step has as many rows as fit
  // the SRAM, at least a quarter of a cluster's share.
  void try_streamed(GroupRequest& request, const GroupTensor& output, int fewest, Trial& trial) {
    constexpr int kMostSteps = 4;
    request.kernels = GroupKernels::kStreamed, request.step_columns.reset();
    const int rows = output.images() * output.height();
    for (int clusters = std::min(clusters_, rows); clusters >= fewest; clusters = (clusters + 1) / 2) {
      request.clusters = clusters;
      const int most = std::min(output.height(), ceil_div(rows, clusters));
      for (int step = most; step > 0 && step * kMostSteps >= most; step /= 2) {
        request.step_rows = step;
        if (consider(request, trial) != Outcome::kDoesNotFit) break;
      }
      if (clusters == 1) break;
    }
    request.kernels.reset();
  }

  // Tries reduction groups where kernels or maps do not fit a core: its cores hold only parts of them.
  void try_teams(GroupRequest& request, const GroupTensor& output, int clusters, Trial& trial) {
    request.clusters = clusters, request.step_rows = 1;
    const auto reduction_groups = space_.in_reduction_groups(request, true);
    if (!reduction_groups) return;
    const int rows = output.images() * output.height();
    request.reductions = reduction_groups->reductions;
    try_steps(request, std::min(output.height(), ceil_div(rows, clusters)), trial);
    if (!trial.fits) try_streamed(request, output, clusters, trial);
  }

  // Tries `most` rows a step, then halves them again and again.
  void try_steps(GroupRequest& request, int most, Trial& trial) {
    const bool cycles = objective_ == FusionObjective::kCycles;
    for (int step = most; step > 0; step /= 2) {
      request.step_rows = step;
      const Outcome outcome = consider(request, trial, cycles && !trial.group ? kWithinReach : 1);
      if (outcome == Outcome::kDoesNotFit && step == most && step > 1 && !cores_hold_a_row(request)) return;
      // No row is loaded twice, so bytes do not depend on the rows of a step. A step is halved as long as
      // that saves cycles, or may do so: where the most rows that fit are far from paying off, fewer do not
      // either.
      if (outcome == Outcome::kCostsMore || (outcome == Outcome::kBest && !cycles)) return;
    }
  }
  // Whether kernels, factors and maps in NRAM fit the cores in steps of one row; what does not so fits with
  // no rows.
  bool cores_hold_a_row(GroupRequest request) {
    request.step_rows = 1;
    return space_.needs(request).has_value();
  }
  // Whether kernels take so much of WRAM that the cores may have to share them against the grain of the maps.
  bool kernels_are_large(int begin, int end) {
    const auto needs = space_.needs(request_of(begin, end));
    return !needs || 2 * needs->kernels > chip_.core.wram.size_bytes;
  }
  // Whether the row buffers of single-row steps take most of the SRAM, through which kernels pass as well.
  bool rows_are_too_wide(const GroupGraph& graph) const {
    const std::vector<Holding> rings(graph.tensors.size(), Holding::kRowBuffer);
    const int height = nth(graph.tensors, graph.output()).height();
    const RowSchedule schedule(graph, rings, row_axes(space_.workload(), graph), {0, 1, {0, height}, 1});
    std::int64_t bytes = 0;
    for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
      const bool held = to_int(t) != graph.output();
      bytes += held ? schedule.live_rows(to_int(t)) * graph.tensors[t].row_bytes() : 0;
    }
    return 2 * bytes > chip_.sram_bytes();
  }

  enum class Outcome { kDoesNotFit, kCostsMore, kNearly, kBest };
  // Replaces the trial's group by one that costs less. `reach`: up to this many times the cost is nearly as
  // good.
  Outcome consider(const GroupRequest& asked, Trial& trial, double reach = 1) {
    ++visited_;
    GroupRequest request = asked;
    if (space_.hardware().fusion.inner == FusionInner::kNram) {
      if (request.kernels == GroupKernels::kStreamed) return Outcome::kDoesNotFit;
      request.holding = Holding::kNram, request.reductions.clear();
      for (const std::string& layer : request.layers) request.holdings.erase(layer);  // inputs keep theirs
    }
    std::optional<double> cost;
    if (objective_ == FusionObjective::kCycles) {
      if (const auto estimate = space_.fused(request, reach * trial.cost)) cost = estimate->careful;
    } else if (const auto bytes = space_.fused_bytes(request, trial.cost)) {
      cost = static_cast<double>(*bytes);
    }
    if (!cost) return Outcome::kDoesNotFit;
    trial.fits = true;
    const bool margin = !request.reductions.empty() && objective_ == FusionObjective::kCycles;
    const bool best = *cost < trial.cost * (margin ? kWorthAReductionGroup : 1);
    if (best) trial.cost = *cost, trial.group = request;
    // Tries reduction groups for the largest steps that fit: some groups pay off only with them.
    if (!std::exchange(trial.in_reduction_groups, true) && objective_ == FusionObjective::kCycles)
      consider_teams(request, trial);
    if (best) return Outcome::kBest;
    return reach > 1 && *cost <= reach * trial.cost ? Outcome::kNearly : Outcome::kCostsMore;
  }
  // Lets cores without work share the channels of layers.
  void consider_teams(const GroupRequest& request, Trial& trial) {
    if (const auto reduction_groups = space_.in_reduction_groups(request, false))
      consider(*reduction_groups, trial);
  }

  std::vector<ChosenGroup> units_of(const std::vector<Cut>& best) {
    std::vector<ChosenGroup> groups;
    for (int end = space_.layers(); end > 0; end = nth(best, end).begin) {
      const Cut& cut = nth(best, end);
      if (!cut.group) continue;
      Trial trial;
      trial.cost = cut.cost - nth(best, cut.begin).cost, trial.group = cut.group;
      trial.in_reduction_groups = true;
      if (count_of(cut.group->layers) <= kRefinedLayers)
        refine(space_.graph(cut.begin, end), trial);
      else if (objective_ == FusionObjective::kCycles)
        try_fewer_cores(trial);
      ChosenGroup group{*trial.group, {}};
      group.reasons.emplace_back("least", nth(kFusionObjectiveNames, objective_));
      if (const auto unused = space_.unused(cut.begin, end, *trial.group))
        group.reasons.emplace_back("unused", *unused);
      group.reasons.push_back(compared(space_.alone(cut.begin, end), *space_.fused(*trial.group)));
      groups.push_back(std::move(group));
    }
    std::reverse(groups.begin(), groups.end());
    return groups;
  }

  GroupSpace& space_;
  FusionObjective objective_;
  const ChipConfig& chip_;
  int clusters_, cores_;    // that groups may have: all of the chip, or fewer
  bool all_tried_ = false;  // of the layers that are tried, all forms on the cores of the chip
  int& visited_;
};

}  // namespace

std::vector<ChosenGroup> optimal_groups(GroupSpace& space, int& visited) {
  return OptimalChooser(space, visited).run();
}

}  // namespace tilebeat
