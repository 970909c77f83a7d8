// The W-fold engine with its two storages on a small bus: back-pressure and widths (SPEC WF-8, CY-2).
#include "wfold_engine_bench.h"

#include <gtest/gtest.h>

namespace tilebeat::testing {

using wfold::WfoldEngine;

namespace {

TEST(WfoldEngine, CY_2_line_queue_bounds_what_is_read_ahead) {
  // A request takes its answer and a cycle; with one place the next line is asked for when the last one left.
  Cycle before = -1;
  for (const int queue : {1, 2, 3, 16}) {
    EngineCase c = dense(16, 16, 32, 2);
    c.config.line_queue = queue;
    const EngineRun run = run_engine(c);
    if (before >= 0) {
      EXPECT_LE(run.released, before) << queue << " lines";
    }
    if (queue == 1) {
      EXPECT_GT(cycles_of(run.read, Activity::kLanding), 0);
    }
    before = run.released;
  }
}

// A line is requested, answered, and leaves in the cycle after; its place takes the next request in that
// cycle. N places so fetch N lines in that time.
TEST(WfoldEngine, CY_2_line_queue_sets_the_pace_of_a_slow_bus) {
  for (const int queue : {1, 2, 4, 5}) {
    const auto released = [&](int rows) {
      EngineCase c = dense(16, 1, 16, rows);  // one write a tile is all that meets the reads
      c.result_granularity = 4;
      c.conv.kernel[0] = c.conv.kernel[1] = 1, c.conv.width = 16, c.conv.height = rows;
      c.config.line_queue = queue;
      c.bus.response_cycles = 20;
      return run_engine(c).released;
    };
    const Cycle scratchpad = 1 + 1 + 64 / 64;  // latency 1, a line of 4 words of 16 bytes a cycle
    const Cycle trip = 1 + scratchpad + 20 + 1;
    const Cycle more = released(20) - released(10), expected = 10 * 4 * trip / queue;
    EXPECT_GE(more, expected) << "40 lines more, " << queue << " places";
    EXPECT_LE(more, expected + (queue <= 2 ? 0 : 10))
        << queue << " places: where requests follow closely the write of each of 10 tiles may cost a cycle";
  }
}

// One write under way at a time: while the first of 8 is, the queue has to hold 7 others.
TEST(WfoldEngine, CY_2_write_queue_at_n_and_n_minus_1) {
  for (const int queue : {6, 7, 8}) {
    EngineCase c = dense(16, 64, 2);
    c.config.write_queue = queue, c.max_outstanding = 1;
    c.bus.response_cycles = 100;
    const EngineRun run = run_engine(c);
    EXPECT_EQ(run.writer.requests, 2 * 64 * 4 / 64);
    EXPECT_EQ(cycles_of(run.drain, Activity::kBusy), 8) << "64 bytes of results a cycle";
    const Cycle waits = cycles_of(run.drain, Activity::kOutstanding);
    if (queue >= 7) {
      EXPECT_EQ(waits, 0) << queue << " requests";
    } else {
      EXPECT_GE(waits, 100 - 8) << "until the first write is answered";
    }
  }
}

TEST(WfoldEngine, CY_2_a_narrower_bus_makes_beats_wait_for_lines) {
  const auto run_at = [](int width) {
    EngineCase c = dense(64, 16, 16);
    c.pci = 64, c.bus.bytes_per_clock = width;
    return run_engine(c);
  };
  const EngineRun wide = run_at(64), narrow = run_at(32);
  EXPECT_EQ(narrow.reader.requests, wide.reader.requests);
  // Refills of 6 lines for 3 beats: lines bound the tile, each takes twice as long.
  const Cycle more =
      cycles_of(narrow.beats, Activity::kInputLoad) - cycles_of(wide.beats, Activity::kInputLoad);
  EXPECT_GE(more, wide.reader.lines * 3 / 4);
  EXPECT_LE(more, wide.reader.lines + 8);
}

TEST(WfoldEngine, WF_8_a_narrower_region_port_makes_beats_wait_for_kernels) {
  const auto stalls = [](int port) {
    EngineCase c = dense(64, 64, 4);
    c.pci = 64, c.config.weight_port_bytes = port;
    return cycles_of(run_engine(c).beats, Activity::kWeightLoad);
  };
  EXPECT_EQ(stalls(64), 0);
  // 36 kernel lines in 2 (4) cycles each from the first cycle of the run on, a cycle more until the last
  // beat. Before the first beat 4 lines of the map come, which hides some of it.
  EXPECT_LE(stalls(32), 36 * 2 + 1 - 36);
  EXPECT_GT(stalls(32), 36 * 2 + 1 - 36 - 20);
  EXPECT_EQ(stalls(16) - stalls(32), 36 * 2) << "twice the cycles of a line";
}

}  // namespace
}  // namespace tilebeat::testing
