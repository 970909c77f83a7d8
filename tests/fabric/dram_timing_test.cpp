// The timing rules of a DRAM channel, each as a pair: refused one cycle too early, allowed in time (SPEC
// HI-6).
#include "fabric/dram_timing.h"

#include "base/types.h"
#include "parameter_names.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat {
namespace {

class DramBanksTest : public ::testing::TestWithParam<DramPreset> {
 protected:
  DramConfig config_ = dram_preset(GetParam());
  DramClocks clocks_ = dram_clocks(config_);
  DramBanks banks_{clocks_, config_.banks, config_.bank_groups};
  Cycle clocks(Picoseconds duration) const { return ceil_div(duration, config_.clock_ps); }
};

TEST_P(DramBanksTest, HI_6_column_follows_activate_after_tRCD) {
  banks_.activate(0, 5, 100);
  const Cycle allowed = 100 + clocks(config_.tRCD_ps);
  EXPECT_EQ(banks_.earliest_column(0, false).at, allowed);
  EXPECT_EQ(banks_.earliest_column(0, true).at, allowed);
  EXPECT_THROW(banks_.column(0, false, allowed - 1), SimulationError);
  EXPECT_NO_THROW(banks_.column(0, false, allowed));
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

// Banks of which rows were opened long before cycle 1000: two of one group, one of another.
class OpenDramBanks : public DramBanksTest {
 protected:
  OpenDramBanks() {
    banks_.activate(0, 5, 100);
    banks_.activate(same_, 5, 300);
    banks_.activate(other_, 5, 500);
  }
  // What follows a command at cycle 1000 is allowed `apart` cycles later and not before.
  void expect_column(bool first_writes, int bank, bool writes, Cycle apart, Activity rule) {
    banks_.column(0, first_writes, 1000);
    EXPECT_EQ(banks_.earliest_column(bank, writes).at, 1000 + apart);
    if (apart > 1 && rule != Activity::kCount) {
      EXPECT_EQ(banks_.earliest_column(bank, writes).rule, rule);
    }
    EXPECT_THROW(banks_.column(bank, writes, 1000 + apart - 1), SimulationError);
    EXPECT_NO_THROW(banks_.column(bank, writes, 1000 + apart));
  }
  Cycle data() const { return config_.burst_length / config_.transfers_per_clock; }
  Cycle ccd() const { return std::max(clocks(config_.tCCD_ps), data()); }
  Cycle behind_write(Picoseconds duration) const {
    return clocks(config_.tCWL_ps) + data() + clocks(duration);
  }
  int same_ = config_.bank_groups, other_ = config_.bank_groups > 1 ? 1 : 2;
};

TEST_P(OpenDramBanks, HI_6_read_follows_read_after_tCCD) {
  expect_column(false, other_, false, ccd(), Activity::kCount);
}
TEST_P(OpenDramBanks, HI_6_read_follows_read_of_its_group_after_tCCD_L) {
  const Cycle apart = std::max(clocks(config_.tCCD_L_ps), ccd());
  expect_column(false, same_, false, apart, apart > ccd() ? Activity::kBankGroup : Activity::kCount);
}
TEST_P(OpenDramBanks, HI_6_write_follows_write_after_tCCD) {
  expect_column(true, other_, true, ccd(), Activity::kCount);
}
TEST_P(OpenDramBanks, HI_6_write_follows_write_of_its_group_after_tCCD_L_WR) {
  expect_column(true, same_, true, std::max(clocks(config_.tCCD_L_WR_ps), ccd()), Activity::kCount);
}
TEST_P(OpenDramBanks, HI_6_write_follows_read_when_the_bus_has_turned) {
  expect_column(false, other_, true, clocks(config_.tCL_ps) + data() + 2 - clocks(config_.tCWL_ps),
                Activity::kReadToWrite);
}
TEST_P(OpenDramBanks, HI_6_read_follows_write_after_tWTR) {
  expect_column(true, other_, false, behind_write(config_.tWTR_ps), Activity::kWriteToRead);
}
TEST_P(OpenDramBanks, HI_6_read_follows_write_of_its_group_after_tWTR_L) {
  expect_column(true, same_, false, behind_write(config_.tWTR_L_ps), Activity::kWriteToRead);
}
TEST_P(OpenDramBanks, HI_6_precharge_follows_read_after_tRTP) {
  banks_.column(0, false, 1000);
  EXPECT_THROW(banks_.precharge(0, 1000 + clocks(config_.tRTP_ps) - 1), SimulationError);
  EXPECT_NO_THROW(banks_.precharge(0, 1000 + clocks(config_.tRTP_ps)));
}
TEST_P(OpenDramBanks, HI_6_precharge_follows_the_data_of_a_write_after_tWR) {
  banks_.column(0, true, 1000);
  const Cycle allowed = 1000 + behind_write(config_.tWR_ps);
  EXPECT_EQ(banks_.earliest_precharge(0).rule, Activity::kWriteRecovery);
  EXPECT_THROW(banks_.precharge(0, allowed - 1), SimulationError);
  EXPECT_NO_THROW(banks_.precharge(0, allowed));
}
TEST_P(OpenDramBanks, HI_6_refresh_waits_for_write_recovery) {
  banks_.column(0, true, 1000);
  EXPECT_EQ(banks_.refresh(1001).precharge_at, 1000 + behind_write(config_.tWR_ps));
}

TEST_P(DramBanksTest, HI_6_activate_follows_activate_after_tRRD) {
  banks_.activate(0, 5, 100);
  const int other = config_.bank_groups > 1 ? 1 : 2;
  const Cycle allowed = 100 + clocks(config_.tRRD_ps);
  EXPECT_EQ(banks_.earliest_activate(other).rule, Activity::kActivateWindow);
  EXPECT_THROW(banks_.activate(other, 5, allowed - 1), SimulationError);
  EXPECT_NO_THROW(banks_.activate(other, 5, allowed));
}

TEST_P(DramBanksTest, HI_6_activate_follows_activate_of_its_group_after_tRRD_L) {
  banks_.activate(0, 5, 100);
  const Cycle allowed = 100 + clocks(config_.tRRD_L_ps);
  EXPECT_THROW(banks_.activate(config_.bank_groups, 5, allowed - 1), SimulationError);
  EXPECT_NO_THROW(banks_.activate(config_.bank_groups, 5, allowed));
}

TEST_P(DramBanksTest, HI_6_four_activates_in_tFAW) {
  const Cycle apart = clocks(config_.bank_groups > 1 ? config_.tRRD_ps : config_.tRRD_L_ps);
  for (int bank = 0; bank < 4; ++bank) banks_.activate(bank, 5, 100 + bank * apart);
  const Cycle allowed = 100 + std::max(clocks(config_.tFAW_ps), 4 * apart);
  EXPECT_THROW(banks_.activate(4, 5, allowed - 1), SimulationError);
  EXPECT_NO_THROW(banks_.activate(4, 5, allowed));
  // The next window begins with the second of them.
  EXPECT_GE(banks_.earliest_activate(5).at, 100 + apart + clocks(config_.tFAW_ps));
}

TEST_P(DramBanksTest, HI_6_one_command_a_clock) {
  banks_.activate(0, 5, 100);
  EXPECT_THROW(banks_.activate(1, 5, 100), SimulationError);
  EXPECT_NO_THROW(banks_.activate(1, 5, 100 + clocks(config_.tRRD_L_ps)));
  EXPECT_THROW(banks_.precharge(0, 100 + clocks(config_.tRRD_L_ps)), SimulationError);
  banks_.column(0, false, 800);
  EXPECT_THROW(banks_.precharge(1, 800), SimulationError);
  banks_.precharge(0, 900);
  EXPECT_THROW(banks_.precharge(1, 900), SimulationError);
  EXPECT_NO_THROW(banks_.precharge(1, 901));
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

constexpr auto kPresets = {DramPreset::kDdr4_2400,     DramPreset::kDdr4_3200, DramPreset::kLpddr4_3200,
                           DramPreset::kDdr4_2400_ecc, DramPreset::kDdr5_4800, DramPreset::kLpddr5_6400,
                           DramPreset::kHbm2_2000};
static_assert(kPresets.size() == kDramPresetNames.size());
INSTANTIATE_TEST_SUITE_P(Presets, DramBanksTest, ::testing::ValuesIn(kPresets));
INSTANTIATE_TEST_SUITE_P(Presets, OpenDramBanks, ::testing::ValuesIn(kPresets));

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

// In cycles: tCL-tRCD-tRP, tCWL, tRAS, tCCD_S/L, tRRD_S/L, tFAW, tWR, tWTR_S/L, tRTP, of the speed bins.
TEST(DramClocks, HI_6_presets_have_the_cycles_of_their_standards) {
  const auto expect = [](DramPreset preset, std::vector<Cycle> expected) {
    const DramClocks c = dram_clocks(dram_preset(preset));
    const std::vector<Cycle> cycles{c.cl,  c.rcd,   c.rp,  c.cwl, c.ras, c.ccd,   c.ccd_l,
                                    c.rrd, c.rrd_l, c.faw, c.wr,  c.wtr, c.wtr_l, c.rtp};
    EXPECT_EQ(cycles, expected) << kDramPresetNames[static_cast<std::size_t>(preset)];
  };
  expect(DramPreset::kDdr4_2400, {16, 16, 16, 12, 39, 4, 6, 4, 6, 26, 18, 3, 9, 9});
  expect(DramPreset::kDdr4_3200, {22, 22, 22, 16, 52, 4, 8, 4, 8, 34, 24, 4, 12, 12});
  expect(DramPreset::kLpddr4_3200, {28, 29, 29, 14, 68, 8, 8, 16, 16, 64, 29, 16, 16, 12});
  expect(DramPreset::kDdr5_4800, {36, 36, 36, 34, 77, 8, 12, 8, 12, 32, 72, 6, 24, 18});
  expect(DramPreset::kLpddr5_6400, {17, 15, 15, 9, 34, 2, 4, 4, 4, 16, 28, 5, 10, 8});
  expect(DramPreset::kHbm2_2000, {14, 14, 14, 5, 34, 2, 4, 4, 4, 15, 16, 6, 8, 5});
}

// Bytes a second of a channel: what is printed on the parts.
TEST(DramClocks, HI_6_presets_have_the_data_rates_of_their_names) {
  const auto rate = [](DramPreset preset) {  // megatransfers a second
    const DramConfig c = dram_preset(preset);
    return c.transfers_per_clock * 1e6 / static_cast<double>(c.clock_ps);
  };
  EXPECT_NEAR(rate(DramPreset::kDdr4_2400), 2400, 2);
  EXPECT_NEAR(rate(DramPreset::kDdr4_3200), 3200, 1);
  EXPECT_NEAR(rate(DramPreset::kLpddr4_3200), 3200, 1);
  EXPECT_NEAR(rate(DramPreset::kDdr5_4800), 4800, 8);
  EXPECT_NEAR(rate(DramPreset::kLpddr5_6400), 6400, 1);
  EXPECT_NEAR(rate(DramPreset::kHbm2_2000), 2000, 1);
}

}  // namespace
}  // namespace tilebeat
