// How a resize is cut into pieces.
#include "tilebeat/base/math.h"

#include <algorithm>

#include "vector_work.h"

namespace tilebeat {

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

}  // namespace tilebeat
