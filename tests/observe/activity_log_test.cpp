// What listeners hear of a ledger (SPEC UI-7, CY-2).
#include "observe/activity_log.h"

#include "observe/statistics.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat {
namespace {

/// Spells what it hears, a letter a cycle: `.` no work, `#` busy, `q` memory queue, `r` row miss, `m` memory.
class Speller : public ActivityListener {
 public:
  std::string text;
  void spent(Activity activity, Cycle begin, Cycle end, CycleOrder /*order*/) override {
    EXPECT_EQ(begin, static_cast<Cycle>(text.size())) << "without gaps";
    const char letter = activity == Activity::kNoWork        ? '.'
                        : activity == Activity::kBusy        ? '#'
                        : activity == Activity::kMemoryQueue ? 'q'
                        : activity == Activity::kRowMiss     ? 'r'
                        : activity == Activity::kMemory      ? 'm'
                        : activity == Activity::kBusLatency  ? 'l'
                                                             : '?';
    text += std::string(static_cast<std::size_t>(end - begin), letter);
  }
};

struct Heard {
  Heard() {
    log.add_listener(speller);
    ledger.report_to(&log);
    ledger.enter(Activity::kNoWork, 0);
  }
  Speller speller;
  ActivityLog log;
  CycleLedger ledger;
};

TEST(ActivityLog, UI_7_what_is_certain_is_heard_at_once) {
  Heard heard;
  heard.ledger.enter(Activity::kBusy, 3);
  heard.ledger.enter(Activity::kNoWork, 5);
  EXPECT_EQ(heard.speller.text, "...##");
  heard.ledger.spend(Activity::kBusy, 2);
  EXPECT_EQ(heard.speller.text, "...####");
}

TEST(ActivityLog, CY_2_a_wait_for_a_memory_is_heard_when_the_answer_says_for_what) {
  Heard heard;
  heard.ledger.enter(Activity::kMemory, 2);
  heard.ledger.enter(Activity::kBusy, 8);
  heard.ledger.enter(Activity::kMemory, 9);
  EXPECT_EQ(heard.speller.text, "..") << "nothing behind what is not explained";
  WaitTrail trail;
  trail.add(4, Activity::kMemoryQueue);
  trail.add(7, Activity::kRowMiss);
  heard.ledger.explain(trail, 12);
  heard.ledger.enter(Activity::kNoWork, 12);
  heard.ledger.settle(14);
  EXPECT_EQ(heard.speller.text, "..qqrrrl#lll..");
}

TEST(ActivityLog, CY_2_what_a_report_has_counted_stays) {
  Heard heard;
  heard.ledger.enter(Activity::kMemory, 1);
  heard.ledger.settle(3);
  heard.ledger.close();
  WaitTrail trail;
  trail.add(6, Activity::kRowMiss);
  heard.ledger.explain(trail, 6);
  heard.ledger.enter(Activity::kNoWork, 6);
  EXPECT_EQ(heard.speller.text, ".mmrrr");
  EXPECT_EQ(heard.ledger.cycles()[static_cast<std::size_t>(Activity::kMemory)], 2);
}

}  // namespace
}  // namespace tilebeat
