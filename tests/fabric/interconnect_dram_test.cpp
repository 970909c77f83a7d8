// Interconnect and DRAM together: masters that delay each other, determinism, cost (SPEC HI-6, HI-8, CY-4).
#include "fabric_chip.h"

#include <ctime>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

TEST(TwoMasters, HI_6_delay_each_other_command_by_command) {
  const DramConfig config = dram_preset(DramPreset::kDdr4_2400);
  Chip chip(2, config, 1000);
  const auto row_stride =
      static_cast<std::uint64_t>(config.row_bytes) * static_cast<std::uint64_t>(config.banks);
  Access& a = chip.initiators[0]->read(10, 0, 64);
  Access& b = chip.initiators[1]->read(10, row_stride, 64);  // the next row of the same bank
  chip.run_until(1000);

  const Picoseconds a_arrival = chip.context.clock.at(10 + chip.bus_config.request_cycles, Phase::kGrant);
  const Cycle a_activate = a_arrival / config.clock_ps + 1;
  const Cycle a_read = a_activate + chip.clocks(config.tRCD_ps);
  const Cycle b_precharge = a_activate + chip.clocks(config.tRAS_ps);
  const Cycle b_activate = b_precharge + chip.clocks(config.tRP_ps);
  const Cycle b_read = b_activate + chip.clocks(config.tRCD_ps);
  ASSERT_EQ(chip.log.size(), 5U);
  const std::vector<std::pair<DramCommandKind, Cycle>> expected{{DramCommandKind::kActivate, a_activate},
                                                                {DramCommandKind::kRead, a_read},
                                                                {DramCommandKind::kPrecharge, b_precharge},
                                                                {DramCommandKind::kActivate, b_activate},
                                                                {DramCommandKind::kRead, b_read}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(chip.log[i].kind, expected[i].first) << "command " << i;
    EXPECT_EQ(chip.log[i].cycle, expected[i].second) << "command " << i;
  }
  const auto last_beat = [&](Cycle read) {
    const Picoseconds data = (read + chip.clocks(config.tCL_ps) + config.burst_length / 2) * config.clock_ps;
    return ceil_div<Picoseconds>(data, 1000) + chip.bus_config.response_cycles +
           64 / chip.bus_config.bytes_per_clock - 1;
  };
  EXPECT_EQ(a.responded, last_beat(a_read)) << "taken over at the next NPU edge";
  EXPECT_EQ(b.responded, last_beat(b_read));
  EXPECT_EQ(cycles_of(chip.bus->statistics(PortId(1)).read_cycles, Activity::kBusGrant), 1);
}

TEST(Fabric, HI_6_one_port_is_limited_by_its_width) {
  DramConfig config = dram_preset(DramPreset::kDdr4_2400);
  config.refresh = false;
  Chip chip(1, config, 1000);
  for (int i = 0; i < 256; ++i) chip.initiators[0]->read(0, static_cast<std::uint64_t>(256 * i), 256);
  chip.run_until(20000);
  const auto& script = chip.initiators[0]->script;
  const Cycle stream = script.back().responded - script.front().first_beat + 1;
  const Cycle beats = 256 * 256 / chip.bus_config.bytes_per_clock;
  EXPECT_GE(stream, beats) << "16 GB/s at most, although the DRAM could deliver 19.2";
  EXPECT_LE(stream, beats + beats / 50);
}

