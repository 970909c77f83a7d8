// What the rolling-register unit shows, and what it refuses: registers roll by roll (document 002 tables 1 to
// 5), stalls by name, sums that stay in the result buffer, transposition while loading, faults.
#include "config/hardware_config.h"
#include "rolling_bench.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::rolling {
namespace {

using ::testing::HasSubstr;

/// The value of a signal at cycle `clock`; -1: it has not changed yet.
std::int64_t value_at(const testing::RecordingTrace& trace, const std::string& name, Cycle clock) {
  std::int64_t value = -1;
  for (const auto& [at, changed] : trace.of(name)) {
    if (at <= clock * 1000) value = static_cast<std::int64_t>(changed);
  }
  return value;
}
/// Registers of one operand and group, rows of PEs one after the other.
std::string registers(const testing::RecordingTrace& trace, char operand, int group, int rows, int columns,
                      Cycle clock) {
  std::string text;
  for (int row = 0; row < rows; ++row) {
    if (row > 0) text += " / ";
    for (int column = 0; column < columns; ++column)
      text += fmt::format(
          "{}{}", column > 0 ? " " : "",
          value_at(trace, fmt::format("rolling.array.pe{}_{}.{}{}", row, column, operand, group), clock));
  }
  return text;
}

/// A and B whose elements name themselves: 11 for the first one of the first row.
Work named_work(int size, int array, Variant variant) {
  Work work = work_of(size, size, size, array, array, variant);
  for (int row = 0; row < size; ++row) {
    for (int column = 0; column < size; ++column)
      work.a[static_cast<std::size_t>(row * size + column)] =
          work.b[static_cast<std::size_t>(row * size + column)] =
              static_cast<std::uint8_t>(10 * (row + 1) + column + 1);
  }
  return work;
}

TEST(RollingTrace, RO_2_registers_of_three_by_three_roll_by_roll) {
  const Work work = named_work(3, 4, Variant::kRightBUp);
  Bench bench(work, Granularity::kClock, true);
  bench.send(work);
  ASSERT_EQ(bench.run(60), "");
  // B transposed lies in rows; computations are cycles 6, 7 and 8.
  EXPECT_EQ(registers(bench.trace, 'a', 0, 3, 3, 6), "11 12 13 / 21 22 23 / 31 32 33");
  EXPECT_EQ(registers(bench.trace, 'b', 0, 3, 3, 6), "11 21 31 / 12 22 32 / 13 23 33");
  EXPECT_EQ(registers(bench.trace, 'b', 0, 3, 3, 7), "12 22 32 / 13 23 33 / 11 21 31");
  EXPECT_EQ(registers(bench.trace, 'b', 0, 3, 3, 8), "13 23 33 / 11 21 31 / 12 22 32");
  EXPECT_EQ(registers(bench.trace, 'a', 0, 3, 3, 8), "11 12 13 / 21 22 23 / 31 32 33") << "A stays";
  // The sums of the first computation, 3 cycles later: c11 c22 c33.
  EXPECT_NE(value_at(bench.trace, "rolling.array.sums", 8), 1);
  EXPECT_EQ(value_at(bench.trace, "rolling.array.sums", 9), 1);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(value_at(bench.trace, fmt::format("rolling.array.sum{}", i), 9), work.product(i, i));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(value_at(bench.trace, fmt::format("rolling.array.sum{}", i), 10), work.product(i, (i + 1) % 3));
}

TEST(RollingTrace, RO_2_registers_in_the_other_directions) {
  const auto after_one_roll = [](Variant variant, char operand) {
    return testing::in_child([&] {
      const Work work = named_work(3, 4, variant);
      Bench bench(work, Granularity::kClock, true);
      bench.send(work);
      bench.run(60);
      return registers(bench.trace, operand, 0, 3, 3, 7);
    });
  };
  EXPECT_EQ(after_one_roll(Variant::kRightBDown, 'b'), "13 23 33 / 11 21 31 / 12 22 32");
  EXPECT_EQ(after_one_roll(Variant::kRightAUp, 'a'), "21 22 23 / 31 32 33 / 11 12 13");
  EXPECT_EQ(after_one_roll(Variant::kRightADown, 'a'), "31 32 33 / 11 12 13 / 21 22 23");
  // Left-transposed: A transposed and B lie with n down the columns ([0144]).
  EXPECT_EQ(after_one_roll(Variant::kLeftALeft, 'a'), "21 31 11 / 22 32 12 / 23 33 13");
  EXPECT_EQ(after_one_roll(Variant::kLeftARight, 'a'), "31 11 21 / 32 12 22 / 33 13 23");
  EXPECT_EQ(after_one_roll(Variant::kLeftBLeft, 'b'), "12 13 11 / 22 23 21 / 32 33 31");
  EXPECT_EQ(after_one_roll(Variant::kLeftBRight, 'b'), "13 11 12 / 23 21 22 / 33 31 32");
}

TEST(RollingTrace, RO_4_tables_1_to_3_in_registers) {
  Work work = named_work(4, 2, Variant::kRightBUp);
  work.setup.scheme = Scheme::kGroupRolling, work.setup.stacked_blocks = work.setup.stacked_cuts = 2;
  Bench bench(work, Granularity::kClock, true);
  bench.send(work);
  ASSERT_EQ(bench.run(80), "");
  // Eight lines enter in 3 to 10; 8 beats from 11 on, the exchange in 19.
  const auto all = [&](char operand, Cycle clock) {
    std::vector<std::string> groups;
    for (int group = 0; group < 4; ++group)
      groups.push_back(registers(bench.trace, operand, group, 2, 2, clock));
    return groups;
  };
  EXPECT_EQ(all('a', 11),
            (std::vector<std::string>{"11 12 / 21 22", "13 14 / 23 24", "31 32 / 41 42", "33 34 / 43 44"}));
  EXPECT_EQ(all('b', 11),
            (std::vector<std::string>{"11 21 / 12 22", "31 41 / 32 42", "13 23 / 14 24", "33 43 / 34 44"}));
  EXPECT_EQ(all('b', 20),
            (std::vector<std::string>{"13 23 / 14 24", "33 43 / 34 44", "11 21 / 12 22", "31 41 / 32 42"}))
      << "table 3";
}

TEST(RollingTrace, RO_4_tables_4_and_5_in_registers) {
  Work work = named_work(4, 2, Variant::kRightBUp);
  work.setup.scheme = Scheme::kWholeRolling, work.setup.stacked_blocks = work.setup.stacked_cuts = 2;
  Bench bench(work, Granularity::kClock, true);
  bench.send(work);
  ASSERT_EQ(bench.run(80), "");
  const auto all = [&](Cycle clock) {
    std::vector<std::string> groups;
    for (int group = 0; group < 4; ++group) groups.push_back(registers(bench.trace, 'b', group, 2, 2, clock));
    return groups;
  };
  // Four beats from 11 on; blocks have rolled within themselves in 15, and are corrected from 16 on.
  EXPECT_EQ(all(15),
            (std::vector<std::string>{"12 22 / 11 21", "32 42 / 31 41", "14 24 / 13 23", "34 44 / 33 43"}))
      << "table 4";
  EXPECT_EQ(all(16),
            (std::vector<std::string>{"12 22 / 13 23", "32 42 / 33 43", "14 24 / 11 21", "34 44 / 31 41"}))
      << "table 5";
}

/// The shipped configuration with stacked storage, with the array of the document's example.
Work shipped_work() {
  Work work = named_work(4, 2, Variant::kRightBUp);
  work.config = load_hardware(TILEBEAT_SOURCE_DIR "/configs/rolling16_stacked.json").engine<RollingConfig>();
  work.config.rows = work.config.columns = 2;
  work.setup.scheme = Scheme::kWholeRolling, work.setup.stacked_blocks = work.setup.stacked_cuts = 2;
  return work;
}
/// Registers of B in four groups, and a line of spare registers.
std::vector<std::string> groups_of_b(const testing::RecordingTrace& trace, Cycle cycle) {
  std::vector<std::string> groups;
  for (int group = 0; group < 4; ++group) groups.push_back(registers(trace, 'b', group, 2, 2, cycle));
  return groups;
}
std::string spare_line(const testing::RecordingTrace& trace, int line, Cycle cycle) {
  return fmt::format("{} {}", value_at(trace, fmt::format("rolling.array.spare{}.e0", line), cycle),
                     value_at(trace, fmt::format("rolling.array.spare{}.e1", line), cycle));
}

TEST(RollingTrace, RO_7_tables_4_and_5_with_a_spare_register_for_each_ring) {
  const Work work = shipped_work();
  Bench bench(work, Granularity::kClock, true);
  bench.send(work);
  ASSERT_EQ(bench.run(80), "");
  EXPECT_EQ(groups_of_b(bench.trace, 15),
            (std::vector<std::string>{"12 22 / 11 21", "32 42 / 31 41", "14 24 / 13 23", "34 44 / 33 43"}))
      << "table 4";
  // The first rows, which wrapped: four rings at once, each through its own registers ([0118]).
  const std::vector<std::string> wrapped{"11 21", "31 41", "13 23", "33 43"};
  for (int ring = 0; ring < 4; ++ring)
    EXPECT_EQ(spare_line(bench.trace, ring, 15), wrapped[static_cast<std::size_t>(ring)]);
  const int rings = work.config.groups;
  EXPECT_TRUE(bench.trace.declared(fmt::format("rolling.array.spare{}.e0", rings - 1)));
  EXPECT_FALSE(bench.trace.declared(fmt::format("rolling.array.spare{}.e0", rings)));
  EXPECT_EQ(groups_of_b(bench.trace, 16),
            (std::vector<std::string>{"12 22 / 13 23", "32 42 / 33 43", "14 24 / 11 21", "34 44 / 31 41"}))
      << "table 5";
}

TEST(RollingTrace, RO_7_one_spare_line_passes_from_ring_to_ring) {
  Work work = shipped_work();
  work.config.spare_lines = SpareLines::kShared;
  Bench bench(work, Granularity::kClock, true);
  bench.send(work);
  ASSERT_EQ(bench.run(80), "");
  const std::vector<std::string> before{"11 21 / 12 22", "31 41 / 32 42", "13 23 / 14 24", "33 43 / 34 44"},
      rolled{"12 22 / 11 21", "32 42 / 31 41", "14 24 / 13 23", "34 44 / 33 43"};
  // Four beats from 11 on; a ring rolls at the end of each cycle from 14 on.
  for (int ring = 0; ring < 4; ++ring) {
    std::vector<std::string> expected = before;
    std::copy_n(rolled.begin(), ring + 1, expected.begin());
    EXPECT_EQ(groups_of_b(bench.trace, 15 + ring), expected) << ring;
    EXPECT_EQ(spare_line(bench.trace, 0, 15 + ring), rolled[static_cast<std::size_t>(ring)].substr(8));
  }
  EXPECT_EQ(groups_of_b(bench.trace, 19).front(), "12 22 / 13 23") << "corrected in 18";
  EXPECT_FALSE(bench.trace.declared("rolling.array.spare1.e0")) << "all rings share one line";
}

TEST(RollingTrace, RO_4_every_roll_and_the_exchange_of_group_rolling) {
  Work work = named_work(4, 2, Variant::kRightBUp);
  work.setup.scheme = Scheme::kGroupRolling, work.setup.stacked_blocks = work.setup.stacked_cuts = 2;
  Bench bench(work, Granularity::kClock, true);
  bench.send(work);
  ASSERT_EQ(bench.run(80), "");
  const auto first_group = [&](Cycle cycle) { return registers(bench.trace, 'b', 0, 2, 2, cycle); };
  // Two computations of four beats from 11 on, the roll that restores, the exchange in 19, the same again.
  for (const Cycle cycle : {11, 14}) EXPECT_EQ(first_group(cycle), "11 21 / 12 22") << cycle;
  for (const Cycle cycle : {15, 18}) EXPECT_EQ(first_group(cycle), "12 22 / 11 21") << "rolled, " << cycle;
  EXPECT_EQ(first_group(19), "11 21 / 12 22") << "restored";
  for (const Cycle cycle : {20, 23}) EXPECT_EQ(first_group(cycle), "13 23 / 14 24") << "exchanged, " << cycle;
  for (const Cycle cycle : {24, 27}) EXPECT_EQ(first_group(cycle), "14 24 / 13 23") << "rolled, " << cycle;
}

TEST(RollingTrace, RO_4_every_roll_and_correction_of_whole_rolling) {
  Work work = named_work(4, 2, Variant::kRightBUp);
  work.setup.scheme = Scheme::kWholeRolling, work.setup.stacked_blocks = work.setup.stacked_cuts = 2;
  Bench bench(work, Granularity::kClock, true);
  bench.send(work);
  ASSERT_EQ(bench.run(80), "");
  // Columns of B in the first cut of both blocks, as its first row names them: reg0 / reg2.
  const auto columns = [&](Cycle cycle) {
    return registers(bench.trace, 'b', 0, 2, 1, cycle) + " | " + registers(bench.trace, 'b', 2, 2, 1, cycle);
  };
  EXPECT_EQ(columns(11), "11 / 12 | 13 / 14");
  EXPECT_EQ(columns(15), "12 / 11 | 14 / 13") << "first roll, each block within itself";
  EXPECT_EQ(columns(16), "12 / 13 | 14 / 11") << "corrected";
  EXPECT_EQ(columns(20), "13 / 12 | 11 / 14") << "second roll";
  EXPECT_EQ(columns(21), "13 / 14 | 11 / 12");
  EXPECT_EQ(columns(25), "14 / 13 | 12 / 11") << "third roll";
  EXPECT_EQ(columns(26), "14 / 11 | 12 / 13");
}

TEST(RollingTrace, RO_3_places_without_a_line_are_unknown) {
  // Five rows of A on four rows of PEs with one group: the second block has one line, others are empty again.
  Work work = work_of(5, 3, 3, 4, 4, Variant::kRightBUp);
  work.config.groups = 1;
  Bench bench(work, Granularity::kClock, true);
  bench.send(work);
  ASSERT_EQ(bench.run(80), "");
  EXPECT_TRUE(bench.trace.unknown("rolling.array.pe0_0.a0").empty());
  EXPECT_FALSE(bench.trace.unknown("rolling.array.pe1_0.a0").empty());
  EXPECT_FALSE(bench.trace.of("rolling.array.pe1_0.a0").empty()) << "it held a line of the first block";
}

TEST(RollingTrace, RO_5_a_column_of_B_enters_a_row_of_the_array_while_it_is_loaded) {
  // B lies in memory as it is, row after row, or transposed, column after column; in the registers it is the
  // same: [0052].
  const auto loaded = [](Transposition transposition) {
    return testing::in_child([&] {
      Work work = named_work(3, 4, Variant::kRightBUp);
      work.setup.transposition = transposition;
      Bench bench(work, Granularity::kClock, true);
      std::string text;
      for (std::uint64_t address = 0; address < 9; ++address)
        text += fmt::format("{} ", bench.b.bytes.at(address));
      bench.send(work);
      bench.run(60);
      for (const Cycle cycle : {3, 4, 5})
        text += fmt::format("| {} ", value_at(bench.trace, "rolling.array.load_b", cycle));
      return text + "| " + registers(bench.trace, 'b', 0, 3, 3, 6);
    });
  };
  EXPECT_EQ(loaded(Transposition::kInMemory),
            "11 21 31 12 22 32 13 23 33 | 1 | 1 | 1 | 11 21 31 / 12 22 32 / 13 23 33");
  EXPECT_EQ(loaded(Transposition::kWhileLoading),
            "11 12 13 21 22 23 31 32 33 | 1 | 1 | 1 | 11 21 31 / 12 22 32 / 13 23 33");
}

TEST(RollingTrace, RO_5_a_matrix_starts_at_any_pe) {
  Work work = named_work(3, 4, Variant::kRightBUp);
  work.config.start_row = 0, work.config.start_column = 1;  // [0104]: a11 in pe12
  Bench bench(work, Granularity::kClock, true);
  bench.send(work);
  ASSERT_EQ(bench.run(60), "");
  EXPECT_EQ(registers(bench.trace, 'a', 0, 3, 4, 6), "-1 11 12 13 / -1 21 22 23 / -1 31 32 33");
}

TEST(RollingUnit, RO_5_transposition_while_loading_gives_the_same) {
  for (const Variant variant : {Variant::kRightBUp, Variant::kLeftALeft}) {
    Work work = work_of(9, 11, 7, 4, 5, variant);
    work.setup.transposition = Transposition::kWhileLoading;
    const std::string clock = outcome(work, Granularity::kClock), tile = outcome(work, Granularity::kTile);
    EXPECT_THAT(clock, HasSubstr("macs 693 "));
    EXPECT_EQ(clock, tile);
    // Elements that enter column by column carry the tags of their lines.
    work.setup.realignment = Realignment::kTags;
    work.setup.scheme = Scheme::kGroupRolling, work.setup.stacked_blocks = 2;
    EXPECT_THAT(outcome(work, Granularity::kClock), HasSubstr("macs 693 "));
  }
}

TEST(RollingUnit, CY_2_slow_memories_increase_their_own_causes) {
  const auto stalls = [](int a, int b, int results) {
    return testing::in_child([&] {
      const Work work = work_of(16, 64, 16, 4, 4, Variant::kRightBUp);
      Bench bench(work, Granularity::kClock);
      bench.a.respond_cycles = a, bench.b.respond_cycles = b;
      bench.results.accept_cycles = results, bench.results.respond_cycles = results + 1;
      bench.send(work);
      bench.run(20000);
      bench.unit.ledger.settle(20000);
      const auto& cycles = bench.unit.ledger.cycles();
      const auto of = [&](Activity activity) { return cycles[static_cast<std::size_t>(activity)]; };
      return fmt::format("{} {} {}", of(Activity::kInputLoad) > 300, of(Activity::kWeightLoad) > 300,
                         of(Activity::kOutputDrain) > 300);
    });
  };
  EXPECT_EQ(stalls(1, 1, 0), "false false false");
  EXPECT_EQ(stalls(60, 1, 0), "true false false");
  EXPECT_EQ(stalls(1, 200, 0), "false true false");
  EXPECT_EQ(stalls(1, 1, 100), "false false true");
}

TEST(RollingUnit, CY_2_a_full_write_queue_is_named) {
  const auto stalled = [](int write_queue) {
    return testing::in_child([&] {
      Work work = work_of(8, 4, 8, 8, 8, Variant::kRightBUp);
      work.config.write_queue = write_queue, work.config.drain_bytes = 64;
      Bench bench(work, Granularity::kClock);
      bench.results.accept_cycles = 20, bench.results.respond_cycles = 21;
      bench.send(work);
      bench.run(400);
      bench.unit.results.ledger.settle(400);
      const auto& cycles = bench.unit.results.ledger.cycles();
      return fmt::format("{} {}", cycles[static_cast<std::size_t>(Activity::kBusy)],
                         cycles[static_cast<std::size_t>(Activity::kWriteQueue)] > 100);
    });
  };
  // 7 cycles of realignment and 8 rows of one; six rows wait for 20 cycles each.
  EXPECT_EQ(stalled(1), "15 true");
  EXPECT_EQ(stalled(8), "15 false");
}

TEST(RollingUnit, MA_1_sums_stay_in_the_result_buffer_over_runs) {
  for (const Granularity granularity : {Granularity::kClock, Granularity::kTile}) {
    const std::string text = testing::in_child([&] {
      const Work work = work_of(3, 8, 3, 4, 4, Variant::kRightBUp);
      Bench bench(work, granularity);
      bench.driver.send(0, work.conv);
      bench.driver.send(0, work.setup);
      for (const int part : {0, 1}) {
        RollingRun run = work.run();
        run.channels = 4, run.first_channel = static_cast<std::uint16_t>(4 * part);
        run.weights = static_cast<std::uint64_t>(part * 4 * work.k);  // cuts of 4 x 3 kernels
        run.first = part == 0, run.last = part == 1;
        bench.driver.send(0, run);
      }
      std::string error = bench.run(200);
      if (!error.empty()) return error;
      bool same = true;
      for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 3; ++column)
          same &= bench.result(row, column) == work.product(row, column);
      }
      // The first run is done when its last sum is in place: beats 6 to 8, 3 cycles of the tree.
      return fmt::format("{} {} {}", same, bench.driver.done(3), bench.driver.done(4) > bench.driver.done(3));
    });
    EXPECT_EQ(text, "true 12 true");
  }
}

