#include "planner/layer/choose_layer.h"

#include "base/types.h"
#include "isa/address_map.h"
#include "planner/layer/estimate.h"
#include "planner/layer/placement.h"
#include "planner/layer/weight_streams.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// A larger reduction group must also save this many cycles.
constexpr double kWorthATeamCycles = 200;
// Each processor without other work in the program must save this many more cycles: it has to be started, and
// fetches and waits at the barriers of all other layers.
constexpr double kWorthAProcessor = 150;

// In a workload of one layer of fewer cycles, one core may be faster than several: the start of the others,
// their instructions and their barriers take about as long as they save. In a network they work anyway.
// Estimates of several cores are too high by up to a sixth there, those of one are not.
constexpr double kShortForCores = 4000, kWorthOneCore = 0.87;

class LayerChooser {
 public:
  explicit LayerChooser(const LayerQuestion& question) : q_(question) {
    const std::int64_t macs = useful_macs(q_.workload, q_.layer);
    const BoundCycles bound = bound_of(q_.whole->problem(), q_.layer, macs, q_.hardware);
    least_ = static_cast<double>(bound.cycles());
  }

  ChosenLayer run() {
    look_at_whole();
    look_at_groups();
    if (!asked_reduction_group() || *asked_reduction_group() > 1) look_at_teams();
    if (best_) {
      refine();
      best_->reason += team_sizes();
      return std::move(*best_);
    }
    if (failure_.empty())
      throw UserError(
          fmt::format("mapping: kernels_per_block {} is not one of {}, the sizes that the engine "
                      "offers for layer '{}'",
                      *q_.request->kernels_per_block, offered_, q_.layer.name));
    throw UserError(failure_);
  }

 private:
  std::optional<int> asked_reduction_group() const {
    return q_.request == nullptr ? std::nullopt : q_.request->reduction_parts;
  }

  std::optional<int> asked_groups() const {
    return q_.request == nullptr ? std::nullopt : q_.request->group_parts;
  }

  void look_at_whole() {
    std::vector<std::shared_ptr<MatrixLayer>> sizes{q_.whole};
    for (auto& size : q_.whole->other_block_sizes()) sizes.push_back(std::move(size));
    const Grain grain = q_.whole->grain();
    for (const auto& size : sizes) {
      const Problem& p = size->problem();
      const std::int64_t images = p.sets > 1 ? p.batch : 1;
      parts_ = std::max(parts_, images * ceil_div(p.out_height, grain.rows) *
                                    ceil_div(p.out_width, grain.columns) * p.kernel_blocks());
      if (asked_reduction_group().value_or(1) > 1 || asked_groups().value_or(1) > 1) continue;
      attempt([&] { look_at(whole_layer(size, q_.places, q_.hardware), kClearlyFaster, 0); },
              p.block_kernels);
    }
  }

  // Cores with convolution groups of their own load no other channels, and share no halo rows with
  // neighbours.
  void look_at_groups() {
    if (asked_reduction_group().value_or(1) > 1) return;
    const int most = asked_groups().value_or(most_group_parts(*q_.whole, *q_.hardware.chip));
    int in_vain = 0;  // the last few
    for (int parts = asked_groups().value_or(2); parts > 1 && parts <= most && in_vain < 2; parts *= 2) {
      const double before = cycles_;
      look_at_shares(ShardCut::kGroups, parts, kClearlyFaster, 0);
      in_vain = cycles_ == before ? in_vain + 1 : 0;
    }
  }

