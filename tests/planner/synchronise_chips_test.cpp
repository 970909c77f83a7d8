// Tokens between processors, barriers and the order of programs, derived by hand (SPEC MA-2, HI-5).
#include "planner/schedule/schedule.h"
#include "small_graph.h"
#include "tilebeat/error.h"

#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kClusterSize = 3;  // two cores and their memory core

SmallPrograms chip_programs_of(const SmallGraph& g, std::vector<double> times = {}) {
  Schedule schedule;
  for (std::size_t i = times.size(); i < g.graph.tasks().size(); ++i) times.push_back(static_cast<double>(i));
  schedule.start = schedule.end = schedule.done = times;
  return SmallPrograms(synchronise(g.graph, dependencies_of(g.graph), schedule, kClusterSize));
}
Semaphore only_one(const Semaphores& field) {
  EXPECT_THAT(tokens(field), SizeIs(1));
  return tokens(field).empty() ? Semaphore{0} : tokens(field).front();
}

TEST(Synchronise, MA_2_a_signal_passes_a_token_to_another_processor) {
  SmallGraph g;
  const BufferId b = g.buffer(BufferRole::kStaging);
  const int writer = g.add(2, Unit::kGdma, {write_of(b)}), reader = g.add(1, Unit::kMvdma, {read_of(b)});
  const SmallPrograms programs = chip_programs_of(g);
  ASSERT_THAT(programs.of(2), SizeIs(2));
  ASSERT_THAT(programs.of(1), SizeIs(1));
  const Instruction& signal = programs.of(2)[1];
  EXPECT_EQ(only_one(signal.waits), only_one(programs.task(writer).done_signals));
  EXPECT_THAT(tokens(signal.done_signals), IsEmpty());
  EXPECT_THAT(tokens(signal.release_signals), IsEmpty());
  const Signal sent = signal.operation.get<Signal>();
  EXPECT_EQ(sent.processors, 1U << 1) << "core 1";
  EXPECT_EQ(sent.semaphore, only_one(programs.task(reader).waits));
  EXPECT_EQ(semaphore_activity(sent.semaphore), Activity::kPeer);
}

TEST(Synchronise, MA_2_one_signal_for_the_same_unit_of_several_processors) {
  SmallGraph g;
  const BufferId b = g.buffer(BufferRole::kStaging);
  g.add(2, Unit::kGdma, {write_of(b)});
  const int first = g.add(0, Unit::kMvdma, {read_of(b)}), second = g.add(1, Unit::kMvdma, {read_of(b)});
  const SmallPrograms programs = chip_programs_of(g);
  ASSERT_THAT(programs.signals(2), SizeIs(1));
  const Signal sent = programs.signals(2).front().operation.get<Signal>();
  EXPECT_EQ(sent.processors, 0b11U);
  EXPECT_EQ(only_one(programs.task(first).waits), sent.semaphore);
  EXPECT_EQ(only_one(programs.task(second).waits), sent.semaphore);
}

TEST(Synchronise, MA_2_a_signal_for_each_of_several_units) {
  SmallGraph g;
  const BufferId b = g.buffer(BufferRole::kStaging);
  const int writer = g.add(2, Unit::kGdma, {write_of(b)});
  const int copy = g.add(0, Unit::kMvdma, {read_of(b)}), vector = g.add(0, Unit::kVector, {read_of(b)});
  const SmallPrograms programs = chip_programs_of(g);
  ASSERT_THAT(programs.signals(2), SizeIs(2));
  EXPECT_THAT(tokens(programs.task(writer).done_signals), SizeIs(2)) << "a token for each of them";
  std::set<Semaphore> sent, taken{only_one(programs.task(copy).waits), only_one(programs.task(vector).waits)};
  for (const Instruction& signal : programs.signals(2)) {
    EXPECT_EQ(signal.operation.get<Signal>().processors, 1U);
    sent.insert(signal.operation.get<Signal>().semaphore);
  }
  EXPECT_EQ(sent, taken);
  EXPECT_THAT(sent, SizeIs(2));
}

TEST(Synchronise, MA_2_processors_are_counted_inside_their_cluster) {
  SmallGraph g;
  const BufferId b = g.buffer(BufferRole::kStaging);
  g.add(4, Unit::kMvdma, {write_of(b)});
  g.add(5, Unit::kGdma, {read_of(b)});  // the memory core of cluster 1
  const SmallPrograms programs = chip_programs_of(g);
  EXPECT_EQ(programs.signals(4).front().operation.get<Signal>().processors, 1U << 2);
}

TEST(Synchronise, MA_2_a_semaphore_of_others_serves_nobody_else) {
  // Core 1 waits for core 0, for the memory core, and for its own copies: three semaphores.
  SmallGraph g;
  const BufferId a = g.buffer(BufferRole::kStaging), b = g.buffer(BufferRole::kStaging), c = g.buffer();
  g.add(0, Unit::kMvdma, {write_of(a)});
  g.add(2, Unit::kMvdma, {write_of(b)});
  g.add(1, Unit::kMvdma, {write_of(c)});
  const int reader = g.add(1, Unit::kVector, {read_of(a), read_of(b), read_of(c)});
  const auto waits = tokens(chip_programs_of(g).task(reader).waits);
  EXPECT_EQ(std::set<Semaphore>(waits.begin(), waits.end()).size(), 3U);
}

