// Random layers and random networks on random chips: outputs against the reference operators, one granularity
// against the other, a refusal where something cannot fit (SPEC HI_1 to HI_5, CY_3).
#include "tilebeat/base/error.h"
#include "tilebeat/reference/reference.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "random_chip.h"
#include "random_network.h"
#include "simulated_run.h"

namespace tilebeat::testing {
namespace {

struct Tally {
  int cases = 0, refused = 0, shared = 0, cut = 0;
  int staged = 0, shared_maps = 0;  // layers with everything, with maps through the SRAM
};

/// A refusal names what is too small.
void check_refusal(const std::string& message) {
  RC_LOG() << message << "\n";
  RC_ASSERT(message.find("cannot fit") != std::string::npos);
  const bool named = message.find("chip.") != std::string::npos ||
                     message.find("switch_array.") != std::string::npos ||
                     message.find("dram.") != std::string::npos;
  RC_ASSERT(named);
}

/// What is forced to go one way does not go the other (SPEC HI-4).
void check_path(const ChipConfig& chip, const SimulatedRun& run) {
  std::int64_t direct = 0, staged = 0;
  for (const auto& counter : run.report.at("counters")) {
    const std::string module = counter.at("module"), name = counter.at("name");
    if (module.substr(0, 4) != "noc." || (name != "read" && name != "written")) continue;
    const auto value = counter.at("value").get<std::int64_t>();
    if (module.find(".iodma") != std::string::npos) direct += value;
    if (module.find(".gdma") != std::string::npos) staged += value;
  }
  RC_ASSERT(chip.dram_path != DramPath::kSram || direct == 0);
  RC_ASSERT(chip.dram_path != DramPath::kDirect || staged == 0);
}

void check_on_chip(const Workload& workload, const HardwareConfig& hardware, Tally& tally) {
  RC_LOG() << hardware_to_json(hardware).dump() << "\n";
  check_hardware(hardware, "random chip");
  ++tally.cases;
  Plan plan;
  try {
    plan = make_plan(workload, hardware);
  } catch (const UserError& error) {
    check_refusal(error.what());
    ++tally.refused;
    return;
  }
  for (const LayerPlan& layer : plan.layers) {
    tally.shared += layer.mapping.find("broadcast") != std::string::npos ? 1 : 0;
    tally.cut += layer.chunks > hardware.chip->cores() ? 1 : 0;
    tally.staged += hardware.chip->dram_path == DramPath::kSram ? 1 : 0;
    tally.shared_maps += layer.mapping.find("; maps through the SRAM") != std::string::npos ? 1 : 0;
  }
  SimulationOptions options;
  options.granularity = Granularity::kTile;
  const SimulatedRun tile = simulate_in_child(hardware, plan, options, 20);
  options.granularity = Granularity::kClock;
  const SimulatedRun clock = simulate_in_child(hardware, plan, options, 20);
  RC_ASSERT(tile.failures == std::vector<std::string>{});
  RC_ASSERT(clock.failures == std::vector<std::string>{});
  const auto expected = run_reference(workload);
  for (const std::string& name : workload.outputs) {
    const auto mismatch = first_mismatch(name, expected.at(name), tile.outputs.at(name));
    if (mismatch)
      RC_LOG() << name << ": " << mismatch->actual << " instead of " << mismatch->expected << "\n";
    RC_ASSERT(!mismatch.has_value());
    RC_ASSERT(clock.outputs.at(name).bytes == tile.outputs.at(name).bytes);
  }
  RC_ASSERT(tile.report_text == clock.report_text);
  check_path(*hardware.chip, tile);
}

TEST(ChipLayers, HI_1_HI_4_CY_3_random_convolutions_on_random_chips) {
  Tally tally;
  check_cases(200, [&] {
    const HardwareConfig hardware = random_chip();
    const ConvShape shape = random_layer(spec_array(hardware), {1500, 5, 3, 3, 4, 50});
    RC_LOG() << to_text(shape) << "\n";
    check_on_chip(conv_workload(shape), hardware, tally);
  });
  EXPECT_LE(tally.refused * 2, tally.cases) << "layers that cannot fit are the exception";
  EXPECT_GE(tally.shared, 10) << "layers whose kernels come through the SRAM";
  EXPECT_GE(tally.staged, 20) << "layers that the SRAM serves alone";
  EXPECT_GE(tally.shared_maps, 1) << "layers whose maps are fetched once for several cores";
  EXPECT_GE(tally.cut, 40) << "layers that are cut";
}

TEST(ChipNetworks, HI_2_HI_3_FU_7_random_networks_on_random_chips) {
  Tally tally;
  check_cases(100, [&] {
    const RandomNetwork network(number(1, 7));
    RC_LOG() << network.text() << "\n";
    check_on_chip(network.load(), random_chip(), tally);
  });
  EXPECT_LE(tally.refused * 2, tally.cases) << "networks that cannot fit are the exception";
}

TEST(ChipNetworks, HI_1_CY_3_the_same_bytes_on_every_chip_in_both_granularities) {
  check_cases(8, [] {
    const RandomNetwork network(number(1, 5));
    RC_LOG() << network.text() << "\n";
    const Workload workload = network.load();
    std::vector<HardwareConfig> chips(3);
    constexpr int kSizes[][2] = {{1, 1}, {1, 4}, {4, 4}};
    for (std::size_t i = 0; i < chips.size(); ++i) {
      ChipConfig& chip = chips[i].chip.emplace();
      chip.clusters = kSizes[i][0], chip.cores_per_cluster = kSizes[i][1];
      check_hardware(chips[i], "chip");
    }
    chips.push_back(random_chip());
    std::map<std::string, Tensor> first;
    for (const HardwareConfig& hardware : chips) {
      try {
        make_plan(workload, hardware);
      } catch (const PlanError&) {  // the random one may be too small
        continue;
      }
      for (const Granularity granularity : {Granularity::kTile, Granularity::kClock}) {
        const SimulatedRun run = simulate_in_child(workload, hardware, granularity);
        RC_ASSERT(run.failures == std::vector<std::string>{});
        if (first.empty()) first = run.outputs;
        for (const std::string& name : workload.outputs)
          RC_ASSERT(run.outputs.at(name).bytes == first.at(name).bytes);
      }
    }
  });
}

}  // namespace
}  // namespace tilebeat::testing
