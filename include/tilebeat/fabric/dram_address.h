#pragma once

#include "tilebeat/config/dram_config.h"

#include <cstdint>

namespace tilebeat {

/// Where a DRAM burst lies. `column` counts bursts within the row.
struct DramAddress {
  int channel = 0;
  int bank = 0;
  std::int64_t row = 0;
  int column = 0;

  friend bool operator==(const DramAddress& a, const DramAddress& b) {
    return a.channel == b.channel && a.bank == b.bank && a.row == b.row && a.column == b.column;
  }
};

/// Cuts byte addresses into channel, bank, row and column (SPEC HI-6). Sizes need not be powers of two: the
/// parts are digits of a mixed-radix number, most significant first as the mapping's name says.
class DramAddressMap {
 public:
  /// Throws UserError when `size_bytes` is no whole number of rows in every bank of every channel.
  explicit DramAddressMap(const DramConfig& config);

  /// Payload bytes of one DRAM burst.
  int burst_bytes() const { return burst_bytes_; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  std::int64_t rows() const { return rows_; }
  int columns() const { return columns_; }

  /// The place of the burst that contains byte `address`, which is below `size_bytes()`.
  DramAddress decode(std::uint64_t address) const;
  /// The first byte of the burst at `place`: the inverse of `decode` on burst boundaries.
  std::uint64_t encode(const DramAddress& place) const;

 private:
  AddressMapping mapping_;
  std::int64_t channels_;
  std::int64_t banks_;
  std::int64_t alternating_groups_;  // between which consecutive bursts alternate
  std::int64_t rows_ = 0;
  int columns_ = 0;
  int burst_bytes_ = 0;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace tilebeat
