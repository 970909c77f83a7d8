// The DRAM controller behind its socket: latency, back-pressure, data and bandwidth (SPEC HI-6, HI-8).
#include "fabric/dram_controller.h"

#include "systemc_test.h"
#include "tilebeat/error.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

/// One scripted initiator directly at the controller.
struct DramBench : private DramWatch {
  DramBench(const DramConfig& dram_config, const SimContext& sim_context, AddressSlice slice = {})
      : config(dram_config),
        context(watched(sim_context)),
        initiator("initiator", context),
        dram("dram", config, context, slice) {
    strict_systemc();
    initiator.socket.bind(dram.socket);
  }
  void issued(const DramCommand& command) override { log.push_back(command); }
  SimContext watched(SimContext of) {
    of.dram = this;
    return of;
  }
  void run_until(Picoseconds time) { sc_core::sc_start(to_sc_time(time - now_ps())); }
  Cycle clocks(Picoseconds duration) const { return ceil_div(duration, config.clock_ps); }
  /// The first DRAM edge strictly after an NPU clock's edge.
  Cycle edge_after(Cycle npu_cycle) const { return context.clock.at(npu_cycle) / config.clock_ps + 1; }

  DramConfig config;
  SimContext context;
  std::vector<DramCommand> log;
  ScriptedInitiator initiator;
  DramController dram;
};

SimContext context_of(Picoseconds period) {
  return SimContext{ClockDomain(period)};
}

TEST(DramSlice, CY_1_granules_of_a_controller_lie_side_by_side_in_its_rows) {
  DramConfig config = dram_preset(DramPreset::kDdr4_2400);
  config.refresh = false;
  config.mapping = AddressMapping::kRowBankColumnChannel;
  DramBench bench(config, context_of(1000), {1, 2, 4096});
  // Its granules 1 and 3 are one row of 8 KiB, the next row begins with granule 5.
  bench.initiator.read(10, 0x1000, 64);
  bench.initiator.read(200, 0x3fc0, 64);
  bench.initiator.read(400, 0x5000, 64);
  bench.run_until(1'000'000);
  ASSERT_EQ(bench.log.size(), 5U) << "ACT RD, RD, ACT RD";
  EXPECT_EQ(bench.log[0].bank, 0);
  EXPECT_EQ(bench.log[2].kind, DramCommandKind::kRead);
  EXPECT_EQ(bench.log[2].bank, 0);
  EXPECT_EQ(bench.log[3].bank, 1);
}

class DramLatencyTest : public ::testing::TestWithParam<Picoseconds> {};

TEST_P(DramLatencyTest, HI_8_idle_read_latency_in_any_npu_clock) {
  const DramConfig config = dram_preset(DramPreset::kDdr4_2400);
  DramBench bench(config, context_of(GetParam()));
  Access& access = bench.initiator.read(3, 4096, 64);
  const Cycle done = bench.edge_after(3) + bench.clocks(config.tRCD_ps) + bench.clocks(config.tCL_ps) +
                     config.burst_length / 2;
  bench.run_until(done * config.clock_ps);
  EXPECT_EQ(bench.initiator.responses(), 0) << "not before the end of the last data beat";
  bench.run_until(done * config.clock_ps + 1);
  EXPECT_EQ(bench.initiator.responses(), 1);
  EXPECT_EQ(access.responded_ps, done * config.clock_ps);
  EXPECT_EQ(access.status, tlm::TLM_OK_RESPONSE);
}

INSTANTIATE_TEST_SUITE_P(Periods, DramLatencyTest, ::testing::Values(100, 833, 1000, 1666, 99999, 100000));

TEST(DramController, HI_6_request_takes_one_burst_a_tCCD) {
  const DramConfig config = dram_preset(DramPreset::kDdr4_2400);
  DramBench bench(config, context_of(1000));
  Access& access = bench.initiator.read(3, 64 * 8 - 1, 256);  // five bursts, the first and the last in part
  bench.run_until(1000000);
  const Cycle last_read =
      bench.edge_after(3) + bench.clocks(config.tRCD_ps) + 4 * bench.clocks(config.tCCD_ps);
  EXPECT_EQ(access.responded_ps,
            (last_read + bench.clocks(config.tCL_ps) + config.burst_length / 2) * config.clock_ps);
  bench.dram.settle(now_ps());
  EXPECT_EQ(bench.dram.statistics(0).bus_bytes, 5 * 64);
  EXPECT_EQ(bench.dram.statistics(0).read_bytes, 256);
}

