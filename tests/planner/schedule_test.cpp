// The list schedule of small task graphs, cycles derived by hand (SPEC MA-2, MA-3).
#include "planner/schedule/schedule.h"

#include "random_cases.h"
#include "small_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Matcher;

constexpr double kRounding = 1e-6;

Matcher<double> at(double clock) {
  return DoubleNear(clock, kRounding);
}

class ListSchedule : public ::testing::Test {
 protected:
  int add(int processor, Unit unit, TaskCost cost, std::vector<tilebeat::Access> accesses = {}) {
    Task task = tagged_task(processor, unit, 0, std::move(accesses));
    task.cost = cost;
    return g_.graph.add(task);
  }
  /// DRAM carries 16 bytes a cycle.
  Schedule times(std::vector<double> starts = {}) const {
    Machine machine;
    machine.dram_bytes_per_clock = 16, machine.starts = std::move(starts), machine.controllers = controllers_;
    return schedule(g_.graph, dependencies_of(g_.graph), machine);
  }
  /// A transfer of `bytes` bytes in so many parts of DRAM that controllers hold in turn.
  void transfer(int processor, double cycles, double bytes, std::int64_t part, std::int64_t parts) {
    TaskCost cost{cycles, bytes};
    cost.dram_part = part, cost.dram_parts = parts;
    add(processor, Unit::kIodma, cost);
  }

  SmallGraph g_;
  int controllers_ = 1;
};

TEST_F(ListSchedule, MA_3_nothing_takes_no_time) {
  EXPECT_EQ(times().cycles, 0);
}

TEST_F(ListSchedule, MA_3_a_unit_runs_one_task_after_the_other) {
  add(0, Unit::kVector, {10, 0, 5});
  add(0, Unit::kVector, {20, 0, 5});
  const Schedule s = times();
  EXPECT_THAT(s.start, ElementsAre(at(0), at(10))) << "latency does not hold the unit";
  EXPECT_THAT(s.end, ElementsAre(at(10), at(30)));
  EXPECT_THAT(s.done, ElementsAre(at(15), at(35)));
  EXPECT_THAT(s.cycles, at(35));
}

TEST_F(ListSchedule, MA_2_a_matrix_unit_keeps_the_order_of_its_tasks) {
  const BufferId late = g_.graph.add_buffer(BufferRole::kInput);
  add(0, Unit::kLoad, {10}, {{late, 0, AccessKind::kWrite}});
  add(0, Unit::kMatrix, {5}, {{late, 0, AccessKind::kRead}});
  add(0, Unit::kMatrix, {5});  // could begin at once, but its sums carry over
  EXPECT_THAT(times().start, ElementsAre(at(0), at(10), at(15)));
}

TEST_F(ListSchedule, MA_3_units_and_processors_work_side_by_side) {
  add(0, Unit::kVector, {10});
  add(0, Unit::kMvdma, {20});
  add(1, Unit::kVector, {30});
  EXPECT_THAT(times().start, ElementsAre(at(0), at(0), at(0)));
}

TEST_F(ListSchedule, MA_3_every_task_takes_a_clock) {
  add(0, Unit::kVector, {0});
  add(0, Unit::kVector, {0.25});
  EXPECT_THAT(times().end, ElementsAre(at(1), at(2)));
}

TEST_F(ListSchedule, MA_3_a_reader_starts_when_the_data_are_there) {
  const BufferId b = g_.buffer();
  add(0, Unit::kMvdma, {10, 0, 7}, {write_of(b)});
  add(0, Unit::kVector, {5}, {read_of(b)});
  EXPECT_THAT(times().start, ElementsAre(at(0), at(17)));
}

TEST_F(ListSchedule, MA_3_a_writer_starts_when_the_place_is_released) {
  const BufferId b = g_.buffer();
  add(0, Unit::kVector, {10, 0, 7}, {read_of(b)});
  add(0, Unit::kMvdma, {5}, {write_of(b, 1)});
  EXPECT_THAT(times().start, ElementsAre(at(0), at(10)));
}

