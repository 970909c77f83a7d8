// Tokens of small task graphs, derived by hand (SPEC MA-2).
#include "planner/schedule/schedule.h"
#include "small_graph.h"
#include "tilebeat/error.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// The programs when task i starts, ends and is done at times[i], or at i.
SmallPrograms programs_of(const SmallGraph& g, std::vector<double> times = {}, int cluster_size = 4) {
  Schedule schedule;
  for (std::size_t i = times.size(); i < g.graph.tasks().size(); ++i) times.push_back(static_cast<double>(i));
  schedule.start = schedule.end = schedule.done = times;
  return SmallPrograms(synchronise(g.graph, dependencies_of(g.graph), schedule, cluster_size));
}
Semaphore only(const Semaphores& field) {
  EXPECT_THAT(tokens(field), SizeIs(1));
  return tokens(field).empty() ? Semaphore{0} : tokens(field).front();
}
int all_tokens(const Instruction& i) {
  return static_cast<int>(tokens(i.waits).size() + tokens(i.release_signals).size() +
                          tokens(i.done_signals).size());
}

TEST(Synchronise, MA_2_read_after_write) {
  SmallGraph g;
  const BufferId b = g.buffer(BufferRole::kMap);
  const int writer = g.add(0, Unit::kIodma, {write_of(b)}), reader = g.add(0, Unit::kVector, {read_of(b)});
  const SmallPrograms programs = programs_of(g);
  ASSERT_THAT(programs.of(0), SizeIs(2));
  const Semaphore s = only(programs.task(writer).done_signals);
  EXPECT_EQ(only(programs.task(reader).waits), s);
  EXPECT_EQ(semaphore_activity(s), Activity::kMapLoad);
  EXPECT_EQ(all_tokens(programs.task(writer)), 1);
  EXPECT_EQ(all_tokens(programs.task(reader)), 1);
}

TEST(Synchronise, MA_2_write_after_read_waits_for_the_release_or_for_the_end) {
  for (const TaskEvent free : {TaskEvent::kReleased, TaskEvent::kDone}) {
    SmallGraph g;
    const BufferId b = g.buffer(BufferRole::kMap);
    Task reading = tagged_task(0, Unit::kVector, 0, {read_of(b)});
    reading.operands_free = free;
    const int reader = g.graph.add(reading), writer = g.add(0, Unit::kIodma, {write_of(b, 1)});
    const SmallPrograms programs = programs_of(g);
    const Instruction& first = programs.task(reader);
    const bool released = free == TaskEvent::kReleased;
    const Semaphore s = only(released ? first.release_signals : first.done_signals);
    EXPECT_EQ(all_tokens(first), 1);
    EXPECT_EQ(only(programs.task(writer).waits), s);
    EXPECT_EQ(semaphore_activity(s), Activity::kMapRelease);
  }
}

TEST(Synchronise, MA_2_write_after_write) {
  SmallGraph g;
  const BufferId b = g.buffer(BufferRole::kResult);
  const int first = g.add(0, Unit::kIodma, {write_of(b)}), second = g.add(0, Unit::kMvdma, {write_of(b, 1)});
  const SmallPrograms programs = programs_of(g);
  EXPECT_EQ(only(programs.task(first).done_signals), only(programs.task(second).waits));
  EXPECT_THAT(tokens(programs.task(first).release_signals), IsEmpty());
}

TEST(Synchronise, MA_2_accumulations_of_one_unit_wait_for_one_another) {
  SmallGraph g;
  const BufferId b = g.buffer(BufferRole::kOutput);
  std::vector<int> sums;
  for (int i = 0; i < 3; ++i) sums.push_back(g.add(0, Unit::kVector, {accumulate_in(b)}));
  const SmallPrograms programs = programs_of(g);
  const Semaphore s = only(programs.task(sums[0]).done_signals);
  EXPECT_THAT(tokens(programs.task(sums[0]).waits), IsEmpty());
  EXPECT_THAT(tokens(programs.task(sums[1]).waits), ElementsAre(s));
  EXPECT_THAT(tokens(programs.task(sums[1]).done_signals), ElementsAre(s));
  EXPECT_THAT(tokens(programs.task(sums[2]).waits), ElementsAre(s)) << "the second stands for the first";
  EXPECT_THAT(tokens(programs.task(sums[2]).done_signals), IsEmpty());
}

