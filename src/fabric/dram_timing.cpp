#include "tilebeat/fabric/dram_timing.h"

#include "tilebeat/base/error.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tilebeat {
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
  return kNames[static_cast<std::size_t>(kind)];
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
