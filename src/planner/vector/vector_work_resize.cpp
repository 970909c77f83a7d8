// How a resize is cut into pieces.
// How a border around a map is cut into pieces: DMA engines fill a buffer, put the input into it and store
// it.
#include "base/math.h"
#include "planner/vector/vector_work.h"
#include "tilebeat/error.h"

#include <algorithm>

namespace tilebeat {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

ResizeAxis exact_axis(ResizeCoordinates rule, int in, int out) {
  const std::int64_t wide = in;
  switch (rule) {
    case ResizeCoordinates::kPytorchHalfPixel:
      if (out == 1) return {in, 0, 1, 1};
      [[fallthrough]];
    case ResizeCoordinates::kHalfPixel:
      return {in, wide - out, 2 * wide, 2 * std::int64_t{out}};
    case ResizeCoordinates::kAlignCorners:
      if (out == 1) return {in, 0, 1, 1};
      return {in, 0, wide - 1, out - 1};
    case ResizeCoordinates::kAsymmetric:
      return {in, 0, wide, out};
  }
  throw SimulationError("a rule of coordinates is not known");
}

}  // namespace

Interval ResizeAxis::needed(Resize::Mode mode, Interval outs) const {
  const auto pixel = [&](std::int64_t at) {
    return static_cast<int>(std::clamp<std::int64_t>(floor_div(at, divisor), 0, extent - 1));
  };
  const std::int64_t last = first + (outs.end - std::int64_t{1}) * step;
  // The next pixel is needed where the last output lies beyond the one below it.
  return {pixel(first + outs.begin * step),
          1 + pixel(mode == Resize::Mode::kBilinear ? last + divisor - 1 : last)};
}

std::int64_t ResizeAxis::touched(Resize::Mode mode, int outs) const {
  std::int64_t count = 0;
  int end = 0;  // pixels before it are counted
  for (int o = 0; o < outs; ++o) {
    const Interval pixels = needed(mode, {o, o + 1});
    count += std::max(0, pixels.end - std::max(end, pixels.begin));
    end = std::max(end, pixels.end);
  }
  return count;
}

ResizeAxis resize_axis(const Resize& resize, int in, int out) {
  ResizeAxis axis = exact_axis(resize.coordinates, in, out);
  if (resize.mode == Resize::Mode::kBilinear) return axis;
  const std::int64_t divisor = axis.divisor;
  axis.first *= 2, axis.step *= 2, axis.divisor *= 2;  // a half of the old divisor is a whole number
  switch (resize.rounding) {
    case Resize::Rounding::kFloor:
      break;
    case Resize::Rounding::kCeil:
      axis.first += 2 * divisor - 1;
      break;
    case Resize::Rounding::kPreferFloor:
      axis.first += divisor - 1;
      break;
    case Resize::Rounding::kPreferCeil:
      axis.first += divisor;
      break;
  }
  return axis;
}

void VectorWork::prepare(const Resize& resize) {
  const auto& in = inputs_[0].info.shape;
  for (const std::size_t axis : {0U, 1U}) {
    resize_axes_[axis] =
        resize_axis(resize, static_cast<int>(in[1 + axis]), static_cast<int>(output_.shape[1 + axis]));
  }
  need_row();
  types();
  const std::int64_t pixels = resize_axes_[0].touched(resize.mode, static_cast<int>(output_.shape[1])) *
                              resize_axes_[1].touched(resize.mode, static_cast<int>(output_.shape[2]));
  touched_ = output_.size_bytes() + in[0] * pixels * channels_;
}

void VectorWork::cut(const Resize& resize) {
  const Interval part = rows(), across = this->columns();
  if (part.empty()) return;
  const ResizeAxis &h = resize_axes_[0], &w = resize_axes_[1];
  // Anywhere on the map: one more source pixel than outputs in the middle of it may need.
  const auto span = [&](const ResizeAxis& axis, int outs) {
    return std::min<std::int64_t>(axis.extent, ceil_div((outs - 1) * axis.step, axis.divisor) + 2);
  };
  const auto fits = [&](int rows, int columns) {
    return (span(h, rows) * span(w, columns) + std::int64_t{rows} * columns) * channels_ <= step_bytes();
  };
  int rows = std::max(1, static_cast<int>(ceil_div(part.size(), 2))), columns = across.size();
  while (rows > 1 && !fits(rows, columns)) --rows;
  while (columns > 1 && !fits(rows, columns)) columns = static_cast<int>(ceil_div(columns, 2));
  if (!fits(rows, columns)) beyond_nram("the pixels around a place and their mean");
  for (int n = images().begin; n < images().end; ++n) {
    for (int r = part.begin; r < part.end; r += rows) {
      for (int c = across.begin; c < across.end; c += columns)
        add_resized(resize, n, {r, std::min(part.end, r + rows)}, {c, std::min(across.end, c + columns)});
    }
  }
}

void VectorWork::add_resized(const Resize& resize, int image, Interval rows, Interval columns) {
  const auto window = [&](const ResizeAxis& axis, Interval outs) {
    const Interval in = axis.needed(resize.mode, outs);
    return Window{outs.begin, outs.size(), in.begin, in.size(), 0};
  };
  const Window h = window(resize_axes_[0], rows), w = window(resize_axes_[1], columns);
  // Where the first output lies, counted from the first pixel that is fetched.
  const auto first = [](const ResizeAxis& axis, const Window& part) {
    return static_cast<std::int32_t>(axis.first + part.out * axis.step - part.in * axis.divisor);
  };
  VectorResize run;
  run.kind = resize.mode == Resize::Mode::kBilinear ? ResizeKind::kBilinear : ResizeKind::kNearest;
  run.type = output_.dtype, run.zero = static_cast<std::int16_t>(output_.zero_point);
  run.rows = static_cast<std::uint16_t>(h.outs), run.columns = static_cast<std::uint16_t>(w.outs);
  run.channels = static_cast<std::uint16_t>(channels_);
  run.height = static_cast<std::uint16_t>(h.ins), run.width = static_cast<std::uint16_t>(w.ins);
  run.h_first = first(resize_axes_[0], h), run.w_first = first(resize_axes_[1], w);
  run.h_step = static_cast<std::uint32_t>(resize_axes_[0].step);
  run.w_step = static_cast<std::uint32_t>(resize_axes_[1].step);
  run.h_divisor = static_cast<std::uint32_t>(resize_axes_[0].divisor);
  run.w_divisor = static_cast<std::uint32_t>(resize_axes_[1].divisor);
  VectorPiece piece = piece_of_map(image, h, w, {0, channels_});
  piece.run = run;
  pieces_.push_back(std::move(piece));
}

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
