// The rolling-register unit between a command processor and memories that are stubs: products of any size, in
// all variants, their clocks against SPEC RO-6 (support/rolling_formulas.h).
#include "tilebeat/engines/rolling/sim/rolling_unit.h"

#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recording_trace.h"
#include "rolling_formulas.h"
#include "unit_driver.h"

namespace tilebeat::rolling {
namespace {

using ::testing::HasSubstr;
using tilebeat::testing::rolling_clocks;
using tilebeat::testing::RollingCase;
using tilebeat::testing::RollingClocks;
using tilebeat::testing::RollingScheme;
using tilebeat::testing::ScriptedTarget;
using tilebeat::testing::UnitDriver;

constexpr std::array<Variant, 8> kAll{Variant::kRightBUp,   Variant::kRightBDown, Variant::kRightAUp,
                                      Variant::kRightADown, Variant::kLeftALeft,  Variant::kLeftARight,
                                      Variant::kLeftBLeft,  Variant::kLeftBRight};
constexpr std::uint64_t kResult = 0x100000, kRecords = 0x80000;
constexpr std::uint32_t kPixel = 1024;
constexpr int kRow = 256;  // bytes from a row of A to the next

/// A product A x B of bytes, and how it is worked on.
struct Work {
  int m = 3, n = 3, k = 3;
  RollingConfig config;
  RollingSetup setup;
  ConvSetup conv;
  std::vector<std::uint8_t> a, b;  ///< [m][n], [n][k]

  RollingRun run() const {
    RollingRun r;
    r.result = kResult, r.post = kRecords;
    r.result_pixel = kPixel;  // no row crosses the boundary of a burst
    r.rows = 1, r.columns = static_cast<std::uint16_t>(m);
    r.height = 1, r.width = r.columns;
    r.kernels = static_cast<std::uint16_t>(k), r.channels = static_cast<std::uint16_t>(n);
    return r;
  }
  RollingSchedule schedule() const { return schedule_of(shape_of(config), conv, setup, run()); }
  int value_a(int row, int i) const {
    const std::uint8_t byte = a[static_cast<std::size_t>(row * n + i)];
    return (conv.input_type == DType::kUint8 ? byte : static_cast<std::int8_t>(byte)) - conv.input_zero_point;
  }
  int value_b(int i, int column) const {
    return static_cast<std::int8_t>(b[static_cast<std::size_t>(i * k + column)]) - conv.weight_zero_point;
  }
  std::int32_t product(int row, int column) const {
    std::int32_t sum = conv.post_parameters ? column + 1 : 0;
    for (int i = 0; i < n; ++i) sum += value_a(row, i) * value_b(i, column);
    return sum;
  }
};

Work work_of(int m, int n, int k, int rows, int columns, Variant variant) {
  Work work;
  work.m = m, work.n = n, work.k = k;
  work.config.rows = rows, work.config.columns = columns;
  work.setup.variant = variant;
  work.setup.pixel_bytes = kRow, work.setup.group_channels = static_cast<std::uint16_t>(n);
  work.setup.group_kernels = work.setup.block_kernels = static_cast<std::uint16_t>(k);
  for (int i = 0; i < m * n; ++i) work.a.push_back(static_cast<std::uint8_t>(i + 1));
  for (int i = 0; i < n * k; ++i) work.b.push_back(static_cast<std::uint8_t>(3 * i - 7));
  return work;
}

/// The unit with memories that answer in the clock after a request.
struct Bench {
  testing::RecordingTrace trace;
  SimContext context;
  UnitDriver driver;
  ScriptedTarget a, b, results;
  RollingUnit unit;

