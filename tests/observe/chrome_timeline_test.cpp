// Timelines for trace viewers (SPEC UI-3, UI-7).
#include "observe/chrome_timeline.h"

#include "timeline_reader.h"

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr Picoseconds kPeriod = 800;
constexpr Picoseconds at(Cycle cycle) {
  return cycle * kPeriod;
}

/// A timeline whose present is `now`.
struct Made {
  explicit Made(std::int64_t max_bytes = 1 << 20)
      : timeline([&] {
          TimelineOptions options;
          options.system = "chip";
          options.clock_period = kPeriod;
          options.peak_macs = 64;
          options.max_bytes = max_bytes;
          options.now = [this] { return at(now); };
          options.place_of = [](std::uint64_t address) -> std::optional<WorkPlace> {
            if (address == 0) return std::nullopt;
            return WorkPlace{"conv \"1\"", static_cast<int>(address)};
          };
          return options;
        }()) {}
  std::string text(Cycle end = 1'000'000'000) {
    std::string text;
    timeline.write(end, [&](std::string_view piece) { text += piece; });
    return text;
  }
  void slice(const std::string& track, const std::string& what, Cycle begin, Cycle end) {
    Slice slice{what, at(begin), at(end)};
    slice.instruction = 0;
    timeline.slice(track, slice);
  }
  Cycle now = 0;
  ChromeTimeline timeline;
};

std::vector<std::pair<std::int64_t, std::int64_t>> times(const std::vector<TimelineSlice>& slices) {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for (const TimelineSlice& slice : slices) all.emplace_back(slice.begin, slice.end);
  return all;
}

TEST(ChromeTimeline, UI_3_what_overlaps_has_rows_of_its_own) {
  Made made;
  made.slice("bus", "first", 0, 3);
  made.slice("bus", "second", 1, 4);
  made.slice("bus", "third", 3, 5);  // begins where the first one ends
  made.slice("array", "run", 2, 3);
  const ReadTimeline read = read_timeline(made.text());
  using Times = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(times(read.tracks.at("chip/bus")), (Times{{0, 3}, {3, 5}}));
  EXPECT_EQ(times(read.tracks.at("chip/bus (2)")), (Times{{1, 4}}));
  EXPECT_EQ(times(read.tracks.at("chip/array")), (Times{{2, 3}}));
}

TEST(ChromeTimeline, UI_3_slices_of_a_row_never_overlap_and_none_is_lost) {
  std::mt19937 engine(7);
  Made made(std::int64_t{4} << 20);
  constexpr int kSlices = 5000;
  for (int i = 0; i < kSlices; ++i) {
    const Cycle begin = engine() % 1000;
    made.slice("track" + std::to_string(engine() % 5), "work", begin, begin + engine() % 40);
  }
  std::size_t found = 0;
  for (const auto& [name, slices] : read_timeline(made.text()).tracks) found += slices.size();
  EXPECT_EQ(found, std::size_t{kSlices});
}

TEST(ChromeTimeline, UI_7_a_process_a_cluster_and_the_tracks_of_a_core_together) {
  Made made;
  for (const char* track : {"cluster1.core10.vector", "noc.cluster1.core2.iodma", "cluster1.memory.gdma",
                            "cluster0.core0.load", "cluster1.core2.vector", "layers", "cluster1.core2.load"})
    made.slice(track, "work", 0, 1);
  made.timeline.activities("cluster1.core2.load.request", kPeriod)
      .spent(Activity::kBusy, 0, 5, CycleOrder::kAsTold);
  EXPECT_EQ(
      read_timeline(made.text()).order,
      (std::vector<std::string>{"chip/layers", "chip/noc.cluster1.core2.iodma", "cluster0/core0.load",
                                "cluster1/core2.load", "cluster1/core2.load.request state",
                                "cluster1/core2.vector", "cluster1/core10.vector", "cluster1/memory.gdma"}));
}

TEST(ChromeTimeline, UI_7_slices_carry_layer_tile_bytes_and_clocks) {
  Made made;
  Slice slice{"iodma.copy", at(3), at(10)};
  slice.instruction = 7, slice.bytes = 640, slice.macs = 5;
  made.timeline.slice("iodma", slice);
  const nlohmann::json args = read_timeline(made.text()).tracks.at("chip/iodma").at(0).args;
  EXPECT_EQ(args, nlohmann::json::parse(
                      R"({"layer": "conv \"1\"", "tile": 7, "bytes": 640, "macs": 5, "clocks": 7})"));
}

