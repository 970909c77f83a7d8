// Sums that several runs of the W-fold engine add up, one part of the channels each (SPEC WF-4, WF-8, MA-1).
#include "wfold_engine_bench.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {

using wfold::WfoldReadMode;

namespace {

/// 4 columns of 64 kernels 1x1 over `blocks` channel blocks.
EngineCase pixels(int blocks) {
  EngineCase c = dense(64 * blocks, 64, 4);
  c.conv.kernel[0] = c.conv.kernel[1] = 1, c.conv.width = 4, c.conv.height = 1;
  c.pci = 64, c.mode = WfoldReadMode::kStrided;
  return c;
}

// A run of its own begins with a request in the cycle after the last beat; its fourth line enters three
// cycles after the first one, and is used in the next.
TEST(WfoldSums, WF_8_a_part_costs_the_way_of_its_first_lines) {
  const Cycle whole = run_engine(pixels(4)).released;
  const Cycle scratchpad = 1 + 1 + 64 / 64, trip = 1 + scratchpad + 1 + 1;
  const Cycle fill = trip + 3 + 1;
  EXPECT_EQ(whole, kFirst + fill + 4 * 4);
  for (const std::vector<int>& cuts : {std::vector<int>{64}, {192}, {64, 128}, {64, 128, 192}}) {
    EngineCase c = pixels(4);
    c.cuts = cuts;
    EXPECT_EQ(run_engine(c).released, whole + static_cast<Cycle>(cuts.size()) * fill)
        << cuts.size() << " cuts, the first at " << cuts.front();
  }
}

TEST(WfoldSums, WF_8_results_leave_the_third_buffers_once) {
  EngineCase c = pixels(3);
  const EngineRun whole = run_engine(c);
  c.cuts = {64, 128};
  const EngineRun parts = run_engine(c);
  EXPECT_EQ(parts.master.runs, 3);
  EXPECT_EQ(parts.master.tiles, 1) << "of all runs together";
  EXPECT_EQ(cycles_of(parts.drain, Activity::kBusy), 4 * 4) << "64 kernels of 4 columns";
  EXPECT_EQ(parts.writer.requests, whole.writer.requests);
  EXPECT_EQ(parts.writer.bytes, whole.writer.bytes) << "no partial sum goes to NRAM";
  EXPECT_EQ(parts.reader.requests, whole.reader.requests);
  EXPECT_EQ(parts.reader.bytes, whole.reader.bytes) << "nor comes from there";
  EXPECT_EQ(parts.master.useful_macs, whole.master.useful_macs);
  EXPECT_EQ(parts.done - parts.released, whole.done - whole.released);
}

TEST(WfoldSums, WF_8_records_are_read_with_the_part_that_ends_the_sums) {
  EngineCase c = pixels(2);
  c.biases = true;
  const EngineRun whole = run_engine(c);
  c.cuts = {64};
  const EngineRun parts = run_engine(c);
  EXPECT_EQ(cycles_of(whole.ports, Activity::kBusy), 2 * 4 + 4) << "lines of 4 kernels, and their records";
  EXPECT_EQ(cycles_of(parts.ports, Activity::kBusy), 2 * 4 + 4);
}

TEST(WfoldSums, WF_4_WF_5_parts_of_a_folded_pixel_add_up) {
  for (const int channels : {70, 130, 200}) {
    for (int stride = 1; stride <= 3; ++stride) {
      for (const int kernel : {1, 3}) {
        for (const int pci : {32, 64}) {
          EngineCase c = dense(channels, channels % 64, 4);
          c.pci = pci, c.mode = kernel == 1 ? WfoldReadMode::kStrided : WfoldReadMode::kTransit;
          c.config.transit_bytes = 1 << 16;
          c.conv.kernel[0] = c.conv.kernel[1] = kernel, c.conv.stride[1] = stride;
          c.conv.height = kernel, c.conv.width = 3 * stride + kernel - 1;
          c.conv.pad[1] = 1, c.biases = stride > 1, c.block_outer = channels > 100;
          c.cuts = {64};
          if (channels * stride > 192) c.cuts.push_back(192);
          SCOPED_TRACE(std::to_string(channels) + " channels, stride " + std::to_string(stride) +
                       ", kernel " + std::to_string(kernel) + ", Pci " + std::to_string(pci));
          run_engine(c);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilebeat::testing
