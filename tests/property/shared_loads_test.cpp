// Maps and kernels that several cores need: written to all of them at a time, fetched once for all clusters
// and passed on by CDMAs. Random convolutions on random chips of every engine, with mappings that ask for it:
// outputs are the reference's, both granularities agree, DRAM moves what was planned (SPEC HI-3, HI-4, MA-1,
// CY-3).

#include "budget.h"
#include "checked_run.h"
#include "random_engine.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

struct SharedTally : Refusals {
  int maps = 0, kernels = 0;  // cases in which CDMAs passed them on
  int broadcasts = 0;         // of maps
  int strips = 0;             // of tiles that share rows; of these through memory cores
  int shared_strips = 0;
};

class SharedLoadsOn : public ::testing::TestWithParam<Engine> {
 protected:
  static HardwareConfig random_hardware() {
    HardwareConfig hardware = random_chip_with(GetParam(), {3, 4});
    ChipConfig& chip = *hardware.chip;
    chip.clusters = std::max(2, chip.clusters);
    chip.dram_path = DramPath::kAuto;
    chip.sram.size_bytes *= 4, chip.core.wram.size_bytes *= 4;
    return hardware;
  }
  static ConvShape random_shape() {
    ConvShape shape = random_layer({4, 4, 2, 4}, {600, 3, 2, 2, 2, 40});
    shape.groups = 1;
    return shape;
  }
  static NetworkMapping asked_of(const HardwareConfig& hardware) {
    const ChipConfig& chip = *hardware.chip;
    MappingRequest request;
    request.layer = "conv";
    request.reduction_parts = 1;
    const int kernels = number(1, std::min(6, chip.cores()));
    request.kernel_parts = kernels;
    request.row_parts = number(1, std::max(1, chip.cores() / kernels));
    request.column_parts = 1;
    request.maps = static_cast<DataPath>(number(0, 3)), request.kernels = static_cast<DataPath>(number(0, 3));
    if (one_in(3)) request.map_strips = true, request.tile_rows = number(1, 3);
    if (one_in(2)) request.maps = DataPath::kChain;
    if (one_in(2)) request.kernels = DataPath::kChain;
    return {"random", {request}};
  }

  static void check(const Workload& workload, const HardwareConfig& hardware, SharedTally& tally) {
    ++tally.cases;
    std::optional<PlannedNetwork> network;
    try {
      network = plan_network(workload, hardware, asked_of(hardware));
    } catch (const UserError& error) {
      RC_LOG() << error.what() << "\n";
      ++tally.refused;
      return;
    }
    const LayerMapping& m = network->mappings.front();
    RC_LOG() << mapping_text(network->mappings) << "\n";
    const SimulatedRun run = check_both_granularities(workload, hardware, network->plan, 60);
    check_planned_bytes(network->plan, run);
    std::int64_t passed = 0;
    for (const auto& counter : run.report.at("counters")) {
      const std::string module = counter.at("module");
      if (counter.at("name") == "written" && module.substr(0, 5) == "link.")
        passed += counter.at("value").get<std::int64_t>();
    }
    const bool chain = m.maps == DataPath::kChain || m.kernels == DataPath::kChain;
    RC_ASSERT(chain || passed == 0);
    tally.maps += passed > 0 && m.maps == DataPath::kChain ? 1 : 0;
    tally.kernels += passed > 0 && m.kernels == DataPath::kChain ? 1 : 0;
    tally.broadcasts += m.kernel_parts > 1 && broadcasts(m.maps) ? 1 : 0;
    tally.strips += m.map_strips ? 1 : 0;
    tally.shared_strips += m.map_strips && m.maps != DataPath::kDirect ? 1 : 0;
    check_any_order(hardware, network->plan, run);
  }
};

TEST_P(SharedLoadsOn, HI_3_HI_4_MA_1_CY_3_CY_4_random_convolutions_on_random_chips) {
  SharedTally tally;
  const auto enough = [&] {
    return tally.maps >= budget(10) && tally.kernels >= budget(10) && tally.broadcasts >= budget(20) &&
           tally.strips >= budget(8) && tally.shared_strips >= budget(3);
  };
  check_cases_until(enough, budget(120), [&] {
    const HardwareConfig hardware = random_hardware();
    const ConvShape shape = random_shape();
    RC_LOG() << to_text(shape) << "\n" << hardware_to_json(hardware).dump() << "\n";
    check_hardware(hardware, "random hardware");
    check(conv_workload(shape), hardware, tally);
  });
  EXPECT_GE(tally.maps, budget(10));
  EXPECT_GE(tally.kernels, budget(10));
  EXPECT_GE(tally.broadcasts, budget(20));
  EXPECT_GE(tally.strips, budget(8));
  EXPECT_GE(tally.shared_strips, budget(3));
}
INSTANTIATE_TEST_SUITE_P(Engines, SharedLoadsOn, ::testing::ValuesIn(kEngines), engine_name);

