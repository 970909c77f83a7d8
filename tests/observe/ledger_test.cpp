#include "observe/statistics.h"
#include "tilebeat/error.h"

#include <gtest/gtest.h>

namespace tilebeat {
namespace {

TEST(CycleLedger, CY_2_every_clock_has_one_owner) {
  CycleLedger ledger;
  ledger.enter(Activity::kInputLoad, 5);
  ledger.enter(Activity::kBusy, 12);
  ledger.spend(Activity::kBusy, 9);
  ledger.spend(Activity::kBankConflict, 3);
  ledger.enter(Activity::kNoWork, 24);
  ledger.settle(30);
  const ActivityCycles& cycles = ledger.cycles();
  EXPECT_EQ(cycles[static_cast<int>(Activity::kHost)], 5);
  EXPECT_EQ(cycles[static_cast<int>(Activity::kInputLoad)], 7);
  EXPECT_EQ(cycles[static_cast<int>(Activity::kBusy)], 9);
  EXPECT_EQ(cycles[static_cast<int>(Activity::kBankConflict)], 3);
  EXPECT_EQ(cycles[static_cast<int>(Activity::kNoWork)], 6);
  Cycle sum = 0;
  for (Cycle c : cycles) sum += c;
  EXPECT_EQ(sum, ledger.settled_at()) << "the activities must sum to the cycles";
}

TEST(CycleLedger, CY_2_refuses_to_count_a_clock_twice) {
  CycleLedger ledger;
  ledger.enter(Activity::kBusy, 10);
  EXPECT_THROW(ledger.enter(Activity::kNoWork, 9), SimulationError);
}

Cycle cycles_of(const CycleLedger& ledger, Activity activity) {
  return ledger.cycles()[static_cast<std::size_t>(activity)];
}

// Issued in cycle 10, granted in 13, at the memory in 15, its row open in 20, answered in 24.
WaitTrail a_trail() {
  WaitTrail trail;
  trail.add(13, Activity::kBusGrant);
  trail.add(15, Activity::kBusLatency);
  trail.add(18, Activity::kRowMiss);
  trail.add(20, Activity::kRowMiss);
  trail.add(19, Activity::kRefresh);  // known already
  trail.add(24, Activity::kDataLatency);
  return trail;
}

TEST(CycleLedger, CY_2_the_answer_says_what_its_memory_was_waited_for) {
  CycleLedger ledger;
  ledger.enter(Activity::kBusy, 0);
  ledger.enter(Activity::kMemory, 12);
  ledger.enter(Activity::kBusy, 14);
  ledger.enter(Activity::kMemory, 17);
  ledger.enter(Activity::kMemory, 19);
  ledger.explain(a_trail(), 26);
  ledger.enter(Activity::kNoWork, 26);
  ledger.settle(30);
  EXPECT_EQ(cycles_of(ledger, Activity::kBusGrant), 1) << "cycle 12";
  EXPECT_EQ(cycles_of(ledger, Activity::kBusLatency), 1 + 2) << "cycle 13, and those behind the answer";
  EXPECT_EQ(cycles_of(ledger, Activity::kRowMiss), 3) << "cycles 17 to 19";
  EXPECT_EQ(cycles_of(ledger, Activity::kRefresh), 0);
  EXPECT_EQ(cycles_of(ledger, Activity::kDataLatency), 4) << "cycles 20 to 23";
  EXPECT_EQ(cycles_of(ledger, Activity::kMemory), 0);
  EXPECT_EQ(cycles_of(ledger, Activity::kBusy), 12 + 3);
  EXPECT_EQ(cycles_of(ledger, Activity::kNoWork), 4);
}

TEST(CycleLedger, CY_2_what_was_reported_before_the_answer_stays) {
  CycleLedger ledger;
  ledger.enter(Activity::kMemory, 0);
  ledger.settle(16);
  ledger.close();
  ledger.explain(a_trail(), 24);
  EXPECT_EQ(cycles_of(ledger, Activity::kMemory), 16);
  EXPECT_EQ(cycles_of(ledger, Activity::kRowMiss), 4) << "cycles 16 to 19";
  EXPECT_EQ(cycles_of(ledger, Activity::kDataLatency), 4);
}

TEST(CycleLedger, CY_2_an_answer_explains_nothing_from_before_its_request_came) {
  CycleLedger ledger;
  ledger.enter(Activity::kMemory, 11);
  ledger.explain(a_trail(), 22, 15);
  EXPECT_EQ(cycles_of(ledger, Activity::kMemory), 4) << "cycles 11 to 14 are another request's";
  EXPECT_EQ(cycles_of(ledger, Activity::kRowMiss), 5);
  EXPECT_EQ(cycles_of(ledger, Activity::kDataLatency), 2);
  ledger.explain(a_trail(), 22);
  EXPECT_EQ(cycles_of(ledger, Activity::kMemory), 0);
  EXPECT_EQ(cycles_of(ledger, Activity::kBusGrant), 2);
  ledger.enter(Activity::kBusy, 22);
  ledger.explain(WaitTrail(), 30);
  EXPECT_EQ(ledger.settled_at(), 22) << "nothing waits";
}

}  // namespace
}  // namespace tilebeat
