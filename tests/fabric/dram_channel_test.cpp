// FR-FCFS, refresh and statistics of one DRAM channel, without SystemC (SPEC HI-6).
#include "fabric/dram_channel.h"

#include "base/types.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat {
namespace {

/// A channel stepped at the cycles that it asks for.
class DramChannelTest : public ::testing::Test {
 protected:
  DramChannelTest() { config_.refresh = false; }

  DramChannel& channel() {
    if (channels_.empty()) {
      channels_.reserve(1);
      channels_.emplace_back(config_, 0);
      channels_.back().listen([this](const DramCommand& command) { log_.push_back(command); });
      channels_.back().listen_waits(
          [this](const DramWait& wait) { waits_of_[wait.request].push_back(wait); });
    }
    return channels_.back();
  }
  void enter(std::uint32_t tag, int bank, std::int64_t row, Cycle visible_from, bool write = false) {
    channel().enter({bank, row, write, tag, 0, 64}, visible_from);
  }
  /// Steps up to and including cycle `last`.
  void run(Cycle last) {
    while (channel().wake() <= last) {
      const Cycle now = channel().wake();
      if (const auto served = channel().step(now)) {
        order_.push_back(served->burst.request);
        served_.push_back(*served);
      }
    }
  }
  std::vector<Cycle> cycles(DramCommandKind kind) const {
    std::vector<Cycle> result;
    for (const DramCommand& command : log_) {
      if (command.kind == kind) result.push_back(command.cycle);
    }
    return result;
  }
  Cycle clocks(Picoseconds duration) const { return ceil_div(duration, config_.clock_ps); }
  Cycle sum() {
    Cycle total = 0;
    for (const Cycle part : channel().statistics().cycles) total += part;
    return total;
  }
  Cycle spent(Activity activity) { return channel().statistics().cycles[static_cast<std::size_t>(activity)]; }