TEST(RollingUnit, CY_3_a_run_without_records_takes_none_of_the_run_before) {
  for (const Granularity granularity : {Granularity::kClock, Granularity::kTile}) {
    const std::string text = testing::in_child([&] {
      Work work = work_of(3, 3, 3, 4, 4, Variant::kRightBUp);
      work.a.assign(9, 1);  // columns of B: sums of -3, 0 and 3
      for (int i = 0; i < 9; ++i) work.b[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i - 4);
      work.conv.post_parameters = work.conv.requantise = true;
      work.conv.output_type = DType::kInt8;
      Bench bench(work, granularity);
      PostParameter half;
      half.scale = 0.5;
      const auto bytes = encode(half);
      for (std::uint64_t column = 0; column < 3; ++column) {
        for (std::size_t i = 0; i < bytes.size(); ++i)
          bench.b.bytes[kRecords + column * bytes.size() + i] = bytes[i];
      }
      bench.send(work);
      ConvSetup plain = work.conv;
      plain.post_parameters = false;
      RollingRun again = work.run();
      again.result += kPixel * 8;
      bench.driver.send(0, plain);
      bench.driver.send(0, again);
      std::string said = bench.run(400);
      for (const std::uint64_t result : {kResult, again.result}) {
        for (std::uint64_t column = 0; column < 3; ++column)
          said += fmt::format("{} ", static_cast<std::int8_t>(bench.results.bytes[result + column]));
      }
      return said;
    });
    EXPECT_EQ(text, "-2 0 2 -3 0 3 ");
  }
}

