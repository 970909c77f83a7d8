#include "tilebeat/config/dram_config.h"

#include "tilebeat/base/error.h"

namespace tilebeat {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// 8 Gb x8 devices, one rank: 16 banks with a 1 KiB page a device (8 KiB a rank), 8 GiB a channel. 2400R is
// 16-16-16; bursts to different bank groups are assumed, so tCCD is tCCD_S, four cycles.
DramConfig ddr4_2400r() {
  DramConfig config;
  config.preset = DramPreset::kDdr4_2400;
  config.channels = 1;
  config.banks = 16;
  config.row_bytes = 8192;
  config.data_bits = 64;
  config.ecc_bits = 0;
  config.burst_length = 8;
  config.clock_ps = 833;
  config.tRCD_ps = 13320;
  config.tRP_ps = 13320;
  config.tCL_ps = 13320;
  config.tRAS_ps = 32000;
  config.tCCD_ps = 3332;
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
  config.tCCD_ps = 2500;
  return config;
}

// One 16 Gb package: two channels of 16 bits, 8 Gb each, 8 banks with a 2 KiB page. Read latency is set A (28
// cycles); tRP is tRPpb, tRFC is tRFCab.
DramConfig lpddr4_3200() {
  DramConfig config;
  config.preset = DramPreset::kLpddr4_3200;
  config.channels = 2;
  config.banks = 8;
  config.row_bytes = 2048;
  config.data_bits = 16;
  config.ecc_bits = 0;
  config.burst_length = 16;
  config.clock_ps = 625;
  config.tRCD_ps = 18000;
  config.tRP_ps = 18000;
  config.tCL_ps = 17500;
  config.tRAS_ps = 42000;
  config.tCCD_ps = 5000;
  config.tREFI_ps = 3904000;
  config.tRFC_ps = 280000;
  config.size_bytes = 2 * kGiB;
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
  }
  throw SimulationError("DRAM preset outside its range");
}

}  // namespace tilebeat