TEST(ChromeTimeline, UI_7_bursts_are_shown_when_there_is_room_for_all) {
  for (const int bursts : {100, 10'000}) {
    Made made;
    for (int i = 0; i < bursts; ++i) made.timeline.slice("bus.load", {"read 64 B @0x40", at(i), at(i + 1)});
    made.slice("iodma", "copy", 0, 5);
    const ReadTimeline read = read_timeline(made.text());
    EXPECT_TRUE(read.complete);
    EXPECT_EQ(read.tracks.count("chip/iodma"), 1U);
    EXPECT_EQ(read.tracks.count("chip/bus.load"), bursts == 100 ? 1U : 0U);
  }
}

TEST(ChromeTimeline, UI_7_activities_are_exact_while_there_is_room) {
  Made made;
  ActivityListener& unit = made.timeline.activities("vector", kPeriod);
  unit.spent(Activity::kNoWork, 0, 4, CycleOrder::kAsTold);
  unit.spent(Activity::kNoWork, 4, 9, CycleOrder::kAsTold);
  unit.spent(Activity::kBusy, 9, 10, CycleOrder::kAsTold);
  unit.spent(Activity::kMemoryQueue, 10, 12, CycleOrder::kAsTold);
  unit.spent(Activity::kBusy, 12, 20, CycleOrder::kAsTold);
  const auto slices = read_timeline(made.text()).tracks.at("chip/vector state");
  std::vector<std::pair<std::string, std::int64_t>> seen;
  for (const TimelineSlice& slice : slices) seen.emplace_back(slice.name, slice.begin);
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, std::int64_t>>{
                      {"no_work", 0}, {"busy", 9}, {"memory_queue", 10}, {"busy", 12}}));
}

// A chunk beat by beat and the same chunk in one step.
TEST(ChromeTimeline, CY_3_cycles_in_any_order_look_the_same_in_both_granularities) {
  Made clock, tile;
  ActivityListener& beats = clock.timeline.activities("array", kPeriod);
  ActivityListener& step = tile.timeline.activities("array", kPeriod);
  for (Cycle i = 0; i < 30; ++i)
    beats.spent(i % 3 == 1 ? Activity::kBankConflict : Activity::kBusy, i, i + 1, CycleOrder::kMixed);
  step.spent(Activity::kBusy, 0, 20, CycleOrder::kMixed);
  step.spent(Activity::kBankConflict, 20, 30, CycleOrder::kMixed);
  EXPECT_EQ(clock.text(), tile.text());
}

struct Stretch {
  Activity activity;
  Cycle begin, end;
  CycleOrder order;
};

std::vector<Stretch> random_stretches(int seed, int count) {
  std::mt19937 engine(static_cast<unsigned>(seed));
  std::vector<Stretch> all;
  Cycle now = 0;
  for (int i = 0; i < count; ++i) {
    const Cycle cycles = 1 + static_cast<Cycle>(engine() % (engine() % 20 == 0 ? 500 : 6));
    all.push_back({static_cast<Activity>(engine() % 6), now, now + cycles,
                   engine() % 4 == 0 ? CycleOrder::kMixed : CycleOrder::kAsTold});
    now += cycles;
  }
  return all;
}

TEST(ChromeTimeline, UI_7_coarser_activities_keep_every_cycle_and_the_file_below_its_limit) {
  constexpr std::int64_t kLimit = 1 << 20;
  Made made(kLimit);
  std::map<std::string, std::map<std::string, std::int64_t>> wanted;
  for (int unit = 0; unit < 20; ++unit) {
    const std::string name = "unit" + std::to_string(unit);
    ActivityListener& listener = made.timeline.activities(name, kPeriod);
    for (const Stretch& s : random_stretches(unit, 3000)) {
      listener.spent(s.activity, s.begin, s.end, s.order);
      wanted["chip/" + name + " state"][std::string(activity_name(s.activity))] += s.end - s.begin;
    }
  }
  const std::string text = made.text();
  EXPECT_LT(static_cast<std::int64_t>(text.size()), kLimit);
  EXPECT_EQ(text.find("\"activity_window_cycles\":\"1\""), std::string::npos) << "there was no room for all";
  const ReadTimeline read = read_timeline(text);
  EXPECT_TRUE(read.complete);
  for (const auto& [track, cycles] : wanted) EXPECT_EQ(read.cycles(track), cycles) << track;
}