  // Tries reduction groups where the outputs give too few cores work and there is enough work for more, and
  // where the layer does not fit otherwise.
  void look_at_teams() {
    const ChipConfig& chip = *q_.hardware.chip;
    if (asked_reduction_group()) return look_at_team(*asked_reduction_group());
    if (asked_groups().value_or(1) > 1) return;
    if (!best_ && q_.request != nullptr) return;
    const int largest = largest_reduction_group(*q_.whole, chip);
    for (int cores = 2; cores <= largest; cores *= 2) {
      if (best_ && (cycles_ < 2 * kWorthATeamCycles || parts_ * cores > chip.cores())) return;
      look_at_team(cores);
    }
  }
  void look_at_team(int cores) {
    look_at_shares(ShardCut::kChannels, cores, kWorthAReductionGroup, kWorthATeamCycles);
  }
  void look_at_shares(ShardCut cut, int parts, double faster, double fewer) {
    attempt(
        [&] {
          for (ShardedLayer& layer :
               sharded_layers(q_.workload, q_.layer, q_.engine_hardware, *q_.whole, cut, parts, q_.places)) {
            const int kernels = layer.problem.block_kernels;
            attempt([&] { look_at(std::move(layer), faster, fewer); }, kernels);
          }
        },
        std::nullopt);
  }

  // Runs `look`, unless kernel blocks of another size are requested. Remembers the error when it is
  // impossible.
  template <class Look>
  void attempt(const Look& look, std::optional<int> block_kernels) {
    if (block_kernels) {
      offered_ += fmt::format("{}{}", offered_.empty() ? "" : ", ", *block_kernels);
      if (q_.request != nullptr && q_.request->kernels_per_block.value_or(*block_kernels) != *block_kernels)
        return;
    }
    try {
      look();
    } catch (const UserError& error) {
      if (failure_.empty()) failure_ = error.what();
    }
  }

  // Takes the layer if it is faster than `faster` times the best so far and saves `fewer` cycles.
  void look_at(ShardedLayer layer, double faster, double fewer) {
    if (best_ && !q_.trial && faster * cycles_ <= least_) return;
    MappingQuestion question = question_of(layer);
    if (best_ && !q_.trial)
      question.most_cycles = std::max(cycles_ / kClearlyFaster, cycles_ + kClearlyFewer);
    const ChosenMapping chosen = choose_mapping(question, q_.trial);
    if (std::isinf(chosen.cycles)) return;
    const auto [fastest, first] = of_reduction_groups_.try_emplace(layer.cores(), chosen.cycles);
    if (!first) fastest->second = std::min(fastest->second, chosen.cycles);
    if (layer.adds_sums() && best_ && best_->layer.adds_sums()) faster = kClearlyFaster, fewer = 0;
    if (layer.adds_sums() && best_) fewer += kWorthAProcessor * more_processors(chosen.mapping);
    if (best_ && (chosen.cycles >= faster * cycles_ || chosen.cycles + fewer > cycles_)) return;
    best_ = ChosenLayer{std::move(layer), chosen.mapping, chosen.reason};
    cycles_ = chosen.cycles, simulated_ = chosen.simulated;
  }

  MappingQuestion question_of(const ShardedLayer& layer) const {
    return {layer,
            q_.hardware,
            q_.output,
            q_.first_of_program,
            q_.kernels_loaded,
            q_.request,
            std::numeric_limits<double>::infinity(),
            q_.one_core,
            std::max(least_, kernel_cycles(layer))};
  }
  // Cycles that the kernels of one core take at least: all of them come through the port of one DMA engine.
  double kernel_cycles(const ShardedLayer& layer) const {
    if (q_.hardware.chip->cores() > 1 || q_.kernels_loaded || layer.problem.kernel_tensor) return 0;
    std::int64_t bytes = 0;
    for (const Shard& shard : layer.shards)
      bytes += least_kernel_bytes(shard) + shard.weights.layout.records_apart();
    return ratio_of(bytes, q_.hardware.interconnect.bytes_per_clock);
  }

