// Kernels in the first buffers and maps in the second ones (SPEC WF-9; document 003 [0068], [0132]).
#include "config/hardware_config.h"
#include "wfold_engine_bench.h"
#include "wfold_pipeline_model.h"

#include <gtest/gtest.h>

namespace tilebeat::testing {

using wfold::FirstBuffer;

namespace {

EngineCase kernels_first(EngineCase c) {
  c.config.first_buffer = FirstBuffer::kKernels;
  return c;
}

/// Cycles from the first line or kernel line to the last beat, maps being there.
Cycle fill_and_beats(WfoldCase c, FirstBuffer first) {
  c.kernels_first = first == FirstBuffer::kKernels;
  return run_pipeline(c, {}).last_beat + 1;
}

// Four kernel lines have to be there before the first of 36 and of 54 beats: the units latch them, and four
// lines of columns follow one another. With maps in the first buffers it is four lines of columns.
TEST(WfoldOptions, WF_9_kernels_in_the_first_buffers_take_the_beats_of_examples_1_and_2) {
  for (const FirstBuffer first : {FirstBuffer::kMaps, FirstBuffer::kKernels})
    EXPECT_EQ(fill_and_beats(worked_case(16, 64, 3, 16), first), 40);
  EXPECT_EQ(fill_and_beats(worked_case(48, 32, 3, 16), FirstBuffer::kMaps), 58);
  // Two of four units have a kernel: four beats a step, whatever the kernels are, after two lines.
  EXPECT_EQ(fill_and_beats(worked_case(48, 32, 3, 16), FirstBuffer::kKernels), 2 + 4 * 27);
  const EngineRun run = run_engine(kernels_first(dense(16, 64, 16)));
  EXPECT_EQ(run.master.beats, 36);
  EXPECT_EQ(run.reader.lines, 3 * 5);
  EXPECT_EQ(run.master.kernel_lines, 36);
}

// Kernels stay latched while the lines of columns pass, and those are as many as half the second buffer: with
// seventeen lines there are eight for every four kernel lines, which take four cycles each through a port of
// 16 bytes.
TEST(WfoldOptions, WF_9_kernels_in_the_first_buffers_are_read_for_more_columns) {
  EngineCase c = dense(64, 64, 16, 2);
  c.pci = 64, c.config.weight_port_bytes = 16, c.config.second_buffer_lines = 17;
  const EngineRun maps = run_engine(c), kernels = run_engine(kernels_first(c));
  EXPECT_EQ(kernels.master.beats, maps.master.beats);
  EXPECT_EQ(2 * kernels.master.kernel_lines, maps.master.kernel_lines);
  EXPECT_GE(maps.released - kFirst, 2 * 4 * 36 * 4);
  EXPECT_LE(kernels.released - kFirst, 2 * 2 * 36 * 4 + 40);
}

// A tile's last columns take a beat for each line of them that exists, not for all compute units.
TEST(WfoldOptions, WF_9_kernels_in_the_first_buffers_skip_columns_that_do_not_exist) {
  const WfoldCase narrow = worked_case(16, 64, 3, 16, 5);
  WfoldShape shape = narrow.schedule().shape();
  EXPECT_EQ(narrow.schedule().beats(), 36);
  shape.first_buffer = FirstBuffer::kKernels;
  EXPECT_EQ(WfoldSchedule(shape, narrow.schedule().geometry()).beats(), 18);
}

TEST(WfoldOptions, WF_9_kernels_in_the_first_buffers_of_other_layers) {
  EngineCase strided = dense(16, 48, 16, 2);
  strided.conv.stride[1] = 2, strided.conv.width = 34;
  strided.mode = WfoldReadMode::kStrided, strided.biases = true;
  strided.pci = 32;
  run_engine(kernels_first(strided));
  EngineCase padded = dense(16, 64, 32, 3);
  padded.conv.pad[0] = padded.conv.pad[1] = 1, padded.conv.height = 4, padded.conv.width = 33;
  padded.conv.dilation[1] = 2, padded.conv.width += 2;
  run_engine(kernels_first(padded));
  EngineCase sums = dense(128, 64, 4);
  sums.pci = 64, sums.mode = WfoldReadMode::kStrided, sums.cuts = {64};
  run_engine(kernels_first(sums));
}

}  // namespace
}  // namespace tilebeat::testing
