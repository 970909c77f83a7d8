// Address mapping and storage of the DRAM (SPEC HI-6, CY-5).
#include "fabric/dram_timing.h"
#include "fabric/sparse_memory.h"
#include "tilebeat/error.h"

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace tilebeat {
namespace {

DramConfig random_config() {
  DramConfig config;
  config.mapping = static_cast<AddressMapping>(*rc::gen::inRange<int>(0, kAddressMappingNames.size()));
  config.channels = *rc::gen::inRange(1, 6);
  config.banks = *rc::gen::inRange(1, 20);
  config.bank_groups = config.banks % 4 == 0 ? 4 : config.banks % 2 == 0 ? 2 : 1;
  config.data_bits = 8 * *rc::gen::element(1, 2, 4, 8);
  config.burst_length = *rc::gen::element(4, 8, 16);
  const int burst_bytes = config.data_bits / 8 * config.burst_length;
  config.row_bytes = std::int64_t{burst_bytes} * *rc::gen::inRange(1, 100);
  config.size_bytes = config.row_bytes * config.banks * config.channels * *rc::gen::inRange(1, 1000);
  return config;
}

RC_GTEST_PROP(DramAddressMap, HI_6_decode_and_encode_are_inverse, ()) {
  const DramConfig config = random_config();
  const DramAddressMap map(config);
  const auto address = *rc::gen::inRange<std::uint64_t>(0, map.size_bytes());
  const DramAddress place = map.decode(address);
  RC_ASSERT(place.channel >= 0 && place.channel < config.channels);
  RC_ASSERT(place.bank >= 0 && place.bank < config.banks);
  RC_ASSERT(place.row >= 0 && place.row < map.rows());
  RC_ASSERT(place.column >= 0 && place.column < map.columns());
  const auto burst = static_cast<std::uint64_t>(map.burst_bytes());
  RC_ASSERT(map.encode(place) == address / burst * burst);
}

TEST(DramAddressMap, HI_6_every_burst_has_a_place_of_its_own) {
  for (int mapping = 0; mapping < static_cast<int>(kAddressMappingNames.size()); ++mapping) {
    DramConfig config;
    config.mapping = static_cast<AddressMapping>(mapping);
    config.channels = 3;
    config.banks = 4;
    config.row_bytes = 5 * 64;
    config.size_bytes = config.row_bytes * 4 * 3 * 7;
    const DramAddressMap map(config);
    std::set<std::tuple<int, int, std::int64_t, int>> places;
    for (std::uint64_t address = 0; address < map.size_bytes(); address += 64) {
      const DramAddress place = map.decode(address);
      places.insert({place.channel, place.bank, place.row, place.column});
    }
    EXPECT_EQ(places.size(), map.size_bytes() / 64);
  }
}

TEST(DramAddressMap, HI_6_consecutive_bursts_move_the_least_significant_part) {
  DramConfig config;
  config.channels = 2;
  const auto burst = static_cast<std::uint64_t>(config.burst_length * config.data_bits / 8);
  const auto columns = static_cast<std::uint64_t>(config.row_bytes) / burst;
  // Two bank groups take turns; the banks 0 and 1 hold what lies side by side.
  config.mapping = AddressMapping::kRowBankColumnGroupChannel;
  EXPECT_EQ(DramAddressMap(config).decode(burst), (DramAddress{1, 0, 0, 0}));
  EXPECT_EQ(DramAddressMap(config).decode(2 * burst), (DramAddress{0, 1, 0, 0}));
  EXPECT_EQ(DramAddressMap(config).decode(4 * burst), (DramAddress{0, 0, 0, 1}));
  EXPECT_EQ(DramAddressMap(config).decode(4 * columns * burst), (DramAddress{0, 2, 0, 0}));
  config.bank_groups = 1;
  EXPECT_EQ(DramAddressMap(config).decode(2 * burst), (DramAddress{0, 0, 0, 1})) << "without bank groups";
  config.bank_groups = 4;
  config.mapping = AddressMapping::kRowBankColumnChannel;
  EXPECT_EQ(DramAddressMap(config).decode(burst), (DramAddress{1, 0, 0, 0}));
  EXPECT_EQ(DramAddressMap(config).decode(2 * burst), (DramAddress{0, 0, 0, 1}));
  EXPECT_EQ(DramAddressMap(config).decode(2 * columns * burst), (DramAddress{0, 1, 0, 0}));
  config.mapping = AddressMapping::kRowColumnBankChannel;
  EXPECT_EQ(DramAddressMap(config).decode(2 * burst), (DramAddress{0, 1, 0, 0}));
  config.mapping = AddressMapping::kChannelRowBankColumn;
  EXPECT_EQ(DramAddressMap(config).decode(burst), (DramAddress{0, 0, 0, 1}));
  EXPECT_EQ(DramAddressMap(config).decode(columns * burst), (DramAddress{0, 1, 0, 0}));
  EXPECT_EQ(DramAddressMap(config).decode(static_cast<std::uint64_t>(config.size_bytes) / 2),
            (DramAddress{1, 0, 0, 0}));
}

TEST(DramAddressMap, HI_6_refuses_a_size_that_is_no_whole_number_of_rows) {
  DramConfig config;
  config.size_bytes += 64;
  EXPECT_THROW(DramAddressMap{config}, UserError);
}

TEST(DramAddressMap, HI_6_refuses_a_memory_without_channels_banks_or_bytes_in_a_burst) {
  for (int DramConfig::*part : {&DramConfig::channels, &DramConfig::banks, &DramConfig::burst_length}) {
    DramConfig config;
    config.*part = 0;
    EXPECT_THROW(DramAddressMap{config}, UserError);
  }
}

TEST(DramConfig, HI_6_presets_are_consistent) {
  for (int preset = 0; preset < 4; ++preset) {
    const DramConfig config = dram_preset(static_cast<DramPreset>(preset));
    EXPECT_EQ(static_cast<int>(config.preset), preset);
    EXPECT_NO_THROW(DramAddressMap{config});
  }
  const DramConfig ecc = dram_preset(DramPreset::kDdr4_2400_ecc);
  EXPECT_EQ(ecc.channels, 4) << "document 002: four controllers of 64 + 8 bits";
  EXPECT_EQ(ecc.data_bits, 64);
  EXPECT_EQ(ecc.ecc_bits, 8);
  EXPECT_EQ(DramAddressMap(ecc).burst_bytes(), 64) << "ECC carries no payload";
}

TEST(DramConfig, HI_6_a_default_configuration_is_the_default_preset) {
  const DramConfig plain;
  const DramConfig preset = dram_preset(plain.preset);
  EXPECT_EQ(plain.channels, preset.channels);
  EXPECT_EQ(plain.banks, preset.banks);
  EXPECT_EQ(plain.row_bytes, preset.row_bytes);
  EXPECT_EQ(plain.clock_ps, preset.clock_ps);
  EXPECT_EQ(plain.tRCD_ps, preset.tRCD_ps);
  EXPECT_EQ(plain.tRP_ps, preset.tRP_ps);
  EXPECT_EQ(plain.tCL_ps, preset.tCL_ps);
  EXPECT_EQ(plain.tRAS_ps, preset.tRAS_ps);
  EXPECT_EQ(plain.tCCD_ps, preset.tCCD_ps);
  EXPECT_EQ(plain.tREFI_ps, preset.tREFI_ps);
  EXPECT_EQ(plain.tRFC_ps, preset.tRFC_ps);
  EXPECT_EQ(plain.size_bytes, preset.size_bytes);
}

RC_GTEST_PROP(SparseMemory, CY_5_behaves_like_a_byte_map, ()) {
  SparseMemory memory;
  std::map<std::uint64_t, std::uint8_t> expected;
  const std::uint64_t base = *rc::gen::element<std::uint64_t>(0, (std::uint64_t{1} << 40) - 100000);
  for (int step = 0; step < 12; ++step) {
    const std::uint64_t address = base + *rc::gen::inRange<std::uint64_t>(0, 60000);
    std::vector<std::uint8_t> bytes(*rc::gen::inRange<std::size_t>(1, 20000));
    if (*rc::gen::arbitrary<bool>()) {
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::uint8_t>(i * 7 + static_cast<std::size_t>(step));
        expected[address + i] = bytes[i];
      }
      memory.write(address, bytes.data(), bytes.size());
    } else {
      memory.read(address, bytes.data(), bytes.size());
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto found = expected.find(address + i);
        RC_ASSERT(bytes[i] == (found == expected.end() ? 0 : found->second));
      }
    }
  }
}

TEST(SparseMemory, CY_5_reading_makes_no_pages) {
  SparseMemory memory;
  std::vector<std::uint8_t> bytes(3 * SparseMemory::kPageBytes, 1);
  memory.read(std::uint64_t{1} << 39, bytes.data(), bytes.size());
  EXPECT_EQ(memory.pages(), 0U);
  EXPECT_EQ(bytes, std::vector<std::uint8_t>(bytes.size()));
  memory.write((std::uint64_t{1} << 39) + SparseMemory::kPageBytes - 1, bytes.data(), 2);
  EXPECT_EQ(memory.pages(), 2U);
}

}  // namespace
}  // namespace tilebeat
