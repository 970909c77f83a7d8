// Kernels that are loaded while an earlier layer runs: random networks on random chips of every engine, whose
// mappings ask for it or leave it to the planner. Outputs are the reference's, both granularities agree, DRAM
// moves layer by layer what was planned (SPEC MA-1, MA-5, FU-4, CY-3).

#include "budget.h"
#include "checked_run.h"
#include "random_engine.h"
#include "random_network.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

struct AheadTally : Refusals {
  int ahead = 0, far = 0,
      several = 0;  // layers with loads ahead, not during the layer before, several of them
};

class WeightPrefetchOn : public ::testing::TestWithParam<Engine> {
 protected:
  static HardwareConfig random_hardware() { return random_chip_with(GetParam(), {2, 4}); }

  /// Loads of random layers, during random earlier ones.
  static NetworkMapping asked_of(const Workload& workload) {
    NetworkMapping asked{"random", {}};
    for (std::size_t i = 1; i < workload.layers.size(); ++i) {
      if (!std::holds_alternative<Conv2d>(workload.layers[i].operation) || one_in(4)) continue;
      MappingRequest request;
      request.layer = workload.layers[i].name;
      request.weight_prefetch = number(0, 3);
      if (one_in(2))
        request.weight_prefetch_during =
            workload.layers[i - static_cast<std::size_t>(number(1, std::min(4, static_cast<int>(i))))].name;
      if (!one_in(3))
        request.kernel_parts = 1, request.blocks_per_load = 1, request.kernel_buffers = number(2, 4);
      asked.layers.push_back(request);
    }
    return asked;
  }

  // Without what cannot be had.
  static std::optional<PlannedNetwork> planned(const Workload& workload, const HardwareConfig& hardware,
                                               NetworkMapping asked, AheadTally& tally) {
    ++tally.cases;
    while (true) {
      try {
        return plan_network(workload, hardware, asked);
      } catch (const PlanError& error) {
        const std::string message = error.what();
        RC_LOG() << message << "\n";
        const auto layer = std::find_if(asked.layers.begin(), asked.layers.end(),
                                        [&](const auto& r) { return r.layer == error.layer(); });
        if (layer == asked.layers.end()) {
          check_refusal(message,
                        {"chip.", "NRAM", "switch_array.", "wfold.", "rolling.", "offset.", "dram."});
          ++tally.refused;
          return std::nullopt;
        }
        if (layer->weight_prefetch.value_or(0) > 1 &&
            message.find("is not possible: there are") != std::string::npos)
          --*layer->weight_prefetch;
        else
          asked.layers.erase(layer);
      }
    }
  }

  static void check(const Workload& workload, const HardwareConfig& hardware, AheadTally& tally) {
    const auto network = planned(workload, hardware, asked_of(workload), tally);
    if (!network) return;
    RC_LOG() << mapping_text(network->mappings) << "\n";
    for (const LayerMapping& m : network->mappings) {
      if (m.weight_prefetch == 0) continue;
      ++tally.ahead, tally.several += m.weight_prefetch > 1 ? 1 : 0;
      const auto number_of = [&](const std::string& name) {
        return std::find_if(workload.layers.begin(), workload.layers.end(),
                            [&](const Layer& l) { return l.name == name; }) -
               workload.layers.begin();
      };
      RC_ASSERT(number_of(m.weight_prefetch_during) < number_of(m.layer));
      tally.far += number_of(m.weight_prefetch_during) + 1 < number_of(m.layer) ? 1 : 0;
    }
    const SimulatedRun run = check_both_granularities(workload, hardware, network->plan, 60);
    std::int64_t ahead = 0, before = 0;
    for (std::size_t i = 0; i < network->plan.layers.size(); ++i) {
      const LayerPlan& layer = network->plan.layers[i];
      ahead += layer.bytes_ahead, before += layer.bytes_before;
      // Bytes of programs come on top of reads.
      const auto& moved = run.report.at("layers").at(i).at("bytes").at("dram");
      RC_ASSERT(moved.at("read").get<std::int64_t>() >= layer.input_bytes + layer.kernel_bytes);
      RC_ASSERT(moved.at("write").get<std::int64_t>() == layer.output_bytes);
    }
    RC_ASSERT(ahead == before);
    check_planned_bytes(network->plan, run);
    check_any_order(hardware, network->plan, run);
  }
};

TEST_P(WeightPrefetchOn, MA_1_FU_4_CY_3_CY_4_random_networks_on_random_chips) {
  AheadTally tally;
  const auto enough = [&] {
    return tally.ahead >= budget(40) && tally.far >= budget(8) && tally.several >= budget(5);
  };
  check_cases_until(enough, budget(30, 12), [&] {
    const HardwareConfig hardware = random_hardware();
    const RandomNetwork network(number(3, 8));
    RC_LOG() << network.text() << "\n" << hardware_to_json(hardware).dump() << "\n";
    check_hardware(hardware, "random hardware");
    check(network.load(), hardware, tally);
  });
  EXPECT_LE(tally.refused * 2, tally.cases) << "networks that cannot fit are the exception";
  EXPECT_GE(tally.ahead, budget(40));
  EXPECT_GE(tally.far, budget(8)) << "not during the layer before";
  EXPECT_GE(tally.several, budget(5)) << "several loads";
}

INSTANTIATE_TEST_SUITE_P(Engines, WeightPrefetchOn, ::testing::ValuesIn(kEngines), engine_name);

}  // namespace
}  // namespace tilebeat::testing