  // Changes single fields of the best mapping.
  void refine() {
    if (!q_.refines) return;
    if (q_.trial) return simulate_own();
    if (best_->mapping.cores() > 1) {
      const bool alone = q_.workload.layers.size() == 1;
      if (alone && q_.request == nullptr && cycles_ < kShortForCores) look_at_one_core();
      return;
    }
    // A layer alone has no other one whose barriers would have more processors.
    const double each = q_.workload.layers.size() > 1 ? kWorthAProcessor : 0;
    const ChosenMapping chosen = refined(question_of(best_->layer), {best_->mapping, best_->reason, cycles_},
                                         [&](const LayerMapping& m) { return each * more_processors(m); });
    best_->mapping = chosen.mapping, best_->reason = chosen.reason, cycles_ = chosen.cycles;
  }
  // Takes the best mapping of one core, whose single fields are changed, if it is clearly faster.
  void look_at_one_core() {
    MappingRequest one;
    one.layer = q_.layer.name;
    one.row_parts = one.column_parts = one.kernel_parts = one.group_parts = one.image_parts =
        one.reduction_parts = 1;
    LayerQuestion question = q_;
    question.request = &one, question.one_core = true;
    LayerChooser alone(question);
    try {
      ChosenLayer chosen = alone.run();
      if (alone.cycles_ > kWorthOneCore * cycles_) return;
      best_ = std::move(chosen), cycles_ = alone.cycles_, of_reduction_groups_.clear();
    } catch (const UserError&) {
      return;  // it does not fit one core
    }
  }
  // Takes what the planner would choose by estimates alone, if it is faster in simulation, or nothing could
  // be simulated.
  void simulate_own() {
    LayerQuestion question = q_;
    question.trial = {};
    ChosenLayer own = LayerChooser(question).run();
    if (own.mapping.cores() > 1) return;  // it was among those that were tried
    const std::optional<Cycle> cycles = q_.trial(own.mapping);
    const bool faster = cycles && static_cast<double>(*cycles) < cycles_;
    if (simulated_ && !faster) return;
    best_ = std::move(own), of_reduction_groups_.clear();
    if (!cycles) return;
    cycles_ = static_cast<double>(*cycles);
    best_->reason += fmt::format("; simulated, it took {} cycles by itself", *cycles);
  }

  // The estimates of all sizes of reduction groups that were compared; empty for fewer than two.
  std::string team_sizes() const {
    if (of_reduction_groups_.size() < 2) return "";
    std::string text;
    for (const auto& [cores, cycles] : of_reduction_groups_)
      text += fmt::format("{} {} at {:.0f}", text.empty() ? "; reduction groups of" : ",", cores, cycles);
    return text;
  }

  // Processors that only this mapping starts.
  int more_processors(const LayerMapping& mapping) const {
    const ChipConfig& chip = *q_.hardware.chip;
    std::set<int> known = q_.workers;
    for (const int processor : processors_of(chip, best_->mapping)) known.insert(processor);
    int more = 0;
    for (const int processor : processors_of(chip, mapping)) more += known.count(processor) == 0 ? 1 : 0;
    return more;
  }

  const LayerQuestion& q_;
  std::optional<ChosenLayer> best_;
  double cycles_ = 0;                          // of `best_`
  double least_ = 0;                           // that every mapping takes
  bool simulated_ = false;                     // whether they come from a simulation
  std::map<int, double> of_reduction_groups_;  // estimated cycles, by cores of a reduction group
  std::int64_t parts_ = 0;                     // parts of the outputs that cores can compute independently
  std::string failure_, offered_;
};

}  // namespace

ChosenLayer choose_layer(const LayerQuestion& question) {
  return LayerChooser(question).run();
}

std::vector<int> sizes_of(const Workload& workload, const Layer& layer, const Problem& problem) {
  const auto& conv = std::get<Conv2d>(layer.operation);
  std::vector<int> sizes{to_int(conv.form),         conv.groups,
                         conv.weight_zero_point,    to_int(layer.output.dtype),
                         problem.of_halves ? 1 : 0, problem.has_post_parameters() ? 1 : 0};
  const auto add = [&](const auto& values) {
    for (const auto value : values) sizes.push_back(to_int(value));
  };
  add(conv.kernel), add(conv.stride), add(conv.dilation), add(conv.pads);
  add(workload.tensor(layer.inputs.front()).shape), add(layer.output.shape);
  if (const FourBits* form = conv.weights.four_bits())
    add(std::array<int, 2>{form->group, form->has_zero_points ? 1 : 0});
  return sizes;
}

