// Latencies, arbitration and limits of the interconnect between scripted initiators and targets (SPEC HI-6,
// CY-4).
#include "fabric/interconnect.h"
#include "systemc_test.h"
#include "tilebeat/error.h"

#include <memory>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr Picoseconds kPeriod = 1000;
constexpr std::uint64_t kTargetBytes = 1 << 20;

/// N initiators, two targets of 1 MiB each.
class InterconnectTest : public ::testing::Test {
 protected:
  InterconnectTest() { strict_systemc(); }

  void build(int ports) {
    build(ports, {{0, kTargetBytes, 0, 1, 4096, target_bytes_},
                  {kTargetBytes, 2 * kTargetBytes, 1, 1, 4096, target_bytes_}});
  }
  void build(int ports, const std::vector<AddressRange>& map) {
    std::vector<std::string> names;
    for (int i = 0; i < ports; ++i) names.push_back("p" + std::to_string(i));
    bus_ = std::make_unique<Interconnect>("bus", config_, context_, names, map);
    for (int i = 0; i < 2; ++i) {
      targets_.push_back(std::make_unique<ScriptedTarget>(("target" + std::to_string(i)).c_str(), context_));
      bus_->target_ports[static_cast<std::size_t>(i)].bind(targets_.back()->socket);
    }
    for (int i = 0; i < ports; ++i) {
      initiators_.push_back(
          std::make_unique<ScriptedInitiator>(("initiator" + std::to_string(i)).c_str(), context_));
      initiators_.back()->socket.bind(bus_->initiator_ports[static_cast<std::size_t>(i)]);
    }
  }
  void run(Cycle cycles) {
    sc_core::sc_start(to_sc_time(context_.clock.at(cycles)));
    bus_->settle(cycles);
  }
  ScriptedInitiator& port(int i) { return *initiators_[static_cast<std::size_t>(i)]; }
  ScriptedTarget& target(int i) { return *targets_[static_cast<std::size_t>(i)]; }
  const BusPortStatistics& statistics(int i) const { return bus_->statistics(PortId(i)); }
  int beats(int bytes) const { return ceil_div(bytes, config_.bytes_per_clock); }

  InterconnectConfig config_;
  int target_bytes_ = 0;  // of their ports, a cycle; 0: not limited
  SimContext context_{ClockDomain(kPeriod)};
  std::unique_ptr<Interconnect> bus_;
  std::vector<std::unique_ptr<ScriptedTarget>> targets_;
  std::vector<std::unique_ptr<ScriptedInitiator>> initiators_;
};

TEST_F(InterconnectTest, HI_6_read_latency_and_one_beat_a_clock) {
  build(1);
  target(0).respond_cycles = 5;
  Access& access = port(0).read(10, 0x100, 200);
  const Cycle arrival = 10 + config_.request_cycles;
  const Cycle first = arrival + 5 + config_.response_cycles;
  const Cycle last = first + beats(200) - 1;
  run(last);
  EXPECT_EQ(port(0).responses(), 0) << "not before the cycle of the last beat";
  sc_core::sc_start(to_sc_time(1));
  EXPECT_EQ(port(0).responses(), 1) << "in phase kAct of the cycle of the last beat";
  EXPECT_EQ(access.granted, 10);
  ASSERT_EQ(target(0).arrivals.size(), 1U);
  EXPECT_EQ(target(0).arrivals[0].cycle, arrival);
  EXPECT_EQ(access.first_beat, first);
  EXPECT_EQ(access.responded, last);
  EXPECT_EQ(access.status, tlm::TLM_OK_RESPONSE);
  bus_->settle(100);
  const BusPortStatistics& stats = statistics(0);
  EXPECT_EQ(stats.read_bytes, 200);
  EXPECT_EQ(stats.read_bursts, 1);
  EXPECT_EQ(stats.granted, 1);
  EXPECT_EQ(cycles_of(stats.read_cycles, Activity::kBusy), beats(200));
  EXPECT_EQ(cycles_of(stats.read_cycles, Activity::kDataLatency), 5) << "from its arrival to its answer";
  EXPECT_EQ(cycles_of(stats.read_cycles, Activity::kBusLatency),
            config_.request_cycles + config_.response_cycles);
  EXPECT_EQ(cycles_of(stats.read_cycles, Activity::kNoWork), 100 - (last + 1 - 10));
  EXPECT_EQ(cycles_of(stats.write_cycles, Activity::kNoWork), 100);
}

