// Cycles of broadcast lines, kernel lines and beats of the W-fold engine: worked examples, exact pairs, and a
// simulation of SPEC WF-8's text cycle by cycle for random runs.
#include "wfold_pipeline_model.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {

namespace {

// ---- worked examples: Ci 16 and Co 64, Ci 48 and Co 32, kernels 3x3, Pci 16 ----

WfoldCase example_1(int columns = 16) {
  return worked_case(16, 64, 3, 16, columns);
}
WfoldCase example_2() {
  return worked_case(48, 32, 3, 16);
}
WfoldCase with_first_buffer(WfoldCase c, int lines) {
  c.engine.first = lines;
  return c;
}

TEST(WfoldPipeline, WF_8_example_1_takes_40_clocks) {
  const Outcome outcome = run_pipeline(example_1(), {});
  EXPECT_EQ(outcome.last_beat + 1, 40);
  EXPECT_EQ(outcome.beats_of(Activity::kInputLoad), 4) << "Ncu lines, one a cycle";
  EXPECT_EQ(outcome.beats_of(Activity::kBusy), 36);
  EXPECT_EQ(cycles_of(outcome.broadcast[0], Activity::kBusy), 3 * 5) << "5 lines for each kernel row";
  EXPECT_EQ(cycles_of(outcome.ports, Activity::kBusy), 36);
}

TEST(WfoldPipeline, WF_8_example_2_takes_58_clocks) {
  const Outcome outcome = run_pipeline(example_2(), {});
  EXPECT_EQ(outcome.last_beat + 1, 58);
  EXPECT_EQ(outcome.beats_of(Activity::kInputLoad), 4);
  EXPECT_EQ(outcome.beats_of(Activity::kBusy), 54);
  EXPECT_EQ(cycles_of(outcome.broadcast[0], Activity::kBusy), 9 * 5)
      << "5 lines for each of 9 pairs of kernel row and block";
}

TEST(WfoldPipeline, WF_8_lines_of_a_refill_bound_short_steps) {
  // One kernel a slave: a refill is 3 beats and 5 lines. The last line is the 15th, two steps need it.
  const Outcome outcome = run_pipeline(worked_case(16, 16, 3, 16), {});
  EXPECT_EQ(outcome.last_beat + 1, 15 + 2);
  EXPECT_EQ(outcome.beats_of(Activity::kBusy), 9);
  EXPECT_EQ(outcome.beats_of(Activity::kInputLoad), 17 - 9);
}

TEST(WfoldPipeline, WF_8_a_second_tile_follows_without_fill) {
  EXPECT_EQ(run_pipeline(example_1(32), {}).last_beat + 1, 4 + 2 * 36);
  EXPECT_EQ(run_pipeline(example_1(17), {}).last_beat + 1, 4 + 2 * 36) << "one column takes a whole tile";
}

// Kernel line i of Pci bytes comes in q = Pci / port cycles and is used in the cycle after, at most one a
// cycle; the first 4 cycles wait for map lines.
TEST(WfoldPipeline, WF_8_narrow_region_ports) {
  for (const int port : {4, 8, 16, 32, 64, 128}) {
    Surroundings around;
    around.port_bytes = port;
    const Outcome outcome = run_pipeline(worked_case(64, 64, 3, 64, 4), around);
    const Cycle q = ceiling(64, port), beats = 36;
    const Cycle clocks = std::max(4 + beats, beats * q + 1);
    EXPECT_EQ(outcome.last_beat + 1, clocks) << port << " bytes a cycle";
    EXPECT_EQ(outcome.beats_of(Activity::kInputLoad), 4) << port << " bytes a cycle";
    EXPECT_EQ(outcome.beats_of(Activity::kWeightLoad), clocks - beats - 4) << port << " bytes a cycle";
    EXPECT_EQ(cycles_of(outcome.ports, Activity::kBusy), beats * q) << port << " bytes a cycle";
  }
}

TEST(WfoldPipeline, WF_8_a_port_that_carries_a_line_is_wide_enough) {
  Surroundings around;
  around.port_bytes = 16;
  EXPECT_EQ(run_pipeline(example_1(), around).last_beat + 1, 40);
  around.port_bytes = 15;
  EXPECT_EQ(run_pipeline(example_1(), around).last_beat + 1, 36 * 2 + 1) << "two cycles a line";
}

// A first buffer that holds one refill gets the next one's first line in the cycle after the last step's
// first beat: 4 lines in the cycles of its 3 other beats are one too many, at both of the refills'
// boundaries.
TEST(WfoldPipeline, WF_8_first_buffer_of_one_refill_and_of_a_line_more) {
  const Outcome at_5 = run_pipeline(with_first_buffer(example_1(), 5), {});
  EXPECT_EQ(at_5.last_beat + 1, 40 + 2);
  EXPECT_EQ(at_5.beats_of(Activity::kInputLoad), 4 + 2);
  for (const int lines : {6, 8, 16}) {
    const Outcome more = run_pipeline(with_first_buffer(example_1(), lines), {});
    EXPECT_EQ(more.last_beat + 1, 40) << lines << " lines";
    EXPECT_EQ(more.beats_of(Activity::kInputLoad), 4) << lines << " lines";
  }
}

// Steps of 4 beats: lines 0-3 are for beat 0 in cycle 4, line 4 for beat 4 in cycle 8, lines 5-8 for beat 12
// in cycle 16, line 9 for beat 16 in cycle 20.
TEST(WfoldPipeline, WF_8_lines_late_by_one_clock) {
  const std::map<std::int64_t, Cycle> latest{{0, 0}, {3, 3}, {4, 7}, {5, 12}, {8, 15}, {9, 19}, {14, 31}};
  for (const auto& [line, clock] : latest) {
    for (const Cycle late : {0, 1, 5}) {
      Surroundings around;
      around.ready = [&, at = line, to = clock + late](std::int64_t i) { return i == at ? to : 0; };
      const Outcome outcome = run_pipeline(example_1(), around);
      EXPECT_EQ(outcome.last_beat + 1, 40 + late) << "line " << line << " in cycle " << clock + late;
      EXPECT_EQ(outcome.beats_of(Activity::kInputLoad), 4 + late) << "line " << line;
    }
  }
}

// The third tile takes over the half of the first one, whose last beat is in cycle 39: its first beat would
// be in cycle 76.
TEST(WfoldPipeline, WF_8_third_buffers_drained_late) {
  for (const Cycle drained : {40, 74, 75, 76, 77, 100}) {
    Surroundings around;
    around.drain = [&](std::int64_t tile) { return tile == 0 ? drained - 39 : 0; };
    const Outcome outcome = run_pipeline(example_1(48), around);
    const Cycle late = std::max<Cycle>(0, drained - 75);
    EXPECT_EQ(outcome.last_beat + 1, 4 + 3 * 36 + late) << "drained in cycle " << drained;
    EXPECT_EQ(outcome.beats_of(Activity::kOutputDrain), late);
  }
}

// Dilation 2 with lines of one column: parts of taps 0, 2 and 4, 6, each three lines of which the middle one
// is never read. It is free with the line before it, which may be before it enters; lines go on entering one
// a cycle.
TEST(WfoldPipeline, WF_6_WF_8_lines_that_no_step_reads) {
  WfoldCase c = worked_case(1, 1, 1, 16, 1);
  c.engine = {1, 1, 16, 4, 2};
  c.conv.kernel[1] = 4, c.conv.dilation[1] = 2;
  const Outcome outcome = run_pipeline(c, {});
  EXPECT_EQ(outcome.entered[0], (std::vector<Cycle>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(outcome.last_beat, 6);
}

// Of the 5 lines of each refill the last one, or all of the second refill, do not exist: the beats wait for
// the four lines of the first step, and for nothing else.
TEST(WfoldPipeline, WF_9_lines_outside_the_map_take_no_cycle) {
  Surroundings around;
  around.absent = [](std::int64_t line) { return line % 5 == 4 || line / 5 == 1; };
  const Outcome outcome = run_pipeline(example_1(), around);
  EXPECT_EQ(outcome.last_beat + 1, 40);
  EXPECT_EQ(cycles_of(outcome.broadcast[0], Activity::kBusy), 8);
  around.absent = [](std::int64_t line) { return line < 3; };
  EXPECT_EQ(run_pipeline(example_1(), around).last_beat + 1, 37) << "one line has to be there first";
  around.absent = [](std::int64_t) { return true; };
  EXPECT_EQ(run_pipeline(example_1(), around).last_beat + 1, 37) << "marked in the first cycle";
}

// Records are read first, one a cycle: the first kernel line is Nco cycles later.
TEST(WfoldPipeline, WF_8_post_parameter_records_come_first) {
  WfoldCase c = example_1();
  c.records = true;
  EXPECT_EQ(run_pipeline(c, {}).last_beat + 1, 5 + 36) << "4 records, a kernel line, the first beat";
  c = example_2();
  c.records = true;
  EXPECT_EQ(run_pipeline(c, {}).last_beat + 1, 58) << "2 records hide under 4 lines";
  EXPECT_EQ(cycles_of(run_pipeline(c, {}).ports, Activity::kBusy), 54 + 2);
}

// ---- options of WF-9 ----

// One memory has the kernels and the map, and the regions' ports come first: they fill 8 of the 9 lines of
// the second buffer in cycles 0 to 7, lines of the map are read in cycles 8 to 11 and enter in the cycles
// after, and the first beat is in cycle 13. 36 kernel lines and 15 map lines take 51 accesses.
TEST(WfoldPipeline, WF_9_one_memory_serves_map_lines_when_the_second_buffer_is_full) {
  Surroundings around;
  around.shared = true, around.latency = 1;
  const Outcome outcome = run_pipeline(example_1(), around);
  EXPECT_EQ(outcome.entered[0][0], 9);
  EXPECT_EQ(outcome.entered[0][3], 12);
  EXPECT_GE(outcome.beats_of(Activity::kInputLoad), 13);
  EXPECT_GE(outcome.last_beat + 1, 36 + 15);
  EXPECT_EQ(outcome.last_beat, simulate(example_1(), around).last_beat);
}

// Two masters carry the lines of two groups each: four times example 1 has 60 lines, 30 on each bus, fewer
// than its 36 beats.
TEST(WfoldPipeline, WF_9_two_masters_bring_two_lines_a_cycle) {
  WfoldCase c = worked_case(64, 64, 3, 16);
  c.groups = 4, c.used = 16, c.own_bytes = true;
  const Outcome one = run_pipeline(c, {});
  c.masters = 2;
  const Outcome two = run_pipeline(c, {});
  EXPECT_EQ(one.beats_of(Activity::kBusy), 36);
  EXPECT_EQ(two.beats_of(Activity::kBusy), 36);
  EXPECT_EQ(cycles_of(one.broadcast[0], Activity::kBusy), 60);
  for (const ActivityCycles& bus : two.broadcast) EXPECT_EQ(cycles_of(bus, Activity::kBusy), 30);
  EXPECT_EQ(two.last_beat + 1, 2 * 4 + 36) << "four lines of each of a master's two groups come first";
  EXPECT_GE(one.last_beat + 1, 60);
}

// ---- any run ----

struct RandomTimes {
  Surroundings around;
  std::vector<Cycle> ready, drain;
  std::vector<bool> absent;
};

/// Lines become ready in order; a few of them late, and stretches of them do not exist.
RandomTimes random_times() {
  RandomTimes times;
  times.around.port_bytes = 1 << number(0, 6);
  times.around.shared = one_in(3), times.around.latency = number(1, 12);
  const int late = number(0, 3), slow = number(0, 60);
  const int gaps = number(2, 30);
  Cycle at = 0;
  bool absent = false;
  for (int i = 0; i < 997; ++i) {
    if (one_in(gaps)) absent = !absent && one_in(2);
    times.absent.push_back(absent);
    at += late == 0 ? 0 : number(0, late);
    if (one_in(40)) at += number(0, 100);
    times.ready.push_back(at);
    times.drain.push_back(number(0, slow));
  }
  return times;
}

void compare(const WfoldCase& c, const RandomTimes& times) {
  Surroundings around = times.around;
  around.ready = [&](std::int64_t line) {
    const auto n = static_cast<std::int64_t>(times.ready.size());
    return line / n * times.ready.back() + times.ready[static_cast<std::size_t>(line % n)];
  };
  around.absent = [&](std::int64_t line) {
    return times.absent[static_cast<std::size_t>(line % static_cast<std::int64_t>(times.absent.size()))];
  };
  around.drain = [&](std::int64_t tile) {
    return times.drain[static_cast<std::size_t>(tile % static_cast<std::int64_t>(times.drain.size()))];
  };
  const Outcome expected = simulate(c, around), actual = run_pipeline(c, around);
  RC_ASSERT(actual.last_beat == expected.last_beat);
  RC_ASSERT(actual.tile_ends == expected.tile_ends);
  RC_ASSERT(actual.entered == expected.entered);
  RC_ASSERT(actual.beats == expected.beats);
  RC_ASSERT(actual.ports == expected.ports);
  RC_ASSERT(actual.broadcast == expected.broadcast);
}

TEST(WfoldPipelineProperty, WF_8_random_runs_equal_the_specification_clock_by_clock) {
  check_cases(400, [] {
    const WfoldCase c = random_case(3'000'000);
    RC_LOG() << c << "\n";
    compare(c, random_times());
  });
}

TEST(WfoldPipelineProperty, WF_9_random_runs_with_options_equal_the_specification_clock_by_clock) {
  check_cases(400, [] {
    WfoldCase c = random_case(1'000'000);
    draw_options(c);
    RC_LOG() << c << "\n";
    compare(c, random_times());
  });
}

TEST(WfoldPipelineProperty, WF_8_first_buffers_of_any_size) {
  check_cases(200, [] {
    WfoldCase c = random_case(1'000'000);
    c.engine = SpecWfold{};
    c.pci = 64 >> number(0, 3);
    for (const int lines : {5, 6, 8, 16}) {
      c.engine.first = lines;
      RC_LOG() << c << "\n";
      compare(c, random_times());
    }
  });
}

TEST(WfoldPipelineProperty, WF_8_a_larger_first_buffer_never_takes_longer) {
  check_cases(50, [] {
    WfoldCase c = random_case(300'000);
    c.engine = SpecWfold{};
    c.pci = 64 >> number(0, 3);
    c.conv.kernel[1] = number(1, 2), c.conv.dilation[1] = 1;  // no kernel is split
    Cycle before = -1;
    for (const int lines : {5, 6, 8, 16}) {
      c.engine.first = lines;
      const Outcome outcome = run_pipeline(c, {});
      RC_LOG() << c << "\n";
      if (before >= 0) RC_ASSERT(outcome.last_beat <= before);
      before = outcome.last_beat;
    }
  });
}

}  // namespace
}  // namespace tilebeat::testing
