// How a border around a map is cut into pieces: DMA engines fill a buffer, put the input into it and store
// it.
#include "tilebeat/base/math.h"

#include <algorithm>

#include "vector_work.h"

namespace tilebeat {
namespace {

// Those of the outputs `outs` that are not border, counted from the first pixel of the input.
Interval inside(Interval outs, int before, std::int64_t extent) {
  return {std::max(0, outs.begin - before),
          static_cast<int>(std::min<std::int64_t>(extent, outs.end - before))};
}

}  // namespace

void VectorWork::cut(const Pad& pad) {
  const Interval part = rows(), across = this->columns();
  if (part.empty()) return;
  const auto fits = [&](int rows, int columns) {
    return std::int64_t{rows} * columns * channels_ <= step_bytes();
  };
  int rows = std::max(1, static_cast<int>(ceil_div(part.size(), 2))), columns = across.size();
  while (rows > 1 && !fits(rows, columns)) --rows;
  while (columns > 1 && !fits(rows, columns)) columns = ceil_div(columns, 2);
  if (!fits(rows, columns)) beyond_nram("a pixel");
  for (int n = images().begin; n < images().end; ++n) {
    for (int r = part.begin; r < part.end; r += rows) {
      for (int c = across.begin; c < across.end; c += columns)
        add_padded(pad, n, {r, std::min(part.end, r + rows)}, {c, std::min(across.end, c + columns)});
    }
  }
}

void VectorWork::add_padded(const Pad& pad, int image, Interval rows, Interval columns) {
  const auto& in = inputs_[0].info.shape;
  const Interval h = inside(rows, pad.pads[0], in[1]), w = inside(columns, pad.pads[1], in[2]);
  VectorPiece piece;
  piece.store = one_run(std::int64_t{columns.size()} * channels_);
  piece.store.rows = rows.size(), piece.store.source_row = piece.store.run;
  piece.store.destination_row = output_.shape[2] * channels_;
  piece.in_bytes = piece.store.run * rows.size();
  piece.destination =
      result_.address +
      static_cast<std::uint64_t>(
          ((image * output_.shape[1] + rows.begin) * output_.shape[2] + columns.begin) * channels_);
  if (!h.empty() && !w.empty()) {
    // Pixels of the input keep together where they have all channels.
    const bool together = in[3] == channels_;
    CopyShape fetch = one_run(together ? w.size() * in[3] : in[3]);
    fetch.columns = together ? 1 : w.size(), fetch.rows = h.size();
    fetch.source_column = in[3], fetch.source_row = in[2] * in[3];
    fetch.destination_column = channels_, fetch.destination_row = piece.store.run;
    const std::int64_t pixel = (image * in[1] + h.begin) * in[2] + w.begin;
    const std::int64_t first = (h.begin + pad.pads[0] - rows.begin) * piece.store.run +
                               (w.begin + pad.pads[1] - columns.begin) * std::int64_t{channels_};
    piece.fetches.push_back(
        {inputs_[0].address + static_cast<std::uint64_t>(pixel * in[3]), first + pad.channel_pads[0], fetch});
  }
  if (piece.fetches.empty() || piece.fetches.front().shape.bytes() < piece.in_bytes)
    piece.fill = static_cast<std::uint8_t>(pad.value);
  pieces_.push_back(std::move(piece));
}

Copy fill_copy(const VectorPiece& piece, std::uint64_t source, std::uint64_t destination) {
  Copy copy;
  copy.unit = Unit::kIodma;
  copy.source = source, copy.destination = destination;
  copy.run_bytes = static_cast<std::uint32_t>(piece.in_bytes);
  copy.outer_count = 0, copy.pad_top = 1, copy.fill = *piece.fill;
  return copy;
}

}  // namespace tilebeat
