#pragma once

#include "engines/offset_table/line_cache.h"
#include "engines/offset_table/operations.h"
#include "isa/instruction.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilebeat::offset_table {

/// A beat of a group of threads: each thread gathers `count` neighbouring elements at its base plus entry
/// `entry` of the offsets plus `beyond`.
struct Beat {
  int entry = 0;            ///< by segment and tap; with ragged groups, by group first
  int beyond = 0;           ///< elements from the segment's beginning
  int count = 1;            ///< elements
  int row = 0, column = 0;  ///< tap of the kernel
  int channel = 0;          ///< first channel, within the group
  int before = 0;           ///< elements of the beats in front of it
};

/// Elements of all beats.
inline int elements_of(const std::vector<Beat>& beats) {
  return beats.empty() ? 0 : beats.back().before + beats.back().count;
}
/// Number of beats after beat `index` that gather as many elements of the same tap, whole words further on
/// and at most `room` bytes: if their lines have that much room, their operands are in the same lines.
std::size_t beats_in_lines(const std::vector<Beat>& beats, std::size_t index, std::int64_t room);

/// Kernels of one block and one group of channels, which are multiplied with the same operands.
struct Slice {
  int group = 0;             ///< group of channels
  int first = 0, count = 0;  ///< kernels, counted within the run
  std::int64_t weights = 0;  ///< bytes behind those of the run's first kernel
};

/// The convolution of a map as tables see it.
TableShape shape_of(const ConvSetup& conv, const OffsetSetup& setup, const OffsetMap& map);

/// The order of work of a run (SPEC OT-1, OT-6): groups of threads; for each the slices of kernels; for each
/// the beats, over the segments of the group's channels, parts of `part` channels of each, the taps, and
/// `vector` channels of the part at a time: so a line is used up before the next one is needed, and kernels
/// of a range of channels lie together. Where a segment is a channel, that is the order of k. Pure: the
/// planner packs kernels by it and the unit gathers.
class OffsetSchedule {
 public:
  OffsetSchedule(const TableShape& shape, const OffsetSetup& setup, const OffsetRun& run);

  const std::vector<Slice>& slices() const { return slices_; }
  /// The beats of a slice; only for groups of channels of the run.
  const std::vector<Beat>& beats(int group) const {
    return beats_[beats_.size() == 1 ? 0 : to_size(group - first_group_)];
  }
  /// The most bytes of a kernel in a beat.
  int vector() const { return vector_; }
  /// The place of a beat's kernels behind the run's first byte, and their bytes: kernel by kernel, the beat's
  /// elements of each.
  static std::int64_t weights_at(const Slice& slice, const Beat& beat) {
    return slice.weights + std::int64_t{beat.before} * slice.count;
  }
  static int weight_bytes(const Slice& slice, const Beat& beat) { return slice.count * beat.count; }
  /// Bytes of all kernels of the run.
  std::int64_t weight_bytes() const { return weight_bytes_; }

 private:
  int vector_;
  int first_group_ = 0;
  std::vector<std::vector<Beat>> beats_;  // by group, where they differ
  std::vector<Slice> slices_;
  std::int64_t weight_bytes_ = 0;
};

/// Elements per thread and beat: `most` if the layout has as many neighbours.
int elements_of_beat(const TableShape& shape, int most);

/// Beats of a group of threads that follow one another in the same lines (LineCache::look_again).
struct Stretch {
  std::size_t begin = 0, beats = 1;  ///< numbers, in the slice
  std::vector<Operand> operands;     ///< by thread: operands of the first beat
  LineCache::Footprint footprint;    ///< footprint of the first beat
};

/// The stretches of all beats of a group of threads, in order. They are found when they are needed first, and
/// kept for the slices that multiply the same operands with other kernels.
class Stretches {
 public:
  /// Forgets all stretches, for other threads, another group of channels or other tables.
  void clear() { found_ = 0; }
  /// Storage of the stretches; the first found() of them are valid.
  const std::vector<Stretch>& all() const { return stretches_; }
  std::size_t found() const { return found_; }

  /// Stretch `number`, which begins with beat `begin`. When it is not known yet, `gather` appends the
  /// operands of that beat and returns by how many bytes the map allows them to move up.
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
