// What estimates of mappings keep from one to the next, and where they are given up: neither changes them
// (SPEC MA-3).
#include "planner/layer/estimate.h"

#include "planner/language/transfer.h"
#include "planner/layer/choose_layer.h"
#include "planner/layer/shards.h"
#include "planner/program/planner.h"
#include "random_cases.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

// A convolution on a chip, as the planner is asked to map it.
struct Asked {
  Workload workload;
  HardwareConfig hardware;
  bool kernels_loaded = false;

  ShardedLayer layer() const {
    const TensorInfo& map = workload.inputs.at("x");
    OperandPlaces places;
    places.input = TensorLayout::dense(0, map.shape[1], map.shape[2], map.shape[3]);
    return whole_layer(make_matrix_layer(workload, workload.layers.front(), hardware), places, hardware);
  }
  MappingQuestion question(const ShardedLayer& of) const {
    const TensorInfo& map = workload.layers.front().output;
    constexpr std::uint64_t kOutput = std::uint64_t{1} << 30;
    return {of, hardware,
            TensorLayout::dense(kOutput, map.shape[1], map.shape[2], map.shape[3] * dtype_size(map.dtype)),
            false, kernels_loaded};
  }
};

Asked some_layer() {
  ConvShape shape;
  shape.height = *rc::gen::inRange(4, 40), shape.width = *rc::gen::inRange(4, 40);
  shape.channels = *rc::gen::element(3, 16, 64), shape.out_channels = *rc::gen::element(16, 40, 128);
  shape.kernel = *rc::gen::element(std::array<int, 2>{1, 1}, std::array<int, 2>{3, 3});
  shape.pads = shape.kernel[0] == 3 ? std::array<int, 4>{1, 1, 1, 1} : std::array<int, 4>{};
  shape.bias = *rc::gen::arbitrary<bool>();
  Asked asked;
  asked.workload = conv_workload(shape);
  asked.hardware.dram = dram_preset(asked.hardware.dram.preset);
  ChipConfig& chip = asked.hardware.chip.emplace();
  chip.clusters = *rc::gen::element(1, 2), chip.cores_per_cluster = *rc::gen::element(1, 2, 4);
  asked.kernels_loaded = *rc::gen::arbitrary<bool>();
  return asked;
}

constexpr std::size_t kSome = 40;  // mappings of a layer that are estimated

// The cycles of a mapping that does not fit: none.
std::optional<double> cycles_of(const MappingQuestion& question, const LayerMapping& mapping,
                                TaskGraph& graph, double limit = std::numeric_limits<double>::infinity()) {
  try {
    return estimated_cycles(question, mapping, graph, limit);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

std::vector<LayerMapping> some_mappings(const MappingQuestion& question) {
  const std::vector<MappingCandidate> all = mapping_candidates(question);
  std::vector<LayerMapping> some;
  const std::size_t step = std::max<std::size_t>(1, all.size() / kSome);
  for (std::size_t i = 0; i < all.size(); i += step) some.push_back(all[i].mapping);
  return some;
}

TEST(Estimates, MA_3_a_mapping_is_estimated_as_if_it_were_the_first_one) {
  check_cases(12, [] {
    const Asked asked = some_layer();
    const ShardedLayer used = asked.layer();
    TaskGraph graph;
    for (const LayerMapping& mapping : some_mappings(asked.question(used))) {
      const auto cycles = cycles_of(asked.question(used), mapping, graph);
      const ShardedLayer fresh = asked.layer();
      TaskGraph own;
      RC_ASSERT(cycles == cycles_of(asked.question(fresh), mapping, own));
    }
  });
}

TEST(Estimates, MA_3_an_estimate_within_the_limit_is_not_given_up_and_one_beyond_it_is) {
  check_cases(12, [] {
    const Asked asked = some_layer();
    const ShardedLayer layer = asked.layer();
    const MappingQuestion question = asked.question(layer);
    TaskGraph graph;
    constexpr double kRounded = 1e-9;
    for (const LayerMapping& mapping : some_mappings(question)) {
      const auto cycles = cycles_of(question, mapping, graph);
      if (!cycles) continue;
      RC_ASSERT(cycles_of(question, mapping, graph, (1 + kRounded) * *cycles) == cycles);
      RC_ASSERT(cycles_of(question, mapping, graph, (1 - kRounded) * *cycles) ==
                std::numeric_limits<double>::infinity());
    }
  });
}

TEST(Estimates, MA_3_mappings_that_are_given_up_would_not_have_been_chosen) {
  // Where mappings are tried nearly all estimates are made. Trials that fail leave the choice to these.
  int differ = 0;
  check_cases(25, [&] {
    Asked asked = some_layer();
    const PlannedNetwork short_of = plan_network(asked.workload, asked.hardware);
    const auto& facts = short_of.plan.layers.front().facts;
    const bool as_on_fewer_cores =
        std::any_of(facts.begin(), facts.end(), [](const auto& fact) { return fact.first == "fewer cores"; });
    if (as_on_fewer_cores) return;  // another plan was chosen, not another mapping
    asked.hardware.planner.search = 1;
    const auto failing = [&](const Layer&, const LayerMapping&) -> std::optional<Cycle> {
      ++differ;
      return std::nullopt;
    };
    const PlannedNetwork all = plan_network(asked.workload, asked.hardware, {}, failing);
    RC_ASSERT(mapping_text(short_of.mappings, {}) == mapping_text(all.mappings, {}));
    RC_ASSERT(short_of.plan.layers.front().choices == all.plan.layers.front().choices);
  });
  EXPECT_GT(differ, 0) << "nothing was tried";
}

}  // namespace
}  // namespace tilebeat::testing
