// What a memory core may have besides SRAM, GDMA, CDMA and broadcast: one merged DMA engine, a scalar unit
// (SPEC HI-3).
#include "chip_run.h"
#include "recording_trace.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kCopySource = 0x44000, kCopyTarget = 0x84000;
constexpr int kCopyBytes = 4096;

std::string copy(const std::string& unit, std::uint64_t from, std::uint64_t to,
                 const std::string& rest = "") {
  return fmt::format("{}.copy source={:#x} destination={:#x} run_bytes={} {}", unit, from, to, kCopyBytes,
                     rest);
}

std::vector<std::uint8_t> pattern() {
  std::vector<std::uint8_t> data(kCopyBytes);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i * 11 + i / 256);
  return data;
}

// ---- merged DMA ----

// The memory core of cluster 0 has processor number 1: DRAM to SRAM, SRAM to the other cluster's, SRAM to its
// core; what the others read of it they store.
std::unique_ptr<ChipRun> three_ways(bool merged, RecordingTimeline& timeline) {
  HardwareConfig hardware = small_chip(2, 1);
  hardware.chip->merged_dma = merged;
  SimulationOptions options;
  options.observers = {nullptr, &timeline};
  auto run = std::make_unique<ChipRun>(
      hardware,
      plan_of({{1,
                {copy("gdma", kCopySource, sram_address(0), "completes map_full[0]"),
                 copy("cdma", sram_address(0) + 8192, sram_address(1) + 4096),
                 copy("mvdma", sram_address(0), multicast_address(1, false, 512),
                      "waits map_full[0] completes map_full[1]"),
                 "signal processors=1 semaphore=203 waits map_full[1]", "halt"}},
               {0, {copy("iodma", nram_address(0) + 512, kCopyTarget, "waits peer[3]"), "halt"}}}),
      options);
  run->write(kCopySource, pattern());
  run->run();
  return run;
}

struct CopySpan {
  Picoseconds begin = 0, end = 0;
};
std::vector<CopySpan> spans_of(const RecordingTimeline& timeline, const std::string& track) {
  std::vector<CopySpan> found;
  for (const auto& span : timeline.spans) {
    if (span.track == track) found.push_back({span.begin, span.end});
  }
  return found;
}

TEST(MergedDma, HI_3_executes_all_copies_of_the_memory_core_in_the_programs_order) {
  RecordingTimeline timeline;
  const auto run = three_ways(true, timeline);
  ASSERT_EQ(run->error, "");
  EXPECT_EQ(run->read(kCopyTarget, kCopyBytes), pattern());
  EXPECT_EQ(run->counter("cluster0.memory.dma", "written"), 3 * kCopyBytes);
  EXPECT_EQ(run->counter("link.cluster0", "written"), kCopyBytes);
  EXPECT_EQ(run->counter("noc.cluster0.memory.gdma", "read"), kCopyBytes);
  EXPECT_EQ(run->counter("cluster0.memory.broadcast", "taken"), kCopyBytes);
  EXPECT_EQ(run->unbalanced(), "");
  const auto spans = spans_of(timeline, "cluster0.memory.dma");
  ASSERT_EQ(spans.size(), 3U);
  for (std::size_t i = 1; i < 3; ++i) EXPECT_LE(spans[i - 1].end, spans[i].end) << "in order";
}

// Apart, the copy between clusters is done long before that from DRAM, which begins earlier.
TEST(MergedDma, HI_3_engines_that_are_not_merged_work_side_by_side) {
  RecordingTimeline timeline;
  ASSERT_EQ(three_ways(false, timeline)->error, "");
  EXPECT_LT(spans_of(timeline, "cluster0.memory.cdma").at(0).end,
            spans_of(timeline, "cluster0.memory.gdma").at(0).end);
}

