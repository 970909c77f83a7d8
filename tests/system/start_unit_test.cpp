// A chip whose start unit starts all processors (SPEC HI-5).
#include "chip_run.h"
#include "program/plan.h"
#include "recording_trace.h"
#include "simulated_run.h"
#include "units/host.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kClusters = 2, kCores = 2, kProcessors = kClusters * (kCores + 1);

HardwareConfig start_chip() {
  HardwareConfig hardware = small_chip(kClusters, kCores);
  hardware.host.start = HostStart::kTable;
  return hardware;
}

/// Programs that do nothing, of these processors.
Plan idle_programs(const std::vector<int>& processors, const HardwareConfig& hardware) {
  std::vector<HandProgram> programs;
  for (const int p : processors) programs.push_back({p, {"halt"}});
  Plan plan = plan_of(programs);
  plan.dram_bytes = 5;
  place_start_tables(plan, hardware);
  return plan;
}

TEST(StartTable, HI_5_an_entry_a_program_behind_what_lies_in_dram) {
  const Plan plan = idle_programs({4, 1}, start_chip());
  ASSERT_EQ(plan.start_tables.size(), 1U);
  EXPECT_EQ(plan.start_tables[0].address, 64U);
  EXPECT_EQ(plan.start_tables[0].bytes, 32U);
  EXPECT_EQ(plan.dram_bytes, 96U);
  std::vector<std::uint8_t> wanted;
  for (const int p : {4, 1}) {
    const std::uint64_t address = kProgramBase + static_cast<std::uint64_t>(p) * kProgramRoom;
    for (int i = 0; i < 8; ++i) wanted.push_back(static_cast<std::uint8_t>(address >> 8 * i));
    wanted.insert(wanted.end(), {64, 0, 0, 0, static_cast<std::uint8_t>(p), 0, 0, 0});
  }
  EXPECT_EQ(plan.image.back().bytes, wanted);
  EXPECT_EQ(plan.image.back().address, 64U);
  HardwareConfig each = start_chip();
  each.host.start = HostStart::kEach;
  EXPECT_TRUE(idle_programs({4, 1}, each).start_tables.empty());
}

struct Span {
  Cycle begin = 0, end = 0;
};
std::vector<Span> spans_of(const RecordingTimeline& timeline, const std::string& port, Picoseconds period) {
  std::vector<Span> found;
  for (const auto& span : timeline.spans) {
    if (span.track.find("noc." + port) != std::string::npos)
      found.push_back({span.begin / period, span.end / period});
  }
  return found;
}

// Three writes; the table in bursts of four entries. The first entry of a burst goes out in the cycle after
// it has arrived, the others one a cycle behind it; a processor acts a cycle later, and fetches one later
// still.
TEST(StartUnit, HI_5_CY_6_processors_start_a_cycle_apart) {
  const HardwareConfig hardware = start_chip();
  RecordingTimeline timeline;
  SimulationOptions options;
  options.observers.timeline = &timeline;
  ChipRun run(hardware, idle_programs({0, 1, 2, 3, 4, 5}, hardware), options);
  run.run();
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(spans_of(timeline, "host", hardware.clock_ps()).size(), 3U);
  const std::vector<Span> bursts = spans_of(timeline, "start", hardware.clock_ps());
  ASSERT_EQ(bursts.size(), 2U) << "96 bytes";
  Cycle given = -1;
  for (int p = 0; p < kProcessors; ++p) {
    given = std::max(given + 1, bursts[static_cast<std::size_t>(p / 4)].end + 1);
    const std::string name = p % 3 == 2 ? fmt::format("cluster{}.memory.fetch", p / 3)
                                        : fmt::format("cluster{}.core{}.fetch", p / 3, p % 3);
    const std::vector<Span> fetches = spans_of(timeline, name, hardware.clock_ps());
    ASSERT_EQ(fetches.size(), 1U) << name;
    EXPECT_EQ(fetches[0].begin, given + 2) << name;
  }
}

TEST(StartUnit, HI_5_only_those_of_the_table_are_started) {
  const HardwareConfig hardware = start_chip();
  ChipRun run(hardware, idle_programs({3}, hardware));
  run.run();
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(run.counter("cluster1.core0.control", "instructions"), 1);
  EXPECT_EQ(run.counter("cluster0.core0.control", "instructions"), 0);
}

TEST(StartUnit, HI_5_tables_that_cannot_be_are_errors) {
  const auto error_of = [](const std::vector<int>& processors, const std::function<void(Plan&)>& change) {
    return in_child([&] {
      const HardwareConfig hardware = start_chip();
      Plan plan = idle_programs(processors, hardware);
      change(plan);
      ChipRun run(hardware, plan);
      run.run();
      return run.error;
    });
  };
  const auto nothing = [](Plan&) {};
  EXPECT_THAT(error_of({2, 2}, nothing), HasSubstr("memory.control: started while a program is running"));
  EXPECT_THAT(error_of({0}, [](Plan& plan) { plan.image.back().bytes[12] = 6; }),
              HasSubstr("chip.start: the table names processor 6, there are 6"));
  EXPECT_THAT(error_of({0}, [](Plan& plan) { plan.start_tables[0].bytes = 8; }),
              HasSubstr("chip.start: a table of 8 bytes at 0x40 is not whole entries of 16 bytes"));
}

// A tiny program on 1 and on 64 processors: one by one, it is the host that takes the time.
TEST(StartUnit, HI_5_many_processors_start_nearly_as_fast_as_one) {
  const auto cycles = [](HostStart start, int clusters) {
    return std::stoll(in_child([&] {
      HardwareConfig hardware = small_chip(clusters, 3);
      hardware.host.start = start;
      std::vector<int> processors(static_cast<std::size_t>(4 * clusters));
      std::iota(processors.begin(), processors.end(), 0);
      ChipRun run(hardware, idle_programs(processors, hardware));
      run.run();
      return run.error + std::to_string(run.snapshot.at);
    }));
  };
  const auto one = cycles(HostStart::kTable, 1), many = cycles(HostStart::kTable, 16);
  // 60 entries more, one a cycle, as long as DRAM delivers four of them in four cycles.
  EXPECT_GE(many - one, 60);
  const auto each = cycles(HostStart::kEach, 16);
  EXPECT_LT(2 * many, each);
}

}  // namespace
}  // namespace tilebeat::testing
