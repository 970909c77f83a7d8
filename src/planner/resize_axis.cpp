#include "resize_axis.h"

#include "tilebeat/base/error.h"

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

}  // namespace tilebeat