namespace {

// What the mapping of a product of matrices depends on beyond sizes_of: which matrices and sets of kernels
// its images use, how these lie, and the memory controllers where they begin, which are busy first in
// products that are so short.
void add_sizes_of_product(const LayerQuestion& question, std::vector<int>& sizes) {
  const Problem& problem = question.whole->problem();
  if (problem.conv.pixels == PixelAxes::kMap && !problem.kernel_tensor) return;
  const auto controllers = to_unsigned(question.hardware.chip->memory_controllers);
  const std::uint64_t kernels = question.places.kernels.value_or(KernelTensorPlace{}).address;
  for (const std::uint64_t address : {question.places.input.address, question.output.address, kernels})
    sizes.push_back(to_int(to_signed(address / kControllerBytes % controllers)));
  sizes.insert(sizes.end(),
               {to_int(problem.conv.pixels), to_int(problem.conv.kernels), to_int(problem.map_order),
                problem.sets, problem.batch, problem.height, problem.width, problem.channels});
  for (const std::vector<int>& numbers : {problem.map_images, problem.kernel_sets}) {
    sizes.push_back(count_of(numbers));
    sizes.insert(sizes.end(), numbers.begin(), numbers.end());
  }
  if (!problem.kernel_tensor) return;
  sizes.push_back(to_int(problem.conv.product.b));
  for (const auto extent : problem.kernel_tensor->info.shape) sizes.push_back(to_int(extent));
}

}  // namespace

ChosenLayer LayersChosenBefore::choose(LayerQuestion question) {
  if (question.request != nullptr || question.trial) return choose_layer(question);
  std::vector<int> sizes = sizes_of(question.workload, question.layer, question.whole->problem());
  add_sizes_of_product(question, sizes);
  for (const bool is : {question.first_of_program, question.kernels_loaded, question.refines})
    sizes.push_back(is ? 1 : 0);
  sizes.insert(sizes.end(), question.workers.begin(), question.workers.end());
  const auto [known, first] = chosen_.try_emplace(std::move(sizes));
  Before& before = known->second;
  if (first) {
    ChosenLayer chosen = choose_layer(question);
    before = {request_of(chosen.mapping), chosen.reason, question.layer.name, chosen.cycles};
    before.request.weight_prefetch.reset(), before.request.weight_prefetch_during.reset();
    before.request.engine.reset();
    return chosen;
  }
  question.request = &before.request;
  ChosenLayer chosen = choose_layer(question);
  chosen.cycles = before.cycles;
  const bool same = before.layer == question.layer.name;
  chosen.reason = same ? before.reason : fmt::format("as for '{}': {}", before.layer, before.reason);
  return chosen;
}

std::string in_words(const LayerMapping& m, const ChipConfig& chip) {
  const auto path = [](DataPath p) { return nth(kDataPathNames, p); };
  const auto optional = [](const char* text, int parts) {
    return parts > 1 ? fmt::format(fmt::runtime(text), parts) : std::string();
  };
  const std::string of_each =
      m.cores_per_cluster > 0 ? fmt::format(", {} of each cluster", m.cores_per_cluster) : std::string();
  return fmt::format("{} of {} cores{}: {} x {} parts of the map, {} of the kernels{}{}{}; ", m.cores(),
                     chip.cores(), of_each, m.row_parts, m.column_parts, m.kernel_parts,
                     optional(", {} of the groups", m.group_parts),
                     optional(", {} of the images", m.image_parts),
                     optional(", {} of the channels", m.reduction_parts)) +
         fmt::format("tiles of {} x {} outputs in NRAM{}, {} kernel blocks a load{}; ", m.tile_rows,
                     m.tile_columns, m.map_strips ? " that share rows" : "", m.blocks_per_load,
                     optional(", channels in {} parts", m.channel_parts)) +
         fmt::format("maps {}, kernels {}, results {}", path(m.maps), path(m.kernels), path(m.results));
}

std::string in_words(const ShardedLayer& layer) {
  return fmt::format(
      "{} cores of a cluster each add up at most {} of {} channels; they exchange the int32 sums through its "
      "SRAM and their vector units add them{}",
      layer.cores(), layer.largest().layer->problem().channels, layer.problem.channels,
      layer.post_parameters != 0 ? " and make results of them" : "");
}

}  // namespace tilebeat
