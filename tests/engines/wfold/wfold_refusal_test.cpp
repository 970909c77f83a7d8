// What the W-fold engine refuses to run (SPEC UI-5, WF-1, WF-2).
#include "conv_workload.h"
#include "simulated_run.h"
#include "tilebeat/error.h"
#include "wfold_engine_bench.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {

using switch_array::ConvRun;
using wfold::ReadChoice;
using wfold::WfoldReadMode;
using wfold::WfoldRun;

namespace {

using ::testing::HasSubstr;

std::string refusal_of(
    const EngineCase& c, const std::vector<Operation>& runs,
    const std::function<void(ConvSetup&)>& change = [](ConvSetup&) {}) {
  return in_child([&] {
    strict_systemc();
    EngineCore core(c, Granularity::kTile);
    ConvSetup setup = c.setup();
    change(setup);
    return core.refusal(setup, runs);
  });
}

TEST(WfoldEngineRefusal, UI_5_conv_run_is_for_the_switch_array) {
  ConvRun run;
  EXPECT_THAT(refusal_of(dense(16, 16, 16), {run}),
              HasSubstr("the matrix unit of this core is a W-fold engine"));
}
TEST(WfoldEngineRefusal, UI_5_kernels_beyond_the_region) {
  const EngineCase c = dense(16, 16, 16);
  WfoldRun run = c.run();
  run.weights = kRegionBytes - 9 * 16;  // the slave's one kernel ends with the region
  EXPECT_EQ(refusal_of(c, {run}), "");
  ++run.weights;
  EXPECT_THAT(refusal_of(c, {run}),
              HasSubstr("wfold.run: kernels take bytes 16241 to 16385 of a region of 16384"));
}
TEST(WfoldEngineRefusal, WF_9_kernels_with_more_channels_than_a_pixel) {
  EngineCase c = dense(16, 16, 16);
  c.pci = 16;
  wfold::WfoldKernels kernels;
  kernels.channels = 16;
  EXPECT_EQ(refusal_of(c, {kernels, c.run()}), "");
  kernels.channels = 17;
  EXPECT_THAT(refusal_of(c, {kernels, c.run()}),
              HasSubstr("wfold.kernels: 17 channels of a kernel, a pixel of the wfold.run 1x16x16 has 16"));
}
TEST(WfoldEngineRefusal, WF_9_only_kernels_that_are_said_to_be_folded_are_folded) {
  const EngineCase c = dense(16, 16, 16);
  wfold::WfoldAlign align;
  align.kernels = 16, align.pixel_bytes = align.channels = 16;
  EXPECT_THAT(refusal_of(c, {align}),
              HasSubstr("wfold.align: no wfold.kernels says that kernels are folded"));
  wfold::WfoldKernels kernels;
  kernels.channels = 16, kernels.folded = true;
  align.kernels = 65;
  EXPECT_THAT(refusal_of(c, {kernels, align}), HasSubstr("wfold.align: 65 kernels, a tile has at most 64"));
  align.kernels = 64, align.weights = kRegionBytes - 4 * 9 * 16 + 1;
  EXPECT_THAT(refusal_of(c, {kernels, align}), HasSubstr("kernels take bytes 15809 to 16385 of a region"));
}
TEST(WfoldEngineRefusal, WF_2_continuous_of_several_blocks) {
  EXPECT_THAT(refusal_of(dense(17, 16, 16), {dense(17, 16, 16).run()}),
              HasSubstr("wfold.run: a map of several channel blocks cannot be read continuously"));
}
TEST(WfoldEngineRefusal, WF_9_a_forced_read_mode_is_obeyed_or_refused) {
  HardwareConfig hardware = load_hardware(TILEBEAT_SOURCE_DIR "/configs/wfold16x4.json");
  WfoldConfig& config = hardware.engine<WfoldConfig>();
  const auto refusal = [&](int channels) -> std::string {
    ConvShape shape;
    shape.height = 4, shape.width = 9, shape.channels = channels;
    try {
      make_plan(conv_workload(shape), hardware);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  config.read_mode = ReadChoice::kContinuous, config.pci = 16;
  EXPECT_EQ(refusal(14), "");
  EXPECT_EQ(
      refusal(47),
      "layer 'conv' cannot fit wfold.read_mode continuous, allowed are auto, strided, transit: 47 channels "
      "of a pixel of 47 bytes are 3 blocks, half the transit buffer has 2048 bytes");
  config.read_mode = ReadChoice::kTransit;
  EXPECT_EQ(refusal(47), "");
  config.transit_bytes = 0;
  EXPECT_THAT(refusal(47), HasSubstr("read_mode transit, allowed are auto, strided: 47 channels"));
  EXPECT_THAT(refusal(14),
              HasSubstr("read_mode transit, allowed are auto, continuous, strided: 14 channels"));
  config.read_mode = ReadChoice::kStrided;
  EXPECT_EQ(refusal(47), "");
}
TEST(WfoldEngineRefusal, WF_2_a_transit_window_that_does_not_fit) {
  EngineCase c = dense(48, 16, 16);
  c.mode = WfoldReadMode::kTransit;
  c.config.transit_bytes = 2 * 5 * 64;
  EXPECT_EQ(refusal_of(c, {c.run()}), "");
  c.config.transit_bytes -= 1;
  EXPECT_THAT(refusal_of(c, {c.run()}),
              HasSubstr("wfold.run: a row window does not fit the 319 bytes of half the "
                        "transit buffer"));
}
TEST(WfoldEngineRefusal, WF_1_granularities_that_do_not_exist) {
  const EngineCase c = dense(16, 16, 16);
  for (const int granularity : {0, 1, 24, 128}) {
    WfoldRun run = c.run();
    run.granularity = static_cast<std::uint16_t>(granularity);
    EXPECT_THAT(refusal_of(c, {run}), HasSubstr("powers of two from 2 to 64 exist"));
    run = c.run();
    run.result_granularity = static_cast<std::uint16_t>(granularity);
    EXPECT_THAT(refusal_of(c, {run}), HasSubstr("powers of two from 2 to 64 exist"));
  }
}
TEST(WfoldEngineRefusal, UI_5_a_map_or_results_outside_nram) {
  const EngineCase c = dense(16, 16, 16);
  WfoldRun run = c.run();
  run.map = kNramBytes - 16;
  EXPECT_THAT(refusal_of(c, {run}), HasSubstr("no memory at address"));
  run = c.run();
  run.result = kNramBytes - 16;
  EXPECT_THAT(refusal_of(c, {run}), HasSubstr("no memory at address"));
}

// ---- sums of several runs ----

/// Runs that add up two blocks of channels, on their own.
std::vector<WfoldRun> two_parts() {
  EngineCase c = dense(32, 16, 16);
  c.mode = WfoldReadMode::kStrided, c.cuts = {16};
  return c.runs();
}
TEST(WfoldEngineRefusal, WF_8_sums_of_several_runs_are_one_tile) {
  const EngineCase c = dense(32, 16, 16);
  std::vector<WfoldRun> runs = two_parts();
  EXPECT_EQ(refusal_of(c, {runs[0], runs[1]}), "");
  for (std::uint16_t WfoldRun::*field : {&WfoldRun::rows, &WfoldRun::columns, &WfoldRun::kernels}) {
    WfoldRun run = runs[0];
    run.*field = 65;
    EXPECT_THAT(refusal_of(c, {run}), HasSubstr("wfold.run: sums that several runs add up are one tile"));
  }
}
TEST(WfoldEngineRefusal, WF_8_sums_end_before_others_begin) {
  const EngineCase c = dense(32, 16, 16);
  const std::vector<WfoldRun> runs = two_parts();
  EXPECT_THAT(refusal_of(c, {runs[0], runs[0]}), HasSubstr("the sums of the run before have not ended"));
  EXPECT_THAT(refusal_of(c, {runs[1]}), HasSubstr("no run before has begun the sums"));
  EXPECT_THAT(refusal_of(c, {runs[0], runs[1], runs[1]}), HasSubstr("no run before has begun the sums"));
}
TEST(WfoldEngineRefusal, WF_8_sums_go_on_in_the_same_places) {
  const EngineCase c = dense(32, 16, 16);
  const std::vector<WfoldRun> runs = two_parts();
  for (std::uint16_t WfoldRun::*field : {&WfoldRun::columns, &WfoldRun::kernels, &WfoldRun::granularity}) {
    WfoldRun other = runs[1];
    other.*field = 8;
    EXPECT_THAT(refusal_of(c, {runs[0], other}), HasSubstr("go on with sums of 16 columns of 16 kernels in "
                                                           "lines of 16"));
  }
}

}  // namespace
}  // namespace tilebeat::testing
