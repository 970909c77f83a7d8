// What the host puts into DRAM and takes out of it without time passing (SPEC UI-5).
#include "chip_run.h"
#include "system/system.h"

#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

/// A system whose memory notes what is asked of it, and moves at most `most` bytes at a time.
class NotedSystem : public System {
 public:
  struct Access {
    tlm::tlm_command command;
    std::uint64_t address;
    const std::uint8_t* data;
    unsigned bytes;
  };
  std::vector<Access> accesses;
  unsigned most = UINT32_MAX;

  explicit NotedSystem(const HardwareConfig& hardware)
      : System("system", hardware, Plan(), SimulationOptions(), nullptr) {}
  bool finished() const override { return true; }
  void start_host(Cycle) override {}
  void withdraw(std::uint64_t, std::uint64_t) override {}
  std::string describe_state() const override { return ""; }
  std::string describe_under_way() const override { return ""; }

 private:
  void follow_programs(const Plan&) override {}
  void clear_main_memory() override {}
  Cycle settled_at() override { return 0; }
  Snapshot take_snapshot(Cycle) override { return {}; }
  void show_ledgers(UnitProbes&) override {}
  unsigned debug_transport(tlm::tlm_generic_payload& payload) override {
    accesses.push_back(
        {payload.get_command(), payload.get_address(), payload.get_data_ptr(), payload.get_data_length()});
    return std::min(payload.get_data_length(), most);
  }
};

// A payload counts 32 bits: 4 GiB were none at all.
TEST(Loader, UI_5_more_bytes_than_a_payload_can_count) {
  NotedSystem system(small_chip(1, 1));
  constexpr std::size_t kLoaded = (std::size_t{1} << 32) + 5;
  const std::vector<std::uint8_t> bytes(kLoaded);
  system.write_memory(100, bytes);
  std::uint64_t moved = 0;
  for (const auto& access : system.accesses) {
    EXPECT_EQ(access.command, tlm::TLM_WRITE_COMMAND);
    EXPECT_EQ(access.address, 100 + moved);
    EXPECT_EQ(access.data, bytes.data() + moved);
    EXPECT_GT(access.bytes, 0U);
    moved += access.bytes;
  }
  EXPECT_EQ(moved, kLoaded);
}

TEST(Loader, UI_5_memories_that_move_less_than_they_are_asked) {
  NotedSystem system(small_chip(1, 1));
  system.most = 7;
  EXPECT_EQ(system.read_memory(0, 20).size(), 20U);
  ASSERT_EQ(system.accesses.size(), 3U);
  EXPECT_EQ(system.accesses[2].address, 14U);
  EXPECT_EQ(system.accesses[2].bytes, 6U);
  system.most = 0;
  EXPECT_THROW(system.read_memory(0, 20), SimulationError);
}

}  // namespace
}  // namespace tilebeat::testing
