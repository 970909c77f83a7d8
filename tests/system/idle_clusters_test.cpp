// Clusters without programs are not built, and reports do not tell (SPEC CY-7).
#include "chip_run.h"
#include "simulated_run.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

struct Counted {
  std::string statistics, state;
  int modules = 0;  ///< SystemC modules below the chip
};

int modules_below(const sc_core::sc_object& object) {
  int count = 0;
  for (const sc_core::sc_object* child : object.get_child_objects()) {
    if (std::string(child->kind()) == "sc_module") count += 1 + modules_below(*child);
  }
  return count;
}

/// A copy on one core of cluster 1 of `clusters`; `by_hand`: all clusters are built.
std::string counted(int clusters, bool by_hand, bool count_modules) {
  return in_child([&] {
    strict_systemc();
    HardwareConfig hardware = small_chip(clusters, 2);
    Plan plan =
        plan_of({{3,
                  {fmt::format("iodma.copy source=0x44000 destination={:#x} run_bytes=256", nram_address(2)),
                   "layer.end layer=0", "halt"}}});
    plan.hand_written = by_hand;
    const auto system = make_system(hardware, plan, {}, nullptr);
    for (const MemorySegment& segment : plan.image) system->write_memory(segment.address, segment.bytes);
    sc_core::sc_start(to_sc_time(2000 * hardware.clock_ps()));
    if (!system->finished()) return std::string("not finished");
    if (count_modules) return std::to_string(modules_below(*system));
    const Snapshot snapshot = system->snapshot_now();
    std::string text;
    for (const ModuleCycles& module : snapshot.modules)
      text += fmt::format("{} {} {}\n", module.name, module.cycles, fmt::join(module.activity, " "));
    for (const Counter& counter : snapshot.counters)
      text += fmt::format("{} {} {}\n", counter.module, counter.name, counter.value);
    for (const CoreResult& core : snapshot.cores) text += fmt::format("{} {}\n", core.name, core.busy);
    return text + fmt::format("{} {}", snapshot.bytes.nram_write, fmt::join(snapshot.array, " "));
  });
}

TEST(IdleClusters, CY_7_count_what_they_would_count) {
  const std::string built = counted(5, true, false), left_out = counted(5, false, false);
  EXPECT_NE(built.find("cluster4.memory.sram bank_accesses 0"), std::string::npos);
  EXPECT_EQ(left_out, built);
}

TEST(IdleClusters, CY_7_more_of_them_add_no_modules) {
  const int few = std::stoi(counted(3, false, true));
  EXPECT_EQ(std::stoi(counted(30, false, true)), few);
  EXPECT_GT(std::stoi(counted(3, true, true)), few) << "all are built for programs by hand";
}

}  // namespace
}  // namespace tilebeat::testing
