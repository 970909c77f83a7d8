#include "config/dram_config.h"

#include "base/types.h"
#include "tilebeat/error.h"

#include <algorithm>

namespace tilebeat {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// 8 Gb x8 devices, one rank: 16 banks in four groups with a 1 KiB page a device (8 KiB a rank), 8 GiB a
// channel. 2400R is 16-16-16. Times that JESD79-4 gives in nanoseconds are multiples of the rounded clock
// where that is what its rounding rule gives (15 ns are 18 cycles of 833 ps).
DramConfig ddr4_2400r() {
  DramConfig config;
  config.preset = DramPreset::kDdr4_2400;
  config.channels = 1;
  config.banks = 16;
  config.bank_groups = 4;
  config.row_bytes = 8192;
  config.data_bits = 64;
  config.ecc_bits = 0;
  config.burst_length = 8;
  config.transfers_per_clock = 2;
  config.clock_ps = 833;
  config.tRCD_ps = 13320;
  config.tRP_ps = 13320;
  config.tCL_ps = 13320;
  config.tCWL_ps = 9996;
  config.tRAS_ps = 32000;
  config.tCCD_ps = 3332;
  config.tCCD_L_ps = 4998;
  config.tCCD_L_WR_ps = 4998;
  config.tRRD_ps = 3332;
  config.tRRD_L_ps = 4900;
  config.tFAW_ps = 21000;
  config.tWR_ps = 14994;
  config.tWTR_ps = 2499;
  config.tWTR_L_ps = 7497;
  config.tRTP_ps = 7497;
  config.tREFI_ps = 7800000;
  config.tRFC_ps = 350000;
  config.size_bytes = 8 * kGiB;
  return config;
}

// 3200AA is 22-22-22.
DramConfig ddr4_3200aa() {
  DramConfig config = ddr4_2400r();
  config.preset = DramPreset::kDdr4_3200;
  config.clock_ps = 625;
  config.tRCD_ps = 13750;
  config.tRP_ps = 13750;
  config.tCL_ps = 13750;
  config.tCWL_ps = 10000;
  config.tCCD_ps = 2500;
  config.tCCD_L_ps = 5000;
  config.tCCD_L_WR_ps = 5000;
  config.tRRD_ps = 2500;
  config.tRRD_L_ps = 4900;
  config.tFAW_ps = 21000;
  config.tWR_ps = 15000;
  config.tWTR_ps = 2500;
  config.tWTR_L_ps = 7500;
  config.tRTP_ps = 7500;
  return config;
}

// One 16 Gb package: two channels of 16 bits, 8 Gb each, 8 banks with a 2 KiB page, no bank groups. Latencies
// are set A (28 and 14 cycles); tRP is tRPpb, tRFC is tRFCab.
DramConfig lpddr4_3200() {
  DramConfig config;
  config.preset = DramPreset::kLpddr4_3200;
  config.channels = 2;
  config.banks = 8;
  config.bank_groups = 1;
  config.row_bytes = 2048;
  config.data_bits = 16;
  config.ecc_bits = 0;
  config.burst_length = 16;
  config.transfers_per_clock = 2;
  config.clock_ps = 625;
  config.tRCD_ps = 18000;
  config.tRP_ps = 18000;
  config.tCL_ps = 17500;
  config.tCWL_ps = 8750;
  config.tRAS_ps = 42000;
  config.tCCD_ps = config.tCCD_L_ps = config.tCCD_L_WR_ps = 5000;
  config.tRRD_ps = config.tRRD_L_ps = 10000;
  config.tFAW_ps = 40000;
  config.tWR_ps = 18000;
  config.tWTR_ps = config.tWTR_L_ps = 10000;
  config.tRTP_ps = 7500;
  config.tREFI_ps = 3904000;
  config.tRFC_ps = 280000;
  config.size_bytes = 2 * kGiB;
  return config;
}

// One DIMM of 16 Gb x8 devices: two channels of 32 bits, 32 banks in eight groups with a 1 KiB page a device.
// 4800B is 36-36-36; tCCD_L_WR is that of writes that need no read inside the device.
DramConfig ddr5_4800b() {
  DramConfig config;
  config.preset = DramPreset::kDdr5_4800;
  config.channels = 2;
  config.banks = 32;
  config.bank_groups = 8;
  config.row_bytes = 4096;
  config.data_bits = 32;
  config.ecc_bits = 0;
  config.burst_length = 16;
  config.transfers_per_clock = 2;
  config.clock_ps = 416;
  config.tRCD_ps = 14976;
  config.tRP_ps = 14976;
  config.tCL_ps = 14976;
  config.tCWL_ps = 14144;
  config.tRAS_ps = 32000;
  config.tCCD_ps = 3328;
  config.tCCD_L_ps = 4992;
  config.tCCD_L_WR_ps = 9984;
  config.tRRD_ps = 3328;
  config.tRRD_L_ps = 4992;
  config.tFAW_ps = 13312;
  config.tWR_ps = 29952;
  config.tWTR_ps = 2496;
  config.tWTR_L_ps = 9984;
  config.tRTP_ps = 7488;
  config.tREFI_ps = 3900000;
  config.tRFC_ps = 295000;
  config.size_bytes = 16 * kGiB;
  return config;
}

// Two channels of 16 bits, 16 Gb each, in bank group mode: 16 banks in four groups with a 2 KiB page. The
// data clock is four times the command clock. Read latency 17, write latency set A 9 cycles; tRP is tRPpb,
// tRFC is tRFCab.
DramConfig lpddr5_6400() {
  DramConfig config;
  config.preset = DramPreset::kLpddr5_6400;
  config.channels = 2;
  config.banks = 16;
  config.bank_groups = 4;
  config.row_bytes = 2048;
  config.data_bits = 16;
  config.ecc_bits = 0;
  config.burst_length = 16;
  config.transfers_per_clock = 8;
  config.clock_ps = 1250;
  config.tRCD_ps = 18000;
  config.tRP_ps = 18000;
  config.tCL_ps = 21250;
  config.tCWL_ps = 11250;
  config.tRAS_ps = 42000;
  config.tCCD_ps = 2500;
  config.tCCD_L_ps = config.tCCD_L_WR_ps = 5000;
  config.tRRD_ps = config.tRRD_L_ps = 5000;
  config.tFAW_ps = 20000;
  config.tWR_ps = 34000;
  config.tWTR_ps = 6250;
  config.tWTR_L_ps = 12000;
  config.tRTP_ps = 10000;
  config.tREFI_ps = 3906000;
  config.tRFC_ps = 280000;
  config.size_bytes = 4 * kGiB;
  return config;
}

// One stack at 2 Gb/s a pin: eight channels, each two pseudo channels of 64 bits and 4 Gb with banks of their
// own, 1 KiB pages. tRCD is that of reads; tFAW is 15 ns as in Ramulator 2.
DramConfig hbm2_2000() {
  DramConfig config;
  config.preset = DramPreset::kHbm2_2000;
  config.channels = 16;
  config.banks = 16;
  config.bank_groups = 4;
  config.row_bytes = 1024;
  config.data_bits = 64;
  config.ecc_bits = 0;
  config.burst_length = 4;
  config.transfers_per_clock = 2;
  config.clock_ps = 1000;
  config.tRCD_ps = 14000;
  config.tRP_ps = 14000;
  config.tCL_ps = 14000;
  config.tCWL_ps = 5000;
  config.tRAS_ps = 34000;
  config.tCCD_ps = 2000;
  config.tCCD_L_ps = config.tCCD_L_WR_ps = 4000;
  config.tRRD_ps = config.tRRD_L_ps = 4000;
  config.tFAW_ps = 15000;
  config.tWR_ps = 16000;
  config.tWTR_ps = 6000;
  config.tWTR_L_ps = 8000;
  config.tRTP_ps = 5000;
  config.tREFI_ps = 3900000;
  config.tRFC_ps = 260000;
  config.size_bytes = 8 * kGiB;
  return config;
}

// Document 002's memory: four controllers of 72 bits, 64 of them data ([0216], SPEC HI-6).
DramConfig ddr4_2400_ecc_x4() {
  DramConfig config = ddr4_2400r();
  config.preset = DramPreset::kDdr4_2400_ecc;
  config.channels = 4;
  config.ecc_bits = 8;
  config.size_bytes = 4 * 8 * kGiB;
  return config;
}

}  // namespace

