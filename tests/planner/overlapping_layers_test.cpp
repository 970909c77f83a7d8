// When a layer begins without a barrier (SPEC FU-9): where that is expected to take fewer cycles.
#include "planner/program/barrier_placement.h"
#include "small_graph.h"

#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

/// A layer of one task a processor, of so many cycles each.
TaskGraph layer_of(const std::vector<double>& cycles) {
  TaskGraph graph;
  for (std::size_t processor = 0; processor < cycles.size(); ++processor) {
    Task task;
    task.processor = static_cast<int>(processor);
    task.instruction.operation = tagged_operation(Unit::kMatrix, 1);
    task.cost.cycles = cycles[processor];
    graph.add(std::move(task));
  }
  return graph;
}

struct Opened {
  OverlappingLayers layers;
  bool add(const TaskGraph& graph, double barrier, double cycles) {
    return layers.add_if_faster(graph, dependencies_of(graph), barrier, cycles);
  }
};
Opened opened(const TaskGraph& graph, const Machine& machine = {}) {
  Opened made;
  made.layers.begin(graph, dependencies_of(graph), machine,
                    schedule(graph, dependencies_of(graph), machine).cycles);
  return made;
}

TEST(OverlappingLayers, FU_9_a_core_that_has_less_to_do_begins_the_next_layer) {
  Opened open = opened(layer_of({1000, 400}));
  EXPECT_TRUE(open.add(layer_of({400, 1000}), 0, 1000)) << "1400 cycles together, 2000 apart";
  EXPECT_FALSE(open.add(layer_of({100, 700}), 0, 700)) << "both cores end the second one at 1400";
}

TEST(OverlappingLayers, FU_9_a_barrier_stays_where_nothing_is_gained) {
  Opened open = opened(layer_of({1000, 1000}));
  EXPECT_FALSE(open.add(layer_of({1000, 400}), 0, 1000));
  EXPECT_FALSE(open.add(layer_of({1000, 400}), 20, 1000)) << "2000 of 2020 cycles: not clearly less";
  EXPECT_TRUE(open.add(layer_of({1000, 400}), 30, 1000));
}

TEST(OverlappingLayers, FU_9_cores_that_run_ahead_take_DRAM_from_those_behind) {
  Machine machine;
  machine.dram_bytes_per_clock = 10;
  const auto loads = [](const std::vector<double>& bytes) {
    TaskGraph graph;
    for (std::size_t processor = 0; processor < bytes.size(); ++processor) {
      Task task;
      task.processor = static_cast<int>(processor);
      task.instruction.operation = tagged_operation(Unit::kIodma, 1);
      task.cost.dram_bytes = bytes[processor], task.cost.cycles = bytes[processor] / 10;
      graph.add(std::move(task));
    }
    return graph;
  };
  // DRAM is busy all the time, with a barrier and without one.
  Opened open = opened(loads({20000, 10000}), machine);
  EXPECT_FALSE(open.add(loads({10000, 20000}), 0, 3000));
}

}  // namespace
}  // namespace tilebeat::testing
