#include "engines/offset_table/tables.h"

#include "tilebeat/error.h"

#include <cstring>
#include <limits>
#include <tuple>

#include <fmt/format.h>

namespace tilebeat::offset_table {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

// Whether the product fits 32 bits; factors are at most 2^31, so that four of them may overflow 64 bits.
bool countable(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor > 0 && product > kMost / factor) return false;
    product *= factor;
  }
  return product <= kMost;
}

std::uint32_t mask_of(int first, int kernel, int dilation, int extent) {
  std::uint32_t mask = 0;
  for (int i = 0; i < kernel; ++i) {
    const int at = first + i * dilation;
    if (at >= 0 && at < extent) mask |= std::uint32_t{1} << i;
  }
  return mask;
}

// Whether any tap of any output lies outside the map.
bool touches_padding(int outs, int stride, int pad, int kernel, int dilation, int extent) {
  const std::int64_t last = std::int64_t{outs - 1} * stride - pad + std::int64_t{kernel - 1} * dilation;
  return pad > 0 || last >= extent;
}

template <class T>
void put(std::vector<std::uint8_t>& bytes, T value, int count = sizeof(T)) {
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

}  // namespace

std::int64_t TableShape::elements() const {
  const int stored = layout == MapLayout::kNchwc ? to_int(align_up<std::int64_t>(channels, block)) : channels;
  return std::int64_t{images} * stored * height * width;
}

int TableShape::segment() const {
  switch (layout) {
    case MapLayout::kNhwc:
      return group_channels();
    case MapLayout::kNchwc:
      return block;
    default:
      return 1;
  }
}

int TableShape::segments() const {
  const int size = group_channels();
  if (layout != MapLayout::kNchwc) return size / segment();
  if (size == 1) return 1;
  if (!ragged()) return size / block;
  // A group that begins on the last channel of a block has the most segments.
  int most = 0;
  for (int group = 0; group < groups; ++group) {
    const int first = group * size;
    most = std::max(most, (first + size - 1) / block - first / block + 1);
  }
  return most;
}

bool TableShape::ragged() const {
  return layout == MapLayout::kNchwc && group_channels() % block != 0 && group_channels() != 1;
}

MaskKind TableShape::masks() const {
  const bool padded = touches_padding(out_height, stride_h, pad_h, kernel_h, dilation_h, height) ||
                      touches_padding(out_width, stride_w, pad_w, kernel_w, dilation_w, width);
  if (!padded) return MaskKind::kNone;
  return kernel_h > kMaskBits || kernel_w > kMaskBits ? MaskKind::kCoordinates : MaskKind::kBits;
}

Pixel TableShape::pixel(std::int64_t thread) const {
  const std::int64_t of_image = std::int64_t{out_height} * out_width;
  Pixel p;
  p.image = to_int(thread / of_image);
  const auto pix = to_int(thread % of_image);
  if (order == ThreadOrder::kLinear) {
    p.row = pix / out_width, p.column = pix % out_width;
    return p;
  }
  const int band = pix / (kThreadBlock * out_width);
  const int rows = std::min(kThreadBlock, out_height - band * kThreadBlock);
  const int in_band = pix - band * kThreadBlock * out_width;
  const int across = in_band / (rows * kThreadBlock);
  const int columns = std::min(kThreadBlock, out_width - across * kThreadBlock);
  const int in_block = in_band - across * rows * kThreadBlock;
  p.row = band * kThreadBlock + in_block / columns;
  p.column = across * kThreadBlock + in_block % columns;
  return p;
}

std::int64_t TableShape::element(int image, int channel, int row, int column) const {
  const std::int64_t h = height, w = width;
  return strides_of(layout, images, h * w, channels, block).offset_of(image, channel, row * w + column);
}

