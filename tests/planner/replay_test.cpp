// Schedules whose requests at DRAM are followed one by one, cycles derived by hand (SPEC MA-3).
#include "planner/schedule/schedule.h"
#include "small_graph.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

// DRAM moves a request of 64 bytes in 4 cycles. A request takes 2 cycles to DRAM, 10 from there back and 4
// beats at its port; at the other memory 1 beat, and 3 cycles until it is there.
class Replay : public ::testing::Test {
 protected:
  Replay() {
    machine_.dram_bytes_per_clock = machine_.requests.bytes_per_clock = 16;
    request_.outstanding = 8, request_.bytes = 64, request_.buffer = 1024;
    request_.dram_beats = 4, request_.request_trip = 2, request_.dram_trip = 10;
    request_.other_beats = 1, request_.other_trip = 3;
  }
  void load(Unit unit, int requests) { add(unit, requests, false); }
  void store(Unit unit, int requests) { add(unit, requests, true); }
  double cycles(double limit = std::numeric_limits<double>::infinity()) const {
    return schedule(g_.graph, dependencies_of(g_.graph), machine_, limit).cycles;
  }

  SmallGraph g_;
  Machine machine_;
  RequestCost request_;

 private:
  void add(Unit unit, int requests, bool to_dram) {
    Task task = tagged_task(0, unit, 0, {});
    request_.count = requests, request_.to_dram = to_dram;
    task.cost.cycles = requests * request_.dram_beats, task.cost.dram_bytes = requests * request_.bytes;
    task.cost.requests = request_;
    g_.graph.add(task);
  }
};

TEST_F(Replay, MA_3_HI_6_requests_of_a_copy_follow_one_another_and_are_answered_in_order) {
  load(Unit::kIodma, 4);
  // Served in cycles 2 to 18; the last one is back in 28, its beats end in 32, it is written in 36.
  EXPECT_EQ(cycles(), 36);
}

TEST_F(Replay, MA_3_HI_6_a_request_waits_for_a_place_at_its_port) {
  request_.outstanding = 1;
  load(Unit::kIodma, 4);
  EXPECT_EQ(cycles(), 4 * 20 + 4) << "each waits for the answer to the one before";
}

TEST_F(Replay, MA_3_HI_6_a_request_waits_for_room_in_the_buffer) {
  request_.buffer = 64;
  load(Unit::kIodma, 2);
  EXPECT_EQ(cycles(), 2 * 20 + 4) << "the first one leaves when it has been answered";
}

TEST_F(Replay, MA_3_HI_6_a_write_that_waits_for_its_turn_keeps_reads_from_the_port) {
  request_.other_beats = 2;
  store(Unit::kIodma, 8);
  load(Unit::kIodma, 4);
  // Writes are granted in cycles 5, 9 ... 33, reads only then, though the store has read its source in 16.
  // They are served until 40, 48, 52 and 56, and the last byte is back in 70.
  EXPECT_EQ(cycles(), 70 + 2 + 3);
}

TEST_F(Replay, MA_3_HI_6_what_DRAM_has_delivered_before_keeps_a_port_busy) {
  request_.dram_beats = 8;
  load(Unit::kIodma, 8);
  const double alone = cycles();
  store(Unit::kGdma, 2);
  EXPECT_EQ(alone, 84);
  EXPECT_EQ(cycles(), alone) << "the port has more to carry than DRAM has to read";
}

TEST_F(Replay, MA_3_HI_6_a_third_copy_is_read_when_the_first_one_has_been) {
  for (int i = 0; i < 3; ++i) load(Unit::kIodma, 1);
  // The second one is asked for in cycle 1. The answer to the first one comes in 20, to the third one in 40.
  EXPECT_EQ(cycles(), 44);
}

TEST_F(Replay, MA_3_HI_6_a_refresh_holds_requests_up) {
  machine_.requests.refresh_interval = 10, machine_.requests.refresh_cycles = 5;
  load(Unit::kIodma, 4);
  EXPECT_EQ(cycles(), 36 + 5);
}

TEST_F(Replay, MA_3_a_replay_above_the_limit_is_given_up) {
  load(Unit::kIodma, 4);
  load(Unit::kGdma, 7);
  const double all = cycles();
  EXPECT_EQ(cycles(all), all);
  EXPECT_EQ(cycles(all - 0.5), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace tilebeat::testing
