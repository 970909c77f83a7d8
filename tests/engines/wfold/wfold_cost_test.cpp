// What runs of the W-fold engine are expected to cost, against what they take (SPEC MA-3).
#include "engines/wfold/choice.h"
#include "wfold_engine_bench.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace tilebeat::testing {

using wfold::kWfoldDataflow;
using wfold::WfoldConfig;
using wfold::WfoldReadMode;
using wfold::WfoldRun;

namespace {

/// A core as EngineCore has it.
HardwareConfig hardware_of(const EngineCase& c) {
  HardwareConfig hardware;
  hardware.dataflow = kWfoldDataflow;
  hardware.chip.emplace();
  hardware.chip->core.bus = c.bus;
  hardware.chip->core.nram = {kNramBytes, 16, c.bank_bytes, 1};
  hardware.dma.max_outstanding = c.max_outstanding;
  hardware.engine<WfoldConfig>() = c.config;
  return hardware;
}

/// A run costs what it takes to its last beat, or what its results take to leave, where that is longer: runs
/// follow one another at that pace.
void expect_close(const EngineCase& c) {
  const HardwareConfig hardware = hardware_of(c);
  wfold::RunCosts costs(hardware);
  const TaskCost cost = costs.of(c.setup(), {}, c.run());
  const EngineRun run = run_engine(c);
  const std::int64_t drain = std::int64_t{c.conv.out_height} * c.conv.out_width *
                             ceiling(c.conv.out_channels * 4, c.config.line_bytes);
  const auto cycles = static_cast<double>(std::max<std::int64_t>(run.released - kFirst, drain));
  EXPECT_NEAR(cost.cycles, cycles, 0.04 * cycles + 6);
  EXPECT_NEAR(cost.latency, static_cast<double>(run.done - run.released), 24);
}

bool fits(const EngineCase& c) {
  const SpecConv& v = c.conv;
  return std::int64_t{v.height} * v.width * v.channels <= kResult &&
         std::int64_t{v.out_height} * v.out_width * v.out_channels * 4 < kNramBytes - kResult &&
         ceiling(v.out_channels, 16) * v.kernel[0] * v.kernel[1] * v.channels <= kRegionBytes;
}

struct Reading {
  const char* name;
  int channels, pci;
  WfoldReadMode mode;
};
void PrintTo(const Reading& parameter, std::ostream* out) {
  *out << parameter.name;
}
class WfoldCost : public ::testing::TestWithParam<Reading> {};

TEST_P(WfoldCost, MA_3_is_what_a_run_takes) {
  int cases = 0;
  for (const int out_channels : {5, 64, 96}) {
    for (const int columns : {4, 17, 56}) {
      for (const int dilation : {1, 2, 5}) {
        EngineCase c = dense(GetParam().channels, out_channels, columns, 7);
        c.pci = GetParam().pci, c.mode = GetParam().mode;
        c.output_type = DType::kInt8;
        c.conv.dilation[0] = c.conv.dilation[1] = dilation;
        c.conv.width += 2 * (dilation - 1), c.conv.height += 2 * (dilation - 1);
        if (!fits(c)) continue;
        SCOPED_TRACE(std::to_string(out_channels) + " kernels, " + std::to_string(columns) +
                     " columns, dilation " + std::to_string(dilation));
        expect_close(c);
        ++cases;
      }
    }
  }
  EXPECT_GE(cases, 18);
}
INSTANTIATE_TEST_SUITE_P(Reading, WfoldCost,
                         ::testing::Values(Reading{"continuous", 16, 16, WfoldReadMode::kContinuous},
                                           Reading{"one_column", 64, 64, WfoldReadMode::kContinuous},
                                           Reading{"strided", 96, 64, WfoldReadMode::kStrided},
                                           Reading{"transit", 47, 16, WfoldReadMode::kTransit}),
                         [](const auto& reading) { return reading.param.name; });

TEST(WfoldCosts, MA_3_a_narrow_bus_and_a_short_line_queue) {
  for (const int width : {16, 32}) {
    for (const int queue : {2, 16}) {
      EngineCase c = dense(64, 48, 20, 5);
      c.pci = 64, c.bus.bytes_per_clock = width, c.config.line_queue = queue;
      c.output_type = DType::kInt8;
      SCOPED_TRACE(std::to_string(width) + " bytes a cycle, " + std::to_string(queue) + " lines");
      expect_close(c);
    }
  }
}

TEST(WfoldCosts, MA_3_kernels_through_a_narrow_port) {
  EngineCase c = dense(64, 48, 20, 5);
  c.pci = 64, c.config.weight_port_bytes = 16;
  expect_close(c);
}

TEST(WfoldCosts, MA_3_kernels_in_the_first_buffers) {
  for (const int columns : {4, 17, 56}) {
    for (const int second : {9, 17}) {
      EngineCase c = dense(64, 48, columns, 5);
      c.pci = 64, c.config.first_buffer = wfold::FirstBuffer::kKernels, c.config.second_buffer_lines = second;
      c.output_type = DType::kInt8;
      SCOPED_TRACE(std::to_string(columns) + " columns, " + std::to_string(second) + " lines");
      expect_close(c);
    }
  }
}

TEST(WfoldCosts, MA_3_two_masters_and_one_memory) {
  for (const int columns : {4, 17, 56}) {
    for (const auto first : {wfold::FirstBuffer::kMaps, wfold::FirstBuffer::kKernels}) {
      EngineCase c = dense(64, 48, columns, 5);
      c.pci = 64, c.config.first_buffer = first, c.output_type = DType::kInt8;
      c.bank_bytes = 64, c.config.masters = 2;
      SCOPED_TRACE(std::to_string(columns) + " columns, first buffer " +
                   std::to_string(static_cast<int>(first)));
      expect_close(c);
      c.config.masters = 1, c.config.storage = wfold::StoragePlace::kShared;
      expect_close(c);
    }
  }
}

// A last kernel tile with fewer kernels takes fewer beats.
TEST(WfoldCosts, MA_3_kernel_tiles_are_not_all_alike) {
  EngineCase c = dense(16, 64, 16, 6);
  const HardwareConfig hardware = hardware_of(c);
  wfold::RunCosts costs(hardware);
  c.output_type = DType::kInt8;
  const double whole = costs.of(c.setup(), {}, c.run()).cycles;
  c.conv.out_channels = 80;
  const double more = costs.of(c.setup(), {}, c.run()).cycles;
  EXPECT_LT(more, 1.5 * whole);
  expect_close(c);
}

TEST(WfoldCosts, MA_3_parts_of_sums_have_no_results_to_wait_for) {
  EngineCase c = dense(128, 64, 4);
  c.pci = 64, c.mode = WfoldReadMode::kStrided, c.cuts = {64};
  const HardwareConfig hardware = hardware_of(c);
  wfold::RunCosts costs(hardware);
  double sum = 0;
  for (const WfoldRun& run : c.runs()) sum += costs.of(c.setup(), {}, run).cycles;
  EXPECT_NEAR(sum, static_cast<double>(run_engine(c).released - kFirst), 6);
}

}  // namespace
}  // namespace tilebeat::testing
