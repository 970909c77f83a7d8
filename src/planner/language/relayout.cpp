#include "planner/language/relayout.h"

#include "base/types.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace tilebeat {
namespace {

// An axis of a transfer: `count` steps of `here` bytes in the map and of `there` bytes at the other end.
struct Axis {
  std::int64_t count = 1, here = 0, there = 0;
};

// Runs of bytes along at most two axes. `here` is an NHWC offset in the map, `there` the address at the other
// end.
struct Block {
  std::int64_t here = 0;
  std::uint64_t there = 0;
  std::int64_t run = 0;
  std::vector<Axis> axes;  // the outermost first, each with several steps
};

class Mover {
 public:
  Mover(const StoredMap& map, TransferEnd end) : m_(map), end_(end) {}

  void add(const Transfer& t) {
    const CopyShape& s = t.shape;
    const bool source = end_ == TransferEnd::kSource;
    Block block;
    block.here = to_signed((source ? t.source : t.destination) - m_.address);
    block.there = source ? t.destination : t.source;
    block.run = s.run;
    if (s.rows > 1)
      block.axes.push_back(
          {s.rows, source ? s.source_row : s.destination_row, source ? s.destination_row : s.source_row});
    if (s.columns > 1)
      block.axes.push_back({s.columns, source ? s.source_column : s.destination_column,
                            source ? s.destination_column : s.source_column});
    add(block);
  }
  std::vector<Transfer> take() { return std::move(made_); }

 private:
  // Merges axes that are contiguous at both ends.
  static void merge(Block& block) {
    auto& axes = block.axes;
    while (!axes.empty() && axes.back().here == block.run && axes.back().there == block.run)
      block.run *= axes.back().count, axes.pop_back();
    if (axes.size() == 2 && axes[0].here == axes[1].count * axes[1].here &&
        axes[0].there == axes[1].count * axes[1].there) {
      axes[1].count *= axes[0].count;
      axes.erase(axes.begin());
    }
  }

  void add(Block block) {
    merge(block);
    place(std::move(block));
  }
  // Splits the block until its runs are channels of pixels of one image.
  void place(Block block) {
    const std::int64_t pixel = m_.pixel_bytes, first = block.here % pixel;
    if (first + block.run > pixel) return add_pixels(std::move(block));
    std::int64_t last = block.here, within = first + block.run;
    for (std::size_t i = 0; i < block.axes.size(); ++i) {
      const Axis& axis = block.axes[i];
      const bool pixels = axis.here % pixel == 0;
      if (!pixels && !walks_blocks(block, axis)) return cut(block, i);
      if (!pixels) within += (axis.count - 1) * axis.here;
      if (within > pixel) return cut(block, i);
      last += (axis.count - 1) * axis.here;
    }
    const std::int64_t image = m_.pixels * pixel;
    for (const Axis& axis : block.axes) last -= walks_images(axis) ? (axis.count - 1) * axis.here : 0;
    if (block.here / image != last / image) return cut(block, 0);
    add_channels(block);
  }
  // Steps between images, of a map whose images are spaced.
  bool walks_images(const Axis& axis) const {
    return m_.has_spaced_images() && axis.here % (m_.pixels * m_.pixel_bytes) == 0;
  }
  // Steps between channel blocks of a pixel, for runs inside one of them.
  bool walks_blocks(const Block& block, const Axis& axis) const {
    return axis.here % m_.block_bytes == 0 &&
           block.here % m_.pixel_bytes % m_.block_bytes + block.run <= m_.block_bytes;
  }
  // A run that continues in the next pixel: whole pixels become an axis.
  void add_pixels(Block block) {
    const std::int64_t pixel = m_.pixel_bytes, first = block.here % pixel;
    const std::int64_t image = m_.pixels * pixel, left = image - block.here % image;  // to the image's end
    if (m_.has_spaced_images() && block.axes.empty() && left == image && block.run > image &&
        block.run % image == 0) {
      block.axes.push_back({block.run / image, image, image});
      block.run = image;
    }
    const bool whole = first == 0 && block.run % pixel == 0 && block.run <= left &&
                       std::all_of(block.axes.begin(), block.axes.end(),
                                   [&](const Axis& axis) { return axis.here % pixel == 0; });
    if (whole && block.axes.size() < 2) {
      block.axes.push_back({block.run / pixel, pixel, pixel});
      block.run = pixel;
      return place(std::move(block));
    }
    if (!block.axes.empty()) return cut(block, 0);
    // The rest of the first pixel, or all whole pixels of the image.
    const std::int64_t bytes = first > 0 ? pixel - first : std::min(left, block.run) / pixel * pixel;
    add(Block{block.here, block.there, bytes, {}});
    if (bytes < block.run)
      add(Block{block.here + bytes, block.there + to_unsigned(bytes), block.run - bytes, {}});
  }
  // Adds each step of an axis as a block of its own.
  void cut(const Block& block, std::size_t axis) {
    Block step = block;
    const Axis cut = block.axes[axis];
    step.axes.erase(step.axes.begin() + to_signed(axis));
    for (std::int64_t i = 0; i < cut.count; ++i) {
      step.here = block.here + i * cut.here;
      step.there = block.there + to_unsigned(i * cut.there);
      add(step);
    }
  }

