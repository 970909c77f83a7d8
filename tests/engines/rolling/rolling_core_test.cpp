// The rolling-register unit as in a core, with ports of its own at NRAM and WRAM: products against SPEC RO-6
// (support/rolling_formulas.h), both granularities against each other, what limits its ports.
#include "rolling_core_bench.h"

#include <random>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::rolling {
namespace {

void expect_exact(const Work& work, const MemoryConfig& memory, const std::string& what) {
  const RollingCase c = core_case_of(work, memory.latency_cycles);
  const RollingClocks cycles = rolling_clocks(c);
  const bool streams = c.scheme == RollingScheme::kOutputStationary;
  const std::string expected = fmt::format(
      "done {} released {} beats {} moves {} realign {} macs {} ", cycles.done, cycles.released, cycles.beats,
      streams ? 0 : cycles.moves, cycles.realign, std::int64_t{work.m} * work.n * work.k);
  const std::string clock = core_outcome(work, Granularity::kClock, memory);
  ASSERT_EQ(clock.substr(0, expected.size()), expected) << what << "\n" << clock;
  ASSERT_EQ(clock, core_outcome(work, Granularity::kTile, memory)) << what;
}

TEST(RollingCore, RO_6_latency_of_three_by_three) {
  // Addresses are generated in 1 to 3, lines enter in 2 to 4, beats are 5 to 7; 3 cycles of the tree, 2 of
  // realignment; three rows leave; 4 cycles of post-processing, an access.
  const Work work = work_of(3, 3, 3, 4, 4, Variant::kRightBUp);
  EXPECT_EQ(rolling_clocks(core_case_of(work, 0)).done, 7 + 3 + 2 + 3 + 4 + 1 + 1);
  expect_exact(work, {kMemoryBytes, 16, 16, 0}, "without latency");
  expect_exact(work, {kMemoryBytes, 16, 16, 3}, "three cycles more");
}

TEST(RollingCore, RO_1_to_6_random_products) {
  std::mt19937 random(21);
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  for (int i = 0; i < 300; ++i) {
    const int rows = 1 + below(20), columns = below(2) == 0 ? rows : 1 + below(20);
    const auto extent = [&] {
      return below(10) == 0 ? 1 + below(120) : 1 + below(3 * std::max(rows, columns));
    };
    Work work = work_of(extent(), extent(), extent(), rows, columns, static_cast<Variant>(below(8)));
    work.config.groups = 1 + below(8), work.config.result_blocks = 64;
    work.config.start_row = below(3) == 0 ? below(rows) : 0;
    work.config.start_column = below(3) == 0 ? below(columns) : 0;
    work.config.line_queue = 256, work.config.port_bytes = 32;
    work.config.drain_bytes = 4 << below(4), work.config.write_queue = 128;
    work.setup.scheme = static_cast<Scheme>(below(4));
    if (work.setup.scheme == Scheme::kPlain)
      work.setup.stacked_cuts = static_cast<std::uint8_t>(1 + below(work.config.groups));
    if (work.setup.scheme == Scheme::kGroupRolling || work.setup.scheme == Scheme::kWholeRolling) {
      work.setup.stacked_blocks = static_cast<std::uint8_t>(1 + below(work.config.groups));
      work.setup.stacked_cuts =
          static_cast<std::uint8_t>(1 + below(work.config.groups / work.setup.stacked_blocks));
    }
    work.setup.realignment = static_cast<Realignment>(below(2));
    work.setup.wrap = static_cast<Wrap>(below(2));
    work.config.spare_lines = static_cast<SpareLines>(below(work.setup.wrap == Wrap::kBuffer ? 3 : 2));
    if (work.setup.scheme != Scheme::kOutputStationary)
      work.config.multipliers = 1 + below(work.config.groups);
    work.config.registers = static_cast<RegisterGroups>(below(2));
    work.config.record_slots = below(2) == 0 ? 1 + below(4) : 0;
    work.conv.post_parameters = below(2) == 0;
    work.conv.input_type = below(2) == 0 ? DType::kUint8 : DType::kInt8;
    work.conv.input_zero_point = static_cast<std::int16_t>(below(100));
    work.conv.weight_zero_point = static_cast<std::int16_t>(below(50) - 25);
    for (std::uint8_t& byte : work.a) byte = static_cast<std::uint8_t>(random());
    for (std::uint8_t& byte : work.b) byte = static_cast<std::uint8_t>(random());
    expect_exact(work, {kMemoryBytes, 16, 16, below(4)},
                 fmt::format("case {}: {} x {} x {} on {} x {}", i, work.m, work.n, work.k, rows, columns));
    if (HasFatalFailure()) return;
  }
}

/// Cycles until all is reported.
Cycle done(const Work& work, const MemoryConfig& memory) {
  const std::string clock = core_outcome(work, Granularity::kClock, memory);
  EXPECT_EQ(clock, core_outcome(work, Granularity::kTile, memory));
  return clock.rfind("done ", 0) == 0 ? std::stoll(clock.substr(5)) : -1;
}

TEST(RollingCore, RO_6_a_port_makes_one_access_a_cycle) {
  // One block pair of 8 lines of 8 bytes. Through a port of 4 bytes each line takes two accesses, and two
  // cycles to enter: its last one is in place 8 cycles later and one more, for the first line's second half.
  Work work = work_of(8, 8, 8, 8, 8, Variant::kRightBUp);
  work.config.drain_bytes = 64;  // a row a cycle: of 32 bytes, written in 2 accesses through 16 bytes
  const MemoryConfig memory{kMemoryBytes, 16, 16, 0};
  const Cycle wide = done(work, memory);
  EXPECT_EQ(wide, rolling_clocks(core_case_of(work, 0)).done);
  work.config.port_bytes = 4;
  // Loads: 2 x 8 + 1 instead of 8 cycles. Writes: 8 rows of 8 accesses instead of 2.
  EXPECT_EQ(done(work, memory), wide + 9 + 8 * 6);
}

TEST(RollingCore, RO_6_a_bank_serves_one_word_a_cycle) {
  // Lines of 16 bytes at addresses that are multiples of 256: with one bank of 4 bytes, four accesses each.
  const Work work = work_of(8, 16, 8, 16, 16, Variant::kRightBUp);
  const Cycle many = done(work, {kMemoryBytes, 16, 4, 0}), one = done(work, {kMemoryBytes, 1, 4, 0});
  // Eight lines come every four cycles instead of every one: 3 x 8 cycles; rows of 32 bytes are written in 8
  // accesses instead of 2, each row 8 cycles after the one before, while it leaves in 2.
  EXPECT_EQ(one, many + 3 * 8 + 6 + 7 * 6);
}

TEST(RollingCore, RO_7_multiplying_does_not_wait_for_records) {
  // Lines enter in 2 to 4, records in 5 to 7, while the three beats are done: sums come later, so that
  // nothing waits for records.
  Work work = work_of(3, 3, 3, 4, 4, Variant::kRightBUp);
  const MemoryConfig memory{kMemoryBytes, 16, 16, 0};
  const Cycle without = done(work, memory);
  work.conv.post_parameters = true;
  EXPECT_EQ(done(work, memory), without);
}

/// Cycles in which the loader of B waits for a place, and until all is reported.
std::pair<Cycle, Cycle> waits_of_b(const Work& work) {
  const std::string text = testing::in_child([&] {
    CoreBench bench(work, Granularity::kClock);
    bench.send(work);
    bench.run(8000);
    CycleLedger& ledger = bench.unit.loaders[1]->ledger;
    ledger.settle(8000);
    return fmt::format("{} {}", ledger.cycles()[static_cast<std::size_t>(Activity::kWeightRelease)],
                       bench.driver.done(3));
  });
  const auto space = text.find(' ');
  return {std::stoll(text.substr(0, space)), std::stoll(text.substr(space + 1))};
}

TEST(RollingCore, RO_7_records_of_later_columns_wait_for_a_slot) {
  // Sixteen columns of blocks, drained 16 cycles each and more: four in register groups, two in the result
  // buffer. One slot fewer, and a load waits longer.
  Work work = work_of(4, 4, 64, 4, 4, Variant::kRightBUp);
  work.config.drain_bytes = 4, work.conv.post_parameters = true;
  const auto by_default = waits_of_b(work);
  work.config.record_slots = 6;
  EXPECT_EQ(waits_of_b(work), by_default) << "groups + 2";
  work.config.record_slots = 64;
  EXPECT_EQ(waits_of_b(work), by_default);
  work.config.record_slots = 5;
  EXPECT_GT(waits_of_b(work).first, by_default.first);
  work.config.record_slots = 1;
  EXPECT_GT(waits_of_b(work).second, by_default.second);
}

TEST(RollingCore, RO_7_assigned_registers_hold_more_ragged_rounds) {
  // Three cuts of n in rounds of two: every other round needs one group of three, so that a third round is
  // loaded while one is multiplied.
  Work work = work_of(4, 12, 64, 4, 4, Variant::kRightBUp);
  work.config.groups = 3, work.setup.stacked_cuts = 2;
  work.config.drain_bytes = 64;
  const auto fixed = waits_of_b(work);
  work.config.registers = RegisterGroups::kAssigned;
  EXPECT_LT(waits_of_b(work).second, fixed.second);
}

TEST(RollingCore, RO_7_kernels_are_transposed_in_memory_in_a_step) {
  // Two cuts of 8 x 8 bytes: four accesses of 16 bytes read them, four write them.
  Work work = work_of(8, 16, 8, 8, 8, Variant::kRightBUp);
  for (const int latency : {0, 3}) {
    const MemoryConfig memory{kMemoryBytes, 16, 16, latency};
    const Cycle without = done(work, memory);
    for (const Granularity granularity : {Granularity::kClock, Granularity::kTile}) {
      const std::string text = testing::in_child([&] {
        Work as_b_is = work;
        as_b_is.setup.transposition = Transposition::kWhileLoading;
        CoreBench bench(as_b_is, granularity, memory);
        RollingRun run = bench.run_of(work);
        run.transposes = true;
        bench.driver.send(0, work.conv);
        bench.driver.send(0, work.setup);
        bench.driver.send(0, run);
        if (std::string error = bench.run(2000); !error.empty()) return error;
        for (int row = 0; row < work.m; ++row) {
          for (int column = 0; column < work.k; ++column) {
            if (bench.result(row, column) != work.product(row, column)) return std::string("wrong");
          }
        }
        return fmt::format("{} {}", bench.driver.done(3), bench.unit.loaders[1]->stats.written);
      });
      EXPECT_EQ(text, fmt::format("{} {}", without + 2 * (4 + latency + 4), 2 * 64)) << latency;
    }
  }
}

TEST(RollingCore, UI_7_addresses_of_ports_are_words_of_the_bank) {
  // Three kernels of three bytes lie in the first word of WRAM, at bytes 0, 3 and 6; rows of A are 256 bytes,
  // 16 words of 16 banks, apart.
  const Work work = work_of(3, 3, 3, 4, 4, Variant::kRightBUp);
  const MemoryConfig memory{kMemoryBytes, 16, 16, 0};
  CoreBench bench(work, Granularity::kClock, memory, true);
  bench.send(work);
  ASSERT_EQ(bench.run(60), "");
  const auto addresses = [&](const std::string& memory_name) {
    std::set<std::uint64_t> seen;
    for (const auto& [at, value] : bench.trace.of(memory_name + ".engine.p0b0_addr")) seen.insert(value);
    return seen;
  };
  EXPECT_EQ(addresses("wram"), (std::set<std::uint64_t>{0}));
  EXPECT_EQ(addresses("nram"), (std::set<std::uint64_t>{0, 1, 2}));
}

TEST(RollingCore, CY_2_a_full_write_queue_is_named) {
  Work work = work_of(8, 4, 8, 8, 8, Variant::kRightBUp);
  work.config.drain_bytes = 64, work.config.port_bytes = 4, work.config.write_queue = 1;
  for (const Granularity granularity : {Granularity::kClock, Granularity::kTile}) {
    const std::string text = testing::in_child([&] {
      CoreBench bench(work, granularity);
      bench.send(work);
      bench.run(400);
      bench.unit.results.ledger.settle(400);
      return fmt::format("{}",
                         bench.unit.results.ledger.cycles()[static_cast<std::size_t>(Activity::kWriteQueue)]);
    });
    // The first row leaves in cycle t and is sent in t + 5; the second one leaves in t + 6 instead of t + 1.
    // The port is busy with the first row until t + 12, so that the second one is sent in t + 13 and the
    // third one leaves in t + 14 instead of t + 7; so it goes on every 8 cycles.
    EXPECT_EQ(text, fmt::format("{}", 5 + 6 * 7));
  }
}

}  // namespace
}  // namespace tilebeat::rolling
