// The tables of addresses as pure values (SPEC OT-1, OT-2, OT-5, OT-6).
#include "engines/offset_table/schedule.h"
#include "engines/offset_table/table_file.h"
#include "engines/offset_table/tables.h"
#include "offset_formulas.h"
#include "tilebeat/error.h"

#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

using offset_table::MaskKind;
using offset_table::Tables;
using offset_table::TableShape;
using offset_table::ThreadOrder;

TableShape square(int channels, int extent, int kernel, int pad) {
  TableShape s;
  s.channels = channels, s.height = s.width = extent;
  s.kernel_h = s.kernel_w = kernel, s.pad_h = s.pad_w = pad;
  s.out_height = s.out_width = extent + 2 * pad - kernel + 1;
  return s;
}

TEST(OffsetTables, OT_1_figure_13) {
  TableShape s = square(1, 4, 3, 0);
  for (const MapLayout layout : {MapLayout::kNchw, MapLayout::kCnhw, MapLayout::kNhwc, MapLayout::kNchwc}) {
    s.layout = layout;
    const Tables t = compile_tables(s);
    EXPECT_EQ(t.bases, (std::vector<std::int32_t>{0, 1, 4, 5}));
    EXPECT_EQ(t.offsets, (std::vector<std::int32_t>{0, 1, 2, 4, 5, 6, 8, 9, 10}));
  }
}

// base + rel, masks and order of threads, each against counting through the tensor.
TEST(OffsetTables, OT_2_OT_5_OT_6_every_layout_reaches_the_elements_that_brute_force_finds) {
  std::set<MapLayout> layouts;
  int padded = 0, ragged = 0, coordinates = 0;
  check_cases(300, [&] {
    const TableShape s = random_table_shape();
    const Tables t = compile_tables(s);
    RC_ASSERT(check_tables(t).empty());
    const PlainTensor tensor(s);
    RC_ASSERT(s.elements() == tensor.elements());
    const auto threads = plain_threads(s);
    RC_ASSERT(s.threads() == static_cast<std::int64_t>(threads.size()));
    const int of_group = s.channels / s.groups * s.kernel_h * s.kernel_w;
    for (std::size_t thread = 0; thread < threads.size(); ++thread) {
      for (int group = 0; group < s.groups; ++group) {
        for (int k = 0; k < of_group; ++k) {  // (c, v, u), u innermost
          const int u = k % s.kernel_w, v = k / s.kernel_w % s.kernel_h, c = k / (s.kernel_w * s.kernel_h);
          const int h = threads[thread].row * s.stride_h - s.pad_h + v * s.dilation_h;
          const int w = threads[thread].column * s.stride_w - s.pad_w + u * s.dilation_w;
          const bool inside = h >= 0 && h < s.height && w >= 0 && w < s.width;
          const auto number = static_cast<std::int64_t>(thread);
          RC_ASSERT(t.inside(number, v, u) == inside);
          if (!inside) continue;
          const int channel = group * (s.channels / s.groups) + c;
          RC_ASSERT(t.base(number, group) + t.rel(group, k) ==
                    tensor.at(threads[thread].image, channel, h, w));
        }
      }
    }
    layouts.insert(s.layout);
    padded += s.masks() == MaskKind::kBits ? 1 : 0, ragged += s.ragged() ? 1 : 0;
    coordinates += s.masks() == MaskKind::kCoordinates ? 1 : 0;
  });
  EXPECT_EQ(layouts.size(), 4U);
  EXPECT_GT(padded, 50);
  EXPECT_GT(ragged, 5);
  EXPECT_GT(coordinates, 5);
}

