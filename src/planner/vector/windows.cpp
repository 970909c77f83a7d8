// Operators on parts of maps: poolings, resizes, and padding of maps.
#include "base/types.h"
#include "planner/layer/placement.h"
#include "planner/vector/families.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {

// ---- the axes of a resize ----

namespace {

/// Places in 1/1024 of a pixel, as the integer kernels of TensorFlow Lite have them.
ResizeAxis fixed_axis(ResizeCoordinates rule, int in, int out) {
  constexpr std::int64_t kUnit = 1024;
  const bool corners = rule == ResizeCoordinates::kAlignCorners && out > 1;
  const std::int64_t from = in - (corners ? 1 : 0), to = out - (corners ? 1 : 0);
  const std::int64_t step = (kUnit * from + to / 2) / to;
  const bool half = rule == ResizeCoordinates::kHalfPixel || rule == ResizeCoordinates::kPytorchHalfPixel;
  return {in, half ? step / 2 - kUnit / 2 : 0, step, kUnit};
}

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
    return to_int(std::clamp<std::int64_t>(floor_div(at, divisor), 0, extent - 1));
  };
  const std::int64_t last = first + (outs.end - std::int64_t{1}) * step;
  // The next pixel is needed when the last output lies beyond the pixel below it.
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
  if (resize.arithmetic == Arithmetic::kFixed && resize.mode == Resize::Mode::kBilinear)
    return fixed_axis(resize.coordinates, in, out);
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

namespace {

constexpr int kMostSteps = 255;  // largest value of an 8-bit field

/// Operators that make output pixels from input pixels, channel by channel.
class MapWork : public RunWork {
 protected:
  using RunWork::RunWork;

  // The transfers of a part of a map's outputs and of the inputs that they need.
  VectorPiece piece_of_map(int image, const Window& h, const Window& w, Interval channels) const {
    const auto& in = inputs_[0].info.shape;
    const std::int64_t pixel = (image * in[1] + h.in) * in[2] + w.in;
    const std::int64_t result = (image * output_.shape[1] + h.out) * output_.shape[2] + w.out;
    const std::int64_t size = dtype_size(output_.dtype), all = channels_ * size, own = channels.size() * size;
    const auto address = [&](std::uint64_t map, std::int64_t first) {
      return map + to_unsigned(first * all + channels.begin * size);
    };
    VectorPiece piece;
    piece.in_bytes = std::int64_t{h.ins} * w.ins * own;
    piece.out_bytes = std::int64_t{h.outs} * w.outs * own;
    CopyShape fetch = one_run(std::int64_t{w.ins} * own);
    piece.store = one_run(std::int64_t{w.outs} * own);
    fetch.rows = h.ins, fetch.source_row = in[2] * all, fetch.destination_row = fetch.run;
    piece.store.rows = h.outs, piece.store.source_row = piece.store.run;
    piece.store.destination_row = output_.shape[2] * all;
    if (channels.size() < channels_) {  // pixels are apart in DRAM
      fetch.run = fetch.destination_column = own;
      fetch.columns = w.ins, fetch.source_column = all;
      piece.store.run = piece.store.source_column = own;
      piece.store.columns = w.outs, piece.store.destination_column = all;
    }
    piece.fetches.push_back({address(inputs_[0].address, pixel), 0, fetch});
    piece.destination = address(result_.address, result);
    return piece;
  }
};

class PoolingWork : public MapWork {
 public:
  PoolingWork(const Pooling& pool, const VectorJob& job)
      : MapWork(job, pool.kind == Pooling::Kind::kMax ? VectorKind::kMaxPool : VectorKind::kAveragePool),
        pool_(pool) {
    // Strides and dilations that are never used, as in a global pooling, may have any value.
    const auto step = [](std::int64_t count, int value) { return count > 1 ? value : 1; };
    const std::array<int, 2> stride{step(output_.shape[1], pool.stride[0]),
                                    step(output_.shape[2], pool.stride[1])},
        dilation{step(pool.kernel[0], pool.dilation[0]), step(pool.kernel[1], pool.dilation[1])};
    for (const int value : {stride[0], stride[1], dilation[0], dilation[1]}) {
      if (value > kMostSteps)
        cannot_fit(fmt::format("a stride or dilation of {} is beyond {}", value, kMostSteps));
    }
    set_field(run_.kernel_h, pool.kernel[0]), set_field(run_.kernel_w, pool.kernel[1]);
    set_field(run_.stride_h, stride[0]), set_field(run_.stride_w, stride[1]);
    set_field(run_.dilation_h, dilation[0]);
    set_field(run_.dilation_w, dilation[1]);
    run_.count_padding = pool.count_include_pad;
    run_.arithmetic = pool.kind == Pooling::Kind::kMax ? Arithmetic::kExact : pool.arithmetic;
    bound(pool.range);
    if (run_.arithmetic == Arithmetic::kFloat32Ort) {
      append(static_cast<float>(pool.input_scale), parameters_);
      append(static_cast<float>(pool.output_scale), parameters_);
    }
    need_row();
    check_parameters();
    // A pooling need not touch every input.
    const auto& shape = inputs_[0].info.shape;
    const std::int64_t pixels =
        axis(0).touched(to_int(output_.shape[1])) * axis(1).touched(to_int(output_.shape[2]));
    touched_ = output_.size_bytes() + shape[0] * pixels * channels_ * dtype_size(output_.dtype);
  }