  // Whole channel blocks become an axis, too; where there are two axes already, one of the three is cut.
  void add_channels(const Block& block) {
    const std::int64_t bytes = m_.block_bytes, first = block.here % m_.pixel_bytes, last = first + block.run;
    const bool axis_left = block.axes.size() < 2;
    if (!axis_left && last / bytes - ceil_div(first, bytes) > block.axes.front().count) return cut(block, 0);
    for (std::int64_t at = first; at < last;) {
      const std::int64_t whole = at % bytes == 0 ? (last - at) / bytes : 0;
      if (whole > 1 && axis_left) {
        emit(block, at, bytes, {{whole, m_.block_stride, bytes}});
        at += whole * bytes;
      } else {
        const std::int64_t run = std::min(last, at / bytes * bytes + bytes) - at;
        emit(block, at, run, {});
        at += run;
      }
    }
  }

  // Adds `run` bytes from channel byte `channel` of a pixel on, along the block's axes and `more`.
  void emit(const Block& block, std::int64_t channel, std::int64_t run, std::vector<Axis> axes) {
    const std::int64_t bytes = m_.block_bytes, image = m_.pixels * m_.pixel_bytes;
    for (const Axis& axis : block.axes) {
      const bool pixels = axis.here % m_.pixel_bytes == 0;
      const std::int64_t step = walks_images(axis) ? axis.here / image * m_.image_stride
                                : pixels           ? axis.here / m_.pixel_bytes * bytes
                                                   : axis.here / bytes * m_.block_stride;
      axes.push_back({axis.count, step, axis.there});
    }
    // The outermost axis comes first, so that `merge` finds axes that are contiguous in the map.
    std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.here > b.here; });
    Block merged{0, 0, run, std::move(axes)};
    merge(merged);
    run = merged.run, axes = std::move(merged.axes);
    axes.insert(axes.begin(), 2 - axes.size(), Axis{});
    const std::int64_t offset =
        m_.offset_of(block.here / image, block.here % image / m_.pixel_bytes, channel / bytes) +
        channel % bytes;
    const bool source = end_ == TransferEnd::kSource;
    const std::uint64_t here = m_.address + to_unsigned(offset),
                        there = block.there + to_unsigned(channel - block.here % m_.pixel_bytes);
    Transfer t{source ? here : there, source ? there : here, one_run(run)};
    const auto& [rows, columns] = std::pair(axes[0], axes[1]);
    t.shape.rows = rows.count, t.shape.columns = columns.count;
    t.shape.source_row = source ? rows.here : rows.there;
    t.shape.source_column = source ? columns.here : columns.there;
    t.shape.destination_row = source ? rows.there : rows.here;
    t.shape.destination_column = source ? columns.there : columns.here;
    made_.push_back(t);
  }

  const StoredMap& m_;
  TransferEnd end_;
  std::vector<Transfer> made_;
};

}  // namespace