/// Random traffic of four masters with regions of their own; returns everything that was observed, as text.
std::string random_run(unsigned seed, DeltaJitter* jitter, bool reversed) {
  std::mt19937 random(seed);
  DramConfig config = dram_preset(static_cast<DramPreset>(random() % 4));
  config.queue_depth = static_cast<int>(random() % 16 + 1);
  config.mapping = static_cast<AddressMapping>(random() % 3);
  // Half of the runs have an NPU clock whose edges often coincide with those of the DRAM.
  const Picoseconds period = random() % 2 == 0 ? config.clock_ps : 1000;
  Chip chip(4, config, period, jitter, reversed);
  for (std::size_t port = 0; port < 4; ++port) {
    Cycle at = 0;
    for (int i = 0; i < 150; ++i) {
      at += random() % (i % 40 == 0 ? 3000 : 6);
      const std::size_t bytes = random() % 512 + 1;
      const std::uint64_t address = (port << 20U) + random() % 40000;
      if (random() % 8 == 0) {
        chip.initiators[port]->write(at, kRegisters + 8 * port, {1, 2, 3, static_cast<std::uint8_t>(i)});
      } else if (random() % 2 == 0) {
        chip.initiators[port]->write(at, address,
                                     std::vector<std::uint8_t>(bytes, static_cast<std::uint8_t>(i)));
      } else {
        chip.initiators[port]->read(at, address, bytes);
      }
    }
  }
  chip.registers->accept_cycles = static_cast<int>(random() % 3);
  chip.registers->respond_cycles = chip.registers->accept_cycles + 1;
  chip.run_until(100000);
  std::string text;
  for (const auto& initiator : chip.initiators) {
    for (const Access& access : initiator->script) {
      unsigned sum = 0;
      for (const std::uint8_t byte : access.data) sum = sum * 31 + byte;
      text += fmt::format("{} {} {} {} {}\n", access.issued, access.granted, access.first_beat,
                          access.responded, sum);
      if (access.responded < 0) text += "UNANSWERED\n";
    }
  }
  for (const DramCommand& c : chip.log) {
    text += fmt::format("{} {} {} {} {}\n", c.cycle, c.channel, dram_command_name(c.kind), c.bank, c.row);
  }
  for (int port = 0; port < 4; ++port) {
    const BusPortStatistics& stats = chip.bus->statistics(PortId(port));
    for (const Cycle part : stats.read_cycles) text += fmt::format("{} ", part);
    for (const Cycle part : stats.write_cycles) text += fmt::format("{} ", part);
    text += fmt::format("{} {} {}\n", stats.read_bytes, stats.write_bytes, stats.granted);
    if (sum_of(stats.read_cycles) != 100000 || sum_of(stats.write_cycles) != 100000) text += "WRONG SUM\n";
  }
  for (int channel = 0; channel < chip.dram->channels(); ++channel) {
    const DramChannelStatistics& stats = chip.dram->statistics(channel);
    for (const Cycle part : stats.cycles) text += fmt::format("{} ", part);
    text +=
        fmt::format("{} {} {} {}\n", stats.row_hits, stats.row_misses, stats.row_conflicts, stats.refreshes);
    if (sum_of(stats.cycles) != now_ps() / chip.config.clock_ps) text += "WRONG SUM\n";
  }
  return text;
}

TEST(Fabric, CY_4_delta_delays_and_construction_order_change_nothing) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const std::string plain = in_child([seed] { return random_run(seed, nullptr, false); });
    EXPECT_EQ(plain.find("UNANSWERED"), std::string::npos);
    EXPECT_EQ(plain.find("WRONG SUM"), std::string::npos);
    for (unsigned jitter_seed = 1; jitter_seed <= 3; ++jitter_seed) {
      const std::string shaken = in_child([seed, jitter_seed] {
        DeltaJitter jitter(jitter_seed);
        return random_run(seed, &jitter, jitter_seed % 2 == 1);
      });
      EXPECT_TRUE(plain == shaken) << "seed " << seed << ", jitter " << jitter_seed;
    }
  }
}

TEST(Fabric, CY_5_a_burst_costs_little_host_time) {
  const DramConfig config = dram_preset(DramPreset::kDdr4_2400);
  Chip chip(1, config, 1000);
  const int bursts = 100000;
  for (int i = 0; i < bursts; ++i) chip.initiators[0]->read(0, static_cast<std::uint64_t>(256 * i), 256);
  const std::clock_t begin = std::clock();  // processor time: the machine may be busy with other things
  chip.run_until(5000000);
  const double took = 1e6 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_EQ(chip.initiators[0]->responses(), bursts);
  const double each = took / bursts;
  RecordProperty("microseconds_a_burst", std::to_string(each));
  std::cout << "microseconds a burst: " << each << '\n';
  EXPECT_LT(each, 40.0) << "ten times the goal, to allow for slow machines and sanitizers";
}

}  // namespace
}  // namespace tilebeat::testing
