#pragma once

#include "base/types.h"

#include <algorithm>
#include <cstdint>

namespace tilebeat {

/// Counters of a port of a bank.
struct BankPortStats {
  std::int64_t accesses = 0;  ///< cycles in which the port was busy
  std::int64_t bytes = 0;
};

/// Some of a burst's words that lie in one bank: an access every so often, one word after the other.
struct PortRun {
  Picoseconds first = 0;   ///< time of the first access
  Picoseconds stride = 0;  ///< between two accesses
  std::int64_t count = 0;  ///< accesses
  std::uint64_t from = 0;  ///< first byte of the first one
  std::int64_t bytes = 0;  ///< bytes of each
};

/// The use of one port of a bank: one access a cycle, in the order of the cycles (SPEC HI-9, CY-1). It takes
/// accesses made by transports and, as part of the direct memory interface, those made through that.
class PortUse {
 public:
  /// `bank` is the bank's name, which outlives this; `period` that of its clock in picoseconds.
  PortUse(const char* bank, int port, Picoseconds period) : bank_(bank), port_(port), period_(period) {}

  /// The port accesses `bytes` bytes from byte `address` on at time `at`. Throws SimulationError when it
  /// makes another access in that cycle or a later one.
  void access(Picoseconds at, std::uint64_t address, std::int64_t bytes) {
    if (at < free_at_) check_cycle(at, address);
    note(at, address, 1, bytes);
    access_end_ = free_at_;
  }
  /// `count` accesses of `bytes` bytes each, every one in a cycle of its own: the first one from byte `from`
  /// on at time `first`, the last one from byte `to` on at time `last`. Throws SimulationError when there are
  /// not so many cycles.
  void accesses(Picoseconds first, Picoseconds last, std::uint64_t from, std::uint64_t to, std::int64_t count,
                std::int64_t bytes) {
    if (first < free_at_) check_cycle(first, from);
    if ((count - 1) * period_ > last - first) refuse(first, from, to);
    note(last, to, count, bytes);
  }
  /// Whether `access` was told of an access in the cycle that began at or before `now`.
  bool is_busy(Picoseconds now) const { return access_end_ > now; }
  /// The accesses of a run. Those of the next run with the same stride may lie between them. Throws
  /// SimulationError when two accesses meet in a cycle, or the run begins before what came ahead of the last
  /// one has ended.
  void run(const PortRun& run) {
    const Picoseconds last = run.first + (run.count - 1) * run.stride, free = free_at_;
    const bool between = run.first < free && lies_between(run);
    note(last, run.from + to_unsigned((run.count - 1) * run.bytes), run.count, run.bytes);
    if (between) {
      free_at_ = std::max(free_at_, free);
      return;
    }
    before_ = free, first_ = run.first, stride_ = run.stride;
  }
  const BankPortStats& stats() const { return stats_; }
  int port() const { return port_; }  ///< its number

 private:
  void note(Picoseconds at, std::uint64_t address, std::int64_t count, std::int64_t bytes) {
    free_at_ = at + period_;
    address_ = address;
    stride_ = 0;
    stats_.accesses += count;
    stats_.bytes += count * bytes;
  }
  void check_cycle(Picoseconds at, std::uint64_t address) const;
  bool lies_between(const PortRun& run) const;
  [[noreturn]] void refuse(Picoseconds at, std::uint64_t first, std::uint64_t second) const;

  const char* bank_;
  int port_;
  Picoseconds period_;
  Picoseconds free_at_ = 0;     // one period after the last access
  Picoseconds access_end_ = 0;  // the same, of accesses that were told one by one
  std::uint64_t address_ = 0;   // of the last access
  // If the last accesses are a run that another one may lie between: its first time and its stride, else 0,
  // and one period after the last access before it.
  Picoseconds first_ = 0, stride_ = 0, before_ = 0;
  BankPortStats stats_;
};

}  // namespace tilebeat
