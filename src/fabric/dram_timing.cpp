#include "tilebeat/fabric/dram_timing.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"

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

DramClocks dram_clocks(const DramConfig& config) {
  const auto clocks = [&config](Picoseconds duration, const char* name) {
    if (duration < 0)
      throw UserError(fmt::format("dram: {} is {} ps and must not be negative", name, duration));
    return ceil_div(duration, config.clock_ps);
  };
  if (config.clock_ps < 100)
    throw UserError(fmt::format("dram: clock_ps {} must be at least 100", config.clock_ps));
  if (config.burst_length < 2 || config.burst_length % 2 != 0) {
    throw UserError(fmt::format("dram: burst_length {} must be even and at least 2", config.burst_length));
  }
  DramClocks result;
  result.rcd = clocks(config.tRCD_ps, "tRCD_ps");
  result.rp = clocks(config.tRP_ps, "tRP_ps");
  result.cl = clocks(config.tCL_ps, "tCL_ps");
  result.ras = clocks(config.tRAS_ps, "tRAS_ps");
  result.ccd = clocks(config.tCCD_ps, "tCCD_ps");
  result.data = config.burst_length / 2;
  if (config.refresh) {
    result.refi = clocks(config.tREFI_ps, "tREFI_ps");
    result.rfc = clocks(config.tRFC_ps, "tRFC_ps");
    // A refresh must be over, whatever the banks held, before the next falls due.
    const Cycle longest = result.ras + 2 * result.rp + result.rfc + 2;
    if (result.refi <= longest) {
      throw UserError(
          fmt::format("dram: tREFI_ps {} must exceed tRAS_ps + 2 tRP_ps + tRFC_ps ({} cycles against {})",
                      config.tREFI_ps, result.refi, longest));
    }
  }
  return result;
}

void DramBanks::activate(int bank, std::int64_t row, Cycle cycle) {
  require(open_row(bank) == kClosed && cycle >= earliest_activate(bank), "ACT", bank, cycle);
  Bank& state = at(bank);
  state.row = row;
  state.column_from = cycle + clocks_.rcd;
  state.precharge_from = cycle + clocks_.ras;
  command_from_ = cycle + 1;
}

void DramBanks::precharge(int bank, Cycle cycle) {
  require(open_row(bank) != kClosed && cycle >= earliest_precharge(bank), "PRE", bank, cycle);
  Bank& state = at(bank);
  state.row = kClosed;
  state.activate_from = cycle + clocks_.rp;
  command_from_ = cycle + 1;
}

void DramBanks::column(int bank, Cycle cycle) {
  require(open_row(bank) != kClosed && cycle >= earliest_column(bank), "RD or WR", bank, cycle);
  column_from_ = cycle + later(clocks_.ccd, clocks_.data);
  command_from_ = cycle + 1;
}

DramBanks::RefreshTimes DramBanks::refresh(Cycle due) {
  RefreshTimes times;
  Cycle precharge = later(due, command_from_);
  times.refresh_at = precharge;
  bool open = false;
  for (const Bank& bank : banks_) {
    if (bank.row != kClosed) {
      open = true;
      precharge = later(precharge, bank.precharge_from);
    } else {
      times.refresh_at = later(times.refresh_at, bank.activate_from);
    }
  }
  if (open) {
    times.precharge_at = precharge;
    times.refresh_at = later(times.refresh_at, precharge + later(clocks_.rp, 1));
  }
  times.done = times.refresh_at + later(clocks_.rfc, 1);
  for (Bank& bank : banks_) {
    bank.row = kClosed;
    bank.activate_from = times.done;
  }
  command_from_ = times.done;
  return times;
}

}  // namespace tilebeat
