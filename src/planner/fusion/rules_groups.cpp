#include "base/types.h"
#include "planner/fusion/choose_groups.h"
#include "planner/fusion/fusion_rules.h"

#include <algorithm>
#include <optional>

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
// Where the kernels of a layer are read from; empty: it has none.
const std::string& kernels_of(const Layer& layer) {
  static const std::string none;
  const auto* conv = std::get_if<Conv2d>(&layer.operation);
  return conv == nullptr ? none : conv->weights_source;
}
// The stride redundancy of a layer's kernels along an axis.
std::int64_t reach(const Layer& layer, std::size_t axis) {
  if (const auto* conv = std::get_if<Conv2d>(&layer.operation))
    return stride_redundancy({0, conv->kernel[axis], conv->stride[axis], conv->dilation[axis], 0});
  if (const auto* pool = std::get_if<Pooling>(&layer.operation))
    return stride_redundancy({0, pool->kernel[axis], pool->stride[axis], pool->dilation[axis], 0});
  return 0;
}

// Number of tensors that are live between layers `cut` - 1 and `cut` of a group: more than one inside a
// block. An input counts from its first reader on.
int tensors_across(const GroupGraph& graph, int cut) {
  return to_int(std::count_if(graph.tensors.begin(), graph.tensors.end(), [&](const GroupTensor& t) {
    if (t.consumers.empty()) return false;  // the output of the group
    const int begin = t.producer >= 0 ? t.producer : t.consumers.front();
    return begin < cut && t.consumers.back() >= cut;
  }));
}
// Whether a layer belongs to a block of several branches, which rule 19 does not limit (SPEC FU-10).
bool in_block(const GroupGraph& graph, int layer) {
  return tensors_across(graph, layer) > 1 || tensors_across(graph, layer + 1) > 1;
}

// Layers that are tried as a fusion group.
struct Trial {
  GroupRequest request;
  std::string mode;
  std::string rows_violated;  ///< by whole rows, where it is cut into strips
};

// A smaller unit map than the largest that fits is taken when it needs at most this part of the cycles:
// estimates are not more exact.
constexpr double kWorthASmallerMap = 0.98;

bool in_strips(const Trial& trial) {
  return trial.request.step_columns.has_value();
}

// Layers that may be a fusion group by the rules for layers that are added.
struct Grown {
  Trial trial;
  int end = 0;  ///< the layer behind it
  std::string ended_by;
};

class RulesChooser {
 public:
  explicit RulesChooser(GroupSpace& space)
      : space_(space), config_(space.hardware().fusion), chip_(*space.hardware().chip) {}

  std::vector<ChosenGroup> run() {
    std::vector<StartCandidate> candidates;
    for (int i = 0; i < space_.layers(); ++i) candidates.push_back({is_main(space_.layer(i)), false});
    while (const auto start = start_layer(candidates, config_.start)) {
      const int end = try_unit(to_int(*start));
      for (int i = 0; i < end; ++i) nth(candidates, i).fused = true;
    }
    return std::move(chosen_);
  }

