#pragma once

#include "tilebeat/base/types.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilebeat::rolling {

/// When the last lines that were requested are in place, oldest first. Lines of neighbouring cycles are kept
/// as one stretch.
class Departures {
 public:
  struct Stretch {
    Cycle first = 0;  ///< the first line is in place in it, the others in the cycles after it
    int lines = 0;
  };
  /// `lines` lines, all of them in place before cycle 0.
  explicit Departures(int lines) : ring_(static_cast<std::size_t>(lines)) { ring_.front() = {-lines, lines}; }

  const Stretch& oldest() const { return ring_[head_]; }
  /// `lines` lines of the oldest stretch are forgotten for as many new ones, which are in place from cycle
  /// `first` on, one a cycle.
  void replace(int lines, Cycle first) {
    Stretch& gone = ring_[head_];
    gone.first += lines, gone.lines -= lines;
    if (gone.lines == 0) {
      head_ = next(head_);
      if (--count_ == 0) tail_ = head_, ring_[head_] = {first, 0}, count_ = 1;
    }
    Stretch& newest = ring_[tail_];
    if (newest.first + newest.lines == first) {
      newest.lines += lines;
      return;
    }
    tail_ = next(tail_), ++count_;
    ring_[tail_] = {first, lines};
  }

 private:
  std::size_t next(std::size_t place) const { return place + 1 == ring_.size() ? 0 : place + 1; }

  std::vector<Stretch> ring_;
  std::size_t head_ = 0, tail_ = 0, count_ = 1;
};

/// Lines on their way from the address generator of a port into registers, one after the other: each is
/// requested when the line as many places before it as the queue is long is in place, arrives `latency`
/// cycles after its last access, and enters when the way into the registers is free.
class LineFlow {
 public:
  struct Port {
    int latency = 0, bytes = 1;  ///< bytes that enter registers a cycle
  };
  /// Registers are free from cycle `free` on, the address generator from `turn` on, and the way into the
  /// registers from `entry` on.
  LineFlow(Departures& departures, const Port& port, Cycle free, Cycle turn, Cycle entry)
      : departures_(departures), port_(port), free_(free), turn_(turn), entry_(entry) {}

  /// A line of `bytes` bytes that takes `accesses`.
  void pass(int accesses, int bytes);
  /// `lines` lines of at most one access and of one cycle to enter.
  void pass_short(int lines);

  Cycle turn() const { return turn_; }    ///< the address generator is free from it on, ...
  Cycle entry() const { return entry_; }  ///< ... and so is the way into the registers
  std::int64_t lines() const { return lines_; }
  Cycle landing() const { return landing_; }  ///< cycles in which no line could be requested
  Cycle memory() const { return memory_; }    ///< in which nothing had arrived
  Cycle waited() const { return waited_; }    ///< in which registers were not free

 private:
  void enter(Cycle before, int accesses);

  Departures& departures_;
  Port port_;
  Cycle free_, turn_, entry_;
  Cycle landing_ = 0, memory_ = 0, waited_ = 0;
  std::int64_t lines_ = 0;
};

}  // namespace tilebeat::rolling