// Units tell their cycles in other pieces and another order: an early snapshot, another order of processes.
TEST(ChromeTimeline, CY_4_the_same_bytes_whatever_the_order_of_telling) {
  constexpr int kUnits = 12, kStretches = 2500;
  const auto text = [&](bool interleaved) {
    Made made(1 << 19);
    std::vector<ActivityListener*> units;
    std::vector<std::vector<Stretch>> work;
    for (int unit = 0; unit < kUnits; ++unit) {
      units.push_back(&made.timeline.activities("unit" + std::to_string(unit), kPeriod));
      work.push_back(random_stretches(unit, kStretches));
    }
    const auto tell = [&](int unit, int i) {
      const Stretch& s = work[static_cast<std::size_t>(unit)][static_cast<std::size_t>(i)];
      const Cycle middle = interleaved ? (s.begin + s.end) / 2 : s.end;
      if (middle > s.begin)
        units[static_cast<std::size_t>(unit)]->spent(s.activity, s.begin, middle, s.order);
      if (middle < s.end) units[static_cast<std::size_t>(unit)]->spent(s.activity, middle, s.end, s.order);
    };
    for (int i = 0; i < kUnits * kStretches; ++i) {
      if (interleaved)
        tell(i % kUnits, i / kUnits);
      else
        tell(i / kStretches, i % kStretches);
    }
    return made.text();
  };
  EXPECT_EQ(text(true), text(false));
}

TEST(ChromeTimeline, UI_7_counters_keep_their_sums_in_longer_windows) {
  Made made;
  const CounterId bytes = made.timeline.add_counter({"dram", "read", "bytes a cycle"});
  const CounterId macs = made.timeline.add_counter({"array", "utilization", "%", CounterInfo::Kind::kWork});
  const CounterId fill = made.timeline.add_counter({"iodma", "buffer", "bytes", CounterInfo::Kind::kLevel});
  std::int64_t all = 0;
  for (Cycle cycle = 0; cycle < 20'000; cycle += 7) {
    made.timeline.count(bytes, at(cycle), at(cycle + 4), 64);
    all += 64;
  }
  made.timeline.count(macs, at(0), at(16'384), std::int64_t{32} * 16'384);
  made.timeline.level(fill, at(100), 512);
  made.timeline.level(fill, at(101), 0);
  const ReadTimeline read = read_timeline(made.text());
  EXPECT_DOUBLE_EQ(read.sum("chip/dram read"), static_cast<double>(all));
  EXPECT_LE(read.counters.at("chip/dram read").size(), 257U);
  EXPECT_DOUBLE_EQ(read.counters.at("chip/array utilization").at(0).second, 50) << "of 64 a cycle";
  double most = 0;
  for (const auto& [when, value] : read.counters.at("chip/iodma buffer")) most = std::max(most, value);
  EXPECT_EQ(most, 512) << "the largest value of a window";
  EXPECT_EQ(read.counters.at("chip/iodma buffer").back().second, 0);
}

TEST(ChromeTimeline, UI_7_a_limit_ends_it_valid_behind_the_cycle_that_reaches_it) {
  constexpr std::int64_t kLimit = 1 << 20;
  Made made(kLimit);
  Cycle last = 0;
  for (made.now = 0; !made.timeline.is_over(); ++made.now) {
    ASSERT_LT(made.now, 100'000) << "the limit is never reached";
    for (const char* track : {"a", "b", "c"}) {
      if (!made.timeline.is_over()) last = made.now;
      made.slice(track, "work", made.now, made.now + 1);
    }
  }
  made.slice("layers", "conv1", 0, 200'000);
  const std::string text = made.text();
  EXPECT_LT(static_cast<std::int64_t>(text.size()), kLimit);
  const ReadTimeline read = read_timeline(text);
  EXPECT_FALSE(read.complete);
  const Cycle end = made.timeline.ended_at().value();
  EXPECT_EQ(end + 1, last) << "the first one of the next cycle finds it ended";
  for (const char* track : {"chip/a", "chip/b", "chip/c"})
    EXPECT_EQ(read.tracks.at(track).back().begin, end) << "all of the cycle is there: " << track;
  ASSERT_EQ(read.tracks.at("chip/timeline").size(), 1U);
  EXPECT_EQ(read.tracks.at("chip/timeline")[0].begin, end);
  EXPECT_EQ(read.tracks.at("chip/layers").size(), 1U) << "layers are shown whatever happens";
}

}  // namespace
}  // namespace tilebeat::testing