 private:
  // Grows a group from layer `start` and takes it when it pays off. Returns the layer behind it, or behind
  // `start`.
  int try_unit(int start) {
    const int begin = first_layer(start);
    std::vector<Grown> grown;  // those without strips, behind them those in strips
    std::string ended_by = "no further layer can be fused";
    for (auto end = space_.next_end(begin, start); end; end = space_.next_end(begin, *end)) {
      Trial trial;
      if (const auto why = shape(begin, *end, trial)) {
        ended_by = *why;
        break;
      }
      if (in_strips(trial) && !grown.empty() && !in_strips(grown.back().trial))
        grown.back().ended_by = trial.rows_violated;
      grown.push_back({std::move(trial), *end, {}});
    }
    if (!grown.empty() && grown.back().ended_by.empty()) grown.back().ended_by = ended_by;
    // The longest group is taken. One that its cores and SRAM cannot hold, or that rules for complete groups
    // refuse, loses its last layer; where it does not pay off, no shorter one is asked but the longest
    // without strips, which make halo columns twice.
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
      while (!grown.empty() && in_strips(grown.back().trial) == in_strips(group.trial)) grown.pop_back();
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

  // Sets the mode and the unit map of layers [begin, end). Returns the reason why they are no group, if any.
  std::optional<std::string> shape(int begin, int end, Trial& trial) {
    const GroupGraph graph = space_.graph(begin, end);
    const GroupTensor& output = nth(graph.tensors, graph.output());
    std::int64_t map = 0;
    for (const GroupTensor& tensor : graph.tensors) {
      if (tensor.producer < 0) map = std::max(map, tensor.info.size_bytes());
    }
    const bool large = map > chip_.sram_bytes();
    const int share = ceil_div(output.images() * output.height(), chip_.clusters);
    std::string why;
    // All maps that a cluster has of a batch at first, then fewer, then rows of one map, finally strips of a
    // row (SPEC FU-2).
    UnitMap group{std::min(output.height(), share), output.map.width, std::max(1, share / output.height()),
                  large};
    for (int cut = 0; group.columns > 0; ++cut) {
      const GroupFacts facts = facts_of(begin, end, graph, group);
      const auto found = violated(facts);
      if (!found) {
        trial.request = request_of(begin, end, graph, group);
        trial.rows_violated = why;
        trial.mode = large ? "large map" : "small map";
        return std::nullopt;
      }
      why = found->why;
      if (!found->may_shrink) return why;
      if (group.maps > 1) {
        --group.maps;
        continue;
      }
      const std::vector<int>& ratios = config_.ratios;
      const bool columns_now = config_.cut == FusionCut::kAlternating && cut % 2 == 1 && group.columns > 1;
      int& extent = group.rows > 1 && !columns_now ? group.rows : group.columns;
      extent = extent * ratios[std::min(to_size(cut), ratios.size() - 1)] / 100;
    }
    return why;
  }

  // The output that a cluster makes in a step: rows of one map, strips of such rows, or several maps.
  struct UnitMap {
    int rows = 1, columns = 1, maps = 1;
    bool large = false;
  };
  GroupRequest request_of(int begin, int end, const GroupGraph& graph, const UnitMap& map) const {
    GroupRequest request = space_.request(begin, end);
    request.step_rows = map.rows, request.step_maps = map.maps;
    if (map.columns < nth(graph.tensors, graph.output()).map.width) request.step_columns = map.columns;
    request.holding = map.large ? Holding::kRecompute : Holding::kRowBuffer;
    return request;
  }
  GroupFacts facts_of(int begin, int end, const GroupGraph& graph, const UnitMap& map) const {
    GroupFacts f;
    f.large_map = map.large, f.maps = map.maps;
    f.wram = chip_.core.wram.size_bytes, f.nram = chip_.core.nram.size_bytes, f.sram = chip_.sram_bytes();
    f.sram_is_all_nram = f.sram == chip_.cores_per_cluster * f.nram;
    for (int i = begin; i < end; ++i) {
      f.weights_are_output = f.weights_are_output || has_computed_kernels(space_.layer(i));
      f.weights_are_shared = f.weights_are_shared || shares_kernels(i);
    }
    // A core has the kernel blocks that it computes alone (the variant of rule 10 in [0109]).
    f.weights = space_.wram_bytes(request_of(begin, end, graph, map)).value_or(0);
    const GroupTensor& output = nth(graph.tensors, graph.output());
    const std::vector<Holding> holdings(graph.tensors.size(),
                                        map.large ? Holding::kRecompute : Holding::kRowBuffer);
    const RowSchedule schedule(graph, holdings, row_axes(space_.workload(), graph),
                               {0, 1, {0, output.height()}, map.rows});
    const StripColumns columns = columns_of_strips(graph, map.columns);
    f.out = map.maps * map.rows * map.columns * output.pixel_bytes();
    std::int64_t held = 0;
    for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
      const GroupTensor& tensor = graph.tensors[t];
      const auto number = to_int(t);
      const std::int64_t live = number == graph.output() ? 0
                                                         : map.maps * schedule.live_rows(number) *
                                                               columns.most[t] * tensor.pixel_bytes();
      held += live;
      if (tensor.producer >= 0) continue;
      f.in += live;
      f.loaded += schedule.made_rows(number) * columns.all[t] * tensor.pixel_bytes();
      f.loaded_once += tensor.info.size_bytes() / tensor.images();
    }
    f.loaded_once = std::min(f.loaded_once, f.loaded);
    // The cores of a cluster compute a unit map side by side. Kernels are in WRAM from the beginning of the
    // group on, so a step loads none. A core's part is always cut into tiles that fit its NRAM
    // (split_over_cluster), which is rule 17's remedy: the rule finds no larger sub-map.
    const std::int64_t cores = chip_.cores_per_cluster;
    f.cache = held - f.in;
    f.sub_in = {ceil_div(f.in, cores)}, f.sub_out = {ceil_div(f.out, cores)}, f.step_weights = {0};
    for (std::size_t l = 0; l < graph.layers.size(); ++l) {
      if (in_block(graph, to_int(l))) continue;
      for (std::size_t axis = 0; axis < 2; ++axis)
        f.stride_redundancy[axis] += reach(*graph.layers[l].layer, axis);
    }
    return f;
  }

