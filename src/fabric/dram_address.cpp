#include "tilebeat/fabric/dram_address.h"

#include "tilebeat/base/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Splits off the least significant digit of `number`; most radices are powers of two, which need no division.
std::int64_t take(std::uint64_t& number, std::int64_t radix) {
  const auto unsigned_radix = static_cast<std::uint64_t>(radix);
  if ((unsigned_radix & (unsigned_radix - 1)) == 0) {
    const auto power = static_cast<std::int64_t>(number & (unsigned_radix - 1));
    number >>= __builtin_ctzll(unsigned_radix);
    return power;
  }
  const auto digit = static_cast<std::int64_t>(number % unsigned_radix);
  number /= unsigned_radix;
  return digit;
}

// Appends a digit below the digits in `number`.
void put(std::uint64_t& number, std::int64_t radix, std::int64_t digit) {
  number = number * static_cast<std::uint64_t>(radix) + static_cast<std::uint64_t>(digit);
}

}  // namespace

DramAddressMap::DramAddressMap(const DramConfig& config)
    : mapping_(config.mapping),
      channels_(config.channels),
      banks_(config.banks),
      alternating_groups_(std::min(config.bank_groups, 2)) {
  burst_bytes_ = config.burst_length * config.data_bits / 8;
  if (channels_ < 1 || banks_ < 1 || burst_bytes_ < 1 || config.row_bytes < burst_bytes_ ||
      config.row_bytes % burst_bytes_ != 0) {
    throw UserError(
        fmt::format("dram: row_bytes {} must be a positive multiple of the {} payload bytes of a burst "
                    "(burst_length x data_bits / 8)",
                    config.row_bytes, burst_bytes_));
  }
  const std::int64_t bytes_a_row = channels_ * banks_ * config.row_bytes;
  if (config.size_bytes < bytes_a_row || config.size_bytes % bytes_a_row != 0) {
    throw UserError(
        fmt::format("dram: size_bytes {} must be a positive multiple of {} (channels x banks x row_bytes)",
                    config.size_bytes, bytes_a_row));
  }
  rows_ = config.size_bytes / bytes_a_row;
  columns_ = static_cast<int>(config.row_bytes / burst_bytes_);
  size_bytes_ = static_cast<std::uint64_t>(config.size_bytes);
}

DramAddress DramAddressMap::decode(std::uint64_t address) const {
  std::uint64_t rest = address;
  take(rest, burst_bytes_);
  DramAddress place;
  switch (mapping_) {
    case AddressMapping::kRowBankColumnGroupChannel: {
      place.channel = static_cast<int>(take(rest, channels_));
      const std::int64_t group = take(rest, alternating_groups_);
      place.column = static_cast<int>(take(rest, columns_));
      place.bank = static_cast<int>(take(rest, banks_ / alternating_groups_) * alternating_groups_ + group);
      place.row = static_cast<std::int64_t>(rest);
      break;
    }
    case AddressMapping::kRowBankColumnChannel:
      place.channel = static_cast<int>(take(rest, channels_));
      place.column = static_cast<int>(take(rest, columns_));
      place.bank = static_cast<int>(take(rest, banks_));
      place.row = static_cast<std::int64_t>(rest);
      break;
    case AddressMapping::kRowColumnBankChannel:
      place.channel = static_cast<int>(take(rest, channels_));
      place.bank = static_cast<int>(take(rest, banks_));
      place.column = static_cast<int>(take(rest, columns_));
      place.row = static_cast<std::int64_t>(rest);
      break;
    case AddressMapping::kChannelRowBankColumn:
      place.column = static_cast<int>(take(rest, columns_));
      place.bank = static_cast<int>(take(rest, banks_));
      place.row = take(rest, rows_);
      place.channel = static_cast<int>(rest);
      break;
  }
  return place;
}

std::uint64_t DramAddressMap::encode(const DramAddress& place) const {
  std::uint64_t number = 0;
  switch (mapping_) {
    case AddressMapping::kRowBankColumnGroupChannel:
      put(number, rows_, place.row);
      put(number, banks_ / alternating_groups_, place.bank / alternating_groups_);
      put(number, columns_, place.column);
      put(number, alternating_groups_, place.bank % alternating_groups_);
      put(number, channels_, place.channel);
      break;
    case AddressMapping::kRowBankColumnChannel:
      put(number, rows_, place.row);
      put(number, banks_, place.bank);
      put(number, columns_, place.column);
      put(number, channels_, place.channel);
      break;
    case AddressMapping::kRowColumnBankChannel:
      put(number, rows_, place.row);
      put(number, columns_, place.column);
      put(number, banks_, place.bank);
      put(number, channels_, place.channel);
      break;
    case AddressMapping::kChannelRowBankColumn:
      put(number, channels_, place.channel);
      put(number, rows_, place.row);
      put(number, banks_, place.bank);
      put(number, columns_, place.column);
      break;
  }
  return number * static_cast<std::uint64_t>(burst_bytes_);
}

}  // namespace tilebeat
