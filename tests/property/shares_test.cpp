// Channels or groups split over cores, on every matrix engine: random products and convolutions whose mapping
// asks for it, outputs against the reference, everything of one granularity against the other, other orders
// of processes (SPEC MA_1, RO_6, OP_1, HI_3, NU_2, CY_3, CY_4).
#include "budget.h"
#include "checked_run.h"
#include "random_engine.h"
#include "random_product.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

enum class Cut { kChannels, kConvGroups };

struct ShareTally {
  int shared = 0;        // layers that are cut so
  int paths = 0;         // of these whose cores share maps or kernels
  int cut = 0, raw = 0;  // of these with parts of a core's channels, with int32 results
};

class SharesOn : public ::testing::TestWithParam<Engine> {
 protected:
  static HardwareConfig random_hardware() {
    HardwareConfig hardware = random_chip_with(GetParam(), {2, 5});
    ChipConfig& chip = *hardware.chip;
    chip.cores_per_cluster = std::max(2, chip.cores_per_cluster);
    MemoryConfig& nram = chip.core.nram;  // its banks stay: they may be those of WRAM
    const std::int64_t row = std::int64_t{nram.banks} * nram.bank_bytes;
    nram.size_bytes = row * std::max<std::int64_t>(1, 65536 / row);
    return hardware;
  }

  /// Every layer on matrix units in two shares or more.
  static NetworkMapping asked_of(const Workload& workload, const HardwareConfig& hardware, Cut cut) {
    NetworkMapping mapping{"random", {}};
    for (const Layer& layer : workload.layers) {
      if (!std::holds_alternative<Conv2d>(layer.operation)) continue;
      MappingRequest request;
      request.layer = layer.name;
      if (cut == Cut::kConvGroups) {
        request.group_parts = number(2, std::min(4, hardware.chip->cores()));
        if (one_in(3)) request.maps = DataPath::kBroadcast;
        if (one_in(3)) request.kernels = DataPath::kBroadcast;
      } else {
        request.reduction_parts = number(2, std::min(4, hardware.chip->cores_per_cluster));
      }
      if (one_in(4) && cut == Cut::kChannels)
        request.channel_parts = 2, request.blocks_per_load = 1;
      else if (one_in(3))
        request.tile_rows = number(1, 3);
      mapping.layers.push_back(request);
    }
    return mapping;
  }

  static void check(const Workload& workload, const HardwareConfig& hardware, Cut cut, ShareTally& tally) {
    RC_LOG() << hardware_to_json(hardware).dump() << "\n";
    check_hardware(hardware, "random hardware");
    NetworkMapping asked = asked_of(workload, hardware, cut);
    PlannedNetwork planned;
    for (bool refused = true; refused;) {  // without a layer that cannot be mapped so
      try {
        planned = plan_network(workload, hardware, asked);
        refused = false;
      } catch (const PlanError& error) {
        const std::string message = error.what();
        RC_LOG() << message << "\n";
        RC_ASSERT(message.find("cannot") != std::string::npos);
        const auto layer = std::find_if(asked.layers.begin(), asked.layers.end(),
                                        [&](const auto& r) { return r.layer == error.layer(); });
        if (layer == asked.layers.end() || !(layer->reduction_parts || layer->group_parts)) return;
        *layer = MappingRequest{};
        layer->layer = error.layer();
      }
    }
    RC_LOG() << mapping_text(planned.mappings) << "\n";
    for (std::size_t i = 0; i < planned.mappings.size(); ++i) {
      const LayerMapping& mapping = planned.mappings[i];
      RC_ASSERT(mapping.reduction_parts == asked.layers[i].reduction_parts.value_or(mapping.reduction_parts));
      RC_ASSERT(mapping.group_parts == asked.layers[i].group_parts.value_or(mapping.group_parts));
      if ((cut == Cut::kConvGroups ? mapping.group_parts : mapping.reduction_parts) == 1) continue;
      ++tally.shared;
      tally.paths += mapping.uses_memory_cores() ? 1 : 0;
      tally.cut += mapping.channel_parts > 1 ? 1 : 0;
      tally.raw += workload.tensor(mapping.layer).dtype == DType::kInt32 ? 1 : 0;
    }
    const SimulatedRun run = check_both_granularities(workload, hardware, planned.plan, 60);
    check_any_order(hardware, planned.plan, run);
  }
};

TEST_P(SharesOn, MA_1_OP_1_products) {
  ShareTally tally;
  const auto enough = [&] { return tally.shared >= budget(15) && tally.raw >= budget(2) && tally.cut >= 1; };
  check_cases_until(enough, budget(30, 15), [&] {
    const RandomProducts products({20, 500, 30, 3});
    RC_LOG() << products.text() << "\n";
    HardwareConfig hardware = random_hardware();
    MemoryConfig& wram = hardware.chip->core.wram;
    const std::int64_t row = std::int64_t{wram.banks} * wram.bank_bytes;
    if (one_in(2)) wram.size_bytes = row * std::max<std::int64_t>(1, 512 * number(2, 8) / row);
    check(products.load(), hardware, Cut::kChannels, tally);
  });
  EXPECT_GE(tally.shared, budget(15));
  EXPECT_GE(tally.raw, budget(2)) << "results are the sums";
  EXPECT_GE(tally.cut, 1) << "a core's channels are cut again";
}

TEST_P(SharesOn, MA_1_HI_3_convolutions) {
  ShareTally tally;
  check_cases_until([&] { return tally.shared >= budget(10); }, budget(30),
                    [&] {
                      const HardwareConfig hardware = random_hardware();
                      ConvShape shape = random_layer(spec_array(hardware), {1500, 5, 3, 3, 4, 120});
                      shape.groups = 1;
                      RC_LOG() << to_text(shape) << "\n";
                      check(conv_workload(shape), hardware, Cut::kChannels, tally);
                    });
  EXPECT_GE(tally.shared, budget(10));
}

TEST_P(SharesOn, MA_1_convolutions_with_groups) {
  ShareTally tally;
  check_cases_until([&] { return tally.shared >= budget(20) && tally.paths >= budget(3); }, budget(40),
                    [&] {
                      const HardwareConfig hardware = random_hardware();
                      ConvShape shape = random_layer(spec_array(hardware), {1500, 5, 3, 3, 4, 120});
                      shape.groups = number(2, one_in(2) ? 6 : 64);
                      const int channels = one_in(2) ? 1 : number(1, 4),
                                kernels = one_in(2) ? 1 : number(1, 5);
                      shape.channels = shape.groups * channels, shape.out_channels = shape.groups * kernels;
                      if (shape.requant && shape.requant->scale.size() > 1)
                        shape.requant->scale.resize(static_cast<std::size_t>(shape.out_channels), 0.01);
                      RC_LOG() << to_text(shape) << "\n";
                      check(conv_workload(shape), hardware, Cut::kConvGroups, tally);
                    });
  EXPECT_GE(tally.shared, budget(20));
  EXPECT_GE(tally.paths, budget(3)) << "cores share maps or kernels";
}

INSTANTIATE_TEST_SUITE_P(Engines, SharesOn, ::testing::ValuesIn(kEngines), engine_name);

}  // namespace
}  // namespace tilebeat::testing
