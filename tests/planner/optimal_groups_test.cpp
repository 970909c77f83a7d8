// The optimal planner against all choices, one by one, in its own cost model (SPEC FU-8, FU-13).
#include "../data/temporary_folder.h"
#include "budget.h"
#include "planner/fusion/choose_groups.h"
#include "random_cases.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using nlohmann::json;

/// A chain of two or three convolutions, or such a chain and the sum of its last map with the first one, over
/// a batch of at most `most_images` images, of `most_rows` rows at most.
json random_workload(int most_images, int most_rows) {
  const int channels = 16 * number(1, 3), height = number(4, most_rows), width = number(4, most_rows);
  const int images = number(1, most_images);
  json layers = json::array();
  std::string last = "x";
  const bool block = one_in(2);
  const int count = one_in(3) ? 3 : 2;
  for (int i = 0; i < count; ++i) {
    const std::string name = "c" + std::to_string(i);
    const int kernel = one_in(2) ? 3 : 1, pad = kernel / 2;
    layers.push_back({{"name", name},
                      {"op", "conv2d"},
                      {"inputs", {last}},
                      {"out_channels", channels},
                      {"kernel", {kernel, kernel}},
                      {"pads", {pad, pad, pad, pad}},
                      {"weights", {{"random", {{"seed", i + 2}}}}},
                      {"requant", {{"scale", 0.001}, {"zero_point", 0}, {"dtype", "int8"}}}});
    last = name;
  }
  if (block)
    layers.push_back({{"name", "sum"},
                      {"op", "add"},
                      {"inputs", {last, "x"}},
                      {"requant", {{"scale", 1}, {"zero_point", 0}, {"dtype", "int8"}}}});
  return {{"name", "net"},
          {"inputs",
           {{{"name", "x"},
             {"shape", {images, height, width, channels}},
             {"dtype", "int8"},
             {"random", {{"seed", 1}}}}}},
          {"layers", layers}};
}

/// Clusters of two cores, small enough that memories matter.
HardwareConfig random_hardware(int clusters) {
  HardwareConfig hardware;
  hardware.dram = dram_preset(hardware.dram.preset);
  ChipConfig& chip = hardware.chip.emplace();
  chip.clusters = clusters, chip.cores_per_cluster = 2;
  chip.sram.size_bytes = 1024 * std::vector<int>{32, 64, 256}[to_size(number(0, 2))];
  chip.cluster_bus.bytes_per_clock = 16 << number(0, 2);
  hardware.interconnect.bytes_per_clock = 4 << number(0, 3);
  hardware.fused = true;
  hardware.fusion.planner = FusionPlanner::kOptimal;
  return hardware;
}

double cost_of(GroupSpace& space, const GroupRequest& request) {
  const auto estimate = space.fused(request);
  return estimate ? estimate->careful : std::numeric_limits<double>::infinity();
}

/// All numbers of clusters with all rows of a step, and all numbers of whole maps.
std::vector<GroupRequest> steps_of(const GroupSpace& space, int begin, int end, const GroupTensor& output) {
  std::vector<GroupRequest> steps;
  GroupRequest request = space.request(begin, end);
  for (int clusters = 1; clusters <= space.hardware().chip->clusters; ++clusters) {
    request.clusters = clusters, request.step_maps = 1;
    const int share = ceil_div(output.images() * output.height(), clusters);
    for (int rows = 1; rows <= std::min(output.height(), share); ++rows) {
      request.step_rows = rows;
      steps.push_back(request);
    }
    for (int maps = 2; maps * output.height() <= share; ++maps) {
      request.step_maps = maps;
      steps.push_back(request);
    }
  }
  return steps;
}