TEST_F(ListSchedule, MA_3_of_tasks_that_can_run_the_first_that_was_added_goes_first) {
  const BufferId b = g_.buffer();
  add(0, Unit::kMvdma, {30}, {write_of(b)});
  add(0, Unit::kVector, {10}, {read_of(b)});  // not before 30
  add(0, Unit::kVector, {25});                // at once
  add(0, Unit::kVector, {10});                // behind it, and then the one that was added first is there
  add(0, Unit::kVector, {10});
  EXPECT_THAT(times().start, ElementsAre(at(0), at(35), at(0), at(25), at(45)));
}

TEST_F(ListSchedule, MA_3_a_task_waits_for_the_last_of_its_operands) {
  const BufferId a = g_.buffer(), b = g_.buffer();
  add(0, Unit::kMvdma, {10}, {write_of(a)});
  add(0, Unit::kIodma, {40}, {write_of(b)});
  add(0, Unit::kVector, {1}, {read_of(a), read_of(b)});
  EXPECT_THAT(times().start[2], at(40));
}

TEST_F(ListSchedule, MA_3_a_processor_begins_when_it_is_started) {
  add(0, Unit::kVector, {10});
  add(1, Unit::kVector, {10});
  add(1, Unit::kVector, {10});
  add(2, Unit::kVector, {10});  // nothing is said of it
  EXPECT_THAT(times({5, 50}).start, ElementsAre(at(5), at(50), at(60), at(0)));
}

TEST_F(ListSchedule, MA_3_what_is_ready_before_the_start_waits_for_it) {
  const BufferId b = g_.buffer();
  add(0, Unit::kVector, {10}, {write_of(b)});
  add(1, Unit::kVector, {10}, {read_of(b)});
  EXPECT_THAT(times({0, 50}).start, ElementsAre(at(0), at(50)));
  EXPECT_THAT(times({0, 5}).start, ElementsAre(at(0), at(10)));
}

TEST_F(ListSchedule, MA_3_a_transfer_alone_takes_what_its_port_or_DRAM_takes) {
  add(0, Unit::kIodma, {40, 320, 0});  // 8 bytes a cycle
  add(0, Unit::kIodma, {10, 320, 0});  // 32 bytes a cycle, of which DRAM carries 16
  EXPECT_THAT(times().end, ElementsAre(at(40), at(60)));
}

TEST_F(ListSchedule, MA_3_two_transfers_get_half_of_DRAM_each) {
  add(0, Unit::kIodma, {10, 160, 3});
  add(1, Unit::kIodma, {10, 160, 3});
  EXPECT_THAT(times().end, ElementsAre(at(20), at(20)));
  EXPECT_THAT(times().done, ElementsAre(at(23), at(23)));
}

// 4 bytes a cycle and 12: after 20 cycles the second one is through, 160 bytes of the first one are left.
TEST_F(ListSchedule, MA_3_HI_6_DRAM_serves_as_many_requests_of_each_transfer) {
  TaskCost small{1, 240}, large{1, 240};
  small.dram_request = 256, large.dram_request = 768;
  add(0, Unit::kIodma, small);
  add(1, Unit::kIodma, large);
  EXPECT_THAT(times().end, ElementsAre(at(30), at(20)));
}

TEST_F(ListSchedule, MA_3_what_a_port_cannot_carry_is_left_to_the_others) {
  add(0, Unit::kIodma, {100, 400, 0});  // 4 bytes a cycle
  add(1, Unit::kIodma, {10, 240, 0});   // 24; 12 are left
  EXPECT_THAT(times().end, ElementsAre(at(100), at(20)));
}

TEST_F(ListSchedule, MA_3_HI_6_transfers_at_one_controller_share_what_it_carries) {
  controllers_ = 2;  // of 8 bytes a cycle
  transfer(0, 1, 80, 4, 1);
  transfer(1, 1, 80, 6, 1);
  transfer(2, 1, 80, 5, 1);
  EXPECT_THAT(times().end, ElementsAre(at(20), at(20), at(10)));
}