  // Whether another layer of the network, fused with this one or not, has the kernels of a layer, too
  // ([0105]).
  bool shares_kernels(int number) const {
    const std::string& source = kernels_of(space_.layer(number));
    for (int i = 0; i < space_.layers() && !source.empty(); ++i) {
      if (i != number && kernels_of(space_.layer(i)) == source) return true;
    }
    return false;
  }

  // By tensor: the most columns of a strip, and the sum over all strips.
  struct StripColumns {
    std::vector<int> most;
    std::vector<std::int64_t> all;
  };
  StripColumns columns_of_strips(const GroupGraph& graph, int strip) const {
    const GroupAxes axes = row_axes(space_.workload(), graph, MapAxis::kColumns);
    const int width = nth(graph.tensors, graph.output()).map.width;
    StripColumns columns{std::vector<int>(graph.tensors.size()),
                         std::vector<std::int64_t>(graph.tensors.size())};
    for (int column = 0; column < width; column += strip) {
      const auto needed = columns_of(graph, axes, {column, std::min(width, column + strip)});
      for (std::size_t t = 0; t < needed.size(); ++t) {
        // An uncut row is loaded completely, including columns that no layer needs.
        const int size = strip < width ? needed[t].size() : graph.tensors[t].map.width;
        columns.most[t] = std::max(columns.most[t], size), columns.all[t] += size;
      }
    }
    return columns;
  }

