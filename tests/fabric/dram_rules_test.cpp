// The rules of the JEDEC standards over the command log of random traffic on every preset (SPEC HI-6).
#include "fabric/dram_channel.h"
#include "jedec_rules.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace tilebeat {
namespace {

DramConfig random_config(DramPreset preset) {
  DramConfig config = dram_preset(preset);
  config.starvation_cap = *rc::gen::inRange(0, 6);
  config.queue_depth = *rc::gen::inRange(1, 33);
  config.tREFI_ps = *rc::gen::element<Picoseconds>(1200000, 2000000, 3900000);
  config.refresh = *rc::gen::arbitrary<bool>();
  config.ecc_bits = *rc::gen::element(0, 8);
  // One rule made much longer or nothing, so that it decides.
  Picoseconds* const rules[] = {&config.tRCD_ps, &config.tRP_ps,    &config.tCL_ps,    &config.tCWL_ps,
                                &config.tRAS_ps, &config.tCCD_ps,   &config.tCCD_L_ps, &config.tCCD_L_WR_ps,
                                &config.tRRD_ps, &config.tRRD_L_ps, &config.tFAW_ps,   &config.tWR_ps,
                                &config.tWTR_ps, &config.tWTR_L_ps, &config.tRTP_ps};
  if (*rc::gen::arbitrary<bool>())
    *rules[*rc::gen::inRange<std::size_t>(0, std::size(rules))] =
        *rc::gen::element<Picoseconds>(0, 60000, 90000);
  return config;
}

class DramRules : public ::testing::TestWithParam<int> {};

void check_random_traffic(DramPreset preset) {
  const DramConfig config = random_config(preset);
  DramChannel channel(config, 0);
  testing::JedecRules rules(config);
  std::int64_t commands = 0;
  channel.listen([&](const DramCommand& command) {
    RC_ASSERT(rules.broken_by(command) == "");
    ++commands;
  });
  const auto total = static_cast<std::uint32_t>(*rc::gen::inRange(1, 150));
  const int rows = *rc::gen::inRange(1, 5);
  const int banks = *rc::gen::inRange(1, config.banks + 1);
  const Cycle longest_gap = *rc::gen::element<Cycle>(1, 20, 400, 20000);
  const int burst = config.burst_length * config.data_bits / 8;
  std::int64_t partial = 0;
  std::vector<int> overtakings(total);
  std::vector<bool> served(total);
  std::uint32_t entered = 0;
  std::uint32_t done = 0;
  Cycle next_arrival = 0;
  Cycle now = 0;
  while (done < total) {
    if (entered < total && next_arrival <= now && channel.has_room(-1)) {
      const int bank = *rc::gen::inRange(0, banks);
      const std::int64_t row = *rc::gen::inRange(0, rows);
      const bool write = *rc::gen::weightedElement<bool>({{3, false}, {2, true}});
      const auto bytes = static_cast<std::uint32_t>(*rc::gen::element(1, burst, burst));
      if (write && config.ecc_bits > 0 && static_cast<int>(bytes) < burst) ++partial;
      channel.enter({bank, row, write, entered++, 0, bytes}, now + 1);
      next_arrival = now + *rc::gen::inRange<Cycle>(0, longest_gap);
      continue;
    }
    const bool can_enter = entered < total && channel.has_room(-1);
    const Cycle next = std::min(channel.wake(), can_enter ? next_arrival : DramChannel::kNever);
    RC_ASSERT(next != DramChannel::kNever);
    now = next;
    if (channel.wake() != now) continue;
    const auto result = channel.step(now);
    if (!result) continue;
    const std::uint32_t tag = result->burst.request;
    served[tag] = true;
    ++done;
    const auto oldest =
        static_cast<std::uint32_t>(std::find(served.begin(), served.end(), false) - served.begin());
    if (oldest < tag) RC_ASSERT(++overtakings[oldest] <= config.starvation_cap);
  }
  const Cycle end = now + 100000;
  channel.settle(end);
  const DramChannelStatistics& stats = channel.statistics();
  Cycle sum = 0;
  for (const Cycle part : stats.cycles) sum += part;
  RC_ASSERT(sum == end);
  RC_ASSERT(stats.row_hits + stats.row_misses + stats.row_conflicts == total);
  RC_ASSERT(stats.refreshes == rules.refreshes());
  RC_ASSERT(stats.partial_writes == partial);
  RC_ASSERT(stats.bus_bytes == (total + partial) * burst);
  RC_ASSERT(stats.cycles[static_cast<std::size_t>(Activity::kBusy)] == (total + partial) * rules.data());
  RC_ASSERT(commands >= total + partial);
}

TEST_P(DramRules, CY_6_HI_6_random_traffic_obeys_every_rule) {
  EXPECT_TRUE(rc::check([] { check_random_traffic(static_cast<DramPreset>(GetParam())); }));
}

INSTANTIATE_TEST_SUITE_P(Presets, DramRules, ::testing::Range(0, static_cast<int>(kDramPresetNames.size())),
                         [](const auto& test) {
                           return std::string(kDramPresetNames[static_cast<std::size_t>(test.param)]);
                         });

}  // namespace
}  // namespace tilebeat
