// What a fusion group takes of WRAM, which kernels of other layers keep clear of (SPEC FU-4, MA-1).
#include "../data/temporary_folder.h"
#include "config/hardware_config.h"
#include "isa/address_map.h"
#include "planner/fusion/fusion_group.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

// Three kernel blocks: where clusters make rows for both of their cores, each of them has all three; else
// they share them.
Workload two_kernels(int rows, int kernels = 48) {
  const std::string rest =
      R"("kernel": [1, 1], "stride": [1, 1], "pads": [0, 0, 0, 0], "weights": {"random": {"seed": 2}},
         "bias": {"random": {"seed": 3}}, "requant": {"scale": 0.002, "zero_point": 2, "dtype": "uint8"}})";
  const TemporaryFolder folder;
  return load_workload(
      folder.write("network.json", R"({"name": "two", "inputs": [{"name": "x", "shape": [1, )" +
                                       std::to_string(rows) +
                                       R"(, 1, 4], "dtype": "uint8", "random": {"seed": 1}}],
      "layers": [{"name": "wide", "op": "conv2d", "inputs": ["x"], "out_channels": )" +
                                       std::to_string(kernels) + ", " + rest +
                                       R"(, {"name": "narrow", "op": "conv2d", "inputs": ["wide"],
      "out_channels": 16, )" + rest + R"(], "outputs": ["narrow"]})"));
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
      const Workload workload = two_kernels(rows);
      GroupRequest request;
      request.layers = {"wide", "narrow"}, request.clusters = clusters, request.step_rows = 1;
      request.holding = Holding::kWhole;
      GroupTrials parts(workload, hardware);
      FusionGroup group(parts.index(), hardware, request);
      group.place_for_trial(parts);
      TaskGraph graph;
      fetched.insert(group.add_tasks(graph).bytes.kernels);
      const std::map<int, std::int64_t> ends = written_to(graph, *hardware.chip);
      ASSERT_EQ(ends.size(), static_cast<std::size_t>(clusters));
      const std::int64_t taken = group.wram_of_loads().back();
      for (const auto& [cluster, end] : ends)
        EXPECT_EQ(end, taken) << rows << " rows on " << clusters << " clusters: cluster " << cluster;
    }
    EXPECT_EQ(fetched.size(), 1U) << "as many bytes, whether all clusters make as many rows or not";
  }
}

// Kernels that come to WRAM in every step (SPEC FU-2: Cout of weights).
class StreamedKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    hardware_.dram = dram_preset(hardware_.dram.preset);
    hardware_.chip.emplace();
    hardware_.chip->clusters = 2, hardware_.chip->cores_per_cluster = 1;
    request_.layers = {"wide", "narrow"}, request_.clusters = 2, request_.step_rows = 1;
  }
  // The group's use, and where its tasks write in WRAM.
  PlannedUse add(GroupKernels kernels, TaskGraph& graph) {
    request_.kernels = kernels;
    GroupTrials parts(workload_, hardware_);
    FusionGroup group(parts.index(), hardware_, request_);
    group.place_for_trial(parts);
    const PlannedUse use = group.add_tasks(graph);
    EXPECT_EQ(use.wram, group.wram_bytes());
    for (const auto& [cluster, end] : written_to(graph, *hardware_.chip)) EXPECT_LE(end, use.wram) << cluster;
    return use;
  }
  PlannedUse use(GroupKernels kernels) {
    TaskGraph graph;
    return add(kernels, graph);
  }

  HardwareConfig hardware_;
  GroupRequest request_;
  Workload workload_ = two_kernels(6, 96);  // 3 rows of each cluster
  // 16 kernels of 96 channels, and their post-parameters.
  static constexpr std::int64_t kLargestBlock = 16 * 96 + 16 * 16;
};

TEST_F(StreamedKernels, FU_2_every_step_loads_them_once_for_all_clusters) {
  const std::int64_t once = use(GroupKernels::kResident).bytes.kernels;
  EXPECT_GT(once, 0);
  EXPECT_EQ(use(GroupKernels::kStreamed).bytes.kernels, 3 * once);
  request_.step_rows = 2;
  EXPECT_EQ(use(GroupKernels::kStreamed).bytes.kernels, 2 * once);
  request_.step_rows = 3;
  EXPECT_EQ(use(GroupKernels::kStreamed).bytes.kernels, once);
}

TEST_F(StreamedKernels, FU_2_FU_4_WRAM_has_room_for_two_kernel_blocks) {
  std::int64_t& wram = hardware_.chip->core.wram.size_bytes;
  const std::int64_t all = use(GroupKernels::kResident).wram;
  ASSERT_GT(all, 2 * kLargestBlock);
  wram = all - 1;
  EXPECT_THROW(use(GroupKernels::kResident), UserError);
  wram = 2 * kLargestBlock;
  EXPECT_EQ(use(GroupKernels::kStreamed).wram, wram);
  wram = 2 * kLargestBlock - 1;
  EXPECT_THROW(use(GroupKernels::kStreamed), UserError);
}

// Of one cluster; with two cores, rows enough for both let them have the same kernels.
TEST_F(StreamedKernels, FU_4_HI_4_kernels_of_a_single_core_come_straight_from_DRAM) {
  hardware_.chip->clusters = 1, request_.clusters = 1;
  for (const GroupKernels kernels : {GroupKernels::kResident, GroupKernels::kStreamed}) {
    for (const int cores : {1, 2}) {
      hardware_.chip->cores_per_cluster = cores;
      workload_ = two_kernels(48);
      request_.step_rows = 48;
      TaskGraph graph;
      const std::int64_t all = add(kernels, graph).bytes.kernels;
      std::int64_t straight = 0;
      for (const Task& task : graph.tasks()) {
        const auto* copy = task.instruction.operation.get_if<Copy>();
        if (copy == nullptr || copy->unit != Unit::kIodma || copy->source >= kDramEnd) continue;
        EXPECT_GE(copy->destination, wram_address(0));
        straight += std::int64_t{copy->run_bytes} * copy->inner_count * copy->outer_count;
      }
      EXPECT_EQ(straight, cores == 1 ? all : 0) << cores << " cores";
    }
  }
}

// Loads wait for the portion that lay in their slot, and for no other.
TEST_F(StreamedKernels, FU_2_FU_9_a_slot_is_free_when_its_portion_was_used) {
  hardware_.chip->core.wram.size_bytes = 2 * kLargestBlock;
  TaskGraph graph;
  add(GroupKernels::kStreamed, graph);
  // What takes kernels into the engine of cluster 0's core, by the slot whose loads wait for it.
  std::map<std::uint64_t, std::set<int>> waited;
  for (const Dependency& d : dependencies_of(graph)) {
    const Task& load = graph.tasks()[static_cast<std::size_t>(d.to)];
    const auto* copy = load.instruction.operation.get_if<Copy>();
    if (load.processor > 1 || copy == nullptr || (copy->destination & kMulticastWram) == 0) continue;
    std::set<int>& tasks = waited[(copy->destination & kMulticastOffsetMask) / kLargestBlock];
    if (graph.tasks()[static_cast<std::size_t>(d.from)].unit() == Unit::kParameter) tasks.insert(d.from);
  }
  ASSERT_EQ(waited.size(), 2U) << "two slots";
  for (const auto& [slot, tasks] : waited)
    EXPECT_GE(tasks.size(), 3U) << "those of " << slot << " in three steps";
  for (const int task : waited.at(0)) EXPECT_EQ(waited.at(1).count(task), 0U) << "nobody uses both slots";
}

}  // namespace
}  // namespace tilebeat::testing
