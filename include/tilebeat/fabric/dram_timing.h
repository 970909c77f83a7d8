#pragma once

#include "tilebeat/base/types.h"
#include "tilebeat/config/dram_config.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tilebeat {

/// The commands of a DRAM channel; the values are those of the trace signal `cmd`.
enum class DramCommandKind : std::uint8_t {
  kNone,
  kActivate,
  kPrecharge,
  kRead,
  kWrite,
  kRefresh,
  kPrechargeAll
};

/// The name of a command in logs, for example `ACT`.
std::string_view dram_command_name(DramCommandKind kind);

/// One command on the command bus of a channel. `row` is the row opened, closed or accessed; bank and row are
/// -1 for the commands that address all banks.
struct DramCommand {
  Cycle cycle = 0;  ///< cycle of the DRAM's domain
  int channel = 0;
  DramCommandKind kind = DramCommandKind::kNone;
  int bank = -1;
  std::int64_t row = -1;
};

/// The timing rules in cycles of the DRAM, each rounded up (SPEC HI-6).
struct DramClocks {
  Cycle rcd = 0;   ///< ACT to RD or WR of the same bank
  Cycle rp = 0;    ///< PRE to ACT of the same bank, or to REF
  Cycle cl = 0;    ///< RD or WR to its first data beat
  Cycle ras = 0;   ///< ACT to PRE of the same bank
  Cycle ccd = 0;   ///< RD or WR to the next RD or WR of the channel
  Cycle data = 0;  ///< cycles that one burst occupies the data bus: burst_length / 2
  Cycle refi = 0;  ///< between two refreshes falling due; 0: no refresh
  Cycle rfc = 0;   ///< REF to the next command
};

/// The rules of `config` in its cycles. Throws UserError when a value is out of range or the refreshes leave
/// no time for anything else.
DramClocks dram_clocks(const DramConfig& config);

/// The timing state of one channel: which row each bank holds open and when each command may be issued next.
/// One command a cycle. Constraints are tRCD, tRP, tRAS, tCCD (and the data bus: consecutive column commands
/// are at least burst_length / 2 apart) and tRFC. Read and write have the same latency, so the data bus needs
/// no turnaround time; write recovery, four-activate window and bank groups are not modelled.
class DramBanks {
 public:
  static constexpr std::int64_t kClosed = -1;

  /// When the commands of one refresh are issued.
  struct RefreshTimes {
    Cycle precharge_at = -1;  ///< the precharge of all banks; -1: no bank was open
    Cycle refresh_at = 0;
    Cycle done = 0;  ///< the first cycle at which a command may follow
  };

  DramBanks(const DramClocks& clocks, int banks) : clocks_(clocks), banks_(static_cast<std::size_t>(banks)) {}

  /// The open row of a bank, or `kClosed`.
  std::int64_t open_row(int bank) const { return at(bank).row; }
  /// The first cycle at which an ACT, a PRE, or a RD or WR of the bank obeys all rules. Whether the bank is
  /// in the right state (closed or open) is the caller's business.
  Cycle earliest_activate(int bank) const { return later(at(bank).activate_from, command_from_); }
  Cycle earliest_precharge(int bank) const { return later(at(bank).precharge_from, command_from_); }
  Cycle earliest_column(int bank) const {
    return later(later(at(bank).column_from, column_from_), command_from_);
  }

  /// Issues the command at cycle `cycle`. Throws SimulationError when that breaks a rule.
  void activate(int bank, std::int64_t row, Cycle cycle);
  void precharge(int bank, Cycle cycle);
  void column(int bank, Cycle cycle);
  /// A refresh that falls due at `due`: from then on nothing else is issued; all banks are precharged as soon
  /// as tRAS allows, the refresh follows as soon as tRP allows.
  RefreshTimes refresh(Cycle due);

 private:
  struct Bank {
    std::int64_t row = kClosed;
    Cycle activate_from = 0;
    Cycle precharge_from = 0;
    Cycle column_from = 0;
  };

  static Cycle later(Cycle a, Cycle b) { return a > b ? a : b; }
  const Bank& at(int bank) const { return banks_[static_cast<std::size_t>(bank)]; }
  Bank& at(int bank) { return banks_[static_cast<std::size_t>(bank)]; }

  DramClocks clocks_;
  std::vector<Bank> banks_;
  Cycle command_from_ = 0;
  Cycle column_from_ = 0;
};

}  // namespace tilebeat