std::string TableShape::problem() const {
  const std::int64_t rows = height, columns = width;
  const std::array<std::pair<const char*, std::int64_t>, 15> sizes{{{"images", images},
                                                                    {"channels", channels},
                                                                    {"output rows", out_height},
                                                                    {"output columns", out_width},
                                                                    {"kernel rows", kernel_h},
                                                                    {"kernel columns", kernel_w},
                                                                    {"stride", stride_h},
                                                                    {"stride", stride_w},
                                                                    {"dilation", dilation_h},
                                                                    {"dilation", dilation_w},
                                                                    {"groups", groups},
                                                                    {"channels of a block", block},
                                                                    {"rows", rows + 1},
                                                                    {"columns", columns + 1},
                                                                    {"channels of a group", channels}}};
  for (const auto& [what, size] : sizes) {
    if (size <= 0) return fmt::format("{} {}", size, what);
  }
  if (channels % groups != 0) return fmt::format("{} channels in {} groups", channels, groups);
  const std::int64_t reach_h = std::int64_t{out_height} * stride_h + std::int64_t{kernel_h} * dilation_h +
                               std::abs(std::int64_t{pad_h});
  const std::int64_t reach_w = std::int64_t{out_width} * stride_w + std::int64_t{kernel_w} * dilation_w +
                               std::abs(std::int64_t{pad_w});
  const std::int64_t stored = std::int64_t{channels} + block;
  if (!countable({images, stored, rows + 1, columns + 1}) ||
      !countable({images, stored, reach_h + 1, columns + 1}) ||
      !countable({images, stored, rows + reach_h, std::max<std::int64_t>(columns, 1) + reach_w}) ||
      !countable({images, out_height, out_width}) || !countable({channels, kernel_h, kernel_w}))
    return "elements beyond 32 bits";
  const bool coordinates = kernel_h > kMaskBits || kernel_w > kMaskBits;
  constexpr std::int64_t kFar = std::numeric_limits<std::int16_t>::max();
  if (coordinates && (reach_h > kFar || reach_w > kFar))
    return "a large kernel and coordinates beyond 16 bits";
  return {};
}

bool operator==(const TableShape& a, const TableShape& b) {
  const auto all = [](const TableShape& s) {
    return std::tie(s.layout, s.block, s.order, s.images, s.channels, s.height, s.width, s.out_height,
                    s.out_width, s.kernel_h, s.kernel_w, s.stride_h, s.stride_w, s.dilation_h, s.dilation_w,
                    s.pad_h, s.pad_w, s.groups);
  };
  return all(a) == all(b);
}

std::vector<Segment> segments_of(const TableShape& shape, int group) {
  const int size = shape.group_channels(), first = group * size, step = shape.segment();
  // With NCHWc, segments end at block boundaries; otherwise groups begin with a segment.
  const int phase = shape.layout == MapLayout::kNchwc ? first % step : 0;
  std::vector<Segment> segments;
  for (int at = 0; at < size;) {
    const int end = std::min(size, at == 0 ? step - phase : at + step);
    segments.push_back({first + at, end - at});
    at = end;
  }
  return segments;
}

Tables compile_tables(const TableShape& shape) {
  if (const std::string wrong = shape.problem(); !wrong.empty())
    throw UserError("tables of addresses: " + wrong);
  Tables t;
  t.shape = shape;
  const MaskKind masks = shape.masks();
  const auto entry = [](std::int64_t at) { return static_cast<std::int32_t>(at); };
  const auto threads = to_size(shape.threads());
  t.bases.reserve(threads);
  for (std::int64_t thread = 0; thread < shape.threads(); ++thread) {
    const Pixel p = shape.pixel(thread);
    const int h = shape.first_row(p.row), w = shape.first_column(p.column);
    t.bases.push_back(entry(shape.element(p.image, 0, h, w)));
    if (masks == MaskKind::kBits) {
      t.row_masks.push_back(mask_of(h, shape.kernel_h, shape.dilation_h, shape.height));
      t.column_masks.push_back(mask_of(w, shape.kernel_w, shape.dilation_w, shape.width));
    } else if (masks == MaskKind::kCoordinates) {
      t.first_rows.push_back(static_cast<std::int16_t>(h));
      t.first_columns.push_back(static_cast<std::int16_t>(w));
    }
  }
  const std::int64_t origin = shape.element(0, 0, 0, 0);
  for (int group = 0; group < shape.groups; ++group) {
    const int first = group * shape.group_channels();
    t.groups.push_back(shape.ragged() ? 0 : entry(shape.element(0, first, 0, 0) - origin));
  }
  const int kinds = shape.ragged() ? shape.groups : 1;
  for (int group = 0; group < kinds; ++group) {
    const std::vector<Segment> segments = segments_of(shape, group);
    const std::int64_t from = nth(t.groups, group);
    for (int s = 0; s < shape.segments(); ++s) {
      for (int tap = 0; tap < shape.taps(); ++tap) {
        // A group with fewer segments has unused entries.
        const Segment& segment = segments[std::min<std::size_t>(to_size(s), segments.size() - 1)];
        const int row = tap / shape.kernel_w * shape.dilation_h,
                  column = tap % shape.kernel_w * shape.dilation_w;
        t.offsets.push_back(entry(shape.element(0, segment.first, row, column) - from));
      }
    }
  }
  return t;
}

