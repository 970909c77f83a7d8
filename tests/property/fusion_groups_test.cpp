// Random networks of which random layers run as fusion groups, on random chips: the bytes of every output are
// the reference's, in both granularities, and DRAM moves what was planned (SPEC FU-1, FU-4, FU-5, FU-8).

#include "budget.h"
#include "checked_run.h"
#include "random_chip.h"
#include "random_network.h"
#include "random_offset.h"
#include "random_rolling.h"
#include "random_rows.h"
#include "random_wfold.h"
#include "reference/reference.h"
#include "tilebeat/error.h"
#include "tilebeat_command.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

// What is too small, in refusals.
const std::initializer_list<std::string_view> kCauses{"chip.",    "NRAM",    "switch_array.", "wfold.",
                                                      "rolling.", "offset.", "dram."};

// A chip with any engine.
HardwareConfig random_engines_chip() {
  constexpr int kClusters = 3, kCores = 4;
  switch (number(0, 4)) {
    case 0:
      return random_wfold_chip(kClusters, kCores);
    case 1:
      return random_rolling_chip(kClusters, kCores);
    case 2:
      return random_offset_chip(kClusters, kCores);
    default:
      return random_chip();
  }
}

// Whether a layer gives a tensor a shape whose rows are others.
bool keeps_rows(const Workload& workload, const Layer& layer) {
  if (!std::holds_alternative<Reshape>(layer.operation)) return true;
  const auto& in = workload.tensor(layer.inputs.front()).shape;
  return in == layer.output.shape || in.size() != 4 || layer.output.shape.size() != 4;
}

// Some convolutions and products of a group are cut along their channels: 2 to 4 cores share them.
void add_reductions(const Workload& workload, const ChipConfig& chip, GroupRequest& group) {
  const int most = std::min(4, group.cores.value_or(chip.cores_per_cluster));
  if (most < 2 || one_in(3)) return;
  for (const Layer& layer : workload.layers) {
    const bool inside = std::count(group.layers.begin(), group.layers.end(), layer.name) > 0;
    const auto* conv = std::get_if<Conv2d>(&layer.operation);
    if (inside && conv != nullptr && conv->groups == 1 && !one_in(4))
      group.reductions[layer.name] = one_in(2) ? 2 : number(2, most);
  }
}

// Of a message "... reductions: layer 'NAME' cannot ...": whether that one was left out.
bool drop_reduction(const std::string& message, GroupRequest& group) {
  for (auto reduction = group.reductions.begin(); reduction != group.reductions.end(); ++reduction) {
    const bool named = message.find("layer '" + reduction->first + "'") != std::string::npos;
    if (!named || message.find("reduction_parts") == std::string::npos) continue;
    group.reductions.erase(reduction);
    return true;
  }
  return false;
}

// Of a message "... holdings: 'NAME' cannot be held as nram ...": whether that tensor was held otherwise.
bool drop_pyramid(const std::string& message, GroupRequest& group) {
  const std::string before = "holdings: '";
  const std::size_t at = message.find(before), end = message.find("' cannot be held as nram");
  if (at == std::string::npos || end == std::string::npos) return false;
  const std::string tensor = message.substr(at + before.size(), end - at - before.size());
  return std::exchange(group.holdings[tensor], Holding::kRowBuffer) != Holding::kRowBuffer;
}

