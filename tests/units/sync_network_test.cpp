// Barriers and signals between stubs (SPEC HI-5, CY-1).
#include "units/sync_network.h"

#include "fabric/message.h"
#include "tilebeat/error.h"
#include "unit_driver.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr Picoseconds kNetworkPeriod = 1000;
constexpr int kClusterSize = 3, kProcessors = 6, kSyncCycles = 5;

/// The sockets of one processor, as far as the network sees them.
class Processor : public sc_core::sc_module {
 public:
  MessageInitiator<SyncRequest> out;
  MessageTarget<SyncDelivery> in;
  struct Sent {
    Cycle at;
    SyncRequest message;
  };
  struct Received {
    Cycle at;
    SyncDelivery message;
  };
  std::vector<Sent> script;
  std::vector<Received> received;

  Processor(const sc_core::sc_module_name& name, const SimContext& context)
      : sc_module(name), out("out"), in("in"), context_(context) {
    in.register_b_transport(this, &Processor::take);
    SC_HAS_PROCESS(Processor);
    SC_THREAD(run);
  }
  void arrive(Cycle at, std::uint16_t id, std::uint16_t participants) {
    script.push_back({at, {SyncRequest::Arrive{id, participants}}});
  }
  void signal(Cycle at, std::uint64_t processors, Semaphore semaphore, int distance = 0) {
    script.push_back({at, {SyncRequest::Give{processors, semaphore, distance}}});
  }

 private:
  void run() {
    for (Sent& sent : script) {
      wait(to_sc_time(context_.clock.at(sent.at, Phase::kGrant) - now_ps()));
      out.send(sent.message);
    }
  }
  void take(SyncDelivery& delivery, sc_core::sc_time&) {
    received.push_back({context_.clock.cycle_of(now_ps()), delivery});
  }
  SimContext context_;
};

class SyncNetworkTest : public ::testing::Test {
 protected:
  SyncNetworkTest() {
    strict_systemc();
    for (int i = 0; i < kProcessors; ++i) {
      const auto index = static_cast<std::size_t>(i);
      processors_.push_back(std::make_unique<Processor>(("p" + std::to_string(i)).c_str(), context_));
      processors_[index]->out.bind(network_.from[index]);
      network_.to[index].bind(processors_[index]->in);
    }
  }
  void run(Cycle cycles) { sc_core::sc_start(to_sc_time(context_.clock.at(cycles))); }
  Processor& p(int i) { return *processors_[static_cast<std::size_t>(i)]; }

  SimContext context_{ClockDomain(kNetworkPeriod)};
  SyncNetwork network_{"sync", context_, kProcessors, kClusterSize, kSyncCycles};
  std::vector<std::unique_ptr<Processor>> processors_;
};

TEST_F(SyncNetworkTest, HI_5_releases_all_sync_cycles_after_the_last_arrival) {
  p(0).arrive(10, 7, 3);
  p(4).arrive(31, 7, 3);
  p(2).arrive(57, 7, 3);
  sc_core::sc_start(to_sc_time(context_.clock.at(57 + kSyncCycles) - 1));
  EXPECT_TRUE(p(0).received.empty()) << "not before";
  run(100);
  for (const int i : {0, 2, 4}) {
    ASSERT_EQ(p(i).received.size(), 1U);
    EXPECT_EQ(p(i).received[0].at, 57 + kSyncCycles);
    EXPECT_TRUE(std::holds_alternative<SyncDelivery::Release>(p(i).received[0].message.content));
  }
  EXPECT_TRUE(p(1).received.empty());
  EXPECT_EQ(network_.barriers, 1);
  EXPECT_EQ(network_.describe_state(), "");
}

TEST_F(SyncNetworkTest, HI_5_a_number_can_be_used_again) {
  for (int i = 0; i < 2; ++i) {
    p(i).arrive(10 + i, 1, 2);
    p(i).arrive(40 + 3 * i, 1, 2);
  }
  run(100);
  ASSERT_EQ(p(0).received.size(), 2U);
  EXPECT_EQ(p(0).received[0].at, 11 + kSyncCycles);
  EXPECT_EQ(p(0).received[1].at, 43 + kSyncCycles);
  EXPECT_EQ(network_.barriers, 2);
}

