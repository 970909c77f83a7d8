#include "base/types.h"
#include "planner/fusion/choose_groups.h"
#include "planner/fusion/fusion_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {
namespace {

bool is_main(const Layer& layer) {
  return std::holds_alternative<Conv2d>(layer.operation) || std::holds_alternative<Pooling>(layer.operation);
}
LayerRole role_of(const Layer& layer) {
  if (is_main(layer)) return LayerRole::kMain;
  if (std::holds_alternative<Elementwise>(layer.operation)) return LayerRole::kScalar;
  const bool vector = std::holds_alternative<ByteFunction>(layer.operation) ||
                      std::holds_alternative<ChannelScale>(layer.operation);
  return vector ? LayerRole::kVector : LayerRole::kOther;
}
bool has_activation(const Layer& layer) {
  const auto* conv = std::get_if<Conv2d>(&layer.operation);
  const auto* elementwise = std::get_if<Elementwise>(&layer.operation);
  return (conv != nullptr && conv->activation.kind != ActivationKind::kNone) ||
         (elementwise != nullptr && elementwise->relu);
}
bool has_computed_kernels(const Layer& layer) {
  const auto* conv = std::get_if<Conv2d>(&layer.operation);
  return conv != nullptr && conv->kernels != KernelSource::kWeights;
}
// The stride redundancy of a layer's kernels along an axis.
std::int64_t reach(const Layer& layer, std::size_t axis) {
  if (const auto* conv = std::get_if<Conv2d>(&layer.operation))
    return stride_redundancy({0, conv->kernel[axis], conv->stride[axis], conv->dilation[axis], 0});
  if (const auto* pool = std::get_if<Pooling>(&layer.operation))
    return stride_redundancy({0, pool->kernel[axis], pool->stride[axis], pool->dilation[axis], 0});
  return 0;
}

// Which layers belong to a block of several branches, which rule 19 does not limit (SPEC FU-10): more than
// one tensor is live in front of them, or behind. An input counts from its first reader on.
std::vector<bool> layers_in_blocks(const GroupGraph& graph) {
  const std::size_t layers = graph.layers.size();
  std::vector<int> live(layers + 1, 0);  // changes at first, then numbers, in front of each layer
  for (const GroupTensor& tensor : graph.tensors) {
    if (tensor.consumers.empty()) continue;  // the output of the group
    ++nth(live, (tensor.producer >= 0 ? tensor.producer : tensor.consumers.front()) + 1);
    --nth(live, tensor.consumers.back() + 1);
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  std::vector<bool> in_block;
  for (std::size_t l = 0; l < layers; ++l) in_block.push_back(live[l] > 1 || live[l + 1] > 1);
  return in_block;
}

// Layers that are tried as a fusion group.
struct Trial {
  GroupRequest request;
  std::string mode;
  std::string rows_violated;     ///< by whole rows, where it is cut into strips
  std::string kernels_violated;  ///< by resident kernels, where they are streamed
};

// A smaller unit map than the largest that fits is taken when it needs at most this part of the cycles:
// estimates are not more exact.
constexpr double kWorthASmallerMap = 0.98;
// A form of so many times the cycles of the single layers may pay with maps in NRAM, or on fewer clusters.
constexpr double kMayPayYet = 2;

// Whether halo columns are made twice, and kernels loaded in every step: what the layers cost so says nothing
// of fewer layers without that.
std::pair<bool, bool> way_of(const Trial& trial) {
  return {trial.request.step_columns.has_value(), trial.request.kernels.has_value()};
}
const std::string& violated_otherwise(const Trial& trial) {
  return trial.request.step_columns ? trial.rows_violated : trial.kernels_violated;
}

// Layers that may be a fusion group by the rules for layers that are added.
struct Grown {
  Trial trial;
  int end = 0;  ///< the layer behind it
  std::string ended_by;
};

class RulesChooser {
 public:
  /// `streams`: kernels that do not fit WRAM may come in portions of their output channels.
  RulesChooser(GroupSpace& space, bool streams)
      : space_(space), config_(space.hardware().fusion), chip_(*space.hardware().chip), streams_(streams) {}

  std::vector<ChosenGroup> run() {
    std::vector<StartCandidate> candidates;
    for (int i = 0; i < space_.layers(); ++i) candidates.push_back({is_main(space_.layer(i)), false});
    while (const auto start = start_layer(candidates, config_.start)) {
      const int end = try_unit(to_int(*start));
      for (int i = 0; i < end; ++i) nth(candidates, i).fused = true;
    }
    return std::move(chosen_);
  }
  /// Whether layers were refused for kernels that streaming would bring in portions.
  bool lacks_wram() const { return lacks_wram_; }

 private:
  // Grows a group from layer `start` and takes it when it pays off. Returns the layer behind it, or behind
  // `start`.
  int try_unit(int start) {
    const int begin = first_layer(start);
    std::vector<Grown> grown;  // those that load all once first
    std::string ended_by = "no further layer can be fused";
    for (auto end = space_.next_end(begin, start); end; end = space_.next_end(begin, *end)) {
      Trial trial;
      if (const auto why = shape(begin, *end, trial)) {
        ended_by = *why;
        break;
      }
      if (!grown.empty() && way_of(trial) != way_of(grown.back().trial))
        grown.back().ended_by = violated_otherwise(trial);
      grown.push_back({std::move(trial), *end, {}});
    }
    if (!grown.empty() && grown.back().ended_by.empty()) grown.back().ended_by = ended_by;
    // The longest group is taken. One that its cores and SRAM cannot hold, or that rules for complete groups
    // refuse, loses its last layer; where it does not pay off, no shorter one is asked but the longest of
    // another way: without strips, or with resident kernels.
    while (!grown.empty()) {
      const Grown group = std::move(grown.back());
      grown.pop_back();
      if (group.end < begin + 2) break;
      std::optional<std::string> dropped = end_rules(begin, group.end);  // why its last layer is
      if (!dropped) {
        const Verdict verdict = judge(begin, group);
        if (verdict == Verdict::kTaken) return taken_ = group.end;
        if (verdict == Verdict::kDoesNotFit) dropped = "they do not fit";
      }
      if (dropped) {
        if (!grown.empty() && grown.back().ended_by.empty())
          grown.back().ended_by =
              fmt::format("layers up to '{}': {}", space_.layer(group.end - 1).name, *dropped);
        continue;
      }
      while (!grown.empty() && way_of(grown.back().trial) == way_of(group.trial)) grown.pop_back();
    }
    return start + 1;
  }

  // Moves the start toward the input, as far as the rules allow and layers are in no group (rule 2).
  int first_layer(int start) {
    int first = start;
    if (config_.direction == FusionDirection::kForward) return first;
    for (int begin = start - 1; begin >= taken_; --begin) {
      if (!space_.is_unit(begin, start + 1)) continue;  // a block is open, until its first layer is there
      Trial trial;
      if (shape(begin, start + 1, trial)) break;
      first = begin;
    }
    return first;
  }

  // The output that a cluster makes in a step: rows of one map, strips of such rows, or several maps.
  struct UnitMap {
    int rows = 1, columns = 1, maps = 1;
    bool large = false;
    GroupKernels kernels = GroupKernels::kResident;
  };
  // Layers whose unit map is looked for.
  struct Candidate {
    int begin = 0, end = 0;
    GroupGraph graph;
  };
  // The reason why layers are no group with a unit map, and what may help: a smaller map, or fewer kernels at
  // a time.
  struct Violation {
    std::string why;
    bool smaller_map = false, fewer_kernels = false;
  };
  using Found = std::optional<Violation>;

  // Sets the mode and the unit map of layers [begin, end). Returns the reason why they are no group, if any.
  std::optional<std::string> shape(int begin, int end, Trial& trial) {
    const Candidate layers{begin, end, space_.graph(begin, end)};
    const GroupTensor& output = nth(layers.graph.tensors, layers.graph.output());
    std::int64_t map = 0;
    for (const GroupTensor& tensor : layers.graph.tensors) {
      if (tensor.producer < 0) map = std::max(map, tensor.info.size_bytes());
    }
    const bool large = map > chip_.sram_bytes();
    const int share = ceil_div(output.images() * output.height(), chip_.clusters);
    UnitMap group{std::min(output.height(), share), output.map.width,
                  layers.graph.maps_of_step(share / output.height()), large};
    trial.mode = large ? "large map" : "small map";
    const bool grows = config_.split == FusionSplit::kBottomUp;
    Found found = grows ? grow(layers, group, trial) : cut(layers, group, trial);
    if (!found || !found->fewer_kernels) return found ? std::optional(found->why) : std::nullopt;
    // The kernels of a smaller unit map: those of some output channels at a time (SPEC FU-11).
    group.kernels = GroupKernels::kStreamed;
    trial.kernels_violated = found->why;
    const Found streamed = grows ? grow(layers, group, trial) : cut(layers, group, trial);
    return streamed ? std::optional(found->why) : std::nullopt;
  }

  // Cuts a unit map until all rules hold. All maps that a cluster has of a batch at first, then fewer, then
  // rows of one map, finally strips of a row (SPEC FU-2).
  Found cut(const Candidate& layers, UnitMap group, Trial& trial) {
    Found last;
    for (int cuts = 0; group.columns > 0; ++cuts) {
      Found found = violated(layers, group);
      if (!found) {
        trial.request = request_of(layers, group);
        trial.rows_violated = last ? last->why : "";
        return std::nullopt;
      }
      last = found;
      if (!found->smaller_map) return found;
      if (group.maps > 1) {
        --group.maps;
        continue;
      }
      const std::vector<int>& ratios = config_.ratios;
      const bool columns_now = config_.cut == FusionCut::kAlternating && cuts % 2 == 1 && group.columns > 1;
      int& extent = group.rows > 1 && !columns_now ? group.rows : group.columns;
      extent = extent * ratios[std::min(to_size(cuts), ratios.size() - 1)] / 100;
    }
    return last;
  }

  // Finds the largest unit map for which all rules hold from one map on, else from one row on ([0064]).
  Found grow(const Candidate& layers, const UnitMap& largest, Trial& trial) {
    UnitMap group = largest;
    group.maps = 1;
    int* extent = &group.maps;
    int most = largest.maps;
    Found found = violated(layers, group);
    if (found && found->smaller_map) {
      extent = &group.rows, most = largest.rows - 1;
      *extent = 1;
      found = violated(layers, group);
    }
    if (found) return found;
    for (int step = most - *extent; step > 0;) {
      UnitMap before = group;
      *extent += step;
      if (violated(layers, group))
        group = before, step /= 2;
      else
        step = std::min(step, most - *extent);
    }
    trial.request = request_of(layers, group);
    return std::nullopt;
  }

  GroupRequest request_of(const Candidate& layers, const UnitMap& map) const {
    GroupRequest request = space_.request(layers.begin, layers.end);
    request.step_rows = map.rows, request.step_maps = map.maps;
    if (map.columns < nth(layers.graph.tensors, layers.graph.output()).map.width)
      request.step_columns = map.columns;
    request.holding = map.large ? Holding::kRecompute : Holding::kRowBuffer;
    if (map.kernels == GroupKernels::kStreamed) request.kernels = map.kernels;
    return request;
  }
  // The facts of layers with a unit map, as the group's executor states them (SPEC FU-12); nothing: their
  // kernels or factors do not fit a core.
  std::optional<GroupFacts> facts_of(const Candidate& layers, const UnitMap& map) const {
    const auto needs = space_.needs(request_of(layers, map));
    if (!needs) return std::nullopt;
    GroupFacts f;
    f.large_map = map.large, f.maps = map.maps;
    f.wram = chip_.core.wram.size_bytes, f.nram = chip_.core.nram.size_bytes, f.sram = chip_.sram_bytes();
    f.sram_is_all_nram = f.sram == chip_.cores_per_cluster * f.nram;
    for (int i = layers.begin; i < layers.end; ++i) {
      f.weights_are_output = f.weights_are_output || has_computed_kernels(space_.layer(i));
      f.weights_are_shared = f.weights_are_shared || space_.shares_kernels(i);
    }
    // A core has the kernel blocks that it computes alone (the variant of rule 10 in [0109]).
    f.weights = needs->kernels;
    f.loaded = needs->loaded, f.loaded_once = needs->loaded_once;
    f.in = needs->in, f.out = needs->out, f.cache = needs->cache;
    f.sub_in = needs->step_in, f.sub_out = needs->step_out;
    f.step_weights = needs->step_kernels, f.step_wram = needs->step_wram;
    f.sub_map = needs->nram;
    const std::vector<bool> in_block = layers_in_blocks(layers.graph);
    for (std::size_t l = 0; l < layers.graph.layers.size(); ++l) {
      if (in_block[l]) continue;
      for (std::size_t axis = 0; axis < 2; ++axis)
        f.stride_redundancy[axis] += reach(*layers.graph.layers[l].layer, axis);
    }
    return f;
  }

  Found violated(const Candidate& layers, const UnitMap& map) {
    const auto facts = facts_of(layers, map);
    if (!facts) return Violation{"kernels and factors do not fit a core", false, may_stream(map)};
    for (int rule = kFirstRule; rule <= kLastRule; ++rule) {
      if (judges_complete_groups(rule)) continue;
      const auto why = violation(rule, *facts, config_);
      if (!why) continue;
      const Remedy remedy = remedy_of(rule);
      const bool streams = remedy == Remedy::kReduceMap && may_stream(map);
      return Violation{fmt::format("rule {}: {}", rule, *why),
                       !streams && (remedy == Remedy::kReduceMap || remedy == Remedy::kCutFiner ||
                                    remedy == Remedy::kFewerMaps || rule == 12),
                       streams};
    }
    // For large maps, too, everything that is held must fit the SRAM (SPEC FU-10); rule 13 checks small maps.
    const std::int64_t held = facts->in + facts->cache;
    if (facts->large_map && held > facts->sram)
      return Violation{fmt::format("unit map and caches take {} bytes, SRAM has {}", held, facts->sram), true,
                       false};
    return std::nullopt;
  }
  // Whether resident kernels that do not fit may be streamed instead.
  bool may_stream(const UnitMap& map) {
    if (!streams_) lacks_wram_ = true;
    return streams_ && map.kernels == GroupKernels::kResident;
  }

  // Checks rules 5 to 7.
  std::optional<std::string> end_rules(int begin, int end) const {
    GroupFacts f;
    for (int i = begin; i < end; ++i) {
      f.roles.push_back(role_of(space_.layer(i)));
      if (has_activation(space_.layer(i))) f.roles.push_back(LayerRole::kVector);
    }
    for (int rule = kFirstRule; rule <= kLastRule; ++rule) {
      if (!judges_complete_groups(rule)) continue;
      if (const auto why = violation(rule, f, config_)) return fmt::format("rule {}: {}", rule, *why);
    }
    return std::nullopt;
  }

  enum class Verdict { kTaken, kDoesNotPay, kDoesNotFit };

  // Takes a group, with its unit map or a smaller one, if it fits and pays off.
  Verdict judge(int begin, const Grown& grown) {
    const GroupEstimate alone = space_.alone(begin, grown.end);
    GroupRequest request = grown.trial.request;
    std::optional<GroupRequest> best;
    std::optional<GroupEstimate> least;
    bool largest_fits = false;
    do {
      GroupRequest tried = request;
      const auto group = estimate(tried, alone, worth(least, alone));
      if (unit_map(request) == unit_map(grown.trial.request)) largest_fits = group.has_value();
      if (group && least && !is_above(*least) && group->careful >= kWorthASmallerMap * least->careful) break;
      if (group && (!least || !is_above(*group))) best = std::move(tried), least = group;
    } while (shrink(request, best.has_value()));
    std::string instead = "they are made and read faster there than in the SRAM";
    if (!best && config_.inner != FusionInner::kSram) {
      best = grown.trial.request;
      instead = "they do not fit the SRAM with what is on its way";
    }
    if (!best) return Verdict::kDoesNotFit;
    hold_in_nram(*best, least, alone);
    if (!least) return Verdict::kDoesNotFit;
    if (config_.inner == FusionInner::kNram) instead = "fusion.inner asks for it";
    use_less(begin, grown.end, *best, *least);
    if (chip_.dram_path == DramPath::kAuto) store_by_sram(*best, *least, alone);
    const bool pays = least->bytes <= alone.bytes && least->careful <= alone.cycles;
    if (!pays && !config_.keep_where_slower) return Verdict::kDoesNotPay;
    ChosenGroup chosen{*best, {{"mode", grown.trial.mode}, {"ends", grown.ended_by}}};
    if (unit_map(*best) != unit_map(grown.trial.request))
      chosen.reasons.emplace_back(
          "repaired",
          fmt::format("{} a step instead of {}, which {}", unit_map(*best), unit_map(grown.trial.request),
                      largest_fits ? "takes longer" : "does not fit with what is on its way"));
    if (!grown.trial.kernels_violated.empty())
      chosen.reasons.emplace_back(
          "repaired", "kernels come in portions of their output channels, " + grown.trial.kernels_violated);
    if (best->holding == Holding::kNram) chosen.reasons.emplace_back("maps between", "in NRAM: " + instead);
    if (const auto unused = space_.unused(begin, grown.end, *best))
      chosen.reasons.emplace_back("unused", *unused);
    chosen.reasons.push_back(compared(alone, *least));
    chosen_.push_back(std::move(chosen));
    return Verdict::kTaken;
  }

  // Holds the maps between the layers in NRAM where `fusion.inner` asks for that, or the group takes less so;
  // where it takes no time at all yet, it does not fit otherwise. Returns whether it does.
  void hold_in_nram(GroupRequest& best, std::optional<GroupEstimate>& least, const GroupEstimate& alone) {
    if (config_.inner == FusionInner::kSram) return;
    GroupRequest request = best;
    request.holding = Holding::kNram, request.reductions.clear();
    const bool asked = config_.inner == FusionInner::kNram;
    const auto group = space_.fused(request, worth(asked ? std::nullopt : least, alone));
    if (asked && !group) least.reset();
    const bool better = group && (!least || asked || group->careful < kWorthASmallerMap * least->careful);
    if (better) best = request, least = group;
  }
  // Leaves clusters, and cores of the others, without work where that is expected to be faster (SPEC MA-6).
  void use_less(int begin, int end, GroupRequest& best, GroupEstimate& least) {
    const GroupGraph graph = space_.graph(begin, end);
    const GroupTensor& output = nth(graph.tensors, graph.output());
    const int rows = output.images() * output.height();
    const auto take_better = [&](const GroupRequest& request) {
      const auto group = space_.fused(request, worth(least, space_.alone(begin, end)));
      const bool better = group && group->careful < kWorthASmallerMap * least.careful;
      if (better) best = request, least = *group;
      return better;
    };
    const auto on = [&](int clusters) {  // all that a cluster has at a time
      GroupRequest request = best;
      const int share = ceil_div(rows, clusters);
      request.clusters = clusters, request.step_rows = std::min(output.height(), share);
      const bool any = std::count(config_.rules_off.begin(), config_.rules_off.end(), 18) > 0;
      request.step_maps = std::clamp(share / output.height(), 1, any ? share : config_.most_maps);
      return request;
    };
    const bool in_nram = config_.inner == FusionInner::kAuto && best.kernels != GroupKernels::kStreamed;
    for (int clusters = std::min(chip_.clusters, rows); clusters > 1;) {
      clusters = ceil_div(clusters, 2);
      GroupRequest as_before = best;
      as_before.clusters = clusters;
      if (!take_better(on(clusters))) take_better(as_before);
      GroupRequest request = on(clusters);
      request.holding = Holding::kNram, request.reductions.clear();
      if (in_nram) take_better(request);
    }
    for (int cores = chip_.cores_per_cluster; cores > 1;) {
      GroupRequest request = best;
      request.cores = cores = ceil_div(cores, 2), take_better(request);
    }
  }
  // Collects a step's results in the SRAM where that is expected to be faster.
  void store_by_sram(GroupRequest& best, GroupEstimate& least, const GroupEstimate& alone) {
    GroupRequest request = best;
    request.results = DataPath::kSram;
    const auto group = space_.fused(request, worth(least, alone));
    if (group && group->careful < kWorthASmallerMap * least.careful) best = request, least = *group;
  }

  // The most cycles of a form that replaces one of `least` cycles, and that may pay with other choices yet. A
  // form above that is not looked at to the end.
  double worth(const std::optional<GroupEstimate>& least, const GroupEstimate& alone) const {
    const double pays =
        config_.keep_where_slower ? std::numeric_limits<double>::infinity() : kMayPayYet * alone.cycles;
    return least ? std::min(pays, kWorthASmallerMap * least->careful) : pays;
  }
  // Whether an estimate ended above its limit.
  static bool is_above(const GroupEstimate& group) { return std::isinf(group.careful); }

  // The estimate of a group, in reduction groups where these are better, which `request` then has.
  std::optional<GroupEstimate> estimate(GroupRequest& request, const GroupEstimate& alone, double limit) {
    // Streamed groups have many steps: one that does not pay is not looked at to the end.
    if (request.kernels && !config_.keep_where_slower) limit = std::min(limit, alone.cycles);
    auto group = space_.fused(request, limit);
    if (const auto reduction_groups = space_.in_reduction_groups(request, !group)) {
      const double better = group ? kWorthAReductionGroup * group->careful : limit;
      const auto with = space_.fused(*reduction_groups, std::min(limit, better));
      if (with && with->bytes <= alone.bytes && (!group || with->careful < better))
        group = with, request = *reduction_groups;
    }
    return group;
  }

  // The next smaller unit map: a map less; rows by a quarter as long as none fits, then by half. Returns
  // whether there is one.
  static bool shrink(GroupRequest& request, bool fits) {
    if (request.step_maps.value_or(1) > 1) {
      --*request.step_maps;
      return true;
    }
    const int rows = *request.step_rows;
    request.step_rows = std::max(1, std::min(rows - 1, fits ? rows / 2 : rows * 3 / 4));
    return rows > 1;
  }
  static std::string unit_map(const GroupRequest& request) {
    return request.step_maps.value_or(1) > 1 ? fmt::format("{} maps", *request.step_maps)
                                             : fmt::format("{} rows", *request.step_rows);
  }

  GroupSpace& space_;
  const FusionConfig& config_;
  const ChipConfig& chip_;
  const bool streams_;
  int taken_ = 0;  // end of the layers that are decided
  bool lacks_wram_ = false;
  std::vector<ChosenGroup> chosen_;
};

}  // namespace

std::vector<std::vector<ChosenGroup>> ways_by_rules(GroupSpace& space) {
  // The longest group is taken, which with streamed kernels may be a worse one than shorter groups without.
  RulesChooser resident(space, false);
  std::vector<std::vector<ChosenGroup>> ways{resident.run()};
  if (!resident.lacks_wram()) return ways;
  std::vector<ChosenGroup> longer = RulesChooser(space, true).run();
  const bool streams = std::any_of(longer.begin(), longer.end(), [](const ChosenGroup& group) {
    return group.request.kernels.has_value();
  });
  if (streams) ways.push_back(std::move(longer));
  return ways;
}

}  // namespace tilebeat