// The formulas of OT-2 as they are written, at one place of a layer with groups.
TEST(OffsetTables, OT_2_the_formulas_of_the_layouts) {
  TableShape s;
  s.images = 2, s.channels = 12, s.height = 5, s.width = 7, s.groups = 3;
  s.kernel_h = 2, s.kernel_w = 3, s.stride_h = 2, s.dilation_w = 2, s.pad_h = 1, s.pad_w = 2;
  s.out_height = 3, s.out_width = 7;
  const int C = 12, H = 5, W = 7, N = 2, V = 2, n = 1, oh = 2, ow = 3, g = 1, c = 3, v = 1, u = 2;
  const int thread = n * 21 + oh * 7 + ow, k = (c * 2 + v) * 3 + u, first = g * 4;
  const int q = (oh * 2 - 1) * W + ow - 2, r = v * W + u * 2, Cb = C / V;
  const auto at = [&](MapLayout layout) {
    s.layout = layout, s.block = layout == MapLayout::kNchwc ? V : 1;
    const Tables t = compile_tables(s);
    return std::pair(t.base(thread, g), t.rel(g, k));
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(at(MapLayout::kNchw), Pair(n * C * H * W + q + first * H * W, c * H * W + r));
  EXPECT_EQ(at(MapLayout::kCnhw), Pair(n * H * W + q + first * N * H * W, c * N * H * W + r));
  EXPECT_EQ(at(MapLayout::kNhwc), Pair((n * H * W + q) * C + first, r * C + c));
  EXPECT_EQ(at(MapLayout::kNchwc),
            Pair((n * Cb * H * W + q) * V + first / V * H * W * V, ((c / V) * H * W + r) * V + c % V));
}

TEST(OffsetTables, OT_2_fully_connected_is_the_degenerate_case) {
  TableShape s;
  s.channels = 40, s.height = 1, s.width = 6, s.out_width = 6;
  const Tables t = compile_tables(s);
  for (int thread = 0; thread < 6; ++thread) {
    for (int k = 0; k < 40; ++k) EXPECT_EQ(t.base(thread, 0) + t.rel(0, k), thread * 40 + k);
  }
  EXPECT_EQ(t.offsets.size(), 1U) << "K neighbours have one entry";
}

TEST(OffsetTables, OT_6_sizes_of_a_layer_of_resnet) {
  const Tables t = compile_tables(square(64, 56, 3, 1));
  EXPECT_EQ(t.bases.size(), 3136U);
  EXPECT_EQ(t.offsets.size(), 9U);
  EXPECT_EQ(t.table_bytes(), 12'580);
  EXPECT_EQ(t.bytes_by_k(), 14'848);
  EXPECT_EQ(t.mask_bytes(), 3136 * 2);
  const offset_table::Alternatives others = alternatives_of(t.shape);
  EXPECT_EQ(others.pointers, 225'792);
  EXPECT_EQ(others.im2col, 1'806'336);
}

TEST(OffsetTables, OT_5_masks_have_a_bit_a_kernel_row_and_column) {
  const Tables t = compile_tables(square(3, 5, 3, 1));
  EXPECT_EQ(t.row_masks[0], 0b110U) << "the first row of the kernel lies above the map";
  EXPECT_EQ(t.column_masks[0], 0b110U);
  EXPECT_EQ(t.row_masks[12], 0b111U);
  EXPECT_EQ(t.row_masks[24], 0b011U);
  EXPECT_EQ(compile_tables(square(3, 5, 3, 0)).row_masks.size(), 0U) << "nothing is padding";
}

TEST(OffsetTables, OT_5_kernels_beyond_32_carry_coordinates) {
  TableShape s = square(2, 40, 32, 3);
  EXPECT_EQ(s.masks(), MaskKind::kBits);
  s = square(2, 40, 33, 3);
  EXPECT_EQ(s.masks(), MaskKind::kCoordinates);
  const Tables t = compile_tables(s);
  EXPECT_EQ(t.first_rows[0], -3);
  EXPECT_EQ(t.first_columns[5], 2);
}

TEST(OffsetTables, OT_6_blocks_of_threads_are_4_by_4_and_clipped) {
  TableShape s = square(1, 6, 1, 0);
  s.order = ThreadOrder::kBlock;
  const auto at = [&](int thread) {
    const offset_table::Pixel p = s.pixel(thread);
    return std::pair(p.row, p.column);
  };
  EXPECT_EQ(at(3), std::pair(0, 3));
  EXPECT_EQ(at(4), std::pair(1, 0));
  EXPECT_EQ(at(16), std::pair(0, 4)) << "the second block has two columns";
  EXPECT_EQ(at(18), std::pair(1, 4));
  EXPECT_EQ(at(24), std::pair(4, 0)) << "the third one has two rows";
}

// Every address that can be reached is looked at: one entry beyond is found, wherever it is.
TEST(OffsetTables, OT_3_an_address_outside_the_tensor_is_found) {
  check_cases(300, [&] {
    Tables t = compile_tables(random_table_shape());
    const auto of = [](std::size_t size) {
      return static_cast<std::size_t>(number(0, static_cast<int>(size) - 1));
    };
    const auto shift = static_cast<std::int32_t>(t.shape.elements() + 1) * (one_in(2) ? 1 : -1);
    const int what = number(0, 2);
    if (what == 0) t.bases[of(t.bases.size())] += shift;
    if (what == 1) t.groups[of(t.groups.size())] += shift;
    if (what == 2) t.offsets[of(t.offsets.size())] += shift;
    bool outside = false;
    for (std::int64_t thread = 0; thread < t.shape.threads(); ++thread) {
      for (int group = 0; group < t.shape.groups; ++group) {
        for (int k = 0; k < t.shape.group_channels() * t.shape.taps(); ++k) {
          const offset_table::Tap tap = t.tap(k);
          if (!t.inside(thread, tap.row, tap.column)) continue;
          const std::int64_t at = t.base(thread, group) + t.rel(group, k);
          outside = outside || at < 0 || at >= t.shape.elements();
        }
      }
    }
    RC_ASSERT(check_tables(t).empty() != outside);
  });
}

TEST(OffsetTables, OT_3_an_address_is_explained) {
  TableShape s = square(1, 16, 3, 0);
  const Tables t = compile_tables(s);
  EXPECT_EQ(offset_table::explain_address(t, 37, 5),
            "thread 37, k 5: n 0, oh 2, ow 9, v 1, u 2, c 0 -> element 59");
  const Tables padded = compile_tables(square(1, 16, 3, 1));
  EXPECT_EQ(offset_table::explain_address(padded, 0, 0),
            "thread 0, k 0: n 0, oh 0, ow 0, v 0, u 0, c 0 -> padding");
}

TEST(OffsetTables, OT_3_shapes_that_cannot_be_counted_are_refused) {
  TableShape s = square(3, 5, 3, 1);
  s.channels = 1 << 30, s.height = 1 << 20;
  EXPECT_THROW(compile_tables(s), UserError);
  s = square(3, 5, 3, 1);
  s.groups = 2;
  EXPECT_THROW(compile_tables(s), UserError);
  s.groups = 0;
  EXPECT_THROW(compile_tables(s), UserError);
}

// A file may say anything: extents of all bits are refused, not counted further.
TEST(TableShapes, UI_5_extents_of_all_bits_are_refused) {
  for (int TableShape::*extent : {&TableShape::height, &TableShape::width, &TableShape::images,
                                  &TableShape::out_height, &TableShape::kernel_w, &TableShape::stride_h}) {
    TableShape shape;
    shape.channels = 2;
    shape.*extent = std::numeric_limits<int>::max();
    EXPECT_NE(shape.problem(), "");
  }
}

}  // namespace
}  // namespace tilebeat::testing