TEST_F(InterconnectTest, HI_6_write_occupies_its_bus_a_clock_a_beat) {
  build(1);
  target(0).respond_cycles = 4;
  Access& a = port(0).write(10, 0x40, std::vector<std::uint8_t>(64, 7));
  Access& b = port(0).write(11, 0x80, std::vector<std::uint8_t>(40, 9));
  run(100);
  const Cycle a_last = 10 + beats(64);
  const Cycle b_last = a_last + beats(40);
  EXPECT_EQ(a.granted, 10);
  EXPECT_EQ(b.granted, 11) << "a request does not wait for the data of the one before";
  ASSERT_EQ(target(0).arrivals.size(), 2U);
  EXPECT_EQ(target(0).arrivals[0].cycle, a_last + config_.request_cycles);
  EXPECT_EQ(target(0).arrivals[1].cycle, b_last + config_.request_cycles);
  EXPECT_EQ(a.responded, a_last + config_.request_cycles + 4 + config_.response_cycles);
  EXPECT_EQ(b.responded, b_last + config_.request_cycles + 4 + config_.response_cycles);
  EXPECT_EQ(target(0).bytes[0x40 + 63], 7);
  EXPECT_EQ(target(0).bytes[0x80 + 39], 9);
  EXPECT_EQ(cycles_of(statistics(0).write_cycles, Activity::kBusy), beats(64) + beats(40));
  // With the target: a for 4 cycles, b for 4 from three cycles later on; the first two lie under beats of b.
  EXPECT_EQ(cycles_of(statistics(0).write_cycles, Activity::kDataLatency), beats(40) + 4 - 2);
  EXPECT_EQ(cycles_of(statistics(0).write_cycles, Activity::kBusLatency),
            b.responded - 10 - beats(64) - beats(40) - (beats(40) + 4 - 2));
  EXPECT_EQ(statistics(0).write_bytes, 104);
}

TEST_F(InterconnectTest, CY_4_grants_by_age_then_port_number) {
  build(3);
  Access& first = port(0).read(10, 0, 16);
  Access& young = port(0).read(11, 0, 16);
  Access& second = port(1).read(10, 0, 16);
  Access& third = port(2).read(10, 0, 16);
  run(100);
  EXPECT_EQ(first.granted, 10);
  EXPECT_EQ(second.granted, 11);
  EXPECT_EQ(third.granted, 12);
  EXPECT_EQ(young.granted, 13) << "port 0 is the lowest, but its second request is the youngest";
  EXPECT_EQ(cycles_of(statistics(0).read_cycles, Activity::kBusGrant), 2);
  EXPECT_EQ(cycles_of(statistics(1).read_cycles, Activity::kBusGrant), 1);
  EXPECT_EQ(cycles_of(statistics(2).read_cycles, Activity::kBusGrant), 2);
}

TEST_F(InterconnectTest, HI_6_targets_do_not_delay_each_other) {
  build(2);
  Access& a = port(0).read(10, 0, 16);
  Access& b = port(1).read(10, kTargetBytes, 16);
  run(100);
  EXPECT_EQ(a.granted, 10);
  EXPECT_EQ(b.granted, 10);
}