// A read from an open row wakes the controller twice: at the edge behind its request, and to answer; its
// initiator wakes twice, too. The first read opens the row: at the cycle in which it could be answered, it is
// not.
TEST(DramController, CY_1_sleeps_while_it_has_no_work) {
  DramConfig config = dram_preset(DramPreset::kDdr4_2400);
  config.refresh = false;
  DramBench bench(config, context_of(1000));
  constexpr int kReads = 10;
  for (int i = 0; i < kReads; ++i) bench.initiator.read(100 + 1000 * i, 4096, 64);
  bench.run_until(50'000);
  const std::uint64_t before = sc_core::sc_delta_count();
  bench.run_until(20'000'000);
  EXPECT_EQ(bench.log.size(), std::size_t{1 + kReads}) << "an ACT and a RD each";
  EXPECT_EQ(sc_core::sc_delta_count() - before, std::uint64_t{1 + 4 * kReads});
}

TEST(DramController, HI_6_request_waits_for_a_refresh) {
  const DramConfig config = dram_preset(DramPreset::kDdr4_2400);
  DramBench bench(config, context_of(1000));
  const Cycle due = bench.clocks(config.tREFI_ps);
  const Cycle issue = due * config.clock_ps / 1000 + 5;  // during the refresh
  Access& access = bench.initiator.read(issue, 0, 64);
  bench.run_until(context_of(1000).clock.at(issue + 2000));
  const Cycle activate = due + bench.clocks(config.tRFC_ps);
  EXPECT_EQ(access.responded_ps, (activate + bench.clocks(config.tRCD_ps) + bench.clocks(config.tCL_ps) +
                                  config.burst_length / 2) *
                                     config.clock_ps);
}

TEST(DramController, HI_6_withholds_end_req_while_the_queue_is_full) {
  DramConfig config = dram_preset(DramPreset::kDdr4_2400);
  config.queue_depth = 4;
  DramBench bench(config, context_of(1000));
  Access& fits = bench.initiator.read(3, 0, 256);
  Access& held = bench.initiator.read(4, 1024, 256);
  Access& later = bench.initiator.read(5, 2048, 64);
  bench.run_until(1000000);
  EXPECT_EQ(fits.granted, 3) << "four bursts fit";
  // Places are free strictly after the edges of the four RD; the fourth burst enters at the edge after the
  // fourth.
  const Cycle fourth_read =
      bench.edge_after(3) + bench.clocks(config.tRCD_ps) + 3 * bench.clocks(config.tCCD_ps);
  EXPECT_EQ(held.granted, (fourth_read + 1) * config.clock_ps / 1000);
  EXPECT_GT(later.issued, held.granted);
  EXPECT_EQ(bench.initiator.responses(), 3);
}

TEST(DramController, HI_6_refuses_faulty_requests) {
  const DramConfig config = dram_preset(DramPreset::kDdr4_2400);
  DramBench bench(config, context_of(1000));
  const auto size = static_cast<std::uint64_t>(config.size_bytes);
  Access& outside = bench.initiator.read(1, size, 4);
  Access& across = bench.initiator.read(2, size - 2, 4);
  Access& longest = bench.initiator.read(3, size - 4096, 4096);
  Access& too_long = bench.initiator.read(4, 0, 4097);
  bench.run_until(2000000);
  EXPECT_EQ(outside.status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(across.status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(longest.status, tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(too_long.status, tlm::TLM_BURST_ERROR_RESPONSE);
}

TEST(DramController, HI_6_random_traffic_reads_what_was_written) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const std::string verdict = in_child([seed] {
      std::mt19937 random(seed);
      DramConfig config = dram_preset(static_cast<DramPreset>(seed % 4));
      config.mapping = static_cast<AddressMapping>(seed % 3);
      config.queue_depth = static_cast<int>(random() % 32 + 1);
      config.starvation_cap = static_cast<int>(random() % 5);
      DramBench bench(config, context_of(100 + static_cast<Picoseconds>(random() % 3000)));
      const std::uint64_t span = 65536;
      std::vector<std::uint8_t> memory(span);
      std::vector<std::vector<std::uint8_t>> expected;
      Cycle at = 0;
      for (int i = 0; i < 400; ++i) {
        const std::size_t bytes = random() % (i % 10 == 0 ? 4096 : 300) + 1;
        const std::uint64_t address = random() % (span - bytes);
        at += random() % 30;
        if (random() % 2 == 0) {
          std::vector<std::uint8_t> data(bytes);
          for (auto& byte : data) byte = static_cast<std::uint8_t>(random());
          std::copy(data.begin(), data.end(), memory.begin() + static_cast<std::ptrdiff_t>(address));
          expected.push_back(data);
          bench.initiator.write(at, address, std::move(data));
        } else {
          const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(address);
          expected.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(bytes));
          bench.initiator.read(at, address, bytes);
        }
      }
      bench.run_until(1000000000);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (bench.initiator.script[i].responded < 0) return "no response to access " + std::to_string(i);
        if (bench.initiator.script[i].data != expected[i]) return "wrong data in access " + std::to_string(i);
      }
      std::vector<std::uint8_t> final_state(span);
      tlm::tlm_generic_payload payload;
      payload.set_read();
      payload.set_data_ptr(final_state.data());
      payload.set_data_length(static_cast<unsigned>(span));
      if (bench.initiator.socket->transport_dbg(payload) != span || final_state != memory) {
        return std::string("wrong contents at the end");
      }
      bench.dram.settle(now_ps());
      for (int channel = 0; channel < bench.dram.channels(); ++channel) {
        const DramChannelStatistics& stats = bench.dram.statistics(channel);
        if (sum_of(stats.cycles) != now_ps() / config.clock_ps) return std::string("cycles without an owner");
      }
      return std::string("good");
    });
    EXPECT_EQ(verdict, "good") << "seed " << seed;
  }
}

