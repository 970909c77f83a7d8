#pragma once

#include "base/types.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace tilebeat::switch_array {

/// The queues in front of the write ports of a row of banks: each bank writes one word a cycle, each queue
/// holds `depth` words. Words arrive with bus beats; a beat is taken in one cycle when there is room for all
/// its words, otherwise it waits. Pure arithmetic: it tells the owner when a beat is taken and when each of
/// its words is written. A beat with more than `depth` words for one bank could never be taken:
/// SimulationError. A hardware file has queues for all beats but those of kernels without a byte, which no
/// planned load has.
class WriteQueues {
 public:
  WriteQueues(int banks, int depth)
      : depth_(depth), last_write_(to_size(banks), -1), of_beat_(to_size(banks), 0) {}

  /// Begins a beat that is present from cycle `ready` on.
  void begin_beat(Cycle ready) {
    beat_at_ = std::max(ready, next_beat_);
    for (const Words& words : words_) nth(of_beat_, words.bank) = 0;
    words_.clear();
  }
  /// Adds successive words of the beat for `bank`, which are written no earlier than in cycle `from`.
  void add_words(int bank, int count, Cycle from = 0) {
    // A bank's backlog at cycle c is last - c; a beat adds k words to it, so c >= last + k - depth.
    const int same = nth(of_beat_, bank) += count;
    if (same > depth_)
      throw SimulationError(
          fmt::format("a bus beat has more words for a bank than the {} that its queue holds", depth_));
    Cycle room = nth(last_write_, bank) + same - depth_;
    if (bank == gap_.bank && room < gap_.end) room -= gap_.end - gap_.begin;
    beat_at_ = std::max(beat_at_, room);
    Words& words = words_.emplace_back();  // no copy of what was just written in parts
    words.bank = bank, words.count = count, words.from = from;
  }
  /// Ends the beat and returns the cycle in which it is taken. Then `write_at(i)` is the cycle in which the
  /// first of the i-th words is written; the others follow one a cycle.
  Cycle end_beat() {
    for (Words& words : words_) {
      Cycle& last = nth(last_write_, words.bank);
      if (words.from - 1 > std::max(last, beat_at_)) {
        gap_ = {words.bank, last + 1, words.from};
        last = words.from - 1;
      }
      words.written = std::max(last, beat_at_) + 1;
      last = words.written + words.count - 1;
      drained_ = std::max(drained_, last + 1);
    }
    next_beat_ = beat_at_ + 1;
    return beat_at_;
  }
  /// Takes `beats` whole beats that are present from cycle `ready` on. Each has one word for each of `count`
  /// different banks; banks follow one another from `first` on over all beats, modulo `banks`. If no word has
  /// to wait, the words of a beat are written in the cycle after it. Returns false, and takes nothing, if one
  /// has to wait.
  bool take_rows(Cycle ready, int beats, int first, int count, int banks) {
    const Cycle beat_at = std::max(ready, next_beat_);
    if (drained_ > beat_at + 1) return false;
    const Cycle last_at = beat_at + beats - 1;
    // Words of earlier beats are written before the next ones can arrive.
    const auto last = to_int((first + std::int64_t{beats - 1} * count) % banks);
    const int behind = std::max(0, last + count - banks);
    std::fill_n(last_write_.begin() + last, count - behind, last_at + 1);
    std::fill_n(last_write_.begin(), behind, last_at + 1);
    drained_ = last_at + 2;
    next_beat_ = last_at + 1;
    return true;
  }
  Cycle write_at(std::size_t words) const { return words_[words].written; }
  /// The cycle after the last write of all beats so far.
  Cycle drained() const { return drained_; }
  /// The first cycle in which another beat can be taken.
  Cycle next_beat() const { return next_beat_; }

 private:
  struct Words {
    int bank = 0, count = 1;
    Cycle from = 0, written = 0;
  };
  // Cycles in which a bank writes nothing although words wait. One is remembered: a bank whose words are held
  // back again has written those of the time before.
  struct Gap {
    int bank = -1;
    Cycle begin = 0, end = 0;
  };
  int depth_;
  Cycle beat_at_ = 0, next_beat_ = 0, drained_ = 0;
  std::vector<Cycle> last_write_;
  std::vector<int> of_beat_;  // by bank: words of the beat
  std::vector<Words> words_;
  Gap gap_;
};

}  // namespace tilebeat::switch_array