 private:
  WindowAxis axis(std::size_t number) const {
    return {to_int(inputs_[0].info.shape[1 + number]), pool_.kernel[number], pool_.stride[number],
            pool_.dilation[number], pool_.pads[number]};
  }

  void cut(VectorCut& cut) const override {
    const Interval part = cut.rows(), across = cut.columns();
    if (part.empty()) return;
    const WindowAxis h = axis(0), w = axis(1);
    int rows = std::max(1, to_int(ceil_div(part.size(), 2))), columns = across.size();
    int channels = channels_;
    const auto fits = [&] {  // into NRAM, and into the instruction, which counts pixels in 16 bits
      const bool counted = std::max({h.span(rows), w.span(columns), rows, columns}) <= UINT16_MAX;
      return counted && (std::int64_t{h.span(rows)} * w.span(columns) + std::int64_t{rows} * columns) *
                                channels * dtype_size(output_.dtype) <=
                            cut.step_bytes();
    };
    while (rows > 1 && !fits()) --rows;
    while (columns > 1 && !fits()) columns = to_int(ceil_div(columns, 2));
    while (channels > 1 && !fits()) channels = ceil_div(channels, 2);
    if (!fits()) beyond_nram("a window and its result");
    for_parts(cut, rows, columns, [&](int image, Interval r, Interval c) {
      const Window high = h.window(r), wide = w.window(c);
      for (int k = 0; k < channels_; k += channels)
        add_pooled(image, high, wide, {k, std::min(channels_, k + channels)}, cut);
    });
  }

  void add_pooled(int image, const Window& h, const Window& w, Interval channels, VectorCut& cut) const {
    VectorRun run = run_;
    set_field(run.rows, h.outs), set_field(run.columns, w.outs);
    set_field(run.channels, channels.size());
    set_field(run.height, h.ins), set_field(run.width, w.ins);
    set_field(run.h_offset, h.offset), set_field(run.w_offset, w.offset);
    VectorPiece piece = piece_of_map(image, h, w, channels);
    piece.run = run;
    cut.pieces.push_back(std::move(piece));
  }

  const Pooling& pool_;
};

class ResizeWork : public MapWork {
 public:
  ResizeWork(const Resize& resize, const VectorJob& job) : MapWork(job, VectorKind::kTable), resize_(resize) {
    const auto& in = inputs_[0].info.shape;
    for (const std::size_t axis : {0U, 1U}) {
      axes_[axis] = resize_axis(resize, to_int(in[1 + axis]), to_int(output_.shape[1 + axis]));
    }
    need_row();
    check_parameters();
    const std::int64_t pixels = axes_[0].touched(resize.mode, to_int(output_.shape[1])) *
                                axes_[1].touched(resize.mode, to_int(output_.shape[2]));
    touched_ = output_.size_bytes() + in[0] * pixels * channels_;
  }

 private:
  void cut(VectorCut& cut) const override {
    const Interval part = cut.rows(), across = cut.columns();
    if (part.empty()) return;
    const ResizeAxis &h = axes_[0], &w = axes_[1];
    // For any position on the map: one source pixel more than outputs in the middle of it may need.
    const auto span = [&](const ResizeAxis& axis, int outs) {
      return std::min<std::int64_t>(axis.extent, ceil_div((outs - 1) * axis.step, axis.divisor) + 2);
    };
    const auto fits = [&](int rows, int columns) {
      return (span(h, rows) * span(w, columns) + std::int64_t{rows} * columns) * channels_ <=
             cut.step_bytes();
    };
    int rows = std::max(1, to_int(ceil_div(part.size(), 2))), columns = across.size();
    while (rows > 1 && !fits(rows, columns)) --rows;
    while (columns > 1 && !fits(rows, columns)) columns = to_int(ceil_div(columns, 2));
    if (!fits(rows, columns)) beyond_nram("the pixels around a place and their mean");
    for_parts(cut, rows, columns, [&](int image, Interval r, Interval c) { add_resized(image, r, c, cut); });
  }

