#pragma once

#include "base/activity.h"
#include "base/types.h"
#include "config/dram_config.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tilebeat {

/// The place of a DRAM burst. `column` counts bursts within the row.
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
  /// Throws UserError when `size_bytes` is not a whole number of rows in every bank of every channel.
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
  int column = -1;  ///< of a RD or WR: the burst's number in the row
};

/// Hears of every command of every channel, as DramChannel::listen tells of them.
class DramWatch {
 public:
  DramWatch() = default;
  DramWatch(const DramWatch&) = delete;
  DramWatch& operator=(const DramWatch&) = delete;
  virtual ~DramWatch() = default;
  virtual void issued(const DramCommand& command) = 0;
};

/// The earliest cycle of a command, and the rule that allows it last, as the activity of a waiting channel.
struct DramEarliest {
  Cycle at = 0;
  Activity rule = Activity::kDataLatency;

  /// `other` allows the command from `from` on.
  void wait_for(Cycle from, Activity other) {
    if (from > at) at = from, rule = other;
  }
};

/// The timing state of one channel: which row each bank holds open and when each command may be issued next
/// (SPEC HI-6). One command a cycle. Rules by bank are tRCD, tRP, tRAS, tWR and tRTP; by bank group tRRD_L,
/// tCCD_L and tWTR_L; by channel tRRD, tFAW, tCCD, tWTR, the turn of the data bus from reads to writes, and
/// tRFC. Commands that JEDEC encodes in several cycles take one; refreshes of single banks, power-down and
/// self refresh are not modelled.
class DramBanks {
 public:
  static constexpr std::int64_t kClosed = -1;

  /// The cycles of the commands of one refresh.
  struct RefreshTimes {
    Cycle precharge_at = -1;  ///< the precharge of all banks; -1: no bank was open
    Cycle refresh_at = 0;
    Cycle done = 0;  ///< the first cycle at which a command may follow
  };

  DramBanks(const DramClocks& clocks, int banks, int groups)
      : clocks_(clocks), banks_(to_size(banks)), groups_(to_size(groups)), group_mask_(to_size(groups) - 1) {}

  /// The open row of a bank, or `kClosed`.
  std::int64_t open_row(int bank) const { return at(bank).row; }
  /// The first cycle at which an ACT, a PRE, or a RD or WR of the bank obeys all rules. Whether the bank is
  /// in the right state (closed or open) is the caller's business.
  DramEarliest earliest_activate(int bank) const;
  DramEarliest earliest_precharge(int bank) const;
  DramEarliest earliest_column(int bank, bool write) const {
    const Group& group = group_of(bank);
    DramEarliest earliest{std::max(command_from_, write ? write_from_ : read_from_)};
    earliest.wait_for(at(bank).column_from, Activity::kRowMiss);
    earliest.wait_for(write ? group.write_from : group.read_from, Activity::kBankGroup);
    if (write) {
      earliest.wait_for(write_after_read_, Activity::kReadToWrite);
    } else {
      earliest.wait_for(std::max(read_after_write_, group.read_after_write), Activity::kWriteToRead);
    }
    return earliest;
  }

  /// Issues the command at cycle `cycle`. Throws SimulationError when that violates a rule.
  void activate(int bank, std::int64_t row, Cycle cycle);
  void precharge(int bank, Cycle cycle);
  void column(int bank, bool write, Cycle cycle);
  /// A refresh that falls due at `due`: from then on nothing else is issued; all banks are precharged as soon
  /// as their rules allow, the refresh follows as soon as tRP allows.
  RefreshTimes refresh(Cycle due);

 private:
  struct Bank {
    std::int64_t row = kClosed;
    Cycle activate_from = 0;
    Cycle column_from = 0;
    Cycle precharge_from = 0;  ///< by tRAS and tRTP
    Cycle written_until = 0;   ///< to PRE, by tWR
  };
  struct Group {
    Cycle activate_from = 0;
    Cycle read_from = 0;         ///< limited by tCCD_L
    Cycle write_from = 0;        ///< limited by tCCD_L
    Cycle read_after_write = 0;  ///< limited by tWTR_L
  };

  const Bank& at(int bank) const { return nth(banks_, bank); }
  Bank& at(int bank) { return nth(banks_, bank); }
  const Group& group_of(int bank) const { return groups_[to_size(bank) & group_mask_]; }
  Group& group_of(int bank) { return groups_[to_size(bank) & group_mask_]; }

  DramClocks clocks_;
  std::vector<Bank> banks_;
  std::vector<Group> groups_;
  std::size_t group_mask_;
  Cycle command_from_ = 0;
  Cycle activate_from_ = 0;               // by tRRD
  std::array<Cycle, 4> window_{};         // when tFAW of each of the last four ACTs is over, by turns
  std::size_t oldest_ = 0;                // index of the oldest
  Cycle read_from_ = 0, write_from_ = 0;  // by tCCD
  Cycle read_after_write_ = 0, write_after_read_ = 0;  // by tWTR; by the turn of the bus
};

}  // namespace tilebeat
