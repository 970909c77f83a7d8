#pragma once

#include "base/map_layout.h"
#include "base/types.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat::offset_table {

/// The order of outputs over threads (SPEC OT-6): consecutive outputs, or blocks of 4 x 4 outputs, row by
/// row, clipped at the edges.
enum class ThreadOrder : std::uint8_t { kLinear, kBlock };
constexpr std::array<std::string_view, 2> kThreadOrderNames{"linear", "block"};
constexpr int kThreadBlock = 4;  ///< outputs on a side of such a block

/// The form in which a thread knows which of its taps lie on the map (SPEC OT-5).
enum class MaskKind : std::uint8_t {
  kNone,  ///< all taps of all threads lie on the map
  kBits,  ///< two masks: a bit per kernel row, a bit per kernel column
  /// for kernels larger than 32 x 32: the position of tap (0,0) and, by tap, the distance to it
  kCoordinates
};
constexpr std::array<std::string_view, 3> kMaskKindNames{"none", "bits", "coordinates"};
constexpr int kMaskBits = 32;  ///< bits of the largest mask

constexpr int kEntryBytes = 4;  ///< bytes of a base or an offset

/// The output pixel of a thread.
struct Pixel {
  int image = 0, row = 0, column = 0;
};
/// A kernel element, as k counts them.
struct Tap {
  int channel = 0, row = 0, column = 0;
};

/// Everything that the tables of a convolution depend on. Sizes are elements and pixels; pads are above and
/// to the left, negative where tap (0,0) of output (0,0) lies inside the map.
struct TableShape {
  MapLayout layout = MapLayout::kNhwc;
  int block = 1;  ///< channels of a block of NCHWc
  ThreadOrder order = ThreadOrder::kLinear;
  int images = 1, channels = 1, height = 1, width = 1;
  int out_height = 1, out_width = 1;
  int kernel_h = 1, kernel_w = 1;
  int stride_h = 1, stride_w = 1;
  int dilation_h = 1, dilation_w = 1;
  int pad_h = 0, pad_w = 0;
  int groups = 1;

  int taps() const { return kernel_h * kernel_w; }
  int group_channels() const { return channels / groups; }
  std::int64_t threads() const { return std::int64_t{images} * out_height * out_width; }
  /// Elements of the tensor, those that fill up the last block of NCHWc included.
  std::int64_t elements() const;
  /// Channels of a segment, whose elements are contiguous: offsets are stored by segment and tap.
  int segment() const;
  /// The most segments of a group.
  int segments() const;
  /// Whether groups begin inside blocks of NCHWc, so that offsets are stored by group (SPEC OT-2).
  bool ragged() const;
  /// The kind of masks that the shape needs.
  MaskKind masks() const;

  /// The output of a thread, in the order of the threads.
  Pixel pixel(std::int64_t thread) const;
  /// The position on the map of tap (0,0) of an output.
  int first_row(int out_row) const { return out_row * stride_h - pad_h; }
  int first_column(int out_column) const { return out_column * stride_w - pad_w; }
  /// The index of the element at a position of the map, in the map's layout.
  std::int64_t element(int image, int channel, int row, int column) const;
  /// An error text when a size is not positive or does not fit 32 bits; empty: the shape is valid.
  std::string problem() const;
};
bool operator==(const TableShape& a, const TableShape& b);

/// Contiguous channels of a group.
struct Segment {
  int first = 0;  ///< channel, of the map
  int size = 0;
};

/// The compiled tables of a convolution (SPEC OT-1 to OT-3, OT-5), in elements from the tensor's start: the
/// element of thread t for k is at base(t, g) + rel(g, k), where g is the group. A base per thread and group
/// is the sum of one of the thread and one of the group.
struct Tables {
  TableShape shape;
  std::vector<std::int32_t> bases;   ///< by thread
  std::vector<std::int32_t> groups;  ///< by group
  /// By segment of a group and tap; for ragged groups, by group first.
  std::vector<std::int32_t> offsets;
  /// By thread, kBits: the valid kernel rows, the valid kernel columns.
  std::vector<std::uint32_t> row_masks, column_masks;
  /// By thread, kCoordinates: where tap (0,0) lies.
  std::vector<std::int16_t> first_rows, first_columns;

  std::int64_t base(std::int64_t thread, int group) const {
    return std::int64_t{nth(bases, thread)} + nth(groups, group);
  }
  /// Whether the tap lies on the map.
  bool inside(std::int64_t thread, int row, int column) const;
  /// The offset of k = (c * Kh + v) * Kw + u, where c is a channel of the group.
  std::int64_t rel(int group, int k) const;
  Tap tap(int k) const;
  /// Bytes of bases and offsets (and displacements of several groups), without masks.
  std::int64_t table_bytes() const;
  /// The same bytes if there were an offset for every k.
  std::int64_t bytes_by_k() const;
  std::int64_t mask_bytes() const;
};

/// The segments of the channels of group `group`.
std::vector<Segment> segments_of(const TableShape& shape, int group);

/// Compiles the tables of a convolution. Throws UserError for an invalid shape.
Tables compile_tables(const TableShape& shape);

/// Proves that every address that the tables reach lies inside the tensor, and that displacements, masks and
/// sizes are consistent: empty, or the error. Reads nothing through the tables.
std::string check_tables(const Tables& tables);

// ---- the tables as they lie in memory ----

/// Byte offsets of the parts of a table image: offsets; distances of taps (kCoordinates); groups; a record
/// per thread with its base and padding information.
struct ImageLayout {
  std::int64_t offsets = 0, taps = 0, groups = 0, threads = 0, end = 0;
  int record_bytes = kEntryBytes;
  int row_mask_bytes = 0, column_mask_bytes = 0;
};
ImageLayout image_layout(MaskKind masks, int kernel_h, int kernel_w, std::int64_t offsets, int groups,
                         std::int64_t threads);
std::vector<std::uint8_t> image_of(const Tables& tables);

/// The allocation of an image in a table cache (TableMemory): all of it or, where it does not fit, offsets
/// and thread records in parts, two of which are in the cache at a time.
struct TableParts {
  bool all = true;                                ///< the image fits
  bool threads_held = true, offsets_held = true;  ///< held as a whole
  std::int64_t groups = 0;                        ///< groups of threads in a part
  std::int64_t segments = 0;                      ///< segments of offsets in a part
  bool fits() const { return all || (groups > 0 && segments > 0); }
};
/// `rows` threads are activated together, in `groups` groups one after the other.
TableParts parts_of_image(const ImageLayout& image, int table_bytes, int taps, int rows, std::int64_t groups);

/// Bytes that alternatives to the tables take, at 4 bytes an entry and 8 a pointer.
struct Alternatives {
  std::int64_t im2col = 0;    ///< the matrix that im2col writes out
  std::int64_t pointers = 0;  ///< an indirection buffer: a pointer a thread and tap
};
Alternatives alternatives_of(const TableShape& shape);

}  // namespace tilebeat::offset_table