TEST(Synchronise, MA_2_of_one_unit_only_the_last_task_counts) {
  SmallGraph g;
  std::vector<tilebeat::Access> reads;
  std::vector<int> writers;
  for (int i = 0; i < 3; ++i) {
    const BufferId b = g.buffer();
    writers.push_back(g.add(0, Unit::kIodma, {write_of(b)}));
    reads.push_back(read_of(b));
  }
  const int reader = g.add(0, Unit::kVector, reads);
  const SmallPrograms programs = programs_of(g);
  EXPECT_EQ(all_tokens(programs.task(writers[0])), 0);
  EXPECT_EQ(all_tokens(programs.task(writers[1])), 0);
  EXPECT_EQ(only(programs.task(writers[2]).done_signals), only(programs.task(reader).waits));
}

TEST(Synchronise, MA_2_the_last_task_is_the_last_of_the_program) {
  SmallGraph g;
  const BufferId a = g.buffer(), b = g.buffer();
  const int late = g.add(0, Unit::kIodma, {write_of(a)}), early = g.add(0, Unit::kIodma, {write_of(b)});
  const int reader = g.add(0, Unit::kVector, {read_of(a), read_of(b)});
  const SmallPrograms programs = programs_of(g, {5, 1, 9});
  EXPECT_LT(programs.place(0, early), programs.place(0, late));
  EXPECT_EQ(all_tokens(programs.task(early)), 0);
  EXPECT_EQ(only(programs.task(late).done_signals), only(programs.task(reader).waits));
}

TEST(Synchronise, MA_2_no_token_where_an_earlier_task_has_waited) {
  SmallGraph g;
  const BufferId a = g.buffer(), b = g.buffer();
  const int first = g.add(0, Unit::kIodma, {write_of(a)}), second = g.add(0, Unit::kIodma, {write_of(b)});
  const int waits = g.add(0, Unit::kVector, {read_of(b)}), goes_on = g.add(0, Unit::kVector, {read_of(a)});
  const SmallPrograms programs = programs_of(g);
  EXPECT_EQ(all_tokens(programs.task(first)), 0);
  EXPECT_EQ(only(programs.task(second).done_signals), only(programs.task(waits).waits));
  EXPECT_EQ(all_tokens(programs.task(goes_on)), 0);
}

TEST(Synchronise, MA_2_another_unit_waits_for_itself) {
  SmallGraph g;
  const BufferId b = g.buffer();
  const int writer = g.add(0, Unit::kIodma, {write_of(b)});
  const int vector = g.add(0, Unit::kVector, {read_of(b)}), matrix = g.add(0, Unit::kMatrix, {read_of(b)});
  const SmallPrograms programs = programs_of(g);
  const Semaphore to_vector = only(programs.task(vector).waits),
                  to_matrix = only(programs.task(matrix).waits);
  EXPECT_NE(to_vector, to_matrix) << "otherwise one of them could take both";
  EXPECT_EQ(std::set<Semaphore>({to_vector, to_matrix}), [&] {
    const auto given = tokens(programs.task(writer).done_signals);
    return std::set<Semaphore>(given.begin(), given.end());
  }());
}

TEST(Synchronise, MA_2_what_is_done_is_released) {
  SmallGraph g;
  const BufferId source = g.buffer(), target = g.buffer();
  const int store = g.add(0, Unit::kIodma, {read_of(source), write_of(target)});
  const int reader = g.add(0, Unit::kVector, {read_of(target)});
  const int writer = g.add(0, Unit::kVector, {write_of(source, 1)});
  const SmallPrograms programs = programs_of(g);
  EXPECT_EQ(only(programs.task(store).done_signals), only(programs.task(reader).waits));
  EXPECT_THAT(tokens(programs.task(store).release_signals), IsEmpty());
  EXPECT_EQ(all_tokens(programs.task(writer)), 0);
}