DramConfig dram_preset(DramPreset preset) {
  switch (preset) {
    case DramPreset::kDdr4_2400:
      return ddr4_2400r();
    case DramPreset::kDdr4_3200:
      return ddr4_3200aa();
    case DramPreset::kLpddr4_3200:
      return lpddr4_3200();
    case DramPreset::kDdr4_2400_ecc:
      return ddr4_2400_ecc_x4();
    case DramPreset::kDdr5_4800:
      return ddr5_4800b();
    case DramPreset::kLpddr5_6400:
      return lpddr5_6400();
    case DramPreset::kHbm2_2000:
      return hbm2_2000();
  }
  throw SimulationError("DRAM preset outside its range");
}

double typical_pj_per_byte(DramPreset preset) {
  switch (preset) {
    case DramPreset::kDdr4_2400:
    case DramPreset::kDdr4_3200:
    case DramPreset::kDdr4_2400_ecc:
      return 160;  // 20 pJ a bit: 640 pJ for 32 bits
    case DramPreset::kDdr5_4800:
      return 134;  // DDR4's, by the square of the supply voltages of 1.1 and 1.2 V
    case DramPreset::kLpddr4_3200:
      return 40;  // 5 pJ a bit
    case DramPreset::kLpddr5_6400:
      return 32;  // 4 pJ a bit
    case DramPreset::kHbm2_2000:
      return 31.2;  // 3.9 pJ a bit
  }
  throw SimulationError("DRAM preset outside its range");
}