bool Tables::inside(std::int64_t thread, int row, int column) const {
  const auto t = to_size(thread);
  if (!row_masks.empty()) return ((row_masks[t] >> row) & 1U) != 0 && ((column_masks[t] >> column) & 1U) != 0;
  if (first_rows.empty()) return true;
  const int h = first_rows[t] + row * shape.dilation_h, w = first_columns[t] + column * shape.dilation_w;
  return h >= 0 && h < shape.height && w >= 0 && w < shape.width;
}

Tap Tables::tap(int k) const {
  const int taps = shape.taps(), tap = k % taps;
  return {k / taps, tap / shape.kernel_w, tap % shape.kernel_w};
}

std::int64_t Tables::rel(int group, int k) const {
  const Tap at = tap(k);
  const int channel = group * shape.group_channels() + at.channel;
  const std::vector<Segment> segments = segments_of(shape, group);
  std::size_t s = 0;
  while (channel >= segments[s].first + segments[s].size) ++s;
  const std::size_t first = shape.ragged() ? to_size(group * shape.segments()) : 0;
  const std::size_t index = (first + s) * to_size(shape.taps()) + to_size(k % shape.taps());
  return std::int64_t{offsets[index]} + channel - segments[s].first;
}

std::int64_t Tables::table_bytes() const {
  const std::size_t displacements = groups.size() > 1 ? groups.size() : 0;
  return to_signed(bases.size() + offsets.size() + displacements) * kEntryBytes;
}

std::int64_t Tables::bytes_by_k() const {
  const int kinds = shape.ragged() ? shape.groups : 1;
  const std::size_t displacements = groups.size() > 1 ? groups.size() : 0;
  return (to_signed(bases.size() + displacements) +
          std::int64_t{kinds} * shape.group_channels() * shape.taps()) *
         kEntryBytes;
}

std::int64_t Tables::mask_bytes() const {
  const ImageLayout at = image_layout(shape.masks(), shape.kernel_h, shape.kernel_w, ssize(offsets),
                                      shape.groups, shape.threads());
  return (at.record_bytes - kEntryBytes) * shape.threads() + at.groups - at.taps;
}

// The address of thread t, segment s and a tap inside the map is base + displacement + offset: compares the
// smallest and largest possible sums with the tensor. A thread has few taps inside, so that each is checked.
std::string check_tables(const Tables& t) {
  const TableShape& shape = t.shape;
  if (std::string wrong = shape.problem(); !wrong.empty()) return wrong;
  const auto threads = to_size(shape.threads());
  const MaskKind masks = shape.masks();
  const std::size_t bits = masks == MaskKind::kBits ? threads : 0;
  const std::size_t places = masks == MaskKind::kCoordinates ? threads : 0;
  const auto taps = to_size(shape.taps());
  const std::size_t kinds = shape.ragged() ? to_size(shape.groups) : 1;
  const auto segments = to_size(shape.segments());
  if (t.bases.size() != threads || t.groups.size() != to_size(shape.groups) ||
      t.offsets.size() != kinds * segments * taps || t.row_masks.size() != bits ||
      t.column_masks.size() != bits || t.first_rows.size() != places || t.first_columns.size() != places)
    return "numbers of entries that the shape does not have";
  // By tap, over groups and segments: the smallest displacement, and the largest of a segment's last element.
  struct Reach {
    std::int64_t low = std::numeric_limits<std::int64_t>::max();
    std::int64_t high = std::numeric_limits<std::int64_t>::min();
  };
  std::vector<Reach> reach(taps);
  for (int group = 0; group < shape.groups; ++group) {
    const std::vector<Segment> parts = segments_of(shape, group);
    const std::size_t first = shape.ragged() ? to_size(group) * segments : 0;
    for (std::size_t s = 0; s < parts.size(); ++s) {
      for (std::size_t tap = 0; tap < taps; ++tap) {
        const std::int64_t at = std::int64_t{nth(t.groups, group)} + t.offsets[(first + s) * taps + tap];
        reach[tap].low = std::min(reach[tap].low, at);
        reach[tap].high = std::max(reach[tap].high, at + parts[s].size - 1);
      }
    }
  }
  const std::int64_t elements = shape.elements();
  for (std::size_t thread = 0; thread < threads; ++thread) {
    const std::int64_t base = t.bases[thread];
    for (std::size_t tap = 0; tap < taps; ++tap) {
      const int row = to_int(tap) / shape.kernel_w, column = to_int(tap) % shape.kernel_w;
      if (!t.inside(to_signed(thread), row, column)) continue;
      if (base + reach[tap].low < 0 || base + reach[tap].high >= elements)
        return fmt::format("thread {}, tap ({}, {}) reaches elements {} to {} of {}", thread, row, column,
                           base + reach[tap].low, base + reach[tap].high, elements);
    }
  }
  return {};
}

