#pragma once

#include "tilebeat/base/types.h"

#include <algorithm>
#include <vector>

namespace tilebeat {

/// The queues in front of the write ports of a row of banks: each bank writes one word a clock, each queue holds `depth`
/// words. Words arrive with bus beats; a beat is taken in one clock when all its words find room, otherwise it waits.
/// Pure arithmetic: the owner asks when a beat is taken and when each of its words is written.
class WriteQueues {
 public:
  WriteQueues(int banks, int depth) : depth_(depth), last_write_(static_cast<std::size_t>(banks), -1) {}

  /// Begins a beat that is there from clock `ready` on.
  void begin_beat(Cycle ready) {
    beat_at_ = std::max(ready, next_beat_);
    words_.clear();
  }
  /// A word of the beat for `bank`.
  void add_word(int bank) { words_.push_back(bank); }
  /// Ends the beat: returns the clock in which it is taken; `write_at(i)` then tells when word i is written.
  Cycle end_beat() {
    // A bank's backlog at clock c is last - c; a beat adds k words to it, so c >= last + k - depth.
    writes_.assign(words_.size(), 0);
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const auto same = std::count(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(i) + 1, words_[i]);
      beat_at_ = std::max(beat_at_, last_write_[static_cast<std::size_t>(words_[i])] + same - depth_);
    }
    for (std::size_t i = 0; i < words_.size(); ++i) {
      Cycle& last = last_write_[static_cast<std::size_t>(words_[i])];
      last = std::max(last, beat_at_) + 1;
      writes_[i] = last;
      drained_ = std::max(drained_, last + 1);
    }
    next_beat_ = beat_at_ + 1;
    return beat_at_;
  }
  Cycle write_at(std::size_t word) const { return writes_[word]; }
  /// The clock after the last write of all beats so far.
  Cycle drained() const { return drained_; }
  /// The first clock in which another beat can be taken.
  Cycle next_beat() const { return next_beat_; }

 private:
  int depth_;
  Cycle beat_at_ = 0, next_beat_ = 0, drained_ = 0;
  std::vector<Cycle> last_write_;
  std::vector<int> words_;
  std::vector<Cycle> writes_;
};

}  // namespace tilebeat
