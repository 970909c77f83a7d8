// Barriers stand between layers where a dependency needs one, and nowhere else (SPEC FU-9).
#include "../data/temporary_folder.h"
#include "config/hardware_config.h"
#include "isa/address_map.h"
#include "planner/program/barrier_placement.h"
#include "planner/program/planner.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat {
namespace {

// Tasks that copy, by processor; each writes the buffer that the next one reads where `chained`.
bool apart(const std::vector<std::tuple<int, std::uint64_t, std::uint64_t>>& copies, bool chained = false) {
  ChipConfig chip;
  chip.clusters = 2, chip.cores_per_cluster = 2;  // processors 0, 1, memory 2; 3, 4, memory 5
  TaskGraph graph;
  BufferId last = graph.add_buffer(BufferRole::kMap);
  for (const auto& [processor, from, to] : copies) {
    Copy copy;
    copy.source = from, copy.destination = to, copy.run_bytes = 4;
    Task task;
    task.processor = processor;
    task.instruction.operation = copy;
    const BufferId next = graph.add_buffer(BufferRole::kMap);
    if (chained) task.accesses = {{last, 0, AccessKind::kRead}, {next, 0, AccessKind::kWrite}};
    graph.add(std::move(task));
    last = next;
  }
  return works_apart(graph, dependencies_of(graph), chip);
}

TEST(BarrierNeeds, FU_9_a_core_works_apart_on_its_own_memories_and_DRAM) {
  const std::uint64_t own = nram_address(2);
  EXPECT_TRUE(apart({{3, 64, own}, {3, wram_address(2), 64}}));
  EXPECT_FALSE(apart({{3, 64, nram_address(3)}})) << "of its neighbour";
  EXPECT_FALSE(apart({{0, sram_address(0), nram_address(0)}})) << "the SRAM";
  EXPECT_FALSE(apart({{2, 0, 64}})) << "a memory core";
  EXPECT_TRUE(apart({{3, 64, own}, {3, own, 64}}, true));
  EXPECT_TRUE(apart({{0, 64, nram_address(0)}, {3, 64, own}}));
  EXPECT_FALSE(apart({{0, nram_address(0), 64}, {3, 64, own}}, true)) << "which waits for another core";
}

// Whether the next layer needs a barrier; then one stands there.
bool barrier_before(BarrierNeeds& borders, const BarrierNeeds::Next& next) {
  const bool needed = borders.needs_barrier(next);
  borders.add(next, needed);
  return needed;
}

TEST(BarrierNeeds, FU_9_a_barrier_stands_where_something_is_read_or_shared) {
  const Workload none;
  BarrierNeeds borders(none);
  EXPECT_FALSE(barrier_before(borders, {{"a"}, {"x"}, true})) << "the first layer";
  EXPECT_FALSE(barrier_before(borders, {{"b"}, {"x"}, true})) << "nothing of it is a's";
  EXPECT_TRUE(barrier_before(borders, {{"c"}, {"x", "a"}, true}));
  EXPECT_FALSE(barrier_before(borders, {{"d"}, {"b"}, true})) << "b is complete";
  EXPECT_TRUE(barrier_before(borders, {{"e"}, {"b"}, false})) << "e shares memories";
  EXPECT_TRUE(barrier_before(borders, {{"f"}, {"b"}, true})) << "as e does";
  EXPECT_FALSE(barrier_before(borders, {{"g"}, {"e"}, true}));
  borders.add({{"h"}, {"x"}, true}, true);  // behind a barrier that none needs
  EXPECT_FALSE(borders.needs_barrier({{"i"}, {"g"}, true})) << "g is complete";
  EXPECT_TRUE(borders.needs_barrier({{"i"}, {"h"}, true}));
}

TEST(BarrierNeeds, FU_9_another_shape_is_the_same_tensor) {
  Workload workload;
  for (const auto& [name, input] : {std::pair{"flat", "a"}, std::pair{"square", "flat"}}) {
    workload.layers.emplace_back();
    workload.layers.back().name = name, workload.layers.back().inputs = {input};
    workload.layers.back().operation = Reshape{};
  }
  BarrierNeeds borders(workload);
  barrier_before(borders, {{"a"}, {"x"}, true});
  EXPECT_TRUE(barrier_before(borders, {{"b"}, {"square"}, true}));
}

// Layers a to c on cores that load for themselves: a and b read the input, c what a makes.
TEST(BarrierNeeds, FU_9_branches_of_a_network_wait_for_what_they_read_alone) {
  const TemporaryFolder folder;
  const auto layer = [](const std::string& name, const std::string& input) {
    return R"({"name": ")" + name + R"(", "op": "matmul", "inputs": [")" + input +
           R"("], "out_features": 16, "weights": {"random": {"seed": )" + std::to_string(name.front()) +
           R"(}}, "requant": {"scale": 0.01}})";
  };
  const Workload workload = load_workload(folder.write(
      "branches.json",
      R"({"name": "branches", "inputs": [{"name": "x", "shape": [256, 16], "random": {"seed": 1}}],
          "layers": [)" +
          layer("a", "x") + "," + layer("b", "x") + "," + layer("c", "a") + R"(], "outputs": ["b", "c"]})"));
  HardwareConfig hardware;
  hardware.chip.emplace();
  hardware.chip->clusters = 1, hardware.chip->cores_per_cluster = 4;
  hardware.planner.weight_prefetch = false;
  NetworkMapping direct;
  for (const std::string name : {"a", "b", "c"}) {
    MappingRequest request;
    request.layer = name;
    request.maps = request.kernels = request.results = DataPath::kDirect;
    request.row_parts = 4, request.column_parts = request.kernel_parts = 1;
    direct.layers.push_back(request);
  }
  const Plan plan = plan_network(workload, hardware, direct).plan;
  ASSERT_EQ(plan.programs.size(), 4U);
  for (const ProgramImage& program : plan.programs) {
    std::vector<std::string> borders;
    for (const Instruction& instruction : program.instructions) {
      if (const auto* end = instruction.operation.get_if<LayerEnd>())
        borders.push_back("end " + plan.layers.at(end->layer).name);
      if (instruction.operation.is<Barrier>()) borders.emplace_back("barrier");
    }
    EXPECT_EQ(borders, (std::vector<std::string>{"end a", "end b", "barrier", "end c"}));
  }
}

}  // namespace
}  // namespace tilebeat