/// Dense random reads at NPU edges that are the DRAM's; returns everything that was observed.
std::string reads_at_dram_edges(unsigned traffic_seed, unsigned jitter_seed) {
  DramConfig config = dram_preset(DramPreset::kDdr4_2400);
  std::mt19937 random(traffic_seed);
  config.queue_depth = static_cast<int>(random() % 4 + 1);
  const unsigned longest_gap = 5 + static_cast<unsigned>(random() % 40);
  DeltaJitter jitter(jitter_seed);
  DramBench bench(config, SimContext{ClockDomain(config.clock_ps), {}, jitter_seed == 0 ? nullptr : &jitter});
  Cycle at = 0;
  for (int i = 0; i < 500; ++i) {
    at += random() % longest_gap;
    bench.initiator.read(at, random() % 20000, random() % 100 + 1);
  }
  bench.run_until(50000000);
  std::string text;
  for (const Access& a : bench.initiator.script) {
    text += std::to_string(a.issued) + ' ' + std::to_string(a.granted) + ' ' +
            std::to_string(a.responded_ps) + '\n';
  }
  for (const DramCommand& c : bench.log)
    text += std::to_string(c.cycle) + ' ' + std::to_string(c.bank) + '\n';
  return text;
}

TEST(DramController, CY_4_arrivals_at_the_very_edge_of_the_dram_clock) {
  // Whether the controller or the initiator runs first at a common edge must not matter.
  for (unsigned traffic = 0; traffic < 8; ++traffic) {
    const std::string plain = in_child([traffic] { return reads_at_dram_edges(traffic, 0); });
    for (unsigned jitter = 1; jitter <= 3; ++jitter) {
      const std::string shaken = in_child([=] { return reads_at_dram_edges(traffic, jitter); });
      EXPECT_TRUE(plain == shaken) << "traffic " << traffic << ", jitter " << jitter;
    }
  }
}

/// Statistics of one channel under dense reads, taken at `at`: before the controller has worked at that
/// instant or after.
std::string statistics_at(Picoseconds at, bool after) {
  const DramConfig config = dram_preset(DramPreset::kDdr4_2400);
  DramBench bench(config, context_of(config.clock_ps));
  std::mt19937 random(1);
  for (int i = 0; i < 30; ++i)
    bench.initiator.read(static_cast<Cycle>(random() % 100), random() % 20000, random() % 100 + 1);
  bench.run_until(at + (after ? 1 : 0));
  bench.dram.settle(at);
  const DramChannelStatistics& s = bench.dram.statistics(0);
  std::string text = std::to_string(s.settled_at) + ' ' + std::to_string(s.read_bytes) + ' ' +
                     std::to_string(s.row_hits + s.row_misses + s.row_conflicts);
  for (const Cycle cycles : s.cycles) text += ' ' + std::to_string(cycles);
  return text;
}

TEST(DramController, CY_4_statistics_at_the_very_edge_of_the_dram_clock) {
  const Picoseconds period = dram_preset(DramPreset::kDdr4_2400).clock_ps;
  for (Cycle edge = 20; edge < 120; ++edge) {
    const std::string before = in_child([=] { return statistics_at(edge * period, false); });
    EXPECT_EQ(before, in_child([=] { return statistics_at(edge * period, true); })) << "edge " << edge;
  }
}

class DramBandwidthTest : public ::testing::TestWithParam<int> {};

TEST_P(DramBandwidthTest, HI_6_streams_at_the_payload_rate_of_its_preset) {
  DramConfig config = dram_preset(static_cast<DramPreset>(GetParam()));
  config.refresh = false;
  DramBench bench(config, context_of(100));  // a fast NPU clock: the DRAM is the limit
  const std::int64_t total = 1 << 20;
  for (std::int64_t address = 0; address < total; address += 4096) {
    bench.initiator.read(0, static_cast<std::uint64_t>(address), 4096);
  }
  bench.run_until(1000000000);
  const Picoseconds took = bench.initiator.script.back().responded_ps;
  // Two transfers a cycle of data_bits on every channel; ECC bits carry nothing.
  const double peak = 2.0 * config.data_bits / 8 * config.channels / static_cast<double>(config.clock_ps);
  const double reached = static_cast<double>(total) / static_cast<double>(took);
  EXPECT_LE(reached, peak);
  EXPECT_GE(reached, 0.85 * peak) << "linear reads of open rows, row changes partly hidden";
}

INSTANTIATE_TEST_SUITE_P(Presets, DramBandwidthTest, ::testing::Range(0, 4));

}  // namespace
}  // namespace tilebeat::testing