// Merged, nothing of it is written before all from DRAM is: its beats on the link come on top.
TEST(MergedDma, HI_3_copies_share_one_engine) {
  RecordingTimeline timeline;
  ASSERT_EQ(three_ways(true, timeline)->error, "");
  const auto all = spans_of(timeline, "cluster0.memory.dma");
  ASSERT_EQ(all.size(), 3U);
  constexpr Picoseconds kPeriod = 1000, kBeats = kCopyBytes / 32, kResponse = 16;
  EXPECT_GE(all[1].end, all[0].end + (kBeats - kResponse) * kPeriod);
}

TEST(MergedDma, HI_3_refuses_a_copy_between_outer_sides) {
  HardwareConfig hardware = small_chip(2, 1);
  hardware.chip->merged_dma = true;
  ChipRun run(hardware, plan_of({{1, {copy("cdma", sram_address(1), kCopyTarget), "halt"}}}));
  run.run();
  EXPECT_THAT(run.error, HasSubstr("cdma.copy:"));
  EXPECT_THAT(run.error, HasSubstr("lie on the same side"));
}

// ---- scalar unit ----

std::vector<std::uint8_t> doubles(const std::vector<double>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(double));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::unique_ptr<ChipRun> scalar(const std::string& kind, int lanes) {
  HardwareConfig hardware = small_chip(1, 1);
  hardware.chip->scalar_lanes = lanes;
  const std::string run_it = fmt::format(
      "vector.run kind={} rows=4 columns=5 channels=6 a=0 b=512 parameters=1024 destination=2048 waits "
      "map_full[0] "
      "completes result_full[0]",
      kind);
  auto run = std::make_unique<ChipRun>(
      hardware,
      plan_of({{1,
                {copy("gdma", kCopySource, sram_address(0), "completes map_full[0]"), run_it,
                 fmt::format("gdma.copy source={:#x} destination={:#x} run_bytes=120 waits result_full[0]",
                             sram_address(0) + 2048, kCopyTarget),
                 "halt"}}}));
  std::vector<std::uint8_t> source(kCopyBytes, 0);
  for (std::size_t i = 0; i < 120; ++i) {
    source[i] = static_cast<std::uint8_t>(i), source[512 + i] = static_cast<std::uint8_t>(3 * i % 7);
  }
  const auto factors = doubles({1, 1, 1});
  std::copy(factors.begin(), factors.end(), source.begin() + 1024);
  run->write(kCopySource, source);
  run->run();
  return run;
}

class ScalarUnit : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(ScalarUnit, HI_3_adds_subtracts_and_multiplies_in_the_sram) {
  const auto& [name, lanes] = GetParam();
  const std::string kind = name;
  const auto run = scalar(kind, lanes);
  ASSERT_EQ(run->error, "");
  const auto result = run->read(kCopyTarget, 120);
  for (int i = 0; i < 120; ++i) {
    const int a = i, b = 3 * i % 7;
    const int wanted = std::min(kind == "add" ? a + b : kind == "sub" ? a - b : a * b, 127);
    EXPECT_EQ(static_cast<std::int8_t>(result[static_cast<std::size_t>(i)]), wanted) << i;
  }
  EXPECT_EQ(run->counter("cluster0.memory.scalar", "results"), 120);
  EXPECT_EQ(run->counter("cluster0.memory.scalar", "lane_clocks"), (120 + lanes - 1) / lanes);
  EXPECT_EQ(run->unbalanced(), "");
}

INSTANTIATE_TEST_SUITE_P(Kinds, ScalarUnit,
                         ::testing::Combine(::testing::Values("add", "sub", "mul"), ::testing::Values(1, 4)),
                         [](const auto& c) {
                           return fmt::format("{}_{}", std::get<0>(c.param), std::get<1>(c.param));
                         });

TEST(ScalarUnitRefusal, HI_3_executes_nothing_else) {
  EXPECT_THAT(scalar("maxpool", 4)->error,
              HasSubstr("a memory core's scalar unit executes add, sub, mul, max and min"));
}
TEST(ScalarUnitRefusal, HI_3_is_an_option) {
  EXPECT_THAT(scalar("add", 0)->error, HasSubstr("this processor has no vector unit"));
}

}  // namespace
}  // namespace tilebeat::testing
