#include "fabric/dram_timing.h"

#include "tilebeat/error.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Splits off the least significant digit of `number`; most radices are powers of two, which need no division.
std::int64_t take(std::uint64_t& number, std::int64_t radix) {
  const auto unsigned_radix = to_unsigned(radix);
  if ((unsigned_radix & (unsigned_radix - 1)) == 0) {
    const auto power = to_signed(number & (unsigned_radix - 1));
    number >>= __builtin_ctzll(unsigned_radix);
    return power;
  }
  const auto digit = to_signed(number % unsigned_radix);
  number /= unsigned_radix;
  return digit;
}

// Appends a digit below the digits in `number`.
void put(std::uint64_t& number, std::int64_t radix, std::int64_t digit) {
  number = number * to_unsigned(radix) + to_unsigned(digit);
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
  columns_ = to_int(config.row_bytes / burst_bytes_);
  size_bytes_ = to_unsigned(config.size_bytes);
}

DramAddress DramAddressMap::decode(std::uint64_t address) const {
  std::uint64_t rest = address;
  take(rest, burst_bytes_);
  DramAddress place;
  switch (mapping_) {
    case AddressMapping::kRowBankColumnGroupChannel: {
      place.channel = to_int(take(rest, channels_));
      const std::int64_t group = take(rest, alternating_groups_);
      place.column = to_int(take(rest, columns_));
      place.bank = to_int(take(rest, banks_ / alternating_groups_) * alternating_groups_ + group);
      place.row = to_signed(rest);
      break;
    }
    case AddressMapping::kRowBankColumnChannel:
      place.channel = to_int(take(rest, channels_));
      place.column = to_int(take(rest, columns_));
      place.bank = to_int(take(rest, banks_));
      place.row = to_signed(rest);
      break;
    case AddressMapping::kRowColumnBankChannel:
      place.channel = to_int(take(rest, channels_));
      place.bank = to_int(take(rest, banks_));
      place.column = to_int(take(rest, columns_));
      place.row = to_signed(rest);
      break;
    case AddressMapping::kChannelRowBankColumn:
      place.column = to_int(take(rest, columns_));
      place.bank = to_int(take(rest, banks_));
      place.row = take(rest, rows_);
      place.channel = to_int(rest);
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
  return number * to_unsigned(burst_bytes_);
}

namespace {

void require(bool allowed, const char* command, int bank, Cycle cycle) {
  if (!allowed) {
    throw SimulationError(
        fmt::format("DRAM: {} of bank {} at cycle {} breaks a timing rule", command, bank, cycle));
  }
}

}  // namespace

std::string_view dram_command_name(DramCommandKind kind) {
  constexpr std::array<std::string_view, 7> kNames{"none", "ACT", "PRE", "RD", "WR", "REF", "PREA"};
  return nth(kNames, kind);
}

DramEarliest DramBanks::earliest_activate(int bank) const {
  DramEarliest earliest{command_from_};
  earliest.wait_for(at(bank).activate_from, Activity::kRowMiss);
  earliest.wait_for(std::max({activate_from_, group_of(bank).activate_from, window_[oldest_]}),
                    Activity::kActivateWindow);
  return earliest;
}

DramEarliest DramBanks::earliest_precharge(int bank) const {
  DramEarliest earliest{command_from_};
  earliest.wait_for(at(bank).precharge_from, Activity::kRowMiss);
  earliest.wait_for(at(bank).written_until, Activity::kWriteRecovery);
  return earliest;
}

void DramBanks::activate(int bank, std::int64_t row, Cycle cycle) {
  require(open_row(bank) == kClosed && cycle >= earliest_activate(bank).at, "ACT", bank, cycle);
  Bank& state = at(bank);
  state.row = row;
  state.column_from = cycle + clocks_.rcd;
  state.precharge_from = cycle + clocks_.ras;
  activate_from_ = cycle + clocks_.rrd;
  group_of(bank).activate_from = cycle + clocks_.rrd_l;
  window_[oldest_] = cycle + clocks_.faw;
  oldest_ = (oldest_ + 1) % window_.size();
  command_from_ = cycle + 1;
}

void DramBanks::precharge(int bank, Cycle cycle) {
  require(open_row(bank) != kClosed && cycle >= earliest_precharge(bank).at, "PRE", bank, cycle);
  Bank& state = at(bank);
  state.row = kClosed;
  state.activate_from = cycle + clocks_.rp;
  command_from_ = cycle + 1;
}

void DramBanks::column(int bank, bool write, Cycle cycle) {
  require(open_row(bank) != kClosed && cycle >= earliest_column(bank, write).at, write ? "WR" : "RD", bank,
          cycle);
  Bank& state = at(bank);
  Group& group = group_of(bank);
  command_from_ = cycle + 1;
  if (write) {
    write_from_ = cycle + clocks_.ccd;
    group.write_from = cycle + clocks_.ccd_l_wr;
    read_after_write_ = cycle + clocks_.write_to_read();
    group.read_after_write = cycle + clocks_.write_to_read_l();
    state.written_until = cycle + clocks_.write_to_precharge();
  } else {
    read_from_ = cycle + clocks_.ccd;
    group.read_from = cycle + clocks_.ccd_l;
    write_after_read_ = cycle + clocks_.rtw;
    state.precharge_from = std::max(state.precharge_from, cycle + clocks_.rtp);
  }
}

DramBanks::RefreshTimes DramBanks::refresh(Cycle due) {
  RefreshTimes times;
  Cycle precharge = std::max(due, command_from_);
  times.refresh_at = precharge;
  bool open = false;
  for (const Bank& bank : banks_) {
    if (bank.row != kClosed) {
      open = true;
      precharge = std::max({precharge, bank.precharge_from, bank.written_until});
    } else {
      times.refresh_at = std::max(times.refresh_at, bank.activate_from);
    }
  }
  if (open) {
    times.precharge_at = precharge;
    times.refresh_at = std::max(times.refresh_at, precharge + std::max<Cycle>(clocks_.rp, 1));
  }
  times.done = times.refresh_at + std::max<Cycle>(clocks_.rfc, 1);
  for (Bank& bank : banks_) {
    bank.row = kClosed;
    bank.activate_from = times.done;
  }
  command_from_ = times.done;
  return times;
}

}  // namespace tilebeat