  Bench(const Work& work, Granularity granularity, bool traced = false)
      : context{ClockDomain(1000), {traced ? &trace : nullptr, nullptr}},
        driver("driver", context),
        a("a_memory", context),
        b("b_memory", context),
        results("results_memory", context),
        unit("rolling", context, work.config, 8, granularity) {
    testing::strict_systemc();
    driver.command.bind(unit.command);
    unit.completion.bind(driver.completion);
    unit.loaders[0].port.socket.bind(a.socket);
    unit.loaders[1].port.socket.bind(b.socket);
    unit.results.port.socket.bind(results.socket);
    fill(work);
  }
  void fill(const Work& work) {
    for (int row = 0; row < work.m; ++row) {
      for (int i = 0; i < work.n; ++i)
        a.bytes[static_cast<std::uint64_t>(row * kRow + i)] =
            work.a[static_cast<std::size_t>(row * work.n + i)];
    }
    const RollingSchedule schedule = work.schedule();
    std::uint64_t at = 0;
    for (int cut = 0; cut < schedule.cuts(); ++cut) {
      const Span elements = schedule.cut(cut);
      const bool across = work.setup.transposition == Transposition::kWhileLoading;
      const int outer = across ? elements.size : work.k, inner = across ? work.k : elements.size;
      for (int i = 0; i < outer; ++i) {
        for (int j = 0; j < inner; ++j) {
          const int element = elements.begin + (across ? i : j), column = across ? j : i;
          b.bytes[at++] = work.b[static_cast<std::size_t>(element * work.k + column)];
        }
      }
    }
    for (int column = 0; work.conv.post_parameters && column < work.k; ++column) {
      PostParameter record;
      record.bias = column + 1;
      const auto bytes = encode(record);
      for (std::size_t i = 0; i < bytes.size(); ++i)
        b.bytes[kRecords + static_cast<std::uint64_t>(column) * bytes.size() + i] = bytes[i];
    }
  }
  void send(const Work& work) {
    driver.send(0, work.conv);
    driver.send(0, work.setup);
    driver.send(0, work.run());
  }
  std::string run(Cycle cycles) { return testing::error_of_run(cycles, 1000); }
  std::int32_t result(int row, int column) const {
    const std::uint64_t address =
        kResult + static_cast<std::uint64_t>(row) * kPixel + static_cast<std::uint64_t>(4 * column);
    std::uint32_t value = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const auto byte = results.bytes.find(address + i);
      value |= (byte == results.bytes.end() ? 0U : std::uint32_t{byte->second}) << (8 * i);
    }
    return static_cast<std::int32_t>(value);
  }
};

/// The case of the formulas.
RollingCase case_of(const Work& work) {
  const RollingConfig& config = work.config;
  RollingCase c;
  c.m = work.m, c.n = work.n, c.k = work.k;
  const bool rows = lines_are_rows(work.setup.variant);
  const int height = config.rows - config.start_row, width = config.columns - config.start_column;
  c.lines = rows ? height : width, c.lanes = rows ? width : height;
  c.tree_lanes = rows ? config.columns : config.rows;
  c.groups = config.groups, c.blocks = work.setup.stacked_blocks, c.cuts = work.setup.stacked_cuts;
  c.scheme = static_cast<RollingScheme>(work.setup.scheme);
  if (c.scheme == RollingScheme::kOutputStationary) {
    c.lines = height, c.columns = width, c.lanes = std::min(height, width);
  }
  c.a_stays = work.setup.variant == Variant::kRightBUp || work.setup.variant == Variant::kRightBDown ||
              work.setup.variant == Variant::kLeftBLeft || work.setup.variant == Variant::kLeftBRight;
  c.wrap_buffer = work.setup.wrap == Wrap::kBuffer;
  c.tags = work.setup.realignment == Realignment::kTags;
  c.records = work.conv.post_parameters;
  c.drain_bytes = config.drain_bytes, c.post_latency = config.post_latency_cycles;
  return c;
}

/// Runs in a child and tells everything in a line: what differs from the product, the clocks and counters.
std::string outcome(const Work& work, Granularity granularity) {
  return testing::in_child([&] {
    Bench bench(work, granularity);
    bench.send(work);
    const Cycle limit = rolling_clocks(case_of(work)).done + 1000;
    const std::string error = bench.run(limit);
    if (!error.empty()) return error;
    for (int row = 0; row < work.m; ++row) {
      for (int column = 0; column < work.k; ++column) {
        if (bench.result(row, column) != work.product(row, column))
          return fmt::format("c[{},{}] is {}, not {}", row, column, bench.result(row, column),
                             work.product(row, column));
      }
    }
    const auto clocks = [](CycleLedger& ledger, Cycle until) {
      ledger.settle(until);
      return fmt::format("{}", fmt::join(ledger.cycles(), " "));
    };
    const ArrayStats& stats = bench.unit.stats;
    std::string text = fmt::format(
        "done {} released {} beats {} moves {} realign {} macs {} rolls {} exchanges {} corrections {} "
        "elements {} {}",
        bench.driver.done(3), bench.driver.released(3), stats.beats,
        bench.unit.ledger.cycles()[static_cast<std::size_t>(Activity::kRoll)],
        bench.unit.results.stats.realign_clocks, stats.useful_macs, stats.rolls, stats.exchanges,
        stats.corrections, stats.elements, stats.elements_reloading);
    text += " | " + clocks(bench.unit.ledger, limit) + " | " + clocks(bench.unit.results.ledger, limit) +
            " | " + clocks(bench.unit.results.port.ledger, limit);
    for (OperandLoader& loader : bench.unit.loaders)
      text += " | " + clocks(loader.ledger, limit) + " | " + clocks(loader.port.ledger, limit);
    return text;
  });
}

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
  // Lines enter in 3 to 5, beats are 6 to 8; sums take 3 clocks through trees of 4 lanes; 2 clocks of
  // realignment; three rows of 12 bytes leave, a request 4 clocks later, its response in the next one.
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

TEST(RollingUnit, RO_1_to_6_random_products) {
  std::mt19937 random(20);
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  for (int i = 0; i < 1000; ++i) {
    const int rows = 1 + below(20), columns = below(2) == 0 ? rows : 1 + below(20);
    // With lines of one element a request more, where kernels cross the boundary of a burst, costs a clock:
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
    if (work.setup.scheme == Scheme::kGroupRolling || work.setup.scheme == Scheme::kWholeRolling) {
      work.setup.stacked_blocks = static_cast<std::uint8_t>(1 + below(work.config.groups));
      work.setup.stacked_cuts =
          static_cast<std::uint8_t>(1 + below(work.config.groups / work.setup.stacked_blocks));
    }
    work.setup.realignment = static_cast<Realignment>(below(2));
    work.setup.wrap = static_cast<Wrap>(below(2));
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