  DramConfig config_ = dram_preset(DramPreset::kDdr4_2400);
  std::vector<DramChannel> channels_;
  std::vector<DramCommand> log_;
  std::map<std::uint32_t, std::vector<DramWait>> waits_of_;  // by request
  std::vector<std::uint32_t> order_;
  std::vector<DramChannel::Served> served_;
};

using Kind = DramCommandKind;
using Order = std::vector<std::uint32_t>;
using Cycles = std::vector<Cycle>;

TEST_F(DramChannelTest, HI_6_row_hit_follows_after_tCCD_L) {
  enter(0, 0, 7, 10);
  enter(1, 0, 7, 10);
  run(1000);
  const Cycle first = 10 + clocks(config_.tRCD_ps);
  EXPECT_EQ(cycles(Kind::kActivate), Cycles{10});
  EXPECT_EQ(cycles(Kind::kRead), (Cycles{first, first + clocks(config_.tCCD_L_ps)}));
  EXPECT_EQ(served_[0].data_end, first + clocks(config_.tCL_ps) + config_.burst_length / 2);
  channel().settle(1000);
  EXPECT_EQ(channel().statistics().row_misses, 1);
  EXPECT_EQ(channel().statistics().row_hits, 1);
}

TEST_F(DramChannelTest, HI_6_row_conflict_waits_for_tRAS_tRP_and_tRCD) {
  enter(0, 0, 7, 10);
  enter(1, 0, 8, 10);
  run(1000);
  const Cycle precharge = 10 + clocks(config_.tRAS_ps);
  const Cycle activate = precharge + clocks(config_.tRP_ps);
  EXPECT_EQ(cycles(Kind::kPrecharge), Cycles{precharge});
  EXPECT_EQ(cycles(Kind::kActivate), (Cycles{10, activate}));
  EXPECT_EQ(cycles(Kind::kRead)[1], activate + clocks(config_.tRCD_ps));
  channel().settle(1000);
  EXPECT_EQ(channel().statistics().row_conflicts, 1);
}

TEST_F(DramChannelTest, CY_2_every_command_says_what_its_burst_waited_for) {
  enter(0, 0, 7, 10);
  enter(1, 0, 8, 10);
  run(1000);
  ASSERT_EQ(waits_of_[0].size(), 2U) << "ACT, RD";
  const Cycle read = 10 + clocks(config_.tRCD_ps);
  EXPECT_EQ(waits_of_[0][0].issued_at, 10);
  EXPECT_EQ(waits_of_[0][0].others_until, -1);
  EXPECT_EQ(waits_of_[0][1].issued_at, read);
  EXPECT_EQ(waits_of_[0][1].others_until, -1);
  EXPECT_EQ(waits_of_[0][1].rule, Activity::kRowMiss);
  ASSERT_EQ(waits_of_[1].size(), 3U) << "PRE, ACT, RD";
  EXPECT_EQ(waits_of_[1][0].others_until, read + 1) << "the burst before was served";
  EXPECT_EQ(waits_of_[1][0].rule, Activity::kRowMiss) << "tRAS";
  EXPECT_EQ(waits_of_[1][1].others_until, -1);
  EXPECT_EQ(waits_of_[1][1].rule, Activity::kRowMiss) << "tRP";
  EXPECT_EQ(waits_of_[1][2].issued_at, cycles(Kind::kRead)[1]);
}

TEST_F(DramChannelTest, CY_2_a_burst_knows_the_refresh_that_held_it_up) {
  config_.refresh = true;
  const Cycle due = clocks(config_.tREFI_ps);
  enter(0, 0, 7, due + 5);
  run(due + 5000);
  ASSERT_GE(waits_of_[0].size(), 1U);
  EXPECT_EQ(waits_of_[0][0].refresh_until, due + clocks(config_.tRFC_ps));
  EXPECT_EQ(waits_of_[0][0].issued_at, due + clocks(config_.tRFC_ps));
}

TEST_F(DramChannelTest, HI_6_banks_work_in_parallel) {
  enter(0, 0, 7, 10);
  enter(1, 1, 7, 10);
  run(1000);
  const Cycle first = 10 + clocks(config_.tRCD_ps);
  EXPECT_EQ(cycles(Kind::kActivate), (Cycles{10, 10 + clocks(config_.tRRD_ps)}));
  EXPECT_EQ(cycles(Kind::kRead), (Cycles{first, first + clocks(config_.tCCD_ps)}))
      << "tRCD of the second is hidden";
}

TEST_F(DramChannelTest, HI_6_row_hits_overtake_older_conflicts) {
  enter(0, 0, 7, 10);
  enter(1, 0, 8, 10);
  enter(2, 0, 7, 10);
  run(1000);
  EXPECT_EQ(order_, (Order{0, 2, 1}));
}

TEST_F(DramChannelTest, HI_6_a_row_is_closed_though_other_banks_want_the_same_row_number) {
  enter(0, 0, 7, 10);
  run(200);
  enter(1, 0, 8, 300);
  enter(2, 1, 7, 300);
  run(1000);
  EXPECT_EQ(cycles(Kind::kPrecharge), Cycles{300}) << "burst 2 has row 7 of another bank";
}

TEST_F(DramChannelTest, HI_6_column_command_goes_before_an_older_activate) {
  enter(0, 0, 7, 10);
  run(200);
  enter(1, 1, 7, 300);
  enter(2, 0, 7, 300);
  run(1000);
  EXPECT_EQ(cycles(Kind::kRead)[1], 300) << "first ready: the row hit";
  EXPECT_EQ(cycles(Kind::kActivate)[1], 301);
}

TEST_F(DramChannelTest, HI_6_starvation_cap) {
  config_.starvation_cap = 3;
  enter(0, 0, 7, 10);
  enter(1, 0, 8, 10);
  for (std::uint32_t i = 2; i < 7; ++i) enter(i, 0, 7, 10);
  run(2000);
  EXPECT_EQ(order_, (Order{0, 2, 3, 4, 1, 5, 6}))
      << "three hits overtake the oldest burst, the fourth does not";
}

TEST_F(DramChannelTest, HI_6_starvation_cap_of_zero_serves_in_order) {
  config_.starvation_cap = 0;
  enter(0, 0, 7, 10);
  enter(1, 0, 8, 10);
  enter(2, 0, 7, 10);
  enter(3, 1, 7, 10);
  run(2000);
  EXPECT_EQ(order_, (Order{0, 1, 2, 3}));
}

TEST_F(DramChannelTest, HI_6_hits_of_other_banks_count_as_overtaking) {
  config_.starvation_cap = 2;
  enter(0, 0, 7, 10);
  enter(1, 1, 7, 10);
  run(200);
  order_.clear();
  enter(2, 0, 8, 300);
  for (std::uint32_t i = 3; i < 7; ++i) enter(i, 1, 7, 300);
  run(2000);
  EXPECT_EQ(order_, (Order{3, 4, 2, 5, 6}));
}

TEST_F(DramChannelTest, HI_6_bursts_to_one_address_keep_their_order) {
  for (std::uint32_t i = 0; i < 6; ++i) enter(i, 0, 7, 10, i % 2 == 1);
  run(1000);
  EXPECT_EQ(order_, (Order{0, 1, 2, 3, 4, 5}));
}

TEST_F(DramChannelTest, HI_6_queue_has_depth_and_places_free_after_the_edge) {
  config_.queue_depth = 2;
  enter(0, 0, 7, 10);
  EXPECT_TRUE(channel().has_room(-1));
  enter(1, 0, 7, 10);
  EXPECT_FALSE(channel().has_room(-1));
  const Cycle served = 10 + clocks(config_.tRCD_ps);
  run(served);
  EXPECT_FALSE(channel().has_room(served)) << "at the very edge the place still counts as taken";
  EXPECT_TRUE(channel().has_room(-1));
  EXPECT_TRUE(channel().has_room(served + 1));
}

TEST_F(DramChannelTest, CY_2_every_clock_has_one_owner) {
  enter(0, 0, 7, 10);
  enter(1, 0, 8, 10);
  run(1000);
  const Cycle done = served_[1].data_end;
  channel().settle(done + 50);
  const Cycle data = 2 * (config_.burst_length / 2);
  EXPECT_EQ(spent(Activity::kBusy), data);
  // ACT, RD, its data; then tRAS, tRP and tRCD of the other row.
  EXPECT_EQ(spent(Activity::kDataLatency), clocks(config_.tCL_ps));
  EXPECT_EQ(spent(Activity::kRowMiss), done - 10 - data - clocks(config_.tCL_ps));
  EXPECT_EQ(spent(Activity::kNoWork), 10 + 50);
  EXPECT_EQ(sum(), done + 50);
  EXPECT_EQ(channel().statistics().bus_bytes, 128);
  EXPECT_EQ(channel().statistics().read_bytes, 128);
}

TEST_F(DramChannelTest, HI_6_write_data_begin_tCWL_after_the_command) {
  enter(0, 0, 7, 10, true);
  run(1000);
  EXPECT_EQ(served_[0].data_end,
            10 + clocks(config_.tRCD_ps) + clocks(config_.tCWL_ps) + config_.burst_length / 2);
}

TEST_F(DramChannelTest, HI_6_hits_of_one_direction_go_before_older_ones_of_the_other) {
  config_.bank_groups = 1;
  for (int bank = 0; bank < 3; ++bank) enter(static_cast<std::uint32_t>(bank), bank, 7, 10);
  run(300);
  order_.clear();
  enter(3, 0, 7, 400);
  enter(4, 1, 7, 400, true);
  enter(5, 2, 7, 400);
  run(2000);
  EXPECT_EQ(order_, (Order{3, 5, 4})) << "the bus turns once";
  channel().settle(5000);
  EXPECT_GT(spent(Activity::kReadToWrite), 0);
  EXPECT_EQ(spent(Activity::kWriteToRead), 0);
}

TEST_F(DramChannelTest, HI_6_partial_writes_under_ecc_read_first) {
  config_.ecc_bits = 8;
  channel().enter({0, 7, true, 0, 0, 63}, 10);
  channel().enter({0, 7, false, 1, 0, 64}, 10);
  run(2000);
  const Cycle read = 10 + clocks(config_.tRCD_ps), data = config_.burst_length / 2;
  const Cycle write = read + std::max(clocks(config_.tCL_ps) + data,
                                      clocks(config_.tCL_ps) + data + 2 - clocks(config_.tCWL_ps));
  const Cycle next = write + clocks(config_.tCWL_ps) + data + clocks(config_.tWTR_L_ps);
  EXPECT_EQ(cycles(Kind::kWrite), Cycles{write}) << "when the last of the data is there";
  EXPECT_EQ(cycles(Kind::kRead), (Cycles{read, next})) << "a read of the same bytes waits for the write";
  EXPECT_EQ(order_, (Order{0, 1}));
  channel().settle(5000);
  EXPECT_EQ(channel().statistics().partial_writes, 1);
  EXPECT_EQ(spent(Activity::kPartialWrite), clocks(config_.tCL_ps)) << "until the data of the read come";
  EXPECT_EQ(channel().statistics().bus_bytes, 3 * 64);
  EXPECT_EQ(channel().statistics().write_bytes, 63);
  EXPECT_EQ(channel().statistics().read_bytes, 64);
}

TEST_F(DramChannelTest, HI_6_whole_writes_and_those_without_ecc_do_not_read) {
  channel().enter({0, 7, true, 0, 0, 63}, 10);
  run(2000);
  EXPECT_TRUE(cycles(Kind::kRead).empty());
  config_.ecc_bits = 8;
  DramChannel other(config_, 0);
  other.enter({0, 7, true, 0, 0, 64}, 10);
  while (other.wake() != DramChannel::kNever) other.step(other.wake());
  other.settle(5000);
  EXPECT_EQ(other.statistics().partial_writes, 0);
}

class DramRefreshTest : public DramChannelTest {
 protected:
  DramRefreshTest() { config_.refresh = true; }
  Cycle due() const { return clocks(config_.tREFI_ps); }
};

TEST_F(DramRefreshTest, HI_6_refresh_blocks_for_tRFC) {
  enter(0, 0, 7, due());
  run(due() + 2000);
  EXPECT_EQ(cycles(Kind::kRefresh), Cycles{due()});
  EXPECT_EQ(cycles(Kind::kActivate), Cycles{due() + clocks(config_.tRFC_ps)});
}

TEST_F(DramRefreshTest, CY_2_a_refresh_counts_from_its_cycle_on) {
  channel().settle(due());
  EXPECT_EQ(channel().statistics().refreshes, 0);
  channel().settle(due() + 1);
  EXPECT_EQ(channel().statistics().refreshes, 1);
}

TEST_F(DramRefreshTest, HI_6_burst_one_clock_before_the_refresh_is_due_starts_first) {
  enter(0, 0, 7, due() - 1);
  run(due() + 2000);
  const Cycle precharge = due() - 1 + clocks(config_.tRAS_ps);
  const Cycle refresh = precharge + clocks(config_.tRP_ps);
  const Cycle again = refresh + clocks(config_.tRFC_ps);
  EXPECT_EQ(cycles(Kind::kActivate), (Cycles{due() - 1, again}))
      << "the row is closed before its column command";
  EXPECT_EQ(cycles(Kind::kPrechargeAll), Cycles{precharge});
  EXPECT_EQ(cycles(Kind::kRefresh), Cycles{refresh});
  EXPECT_EQ(cycles(Kind::kRead), Cycles{again + clocks(config_.tRCD_ps)});
  channel().settle(due() + 2000);
  EXPECT_EQ(spent(Activity::kRefresh), again - due());
  EXPECT_EQ(sum(), due() + 2000);
}

TEST_F(DramRefreshTest, HI_6_counts_the_refreshes_of_a_long_idle_time) {
  const Cycle end = 1000 * due();
  channel().settle(end);
  EXPECT_EQ(channel().statistics().refreshes, 999)
      << "the thousandth is issued at the edge after the last cycle";
  EXPECT_EQ(spent(Activity::kRefresh), 999 * clocks(config_.tRFC_ps));
  EXPECT_EQ(sum(), end);
  channel().settle(end + 1);
  EXPECT_EQ(channel().statistics().refreshes, 1000);
  EXPECT_EQ(channel().wake(), DramChannel::kNever) << "an idle channel is never woken";
}

TEST_F(DramRefreshTest, HI_6_refreshes_while_idle_equal_those_of_a_channel_that_is_stepped) {
  const auto drive = [this](bool every_clock) {
    DramChannel idle(config_, 0);
    std::vector<Cycle> commands;
    idle.listen([&commands](const DramCommand& command) { commands.push_back(command.cycle); });
    const std::vector<Cycle> arrivals{5, 3 * due() - 1, 3 * due(), 9 * due() + 100};
    std::size_t next = 0;
    for (Cycle now = 0; now < 10 * due(); ++now) {
      while (next < arrivals.size() && arrivals[next] == now)
        idle.enter({0, 3, false, 0, 0, 64}, arrivals[next++]);
      if (every_clock || idle.wake() == now) idle.step(now);
    }
    idle.settle(10 * due());
    commands.push_back(idle.statistics().refreshes);
    for (const Cycle part : idle.statistics().cycles) commands.push_back(part);
    return commands;
  };
  EXPECT_EQ(drive(false), drive(true));
}

TEST_F(DramRefreshTest, HI_6_a_refresh_closes_the_rows) {
  enter(0, 0, 7, 10);
  run(due() - 1);
  enter(1, 0, 7, due() + 5000);
  run(due() + 6000);
  channel().settle(due() + 6000);
  EXPECT_EQ(channel().statistics().row_misses, 2);
  EXPECT_EQ(channel().statistics().row_hits, 0);
}

}  // namespace
}  // namespace tilebeat
