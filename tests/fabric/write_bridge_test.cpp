// The broadcast bus and the slave side of CDMA: phases, order, back-pressure (SPEC HI-3, CY-1, CY-2).
#include "fabric/write_bridge.h"

#include "recording_trace.h"
#include "systemc_test.h"

#include <memory>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr Picoseconds kBridgePeriod = 1000;
constexpr int kWidth = 32, kOutputs = 3;

/// A bridge whose address bits 12 and up are the set of its three outputs.
class WriteBridgeTest : public ::testing::Test {
 protected:
  WriteBridgeTest() { strict_systemc(); }
  void build() {
    context_.observers.trace = &trace_;
    WriteBridge::Window window{0, 4096, 12, {}};
    for (std::uint64_t i = 0; i < kOutputs; ++i) window.targets.push_back(0x10000U * i);
    bridge_ = std::make_unique<WriteBridge>("bridge", context_, kWidth, max_outstanding_, kOutputs,
                                            std::vector{window});
    port_ = std::make_unique<ScriptedInitiator>("port", context_);
    port_->socket.bind(bridge_->socket);
    for (int i = 0; i < kOutputs; ++i) {
      const auto index = static_cast<std::size_t>(i);
      targets_.push_back(std::make_unique<ScriptedTarget>(("target" + std::to_string(i)).c_str(), context_));
      targets_[index]->respond_cycles = 4;
      bridge_->outputs[index]->socket.bind(targets_[index]->socket);
    }
  }
  void run(Cycle cycles) {
    sc_core::sc_start(to_sc_time(context_.clock.at(cycles)));
    bridge_->ledger.settle(cycles);
    EXPECT_EQ(sum_of(bridge_->ledger.cycles()), cycles);
  }
  Access& write(Cycle at, std::uint64_t outputs, std::uint64_t address, std::size_t bytes,
                std::uint8_t value = 1) {
    return port_->write(at, outputs << 12 | address, std::vector<std::uint8_t>(bytes, value));
  }
  Cycle clocks(Activity activity) const { return cycles_of(bridge_->ledger.cycles(), activity); }
  /// The cycles in which a signal rises.
  std::vector<Cycle> rises(const std::string& signal) const {
    std::vector<Cycle> at;
    for (const auto& [time, value] : trace_.of("bridge." + signal)) {
      if (value != 0) at.push_back(time / kBridgePeriod);
    }
    return at;
  }

  RecordingTrace trace_;
  SimContext context_{ClockDomain(kBridgePeriod)};
  int max_outstanding_ = 4;
  std::unique_ptr<WriteBridge> bridge_;
  std::unique_ptr<ScriptedInitiator> port_;
  std::vector<std::unique_ptr<ScriptedTarget>> targets_;
};