TEST(Synchronise, MA_2_what_is_released_need_not_be_done) {
  SmallGraph g;
  const BufferId source = g.buffer(), target = g.buffer();
  const int store = g.add(0, Unit::kIodma, {read_of(source), write_of(target)});
  const int writer = g.add(0, Unit::kVector, {write_of(source, 1)});
  const int reader = g.add(0, Unit::kVector, {read_of(target)});
  const SmallPrograms programs = programs_of(g);
  const Semaphore released = only(programs.task(store).release_signals);
  const Semaphore done = only(programs.task(store).done_signals);
  EXPECT_NE(released, done);
  EXPECT_THAT(tokens(programs.task(writer).waits), ElementsAre(released));
  EXPECT_THAT(tokens(programs.task(reader).waits), ElementsAre(done));
}

const std::vector<Unit> kOthers{Unit::kLoad,  Unit::kParameter, Unit::kStore, Unit::kVector,
                                Unit::kIodma, Unit::kMvdma,     Unit::kFold};

TEST(Synchronise, MA_2_four_waits_stand_in_the_instruction) {
  SmallGraph g;
  std::vector<tilebeat::Access> reads;
  for (std::size_t i = 0; i < 4; ++i) {
    const BufferId b = g.buffer();
    g.add(0, kOthers[i], {write_of(b)});
    reads.push_back(read_of(b));
  }
  const int reader = g.add(0, Unit::kMatrix, reads);
  const SmallPrograms programs = programs_of(g);
  EXPECT_THAT(programs.signals(0), IsEmpty());
  EXPECT_THAT(tokens(programs.task(reader).waits), SizeIs(4));
}

TEST(Synchronise, MA_2_more_than_four_waits_are_joined_in_front) {
  SmallGraph g;
  std::vector<tilebeat::Access> reads;
  std::vector<int> writers;
  for (const Unit unit : kOthers) {
    const BufferId b = g.buffer();
    writers.push_back(g.add(0, unit, {write_of(b)}));
    reads.push_back(read_of(b));
  }
  const int reader = g.add(0, Unit::kMatrix, reads);
  const SmallPrograms programs = programs_of(g);
  // Seven tokens: four of them are joined to one; it and the other three are four.
  ASSERT_THAT(programs.signals(0), SizeIs(1));
  ASSERT_THAT(programs.of(0), SizeIs(9));
  const Instruction join = programs.signals(0).front();
  EXPECT_EQ(tag_of(programs.of(0)[8]), reader) << "behind the join";
  EXPECT_EQ(join.operation.get<Signal>().processors, 0U) << "only its own tokens count";
  std::multiset<Semaphore> given, taken;
  for (const int writer : writers) given.insert(only(programs.task(writer).done_signals));
  given.insert(only(join.done_signals));
  for (const Semaphore s : tokens(join.waits)) taken.insert(s);
  for (const Semaphore s : tokens(programs.task(reader).waits)) taken.insert(s);
  EXPECT_EQ(given, taken);
  EXPECT_EQ(given.count(only(join.done_signals)), 1U);
  EXPECT_EQ(std::set<Semaphore>(given.begin(), given.end()).size(), 8U) << "one semaphore a pair of units";
  EXPECT_THAT(tokens(programs.task(reader).waits), ::testing::Contains(only(join.done_signals)));
}

// A join takes its tokens in the queue of signals, ahead of the unit. With the semaphore of an earlier task
// it could take the token of that one.
TEST(Synchronise, MA_2_a_join_takes_no_token_of_an_earlier_task) {
  SmallGraph g;
  const BufferId first = g.buffer();
  const int early = g.add(0, kOthers[0], {write_of(first)});
  const int direct = g.add(0, Unit::kMatrix, {read_of(first)});
  std::vector<tilebeat::Access> reads;
  std::vector<int> writers;
  for (const Unit unit : kOthers) {
    const BufferId b = g.buffer();
    writers.push_back(g.add(0, unit, {write_of(b)}));
    reads.push_back(read_of(b));
  }
  g.add(0, Unit::kMatrix, reads);
  const SmallPrograms programs = programs_of(g);
  const Semaphore taken = only(programs.task(direct).waits);
  EXPECT_EQ(only(programs.task(early).done_signals), taken);
  EXPECT_NE(only(programs.task(writers[0]).done_signals), taken) << "the same pair of units";
}

