#pragma once

#include "tilebeat/engines/offset_table/line_cache.h"
#include "tilebeat/engines/offset_table/schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilebeat::offset_table {

/// Beats of a group of threads that follow one another in the same lines (LineCache::look_again).
struct Stretch {
  std::size_t begin = 0, beats = 1;  ///< numbers, in the slice
  std::vector<Operand> operands;     ///< of the first beat, by thread
  LineCache::Footprint footprint;    ///< of the first beat
};

/// The stretches of all beats of a group of threads, in order. They are found when they are needed first, and
/// kept for the slices that multiply the same operands with other kernels.
class Stretches {
 public:
  /// Other threads, another group of channels, or other tables follow.
  void clear() { found_ = 0; }
  /// Those that have been found.
  const std::vector<Stretch>& all() const { return stretches_; }
  std::size_t found() const { return found_; }

  /// Stretch `number`, which begins with beat `begin`. If it is needed first, `gather` appends the operands
  /// of that beat and returns by how many bytes they may move up as far as the map is concerned.
  template <class Gather>
  Stretch& at(std::size_t number, std::size_t begin, const std::vector<Beat>& beats, const LineCache& cache,
              Gather&& gather) {
    if (number < found_) return stretches_[number];
    if (found_ == stretches_.size()) stretches_.emplace_back();
    Stretch& made = stretches_[found_];
    made.begin = begin;
    made.operands.clear();
    const std::int64_t room = gather(beats[begin], made.operands);
    made.beats = 1 + beats_in_lines(beats, begin, std::min<std::int64_t>(room, cache.room(made.operands)));
    cache.measure(made.operands, made.footprint);
    ++found_;
    return made;
  }

 private:
  std::vector<Stretch> stretches_;
  std::size_t found_ = 0;
};

}  // namespace tilebeat::offset_table