TEST(RollingUnit, CY_3_a_register_that_flips_bits_spoils_its_products) {
  for (const Granularity granularity : {Granularity::kClock, Granularity::kTile}) {
    const std::string text = testing::in_child([&] {
      const Work work = work_of(3, 3, 3, 4, 4, Variant::kRightBUp);
      Bench bench(work, granularity);
      bench.unit.inject_fault({4, 4 + 2, 1});  // B's group 0, row 1, column 2: element (2, 1) of B
      bench.send(work);
      bench.run(200);
      int wrong = 0, in_column = 0;
      for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 3; ++column) {
          if (bench.result(row, column) == work.product(row, column)) continue;
          ++wrong;
          in_column += column == 1 ? 1 : 0;
        }
      }
      return fmt::format("{} {}", wrong, in_column);
    });
    EXPECT_EQ(text, "3 3");
  }
}

TEST(RollingUnit, programs_that_make_no_sense_are_refused) {
  Work work = work_of(3, 3, 3, 4, 4, Variant::kRightBUp);
  const auto error = [&](const RollingSetup& setup, const Operation& operation) {
    return testing::in_child([&] {
      Bench bench(work, Granularity::kTile);
      bench.driver.send(0, work.conv);
      bench.driver.send(0, setup);
      bench.driver.send(0, operation);
      return bench.run(50);
    });
  };
  RollingSetup setup = work.setup;
  EXPECT_THAT(error(setup, Copy{}), HasSubstr("the matrix unit of this core is a rolling-register unit"));
  RollingRun part = work.run();
  part.last = false, part.columns = part.width = 9;
  EXPECT_THAT(error(setup, part), HasSubstr("sums of 3 output blocks cannot stay in the result buffer"));
  part = work.run();
  part.first = false;
  EXPECT_THAT(error(setup, part), HasSubstr("goes on with sums that nobody began"));
  part = work.run();
  part.rows = part.columns = 65535;
  EXPECT_THAT(error(setup, part), HasSubstr("more than can be counted"));
  setup.useful_taps = 1000;
  EXPECT_THAT(error(setup, work.run()), HasSubstr("useful_taps 1000: the kernel has "));
  setup.useful_taps = 1;
  setup.pixel_bytes = work.run().channels;
  part = work.run();
  part.first_channel = 1;
  EXPECT_THAT(error(setup, part), HasSubstr("channels up to 4 of a pixel of 3 bytes"))
      << "what lies behind the map is nobody's, and no race with it would be seen";
  setup.stacked_blocks = 2;
  EXPECT_THAT(error(setup, work.run()), HasSubstr("the scheme works on one at a time"));
  setup.scheme = Scheme::kOutputStationary, setup.stacked_blocks = 1, setup.stacked_cuts = 2;
  EXPECT_THAT(error(setup, work.run()), HasSubstr("output-stationary operands are streamed"));
  setup.scheme = Scheme::kGroupRolling, setup.stacked_cuts = 5;
  EXPECT_THAT(error(setup, work.run()),
              HasSubstr("1 x 5 stacked block pairs, the array has 4 register groups"));
  setup.stacked_cuts = 1, setup.stacked_blocks = 3;
  EXPECT_THAT(error(setup, work.run()), HasSubstr("3 x 3 output blocks, half of the result buffer holds 4"));
  setup.stacked_blocks = 2;
  work.config.result_blocks = RollingConfig{}.result_blocks;
  EXPECT_THAT(error(setup, work.run()), HasSubstr("2 x 2 output blocks, half of the result buffer holds 1"))
      << "SPEC RO-6: the result buffer holds two blocks";
}

}  // namespace
}  // namespace tilebeat::rolling
