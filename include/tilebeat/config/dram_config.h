#pragma once

#include "tilebeat/base/types.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace tilebeat {

/// DRAM presets (SPEC HI-6); every field of a preset can be overridden one by one.
enum class DramPreset : std::uint8_t { kDdr4_2400, kDdr4_3200, kLpddr4_3200, kDdr4_2400_ecc };
constexpr std::array<std::string_view, 4> kDramPresetNames{"ddr4_2400", "ddr4_3200", "lpddr4_3200",
                                                           "ddr4_2400_ecc_x4"};

/// How an address is cut into channel, row, bank and column, most significant part first. The bits below
/// `column` that lie inside one DRAM burst are the offset and are not named.
enum class AddressMapping : std::uint8_t {
  kRowBankColumnChannel,
  kRowColumnBankChannel,
  kChannelRowBankColumn
};
constexpr std::array<std::string_view, 3> kAddressMappingNames{
    "row_bank_column_channel", "row_column_bank_channel", "channel_row_bank_column"};

/// A DRAM behind its memory controller (SPEC HI-6). All times in picoseconds; the controller rounds each up
/// to its own clock.
struct DramConfig {
  DramPreset preset = DramPreset::kDdr4_2400;
  AddressMapping mapping = AddressMapping::kRowBankColumnChannel;
  int channels = 1;               ///< independent channels, each with its own command and data bus
  int banks = 16;                 ///< banks a channel
  std::int64_t row_bytes = 8192;  ///< payload bytes of one open row of one bank of a channel
  int data_bits = 64;             ///< payload bits of a channel's data bus
  int ecc_bits = 0;               ///< bits of the bus that carry no payload
  int burst_length = 8;           ///< transfers of one burst
  Picoseconds clock_ps = 833;     ///< period of the DRAM clock; two transfers a cycle
  Picoseconds tRCD_ps = 13320;
  Picoseconds tRP_ps = 13320;
  Picoseconds tCL_ps = 13320;
  Picoseconds tRAS_ps = 32000;
  Picoseconds tCCD_ps = 3332;
  Picoseconds tREFI_ps = 7800000;
  Picoseconds tRFC_ps = 350000;
  bool refresh = true;
  int queue_depth = 32;     ///< bursts that a channel's scheduler sees at a time
  int starvation_cap = 16;  ///< row hits that may overtake the oldest request before it is served (FR-FCFS)
  std::int64_t size_bytes = std::int64_t{1} << 33;
};

/// The values of a preset. Timing figures of DDR4: JESD79-4, speed bins 2400R and 3200AA; LPDDR4: JESD209-4.
DramConfig dram_preset(DramPreset preset);

}  // namespace tilebeat
