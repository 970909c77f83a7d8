#include "planner/layer/result_stores.h"

#include "base/types.h"
#include "planner/language/relayout.h"

#include <algorithm>

namespace tilebeat {
namespace {

std::uint64_t bytes_on(std::uint64_t address, std::int64_t bytes) {
  return address + to_unsigned(bytes);
}

// The stores of a transposed convolution: the bytes of a pixel are rows of neighbouring pixels of the output.
class InterleavedStore {
 public:
  InterleavedStore(const Problem& p, const TensorLayout& output, const OutputTile& tile, Interval blocks,
                   std::uint64_t source, const MapPart& outs)
      : i_(*p.interleaving),
        outs_(outs),
        output_(output),
        tile_(tile),
        source_(source),
        begin_(std::int64_t{blocks.begin} * p.block_kernels * p.element_bytes()),
        pixel_(std::int64_t{p.kernels_of(blocks)} * p.element_bytes()),
        phase_(i_.stride[1] * output.pixel_stride),
        lead_(i_.lead[1] * output.pixel_stride),
        left_(outs.columns.begin * output.pixel_stride),
        right_(outs.columns.end * output.pixel_stride) {}

  std::vector<Transfer> run() {
    for (int row = 0; row < i_.stride[0]; ++row) add_phase(row);
    return std::move(transfers_);
  }

 private:
  // Adds the bytes of a result pixel that belong to row `row` of its output pixels, for all columns.
  void add_phase(int row) {
    const std::int64_t begin = std::max(begin_, row * phase_);
    const std::int64_t end = std::min(begin_ + pixel_, (row + 1) * phase_);
    if (begin >= end) return;
    const Interval rows = rows_of(row);
    if (rows.empty()) return;
    const std::int64_t first = begin - row * phase_, last = end - row * phase_;
    const auto add_cut = [&](int column) {
      add(row, rows, {column, column + 1},
          {std::max(first, left_ - at(column, 0)), std::min(last, right_ - at(column, 0))});
    };
    // The bounds of the stored bytes may cut the first and the last column.
    Interval whole{tile_.w.out, tile_.w.out + tile_.w.outs};
    if (at(whole.begin, first) < left_) add_cut(whole.begin++);
    if (!whole.empty() && at(whole.end - 1, last) > right_) add_cut(--whole.end);
    if (!whole.empty()) add(row, rows, whole, {first, last});
  }
  // Rows of the tile whose output row `row` is stored.
  Interval rows_of(int row) const {
    const int stride = i_.stride[0], above = outs_.rows.begin + i_.lead[0] - row;
    const int behind = outs_.rows.end + i_.lead[0] - row;
    return {std::max(tile_.h.out, above > 0 ? ceil_div(above, stride) : 0),
            std::min(tile_.h.out + tile_.h.outs, behind > 0 ? ceil_div(behind, stride) : 0)};
  }
  // Offset in a row of the output of byte `byte` in the row of output pixels of result column `column`.
  std::int64_t at(int column, std::int64_t byte) const { return column * phase_ - lead_ + byte; }

  struct Bytes {
    std::int64_t begin, end;
  };
  void add(int row, Interval rows, Interval columns, Bytes bytes) {
    if (bytes.begin >= bytes.end) return;
    Transfer transfer;
    CopyShape& shape = transfer.shape;
    shape = one_run(bytes.end - bytes.begin);
    shape.columns = columns.size(), shape.rows = rows.size();
    shape.source_column = pixel_, shape.source_row = pixel_ * tile_.w.outs;
    shape.destination_column = phase_, shape.destination_row = i_.stride[0] * output_.row_stride;
    transfer.source = bytes_on(source_, (rows.begin - tile_.h.out) * shape.source_row +
                                            (columns.begin - tile_.w.out) * shape.source_column +
                                            row * phase_ + bytes.begin - begin_);
    const std::int64_t out_row = std::int64_t{rows.begin} * i_.stride[0] + row - i_.lead[0];
    transfer.destination = bytes_on(output_.at(tile_.image, out_row, 0), at(columns.begin, bytes.begin));
    transfers_.push_back(transfer);
  }

  const Interleaving& i_;
  MapPart outs_;
  const TensorLayout& output_;
  const OutputTile& tile_;
  std::uint64_t source_;
  std::int64_t begin_, pixel_;  // bytes of a pixel: the first one here, and how many
  std::int64_t phase_, lead_;   // bytes of a row of a pixel's pixels, and those that are cut off in front
  std::int64_t left_, right_;   // bounds of the stored bytes in an output row
  std::vector<Transfer> transfers_;
};

}  // namespace

std::vector<Transfer> store_transfers(const Problem& p, const TensorLayout& output, const OutputTile& tile,
                                      Interval blocks, std::uint64_t source, std::optional<MapPart> outs) {
  if (p.interleaving) {
    const MapPart stored = outs.value_or(
        MapPart{{0, p.interleaving->height}, {0, to_int(output.row_stride / output.pixel_stride)}});
    return relaid(output.stored, InterleavedStore(p, output, tile, blocks, source, stored).run(),
                  TransferEnd::kDestination);
  }
  Transfer transfer;
  CopyShape& shape = transfer.shape;
  shape = one_run(std::int64_t{p.kernels_of(blocks)} * p.element_bytes());
  shape.columns = tile.w.outs, shape.rows = tile.h.outs;
  shape.source_column = shape.run, shape.source_row = shape.run * tile.w.outs;
  shape.destination_column = output.pixel_stride, shape.destination_row = output.row_stride;
  transfer.source = source;
  transfer.destination = bytes_on(output.at(tile.image, tile.h.out, tile.w.out),
                                  std::int64_t{blocks.begin} * p.block_kernels * p.element_bytes());
  return relaid(output.stored, {transfer}, TransferEnd::kDestination);
}

}  // namespace tilebeat