// ---- by hand ----

/// Kernels of 16 channels, 3x3, in blocks of 16, on two clusters of two cores.
struct TwoClusters {
  static constexpr std::int64_t kBlock = 16 * 9 * 16 + 16 * 16;  // with post-parameters
  static constexpr std::int64_t kMap = 32 * 16 * 16;
  Workload workload;
  HardwareConfig hardware;

  explicit TwoClusters(int blocks) {
    ConvShape shape;
    shape.height = 32, shape.width = 16, shape.channels = 16, shape.out_channels = 16 * blocks;
    shape.kernel = {3, 3};
    shape.bias = true;
    shape.requant =
        Requant{std::vector<double>(static_cast<std::size_t>(16 * blocks), 0.001), 3, DType::kInt8};
    workload = conv_workload(shape);
    ChipConfig& chip = hardware.chip.emplace();
    chip.clusters = 2, chip.cores_per_cluster = 2;
    check_hardware(hardware, "two clusters");
  }
  SimulatedRun run(DataPath maps, DataPath kernels, int rows, int kernel_parts) const {
    MappingRequest request;
    request.layer = "conv";
    request.row_parts = rows, request.column_parts = 1, request.kernel_parts = kernel_parts;
    request.tile_rows = 30;
    request.blocks_per_load = 1, request.kernel_buffers = 2;
    request.maps = maps, request.kernels = kernels, request.results = DataPath::kDirect;
    const Plan plan = plan_network(workload, hardware, {"by hand", {request}}).plan;
    SimulatedRun run = simulate_in_child(hardware, plan, {});
    EXPECT_EQ(run.failures, std::vector<std::string>{});
    EXPECT_EQ(run.outputs.at("conv").bytes, run_reference(workload).at("conv").bytes);
    return run;
  }
};

TEST(SharedLoads, HI_3_kernels_are_fetched_once_for_all_clusters) {
  const TwoClusters work(2);
  const SimulatedRun each = work.run(DataPath::kDirect, DataPath::kBroadcast, 4, 1);
  const SimulatedRun once = work.run(DataPath::kDirect, DataPath::kChain, 4, 1);
  for (const std::string memory : {"cluster0.memory", "cluster1.memory"}) {
    EXPECT_EQ(each.counter(memory + ".gdma", "written"), 2 * TwoClusters::kBlock);
    EXPECT_EQ(each.counter(memory + ".cdma", "written"), 0);
    EXPECT_EQ(once.counter(memory + ".gdma", "written"), TwoClusters::kBlock) << "one of the two loads";
    EXPECT_EQ(once.counter(memory + ".cdma", "written"), TwoClusters::kBlock);
    EXPECT_EQ(once.counter(memory + ".broadcast", "taken"), 2 * TwoClusters::kBlock);
    EXPECT_EQ(once.counter(memory + ".broadcast", "delivered"), 4 * TwoClusters::kBlock);
  }
}

TEST(SharedLoads, HI_3_a_map_is_written_to_all_cores_that_need_it_together) {
  const TwoClusters work(2);  // one core a block
  const SimulatedRun run = work.run(DataPath::kBroadcast, DataPath::kDirect, 1, 2);
  EXPECT_EQ(run.counter("cluster0.memory.gdma", "written"), TwoClusters::kMap);
  EXPECT_EQ(run.counter("cluster0.memory.broadcast", "taken"), TwoClusters::kMap);
  EXPECT_EQ(run.counter("cluster0.memory.broadcast", "delivered"), 2 * TwoClusters::kMap);
}

TEST(SharedLoads, HI_3_a_map_is_fetched_once_for_all_clusters) {
  const TwoClusters work(4);  // one core a block
  const SimulatedRun each = work.run(DataPath::kBroadcast, DataPath::kDirect, 1, 4);
  const SimulatedRun once = work.run(DataPath::kChain, DataPath::kDirect, 1, 4);
  const auto both = [](const SimulatedRun& run, const std::string& unit, const char* name) {
    return run.counter("cluster0.memory." + unit, name) + run.counter("cluster1.memory." + unit, name);
  };
  EXPECT_EQ(both(each, "gdma", "written"), 2 * TwoClusters::kMap);
  EXPECT_EQ(both(once, "gdma", "written"), TwoClusters::kMap);
  EXPECT_EQ(both(once, "cdma", "written"), TwoClusters::kMap);
  EXPECT_EQ(both(once, "broadcast", "delivered"), 4 * TwoClusters::kMap);
}

}  // namespace
}  // namespace tilebeat::testing