  void add_resized(int image, Interval rows, Interval columns, VectorCut& cut) const {
    const auto window = [&](const ResizeAxis& axis, Interval outs) {
      const Interval in = axis.needed(resize_.mode, outs);
      return Window{outs.begin, outs.size(), in.begin, in.size(), 0};
    };
    const Window h = window(axes_[0], rows), w = window(axes_[1], columns);
    // The position of the first output, relative to the first pixel that is fetched.
    const auto first = [](const ResizeAxis& axis, const Window& part) {
      return static_cast<std::int32_t>(axis.first + part.out * axis.step - part.in * axis.divisor);
    };
    VectorResize run;
    run.kind = resize_.mode == Resize::Mode::kNearest     ? ResizeKind::kNearest
               : resize_.arithmetic == Arithmetic::kFixed ? ResizeKind::kBilinearFixed
                                                          : ResizeKind::kBilinear;
    run.type = output_.dtype, set_field(run.zero, output_.zero_point);
    set_field(run.rows, h.outs), set_field(run.columns, w.outs);
    set_field(run.channels, channels_);
    set_field(run.height, h.ins), set_field(run.width, w.ins);
    run.h_first = first(axes_[0], h), run.w_first = first(axes_[1], w);
    set_field(run.h_step, axes_[0].step);
    set_field(run.w_step, axes_[1].step);
    set_field(run.h_divisor, axes_[0].divisor);
    set_field(run.w_divisor, axes_[1].divisor);
    VectorPiece piece = piece_of_map(image, h, w, {0, channels_});
    piece.run = run;
    cut.pieces.push_back(std::move(piece));
  }

  const Resize& resize_;
  std::array<ResizeAxis, 2> axes_;
};

// The input pixels of outputs `outs`, without those that are border.
Interval inside(Interval outs, int before, std::int64_t extent) {
  return {std::max(0, outs.begin - before), to_int(std::min<std::int64_t>(extent, outs.end - before))};
}

/// DMA engines fill a buffer, copy the input into it, and store it.
class PadWork : public VectorWork {
 public:
  PadWork(const Pad& pad, const VectorJob& job) : VectorWork(job), pad_(pad) {}

 private:
  void cut(VectorCut& cut) const override {
    const Interval part = cut.rows(), across = cut.columns();
    if (part.empty()) return;
    const auto fits = [&](int rows, int columns) {
      return std::int64_t{rows} * columns * channels_ * dtype_size(output_.dtype) <= cut.step_bytes();
    };
    int rows = std::max(1, to_int(ceil_div(part.size(), 2))), columns = across.size();
    while (rows > 1 && !fits(rows, columns)) --rows;
    while (columns > 1 && !fits(rows, columns)) columns = ceil_div(columns, 2);
    if (!fits(rows, columns)) beyond_nram("a pixel");
    for_parts(cut, rows, columns, [&](int image, Interval r, Interval c) { add_padded(image, r, c, cut); });
  }

  void add_padded(int image, Interval rows, Interval columns, VectorCut& cut) const {
    const auto& in = inputs_[0].info.shape;
    const Interval h = inside(rows, pad_.pads[0], in[1]), w = inside(columns, pad_.pads[1], in[2]);
    // Bytes of a pixel of the output, of one of the input, and of the channels in front of the latter.
    const std::int64_t size = dtype_size(output_.dtype), pixel = channels_ * size, inner = in[3] * size,
                       before = pad_.channel_pads[0] * size;
    VectorPiece piece;
    piece.store = one_run(columns.size() * pixel);
    piece.store.rows = rows.size(), piece.store.source_row = piece.store.run;
    piece.store.destination_row = output_.shape[2] * pixel;
    piece.in_bytes = piece.store.run * rows.size();
    piece.destination =
        result_.address +
        to_unsigned(((image * output_.shape[1] + rows.begin) * output_.shape[2] + columns.begin) * pixel);
    if (!h.empty() && !w.empty()) {
      // Input pixels stay contiguous where they have all channels.
      const bool together = inner == pixel;
      CopyShape fetch = one_run(together ? w.size() * inner : inner);
      fetch.columns = together ? 1 : w.size(), fetch.rows = h.size();
      fetch.source_column = inner, fetch.source_row = in[2] * inner;
      fetch.destination_column = pixel, fetch.destination_row = piece.store.run;
      const std::int64_t from = (image * in[1] + h.begin) * in[2] + w.begin;
      const std::int64_t first = (h.begin + pad_.pads[0] - rows.begin) * piece.store.run +
                                 (w.begin + pad_.pads[1] - columns.begin) * pixel;
      piece.fetches.push_back({inputs_[0].address + to_unsigned(from * inner), first + before, fetch});
    }
    if (piece.fetches.empty() || piece.fetches.front().shape.bytes() < piece.in_bytes)
      set_field(piece.fill, pad_.value);
    cut.pieces.push_back(std::move(piece));
  }

  const Pad& pad_;
};

}  // namespace

Work work_of(const Pooling& pool, const VectorJob& job) {
  return std::make_unique<PoolingWork>(pool, job);
}
Work work_of(const Resize& resize, const VectorJob& job) {
  return std::make_unique<ResizeWork>(resize, job);
}
Work work_of(const Pad& pad, const VectorJob& job) {
  return std::make_unique<PadWork>(pad, job);
}

}  // namespace tilebeat