TEST(Synchronise, MA_2_HI_3_a_signal_for_every_cluster_that_waits) {
  SmallGraph g;
  const BufferId b = g.buffer(BufferRole::kStaging);
  g.add(5, Unit::kCdma, {write_of(b)});  // the memory core of cluster 1
  const int near = g.add(3, Unit::kMvdma, {read_of(b)});
  const int before = g.add(2, Unit::kMvdma, {read_of(b)});
  const int behind[] = {g.add(6, Unit::kMvdma, {read_of(b)}), g.add(8, Unit::kMvdma, {read_of(b)})};
  const SmallPrograms programs = chip_programs_of(g);
  std::map<int, Signal> sent;  // by distance
  for (const Instruction& signal : programs.signals(5)) {
    const Signal s = signal.operation.get<Signal>();
    EXPECT_TRUE(sent.emplace(s.cluster_distance, s).second) << "one a cluster";
  }
  ASSERT_THAT(sent, SizeIs(3));
  EXPECT_EQ(sent.at(-1).processors, 1U << 2);
  EXPECT_EQ(sent.at(0).processors, 1U << 0);
  EXPECT_EQ(sent.at(1).processors, 0b101U);
  EXPECT_EQ(only_one(programs.task(before).waits), sent.at(-1).semaphore);
  EXPECT_EQ(only_one(programs.task(near).waits), sent.at(0).semaphore);
  for (const int task : behind) EXPECT_EQ(only_one(programs.task(task).waits), sent.at(1).semaphore);
}

TEST(Synchronise, MA_2_HI_3_clusters_that_wait_for_one_another_have_semaphores_of_their_own) {
  // The memory cores of clusters 0 and 2 both free a place that the one of cluster 1 waits for.
  SmallGraph g;
  const BufferId a = g.buffer(BufferRole::kStaging), b = g.buffer(BufferRole::kStaging);
  g.add(2, Unit::kMvdma, {write_of(a)});
  g.add(8, Unit::kMvdma, {write_of(b)});
  const int pass = g.add(5, Unit::kCdma, {read_of(a), read_of(b)});
  const auto waits = tokens(chip_programs_of(g).task(pass).waits);
  EXPECT_EQ(std::set<Semaphore>(waits.begin(), waits.end()).size(), 2U);
}

TEST(Synchronise, MA_2_what_the_decoder_carries_out_is_no_task) {
  SmallGraph g;
  g.add(0, Unit::kSync, {});
  EXPECT_THROW(chip_programs_of(g), SimulationError) << "a barrier takes and gives no tokens";
}

TEST(Synchronise, MA_2_programs_are_in_the_order_of_the_schedule) {
  SmallGraph g;
  for (int i = 0; i < 4; ++i) g.add(0, i % 2 == 0 ? Unit::kIodma : Unit::kVector, {});
  const SmallPrograms programs = chip_programs_of(g, {30, 10, 0, 20});
  std::vector<int> order;
  for (const Instruction& instruction : programs.of(0)) order.push_back(tag_of(instruction));
  EXPECT_THAT(order, ElementsAre(2, 1, 3, 0));
}

// Whatever times a schedule gives: a task of a processor stands behind those of its processor that it waits
// for, and one order of all processors has every task behind what it waits for.
TEST(Synchronise, MA_2_whatever_the_schedule_says_the_order_is_topological_and_tokens_go_to_one_queue) {
  std::mt19937 random(1);
  const auto number = [&random](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  int joins = 0;
  for (int round = 0; round < 200; ++round) {
    SmallGraph g;
    std::vector<double> times;
    std::vector<int> versions(6, 0);
    for (std::size_t i = 0; i < versions.size(); ++i) g.buffer(BufferRole::kStaging);
    for (int task = 0; task < 30; ++task) {
      const int to = number(6);
      std::vector<tilebeat::Access> accesses;
      for (int from = 0; from < 6; ++from) {
        if (from != to && number(2) == 0)
          accesses.push_back(read_of(from, versions[static_cast<std::size_t>(from)]));
      }
      accesses.push_back(write_of(to, ++versions[static_cast<std::size_t>(to)]));
      const std::vector<Unit> units{Unit::kIodma, Unit::kMvdma, Unit::kVector};
      g.add(number(2 * kClusterSize), units[static_cast<std::size_t>(number(3))], accesses);
      times.push_back(number(20));
    }
    const SmallPrograms programs = chip_programs_of(g, times);
    // Takes from the heads of the programs what has everything in front of it that it waits for.
    std::map<int, std::size_t> next;
    std::set<int> taken;
    std::vector<std::set<int>> before(g.graph.tasks().size());
    for (const Dependency& d : dependencies_of(g.graph))
      before[static_cast<std::size_t>(d.to)].insert(d.from);
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto& [processor, program] : programs.all()) {
        std::size_t& at = next[processor];
        for (; at < program.size(); ++at, moved = true) {
          const int tag = tag_of(program[at]);
          if (tag < 0) continue;
          const std::set<int>& needed = before[static_cast<std::size_t>(tag)];
          if (!std::includes(taken.begin(), taken.end(), needed.begin(), needed.end())) break;
          taken.insert(tag);
        }
      }
    }
    ASSERT_EQ(taken.size(), g.graph.tasks().size()) << "round " << round;
    // A queue takes its tokens in its own order: two of them would take one another's.
    for (const auto& [processor, program] : programs.all()) {
      std::map<Semaphore, Unit> takers;
      for (const Instruction& instruction : program) {
        joins += tag_of(instruction) < 0 && tokens(instruction.waits).size() > 1 ? 1 : 0;
        for (const Semaphore s : tokens(instruction.waits))
          ASSERT_EQ(takers.emplace(s, unit_of(instruction)).first->second, unit_of(instruction))
              << "round " << round << ", processor " << processor << ", " << semaphore_name(s);
      }
    }
  }
  EXPECT_GT(joins, 100);
}

}  // namespace
}  // namespace tilebeat::testing
