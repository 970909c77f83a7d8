// The timing rules of a DRAM channel, each as a pair: refused one cycle too early, allowed in time (SPEC
// HI-6).
#include "tilebeat/fabric/dram_timing.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"

#include <gtest/gtest.h>

namespace tilebeat {
namespace {

class DramBanksTest : public ::testing::TestWithParam<DramPreset> {
 protected:
  DramConfig config_ = dram_preset(GetParam());
  DramClocks clocks_ = dram_clocks(config_);
  DramBanks banks_{clocks_, config_.banks};
  Cycle clocks(Picoseconds duration) const { return ceil_div(duration, config_.clock_ps); }
};

TEST_P(DramBanksTest, HI_6_column_follows_activate_after_tRCD) {
  banks_.activate(0, 5, 100);
  const Cycle allowed = 100 + clocks(config_.tRCD_ps);
  EXPECT_EQ(banks_.earliest_column(0), allowed);
  EXPECT_THROW(banks_.column(0, allowed - 1), SimulationError);
  EXPECT_NO_THROW(banks_.column(0, allowed));
}

TEST_P(DramBanksTest, HI_6_precharge_follows_activate_after_tRAS) {
  banks_.activate(0, 5, 100);
  const Cycle allowed = 100 + clocks(config_.tRAS_ps);
  EXPECT_THROW(banks_.precharge(0, allowed - 1), SimulationError);
  EXPECT_NO_THROW(banks_.precharge(0, allowed));
}

TEST_P(DramBanksTest, HI_6_activate_follows_precharge_after_tRP) {
  banks_.activate(0, 5, 100);
  banks_.precharge(0, 200);
  const Cycle allowed = 200 + clocks(config_.tRP_ps);
  EXPECT_THROW(banks_.activate(0, 6, allowed - 1), SimulationError);
  EXPECT_NO_THROW(banks_.activate(0, 6, allowed));
}

TEST_P(DramBanksTest, HI_6_column_follows_column_after_tCCD_in_any_bank) {
  banks_.activate(0, 5, 100);
  banks_.activate(1, 5, 101);
  banks_.column(0, 300);
  const Cycle allowed = 300 + std::max<Cycle>(clocks(config_.tCCD_ps), config_.burst_length / 2);
  EXPECT_THROW(banks_.column(1, allowed - 1), SimulationError);
  EXPECT_NO_THROW(banks_.column(1, allowed));
}

TEST_P(DramBanksTest, HI_6_one_command_a_clock) {
  banks_.activate(0, 5, 100);
  EXPECT_THROW(banks_.activate(1, 5, 100), SimulationError);
  EXPECT_NO_THROW(banks_.activate(1, 5, 101));
}

TEST_P(DramBanksTest, HI_6_refresh_precharges_all_banks_first_and_blocks_for_tRFC) {
  banks_.activate(3, 5, 100);
  const DramBanks::RefreshTimes times = banks_.refresh(102);
  EXPECT_EQ(times.precharge_at, 100 + clocks(config_.tRAS_ps));
  EXPECT_EQ(times.refresh_at, times.precharge_at + clocks(config_.tRP_ps));
  EXPECT_EQ(times.done, times.refresh_at + clocks(config_.tRFC_ps));
  EXPECT_EQ(banks_.open_row(3), DramBanks::kClosed);
  EXPECT_THROW(banks_.activate(0, 1, times.done - 1), SimulationError);
  EXPECT_NO_THROW(banks_.activate(0, 1, times.done));
}

TEST_P(DramBanksTest, HI_6_refresh_of_closed_banks_waits_for_tRP_only) {
  banks_.activate(3, 5, 100);
  banks_.precharge(3, 300);
  EXPECT_EQ(banks_.refresh(301).refresh_at, 300 + clocks(config_.tRP_ps));
  EXPECT_EQ(banks_.refresh(9000).refresh_at, 9000);
}

INSTANTIATE_TEST_SUITE_P(Presets, DramBanksTest,
                         ::testing::Values(DramPreset::kDdr4_2400, DramPreset::kDdr4_3200,
                                           DramPreset::kLpddr4_3200, DramPreset::kDdr4_2400_ecc));

TEST(DramClocks, HI_6_round_up_to_whole_clocks) {
  DramConfig config;
  config.clock_ps = 1000;
  config.tRCD_ps = 1000;
  config.tRP_ps = 1001;
  config.tCL_ps = 1999;
  const DramClocks clocks = dram_clocks(config);
  EXPECT_EQ(clocks.rcd, 1);
  EXPECT_EQ(clocks.rp, 2);
  EXPECT_EQ(clocks.cl, 2);
}

TEST(DramClocks, HI_6_presets_have_the_latencies_of_their_speed_bins) {
  const DramClocks ddr4_2400 = dram_clocks(dram_preset(DramPreset::kDdr4_2400));
  EXPECT_EQ(ddr4_2400.cl, 16) << "2400R is 16-16-16";
  EXPECT_EQ(ddr4_2400.rcd, 16);
  EXPECT_EQ(ddr4_2400.rp, 16);
  EXPECT_EQ(ddr4_2400.ccd, 4);
  const DramClocks ddr4_3200 = dram_clocks(dram_preset(DramPreset::kDdr4_3200));
  EXPECT_EQ(ddr4_3200.cl, 22) << "3200AA is 22-22-22";
  EXPECT_EQ(ddr4_3200.rcd, 22);
  EXPECT_EQ(ddr4_3200.rp, 22);
  EXPECT_EQ(ddr4_3200.ccd, 4);
  const DramClocks lpddr4 = dram_clocks(dram_preset(DramPreset::kLpddr4_3200));
  EXPECT_EQ(lpddr4.cl, 28);
  EXPECT_EQ(lpddr4.ccd, 8);
  EXPECT_EQ(lpddr4.data, 8);
}

TEST(DramClocks, HI_6_refuses_refreshes_that_leave_no_time) {
  DramConfig config;
  config.tREFI_ps = config.tRFC_ps;
  EXPECT_THROW(dram_clocks(config), UserError);
  config.refresh = false;
  EXPECT_NO_THROW(dram_clocks(config));
}

}  // namespace
}  // namespace tilebeat
