// The rolling-register unit between a command processor and memories that are stubs: products of any size, in
// all variants, their cycles against SPEC RO-6 (support/rolling_formulas.h).
#include "budget.h"
#include "rolling_bench.h"

#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::rolling {
namespace {

constexpr std::array<Variant, 8> kAll{Variant::kRightBUp,   Variant::kRightBDown, Variant::kRightAUp,
                                      Variant::kRightADown, Variant::kLeftALeft,  Variant::kLeftARight,
                                      Variant::kLeftBLeft,  Variant::kLeftBRight};
/// What every outcome begins with.
std::string expected_beginning(const Work& work) {
  const RollingCase c = case_of(work);
  const RollingClocks clocks = rolling_clocks(c);
  const bool streams = c.scheme == RollingScheme::kOutputStationary;
  return fmt::format("done {} released {} beats {} moves {} realign {} macs {} ", clocks.done,
                     clocks.released, clocks.beats, streams ? 0 : clocks.moves, clocks.realign,
                     std::int64_t{work.m} * work.n * work.k);
}

void expect_exact(const Work& work, const std::string& what) {
  const std::string clock = outcome(work, Granularity::kClock), tile = outcome(work, Granularity::kTile);
  ASSERT_EQ(clock.substr(0, expected_beginning(work).size()), expected_beginning(work)) << what << "\n"
                                                                                        << clock;
  ASSERT_EQ(clock, tile) << what;
}

TEST(RollingUnit, RO_6_latency_of_three_by_three) {
  // Lines enter in 3 to 5, beats are 6 to 8; sums take 3 cycles through trees of 4 lanes; 2 cycles of
  // realignment; three rows of 12 bytes leave, a request 4 cycles later, its response in the next one.
  const Work work = work_of(3, 3, 3, 4, 4, Variant::kRightBUp);
  const Cycle done = 8 + 3 + 2 + 3 + 4 + 1 + 2;
  EXPECT_EQ(rolling_clocks(case_of(work)).done, done);
  for (const Granularity granularity : {Granularity::kClock, Granularity::kTile}) {
    const std::string text = testing::in_child([&] {
      Bench bench(work, granularity);
      bench.send(work);
      bench.run(100);
      return fmt::format("{} {} {}", bench.driver.released(3), bench.results.arrivals.front().cycle,
                         bench.driver.done(3));
    });
    EXPECT_EQ(text, fmt::format("6 {} {}", done - 4, done));
  }
}

TEST(RollingUnit, RO_2_all_variants_and_both_realignments) {
  for (const Variant variant : kAll) {
    for (const Realignment realignment : {Realignment::kRolling, Realignment::kTags}) {
      for (const auto& [m, k] : std::vector<std::pair<int, int>>{{3, 3}, {4, 3}, {3, 5}, {1, 5}, {9, 11}}) {
        Work work = work_of(m, 7, k, 5, 5, variant);
        work.setup.realignment = realignment;
        expect_exact(work, fmt::format("{} {} x {}", variant_name(variant), m, k));
      }
    }
  }
}

TEST(RollingUnit, RO_4_stacked_storage_in_all_directions) {
  for (const Variant variant : kAll) {
    for (const Scheme scheme : {Scheme::kGroupRolling, Scheme::kWholeRolling}) {
      for (const int size : {4, 3, 7}) {
        Work work = work_of(size, size, size, 2, 2, variant);
        work.setup.scheme = scheme;
        work.setup.stacked_blocks = work.setup.stacked_cuts = 2;
        expect_exact(work, fmt::format("{} {} {}", variant_name(variant),
                                       kSchemeNames[static_cast<std::size_t>(scheme)], size));
      }
    }
  }
}

TEST(RollingUnit, RO_5_operand_reads) {
  const auto elements = [](Scheme scheme, int stacked) {
    Work work = work_of(4, 4, 4, 2, 2, Variant::kRightBUp);
    work.setup.scheme = scheme;
    work.setup.stacked_blocks = work.setup.stacked_cuts = static_cast<std::uint8_t>(stacked);
    const std::string text = outcome(work, Granularity::kClock);
    const std::size_t begin = text.find("elements ");
    return text.substr(begin, text.find(" |") - begin);
  };
  EXPECT_EQ(elements(Scheme::kGroupRolling, 2), "elements 32 64");
  EXPECT_EQ(elements(Scheme::kWholeRolling, 2), "elements 32 64");
  EXPECT_EQ(elements(Scheme::kPlain, 1), "elements 64 64") << "every block pair is loaded";
  EXPECT_EQ(elements(Scheme::kOutputStationary, 1), "elements 64 64");
}

TEST(RollingUnit, RO_6_groups_results_and_records) {
  for (const int groups : {1, 2, 4}) {
    Work work = work_of(10, 20, 9, 4, 4, Variant::kRightBUp);
    work.config.groups = groups;
    work.conv.post_parameters = true;
    expect_exact(work, fmt::format("{} groups", groups));
  }
  for (const int drain : {4, 8, 64}) {
    Work work = work_of(13, 4, 13, 4, 4, Variant::kLeftBRight);
    work.config.drain_bytes = drain, work.config.post_latency_cycles = drain;
    work.config.write_queue = 128;
    expect_exact(work, fmt::format("drain of {} bytes", drain));
  }
}

TEST(RollingUnit, RO_6_a_line_longer_than_the_port_takes_several_cycles) {
  // Eight lines of eight bytes, through 4 bytes a cycle: 16 cycles instead of 8.
  for (const Granularity granularity : {Granularity::kClock, Granularity::kTile}) {
    const auto done = [&](int port_bytes) {
      return std::stoi(testing::in_child([&] {
        Work work = work_of(8, 8, 8, 8, 8, Variant::kRightBUp);
        work.config.port_bytes = port_bytes;
        Bench bench(work, granularity);
        bench.send(work);
        bench.run(300);
        return fmt::format("{}", bench.driver.done(3));
      }));
    };
    EXPECT_EQ(done(4), done(8) + 8);
  }
}

TEST(RollingUnit, RO_1_to_6_random_products) {
  std::mt19937 random(20);
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  for (int i = 0; i < testing::budget(1000); ++i) {
    const int rows = 1 + below(20), columns = below(2) == 0 ? rows : 1 + below(20);
    // With lines of one element a request more, where kernels cross the boundary of a burst, costs a cycle:
    // they stay below it.
    const int start_row = below(3) == 0 ? below(rows) : 0, start_column = below(3) == 0 ? below(columns) : 0;
    const bool thin = std::min(rows - start_row, columns - start_column) == 1;
    const auto extent = [&] {
      return below(10) == 0 ? 1 + below(thin ? 60 : 200) : 1 + below(3 * std::max(rows, columns));
    };
    Work work =
        work_of(extent(), extent(), extent(), rows, columns, kAll[static_cast<std::size_t>(below(8))]);
    work.config.groups = 1 + below(8);
    work.config.start_row = start_row, work.config.start_column = start_column;
    work.config.line_queue = 256, work.config.result_blocks = 64, work.config.port_bytes = 32;
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
    expect_exact(work,
                 fmt::format("case {}: {} x {} x {} on {} x {}, {} groups, {} {} {} x {}", i, work.m, work.n,
                             work.k, rows, columns, work.config.groups, variant_name(work.setup.variant),
                             kSchemeNames[static_cast<std::size_t>(work.setup.scheme)],
                             work.setup.stacked_blocks, work.setup.stacked_cuts));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tilebeat::rolling