TEST_F(WriteBridgeTest, HI_3_a_window_ends_behind_its_last_byte) {
  build();
  const Access& last = write(10, 0b001, 4096 - 32, 32);
  run(100);
  EXPECT_EQ(last.status, tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(targets_[0]->bytes.count(4095), 1U);
}

TEST_F(WriteBridgeTest, HI_3_one_burst_reaches_every_listener) {
  build();
  targets_[1]->respond_cycles = 9;  // the slowest decides
  Access& access = write(10, 0b011, 0x40, 100, 7);
  run(100);
  const Cycle ready = 10 + 1 + ceil_div(100, kWidth);
  for (std::size_t i : {0U, 1U}) {
    ASSERT_EQ(targets_[i]->arrivals.size(), 1U);
    EXPECT_EQ(targets_[i]->arrivals[0].cycle, ready) << "in the cycle after the last beat";
    EXPECT_EQ(targets_[i]->arrivals[0].address, 0x40 + 0x10000U * i);
    EXPECT_EQ(targets_[i]->bytes[0x40 + 0x10000U * i + 99], 7);
  }
  EXPECT_TRUE(targets_[2]->arrivals.empty());
  EXPECT_EQ(access.granted, 10) << "AW is taken at once";
  EXPECT_EQ(access.responded, ready + 9 + 1) << "B in the cycle after the last listener's response";
  EXPECT_EQ(bridge_->stats.transfers, 1);
  EXPECT_EQ(bridge_->stats.taken_bytes, 100);
  EXPECT_EQ(bridge_->stats.delivered_bytes, 200);
}

TEST_F(WriteBridgeTest, HI_3_phases_of_a_write) {
  build();
  write(10, 1, 0, 64);
  run(100);
  EXPECT_EQ(rises("aw"), std::vector<Cycle>{11});
  EXPECT_EQ(rises("w"), std::vector<Cycle>{11});
  EXPECT_EQ(trace_.busy("bridge.w", kBridgePeriod), 64 / kWidth);
  EXPECT_EQ(rises("b"), std::vector<Cycle>{11 + 2 + 4 + 1});
  EXPECT_EQ(clocks(Activity::kBusy), 2);
  EXPECT_EQ(clocks(Activity::kMemory), 4 + 1) << "from the last beat to B";
}

TEST_F(WriteBridgeTest, HI_3_bursts_follow_one_another_without_a_gap) {
  build();
  Access& a = write(10, 1, 0, 64);
  Access& b = write(11, 1, 64, 64);
  Access& c = write(12, 2, 128, 64);
  run(100);
  EXPECT_EQ(a.granted, 10);
  EXPECT_EQ(b.granted, 11);
  EXPECT_EQ(c.granted, 12);
  EXPECT_EQ(targets_[0]->arrivals[0].cycle, 13);
  EXPECT_EQ(targets_[0]->arrivals[1].cycle, 15);
  EXPECT_EQ(targets_[1]->arrivals[0].cycle, 17);
  EXPECT_EQ(trace_.busy("bridge.w", kBridgePeriod), 6);
  EXPECT_EQ(clocks(Activity::kBusy), 6);
}

TEST_F(WriteBridgeTest, HI_3_a_burst_that_comes_while_another_waits_for_its_response) {
  build();
  targets_[0]->respond_cycles = 50;
  Access& a = write(10, 1, 0, 32);
  Access& b = write(40, 2, 32, 32);
  run(200);
  EXPECT_EQ(targets_[1]->arrivals[0].cycle, 40 + 1 + 1);
  EXPECT_EQ(a.responded, 10 + 1 + 1 + 50 + 1);
  EXPECT_EQ(b.responded, a.responded + 1) << "responses keep the order of arrival, and go out one a cycle";
  EXPECT_EQ(rises("b"), std::vector<Cycle>{a.responded});
  EXPECT_EQ(trace_.busy("bridge.b", kBridgePeriod), 2);
}

TEST_F(WriteBridgeTest, HI_3_a_burst_in_front_of_a_full_bridge_enters_with_each_response) {
  max_outstanding_ = 2;
  build();
  targets_[0]->respond_cycles = 50;
  Access& a = write(10, 1, 0, 32);
  Access& b = write(11, 2, 32, 32);
  Access& c = write(12, 2, 64, 32);
  Access& d = write(13, 2, 96, 32);
  run(200);
  EXPECT_EQ(b.responded, a.responded + 1);
  EXPECT_EQ(c.granted, a.responded);
  EXPECT_EQ(d.granted, b.responded) << "which was sent in a cycle of its own";
}

TEST_F(WriteBridgeTest, CY_2_a_slow_listener_holds_the_bus_back) {
  max_outstanding_ = 2;
  build();
  targets_[0]->respond_cycles = 30;
  Access& a = write(10, 0b011, 0, 32);
  Access& b = write(11, 0b011, 32, 32);
  Access& c = write(12, 0b011, 64, 32);
  run(200);
  const Cycle a_done = 10 + 2 + 30 + 1;
  EXPECT_EQ(a.responded, a_done);
  EXPECT_EQ(b.granted, 11);
  EXPECT_EQ(c.granted, a_done) << "two are inside until the first has its response";
  EXPECT_EQ(b.responded, a_done + 1);
  EXPECT_EQ(targets_[1]->arrivals[2].cycle, a_done + 2);
  EXPECT_EQ(clocks(Activity::kOutstanding), a_done - 13) << "from the cycle after the third request";
  EXPECT_EQ(bridge_->stats.delivered_bytes, 2 * bridge_->stats.taken_bytes);
}

TEST_F(WriteBridgeTest, HI_3_a_listener_that_grants_late_keeps_its_order) {
  build();
  targets_[0]->accept_cycles = 20;
  targets_[0]->respond_cycles = 25;
  write(10, 0b011, 0, 32);
  write(11, 0b011, 32, 32);
  run(200);
  EXPECT_EQ(targets_[0]->arrivals[0].cycle, 12);
  EXPECT_EQ(targets_[0]->arrivals[1].cycle, 12 + 20 + 1) << "in the cycle after END_REQ";
  EXPECT_EQ(targets_[1]->arrivals[1].cycle, 13) << "the other listener is not held up";
  EXPECT_EQ(targets_[0]->arrivals[1].address, 32U);
}

TEST_F(WriteBridgeTest, HI_3_refuses_reads_and_empty_sets) {
  build();
  Access& read = port_->read(10, 1 << 12, 16);
  Access& nobody = write(20, 0, 0, 16);
  Access& beyond = write(30, 1, 4096 - 15, 16);
  Access& no_output = write(40, std::uint64_t{1} << kOutputs, 0, 16);
  run(60);
  EXPECT_EQ(read.status, tlm::TLM_COMMAND_ERROR_RESPONSE);
  EXPECT_EQ(nobody.status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(beyond.status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(no_output.status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(bridge_->stats.transfers, 0);
}

}  // namespace
}  // namespace tilebeat::testing
