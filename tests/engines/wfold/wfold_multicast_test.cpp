// Lines that are sent to some of the slaves alone (SPEC WF-9; document 003 [0063]): groups of slaves with the
// groups of a convolution.
#include "checked_run.h"
#include "config/hardware_config.h"
#include "conv_workload.h"
#include "engines/wfold/config.h"
#include "wfold_engine_bench.h"

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {

using ::testing::HasSubstr;
using wfold::KernelPlace;
using wfold::WfoldKernels;

namespace {

HardwareConfig with_groups(int groups) {
  HardwareConfig hardware = load_hardware(TILEBEAT_SOURCE_DIR "/configs/wfold16x4.json");
  hardware.engine<WfoldConfig>().multicast_groups = groups;
  hardware.dram.channels = 64;  // DRAM keeps up with any number of groups
  return hardware;
}

struct Counts {
  std::int64_t cycles = 0, beats = 0, lines = 0;
  MappingRequest mapping = {};
};

/// What both granularities say of a layer, whose outputs are the reference's, with such tiles and paths.
Counts counts_of(const ConvShape& shape, const HardwareConfig& hardware, const MappingRequest& mapping = {}) {
  Counts counts;
  check_cases(1, [&] {
    const Workload workload = conv_workload(shape);
    NetworkMapping asked;
    if (!mapping.layer.empty()) asked.layers.push_back(mapping);
    const PlannedNetwork planned = plan_network(workload, hardware, asked);
    counts.mapping = request_of(planned.mappings.front());
    counts.mapping.kernels_per_block.reset();
    counts.mapping.blocks_per_load.reset(), counts.mapping.kernel_buffers.reset();
    const SimulatedRun run = check_both_granularities(workload, hardware, planned.plan, 60);
    counts.cycles = run.layer().at("cycles").get<std::int64_t>();
    counts.beats = run.layer().at("beats").get<std::int64_t>();
    counts.lines = run.module("cluster0.core0.engine.broadcast").at("busy").get<std::int64_t>();
  });
  return counts;
}

/// Sixteen columns of 3x3 kernels in four groups of 16 channels and 16 kernels.
ConvShape four_groups(int rows) {
  ConvShape shape;
  shape.height = rows + 2, shape.width = 18, shape.kernel = {3, 3};
  shape.channels = shape.out_channels = 64, shape.groups = 4;
  shape.bias = true;
  return shape;
}

// Each group of slaves sees example 1 of the document: 16 channels in lines of four columns, 36 beats for
// sixteen columns of 64 kernels, five lines of each kernel row. To all slaves, a line is one column of 64
// channels, of which a kernel has 16.
TEST(WfoldOptions, WF_9_lines_for_some_of_the_slaves_are_example_1_in_every_group) {
  const Counts some = counts_of(four_groups(1), with_groups(4));
  const Counts all = counts_of(four_groups(1), with_groups(1), some.mapping);
  EXPECT_EQ(all.beats, 4 * 36);
  EXPECT_EQ(all.lines, 4 * 3 * 6);
  EXPECT_EQ(some.beats, 36);
  EXPECT_EQ(some.lines, 4 * 3 * 5);
  EXPECT_LT(some.cycles, all.cycles);
}

// The one bus for lines decides where beats do not: of nine rows of two taps, four groups take 180 lines for
// 72 beats, all slaves together 180 lines for 288 beats.
TEST(WfoldOptions, WF_9_lines_for_some_of_the_slaves_share_one_bus) {
  const auto a_row = [&](int groups) {
    const auto cycles = [&](int rows) {
      ConvShape shape = four_groups(rows);
      shape.kernel = {9, 2}, shape.height = rows + 8, shape.width = 17;
      shape.requant = Requant{{0.01}, 0, DType::kInt8};
      return counts_of(shape, with_groups(groups)).cycles;
    };
    return (cycles(24) - cycles(4)) / 20;
  };
  EXPECT_GE(a_row(1), 288);
  EXPECT_GE(a_row(4), 180);
  EXPECT_LT(a_row(4), 250);
}

// Channels in one group are the same for all slaves, and kernels that do not fill the slaves' groups leave
// nothing to choose.
TEST(WfoldOptions, WF_9_layers_without_groups_go_to_all_slaves) {
  for (const auto change : {+[](ConvShape& s) { s.groups = 1; },
                            +[](ConvShape& s) { s.channels = s.out_channels = s.groups = 40; }}) {
    ConvShape shape = four_groups(2);
    change(shape);
    const Counts all = counts_of(shape, with_groups(1)), some = counts_of(shape, with_groups(16));
    EXPECT_EQ(some.cycles, all.cycles);
    EXPECT_EQ(some.lines, all.lines);
  }
}

/// The number of groups of slaves that a depthwise layer of 56 x 56 pixels is planned for.
std::string groups_of(int channels_of_dram) {
  HardwareConfig hardware = with_groups(4);
  hardware.dram.channels = channels_of_dram;
  ConvShape shape;
  shape.height = shape.width = 56, shape.kernel = {3, 3}, shape.pads = {1, 1, 1, 1};
  shape.channels = shape.out_channels = shape.groups = 128;
  shape.bias = true, shape.requant = Requant{{0.01}, 0, DType::kInt8};
  const PlannedNetwork planned = plan_network(conv_workload(shape), hardware);
  for (const auto& [decision, text] : planned.plan.layers.at(0).choices) {
    if (decision == "broadcast") return text;
  }
  return "";
}

// Two groups take 4.5 cycles for a column of 128 bytes of map and 128 bytes of results, for which one channel
// of DRAM takes 13: four groups would gain nothing. With eight channels DRAM is faster than either.
TEST(WfoldOptions, WF_9_MA_3_no_more_groups_of_slaves_than_dram_keeps_up_with) {
  EXPECT_THAT(groups_of(1), HasSubstr("to 2 groups of 8 slaves"));
  EXPECT_THAT(groups_of(8), HasSubstr("to 4 groups of 4 slaves"));
}

TEST(WfoldOptions, WF_9_strided_and_depthwise_layers_of_groups) {
  for (const int stride : {1, 2, 3}) {
    for (const auto place : {KernelPlace::kLoad, KernelPlace::kInPlace}) {
      ConvShape shape = four_groups(3);
      shape.stride = {1, stride}, shape.width = 15 * stride + 3, shape.groups = 64;
      shape.input_zero_point = 3, shape.weight_zero_point = -2;
      HardwareConfig hardware = with_groups(4);
      hardware.engine<WfoldConfig>().kernel_place = place;
      const Counts some = counts_of(shape, hardware);
      hardware.engine<WfoldConfig>().multicast_groups = 1;
      const Counts all = counts_of(shape, hardware);
      if (stride == 3)
        EXPECT_EQ(some.beats, all.beats)
            << "192 bytes of a folded pixel, of which the phases of a group are 144";
      else
        EXPECT_LT(some.beats, all.beats);
    }
  }
}

// Fewer kernels than a tile could have: lines of a group of slaves have the channels of its kernels, none
// besides.
TEST(WfoldOptions, WF_9_groups_of_slaves_with_one_kernel_a_slave) {
  ConvShape shape = four_groups(2);
  shape.channels = 48, shape.out_channels = shape.groups = 16;
  shape.kernel[1] = 9, shape.width = 24;
  const Counts some = counts_of(shape, with_groups(4));
  EXPECT_EQ(some.beats, 2 * 27) << "12 channels of four kernels in lines of four columns";
}

std::string refused(const std::function<void(WfoldConfig&)>& change) {
  HardwareConfig hardware = with_groups(4);
  change(hardware.engine<WfoldConfig>());
  try {
    check_hardware(hardware, "hw.json");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(WfoldOptions, WF_9_groups_of_slaves_that_cannot_be) {
  EXPECT_EQ(refused([](WfoldConfig&) {}), "");
  EXPECT_THAT(refused([](WfoldConfig& c) { c.multicast_groups = 3; }),
              HasSubstr("/wfold/multicast_groups: 3 is not allowed, allowed is a divisor of slaves (16)"));
  EXPECT_THAT(
      refused([](WfoldConfig& c) { c.kernel_place = KernelPlace::kOffline; }),
      HasSubstr("/wfold/multicast_groups: 4 is not allowed, allowed is 1, because kernel_place offline"));
}

std::string refused_run(int allowed, int groups, int group_kernels, int kernels) {
  EngineCase c = dense(16, kernels, 16);
  c.config.multicast_groups = allowed;
  WfoldKernels layout;
  layout.channels = 4, layout.group_kernels = static_cast<std::uint16_t>(group_kernels);
  layout.slave_groups = static_cast<std::uint8_t>(groups);
  WfoldRun run = c.run();
  run.channels = 4, run.read_mode = WfoldReadMode::kStrided;
  return in_child([&] {
    EngineCore core(c, Granularity::kClock);
    return core.refusal(c.setup(), {layout, run});
  });
}

TEST(WfoldOptions, WF_9_runs_that_cannot_be_sent_to_groups_of_slaves) {
  EXPECT_THAT(refused_run(2, 4, 16, 64),
              HasSubstr("wfold.kernels: 4 groups of 16 slaves, lines can be sent to 2"));
  EXPECT_THAT(refused_run(8, 3, 16, 64), HasSubstr("wfold.kernels: 3 groups of 16 slaves"));
  EXPECT_THAT(refused_run(8, 4, 0, 64),
              HasSubstr("wfold.kernels: groups of slaves need whole groups of a convolution"));
  EXPECT_THAT(refused_run(8, 4, 16, 63),
              HasSubstr("wfold.run: 63 kernels in groups of 16 cannot be dealt to 4 groups of slaves"));
  EXPECT_THAT(refused_run(8, 8, 16, 64), HasSubstr("cannot be dealt to 8 groups of slaves"));
  EXPECT_THAT(refused_run(8, 4, 4, 64),
              HasSubstr("wfold.run: 64 kernels in groups of 4 have 16 bytes of a pixel, the run 4"));
}

}  // namespace
}  // namespace tilebeat::testing