// Layers behind which nothing but `taken` reads, from a random last one backwards.
GroupRequest random_unit(const Workload& workload) {
  const auto does_something = [&](std::size_t i) {
    return !std::holds_alternative<Reshape>(workload.layers[i].operation);
  };
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < workload.layers.size(); ++i) {
    if (does_something(i)) ends.push_back(i);
  }
  GroupRequest group;
  std::set<std::size_t> taken;
  for (const std::size_t end : ends) {
    std::set<std::size_t> unit_of_end{end};
    for (std::size_t i = end; i-- > 0;) {
      const Layer& layer = workload.layers[i];
      bool inside = keeps_rows(workload, layer) && !one_in(30), feeds = false;
      for (std::size_t k = i + 1; k < workload.layers.size(); ++k) {
        if (!reads(workload.layers[k], layer.name)) continue;
        feeds = true;
        inside = inside && unit_of_end.count(k) > 0;
      }
      if (inside && feeds) unit_of_end.insert(i);
    }
    while (!does_something(*unit_of_end.begin())) unit_of_end.erase(unit_of_end.begin());
    if (unit_of_end.size() > taken.size() || one_in(20)) taken = unit_of_end;
  }
  if (taken.empty()) return group;
  for (const std::size_t i : taken) group.layers.push_back(workload.layers[i].name);
  if (one_in(2))
    group.step_rows = skewed(6);
  else if (one_in(2))
    group.step_rows = 1 << 16, group.step_maps = number(1, 3);
  if (one_in(2)) group.step_columns = skewed(10);
  if (one_in(2)) group.holding = one_in(3) ? Holding::kNram : static_cast<Holding>(number(0, 2));
  if (one_in(3)) group.kernels = GroupKernels::kStreamed;
  if (one_in(2)) group.results = one_in(2) ? DataPath::kSram : DataPath::kDirect;
  for (const std::size_t i : taken) {
    if (i != *taken.rbegin() && does_something(i) && one_in(3))
      group.holdings[workload.layers[i].name] = static_cast<Holding>(number(0, 3));
  }
  return group;
}

struct FusedTally : Refusals {
  int layers = 0, joins = 0, steps = 0, maps = 0, products = 0, names = 0;
  int strips = 0;    // groups that make some columns after the others
  int ahead = 0;     // groups some of whose kernels are loaded while an earlier layer runs
  int streamed = 0;  // groups whose kernels are loaded in every of several steps
  int sums = 0;      // layers of which several cores add up parts of the channels
  int pyramids = 0;  // groups with tensors that stay in the NRAM of the core that makes them
};

template <class Network>
void check_fused(const Network& network, HardwareConfig hardware, FusedTally& tally) {
  Workload workload = network.load();
  keep_last_outputs(workload);
  NetworkMapping asked;
  asked.file = "random";
  asked.groups = {random_unit(workload)};
  if (asked.groups.front().layers.empty()) return;
  if (hardware.chip && one_in(3)) asked.groups.front().cores = number(1, hardware.chip->cores_per_cluster);
  if (hardware.chip) add_reductions(workload, *hardware.chip, asked.groups.front());
  RC_LOG() << network.text() << "\n"
           << mapping_text({}, {{asked.groups.front().layers,
                                 1,
                                 asked.groups.front().cores.value_or(1),
                                 1,
                                 1,
                                 1,
                                 {},
                                 {},
                                 DataPath::kDirect,
                                 asked.groups.front().reductions,
                                 0,
                                 {}}})
           << "\n";
  RC_LOG() << hardware_to_json(hardware).dump() << "\n";
  check_hardware(hardware, "random hardware");
  ++tally.cases;
  if (!one_in(3)) asked.groups.front().weight_prefetch = number(1, 4);
  std::optional<PlannedNetwork> planned;
  while (!planned) {
    try {
      planned = plan_network(workload, hardware, asked);
    } catch (const UserError& error) {
      if (drop_reduction(error.what(), asked.groups.front())) continue;
      if (drop_pyramid(error.what(), asked.groups.front())) continue;
      if (asked.groups.front().weight_prefetch &&
          std::string(error.what()).find("weight_prefetch") != std::string::npos) {
        asked.groups.front().weight_prefetch.reset();
        continue;
      }
      check_refusal(error.what(), kCauses);
      ++tally.refused;
      return;
    }
  }
  const GroupMapping& group = planned->groups.front();
  RC_LOG() << mapping_text({}, {group}) << "\n";
  RC_ASSERT(group.weight_prefetch == asked.groups.front().weight_prefetch.value_or(group.weight_prefetch));
  RC_ASSERT(group.reductions == asked.groups.front().reductions);
  tally.ahead += group.weight_prefetch > 0 ? 1 : 0;
  tally.sums += static_cast<int>(group.reductions.size());
  tally.layers += static_cast<int>(group.layers.size());
  tally.steps += group.step_rows < 4 ? 1 : 0;
  tally.streamed += group.kernels == GroupKernels::kStreamed && group.step_rows < 4 ? 1 : 0;
  tally.pyramids += std::any_of(group.holdings.begin(), group.holdings.end(),
                                [](const auto& held) { return held.second == Holding::kNram; })
                        ? 1
                        : 0;
  const auto& output = workload.tensor(group.layers.back()).shape;
  tally.strips += output.size() == 4 && group.step_columns < output[2] ? 1 : 0;
  tally.maps += group.step_maps > 1 && workload.inputs.begin()->second.shape[0] > 1 ? 1 : 0;
  for (const Layer& layer : workload.layers) {
    const bool fused = std::count(group.layers.begin(), group.layers.end(), layer.name) > 0;
    tally.names += fused && std::holds_alternative<Reshape>(layer.operation) ? 1 : 0;
    const auto* conv = std::get_if<Conv2d>(&layer.operation);
    tally.products += fused && conv != nullptr && conv->pixels == PixelAxes::kRows ? 1 : 0;
    tally.joins +=
        fused && std::set<std::string>(layer.inputs.begin(), layer.inputs.end()).size() > 1 ? 1 : 0;
  }
  check_planned_bytes(planned->plan, check_both_granularities(workload, hardware, planned->plan, 20));
}

