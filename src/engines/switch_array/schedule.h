#pragma once

#include "base/types.h"

#include <cstdint>
#include <vector>

namespace tilebeat::switch_array {

/// Sizes of a switch array that its schedules depend on (SPEC section 3).
struct ArrayShape {
  int rows = 16;                               ///< R
  int columns = 16;                            ///< C
  int groups = 2;                              ///< G
  int port_channels = 4;                       ///< P
  int lanes() const { return rows / groups; }  ///< L
};

/// Words that one channel block of a map takes in the fullest bank: of the rows of the fullest half, which
/// has of every `stride_h` * G rows the first `stride_h`, L words a line.
int words_per_plane(const ArrayShape& array, int height, int width, int stride_h);

/// The place of a pixel's word of one channel block in the input buffer.
struct BankSlot {
  BankId bank;
  int address = 0;  ///< word address within the plane
};

/// The arrangement of a tile-local map of `height` x `width` pixels in the R banks (SPEC SW-1, table 1 of
/// document 000, and the stride-aware arrangement of SW-5). One plane holds one block of P channels; planes
/// follow one another in a bank.
class Arrangement {
 public:
  /// Table 1: `stride_h` = `stride_w` = 1. With other strides: rows of one half (h div sh) mod G are packed
  /// in order, and columns are ordered by (w mod sw, w div sw).
  Arrangement(const ArrayShape& array, int height, int width, int stride_h, int stride_w);

  /// The place of pixel (h, w), 0 <= h < height, 0 <= w < width.
  BankSlot place(int h, int w) const {
    const Words row = nth(row_start_, h), column = nth(column_index_, w);
    const int rest = row.rest + column.rest, over = rest >= lanes_ ? 1 : 0;
    return {BankId(nth(half_start_, h) + rest - over * lanes_), row.lines + column.lines + over};
  }
  /// Words that one plane takes in the fullest bank.
  int words_per_plane() const { return words_per_plane_; }

 private:
  int groups_, lanes_, width_, stride_h_, stride_w_;
  int words_per_plane_;
  // A number of words as lines of L words, one a bank of a half, and what is left: places are added without
  // divisions.
  struct Words {
    int lines = 0, rest = 0;
  };
  std::vector<int> half_start_;      // by row: (h div sh) mod G, times L
  std::vector<Words> row_start_;     // by row: index within its half, times the width
  std::vector<Words> column_index_;  // by column: position in (w mod sw, w div sw) order
};

/// The convolution of one chunk as the engine sees it: output rows x columns from a tile-local map, over some
/// channel blocks (SPEC SW-2).
struct ChunkGeometry {
  int rows = 0, columns = 0;       ///< output pixels
  int height = 0, width = 0;       ///< tile-local input pixels in the banks
  int h_offset = 0, w_offset = 0;  ///< tile-local input position of output (0,0), tap (0,0)
  int kernel_h = 1, kernel_w = 1;
  int stride_h = 1, stride_w = 1;
  int dilation_h = 1, dilation_w = 1;
  int planes = 1;  ///< channel blocks
  friend bool operator==(const ChunkGeometry& a, const ChunkGeometry& b);
};

/// One beat of a chunk: its output block, channel block and tap.
struct Beat {
  int row_block = 0, column_block = 0;  ///< ohb, owb
  int plane = 0, tap_h = 0, tap_w = 0;  ///< cb, r, s
  int index = 0;                        ///< t = (cb*kh + r)*kw + s within the operation cycle
  bool last_of_cycle = false;           ///< the operation cycle ends with this beat
};

/// The input pixel a lane reads in a beat.
struct Selection {
  /// False: the lane has no output pixel, or the tap lies outside the map; nothing is read.
  bool valid = false;
  int h = 0, w = 0;  ///< tile-local
};

/// The beats of a chunk in order: owb innermost, then ohb (SPEC SW-2).
class SwitchSchedule {
 public:
  SwitchSchedule(const ArrayShape& array, const ChunkGeometry& geometry);

  int row_blocks() const { return row_blocks_; }
  int column_blocks() const { return column_blocks_; }
  int operation_cycles() const { return row_blocks_ * column_blocks_; }
  /// Beats of one operation cycle: planes * kh * kw.
  int beats_per_cycle() const { return beats_per_cycle_; }
  std::int64_t beats() const { return std::int64_t{operation_cycles()} * beats_per_cycle_; }

  /// The first beat.
  Beat first() const;
  /// Moves `beat` on by one; false after the last one.
  bool advance(Beat& beat) const;
  /// Calls `visit(lane, selection)` with the pixel that each lane (sub-switch g*L + l) reads in `beat`.
  template <class Visit>
  void select_all(const Beat& beat, const Visit& visit) const {
    const int lanes = lanes_, stride_w = geometry_.stride_w, width = geometry_.width;
    const int first = beat.column_block * lanes, columns = geometry_.columns - first;
    const int begin = first * stride_w + beat.tap_w * geometry_.dilation_w + geometry_.w_offset;
    int lane = 0;
    for (int g = 0; g < array_.groups; ++g) {
      const int row = beat.row_block * array_.groups + g;
      const int h = row * geometry_.stride_h + beat.tap_h * geometry_.dilation_h + geometry_.h_offset;
      const bool in_map = row < geometry_.rows && h >= 0 && h < geometry_.height;
      for (int column = 0, w = begin; column < lanes; ++column, w += stride_w) {
        const bool valid = in_map && column < columns && w >= 0 && w < width;
        visit(lane++, valid ? Selection{true, h, w} : Selection{});
      }
    }
  }
  /// Output pixels that the lanes of operation cycle (row_block, column_block) compute.
  int active_lanes(int row_block, int column_block) const;

  const ChunkGeometry& geometry() const { return geometry_; }
  const ArrayShape& array() const { return array_; }

 private:
  ArrayShape array_;
  ChunkGeometry geometry_;
  int lanes_;
  int row_blocks_, column_blocks_, beats_per_cycle_;
};

/// The cost of a chunk at the banks, counted from the schedule and the arrangement for one channel block
/// (every channel block of an operation cycle makes the same selections).
struct BankCensus {
  std::vector<int> cycle_clocks;     ///< by operation cycle: read cycles of kh*kw beats, conflicts included
  std::int64_t conflict_clocks = 0;  ///< cycles beyond one per beat
  std::vector<std::int64_t> bank_reads;  ///< by bank: words read
  std::int64_t read_words = 0;           ///< sum of bank_reads
};
BankCensus take_census(const SwitchSchedule& schedule, const Arrangement& arrangement);

}  // namespace tilebeat::switch_array
