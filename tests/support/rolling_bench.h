#pragma once

// The rolling-register unit between a command processor and memories that are stubs.

#include "engines/rolling/sim/rolling_unit.h"
#include "recording_trace.h"
#include "rolling_formulas.h"
#include "unit_driver.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilebeat::rolling {

namespace testing = tilebeat::testing;
using testing::rolling_clocks;
using testing::RollingCase;
using testing::RollingClocks;
using testing::RollingScheme;
using testing::ScriptedTarget;
using testing::UnitDriver;

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

inline Work work_of(int m, int n, int k, int rows, int columns, Variant variant) {
  Work work;
  work.m = m, work.n = n, work.k = k;
  work.config.rows = rows, work.config.columns = columns;
  work.config.result_blocks = 4;  // for two blocks that are stacked
  work.setup.variant = variant;
  work.setup.pixel_bytes = kRow, work.setup.group_channels = static_cast<std::uint16_t>(n);
  work.setup.group_kernels = work.setup.block_kernels = static_cast<std::uint16_t>(k);
  for (int i = 0; i < m * n; ++i) work.a.push_back(static_cast<std::uint8_t>(i + 1));
  for (int i = 0; i < n * k; ++i) work.b.push_back(static_cast<std::uint8_t>(3 * i - 7));
  return work;
}

/// What lies in memory at the beginning.
struct MemoryImage {
  std::map<std::uint64_t, std::uint8_t> a, b;
};
inline MemoryImage image_of(const Work& work) {
  MemoryImage image;
  for (int row = 0; row < work.m; ++row) {
    for (int i = 0; i < work.n; ++i)
      image.a[static_cast<std::uint64_t>(row * kRow + i)] =
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
        image.b[at++] = work.b[static_cast<std::size_t>(element * work.k + column)];
      }
    }
  }
  for (int column = 0; work.conv.post_parameters && column < work.k; ++column) {
    PostParameter record;
    record.bias = column + 1;
    const auto bytes = encode(record);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      image.b[kRecords + static_cast<std::uint64_t>(column) * bytes.size() + i] = bytes[i];
  }
  return image;
}

/// The unit with memories that answer in the cycle after a request.
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
        unit("rolling", context, work.config, 8, std::nullopt, granularity) {
    testing::strict_systemc();
    driver.command.bind(unit.command);
    unit.completion.bind(driver.completion);
    const auto ports = unit.bus_ports();
    ports[0].socket->bind(a.socket);
    ports[1].socket->bind(b.socket);
    ports[2].socket->bind(results.socket);
    fill(work);
  }
  void fill(const Work& work) {
    const MemoryImage image = image_of(work);
    a.bytes = image.a, b.bytes = image.b;
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
inline RollingCase case_of(const Work& work) {
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
  c.to_front = rolls_to_front(work.setup.variant);
  c.wrap_buffer = work.setup.wrap == Wrap::kBuffer;
  c.spare_shared = config.spare_lines == SpareLines::kShared, c.multipliers = config.multipliers;
  c.tags = work.setup.realignment == Realignment::kTags;
  c.assigned = config.registers == RegisterGroups::kAssigned;
  c.record_slots = config.record_slots > 0 ? config.record_slots : config.groups + 2;
  c.records = work.conv.post_parameters;
  c.drain_bytes = config.drain_bytes, c.post_latency = config.post_latency_cycles;
  return c;
}

/// What a unit reported and counted, in a line; its ledgers until cycle `limit`.
inline std::string text_of(RollingUnit& unit, const UnitDriver& driver, Cycle limit) {
  const auto clocks = [](CycleLedger& ledger, Cycle until) {
    ledger.settle(until);
    return fmt::format("{}", fmt::join(ledger.cycles(), " "));
  };
  const ArrayStats& stats = unit.stats;
  std::string text = fmt::format(
      "done {} released {} beats {} moves {} realign {} macs {} rolls {} exchanges {} corrections {} "
      "elements {} {}",
      driver.done(3), driver.released(3), stats.beats,
      unit.ledger.cycles()[static_cast<std::size_t>(Activity::kRoll)], unit.results.stats.realign_clocks,
      stats.useful_macs, stats.rolls, stats.exchanges, stats.corrections,
      unit.loaders[0]->stats.elements + unit.loaders[1]->stats.elements, stats.elements_reloading);
  text += " | " + clocks(unit.ledger, limit) + " | " + clocks(unit.results.ledger, limit) + " | " +
          clocks(unit.results.request_ledger(), limit);
  for (auto& loader : unit.loaders)
    text += " | " + clocks(loader->ledger, limit) + " | " + clocks(loader->request_ledger(), limit);
  return text;
}

/// Runs in a child and tells everything in a line: what differs from the product, the cycles and counters.
inline std::string outcome(const Work& work, Granularity granularity) {
  return testing::in_child([&] {
    Bench bench(work, granularity);
    bench.send(work);
    const Cycle limit = rolling_clocks(case_of(work)).done + 1000;
    std::string error = bench.run(limit);
    if (!error.empty()) return error;
    for (int row = 0; row < work.m; ++row) {
      for (int column = 0; column < work.k; ++column) {
        if (bench.result(row, column) != work.product(row, column))
          return fmt::format("c[{},{}] is {}, not {}", row, column, bench.result(row, column),
                             work.product(row, column));
      }
    }
    return text_of(bench.unit, bench.driver, limit);
  });
}

}  // namespace tilebeat::rolling
