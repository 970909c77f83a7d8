#pragma once

#include "fabric/burst_port.h"
#include "fabric/dram_timing.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace tilebeat {

/// One burst of a DRAM channel: one column command, one row's worth of `burst_length` transfers.
struct DramBurst {
  int bank = 0;
  std::int64_t row = 0;
  bool write = false;
  std::uint32_t request = 0;  ///< the controller's handle of the request that it belongs to
  std::uint32_t offset = 0;   ///< first payload byte, counted from the start of the request
  std::uint32_t bytes = 0;    ///< payload bytes asked for, at most those of a whole burst
  int column = 0;             ///< its number in the row
};

/// The waits of a burst at the time when a command is issued for it: first for refreshes and other bursts'
/// commands, if any, then for `rule`.
struct DramWait {
  std::uint32_t request = 0;  ///< the controller's handle
  Cycle others_until = -1;    ///< the cycle after the last command for another request
  Cycle refresh_until = -1;   ///< the end of the last refresh
  Cycle issued_at = 0;        ///< cycle of the command
  Activity rule = Activity::kDataLatency;
};

/// Statistics of one channel; cycles are the DRAM's.
struct DramChannelStatistics {
  std::int64_t row_hits = 0;        ///< bursts that found their row open
  std::int64_t row_misses = 0;      ///< bursts for which a closed bank was opened
  std::int64_t row_conflicts = 0;   ///< bursts for which another row was closed first
  std::int64_t refreshes = 0;       ///< refresh commands issued
  std::int64_t read_bytes = 0;      ///< payload bytes read on request
  std::int64_t write_bytes = 0;     ///< payload bytes written on request
  std::int64_t bus_bytes = 0;       ///< payload bytes that the data bus carried: whole bursts, without ECC
  Cycle settled_at = 0;             ///< cycles accounted for; `cycles` sums to this
  std::int64_t partial_writes = 0;  ///< bursts that were read before they were written, for their ECC
  ActivityCycles cycles{};          ///< busy: the data bus carries data; else what the next command waits for
};

/// The scheduler of one DRAM channel (SPEC HI-6), free of SystemC: the controller calls `step` at the cycles
/// that `wake` names.
///
/// FR-FCFS with an open page policy. In every cycle one command is issued, the first of these that all timing
/// rules allow: a RD or WR to an open row, oldest burst first; else an ACT or PRE, oldest burst first. A bank
/// is only precharged when no visible burst hits its open row. Bursts other than the oldest may be served
/// `starvation_cap` times while one burst is the oldest; then no other burst's RD or WR is issued until the
/// oldest is served, and its bank may be precharged despite hits. Bursts to one burst address are served in
/// the order in which they entered.
///
/// Every tREFI a refresh falls due: nothing else is issued from that cycle on, all open banks are precharged
/// together once tRAS allows, REF follows after tRP, and commands continue tRFC later with all rows closed.
/// Refreshes that fall due while nothing is pending take place at exactly the same cycles, but are accounted
/// for with the next burst or by `settle`: an idle channel is never woken.
///
/// A burst's data begins tCL after its RD, tCWL after its WR and takes burst_length / transfers_per_clock
/// cycles. With ECC a burst that is written in part is read first; its WR waits for the last of the data, and
/// later bursts of its bank and row for that WR.
class DramChannel {
 public:
  static constexpr Cycle kNever = std::numeric_limits<Cycle>::max();

  /// A burst whose RD or WR was issued; its last data beat is over at cycle `data_end`.
  struct Served {
    DramBurst burst;
    Cycle data_end;
  };
  using CommandListener = std::function<void(const DramCommand&)>;
  using WaitListener = std::function<void(const DramWait&)>;

  /// Throws UserError for values out of range.
  DramChannel(const DramConfig& config, int index);

  /// Called with every command, in the order of their cycles; possibly after its cycle (refreshes while
  /// idle), or before it (a refresh is known when it falls due).
  void listen(CommandListener listener) { listener_ = std::move(listener); }
  /// Called with every command for a burst, in the order of their cycles.
  void listen_waits(WaitListener listener) { wait_listener_ = std::move(listener); }

  /// Whether the queue has room at the edge of clock `edge`, or (negative) between two edges. The place of a
  /// burst served at an edge is free strictly after that edge.
  bool has_room(Cycle edge) const;
  /// Takes a burst in; the scheduler sees it from cycle `visible_from` on, which no earlier call's value
  /// exceeds.
  void enter(const DramBurst& burst, Cycle visible_from);
  /// Bursts in the queue, and those of them that the scheduler sees already.
  int fill() const { return to_int(queue_.size() + arrivals_.size()); }
  int visible() const { return count_of(queue_); }