TEST(FusionGroups, FU_4_FU_5_FU_9_FU_11_random_units_on_random_chips_give_the_reference) {
  FusedTally tally;
  const auto enough = [&] {
    return tally.joins >= budget(10) && tally.steps >= budget(20) && tally.strips >= budget(20) &&
           tally.ahead >= budget(10) && tally.maps >= budget(5) && tally.streamed >= budget(10) &&
           tally.sums >= budget(10) && tally.pyramids >= budget(20);
  };
  check_cases_until(enough, budget(250, kFewest),
                    [&] { check_fused(RandomNetwork(number(3, 10)), random_engines_chip(), tally); });
  EXPECT_LE(tally.refused * 2, tally.cases) << "groups that cannot fit are the exception";
  EXPECT_GE(tally.layers, 2 * (tally.cases - tally.refused)) << "groups have several layers";
  EXPECT_GE(tally.joins, budget(10)) << "layers with two inputs";
  EXPECT_GE(tally.steps, budget(20)) << "groups in several steps";
  EXPECT_GE(tally.strips, budget(20)) << "groups in strips of columns";
  EXPECT_GE(tally.ahead, budget(10)) << "groups with weight prefetch";
  EXPECT_GE(tally.maps, budget(5)) << "groups that make several maps of a batch at a time";
  EXPECT_GE(tally.streamed, budget(10)) << "groups that load their kernels in every step";
  EXPECT_GE(tally.sums, budget(10)) << "layers whose channels several cores share";
  EXPECT_GE(tally.pyramids, budget(20)) << "groups with tensors that stay in NRAM";
}

TEST(FusionGroups, FU_1_FU_4_OP_3_random_units_of_products_give_the_reference) {
  FusedTally tally;
  const auto enough = [&] {
    return tally.products >= budget(60) && tally.names >= budget(10) && tally.steps >= budget(20);
  };
  check_cases_until(enough, budget(120, kFewest),
                    [&] { check_fused(RandomRows(number(3, 8)), random_engines_chip(), tally); });
  EXPECT_LE(tally.refused * 2, tally.cases) << "groups that cannot fit are the exception";
  EXPECT_GE(tally.products, budget(60)) << "products in groups";
  EXPECT_GE(tally.names, budget(10)) << "tensors with two shapes in one group";
  EXPECT_GE(tally.steps, budget(20)) << "groups in several steps";
}

