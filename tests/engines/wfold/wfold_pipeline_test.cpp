// Cycles of broadcast lines, kernel lines and beats of the W-fold engine: worked examples, exact pairs, and a
// simulation of SPEC WF-8's text cycle by cycle for random runs.
#include "engines/wfold/sim/wfold_pipeline.h"

#include "systemc_test.h"
#include "wfold_cases.h"

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {

using wfold::WfoldPipeline;
using wfold::WfoldSchedule;
using wfold::WfoldWalk;

namespace {

/// What surrounds a pipeline: when lines are ready and third buffers are drained.
struct Surroundings {
  int port_bytes = 64;
  std::function<Cycle(std::int64_t)> ready = [](std::int64_t) { return Cycle{0}; };  ///< by line of the run
  std::function<bool(std::int64_t)> absent = [](std::int64_t) { return false; };     ///< by line of the run
  std::function<Cycle(std::int64_t)> drain = [](std::int64_t) {
    return Cycle{0};
  };  ///< by tile: cycles after its last beat until its half is drained
};

struct Outcome {
  Cycle last_beat = -1;
  std::vector<Cycle> entered;  ///< by line of the run
  std::vector<Cycle> tile_ends;
  ActivityCycles beats{}, ports{}, broadcast{};  ///< cycles 0 to `last_beat`

  Cycle beats_of(Activity a) const { return cycles_of(beats, a); }
};

/// The pipeline driven as WfoldMaster drives it.
Outcome run_pipeline(const WfoldCase& c, const Surroundings& around) {
  const WfoldSchedule schedule = c.schedule();
  WfoldPipeline pipeline(around.port_bytes);
  pipeline.begin(schedule, 0);
  Outcome outcome;
  const std::int64_t lines = schedule.all_lines();
  while (pipeline.next().more) {
    bool moved = false;
    while (static_cast<std::int64_t>(outcome.entered.size()) < lines && pipeline.has_place()) {
      const auto line = static_cast<std::int64_t>(outcome.entered.size());
      if (around.absent(line)) {
        pipeline.pass();
        outcome.entered.push_back(pipeline.broadcast.settled_at());
      } else {
        outcome.entered.push_back(pipeline.enter(around.ready(line)));
      }
      moved = true;
    }
    if (static_cast<std::int64_t>(outcome.entered.size()) == lines) pipeline.no_more_lines();
    while (pipeline.lines_there()) {
      const WfoldWalk walk = pipeline.next();
      Cycle drained = -1;
      if (walk.begins_tile() && walk.beat.tile >= 2) {
        const std::int64_t before = walk.beat.tile - 2;
        drained = outcome.tile_ends[static_cast<std::size_t>(before)] + around.drain(before);
      }
      outcome.last_beat = pipeline.do_step(drained);
      if (!pipeline.next().more || pipeline.next().beat.tile != walk.beat.tile)
        outcome.tile_ends.push_back(outcome.last_beat);
      moved = true;
    }
    if (!moved) throw std::runtime_error("the pipeline does not go on");
  }
  for (CycleLedger* ledger : {&pipeline.beats, &pipeline.ports, &pipeline.broadcast})
    ledger->settle(outcome.last_beat + 1);
  outcome.beats = pipeline.beats.cycles();
  outcome.ports = pipeline.ports.cycles();
  outcome.broadcast = pipeline.broadcast.cycles();
  return outcome;
}

// ---- SPEC WF-4 and WF-8 cycle by cycle ----

/// A beat as the specification orders them.
struct SpecBeat {
  std::int64_t tile = 0;
  bool begins_tile = false, begins_kernel_tile = false, ends_tile = false;
  int kernels = 0;                                 ///< Nco
  int kernel = 0;                                  ///< k
  std::int64_t step = 0;                           ///< j, from the first step of the kernel tile
  int bytes = 0;                                   ///< of the kernel line
  std::int64_t lines_needed = 0, lines_freed = 0;  ///< of the run
};

struct SpecRun {
  std::vector<SpecBeat> beats;
  std::int64_t lines = 0;
};

/// Bytes that the port reads for a line of folded column `column` and channel block `block`: the block's
/// bytes of a folded line; of the kernel's own bytes those of its taps' channels that lie in the block. A
/// line without bytes takes a cycle, too.
int line_bytes(const WfoldCase& c, int column, int block) {
  const int begin = block * c.pci, end = std::min(begin + c.pci, c.span());
  if (!c.own_bytes) return end - begin;
  const SpecConv& v = c.conv;
  int bytes = 0;
  for (int tap = 0; tap < v.kernel[1]; ++tap) {
    if (tap * v.dilation[1] / v.stride[1] != column) continue;
    const int first = tap * v.dilation[1] % v.stride[1] * v.channels;
    bytes += std::max(0, std::min(end, first + c.used) - std::max(begin, first));
  }
  return std::max(1, bytes);
}

SpecRun spec_run(const WfoldCase& c) {
  const SpecWfold& w = c.engine;
  const SpecConv& v = c.conv;
  const int fold = w.fold(c.pci);
  const auto parts = kernel_parts(v, w, c.pci);
  const auto blocks = static_cast<int>(ceiling(c.span(), c.pci));
  SpecRun run;
  std::int64_t tile = 0;
  for (int first_kernel = 0; first_kernel < v.out_channels; first_kernel += w.tile_channels()) {
    const int kernels =
        static_cast<int>(ceiling(std::min(w.tile_channels(), v.out_channels - first_kernel), w.slaves));
    const auto tiles = v.out_height * ceiling(v.out_width, w.tile_columns(c.pci));
    std::int64_t step = 0;
    for (std::int64_t in_plane = 0; in_plane < tiles; ++in_plane, ++tile) {
      const std::size_t first_beat = run.beats.size();
      for (const auto& part : parts) {
        for (int outer = 0; outer < (c.block_outer ? blocks : v.kernel[0]); ++outer) {
          for (int inner = 0; inner < (c.block_outer ? v.kernel[0] : blocks); ++inner) {
            const int block = c.block_outer ? outer : inner;
            const int lines = refill_lines(w, c.pci, part);
            for (std::size_t s = 0; s < part.size(); ++s, ++step) {
              const int offset = part[s] - part.front();
              for (int k = 0; k < kernels; ++k) {
                SpecBeat beat;
                beat.tile = tile;
                beat.begins_tile = run.beats.size() == first_beat;
                beat.begins_kernel_tile = beat.begins_tile && in_plane == 0;
                beat.kernels = kernels, beat.kernel = k, beat.step = step;
                beat.bytes = line_bytes(c, part[s], block);
                beat.lines_needed = run.lines + ceiling(offset + w.units * fold, fold);
                beat.lines_freed =
                    run.lines + (s + 1 == part.size() ? lines : (part[s + 1] - part.front()) / fold);
                run.beats.push_back(beat);
              }
            }
            run.lines += lines;
          }
        }
      }
      run.beats.back().ends_tile = true;
    }
  }
  return run;
}

/// Every cycle is decided on what the buffers hold at its beginning.
Outcome simulate(const WfoldCase& c, const Surroundings& around) {
  const SpecRun run = spec_run(c);
  const SpecWfold& w = c.engine;
  Outcome outcome;
  std::size_t beat = 0, fetched = 0;  // done, and complete in the second buffer
  std::int64_t freed = 0;
  int records_left = c.records ? run.beats.front().kernels : 0;
  int port_left = 0;                          // bytes of the kernel line that is under way
  std::map<int, std::optional<Cycle>> slots;  // taken ones: when their line was complete
  std::map<std::int64_t, Cycle> drained{};    // by tile
  const auto slot_of = [&](const SpecBeat& b) {
    return static_cast<int>(b.step % (w.second / b.kernels)) * b.kernels + b.kernel;
  };
  const auto is_drained = [&](std::int64_t tile, Cycle now) {
    return tile < 2 || (drained.count(tile - 2) != 0 && drained.at(tile - 2) < now);
  };
  const auto book = [](ActivityCycles& cycles, Activity a) { ++cycles[static_cast<std::size_t>(a)]; };
  for (Cycle now = 0; beat < run.beats.size(); ++now) {
    if (now > 2'000'000) throw std::runtime_error("the simulation does not end");
    // A beat.
    const SpecBeat& b = run.beats[beat];
    const int beat_slot = slot_of(b);
    Activity activity = Activity::kBusy;
    const auto entered = static_cast<std::int64_t>(outcome.entered.size());
    if (b.begins_tile && !is_drained(b.tile, now)) {
      activity = Activity::kOutputDrain;
    } else if (b.kernel == 0 && entered < b.lines_needed) {
      activity = Activity::kInputLoad;
    } else if (beat >= fetched || slots.count(beat_slot) == 0 || !slots.at(beat_slot)) {
      activity = Activity::kWeightLoad;
    }
    book(outcome.beats, activity);
    // The port of a region: at the beginning of the cycle the slot of this cycle's beat is still taken.
    if (fetched == run.beats.size()) {
      book(outcome.ports, Activity::kNoWork);
    } else if (records_left > 0) {
      const bool can = is_drained(run.beats[fetched].tile, now);
      book(outcome.ports, can ? Activity::kBusy : Activity::kOutputDrain);
      records_left -= can ? 1 : 0;
    } else {
      const SpecBeat& f = run.beats[fetched];
      if (port_left == 0 && slots.count(slot_of(f)) != 0) {
        book(outcome.ports, Activity::kWeightRelease);
      } else {
        if (port_left == 0) port_left = f.bytes;
        book(outcome.ports, Activity::kBusy);
        port_left = std::max(0, port_left - around.port_bytes);
        slots[slot_of(f)] = std::nullopt;
        if (port_left == 0) {
          slots[slot_of(f)] = now;
          ++fetched;
          if (fetched < run.beats.size() && run.beats[fetched].begins_kernel_tile && c.records)
            records_left = run.beats[fetched].kernels;
        }
      }
    }
    // A line, behind any number of lines that do not exist.
    std::int64_t line = entered;
    for (; line < run.lines && around.absent(line) && line - freed < w.first; ++line)
      outcome.entered.push_back(now);
    if (line == run.lines) {
      book(outcome.broadcast, Activity::kNoWork);
    } else if (!around.absent(line) && around.ready(line) > now) {
      book(outcome.broadcast, Activity::kLineLoad);
    } else if (line - freed >= w.first) {
      book(outcome.broadcast, Activity::kInputRelease);
    } else {
      book(outcome.broadcast, Activity::kBusy);
      outcome.entered.push_back(now);
    }
    if (activity != Activity::kBusy) continue;
    slots.erase(beat_slot);
    if (b.kernel == 0) freed = b.lines_freed;
    if (b.ends_tile) {
      drained[b.tile] = now + around.drain(b.tile);
      outcome.tile_ends.push_back(now);
    }
    outcome.last_beat = now;
    ++beat;
  }
  return outcome;
}

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
  EXPECT_EQ(cycles_of(outcome.broadcast, Activity::kBusy), 3 * 5) << "5 lines for each kernel row";
  EXPECT_EQ(cycles_of(outcome.ports, Activity::kBusy), 36);
}

TEST(WfoldPipeline, WF_8_example_2_takes_58_clocks) {
  const Outcome outcome = run_pipeline(example_2(), {});
  EXPECT_EQ(outcome.last_beat + 1, 58);
  EXPECT_EQ(outcome.beats_of(Activity::kInputLoad), 4);
  EXPECT_EQ(outcome.beats_of(Activity::kBusy), 54);
  EXPECT_EQ(cycles_of(outcome.broadcast, Activity::kBusy), 9 * 5)
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
  EXPECT_EQ(outcome.entered, (std::vector<Cycle>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(outcome.last_beat, 6);
}

// Of the 5 lines of each refill the last one, or all of the second refill, do not exist: the beats wait for
// the four lines of the first step, and for nothing else.
TEST(WfoldPipeline, WF_9_lines_outside_the_map_take_no_cycle) {
  Surroundings around;
  around.absent = [](std::int64_t line) { return line % 5 == 4 || line / 5 == 1; };
  const Outcome outcome = run_pipeline(example_1(), around);
  EXPECT_EQ(outcome.last_beat + 1, 40);
  EXPECT_EQ(cycles_of(outcome.broadcast, Activity::kBusy), 8);
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
