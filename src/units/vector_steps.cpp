#include "units/vector_steps.h"

#include "base/dtype.h"

#include <algorithm>
#include <climits>

namespace tilebeat {
namespace {

bool pools(VectorKind kind) {
  return kind == VectorKind::kMaxPool || kind == VectorKind::kAveragePool || kind == VectorKind::kMean;
}
bool has_two_operands(VectorKind kind) {
  return kind == VectorKind::kAdd || kind == VectorKind::kSub || kind == VectorKind::kMul ||
         kind == VectorKind::kMax || kind == VectorKind::kMin || kind == VectorKind::kAddSums ||
         kind == VectorKind::kEndSums;
}

}  // namespace

int VectorSteps::parameter_bytes(const VectorRun& run) {
  constexpr int kTableBytes = 256, kFactor = 8, kSoftmaxBytes = 256 * 8 + kFactor;
  constexpr int kFormBytes = sizeof(MeanForm);
  constexpr int kRealSoftmaxBytes = 256 * 4 + kFactor;
  constexpr int kWord = 4, kHalf = 2;
  constexpr int kInt16SoftmaxBytes = kFactor + 2 * kIntervalEntries * kHalf;
  constexpr int kCurveBytes = 4 * kWord + kSigmoidEntries * kHalf;
  const bool fixed_int16 = run.a_type == DType::kInt16 && run.arithmetic == Arithmetic::kFixed;
  switch (run.kind) {
    case VectorKind::kTable:
      return kTableBytes;
    case VectorKind::kScale:
      return kFactor + run.channels * 2 * kFactor;
    case VectorKind::kAdd:
    case VectorKind::kSub:
      return 3 * kFactor + (fixed_int16 ? kWord : 0);
    case VectorKind::kMul:
    case VectorKind::kMax:
    case VectorKind::kMin:
    case VectorKind::kSlopes:
      return 3 * kFactor;
    case VectorKind::kSigmoid:
    case VectorKind::kTanh:
      return kCurveBytes;
    case VectorKind::kSoftmax:
      if (run.a_type == DType::kInt16) return kInt16SoftmaxBytes;
      return run.arithmetic == Arithmetic::kExact ? kSoftmaxBytes : kRealSoftmaxBytes;
    case VectorKind::kEndSums:
      return kActivationBytes + run.channels * kPostParameterBytes;
    case VectorKind::kMean:
      return run.arithmetic == Arithmetic::kFixed ? 2 * kFactor + kFormBytes : 2 * kFactor;
    case VectorKind::kQuantize:
    case VectorKind::kDequantize:
    case VectorKind::kRange:
    case VectorKind::kDynamic:
    case VectorKind::kDynamicZero:
      return kFactor;
    case VectorKind::kAveragePool:
      return run.arithmetic == Arithmetic::kFloat32Ort ? kFactor : 0;
    case VectorKind::kMaxPool:
    case VectorKind::kAddSums:
      return 0;
  }
  return 0;
}

int VectorSteps::lanes_of_element(const VectorRun& run) {
  const bool wide = run.a_type == DType::kInt16 || run.out_type == DType::kInt16 ||
                    (has_two_operands(run.kind) && run.b_type == DType::kInt16);
  return wide ? dtype_size(DType::kInt16) : 1;
}

VectorSteps::VectorSteps(const VectorRun& run, int lanes, int burst_bytes)
    : run_(run),
      lanes_(lanes),
      burst_bytes_(burst_bytes),
      lanes_of_element_(lanes_of_element(run)),
      elements_(std::int64_t{run.rows} * run.columns * run.channels) {
  const int bytes = parameter_bytes(run);
  if (bytes == 0) {
    advance();
    return;
  }
  step_.parameters = true;
  step_.a = run.parameters;
  step_.a_bytes = bytes;
}

void VectorSteps::advance() {
  const std::int64_t units = run_.kind == VectorKind::kSoftmax || pools(run_.kind)
                                 ? std::int64_t{run_.rows} * run_.columns
                                 : elements_;
  if (at_ >= units) {
    done_ = true;
    return;
  }
  step_ = VectorStep{};
  if (pools(run_.kind)) {
    make_pooling();
  } else if (run_.kind == VectorKind::kSoftmax) {
    make_softmax();
  } else {
    make_elementwise();
  }
}

void VectorSteps::make_elementwise() {
  const int a_size = dtype_size(run_.a_type), b_size = dtype_size(run_.b_type);
  const int of_burst = std::max(1, burst_bytes_ / std::max(a_size, has_two_operands(run_.kind) ? b_size : 1));
  const int out_size = dtype_size(run_.out_type);
  const int of_result = run_.kind == VectorKind::kDequantize ? burst_bytes_ / out_size : of_burst;
  const auto count = to_int(std::min<std::int64_t>({of_burst, of_result, elements_ - at_}));
  step_.a = run_.a + to_unsigned(at_ * a_size);
  step_.a_bytes = count * a_size;
  if (has_two_operands(run_.kind)) {
    step_.b = run_.b + to_unsigned(at_ * b_size);
    step_.b_bytes = count * b_size;
  }
  step_.result = run_.destination + to_unsigned(at_ * dtype_size(run_.out_type));
  step_.results = count;
  step_.clocks = passes(count);
  step_.first = at_ == 0;
  at_ += count;
  step_.last = at_ == elements_;
  if (run_.kind == VectorKind::kRange) {  // one result, at the end
    step_.result = run_.destination;
    step_.results = step_.last ? kRangeReals : 0;
  }
}

void VectorSteps::make_softmax() {
  constexpr int kPasses = 3;
  step_.a = run_.a + to_unsigned(at_ * a_pixel());
  step_.a_bytes = a_pixel();
  step_.result = run_.destination + to_unsigned(at_ * out_pixel());
  step_.results = run_.channels;
  step_.clocks = kPasses * passes(run_.channels);
  ++at_;
}

// Finds the next taps of a kernel row on the map, as many as fit one burst; false when the pixel has no more.
bool VectorSteps::next_taps() {
  const auto row = to_int(at_ / run_.columns), column = to_int(at_ % run_.columns);
  for (; tap_h_ < run_.kernel_h; ++tap_h_, tap_w_ = 0) {
    const int h = row * run_.stride_h + tap_h_ * run_.dilation_h + run_.h_offset;
    if (h < 0 || h >= run_.height) continue;
    const auto w_of = [&](int tap) { return column * run_.stride_w + tap * run_.dilation_w + run_.w_offset; };
    while (tap_w_ < run_.kernel_w && w_of(tap_w_) < 0) ++tap_w_;
    const int first = tap_w_;
    while (tap_w_ < run_.kernel_w && w_of(tap_w_) < run_.width) {
      ++tap_w_;
      if (run_.dilation_w > 1 || (tap_w_ - first + 1) * a_pixel() > burst_bytes_) break;
    }
    if (tap_w_ == first) continue;
    step_.a = run_.a + to_unsigned((std::int64_t{h} * run_.width + w_of(first)) * a_pixel());
    step_.taps = tap_w_ - first;
    step_.a_bytes = step_.taps * a_pixel();
    return true;
  }
  return false;
}

void VectorSteps::make_pooling() {
  const bool first = tap_h_ == 0 && tap_w_ == 0;
  if (first) {
    // The divisor of an average is known before its taps are read.
    std::int64_t on_map = 0;
    for (const int h0 = to_int(at_ / run_.columns) * run_.stride_h + run_.h_offset; tap_h_ < run_.kernel_h;
         ++tap_h_) {
      const int h = h0 + tap_h_ * run_.dilation_h;
      if (h < 0 || h >= run_.height) continue;
      for (int tap = 0; tap < run_.kernel_w; ++tap) {
        const int w = to_int(at_ % run_.columns) * run_.stride_w + tap * run_.dilation_w + run_.w_offset;
        on_map += w >= 0 && w < run_.width ? 1 : 0;
      }
    }
    tap_h_ = 0;
    count_ = run_.count_padding ? std::int64_t{run_.kernel_h} * run_.kernel_w : on_map;
    left_ = on_map;
  }
  next_taps();
  left_ -= step_.taps;
  step_.first = first;
  step_.last = left_ <= 0;
  step_.divisor = std::max<std::int64_t>(count_, 1);
  step_.results = run_.channels;
  step_.result = run_.destination + to_unsigned(at_ * out_pixel());
  step_.clocks = step_.taps * passes(run_.channels);
  if (!step_.last) return;
  tap_h_ = tap_w_ = 0;
  ++at_;
}

ResizeSteps::ResizeSteps(const VectorResize& run, int lanes, int burst_bytes)
    : run_(run), burst_bytes_(burst_bytes), passes_((run.channels + lanes - 1) / lanes) {
  enter_pixel();
  make_step();
}

// The first and last pixel of the source are repeated beyond its edges.
ResizeSteps::Taps ResizeSteps::taps_of(const Axis& axis, std::int64_t output) const {
  const std::int64_t at = axis.first + output * axis.step;
  const std::int64_t rest = (at % axis.divisor + axis.divisor) % axis.divisor;
  const std::int64_t below = (at - rest) / axis.divisor;
  Taps taps;
  if (run_.kind != ResizeKind::kNearest) taps.weights[0] = axis.divisor;
  if (below < 0) return taps;
  taps.first = axis.extent - 1;
  if (below >= axis.extent - 1) return taps;
  taps.first = below;
  if (run_.kind == ResizeKind::kNearest || rest == 0) return taps;
  taps.count = 2;
  taps.weights = {axis.divisor - rest, rest};
  return taps;
}

void ResizeSteps::enter_pixel() {
  if (done()) return;
  h_ = taps_of({run_.height, run_.h_first, run_.h_step, run_.h_divisor}, pixel_ / run_.columns);
  w_ = taps_of({run_.width, run_.w_first, run_.w_step, run_.w_divisor}, pixel_ % run_.columns);
  row_ = column_ = 0;
}

void ResizeSteps::make_step() {
  if (done()) return;
  const bool alone = 2 * run_.channels > burst_bytes_;
  step_ = VectorStep{};
  step_.taps = alone ? 1 : w_.count;
  step_.a = run_.a + to_unsigned(((h_.first + row_) * run_.width + w_.first + column_) * run_.channels);
  step_.a_bytes = step_.taps * run_.channels;
  const auto row = to_size(row_), column = to_size(column_);
  for (std::size_t tap = 0; tap < to_size(step_.taps); ++tap)
    step_.weights[tap] = h_.weights[row] * w_.weights[column + tap];
  step_.first = row_ == 0 && column_ == 0;
  column_ += step_.taps;
  if (column_ == w_.count) column_ = 0, ++row_;
  step_.last = row_ == h_.count;
  if (run_.kind != ResizeKind::kNearest)
    step_.divisor = std::int64_t{run_.h_divisor} * std::int64_t{run_.w_divisor};
  step_.results = run_.channels;
  step_.result = run_.destination + to_unsigned(pixel_ * run_.channels);
  step_.clocks = step_.taps * passes_;
}

void ResizeSteps::advance() {
  if (step_.last) {
    ++pixel_;
    enter_pixel();
  }
  make_step();
}

namespace {

// Positions that windows along an axis of a pooling touch on a map of `extent`.
ByteSet pooled(std::int64_t outputs, int stride, int kernel, int dilation, int offset, int extent) {
  // Positions of one remainder by the dilation neighbour one another.
  const std::int64_t step = std::max(1, dilation), row = extent / step + 2;
  ByteSet by_remainder;
  for (std::int64_t output = 0; output < outputs; ++output) {
    const std::int64_t base = output * stride + offset;
    const std::int64_t first = base >= 0 ? 0 : (-base + step - 1) / step;
    const std::int64_t last =
        base >= extent ? -1 : std::min<std::int64_t>(kernel - 1, (extent - 1 - base) / step);
    if (first > last) continue;
    const std::int64_t at = base + first * step, place = at % step * row + at / step;
    by_remainder.add(to_unsigned(place), to_unsigned(place + last - first + 1));
  }
  ByteSet positions;
  for (const auto& [begin, end] : by_remainder.ranges()) {
    for (std::uint64_t place = begin; place < end; ++place) {
      const std::int64_t at = to_signed(place) % row * step + to_signed(place) / row;
      positions.add(to_unsigned(at), to_unsigned(at) + 1);
    }
  }
  return positions;
}

// Positions that a resize reads along an axis: those of a source and a result that are one element wide.
ByteSet resized(VectorResize run) {
  run.channels = 1, run.a = 0;
  ByteSet positions;
  for (ResizeSteps steps(run, 1, INT_MAX); !steps.done(); steps.advance())
    positions.add(steps.step().a, steps.step().a + to_unsigned(steps.step().a_bytes));
  return positions;
}
ByteSet resized_rows(VectorResize run) {
  run.columns = run.width = 1, run.w_first = 0;
  return resized(run);
}
ByteSet resized_columns(VectorResize run) {
  run.rows = run.height = 1, run.h_first = 0;
  return resized(run);
}

// Pixels of a map, of `pixel_bytes` bytes each: each of the rows crossed with each of the columns.
void add_pixels(std::uint64_t map, const ByteSet& rows, const ByteSet& columns, int width, int pixel_bytes,
                ByteSet& bytes) {
  for (const auto& [first_row, end_row] : rows.ranges()) {
    for (const auto& [first, end] : columns.ranges()) {
      const auto pixel = to_unsigned(pixel_bytes), row = to_unsigned(width) * pixel;
      bytes.add(BytePattern{map + first_row * row + first * pixel, (end - first) * pixel, row,
                            end_row - first_row});
    }
  }
}

}  // namespace

AccessedBytes accessed_bytes(const Operation& operation, std::uint64_t memory) {
  AccessedBytes made;
  const auto add = [memory](ByteSet& bytes, std::uint64_t from, std::int64_t count) {
    bytes.add(memory + from, memory + from + to_unsigned(count));
  };
  if (const auto* resize = operation.get_if<VectorResize>()) {
    add_pixels(memory + resize->a, resized_rows(*resize), resized_columns(*resize), resize->width,
               resize->channels, made.reads);
    add(made.writes, resize->destination, std::int64_t{resize->rows} * resize->columns * resize->channels);
    return made;
  }
  if (const auto* row = operation.get_if<VectorRow>()) {
    add(made.reads, row->parameters, RowSteps::parameter_bytes(*row));
    if (row->kind == RowKind::kCausalSoftmax) {
      for (std::int64_t pixel = 0; pixel < row->pixels; ++pixel) {
        const std::int64_t first = row->first_seen(pixel);
        add(made.reads, row->a + to_unsigned(pixel * row->channels + first), row->end_seen(pixel) - first);
      }
    } else {
      add(made.reads, row->a, std::int64_t{row->pixels} * row->channels);
    }
    add(made.writes, row->destination,
        std::int64_t{row->pixels} * row->results() * dtype_size(row->out_type));
    return made;
  }
  const auto& run = operation.get<VectorRun>();
  const std::int64_t elements = std::int64_t{run.rows} * run.columns * run.channels;
  add(made.reads, run.parameters, VectorSteps::parameter_bytes(run));
  if (pools(run.kind)) {
    add_pixels(memory + run.a,
               pooled(run.rows, run.stride_h, run.kernel_h, run.dilation_h, run.h_offset, run.height),
               pooled(run.columns, run.stride_w, run.kernel_w, run.dilation_w, run.w_offset, run.width),
               run.width, run.channels * dtype_size(run.a_type), made.reads);
  } else {
    add(made.reads, run.a, elements * dtype_size(run.a_type));
  }
  if (has_two_operands(run.kind)) add(made.reads, run.b, elements * dtype_size(run.b_type));
  const std::int64_t results = run.kind == VectorKind::kRange ? kRangeReals : elements;
  add(made.writes, run.destination, results * dtype_size(run.out_type));
  return made;
}

std::unique_ptr<StepSequence> steps_of(const Operation& operation, int lanes, int burst_bytes) {
  if (const auto* resize = operation.get_if<VectorResize>())
    return std::make_unique<ResizeSteps>(*resize, lanes, burst_bytes);
  if (const auto* row = operation.get_if<VectorRow>()) return std::make_unique<RowSteps>(*row, lanes);
  return std::make_unique<VectorSteps>(operation.get<VectorRun>(), lanes, burst_bytes);
}

}  // namespace tilebeat
