// Logs of programs for Konata: format Kanata 0004.
#include "observe/konata_log.h"

#include <string>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

TEST(KonataLog, HI_2_a_row_an_instruction_with_its_stages_in_the_order_of_time) {
  Cycle now = 5;
  std::string text;
  KonataLog log([&] { return now; }, [&](std::string_view piece) { text += piece; });
  const int a = log.add_processor("core0.control"), b = log.add_processor("core1.control");
  log.begin(b, 0, ProgramStage::kFetch, 5);
  log.begin(a, 0, ProgramStage::kFetch, 5);
  log.begin(a, 1, ProgramStage::kFetch, 5);
  now = 8;
  log.name(a, 0, "halt");
  log.begin(a, 0, ProgramStage::kDecode, 8);
  log.begin(a, 0, ProgramStage::kRetire, 9);
  log.begin(a, 1, ProgramStage::kFlush, 9);
  log.finish();
  EXPECT_EQ(text,
            "Kanata\t0004\nC=\t5\n"
            "I\t0\t0\t0\nS\t0\t0\tF\n"
            "I\t1\t1\t0\nS\t1\t0\tF\n"
            "I\t2\t0\t1\nS\t2\t0\tF\n"
            "C\t3\n"
            "E\t0\t0\tF\nL\t0\t0\tcore0.control: halt\nS\t0\t0\tD\n"
            "C\t1\n"
            "E\t0\t0\tD\nR\t0\t0\t0\n"
            "E\t1\t0\tF\nR\t1\t0\t1\n");
}

TEST(KonataLog, CY_4_the_order_of_processes_within_a_cycle_does_not_matter) {
  const auto text = [](bool backwards) {
    Cycle now = 0;
    std::string all;
    KonataLog log([&] { return now; }, [&](std::string_view piece) { all += piece; });
    for (const char* name : {"a", "b", "c"}) log.add_processor(name);
    for (; now < 20; ++now) {
      for (int i = 0; i < 3; ++i) {
        const int processor = backwards ? 2 - i : i;
        const auto number = static_cast<std::uint64_t>(now / 2);
        log.begin(processor, number, now % 2 == 0 ? ProgramStage::kFetch : ProgramStage::kRetire, now);
      }
    }
    log.finish();
    return all;
  };
  EXPECT_EQ(text(true), text(false));
}

}  // namespace
}  // namespace tilebeat::testing
