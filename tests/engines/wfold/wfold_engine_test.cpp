// The W-fold engine with its two storages on a small bus: requests, lines and results (SPEC WF-2, WF-5, WF-7,
// WF-8).
#include "wfold_engine_bench.h"

#include <gtest/gtest.h>

namespace tilebeat::testing {

using wfold::WfoldEngine;
using wfold::WfoldReadMode;

namespace {

// ---- reading: WF-2 ----

TEST(WfoldEngine, WF_2_continuous_one_request_a_line) {
  const EngineCase c = dense(16, 64, 16, 2);
  const EngineRun run = run_engine(c);
  // Lines of 4 columns over 18: the last of 5 has two columns that do not exist, and is one request still.
  EXPECT_EQ(run.reader.requests, 2 * 3 * 5);
  EXPECT_EQ(run.reader.requests, wfold_requests(c.conv, c.engine(), c.pci, SpecReading::kContinuous));
  EXPECT_EQ(run.reader.bytes, 2 * 3 * 18 * 16);
}

TEST(WfoldEngine, WF_2_strided_one_request_a_column_and_block) {
  EngineCase c = dense(47, 20, 14);
  c.mode = WfoldReadMode::kStrided;
  const EngineRun run = run_engine(c);
  EXPECT_EQ(run.reader.requests, 3 * 3 * 16) << "kernel rows x blocks x columns that exist";
  EXPECT_EQ(run.reader.bytes, 3 * 47 * 16);
}

TEST(WfoldEngine, WF_2_transit_once_or_once_a_block) {
  EngineCase c = dense(47, 20, 14);
  c.mode = WfoldReadMode::kTransit;
  // A row window: 5 lines of 4 columns of 47 bytes.
  c.config.transit_bytes = 2 * 5 * 4 * 47;
  EXPECT_EQ(run_engine(c).reader.requests, 3 * 16) << "half of it holds the row window";
  c.config.transit_bytes -= 1;
  EXPECT_EQ(run_engine(c).reader.requests, 3 * 3 * 16) << "it is read once for each block";
}

TEST(WfoldEngine, WF_2_absent_rows_and_columns_are_not_requested) {
  for (const WfoldReadMode mode : {WfoldReadMode::kContinuous, WfoldReadMode::kStrided}) {
    EngineCase c = dense(16, 16, 20, 4);
    c.mode = mode;
    c.conv.pad[0] = 2, c.conv.pad[1] = 5;  // of a map that ends early at the right, too
    c.conv.height = 3, c.conv.width = 9;
    const EngineRun run = run_engine(c);
    EXPECT_EQ(run.reader.requests,
              wfold_requests(
                  c.conv, c.engine(), c.pci,
                  mode == WfoldReadMode::kContinuous ? SpecReading::kContinuous : SpecReading::kStrided));
  }
}

TEST(WfoldEngine, WF_9_lines_outside_the_map_are_not_broadcast) {
  EngineCase c = dense(14, 64, 9, 4);
  c.conv.kernel[0] = c.conv.kernel[1] = 1, c.conv.height = 4, c.conv.width = 9;  // figure 7
  EXPECT_EQ(run_engine(c).master.broadcast_lines, 12);
  c.conv.channels = 47, c.mode = WfoldReadMode::kTransit;
  EXPECT_EQ(run_engine(c).master.broadcast_lines, 36);
  c.conv.pad[0] = 30, c.conv.pad[1] = 70;  // outputs of padding alone
  EXPECT_EQ(run_engine(c).master.broadcast_lines, 0);
}

// The worked examples: with s stages their results are complete 39 + s and 57 + s cycles after the first
// line.
TEST(WfoldEngine, WF_9_stages_of_the_adder_trees_delay_the_results) {
  for (const int channels : {16, 48}) {
    EngineCase c = dense(channels, channels == 16 ? 64 : 32, 16);
    c.mode = channels == 16 ? WfoldReadMode::kContinuous : WfoldReadMode::kTransit;
    const EngineRun one = run_engine(c);
    for (const int stages : {2, 5}) {
      c.config.adder_stages = stages;
      const EngineRun more = run_engine(c);
      EXPECT_EQ(more.done - one.done, stages - 1) << channels << " channels";
      EXPECT_EQ(more.released, one.released) << "operands are read as before";
    }
  }
}

TEST(WfoldEngine, WF_5_a_map_that_is_folded_where_it_lies) {
  for (int stride = 1; stride <= 8; ++stride) {
    EngineCase c = dense(3, 18, 9, 2);
    c.conv.stride[0] = 2, c.conv.stride[1] = stride;
    c.conv.kernel[1] = 5, c.conv.dilation[1] = stride % 3 + 1;
    c.conv.pad[1] = 2, c.conv.pad[0] = 1;
    c.conv.width = 8 * stride + 4 * c.conv.dilation[1] + 1 - 3, c.conv.height = 4;
    c.pci = 32;
    c.mode = stride * 3 <= 32 ? WfoldReadMode::kContinuous : WfoldReadMode::kStrided;
    run_engine(c);
  }
}

// ---- results: WF-7 ----

TEST(WfoldEngine, WF_7_one_write_request_a_line_when_all_channels_fit_it) {
  EngineCase c = dense(16, 32, 24);
  c.output_type = DType::kInt8, c.result_granularity = 32;  // lines of 2 columns
  const EngineRun run = run_engine(c);
  EXPECT_EQ(run.writer.requests, 24 / 2);
  EXPECT_EQ(run.writer.requests, wfold_writes(c.conv, c.engine(), c.pci, 32));
  EXPECT_EQ(run.writer.bytes, 24 * 32);
}

TEST(WfoldEngine, WF_7_whole_parts_and_a_remainder) {
  EngineCase c = dense(16, 40, 18);
  c.output_type = DType::kInt8, c.result_granularity = 16;
  const EngineRun run = run_engine(c);
  EXPECT_EQ(run.writer.requests, 18 * 3) << "16, 16 and 8 bytes of every column";
  EXPECT_EQ(run.writer.bytes, 18 * 40);
}

TEST(WfoldEngine, WF_7_surplus_columns_and_channels_are_dropped) {
  for (const int out_channels : {1, 5, 15, 17, 33, 63, 65}) {
    for (const int columns : {1, 15, 17}) run_engine(dense(16, out_channels, columns));
  }
}

// Beats of a tile: Nco. Results: 16 columns of 64 bytes = 16 slave results a cycle: 16 * Nco cycles.
TEST(WfoldEngine, WF_8_output_drain_of_tiles_that_are_shorter_than_their_results) {
  const auto drain_of = [](int channels) {
    EngineCase c = dense(channels, 64, 16 * 8);
    c.conv.kernel[0] = c.conv.kernel[1] = 1, c.conv.width = 16 * 8, c.conv.height = 1;
    c.mode = channels > 16 ? WfoldReadMode::kTransit : WfoldReadMode::kContinuous;
    c.config.transit_bytes = 1 << 16, c.config.write_queue = 4096;
    return run_engine(c);
  };
  const EngineRun run = drain_of(16);
  const Cycle drain = 16 * 4, beats = 4;
  EXPECT_EQ(cycles_of(run.drain, Activity::kBusy), 8 * drain);
  // Tiles 0 and 1 have halves; tile n + 2 waits for tile n: 8 tiles end at the pace of the third buffers.
  EXPECT_GT(cycles_of(run.beats, Activity::kOutputDrain), 5 * (drain - beats));
  EXPECT_LE(cycles_of(run.beats, Activity::kOutputDrain), 6 * drain);
}

// The first tile leaves its half from `adder_stages` after its last beat on; the beats of the third one begin
// in the cycle after that.
TEST(WfoldEngine, WF_8_a_half_is_free_in_the_cycle_after_its_last_results_left) {
  const auto released = [](int tiles, int out_channels) {
    EngineCase c = dense(16, out_channels, 16 * tiles);
    c.conv.kernel[0] = c.conv.kernel[1] = 1, c.conv.width = 16 * tiles, c.conv.height = 1;
    c.config.write_queue = 4096;
    return run_engine(c).released;
  };
  const Cycle stages = EngineCase{}.config.adder_stages;
  for (const int kernels : {1, 2, 4}) {  // of a slave: beats of a tile
    const Cycle drain = 16 * kernels;
    EXPECT_EQ(released(3, 16 * kernels) - released(1, 16 * kernels), stages + drain - 1 + kernels) << kernels;
  }
}

TEST(WfoldEngine, WF_7_a_full_write_queue_holds_the_third_buffers_back) {
  // One cycle more of the drain for each request that has to wait; a longer queue never takes more.
  Cycle before = -1;
  for (const int queue : {1, 2, 4, 64}) {
    EngineCase c = dense(16, 64, 64);
    c.config.write_queue = queue;
    c.bus.bytes_per_clock =
        16;  // a write of 64 bytes takes 4 cycles, 4 of them leave the third buffers a column
    const EngineRun run = run_engine(c);
    if (before >= 0) {
      EXPECT_LE(run.done, before) << queue << " requests";
    }
    before = run.done;
    EXPECT_EQ(cycles_of(run.write, Activity::kBusy), 64 * 4) << "requests of a line, 4 a column";
  }
}

}  // namespace
}  // namespace tilebeat::testing