ImageLayout image_layout(MaskKind masks, int kernel_h, int kernel_w, std::int64_t offsets, int groups,
                         std::int64_t threads) {
  ImageLayout at;
  at.taps = offsets * kEntryBytes;
  at.groups = at.taps + (masks == MaskKind::kCoordinates ? std::int64_t{kernel_h} * kernel_w * 4 : 0);
  at.threads = at.groups + std::int64_t{groups} * kEntryBytes;
  if (masks == MaskKind::kBits)
    at.row_mask_bytes = ceil_div(kernel_h, 8), at.column_mask_bytes = ceil_div(kernel_w, 8);
  if (masks == MaskKind::kCoordinates) at.row_mask_bytes = at.column_mask_bytes = 2;
  at.record_bytes = kEntryBytes + at.row_mask_bytes + at.column_mask_bytes;
  at.end = at.threads + threads * at.record_bytes;
  return at;
}

std::vector<std::uint8_t> image_of(const Tables& t) {
  const TableShape& shape = t.shape;
  const MaskKind masks = shape.masks();
  const ImageLayout at =
      image_layout(masks, shape.kernel_h, shape.kernel_w, ssize(t.offsets), shape.groups, shape.threads());
  std::vector<std::uint8_t> bytes;
  bytes.reserve(to_size(at.end));
  for (const std::int32_t offset : t.offsets) put(bytes, static_cast<std::uint32_t>(offset));
  if (masks == MaskKind::kCoordinates) {
    for (int tap = 0; tap < shape.taps(); ++tap) {
      put(bytes, static_cast<std::uint16_t>(tap / shape.kernel_w * shape.dilation_h));
      put(bytes, static_cast<std::uint16_t>(tap % shape.kernel_w * shape.dilation_w));
    }
  }
  for (const std::int32_t group : t.groups) put(bytes, static_cast<std::uint32_t>(group));
  for (std::size_t thread = 0; thread < t.bases.size(); ++thread) {
    put(bytes, static_cast<std::uint32_t>(t.bases[thread]));
    if (masks == MaskKind::kBits) {
      put(bytes, t.row_masks[thread], at.row_mask_bytes);
      put(bytes, t.column_masks[thread], at.column_mask_bytes);
    } else if (masks == MaskKind::kCoordinates) {
      put(bytes, static_cast<std::uint16_t>(t.first_rows[thread]));
      put(bytes, static_cast<std::uint16_t>(t.first_columns[thread]));
    }
  }
  return bytes;
}

TableParts parts_of_image(const ImageLayout& image, int table_bytes, int taps, int rows,
                          std::int64_t groups) {
  TableParts parts;
  parts.all = image.end <= table_bytes;
  if (parts.all) return parts;
  const std::int64_t space = table_bytes - (image.threads - image.taps);
  if (space <= 0) return parts;
  const std::int64_t offsets = image.taps, threads = image.end - image.threads;
  const std::int64_t segment = std::int64_t{taps} * kEntryBytes,
                     record = std::int64_t{rows} * image.record_bytes;
  const std::int64_t offset_space = offsets <= space / 2 ? offsets : std::max(space / 2, space - threads);
  const std::int64_t thread_space = space - std::min(offset_space, offsets);
  parts.threads_held = threads <= thread_space, parts.offsets_held = offsets <= offset_space;
  parts.groups = parts.threads_held ? groups : thread_space / 2 / record;
  parts.segments = parts.offsets_held ? offsets / segment : offset_space / 2 / segment;
  return parts;
}

Alternatives alternatives_of(const TableShape& shape) {
  constexpr std::int64_t kPointerBytes = 8;
  Alternatives made;
  made.im2col = shape.threads() * shape.taps() * shape.channels;
  made.pointers = shape.threads() * shape.taps() * kPointerBytes;
  return made;
}

}  // namespace tilebeat::offset_table
