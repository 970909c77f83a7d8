#include "tilebeat/observe/ledger.h"

#include "tilebeat/base/error.h"

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

}  // namespace
}  // namespace tilebeat