TEST_F(InterconnectTest, HI_6_outstanding_limit) {
  config_.max_outstanding = 3;
  build(1);
  target(0).respond_cycles = 20;
  for (int i = 0; i < 4; ++i) port(0).read(10, static_cast<std::uint64_t>(16 * i), 16);
  run(200);
  const auto& script = port(0).script;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(script[static_cast<std::size_t>(i)].granted, 10 + i) << "below the limit a request a cycle";
  }
  const Cycle released = 10 + config_.request_cycles + 20 + config_.response_cycles;
  EXPECT_EQ(script[0].responded, released);
  EXPECT_EQ(script[3].granted, released) << "at the limit the request waits for a response";
  EXPECT_EQ(cycles_of(statistics(0).read_cycles, Activity::kOutstanding), released - 13 - 0)
      << "from the cycle of the request to the grant, no beat being on the bus";
  EXPECT_EQ(script[3].waited_for, std::vector{Activity::kOutstanding}) << "told once";
}

TEST_F(InterconnectTest, HI_6_responses_share_the_read_bus_oldest_first_then_target) {
  build(1);
  // Both targets answer at the same time; the one with the lower number streams first.
  target(1).respond_cycles = 6;
  target(0).respond_cycles = 5;
  Access& high = port(0).read(10, kTargetBytes, 64);
  Access& low = port(0).read(11, 0, 64);
  run(100);
  const Cycle taken_over = 10 + config_.request_cycles + 6;
  EXPECT_EQ(low.first_beat, taken_over + config_.response_cycles);
  EXPECT_EQ(high.first_beat, low.responded + 1) << "one beat a cycle, without a gap";
  EXPECT_EQ(high.responded, high.first_beat + beats(64) - 1);
}

TEST_F(InterconnectTest, HI_6_older_response_streams_first) {
  build(1);
  target(1).respond_cycles = 5;
  target(0).respond_cycles = 5;
  Access& high = port(0).read(10, kTargetBytes, 64);
  Access& low = port(0).read(11, 0, 64);
  run(100);
  EXPECT_EQ(high.first_beat, 10 + config_.request_cycles + 5 + config_.response_cycles);
  EXPECT_EQ(low.first_beat, high.responded + 1);
}

TEST_F(InterconnectTest, CY_1_write_responses_reach_a_port_one_a_cycle) {
  build(1);
  target(0).respond_cycles = 6;
  target(1).respond_cycles = 5;
  Access& a = port(0).write(10, 0, std::vector<std::uint8_t>(16));
  Access& b = port(0).write(11, kTargetBytes, std::vector<std::uint8_t>(16));
  run(100);
  ASSERT_EQ(target(0).arrivals[0].cycle + 6, target(1).arrivals[0].cycle + 5) << "answered in one cycle";
  EXPECT_EQ(a.responded, target(0).arrivals[0].cycle + 6 + config_.response_cycles);
  EXPECT_EQ(b.responded, a.responded + 1);
}

TEST_F(InterconnectTest, CY_1_a_target_receives_one_request_a_cycle) {
  build(3);
  // Writes of four, three and two beats, granted in the cycles 10, 11 and 12: all data are there in one
  // cycle.
  port(0).write(10, 0, std::vector<std::uint8_t>(64));
  port(1).write(10, 4096, std::vector<std::uint8_t>(48));
  port(2).write(10, 8192, std::vector<std::uint8_t>(32));
  run(100);
  const Cycle due = 10 + 4 + config_.request_cycles;
  ASSERT_EQ(target(0).arrivals.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(target(0).arrivals[i].cycle, due + static_cast<Cycle>(i));
    EXPECT_EQ(target(0).arrivals[i].address, 4096 * i) << "in the order of their grants";
  }
}

