// Layers without a barrier between them (SPEC FU-9): what each of them did is its own, to the byte, as where
// barriers stand everywhere (UI-4); outputs are the reference's, both granularities agree (CY-3).
#include "../data/temporary_folder.h"
#include "barriers_everywhere.h"
#include "budget.h"
#include "checked_run.h"
#include "random_engine.h"
#include "random_network.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;

/// A layer's numbers that have nothing to do with time: bytes of DRAM and buses without instructions, which
/// are read ahead of the layers that they are of.
json own_numbers(const json& layer) {
  json numbers;
  for (const char* key : {"name", "macs", "beats", "lost_macs", "check"})
    if (layer.contains(key)) numbers[key] = layer.at(key);
  numbers["bytes"] = layer.at("bytes");
  numbers["bytes"]["dram"].erase("read"), numbers["bytes"]["bus"].erase("read");
  return numbers;
}

/// Bytes of instructions that a layer's DRAM reads contain.
std::int64_t fetched(const json& layer, const LayerPlan& plan) {
  return layer.at("bytes").at("dram").at("read").get<std::int64_t>() - plan.input_bytes - plan.kernel_bytes;
}

Cycle array_cycles(const json& layer) {
  Cycle sum = layer.at("beats").get<Cycle>();
  for (const auto& [cause, cycles] : layer.at("stall_cycles").items()) sum += cycles.get<Cycle>();
  return sum;
}

/// What differs between the layers of a run and of the same programs with barriers everywhere; empty:
/// nothing.
std::string difference(const Plan& plan, const SimulatedRun& run, const SimulatedRun& apart,
                       const HardwareConfig& hardware) {
  // Processors have read so much ahead at a layer's beginning and end, in either run, and one barrier more.
  const std::int64_t most = hardware.chip->processors() *
                            (std::int64_t{2} * hardware.host.instruction_buffer_bytes + kInstructionBytes);
  Cycle arrays = 0;
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const json &layer = run.layer(i), &alone = apart.layer(i);
    if (own_numbers(layer) != own_numbers(alone))
      return own_numbers(layer).dump() + "\n" + own_numbers(alone).dump();
    const std::int64_t programs = fetched(layer, plan.layers[i]), others = fetched(alone, plan.layers[i]);
    if (programs < 0 || std::abs(programs - others) > most)
      return fmt::format("layer {} fetched {} bytes of instructions, with barriers {}", plan.layers[i].name,
                         programs, others);
    arrays += array_cycles(layer);
  }
  if (arrays != run.cycles() * hardware.chip->cores())
    return fmt::format("arrays of {} cores were seen for {} cycles of {}", hardware.chip->cores(), arrays,
                       run.cycles());
  return "";
}

int overlaps(const Plan& plan) {
  return static_cast<int>(
      std::count_if(plan.layers.begin(), plan.layers.end(), [](const LayerPlan& l) { return l.overlaps; }));
}

class OverlappingLayersOn : public ::testing::TestWithParam<Engine> {
 protected:
  static HardwareConfig four_cores() {
    constexpr std::array<const char*, 4> kConfigs{"cluster4", "wfold_cluster4x4", "rolling_cluster4x4",
                                                  "offset_cluster4x4"};
    HardwareConfig hardware = load_hardware(std::string(TILEBEAT_SOURCE_DIR "/configs/") +
                                            kConfigs.at(static_cast<std::size_t>(GetParam())) + ".json");
    hardware.chip->clusters = 1;
    return hardware;
  }
  static SimulatedRun simulated(const HardwareConfig& hardware, const Plan& plan, Granularity granularity) {
    SimulationOptions options;
    options.granularity = granularity;
    return simulate_in_child(hardware, plan, options);
  }
};

// Cores that have little of one branch to do begin the next one meanwhile.
TEST_P(OverlappingLayersOn, FU_9_branches_take_fewer_cycles_and_keep_their_numbers) {
  const TemporaryFolder folder;
  const auto pool = [](const std::string& name, const std::string& input) {
    return R"({"name": ")" + name + R"(", "op": "max_pool", "inputs": [")" + input +
           R"("], "kernel": [2, 2]})";
  };
  const auto conv = [](const std::string& name, int channels) {
    return fmt::format(
        R"({{"name": "{}", "op": "conv2d", "inputs": ["x"], "kernel": [1, 1], "out_channels": {},
            "weights": {{"random": {{"seed": 3}}}}, "requant": {{"scale": 0.003}}}})",
        name, channels);
  };
  const Workload workload = load_workload(folder.write(
      "branches.json",
      R"({"name": "branches", "inputs": [{"name": "x", "shape": [1, 7, 7, 16], "random": {"seed": 1}}],
          "layers": [)" +
          conv("a", 64) + "," + pool("b", "x") + "," + pool("c", "x") + "," + pool("d", "a") +
          R"(], "outputs": ["a", "b", "c", "d"]})"));
  const HardwareConfig hardware = four_cores();
  const Plan plan = make_plan(workload, hardware);
  const Plan everywhere = with_barriers_everywhere(plan);
  EXPECT_TRUE(plan.layers.at(1).overlaps);
  EXPECT_FALSE(plan.layers.at(3).overlaps) << "d reads what a makes";
  EXPECT_EQ(barriers_of(plan) + overlaps(plan), 3);
  EXPECT_EQ(barriers_of(everywhere), 3);
  const SimulatedRun run = simulated(hardware, plan, Granularity::kTile);
  const SimulatedRun apart = simulated(hardware, everywhere, Granularity::kTile);
  EXPECT_THAT(run.failures, ::testing::IsEmpty());
  EXPECT_THAT(apart.failures, ::testing::IsEmpty());
  EXPECT_EQ(difference(plan, run, apart, hardware), "");
  EXPECT_LT(run.cycles(), apart.cycles());
  for (const auto& [name, tensor] : run_reference(workload))
    EXPECT_EQ(run.outputs.at(name).bytes, tensor.bytes) << name;
  const SimulatedRun clock = simulated(hardware, plan, Granularity::kClock);
  json tile_report = run.report, clock_report = clock.report;
  for (json* report : {&tile_report, &clock_report}) report->erase("granularity");
  EXPECT_EQ(tile_report, clock_report);
  EXPECT_EQ(clock.outputs.at("d").bytes, run.outputs.at("d").bytes);
}