  /// Does the work of cycle `now`; returns the burst whose RD or WR it issued.
  std::optional<Served> step(Cycle now);
  /// The next cycle at which `step` has to be called, `kNever` when nothing is pending.
  Cycle wake() const { return wake_; }

  /// Brings the statistics up to the end of cycle `end` - 1.
  void settle(Cycle end);
  /// The ledger of the data bus.
  CycleLedger& ledger() { return ledger_.ledger(); }
  const DramChannelStatistics& statistics() const { return statistics_; }
  const DramClocks& clocks() const { return clocks_; }

 private:
  static constexpr int kMaxBanks = 64;  // sets of banks are bits of one word

  struct Entry {
    DramBurst burst;
    bool activated = false;
    bool precharged = false;
    bool read_first = false;  ///< a write whose burst must be read first
    Cycle ready = 0;          ///< for such a write: cycle in which the read data are there
    bool writes() const { return burst.write && !read_first; }
  };
  /// Entries, oldest first. Mostly one of the oldest leaves, so the entries before it move up.
  class Queue {
   public:
    explicit Queue(int depth) : entries_(2 * to_size(depth)) {}
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    Entry& operator[](std::size_t index) { return entries_[begin_ + index]; }
    const Entry& operator[](std::size_t index) const { return entries_[begin_ + index]; }
    Entry& push() {
      if (begin_ + size_ == entries_.size()) {
        std::move(entries_.begin() + to_signed(begin_), entries_.end(), entries_.begin());
        begin_ = 0;
      }
      Entry& entry = entries_[begin_ + size_++];
      entry = Entry();
      return entry;
    }
    void erase(std::size_t index) {
      const auto first = entries_.begin() + to_signed(begin_);
      std::move_backward(first, first + to_signed(index), first + to_signed(index) + 1);
      ++begin_, --size_;
    }

   private:
    std::vector<Entry> entries_;
    std::size_t begin_ = 0, size_ = 0;
  };
  struct Arrival {
    DramBurst burst;
    Cycle visible_from;
  };
  struct Choice {
    DramCommandKind kind = DramCommandKind::kNone;
    std::size_t index = 0;
    Cycle at = kNever;
    Activity waits_for = Activity::kDataLatency;
  };

  /// The best command that is legal at the earliest cycle from `from` on.
  Choice choose(Cycle from) const;
  static void consider(Choice& best, DramCommandKind kind, std::size_t index, Cycle from,
                       DramEarliest earliest);
  /// The command and cycle that bring entry `index` forward; `starved`: the oldest entry has waited too long.
  void consider_entry(Choice& best, std::size_t index, Cycle from, bool starved) const;
  /// Whether the row of an entry is open.
  bool hits(std::size_t index) const;
  /// Updates `next_of_`.
  void find_next_of(int bank);
  std::optional<Served> issue(const Choice& choice);
  void tell_wait(const Choice& choice);
  Served serve(std::size_t index, Cycle now);
  /// Transfers the data of a RD or WR issued at `now`; returns the end of its last beat.
  Cycle transfer(bool write, Cycle now);
  void account(Cycle upto);
  void refresh_due_before(Cycle end);
  void report(DramCommandKind kind, Cycle cycle, int bank, std::int64_t row, int column = -1) const;

  int index_;
  int queue_depth_;
  int starvation_cap_;
  int burst_bytes_;
  bool ecc_;
  DramClocks clocks_;
  DramBanks banks_;
  Queue queue_;                                   ///< visible bursts
  std::array<int, kMaxBanks> waiting_{};          ///< entries of the queue by bank
  std::uint64_t waiting_banks_ = 0;               ///< banks with entries, as bits
  std::array<std::size_t, kMaxBanks> next_of_{};  ///< by bank with entries: the oldest of its open row, or
                                                  ///< where there is none, the oldest
  std::vector<Arrival> arrivals_;                 ///< bursts not yet visible, oldest first
  Choice planned_;  ///< the last result of `choose`, valid until a burst or a refresh arrives
  bool planned_valid_ = false;
  std::uint32_t last_request_ = 0;  ///< request of the last command
  Cycle last_command_at_ = -1;
  int overtaken_ = 0;  ///< bursts served while the present oldest one was waiting
  Cycle last_served_at_ = -1;
  Cycle next_refresh_;
  Cycle refresh_at_ = -1;  ///< the latest refresh; not yet counted while `refresh_counted_` is false
  Cycle refresh_done_ = 0;
  bool refresh_counted_ = true;
  Cycle wake_ = kNever;
  BeatLedger ledger_;
  DramChannelStatistics statistics_;
  CommandListener listener_;
  WaitListener wait_listener_;
};

}  // namespace tilebeat