/// The least cost of layers [begin, end) as a group, over all numbers of clusters, parts of the output that
/// are made in a step, holdings of every tensor, and ways of the results.
double least_of_group(GroupSpace& space, int begin, int end) {
  const GroupGraph graph = space.graph(begin, end);
  const GroupTensor& output = graph.tensors[to_size(graph.output())];
  std::vector<const GroupTensor*> held;
  for (const GroupTensor& tensor : graph.tensors) {
    if (tensor.name != output.name) held.push_back(&tensor);
  }
  std::int64_t forms = 1;
  for (std::size_t i = 0; i < held.size(); ++i) forms *= ssize(kHoldingNames);
  double least = std::numeric_limits<double>::infinity();
  for (GroupRequest request : steps_of(space, begin, end, output)) {
    for (std::int64_t form = 0; form < forms; ++form) {
      std::int64_t left = form;
      bool possible = true;
      for (const GroupTensor* tensor : held) {
        const auto holding = static_cast<Holding>(left % ssize(kHoldingNames));
        left /= ssize(kHoldingNames);
        possible = possible && (holding != Holding::kNram || tensor->producer >= 0);
        request.holdings[tensor->name] = holding;
      }
      for (const DataPath results : {DataPath::kDirect, DataPath::kSram}) {
        request.results = results;
        if (possible) least = std::min(least, cost_of(space, request));
      }
    }
  }
  return least;
}

/// Chains and blocks on `chip_clusters` clusters cost what the best of all choices costs, in `cases` cases.
void check_least(const std::vector<int>& chip_clusters, int most_images, int most_rows, int cases) {
  int networks = 0, fused = 0;
  check_cases(cases, [&] {
    const TemporaryFolder folder;
    const int clusters = chip_clusters[to_size(number(0, count_of(chip_clusters) - 1))];
    const std::string text = random_workload(most_images, most_rows).dump();
    const Workload workload = load_workload(folder.write("n.json", text));
    const HardwareConfig hardware = random_hardware(clusters);
    HardwareConfig unfused = hardware;
    unfused.fused = false;
    const Plan alone = make_plan(workload, unfused);
    GroupSpace space(workload, hardware, alone);
    std::vector<double> least{0};
    for (int end = 1; end <= space.layers(); ++end) {
      double best = least.back() + space.alone(end - 1, end).cycles;
      for (int begin = 0; begin + 2 <= end; ++begin) {
        if (space.is_unit(begin, end))
          best = std::min(best, least[to_size(begin)] + least_of_group(space, begin, end));
      }
      least.push_back(best);
    }
    int visited = 0, next = 0;
    double chosen = 0;
    for (const ChosenGroup& group : optimal_groups(space, visited)) {
      const auto number_of = [&](const std::string& name) {
        return to_int(std::find_if(workload.layers.begin(), workload.layers.end(),
                                   [&](const Layer& layer) { return layer.name == name; }) -
                      workload.layers.begin());
      };
      const int begin = number_of(group.request.layers.front());
      if (begin > next) chosen += space.alone(next, begin).cycles;
      chosen += cost_of(space, group.request);
      next = number_of(group.request.layers.back()) + 1;
      ++fused;
    }
    if (next < space.layers()) chosen += space.alone(next, space.layers()).cycles;
    RC_LOG() << text << "\n"
             << hardware_to_json(hardware).dump() << "\n"
             << chosen << " " << least.back() << "\n";
    ++networks;
    RC_ASSERT(chosen <= least.back() * 1.0001);
  });
  constexpr int kMany = 20;  // a few networks may all be faster layer by layer
  if (networks >= kMany) {
    EXPECT_GE(fused * 2, networks) << "groups are chosen";
  }
}

TEST(OptimalGroups, FU_13_random_chains_and_blocks_cost_what_the_best_of_all_choices_costs) {
  check_least({1}, 1, 12, budget(200, 5));
}

// A network has up to 10,000 choices of a group here, so there are few networks on a push: 200 at night.
int several_clusters() {
  return is_push() ? 4 : 50;
}

TEST(OptimalGroups, FU_13_on_two_clusters_the_best_of_all_choices_is_found) {
  check_least({2}, 1, 8, several_clusters());
}

TEST(OptimalGroups, FU_13_on_four_clusters_the_best_of_all_choices_is_found) {
  check_least({4}, 1, 8, several_clusters());
}

TEST(OptimalGroups, FU_13_for_batches_on_one_and_two_clusters_the_best_of_all_choices_is_found) {
  check_least({1, 2}, 3, 6, several_clusters());
}

TEST(OptimalGroups, FU_13_for_batches_on_four_clusters_the_best_of_all_choices_is_found) {
  check_least({4}, 3, 6, several_clusters());
}

}  // namespace
}  // namespace tilebeat::testing
