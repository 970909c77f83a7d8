#pragma once

#include "tilebeat/base/types.h"

#include <algorithm>
#include <vector>

namespace tilebeat {

/// The queues in front of the write ports of a row of banks: each bank writes one word a clock, each queue
/// holds `depth` words. Words arrive with bus beats; a beat is taken in one clock when all its words find
/// room, otherwise it waits. Pure arithmetic: the owner asks when a beat is taken and when each of its words
/// is written.
class WriteQueues {
 public:
  WriteQueues(int banks, int depth) : depth_(depth), last_write_(static_cast<std::size_t>(banks), -1) {}

  /// Begins a beat that is there from clock `ready` on.
  void begin_beat(Cycle ready) {
    beat_at_ = std::max(ready, next_beat_);
    words_.clear();
  }
  /// A word of the beat for `bank`.
  void add_word(int bank) {
    // A bank's backlog at clock c is last - c; a beat adds k words to it, so c >= last + k - depth.
    int same = 1;
    for (const Word& word : words_) same += word.bank == bank;
    beat_at_ = std::max(beat_at_, last_write_[static_cast<std::size_t>(bank)] + same - depth_);
    words_.push_back({bank, 0});
  }
  /// Ends the beat: returns the clock in which it is taken; `write_at(i)` then tells when word i is written.
  Cycle end_beat() {
    for (Word& word : words_) {
      Cycle& last = last_write_[static_cast<std::size_t>(word.bank)];
      last = std::max(last, beat_at_) + 1;
      word.written = last;
      drained_ = std::max(drained_, last + 1);
    }
    next_beat_ = beat_at_ + 1;
    return beat_at_;
  }
  Cycle write_at(std::size_t word) const { return words_[word].written; }
  /// The clock after the last write of all beats so far.
  Cycle drained() const { return drained_; }
  /// The first clock in which another beat can be taken.
  Cycle next_beat() const { return next_beat_; }

 private:
  struct Word {
    int bank = 0;
    Cycle written = 0;
  };
  int depth_;
  Cycle beat_at_ = 0, next_beat_ = 0, drained_ = 0;
  std::vector<Cycle> last_write_;
  std::vector<Word> words_;
};

}  // namespace tilebeat