// A task that has joins waits for some tokens itself, which no join of a later task may take.
TEST(Synchronise, MA_2_what_a_task_waits_for_itself_is_not_joined_for_a_later_one) {
  SmallGraph g;
  for (const std::size_t units : {kOthers.size(), kOthers.size() - 1, kOthers.size() - 2}) {
    std::vector<tilebeat::Access> reads;
    for (std::size_t i = kOthers.size() - units; i < kOthers.size(); ++i) {
      const BufferId b = g.buffer();
      g.add(0, kOthers[i], {write_of(b)});
      reads.push_back(read_of(b));
    }
    g.add(0, Unit::kMatrix, reads);
  }
  const SmallPrograms programs = programs_of(g);
  std::set<Semaphore> of_joins, of_tasks;
  for (const Instruction& instruction : programs.of(0)) {
    for (const Semaphore s : tokens(instruction.waits))
      (tag_of(instruction) < 0 ? of_joins : of_tasks).insert(s);
  }
  std::vector<Semaphore> both;
  std::set_intersection(of_joins.begin(), of_joins.end(), of_tasks.begin(), of_tasks.end(),
                        std::back_inserter(both));
  EXPECT_THAT(both, IsEmpty());
  EXPECT_GE(of_joins.size(), 4U);
}

TEST(Synchronise, MA_2_more_than_four_signals_are_relayed) {
  SmallGraph g;
  const BufferId b = g.buffer();
  const int writer = g.add(0, Unit::kMatrix, {write_of(b)});
  std::vector<int> readers;
  for (const Unit unit : kOthers) readers.push_back(g.add(0, unit, {read_of(b)}));
  const SmallPrograms programs = programs_of(g);
  // Seven tokens: three and one for the relay, which gives four.
  ASSERT_THAT(programs.signals(0), SizeIs(1));
  const Instruction relay = programs.signals(0).front();
  EXPECT_EQ(tag_of(programs.of(0)[0]), writer);
  EXPECT_EQ(tag_of(programs.of(0)[1]), -1) << "the relay stands in front of all readers";
  EXPECT_EQ(relay.operation.get<Signal>().processors, 0U);
  const auto of_task = tokens(programs.task(writer).done_signals), of_relay = tokens(relay.done_signals);
  EXPECT_THAT(of_task, SizeIs(4));
  EXPECT_THAT(of_relay, SizeIs(4));
  EXPECT_THAT(of_task, ::testing::Contains(only(relay.waits)));
  std::multiset<Semaphore> given(of_task.begin(), of_task.end()), taken{only(relay.waits)};
  given.insert(of_relay.begin(), of_relay.end());
  for (const int reader : readers) taken.insert(only(programs.task(reader).waits));
  EXPECT_EQ(given, taken);
  EXPECT_EQ(std::set<Semaphore>(given.begin(), given.end()).size(), 8U);
}

// The readers are expected before the relay: in front of it they would fill their queues and hold the
// decoder.
TEST(Synchronise, MA_2_a_relay_stands_in_front_of_all_that_wait_for_its_task) {
  SmallGraph g;
  const BufferId b = g.buffer();
  g.add(0, Unit::kMatrix, {write_of(b)});
  for (const Unit unit : kOthers) g.add(0, unit, {read_of(b)});
  const SmallPrograms programs = programs_of(g, {100, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(tag_of(programs.of(0)[0]), 0);
  EXPECT_EQ(tag_of(programs.of(0)[1]), -1);
}

TEST(Synchronise, MA_2_a_release_is_relayed_like_an_end) {
  SmallGraph g;
  const BufferId b = g.buffer();
  const int reader = g.add(0, Unit::kMatrix, {read_of(b)});
  for (const Unit unit : kOthers) g.add(0, unit, {write_of(b, 1)});
  const SmallPrograms programs = programs_of(g);
  ASSERT_THAT(programs.signals(0), SizeIs(1));
  EXPECT_THAT(tokens(programs.task(reader).release_signals), SizeIs(4));
  EXPECT_THAT(tokens(programs.task(reader).done_signals), IsEmpty());
  EXPECT_THAT(tokens(programs.signals(0).front().done_signals), SizeIs(4));
}

}  // namespace
}  // namespace tilebeat::testing