// The first layer ends at a barrier, while instructions of the layers behind it are under way from DRAM.
TEST_P(OverlappingLayersOn, FU_9_UI_4_bytes_belong_to_the_layer_in_which_they_arrive) {
  const TemporaryFolder folder;
  const auto pool = [](const std::string& name, const std::string& input) {
    return R"({"name": ")" + name + R"(", "op": "max_pool", "inputs": [")" + input +
           R"("], "kernel": [2, 2]})";
  };
  const Workload workload = load_workload(folder.write(
      "pools.json",
      R"({"name": "pools", "inputs": [{"name": "x", "shape": [1, 11, 11, 64], "random": {"seed": 1}}],
          "layers": [)" +
          pool("a", "x") + "," + pool("b", "a") + "," + pool("c", "a") + R"(], "outputs": ["b", "c"]})"));
  HardwareConfig hardware = four_cores();
  hardware.host.instruction_buffer_bytes = 256, hardware.interconnect.response_cycles = 20;
  const Plan plan = make_plan(workload, hardware);
  ASSERT_FALSE(plan.layers.at(1).overlaps);
  ASSERT_TRUE(plan.layers.at(2).overlaps);
  const SimulatedRun run = simulated(hardware, plan, Granularity::kTile);
  // Over ports comes what is read from DRAM and, by copies and pools, from NRAM.
  for (const json& layer : run.report.at("layers")) {
    const auto read = [&bytes = layer.at("bytes")](const char* where) {
      return bytes.at(where).at("read").get<std::int64_t>();
    };
    EXPECT_EQ(read("bus"), read("dram") + read("nram")) << layer.at("name");
  }
}

TEST_P(OverlappingLayersOn, FU_9_of_random_networks_every_layer_keeps_its_numbers) {
  struct : Refusals {
    int overlapped = 0, several = 0;  // networks in which layers that compute overlap the ones before
  } tally;
  const auto enough = [&] { return tally.overlapped >= budget(10, 3) && tally.several > 0; };
  check_cases_until(enough, 40, [&] {
    const Workload workload = RandomNetwork(number(3, 7)).load();
    const HardwareConfig hardware = random_chip_with(GetParam(), {1, 4});
    const auto planned =
        plan_or_refusal(workload, hardware,
                        {"chip.", "NRAM", "switch_array.", "wfold.", "rolling.", "offset.", "dram."}, tally);
    if (!planned || overlaps(planned->plan) == 0 || !planned->plan.start_tables.empty()) return;
    const Plan& plan = planned->plan;
    const auto computing = std::count_if(plan.layers.begin(), plan.layers.end(), [](const LayerPlan& layer) {
      return layer.overlaps && layer.output_bytes > 0;
    });
    tally.overlapped += computing > 0 ? 1 : 0, tally.several += computing > 1 ? 1 : 0;
    const SimulatedRun run = simulated(hardware, plan, Granularity::kTile);
    const SimulatedRun apart = simulated(hardware, with_barriers_everywhere(plan), Granularity::kTile);
    RC_ASSERT(run.failures == std::vector<std::string>{});
    RC_ASSERT(apart.failures == std::vector<std::string>{});
    RC_ASSERT(difference(plan, run, apart, hardware) == "");
    check_outputs(workload, run_reference(workload), run, "tile");
    const SimulatedRun clock = simulated(hardware, plan, Granularity::kClock);
    json tile_report = run.report, clock_report = clock.report;
    for (json* report : {&tile_report, &clock_report}) report->erase("granularity");
    RC_ASSERT(tile_report == clock_report);
  });
  EXPECT_TRUE(enough()) << tally.overlapped << " networks overlap, " << tally.several << " several times";
}

INSTANTIATE_TEST_SUITE_P(Engines, OverlappingLayersOn, ::testing::ValuesIn(kEngines), engine_name);

}  // namespace
}  // namespace tilebeat::testing
