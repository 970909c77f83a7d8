// Traces of the memory system (SPEC UI-3, CY-2).
#include "fabric_chip.h"
#include "recording_trace.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using Changes = std::vector<std::pair<Picoseconds, std::uint64_t>>;

TEST(FabricTrace, UI_3_shows_requests_beats_and_commands) {
  RecordingTrace trace;
  const DramConfig config = dram_preset(DramPreset::kDdr4_2400);
  Chip chip(1, config, 1000, nullptr, false, {&trace});
  Access& access = chip.initiators[0]->read(10, 0x1000, 256);
  chip.run_until(500);
  const Picoseconds last = chip.context.clock.at(access.responded);
  EXPECT_EQ(trace.of("bus.p0.req"), (Changes{{10000, 1}, {11000, 0}}));
  EXPECT_EQ(trace.of("bus.p0.addr"), (Changes{{10000, 0x1000}}));
  EXPECT_EQ(trace.of("bus.p0.outstanding"), (Changes{{11000, 1}, {last, 0}}));
  EXPECT_EQ(trace.of("bus.p0.rbeat"),
            (Changes{{chip.context.clock.at(access.first_beat), 1}, {last + 1000, 0}}));
  ASSERT_EQ(chip.log.size(), 6U) << "ACT of two banks and four RD";
  Changes commands;
  for (const DramCommand& command : chip.log) {
    commands.emplace_back(command.cycle * config.clock_ps, static_cast<std::uint64_t>(command.kind));
    commands.emplace_back((command.cycle + 1) * config.clock_ps, 0);
  }
  EXPECT_EQ(trace.of("dram.ch0.cmd"), commands);
  EXPECT_EQ(trace.busy("dram.ch0.data", config.clock_ps), 4 * config.burst_length / 2);
}

TEST(FabricTrace, CY_2_beats_drawn_are_beats_counted) {
  RecordingTrace trace;
  const DramConfig config = dram_preset(DramPreset::kLpddr4_3200);
  Chip chip(2, config, 1000, nullptr, false, {&trace, nullptr});
  std::mt19937 random(3);
  for (std::size_t port = 0; port < 2; ++port) {
    Cycle at = 0;
    for (int i = 0; i < 200; ++i) {
      at += random() % (i % 50 == 0 ? 9000 : 10);
      const std::size_t bytes = random() % 300 + 1;
      if (random() % 2 == 0) {
        chip.initiators[port]->read(at, random() % 100000, bytes);
      } else {
        chip.initiators[port]->write(at, random() % 100000, std::vector<std::uint8_t>(bytes));
      }
    }
  }
  chip.run_until(100000);
  for (int port = 0; port < 2; ++port) {
    const BusPortStatistics& stats = chip.bus->statistics(PortId(port));
    const std::string scope = "bus." + stats.name;
    EXPECT_EQ(stats.read_bursts + stats.write_bursts, 200);
    EXPECT_EQ(trace.busy(scope + ".rbeat", 1000), cycles_of(stats.read_cycles, Activity::kBusy));
    EXPECT_EQ(trace.busy(scope + ".wbeat", 1000), cycles_of(stats.write_cycles, Activity::kBusy));
    EXPECT_EQ(trace.of(scope + ".outstanding").back().second, 0U);
    EXPECT_EQ(trace.of(scope + ".req").back().second, 0U);
  }
  for (int channel = 0; channel < 2; ++channel) {
    const std::string scope = "dram.ch" + std::to_string(channel);
    EXPECT_EQ(trace.busy(scope + ".data", config.clock_ps),
              cycles_of(chip.dram->statistics(channel).cycles, Activity::kBusy));
    EXPECT_EQ(trace.of(scope + ".queue").back().second, 0U);
  }
}

}  // namespace
}  // namespace tilebeat::testing
