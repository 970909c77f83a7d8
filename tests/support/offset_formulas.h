#pragma once

// SPEC section 6 in plain loops, from its text alone.

#include "engines/offset_table/tables.h"
#include "random_cases.h"

#include <cstdint>
#include <map>
#include <vector>

namespace tilebeat::testing {

/// A tensor as an array of its places: where element (n, c, h, w) lies, by counting through the layout.
class PlainTensor {
 public:
  explicit PlainTensor(const offset_table::TableShape& s) : s_(s) {
    std::int64_t at = 0;
    const auto put = [&](int n, int c, int h, int w) {
      if (c < s.channels) places_[key(n, c, h, w)] = at;
      ++at;
    };
    const int n = s.images, c = s.channels, h = s.height, w = s.width;
    if (s.layout == MapLayout::kNchw) loop(n, c, h, w, [&](int i, int j, int k, int l) { put(i, j, k, l); });
    if (s.layout == MapLayout::kCnhw) loop(c, n, h, w, [&](int i, int j, int k, int l) { put(j, i, k, l); });
    if (s.layout == MapLayout::kNhwc) loop(n, h, w, c, [&](int i, int j, int k, int l) { put(i, l, j, k); });
    if (s.layout == MapLayout::kNchwc) {
      const int blocks = (c + s.block - 1) / s.block;
      loop(n, blocks, h, w, [&](int i, int b, int k, int l) {
        for (int v = 0; v < s.block; ++v) put(i, b * s.block + v, k, l);
      });
    }
    elements_ = at;
  }
  std::int64_t at(int n, int c, int h, int w) const { return places_.at(key(n, c, h, w)); }
  std::int64_t elements() const { return elements_; }

 private:
  template <class Visit>
  static void loop(int a, int b, int c, int d, Visit visit) {
    for (int i = 0; i < a; ++i) {
      for (int j = 0; j < b; ++j) {
        for (int k = 0; k < c; ++k) {
          for (int l = 0; l < d; ++l) visit(i, j, k, l);
        }
      }
    }
  }
  std::int64_t key(int n, int c, int h, int w) const {
    return ((std::int64_t{n} * s_.channels + c) * s_.height + h) * s_.width + w;
  }

  offset_table::TableShape s_;
  std::map<std::int64_t, std::int64_t> places_;
  std::int64_t elements_ = 0;
};

/// The outputs in the order of threads: consecutive ones, or blocks of 4 x 4 of an image.
inline std::vector<offset_table::Pixel> plain_threads(const offset_table::TableShape& s) {
  std::vector<offset_table::Pixel> pixels;
  const int side = s.order == offset_table::ThreadOrder::kBlock ? 4 : 1;
  const int across = s.order == offset_table::ThreadOrder::kBlock ? 4 : s.out_width;
  for (int n = 0; n < s.images; ++n) {
    for (int row = 0; row < s.out_height; row += side) {
      for (int column = 0; column < s.out_width; column += across) {
        for (int h = row; h < std::min(row + side, s.out_height); ++h) {
          for (int w = column; w < std::min(column + across, s.out_width); ++w) pixels.push_back({n, h, w});
        }
      }
    }
  }
  return pixels;
}

/// A random convolution whose tables have at most a few thousand entries.
inline offset_table::TableShape random_table_shape() {
  offset_table::TableShape s;
  s.layout = static_cast<MapLayout>(number(0, 3));
  s.block = number(1, 9);
  s.order = static_cast<offset_table::ThreadOrder>(number(0, 1));
  s.images = one_in(3) ? number(2, 3) : 1;
  s.groups = one_in(2) ? 1 : number(1, 6);
  s.channels = s.groups * (one_in(3) ? 1 : number(1, 7));
  const bool large = one_in(8);
  s.kernel_h = large ? number(30, 40) : number(1, 4), s.kernel_w = large ? number(1, 3) : number(1, 4);
  s.stride_h = number(1, 3), s.stride_w = number(1, 3);
  s.dilation_h = large ? 1 : number(1, 3), s.dilation_w = number(1, 3);
  s.pad_h = number(-1, 3), s.pad_w = number(-1, 3);
  s.out_height = number(1, 6), s.out_width = number(1, 9);
  // Whatever lies beyond the map is padding; the map may also be larger than what is needed.
  s.height = number(0, 14), s.width = s.height == 0 ? 0 : number(1, 14);
  return s;
}

}  // namespace tilebeat::testing