TEST_F(InterconnectTest, HI_6_withheld_end_req_holds_back_the_target_alone) {
  build(3);
  target(0).accept_cycles = 9;
  target(0).respond_cycles = 12;
  Access& a = port(0).read(10, 0, 16);
  Access& b = port(1).read(12, 16, 16);
  Access& other = port(2).read(13, kTargetBytes, 16);
  run(200);
  const Cycle arrival = 10 + config_.request_cycles;
  EXPECT_EQ(a.granted, 10);
  EXPECT_EQ(b.issued, arrival)
      << "the scenario: the request comes in the cycle in which the target turns busy";
  EXPECT_EQ(b.granted, arrival + 9) << "granted in the cycle of END_REQ, not before";
  EXPECT_EQ(other.granted, 13);
  ASSERT_EQ(target(0).arrivals.size(), 2U);
  EXPECT_EQ(target(0).arrivals[1].cycle, arrival + 9 + config_.request_cycles);
  EXPECT_EQ(cycles_of(statistics(1).read_cycles, Activity::kBusGrant), 0);
  EXPECT_EQ(cycles_of(statistics(1).read_cycles, Activity::kTargetQueue), b.granted - b.issued);
  EXPECT_EQ(b.waited_for, std::vector{Activity::kTargetQueue}) << "told once";
  EXPECT_EQ(cycles_of(statistics(1).read_cycles, Activity::kDataLatency), 12);
  EXPECT_EQ(cycles_of(statistics(1).read_cycles, Activity::kBusLatency), b.first_beat - b.granted - 12);
}

TEST_F(InterconnectTest, HI_6_the_port_of_a_target_gives_one_burst_after_the_other) {
  target_bytes_ = 32;
  build(2);
  target(0).respond_cycles = 5;
  Access& a = port(0).read(10, 0, 256);
  Access& b = port(1).read(10, 4096, 256);
  run(200);
  const Cycle answer = 10 + config_.request_cycles + 5;  // b is granted a cycle later
  EXPECT_EQ(a.first_beat, answer + config_.response_cycles) << "a port of 16 bytes is slower than 32";
  // Eight cycles of a's data, then eight of b's; b's beats begin with the first of these.
  EXPECT_EQ(b.first_beat, answer + 256 / 32 + config_.response_cycles);
}

TEST_F(InterconnectTest, HI_6_a_narrow_target_holds_back_the_first_beat) {
  target_bytes_ = 8;
  build(1);
  target(0).respond_cycles = 5;
  Access& a = port(0).read(10, 0, 256);
  run(200);
  const Cycle answer = 10 + config_.request_cycles + 5;
  // 32 cycles of data, of which the last reaches the initiator with the last of 16 beats.
  EXPECT_EQ(a.responded, answer + 256 / 8 - 1 + config_.response_cycles);
  EXPECT_EQ(a.first_beat, a.responded - beats(256) + 1);
}

TEST_F(InterconnectTest, HI_6_a_narrow_target_takes_the_data_of_a_write_at_its_width) {
  target_bytes_ = 8;
  build(1);
  port(0).write(10, 0, std::vector<std::uint8_t>(256));
  run(200);
  // The first beat leaves in cycle 11; what it brings takes two cycles, and so do the fifteen others.
  EXPECT_EQ(target(0).arrivals[0].cycle, 11 + config_.request_cycles + 256 / 8 - 1);
}

TEST_F(InterconnectTest, HI_6_the_port_of_a_target_takes_one_write_after_the_other) {
  target_bytes_ = 32;
  build(3);
  for (int i = 0; i < 3; ++i)
    port(i).write(10, static_cast<std::uint64_t>(i) * 4096, std::vector<std::uint8_t>(256));
  run(200);
  // Granted in the cycles 10, 11 and 12; 16 beats each, in the same cycles but one or two.
  const Cycle first = 10 + beats(256) + config_.request_cycles;
  ASSERT_EQ(target(0).arrivals.size(), 3U);
  EXPECT_EQ(target(0).arrivals[0].cycle, first);
  EXPECT_EQ(target(0).arrivals[1].cycle, first + 256 / 32);
  EXPECT_EQ(target(0).arrivals[2].cycle, first + 2 * 256 / 32);
}

TEST_F(InterconnectTest, HI_6_request_on_its_way_waits_for_end_req) {
  build(2);
  target(0).accept_cycles = 9;
  target(0).respond_cycles = 12;
  port(0).read(10, 0, 16);
  Access& b = port(1).read(10, 16, 16);
  run(200);
  EXPECT_EQ(b.granted, 11) << "nothing had reached the target yet";
  ASSERT_EQ(target(0).arrivals.size(), 2U);
  EXPECT_EQ(target(0).arrivals[1].cycle, target(0).arrivals[0].cycle + 9);
}