TEST_F(ListSchedule, MA_3_HI_6_a_transfer_over_all_controllers_waits_for_the_slowest) {
  controllers_ = 2;
  transfer(0, 1, 160, 0, 0);  // anywhere
  transfer(1, 1, 160, 1, 1);  // 8 bytes a cycle for one and a half: 16/3 each
  transfer(2, 1, 40, 0, 1);
  EXPECT_THAT(times().end, ElementsAre(at(30), at(30), at(7.5)));
}

TEST_F(ListSchedule, MA_3_HI_6_parts_are_counted_by_controller) {
  controllers_ = 4;           // of 4 bytes a cycle
  transfer(0, 1, 80, 3, 2);   // half at the last, half at the first one
  transfer(1, 1, 160, 1, 5);  // a fifth at each, two at the second one
  // 0.7 of their rate each at the last and at the first one; then two fifths of 10 bytes a cycle.
  EXPECT_THAT(times().end, ElementsAre(at(14), at(14 + 80 / 10.0)));
}

TEST_F(ListSchedule, MA_3_HI_6_ports_leave_the_rest_of_a_controller_to_others) {
  controllers_ = 2;
  transfer(0, 40, 80, 0, 1);  // 2 bytes a cycle
  transfer(1, 1, 60, 0, 1);   // the other 6
  EXPECT_THAT(times().end, ElementsAre(at(40), at(10)));
}

TEST_F(ListSchedule, MA_3_of_three_transfers_the_slow_one_leaves_its_rest_to_two) {
  add(0, Unit::kIodma, {50, 100, 0});  // 2 bytes a cycle
  add(1, Unit::kIodma, {1, 140, 0});   // (16 - 2) / 2 = 7
  add(2, Unit::kIodma, {1, 70, 0});    // 7: through after 10 cycles; then 70 are left of the other at 14
  EXPECT_THAT(times().end, ElementsAre(at(50), at(15), at(10)));
}

TEST_F(ListSchedule, MA_3_a_transfer_speeds_up_when_another_ends_and_slows_down_when_one_begins) {
  const BufferId b = g_.buffer();
  add(0, Unit::kIodma, {10, 160, 0});  // 16 bytes a cycle
  add(1, Unit::kVector, {4}, {write_of(b)});
  add(1, Unit::kIodma, {1, 32, 0}, {read_of(b)});
  // 64 bytes in 4 cycles, then 8 a cycle each: 32 bytes in 4 cycles; 64 are left at 16.
  EXPECT_THAT(times().start[2], at(4));
  EXPECT_THAT(times().end, ElementsAre(at(12), at(4), at(8)));
}

TEST_F(ListSchedule, MA_3_work_on_chip_does_not_slow_transfers) {
  add(0, Unit::kIodma, {10, 160, 0});
  add(0, Unit::kMvdma, {10});
  EXPECT_THAT(times().end, ElementsAre(at(10), at(10)));
}

// The SRAM of a cluster delivers 64 bytes a cycle and takes as many.
TEST_F(ListSchedule, MA_3_copies_share_each_direction_of_an_SRAM) {
  const auto copy = [](int from, int to) {
    TaskCost cost{10};
    cost.sram_bytes = 640, cost.sram_read = from, cost.sram_write = to;
    return cost;
  };
  add(0, Unit::kMvdma, copy(0, -1));
  add(1, Unit::kMvdma, copy(0, -1));
  add(2, Unit::kMvdma, copy(-1, 0));
  add(3, Unit::kMvdma, copy(1, -1));
  EXPECT_THAT(times().end, ElementsAre(at(20), at(20), at(10), at(10)));
  add(4, Unit::kCdma, copy(1, 0));  // takes half of the cycles of two others, which take half of its
  EXPECT_THAT(times().end, ElementsAre(at(20), at(20), at(20), at(20), at(20)));
}