TEST_F(SyncNetworkTest, HI_5_barriers_of_different_numbers_are_independent) {
  p(0).arrive(10, 1, 2);
  p(1).arrive(11, 2, 2);
  p(2).arrive(12, 2, 2);
  run(60);
  EXPECT_TRUE(p(0).received.empty());
  EXPECT_EQ(p(1).received.size(), 1U);
  EXPECT_THAT(network_.describe_state(), ::testing::HasSubstr("barrier 1: 1 of 2 arrived: cluster0.core0"));
}

TEST_F(SyncNetworkTest, HI_5_names_who_is_waited_for) {
  p(2).arrive(10, 9, 4);
  p(3).arrive(20, 9, 4);
  run(60);
  EXPECT_EQ(network_.describe_state(), "  barrier 9: 2 of 4 arrived: cluster0.memory, cluster1.core0\n");
}

TEST_F(SyncNetworkTest, HI_5_refuses_different_counts) {
  p(0).arrive(10, 3, 2);
  p(1).arrive(11, 3, 4);
  EXPECT_THAT(error_of_run(60, kNetworkPeriod),
              ::testing::HasSubstr("barrier 3: processor 1 counts 4 participants, others 2"));
}

TEST_F(SyncNetworkTest, HI_3_signals_reach_processors_of_the_same_cluster) {
  p(3).signal(10, 0b110, peer(2));
  p(0).signal(10, 0b001, peer(4));  // to itself
  run(60);
  for (const int i : {4, 5}) {
    ASSERT_EQ(p(i).received.size(), 1U);
    EXPECT_EQ(p(i).received[0].at, 10 + kSyncCycles);
    EXPECT_EQ(std::get<SyncDelivery::Receive>(p(i).received[0].message.content).semaphore, peer(2));
  }
  EXPECT_EQ(p(0).received.size(), 1U);
  EXPECT_TRUE(p(1).received.empty());
  EXPECT_TRUE(p(3).received.empty());
  EXPECT_EQ(network_.signals, 3);
}

TEST_F(SyncNetworkTest, HI_3_signals_reach_processors_of_other_clusters) {
  p(2).signal(10, 0b101, peer(1), 1);
  p(4).signal(20, 0b010, peer(3), -1);
  sc_core::sc_start(to_sc_time(context_.clock.at(10 + kSyncCycles) - 1));
  EXPECT_TRUE(p(3).received.empty()) << "not before";
  run(60);
  for (const int i : {3, 5}) {
    ASSERT_EQ(p(i).received.size(), 1U);
    EXPECT_EQ(p(i).received[0].at, 10 + kSyncCycles);
    EXPECT_EQ(std::get<SyncDelivery::Receive>(p(i).received[0].message.content).semaphore, peer(1));
  }
  ASSERT_EQ(p(1).received.size(), 1U);
  EXPECT_EQ(p(1).received[0].at, 20 + kSyncCycles);
  EXPECT_TRUE(p(0).received.empty() && p(2).received.empty() && p(4).received.empty());
  EXPECT_EQ(network_.signals, 3);
}

TEST_F(SyncNetworkTest, HI_3_refuses_clusters_that_are_not_there) {
  p(3).signal(10, 1, peer(1), 1);
  EXPECT_THAT(error_of_run(60, kNetworkPeriod),
              ::testing::HasSubstr("signal: there is no cluster 2, the chip has 2"));
}

TEST_F(SyncNetworkTest, HI_3_refuses_processors_beyond_the_cluster) {
  p(0).signal(10, 0b1000, peer(0));
  EXPECT_THAT(error_of_run(60, kNetworkPeriod),
              ::testing::HasSubstr("signal: the cluster has no processor 3, there are 3"));
}

}  // namespace
}  // namespace tilebeat::testing