DramClocks dram_clocks(const DramConfig& config) {
  constexpr Cycle kTurn = 2;  // without data between a read and a write
  const auto clocks = [&config](Picoseconds duration) { return ceil_div(duration, config.clock_ps); };
  DramClocks result;
  result.rcd = clocks(config.tRCD_ps);
  result.rp = clocks(config.tRP_ps);
  result.cl = clocks(config.tCL_ps);
  result.cwl = clocks(config.tCWL_ps);
  result.ras = clocks(config.tRAS_ps);
  result.data = ceil_div(config.burst_length, config.transfers_per_clock);
  result.ccd = std::max(clocks(config.tCCD_ps), result.data);
  result.ccd_l = std::max(clocks(config.tCCD_L_ps), result.ccd);
  result.ccd_l_wr = std::max(clocks(config.tCCD_L_WR_ps), result.ccd);
  result.rrd = std::max<Cycle>(clocks(config.tRRD_ps), 1);
  result.rrd_l = std::max(clocks(config.tRRD_L_ps), result.rrd);
  result.faw = clocks(config.tFAW_ps);
  result.wr = clocks(config.tWR_ps);
  result.wtr = clocks(config.tWTR_ps);
  result.wtr_l = std::max(clocks(config.tWTR_L_ps), result.wtr);
  result.rtp = clocks(config.tRTP_ps);
  result.rtw = std::max(result.cl + result.data + kTurn - result.cwl, result.ccd);
  if (config.refresh) {
    result.refi = clocks(config.tREFI_ps);
    result.rfc = clocks(config.tRFC_ps);
  }
  return result;
}

std::int64_t peak_bytes_per_clock(const DramConfig& config) {
  return std::int64_t{config.data_bits} / 8 * std::min(config.transfers_per_clock, config.burst_length);
}

Cycle DramClocks::refresh_and_burst() const {
  const Cycle open = std::max({ras, rtp, write_to_precharge()});
  constexpr Cycle kCommands = 4;  // the one before it, PRE, REF, RD or WR
  return open + 2 * rp + rfc + faw + rcd + kCommands;
}

}  // namespace tilebeat
