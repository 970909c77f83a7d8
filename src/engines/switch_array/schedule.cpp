#include "engines/switch_array/schedule.h"

#include "base/types.h"

#include <algorithm>
#include <tuple>

namespace tilebeat::switch_array {

int words_per_plane(const ArrayShape& array, int height, int width, int stride_h) {
  const int period = stride_h * array.groups;
  const int rows = height / period * stride_h + std::min(height % period, stride_h);
  return ceil_div(rows * width, array.lanes());
}

Arrangement::Arrangement(const ArrayShape& array, int height, int width, int stride_h, int stride_w)
    : groups_(array.groups), lanes_(array.lanes()), width_(width), stride_h_(stride_h), stride_w_(stride_w) {
  std::vector<int> rows_in_half(to_size(groups_), 0);
  const auto in_lines = [this](int words) { return Words{words / lanes_, words % lanes_}; };
  for (int h = 0; h < height; ++h) {
    const int half = (h / stride_h_) % groups_;
    half_start_.push_back(half * lanes_);
    row_start_.push_back(in_lines(nth(rows_in_half, half)++ * width_));
  }
  column_index_.resize(to_size(width_));
  int next = 0;
  for (int phase = 0; phase < stride_w_; ++phase) {
    for (int w = phase; w < width_; w += stride_w_) nth(column_index_, w) = in_lines(next++);
  }
  words_per_plane_ = switch_array::words_per_plane(array, height, width, stride_h);
}

bool operator==(const ChunkGeometry& a, const ChunkGeometry& b) {
  const auto all = [](const ChunkGeometry& g) {
    return std::tie(g.rows, g.columns, g.height, g.width, g.h_offset, g.w_offset, g.kernel_h, g.kernel_w,
                    g.stride_h, g.stride_w, g.dilation_h, g.dilation_w, g.planes);
  };
  return all(a) == all(b);
}

SwitchSchedule::SwitchSchedule(const ArrayShape& array, const ChunkGeometry& geometry)
    : array_(array),
      geometry_(geometry),
      lanes_(array.lanes()),
      row_blocks_(ceil_div(geometry.rows, array.groups)),
      column_blocks_(ceil_div(geometry.columns, array.lanes())),
      beats_per_cycle_(geometry.planes * geometry.kernel_h * geometry.kernel_w) {}

Beat SwitchSchedule::first() const {
  Beat beat;
  beat.last_of_cycle = beats_per_cycle_ == 1;
  return beat;
}

bool SwitchSchedule::advance(Beat& beat) const {
  ++beat.index;
  if (++beat.tap_w == geometry_.kernel_w) {
    beat.tap_w = 0;
    if (++beat.tap_h == geometry_.kernel_h) {
      beat.tap_h = 0;
      if (++beat.plane == geometry_.planes) {
        beat.plane = 0;
        beat.index = 0;
        if (++beat.column_block == column_blocks_) {
          beat.column_block = 0;
          if (++beat.row_block == row_blocks_) return false;
        }
      }
    }
  }
  beat.last_of_cycle = beat.index == beats_per_cycle_ - 1;
  return true;
}

int SwitchSchedule::active_lanes(int row_block, int column_block) const {
  const int rows = std::min(array_.groups, geometry_.rows - row_block * array_.groups);
  const int columns = std::min(lanes_, geometry_.columns - column_block * lanes_);
  return rows * columns;
}

BankCensus take_census(const SwitchSchedule& schedule, const Arrangement& arrangement) {
  const int banks = schedule.array().rows;
  BankCensus census;
  census.bank_reads.assign(to_size(banks), 0);
  std::vector<int> reads(to_size(banks));
  for (int row_block = 0; row_block < schedule.row_blocks(); ++row_block) {
    for (int column_block = 0; column_block < schedule.column_blocks(); ++column_block) {
      int clocks = 0;
      for (int r = 0; r < schedule.geometry().kernel_h; ++r) {
        for (int s = 0; s < schedule.geometry().kernel_w; ++s) {
          Beat beat;
          beat.row_block = row_block, beat.column_block = column_block, beat.tap_h = r, beat.tap_w = s;
          std::fill(reads.begin(), reads.end(), 0);
          schedule.select_all(beat, [&](int, const Selection& selection) {
            if (selection.valid) ++nth(reads, arrangement.place(selection.h, selection.w).bank.value());
          });
          int most = 1;  // a beat takes a cycle even when nothing is read
          for (std::size_t b = 0; b < reads.size(); ++b) {
            most = std::max(most, reads[b]);
            census.bank_reads[b] += reads[b];
            census.read_words += reads[b];
          }
          clocks += most;
          census.conflict_clocks += most - 1;
        }
      }
      census.cycle_clocks.push_back(clocks);
    }
  }
  return census;
}

}  // namespace tilebeat::switch_array