struct ChosenTally : Refusals {
  int groups = 0, layers = 0;
};

Cycle cycles(const Plan& plan) {
  Cycle sum = 0;
  for (const LayerPlan& layer : plan.layers) sum += layer.estimated_cycles;
  return sum;
}

// What the planners fuse on a random chip: exact, and as planned no worse than layer by layer.
void check_chosen(HardwareConfig hardware, ChosenTally& tally) {
  const RandomNetwork network(number(3, 10));
  Workload workload = network.load();
  keep_last_outputs(workload);
  hardware.fusion.planner = static_cast<FusionPlanner>(number(0, 1));
  hardware.fusion.objective = static_cast<FusionObjective>(number(0, 1));
  hardware.fusion.direction = static_cast<FusionDirection>(number(0, 1));
  hardware.fusion.start = static_cast<StartRule>(number(0, 1));
  hardware.fusion.rules_off.clear();
  for (const int rule : {5, 6, 7, 8, 9, 11, 17, 18, 19}) {
    if (one_in(3) || rule == 6 || rule == 7) hardware.fusion.rules_off.push_back(rule);
  }
  hardware.fusion.most_maps = number(1, 4);
  RC_LOG() << network.text() << "\n";
  hardware.fused = true;
  const std::optional<PlannedNetwork> fused = plan_or_refusal(workload, hardware, kCauses, tally);
  if (!fused) return;
  tally.groups += static_cast<int>(fused->groups.size());
  for (const GroupMapping& group : fused->groups) tally.layers += static_cast<int>(group.layers.size());
  if (fused->groups.empty()) return;
  check_planned_bytes(fused->plan, check_both_granularities(workload, hardware, fused->plan, 20));
  hardware.fused = false;
  const auto bytes = [](const Plan& plan) {
    std::int64_t sum = 0;
    for (const LayerPlan& layer : plan.layers)
      sum += layer.input_bytes + layer.kernel_bytes + layer.output_bytes;
    return sum;
  };
  const Plan alone = plan_network(workload, hardware).plan;
  const bool optimal = hardware.fusion.planner == FusionPlanner::kOptimal;
  if (!optimal || hardware.fusion.objective == FusionObjective::kDramBytes)
    RC_ASSERT(bytes(fused->plan) <= bytes(alone));
  if (!optimal || hardware.fusion.objective == FusionObjective::kCycles)
    RC_ASSERT(cycles(fused->plan) <= cycles(alone));
}

TEST(FusionGroups, FU_3_FU_5_FU_8_planners_on_random_networks_and_chips) {
  ChosenTally tally;
  check_cases_until([&] { return tally.groups >= budget(30); }, budget(250, kFewest),
                    [&] { check_chosen(random_engines_chip(), tally); });
  EXPECT_LE(tally.refused * 2, tally.cases) << "networks that cannot fit are the exception";
  EXPECT_GE(tally.groups, budget(30)) << "groups are chosen";
  EXPECT_GE(tally.layers, 2 * tally.groups) << "of several layers each";
}

TEST(FusionGroups, FU_8_five_convolutions_and_two_poolings_of_VGG_16_move_953344_bytes_of_maps) {
  const Workload workload = load_workload(source_path("models/vgg16.json"));
  NetworkMapping asked;
  asked.groups = {{{"conv1_1", "conv1_2", "pool1", "conv2_1", "conv2_2", "pool2", "conv3_1"},
                   {},
                   {},
                   7,
                   {},
                   {},
                   Holding::kRowBuffer,
                   {}}};
  const Plan plan = plan_network(workload, load_hardware(source_path("configs/cluster4.json")), asked).plan;
  EXPECT_EQ(plan.layers.front().input_bytes, 150528);
  EXPECT_EQ(plan.layers.front().output_bytes, 802816);
}

}  // namespace
}  // namespace tilebeat::testing
