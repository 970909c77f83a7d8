#pragma once

// What SPEC section 4 says of a convolution on the W-fold engine, in formulas of the tests' own: nothing here
// comes from the product's engines or planner.

#include "switch_array_formulas.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

namespace tilebeat::testing {

/// Ns, Ncu, M, L1 and L2 of SPEC section 4.
struct SpecWfold {
  int slaves = 16, units = 4, line = 64, first = 8, second = 9;
  int fold(int pci) const { return line / pci; }
  int tile_columns(int pci) const { return units * fold(pci); }
  int tile_channels() const { return slaves * (second / 2); }
  int kmax(int pci) const { return first * fold(pci) - units * fold(pci) + 1; }
};

/// WF-1: bytes that align `channels` to `pci`.
inline int padding_to(int channels, int pci) {
  return static_cast<int>(ceiling(channels, pci)) * pci - channels;
}

/// WF-1: Pci of a folded map of `channels` (sw*Ci) and `width` columns.
inline int chosen_granularity(int channels, int width, int smallest = 8, int tolerance = 16, int line = 64) {
  std::vector<int> left;
  int least = channels + line;
  for (int pci = smallest; pci <= line; pci *= 2) {
    if (line / pci > width) continue;
    left.push_back(pci);
    least = std::min(least, padding_to(channels, pci));
  }
  int largest = left.empty() ? line : 0;
  for (const int pci : left) {
    if (padding_to(channels, pci) - least < tolerance) largest = std::max(largest, pci);
  }
  return largest;
}

/// WF-5, WF-6: the columns of the folded kernel that have a tap, ascending.
inline std::vector<int> tap_columns(int kernel_w, int stride_w, int dilation_w) {
  std::set<int> columns;
  for (int tap = 0; tap < kernel_w; ++tap) columns.insert(tap * dilation_w / stride_w);
  return {columns.begin(), columns.end()};
}

/// WF-4, WF-6: the same in parts that span at most `kmax` columns, each as long as it can be.
inline std::vector<std::vector<int>> kernel_parts(int kernel_w, int stride_w, int dilation_w, int kmax) {
  std::vector<std::vector<int>> parts;
  for (const int column : tap_columns(kernel_w, stride_w, dilation_w)) {
    if (parts.empty() || column > parts.back().front() + kmax - 1) parts.emplace_back();
    parts.back().push_back(column);
  }
  return parts;
}
inline std::vector<std::vector<int>> kernel_parts(const SpecConv& c, const SpecWfold& w, int pci) {
  return kernel_parts(c.kernel[1], c.stride[1], c.dilation[1], w.kmax(pci));
}

/// WF-8: lines of a refill for a kernel, or a part of one, whose last column lies `span` behind its first.
inline int refill_lines(const SpecWfold& w, int pci, int span) {
  return static_cast<int>(ceiling(w.tile_columns(pci) + span, w.fold(pci)));
}
inline int refill_lines(const SpecWfold& w, int pci, const std::vector<int>& part) {
  return refill_lines(w, pci, part.back() - part.front());
}

/// WF-4: ceil(sw*Ci / Pci), of a convolution in one group.
inline std::int64_t channel_blocks(const SpecConv& c, int pci) {
  return ceiling(std::int64_t{c.stride[1]} * c.channels, pci);
}

/// WF-4: tiles of a layer.
inline std::int64_t wfold_tiles(const SpecConv& c, const SpecWfold& w, int pci) {
  return c.batch * c.out_height * ceiling(c.out_width, w.tile_columns(pci)) *
         ceiling(c.out_channels, w.tile_channels());
}

/// WF-4, WF-6: beats of a layer in one group. Tiles of Ns*floor(L2/2) channels add up to ceil(Co/Ns).
inline std::int64_t wfold_beats(const SpecConv& c, const SpecWfold& w, int pci) {
  const auto columns = tap_columns(c.kernel[1], c.stride[1], c.dilation[1]).size();
  return c.batch * c.out_height * ceiling(c.out_width, w.tile_columns(pci)) *
         ceiling(c.out_channels, w.slaves) * c.kernel[0] * static_cast<std::int64_t>(columns) *
         channel_blocks(c, pci);
}

/// WF-8: lines of all refills of a layer.
inline std::int64_t wfold_lines(const SpecConv& c, const SpecWfold& w, int pci) {
  std::int64_t lines = 0;
  for (const auto& part : kernel_parts(c, w, pci)) lines += refill_lines(w, pci, part);
  return wfold_tiles(c, w, pci) * c.kernel[0] * channel_blocks(c, pci) * lines;
}

/// The rows that a convolution reads and that exist, over all rows of outputs.
inline std::int64_t map_rows_read(const SpecConv& c) {
  std::int64_t rows = 0;
  for (int ho = 0; ho < c.out_height; ++ho) {
    for (int kh = 0; kh < c.kernel[0]; ++kh) {
      const int row = ho * c.stride[0] + kh * c.dilation[0] - c.pad[0];
      rows += row >= 0 && row < c.height;
    }
  }
  return rows;
}

/// Whether folded column `column` has bytes [begin, end) of a pixel in a row of the map.
inline bool column_present(const SpecConv& c, int column, int begin, int end) {
  const int at = column * c.stride[1] * c.channels - c.pad[1] * c.channels;
  return std::max(at + begin, 0) < std::min(at + end, c.width * c.channels);
}

/// WF-9: of the lines of all refills, those that have a byte of the map; the others are not broadcast.
inline std::int64_t wfold_map_lines(const SpecConv& c, const SpecWfold& w, int pci) {
  const int pixel = c.stride[1] * c.channels;
  std::int64_t a_row = 0;
  for (int wo = 0; wo < c.out_width; wo += w.tile_columns(pci)) {
    for (const auto& part : kernel_parts(c, w, pci)) {
      for (int line = 0; line < refill_lines(w, pci, part); ++line) {
        for (int begin = 0; begin < pixel; begin += pci) {
          bool present = false;
          for (int i = 0; i < w.fold(pci); ++i)
            present |= column_present(c, wo + part.front() + line * w.fold(pci) + i, begin,
                                      std::min(begin + pci, pixel));
          a_row += present;
        }
      }
    }
  }
  return c.batch * ceiling(c.out_channels, w.tile_channels()) * map_rows_read(c) * a_row;
}

enum class SpecReading {
  kContinuous,      ///< a request a line
  kStrided,         ///< a request a column and channel block
  kTransitOnce,     ///< through transit, a request a column
  kTransitByBlock,  ///< through transit, the window once a channel block
};

/// WF-2: requests that read the map from the first storage. A column of a line is absent when none of its
/// bytes lies in the map; a request is absent when all of its columns are.
inline std::int64_t wfold_requests(const SpecConv& c, const SpecWfold& w, int pci, SpecReading reading) {
  const int fold = w.fold(pci), pixel = c.stride[1] * c.channels;
  const bool whole = reading == SpecReading::kContinuous || reading == SpecReading::kTransitOnce;
  std::int64_t a_row = 0;  // of the outputs, over all tiles and parts, where the map's row exists
  for (int wo = 0; wo < c.out_width; wo += w.tile_columns(pci)) {
    for (const auto& part : kernel_parts(c, w, pci)) {
      for (int line = 0; line < refill_lines(w, pci, part); ++line) {
        const int first = wo + part.front() + line * fold;
        for (int begin = 0; begin < pixel; begin += whole ? pixel : pci) {
          std::int64_t columns = 0;
          for (int i = 0; i < fold; ++i) {
            columns += column_present(c, first + i, begin, whole ? pixel : std::min(begin + pci, pixel));
          }
          a_row += reading == SpecReading::kContinuous ? columns > 0 : columns;
        }
      }
    }
  }
  return c.batch * ceiling(c.out_channels, w.tile_channels()) * map_rows_read(c) * a_row;
}

/// WF-7: write requests of a layer whose outputs have granularity `pco`: lines of Pco channels x Wso columns.
inline std::int64_t wfold_writes(const SpecConv& c, const SpecWfold& w, int pci, int pco) {
  std::int64_t a_row = 0;
  for (int wo = 0; wo < c.out_width; wo += w.tile_columns(pci)) {
    const int columns = std::min(w.tile_columns(pci), c.out_width - wo);
    a_row += c.out_channels <= pco ? ceiling(columns, w.fold(pco)) : columns * ceiling(c.out_channels, pco);
  }
  return c.batch * c.out_height * a_row;
}

}  // namespace tilebeat::testing
