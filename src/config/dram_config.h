#pragma once

#include "base/types.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace tilebeat {

/// DRAM presets (SPEC HI-6); every field of a preset can be overridden one by one.
enum class DramPreset : std::uint8_t {
  kDdr4_2400,
  kDdr4_3200,
  kLpddr4_3200,
  kDdr4_2400_ecc,
  kDdr5_4800,
  kLpddr5_6400,
  kHbm2_2000
};
constexpr std::array<std::string_view, 7> kDramPresetNames{
    "ddr4_2400", "ddr4_3200", "lpddr4_3200", "ddr4_2400_ecc_x4", "ddr5_4800", "lpddr5_6400", "hbm2_2000"};

/// Typical energy of a byte that a DRAM of this kind delivers or takes, its share of activations and the
/// interface included, in pJ; docs/energy.md names the sources.
double typical_pj_per_byte(DramPreset preset);

/// The division of an address into channel, row, bank and column, most significant part first. The bits below
/// `column` that lie inside one DRAM burst are the offset and are not named. Consecutive banks are in
/// different bank groups; where `group` has a place of its own, `bank` is the bank inside its group.
enum class AddressMapping : std::uint8_t {
  kRowBankColumnGroupChannel,
  kRowBankColumnChannel,
  kRowColumnBankChannel,
  kChannelRowBankColumn
};
constexpr std::array<std::string_view, 4> kAddressMappingNames{
    "row_bank_column_group_channel", "row_bank_column_channel", "row_column_bank_channel",
    "channel_row_bank_column"};

/// A DRAM behind its memory controller (SPEC HI-6). All times in picoseconds; the controller rounds each up
/// to its own clock.
struct DramConfig {
  DramPreset preset = DramPreset::kDdr4_2400;
  AddressMapping mapping = AddressMapping::kRowBankColumnGroupChannel;
  int channels = 1;               ///< independent channels, each with its own command and data bus
  int banks = 16;                 ///< banks a channel
  int bank_groups = 4;            ///< bank groups; bank b is in group b % bank_groups
  std::int64_t row_bytes = 8192;  ///< payload bytes of one open row of one bank of a channel
  int data_bits = 64;             ///< payload bits of a channel's data bus
  int ecc_bits = 0;               ///< bits of the bus that carry no payload; partial writes read first
  int burst_length = 8;           ///< transfers of one burst
  int transfers_per_clock = 2;    ///< on the data bus
  Picoseconds clock_ps = 833;     ///< period of the DRAM's command clock
  Picoseconds tRCD_ps = 13320;
  Picoseconds tRP_ps = 13320;
  Picoseconds tCL_ps = 13320;
  Picoseconds tCWL_ps = 9996;
  Picoseconds tRAS_ps = 32000;
  // Of rules that differ by bank group, the plain name is the rule between different groups (JEDEC's _S).
  Picoseconds tCCD_ps = 3332;
  Picoseconds tCCD_L_ps = 4998;
  Picoseconds tCCD_L_WR_ps = 4998;
  Picoseconds tRRD_ps = 3332;
  Picoseconds tRRD_L_ps = 4900;
  Picoseconds tFAW_ps = 21000;
  Picoseconds tWR_ps = 14994;
  Picoseconds tWTR_ps = 2499;
  Picoseconds tWTR_L_ps = 7497;
  Picoseconds tRTP_ps = 7497;
  Picoseconds tREFI_ps = 7800000;
  Picoseconds tRFC_ps = 350000;
  bool refresh = true;
  int port_bytes_per_clock = 32;  ///< bytes per NPU clock of a controller's port, for each channel
  int queue_depth = 64;           ///< bursts that a channel's scheduler sees at a time
  int starvation_cap = 64;  ///< row hits that may overtake the oldest request before it is served (FR-FCFS)
  std::int64_t size_bytes = std::int64_t{1} << 33;
};

/// The values of a preset. Timing figures of DDR4: JESD79-4, speed bins 2400R and 3200AA; LPDDR4: JESD209-4;
/// DDR5: JESD79-5, bin 4800B; LPDDR5: JESD209-5; HBM2: JESD235 and, where it leaves a value to the vendor,
/// that of Ramulator 2.
DramConfig dram_preset(DramPreset preset);

/// The timing rules in cycles of the DRAM, each rounded up (SPEC HI-6).
struct DramClocks {
  Cycle rcd = 0;       ///< ACT to RD or WR of the same bank
  Cycle rp = 0;        ///< PRE to ACT of the same bank, or to REF
  Cycle cl = 0;        ///< RD to its first data beat
  Cycle cwl = 0;       ///< WR to its first data beat
  Cycle ras = 0;       ///< ACT to PRE of the same bank
  Cycle ccd = 0;       ///< RD to RD, WR to WR; at least `data`
  Cycle ccd_l = 0;     ///< RD to RD of one bank group
  Cycle ccd_l_wr = 0;  ///< WR to WR of one bank group
  Cycle rrd = 0;       ///< ACT to ACT
  Cycle rrd_l = 0;     ///< ACT to ACT of one bank group
  Cycle faw = 0;       ///< an ACT to the fourth one behind it
  Cycle wr = 0;        ///< last data beat of a WR to PRE of the same bank
  Cycle wtr = 0;       ///< last data beat of a WR to RD
  Cycle wtr_l = 0;     ///< the same, of one bank group
  Cycle rtp = 0;       ///< RD to PRE of the same bank
  Cycle rtw = 0;       ///< RD to WR: the read's data, then two cycles in which the bus turns round
  Cycle data = 0;      ///< cycles that one burst occupies the data bus
  Cycle refi = 0;      ///< between two refreshes falling due; 0: no refresh
  Cycle rfc = 0;       ///< REF to the next command

  /// WR to PRE of its bank, and to RD of another or of the same bank group.
  Cycle write_to_precharge() const { return cwl + data + wr; }
  Cycle write_to_read() const { return cwl + data + wtr; }
  Cycle write_to_read_l() const { return cwl + data + wtr_l; }
  /// The cycles within which a due refresh is complete and a burst after it served, whatever state the banks
  /// are in. With refreshes at most this far apart no burst would ever be served.
  Cycle refresh_and_burst() const;
};

/// The rules of `config` in its cycles.
DramClocks dram_clocks(const DramConfig& config);

/// Payload bytes that the data bus of a channel carries in a cycle of the DRAM while it is never idle: a
/// burst takes at least one.
std::int64_t peak_bytes_per_clock(const DramConfig& config);

}  // namespace tilebeat
