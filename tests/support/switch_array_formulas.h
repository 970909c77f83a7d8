#pragma once

// What SPEC section 3 says of a convolution on the switch array, in formulas of the tests' own: nothing here
// comes from the product's engines or planner.

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace tilebeat::testing {

/// R, C, G and P of SPEC section 3.
struct SpecArray {
  int rows = 16, columns = 16, groups = 2, port = 4;
  int lanes() const { return rows / groups; }
};

/// A convolution, pairs as [height, width], pads as [top, left].
struct SpecConv {
  int batch = 1, height = 1, width = 1, channels = 1;
  int out_height = 1, out_width = 1, out_channels = 1;
  int kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1}, pad[2] = {0, 0};
  int conv_groups = 1;
};

constexpr std::int64_t ceiling(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// How many channel blocks kernel block `kb` touches: the blocks of P that contain a channel of one of its
/// kernels' groups (SPEC SW-3).
inline std::int64_t touched_blocks(const SpecConv& c, const SpecArray& a, int kb) {
  const int kernels_a_group = c.out_channels / c.conv_groups, channels_a_group = c.channels / c.conv_groups;
  std::vector<bool> touched(static_cast<std::size_t>(ceiling(c.channels, a.port)), false);
  for (int k = kb * a.columns; k < std::min(c.out_channels, (kb + 1) * a.columns); ++k) {
    const int group = k / kernels_a_group;
    for (int ch = group * channels_a_group; ch < (group + 1) * channels_a_group; ++ch) {
      touched[static_cast<std::size_t>(ch / a.port)] = true;
    }
  }
  return std::count(touched.begin(), touched.end(), true);
}

/// SPEC SW-3: beats of a layer.
inline std::int64_t beats_of(const SpecConv& c, const SpecArray& a) {
  std::int64_t blocks = 0;
  for (int kb = 0; kb * a.columns < c.out_channels; ++kb) blocks += touched_blocks(c, a, kb);
  return c.batch * ceiling(c.out_height, a.groups) * ceiling(c.out_width, a.lanes()) * c.kernel[0] *
         c.kernel[1] * blocks;
}

/// How the map lies in the banks.
enum class Layout { kTable1, kStrideAware };

/// The place of pixel (h, w) of a `height` x `width` map under the text of SW-1 and SW-5: `half` and the
/// index n in it.
struct PlaceInHalf {
  int half = 0, index = 0;
  int bank(const SpecArray& a) const { return half * a.lanes() + index % a.lanes(); }
  int address(const SpecArray& a) const { return index / a.lanes(); }
};
inline PlaceInHalf place_of(int h, int w, int width, const SpecArray& a, const int stride[2], Layout layout) {
  if (layout == Layout::kTable1) return {h % a.groups, h / a.groups * width + w};
  const auto half_of = [&](int row) { return row / stride[0] % a.groups; };
  int rows_before = 0, columns_before = 0;
  for (int row = 0; row < h; ++row) rows_before += half_of(row) == half_of(h);
  for (int column = 0; column < width; ++column) {
    columns_before +=
        std::make_pair(column % stride[1], column / stride[1]) < std::make_pair(w % stride[1], w / stride[1]);
  }
  return {half_of(h), rows_before * width + columns_before};
}

/// One axis of a tile: outputs [out, out + outs), and the input positions [in, in + ins) inside the map that
/// any of their taps spans.
struct TileSpan {
  int out = 0, outs = 0, in = 0, ins = 0;
};
inline std::vector<TileSpan> spans_of(const SpecConv& c, int axis, int tile) {
  const int outs = axis == 0 ? c.out_height : c.out_width, extent = axis == 0 ? c.height : c.width;
  std::vector<TileSpan> spans;
  for (int out = 0; out < outs; out += tile) {
    const int here = std::min(tile, outs - out);
    const int first = std::max(0, out * c.stride[axis] - c.pad[axis]);
    const int last = std::min(extent - 1, (out + here - 1) * c.stride[axis] +
                                              (c.kernel[axis] - 1) * c.dilation[axis] - c.pad[axis]);
    spans.push_back({out, here, std::min(first, extent), std::max(0, last - first + 1)});
  }
  return spans;
}

/// SPEC SW-5: the cycles beyond one a beat, over one channel block of one kernel block, of a tile.
inline std::int64_t conflicts_of_tile(const SpecConv& c, const SpecArray& a, const TileSpan& h,
                                      const TileSpan& w, Layout layout) {
  std::vector<std::vector<int>> bank(static_cast<std::size_t>(h.ins),
                                     std::vector<int>(static_cast<std::size_t>(w.ins)));
  for (int y = 0; y < h.ins; ++y) {
    for (int x = 0; x < w.ins; ++x) {
      bank[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] =
          place_of(y, x, w.ins, a, c.stride, layout).bank(a);
    }
  }
  std::int64_t extra = 0;
  for (int oh = h.out; oh < h.out + h.outs; oh += a.groups) {
    for (int ow = w.out; ow < w.out + w.outs; ow += a.lanes()) {
      for (int tap = 0; tap < c.kernel[0] * c.kernel[1]; ++tap) {
        std::map<int, int> reads;
        int most = 1;
        for (int lane = 0; lane < a.rows; ++lane) {
          const int row = oh + lane / a.lanes(), column = ow + lane % a.lanes();
          if (row >= h.out + h.outs || column >= w.out + w.outs) continue;  // a surplus lane
          const int y = row * c.stride[0] + tap / c.kernel[1] * c.dilation[0] - c.pad[0];
          const int x = column * c.stride[1] + tap % c.kernel[1] * c.dilation[1] - c.pad[1];
          if (y < 0 || y >= c.height || x < 0 || x >= c.width) continue;
          most = std::max(
              most,
              ++reads[bank.at(static_cast<std::size_t>(y - h.in)).at(static_cast<std::size_t>(x - w.in))]);
        }
        extra += most - 1;
      }
    }
  }
  return extra;
}

/// SPEC SW-5: bank conflict cycles of a layer in tiles of `tile_rows` x `tile_columns` outputs.
inline std::int64_t conflicts_of(const SpecConv& c, const SpecArray& a, int tile_rows, int tile_columns,
                                 Layout layout) {
  std::int64_t a_block = 0, blocks = 0;
  for (const TileSpan& h : spans_of(c, 0, tile_rows)) {
    for (const TileSpan& w : spans_of(c, 1, tile_columns)) a_block += conflicts_of_tile(c, a, h, w, layout);
  }
  for (int kb = 0; kb * a.columns < c.out_channels; ++kb) blocks += touched_blocks(c, a, kb);
  return c.batch * blocks * a_block;
}

}  // namespace tilebeat::testing