// Beside a copy from DRAM, which writes the SRAM and slows no reader.
TEST_F(ListSchedule, MA_3_an_SRAM_leaves_to_others_what_a_port_cannot_carry) {
  TaskCost from_dram{10, 320};  // DRAM: 16 bytes a cycle
  from_dram.sram_bytes = 320, from_dram.sram_write = 0;
  add(0, Unit::kGdma, from_dram);
  TaskCost slow{10}, fast{10};
  slow.sram_bytes = 160, slow.sram_read = 0;
  fast.sram_bytes = 640, fast.sram_read = 0;
  add(1, Unit::kMvdma, slow);
  add(2, Unit::kMvdma, fast);
  // 16 bytes a cycle for 10 cycles, beside which 480 of 640 bytes pass; then the other 160 at 64 a cycle.
  EXPECT_THAT(times().end, ElementsAre(at(20), at(10), at(12.5)));
}

TEST_F(ListSchedule, MA_3_double_buffers_overlap_fetching_and_computing) {
  BufferRing ring(g_.graph, BufferRole::kMap, 2);
  for (int i = 0; i < 3; ++i) {
    const BufferRing::Filling filling = ring.next();
    add(0, Unit::kMvdma, {10}, {filling.write()});
    add(0, Unit::kVector, {15}, {filling.read()});
  }
  // The third fetch waits for the buffer of the first.
  EXPECT_THAT(times().start, ElementsAre(at(0), at(10), at(10), at(25), at(25), at(40)));
  EXPECT_THAT(times().cycles, at(55));
}

// Tasks of some units of two processors that write and read versions of a few buffers in turn.
TaskGraph random_graph() {
  constexpr int kBuffers = 4;
  SmallGraph g;
  std::vector<BufferId> buffers;
  std::vector<int> versions(kBuffers, 0);
  for (int b = 0; b < kBuffers; ++b) buffers.push_back(g.buffer());
  const int tasks = *rc::gen::inRange(1, 40);
  for (int i = 0; i < tasks; ++i) {
    const int b = *rc::gen::inRange(0, kBuffers);
    int& version = versions[static_cast<std::size_t>(b)];
    const bool writes = *rc::gen::arbitrary<bool>();
    const tilebeat::Access access{buffers[static_cast<std::size_t>(b)], writes ? ++version : version,
                                  writes ? AccessKind::kWrite : AccessKind::kRead};
    Task task = tagged_task(*rc::gen::inRange(0, 2),
                            *rc::gen::element(Unit::kIodma, Unit::kMatrix, Unit::kVector), i, {access});
    task.cost.cycles = *rc::gen::inRange(0, 100);
    task.cost.dram_bytes = task.unit() == Unit::kIodma ? *rc::gen::inRange(0, 4000) : 0;
    const int latency = *rc::gen::inRange(0, 20);  // operands have been read when the results are there
    task.cost.latency = latency, task.cost.release = *rc::gen::inRange(0, latency + 1);
    g.graph.add(task);
  }
  return g.graph;
}

TEST(LeastCycles, MA_3_no_schedule_is_shorter_whenever_somebody_asks) {
  check_cases(200, [] {
    const TaskGraph graph = random_graph();
    const Machine machine;
    TaskGraph growing;
    for (int b = 0; b < graph.buffers(); ++b) growing.add_buffer(graph.role(b));
    LeastCycles asked_often(growing, machine);
    double before = 0;
    for (const Task& task : graph.tasks()) {
      growing.add(task);
      const double now = asked_often.now();
      RC_ASSERT(now >= before);
      before = now;
    }
    RC_ASSERT(LeastCycles(graph, machine).now() == before);
    const double cycles = schedule(graph, dependencies_of(graph), machine).cycles;
    RC_ASSERT(before <= cycles);
    const double limit = (1 + kRounding) * cycles;
    RC_ASSERT(schedule(graph, dependencies_of(graph), machine, limit).cycles == cycles);
  });
}

}  // namespace
}  // namespace tilebeat::testing
