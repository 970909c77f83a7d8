// What a fused unit takes of WRAM, which kernels of other layers keep clear of (SPEC FU-4, MA-1).
#include "tilebeat/config/hardware_config.h"
#include "tilebeat/isa/address_map.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../data/temporary_folder.h"
#include "fused_unit.h"

namespace tilebeat::testing {
namespace {

// Three kernel blocks: where clusters make rows for both of their cores, each of them has all three; else
// they share them.
Workload two_layers(int rows) {
  const std::string rest =
      R"("kernel": [1, 1], "stride": [1, 1], "pads": [0, 0, 0, 0], "weights": {"random": {"seed": 2}},
         "bias": {"random": {"seed": 3}}, "requant": {"scale": 0.002, "zero_point": 2, "dtype": "uint8"}})";
  const TemporaryFolder folder;
  return load_workload(
      folder.write("network.json", R"({"name": "two", "inputs": [{"name": "x", "shape": [1, )" +
                                       std::to_string(rows) +
                                       R"(, 1, 1], "dtype": "uint8", "random": {"seed": 1}}],
      "layers": [{"name": "wide", "op": "conv2d", "inputs": ["x"], "out_channels": 48, )" +
                                       rest +
                                       R"(, {"name": "narrow", "op": "conv2d", "inputs": ["wide"],
      "out_channels": 1, )" + rest + R"(], "outputs": ["narrow"]})"));
}

// By cluster: the end of what the tasks write into WRAM.
std::map<int, std::int64_t> written_to(const TaskGraph& graph, const ChipConfig& chip) {
  std::map<int, std::int64_t> ends;
  for (const Task& task : graph.tasks()) {
    const auto* copy = task.instruction.operation.get_if<Copy>();
    if (copy == nullptr || (copy->destination & kMulticast) == 0 || (copy->destination & kMulticastWram) == 0)
      continue;
    const auto begin = static_cast<std::int64_t>(copy->destination & kMulticastOffsetMask);
    const std::int64_t end = begin + copy->run_bytes +
                             std::int64_t{copy->inner_count - 1} * copy->destination_inner_stride +
                             std::int64_t{copy->outer_count - 1} * copy->destination_outer_stride;
    const int cluster = task.processor / (chip.cores_per_cluster + 1);
    ends[cluster] = std::max(ends[cluster], end);
  }
  return ends;
}

TEST(UnitWram, FU_4_MA_1_all_clusters_have_the_kernels_at_the_same_places) {
  HardwareConfig hardware;
  hardware.dram = dram_preset(hardware.dram.preset);
  hardware.chip.emplace();
  hardware.chip->cores_per_cluster = 2;
  for (const int clusters : {2, 3}) {
    hardware.chip->clusters = clusters;
    ASSERT_EQ(kernel_fetches(hardware, clusters), 1) << "CDMAs pass them on";
    std::set<std::int64_t> fetched;
    for (int rows = clusters; rows <= 7; ++rows) {
      const Workload workload = two_layers(rows);
      UnitRequest request;
      request.layers = {"wide", "narrow"}, request.clusters = clusters, request.step_rows = 1;
      request.holding = Holding::kWhole;
      FusedUnit unit(workload, hardware, request);
      UnitParts parts(workload, hardware);
      unit.place_for_trial(parts);
      TaskGraph graph;
      fetched.insert(unit.add_tasks(graph).bytes.kernels);
      const std::map<int, std::int64_t> ends = written_to(graph, *hardware.chip);
      ASSERT_EQ(ends.size(), static_cast<std::size_t>(clusters));
      const std::int64_t taken = unit.wram_of_loads().back();
      for (const auto& [cluster, end] : ends)
        EXPECT_EQ(end, taken) << rows << " rows on " << clusters << " clusters: cluster " << cluster;
    }
    EXPECT_EQ(fetched.size(), 1U) << "as many bytes, whether all clusters make as many rows or not";
  }
}

}  // namespace
}  // namespace tilebeat::testing