TEST_F(InterconnectTest, HI_6_register_target_completes_at_once) {
  build(1);
  target(1).respond_cycles = 0;
  Access& access = port(0).write(10, kTargetBytes + 8, {1, 2, 3, 4});
  run(100);
  // Sent in kGrant, after the edge: taken over with the next one.
  EXPECT_EQ(access.responded, 10 + 1 + config_.request_cycles + 1 + config_.response_cycles);
  EXPECT_EQ(target(1).bytes[kTargetBytes + 11], 4);
}

TEST_F(InterconnectTest, HI_6_decode_error) {
  build(1);
  Access& outside = port(0).read(10, 2 * kTargetBytes, 16);
  Access& across = port(0).read(11, kTargetBytes - 8, 16);
  Access& inside = port(0).read(12, kTargetBytes - 16, 16);
  run(100);
  EXPECT_EQ(outside.status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(across.status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(outside.responded, 10);
  EXPECT_EQ(inside.status, tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(statistics(0).decode_errors, 2);
  EXPECT_EQ(statistics(0).granted, 1);
}

// Two targets take turns every 4096 bytes; a request to both is one to neither.
TEST_F(InterconnectTest, HI_6_a_request_across_the_granules_of_targets_is_refused) {
  build(1, {{0, 2 * kTargetBytes, 0, 2, 4096, target_bytes_}});
  std::vector<const Access*> inside, across;
  for (std::uint64_t granule = 0; granule < 4; ++granule) {
    inside.push_back(&port(0).read(10, granule * 4096 + 4080, 16));
    across.push_back(&port(0).read(10, granule * 4096 + 4081, 16));
  }
  run(200);
  for (std::size_t granule = 0; granule < 4; ++granule) {
    EXPECT_EQ(inside[granule]->status, tlm::TLM_OK_RESPONSE) << granule;
    EXPECT_EQ(across[granule]->status, tlm::TLM_ADDRESS_ERROR_RESPONSE) << granule;
  }
  EXPECT_EQ(target(0).arrivals.size(), 2U);
  EXPECT_EQ(target(1).arrivals.size(), 2U);
}

TEST_F(InterconnectTest, HI_7_debug_transport_is_forwarded_by_address) {
  build(1);
  run(1);
  std::uint8_t value = 42;
  tlm::tlm_generic_payload payload;
  payload.set_write();
  payload.set_address(kTargetBytes + 5);
  payload.set_data_ptr(&value);
  payload.set_data_length(1);
  EXPECT_EQ(port(0).socket->transport_dbg(payload), 1U);
  EXPECT_EQ(target(1).bytes[kTargetBytes + 5], 42);
  payload.set_address(2 * kTargetBytes);
  EXPECT_EQ(port(0).socket->transport_dbg(payload), 0U);
  tlm::tlm_dmi dmi;
  EXPECT_FALSE(port(0).socket->get_direct_mem_ptr(payload, dmi));
}

TEST_F(InterconnectTest, HI_7_pool_reuses_its_payloads) {
  config_.max_outstanding = 2;
  build(1);
  for (int i = 0; i < 50; ++i) port(0).read(0, static_cast<std::uint64_t>(64 * i), 64);
  run(2000);
  EXPECT_EQ(port(0).responses(), 50);
  EXPECT_LE(port(0).pool.size(), 3U) << "two under way and one waiting for its grant";
  EXPECT_EQ(cycles_of(statistics(0).read_cycles, Activity::kBusy), 50 * beats(64));
}

TEST_F(InterconnectTest, UI_2_refuses_latencies_of_zero) {
  config_.request_cycles = 0;
  EXPECT_THROW(build(1), UserError);
}

}  // namespace
}  // namespace tilebeat::testing