  // The reason why layers are no group with a unit map, and whether a smaller map may help.
  struct Violation {
    std::string why;
    bool may_shrink = false;
  };
  std::optional<Violation> violated(const GroupFacts& facts) const {
    for (int rule = kFirstRule; rule <= kLastRule; ++rule) {
      if (judges_complete_groups(rule)) continue;
      const auto why = violation(rule, facts, config_);
      if (!why) continue;
      const Remedy remedy = remedy_of(rule);
      return Violation{fmt::format("rule {}: {}", rule, *why),
                       remedy == Remedy::kReduceMap || remedy == Remedy::kCutFiner ||
                           remedy == Remedy::kFewerMaps || rule == 12};
    }
    // For large maps, too, everything that is held must fit the SRAM (SPEC FU-10); rule 13 checks small maps.
    const std::int64_t held = facts.in + facts.cache;
    if (facts.large_map && held > facts.sram)
      return Violation{fmt::format("unit map and caches take {} bytes, SRAM has {}", held, facts.sram), true};
    return std::nullopt;
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
      const auto group = estimate(tried, alone);
      if (unit_map(request) == unit_map(grown.trial.request)) largest_fits = group.has_value();
      if (group && least && group->careful >= kWorthASmallerMap * least->careful) break;
      if (group) best = std::move(tried), least = group;
    } while (shrink(request, best.has_value()));
    std::string instead = "they are made and read faster there than in the SRAM";
    if (!best && config_.inner != FusionInner::kSram) {
      best = grown.trial.request;
      instead = "they do not fit the SRAM with what is on its way";
    }
    if (!best) return Verdict::kDoesNotFit;
    const bool in_nram = hold_in_nram(*best, least);
    if (!least) return Verdict::kDoesNotFit;
    if (config_.inner == FusionInner::kNram) instead = "fusion.inner asks for it";
    use_fewer_clusters(begin, grown.end, *best, *least);
    if (chip_.dram_path == DramPath::kAuto) store_by_sram(*best, *least);
    const bool pays = least->bytes <= alone.bytes && least->careful <= alone.cycles;
    if (!pays && !config_.keep_where_slower) return Verdict::kDoesNotPay;
    ChosenGroup chosen{*best, {{"mode", grown.trial.mode}, {"ends", grown.ended_by}}};
    if (unit_map(*best) != unit_map(grown.trial.request))
      chosen.reasons.emplace_back(
          "repaired",
          fmt::format("{} a step instead of {}, which {}", unit_map(*best), unit_map(grown.trial.request),
                      largest_fits ? "takes longer" : "does not fit with what is on its way"));
    if (in_nram) chosen.reasons.emplace_back("maps between", "in NRAM: " + instead);
    if (const auto unused = space_.unused_clusters(begin, grown.end, *best))
      chosen.reasons.emplace_back("unused", *unused);
    chosen.reasons.push_back(compared(alone, *least));
    chosen_.push_back(std::move(chosen));
    return Verdict::kTaken;
  }

  // Holds the maps between the layers in NRAM where `fusion.inner` asks for that, or the group takes less so;
  // where it takes no time at all yet, it does not fit otherwise. Returns whether it does.
  bool hold_in_nram(GroupRequest& best, std::optional<GroupEstimate>& least) {
    if (config_.inner == FusionInner::kSram) return false;
    GroupRequest request = best;
    request.holding = Holding::kNram, request.reductions.clear();
    const auto group = space_.fused(request);
    if (config_.inner == FusionInner::kNram && !group) least.reset();
    const bool better = group && (!least || config_.inner == FusionInner::kNram ||
                                  group->careful < kWorthASmallerMap * least->careful);
    if (better) best = request, least = group;
    return better;
  }
  // Leaves clusters without work where that is expected to be faster (SPEC MA-6).
  void use_fewer_clusters(int begin, int end, GroupRequest& best, GroupEstimate& least) {
    const GroupGraph graph = space_.graph(begin, end);
    const GroupTensor& output = nth(graph.tensors, graph.output());
    const int rows = output.images() * output.height();
    int used = std::min(chip_.clusters, rows);
    for (int clusters = (used + 1) / 2; used > 1; clusters = (clusters + 1) / 2) {
      GroupRequest request = best;
      request.clusters = clusters;
      const int share = ceil_div(rows, clusters);
      if (request.step_maps.value_or(1) == 1) request.step_rows = std::min(output.height(), share);
      auto group = space_.fused(request);
      if (!group) {
        request.step_rows = best.step_rows;
        group = space_.fused(request);
      }
      if (group && group->careful < kWorthASmallerMap * least.careful)
        best = request, least = *group, used = clusters;
      if (clusters == 1) break;
    }
  }
  // Collects a step's results in the SRAM where that is expected to be faster.
  void store_by_sram(GroupRequest& best, GroupEstimate& least) {
    GroupRequest request = best;
    request.results = DataPath::kSram;
    const auto group = space_.fused(request);
    if (group && group->careful < kWorthASmallerMap * least.careful) best = request, least = *group;
  }

  // The estimate of a group, in reduction groups where these are better, which `request` then has.
  std::optional<GroupEstimate> estimate(GroupRequest& request, const GroupEstimate& alone) {
    auto group = space_.fused(request);
    if (const auto reduction_groups = space_.in_reduction_groups(request, !group)) {
      const auto with = space_.fused(*reduction_groups);
      if (with && with->bytes <= alone.bytes &&
          (!group || with->careful < kWorthAReductionGroup * group->careful))
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
  int taken_ = 0;  // end of the layers that are decided
  std::vector<ChosenGroup> chosen_;
};

}  // namespace

std::vector<ChosenGroup> units_by_rules(GroupSpace& space) {
  return RulesChooser(space).run();
}

ChosenGroups choose_groups(const Workload& workload, const HardwareConfig& hardware, const Plan& alone) {
  GroupSpace space(workload, hardware, alone);
  ChosenGroups chosen;
  const auto add = [&](std::vector<ChosenGroup> groups) {
    if (!groups.empty()) chosen.ways.push_back(std::move(groups));
  };
  if (hardware.fusion.planner == FusionPlanner::kOptimal) add(optimal_groups(space, chosen.visited));
  add(units_by_rules(space));
  return chosen;
}

}  // namespace tilebeat