std::vector<Transfer> relaid(const StoredMapPointer& map, std::vector<Transfer> transfers, TransferEnd end) {
  if (!map) return transfers;
  Mover mover(*map, end);
  for (const Transfer& transfer : transfers) mover.add(transfer);
  return mover.take();
}

namespace {

constexpr std::int64_t kLeastBlock = 64;
// Runs of a block that must be cut within its runs: with more of them, the contiguous bytes at the source
// would be shorter.
constexpr std::int64_t kMostRuns = 64;

// The part with runs [row, row + rows) and columns [column, column + columns), which lie in one group of
// `transposed` columns or are whole groups.
Transfer part_of_block(const Transfer& whole, std::int64_t row, std::int64_t rows, std::int64_t column,
                       std::int64_t columns) {
  const CopyShape& s = whole.shape;
  Transfer part = whole;
  part.source += to_unsigned(row * s.source_column + column);
  part.destination += to_unsigned(row + column / s.transposed * s.transposed_row +
                                  column % s.transposed * s.destination_column);
  part.shape.columns = rows, part.shape.run = columns;
  part.shape.transposed = std::min(s.transposed, columns);
  return part;
}

// An axis of single bytes with `count` steps, `from` bytes apart at the source and `to` bytes apart at the
// destination.
struct TransposedAxis {
  std::int64_t count, from, to;
};
std::optional<Transfer> transposed_bytes_of(const Transfer& transfer, const TransposedAxis& across,
                                            const TransposedAxis& down) {
  if (across.from != 1 || down.to != 1 || across.count == 1 || down.count == 1) return std::nullopt;
  Transfer block = transfer;
  block.shape = {across.count, down.count, 1, down.from, 0, across.to, 0, across.count, 0};
  return block;
}

}  // namespace

std::int64_t transposed_bytes(const ChipConfig& chip) {
  std::int64_t bytes = UINT16_MAX;  // counts have 16 bits
  for (const DmaConfig* dma : {&chip.core.copy, &chip.copy}) {
    const std::int64_t buffer = dma->buffer_bytes;
    bytes = std::min({bytes, buffer / 2, buffer - dma->burst_bytes});
  }
  return bytes < kLeastBlock ? 0 : bytes;
}

std::vector<Transfer> cut_blocks(const Transfer& transfer, std::int64_t bytes) {
  const CopyShape& s = transfer.shape;
  if (s.run * s.columns <= bytes) return {transfer};
  const std::int64_t rows = std::min({s.columns, bytes, std::max(kMostRuns, bytes / s.run)});
  const std::int64_t room = bytes / rows, groups = room / s.transposed;
  const std::int64_t columns = groups > 0 ? groups * s.transposed : room;
  const std::int64_t within = groups > 0 ? s.run : s.transposed;  // bytes within which columns are cut
  std::vector<Transfer> parts;
  for (std::int64_t row = 0; row < s.columns; row += rows) {
    for (std::int64_t group = 0; group < s.run; group += within) {
      for (std::int64_t at = 0; at < within; at += columns)
        parts.push_back(part_of_block(transfer, row, std::min(rows, s.columns - row), group + at,
                                      std::min(columns, within - at)));
    }
  }
  return parts;
}

std::vector<Transfer> transposed(std::vector<Transfer> transfers, std::int64_t bytes) {
  const auto single_bytes = [](const Transfer& transfer) { return transfer.shape.run == 1; };
  if (bytes == 0 || std::none_of(transfers.begin(), transfers.end(), single_bytes)) return transfers;
  std::vector<Transfer> made;
  for (const Transfer& transfer : transfers) {
    const CopyShape& s = transfer.shape;
    const TransposedAxis columns{s.columns, s.source_column, s.destination_column},
        rows{s.rows, s.source_row, s.destination_row};
    std::optional<Transfer> block;
    if (s.run == 1 && s.transposed == 0) {
      block = transposed_bytes_of(transfer, columns, rows);
      if (!block) block = transposed_bytes_of(transfer, rows, columns);
    }
    if (!block) {
      made.push_back(transfer);
      continue;
    }
    for (const Transfer& part : cut_blocks(*block, bytes)) made.push_back(part);
  }
  return made;
}

}  // namespace tilebeat
