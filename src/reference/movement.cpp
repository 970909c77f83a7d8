#include "base/types.h"
#include "reference/arithmetic.h"
#include "reference/operators.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <vector>

namespace tilebeat {

Tensor reference_of(const Pad& pad, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  const auto &in = x.info.shape, &out = output.shape;
  Tensor y{out, output.dtype, {}};
  for (std::int64_t n = 0; n < out[0]; ++n) {
    for (std::int64_t h = 0; h < out[1]; ++h) {
      for (std::int64_t w = 0; w < out[2]; ++w) {
        for (std::int64_t c = 0; c < out[3]; ++c) {
          const std::int64_t row = h - pad.pads[0], column = w - pad.pads[1],
                             channel = c - pad.channel_pads[0];
          const bool border =
              row < 0 || row >= in[1] || column < 0 || column >= in[2] || channel < 0 || channel >= in[3];
          const std::int64_t from = ((n * in[1] + row) * in[2] + column) * in[3] + channel;
          if (border)
            append_element(pad.value, output.dtype, y.bytes);
          else
            append_copy(x.tensor, from, y.bytes);
        }
      }
    }
  }
  return y;
}

namespace {

/// A place on an axis of the source, as a fraction with a positive denominator.
struct Place {
  std::int64_t numerator = 0, denominator = 1;

  std::int64_t floor() const {
    const std::int64_t quotient = numerator / denominator;
    return quotient * denominator > numerator ? quotient - 1 : quotient;
  }
  std::int64_t ceil() const { return -Place{-numerator, denominator}.floor(); }
  Place plus_half() const { return {2 * numerator + denominator, 2 * denominator}; }
  Place minus_half() const { return {2 * numerator - denominator, 2 * denominator}; }
};

Place place_of(ResizeCoordinates rule, std::int64_t o, std::int64_t in, std::int64_t out) {
  switch (rule) {
    case ResizeCoordinates::kPytorchHalfPixel:
      if (out == 1) return {};
      [[fallthrough]];
    case ResizeCoordinates::kHalfPixel:
      return Place{(2 * o + 1) * in, 2 * out}.minus_half();
    case ResizeCoordinates::kAlignCorners:
      if (out == 1) return {};
      return {o * (in - 1), out - 1};
    case ResizeCoordinates::kAsymmetric:
      return {o * in, out};
  }
  throw SimulationError("a rule of coordinates is not known");
}

std::int64_t rounded_place(const Place& place, Resize::Rounding rounding) {
  switch (rounding) {
    case Resize::Rounding::kFloor:
      return place.floor();
    case Resize::Rounding::kCeil:
      return place.ceil();
    case Resize::Rounding::kPreferFloor:
      return place.minus_half().ceil();
    case Resize::Rounding::kPreferCeil:
      return place.plus_half().floor();
  }
  throw SimulationError("a rule of rounding is not known");
}

/// The source pixels of one output along an axis: two pixels with their weights, which sum to the same number
/// for all outputs of the axis.
struct Taps {
  std::int64_t pixels[2] = {0, 0};
  std::int64_t weights[2] = {1, 0};
};

/// In fixed point a step has whole 1/1024 of a pixel, and so has the first place.
Place fixed_place(ResizeCoordinates rule, std::int64_t o, std::int64_t in, std::int64_t out) {
  if (rule == ResizeCoordinates::kAlignCorners && out > 1) --in, --out;
  const std::int64_t step = (1024 * in + out / 2) / out;
  const bool centres = rule == ResizeCoordinates::kHalfPixel || rule == ResizeCoordinates::kPytorchHalfPixel;
  return {o * step + (centres ? step / 2 - 512 : 0), 1024};
}

bool in_fixed_point(const Resize& resize) {
  return resize.mode == Resize::Mode::kBilinear && resize.arithmetic == Arithmetic::kFixed;
}

std::vector<Taps> taps_of(const Resize& resize, std::int64_t in, std::int64_t out) {
  std::vector<Taps> all;
  for (std::int64_t o = 0; o < out; ++o) {
    const Place place = in_fixed_point(resize) ? fixed_place(resize.coordinates, o, in, out)
                                               : place_of(resize.coordinates, o, in, out);
    const auto on_map = [in](std::int64_t pixel) { return std::clamp<std::int64_t>(pixel, 0, in - 1); };
    Taps taps;
    if (resize.mode == Resize::Mode::kNearest) {
      taps.pixels[0] = on_map(rounded_place(place, resize.rounding));
    } else {
      const std::int64_t below = place.floor();
      taps.weights[1] = place.numerator - below * place.denominator;
      taps.weights[0] = place.denominator - taps.weights[1];
      taps.pixels[0] = on_map(below), taps.pixels[1] = on_map(below + 1);
    }
    all.push_back(taps);
  }
  return all;
}

}  // namespace

Tensor reference_of(const Resize& resize, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  const auto& in = x.info.shape;
  const std::int32_t zero = in_fixed_point(resize) ? 0 : x.info.zero_point;
  const std::vector<std::int32_t> map = centred<std::int32_t>(x.tensor, zero);
  const std::vector<Taps> rows = taps_of(resize, in[1], output.shape[1]);
  const std::vector<Taps> columns = taps_of(resize, in[2], output.shape[2]);
  Tensor y{output.shape, output.dtype, {}};
  y.bytes.reserve(to_size(output.elements()));
  const auto at = [&](std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c) {
    return std::int64_t{nth(map, ((n * in[1] + h) * in[2] + w) * in[3] + c)};
  };
  for (std::int64_t n = 0; n < in[0]; ++n) {
    for (const Taps& h : rows) {
      for (const Taps& w : columns) {
        const std::int64_t weights = (h.weights[0] + h.weights[1]) * (w.weights[0] + w.weights[1]);
        for (std::int64_t c = 0; c < in[3]; ++c) {
          std::int64_t sum = 0;
          for (const int i : {0, 1}) {
            for (const int j : {0, 1})
              sum += h.weights[i] * w.weights[j] * at(n, h.pixels[i], w.pixels[j], c);
          }
          if (in_fixed_point(resize)) {
            const std::int64_t magnitude = (std::abs(sum) + weights / 2) / weights;
            y.bytes.push_back(static_cast<std::uint8_t>(sum < 0 ? -magnitude : magnitude));
            continue;
          }
          const double mean = ratio_of(sum, weights);
          y.bytes.push_back(static_cast<std::uint8_t>(rounded(mean, x.info.zero_point, output.dtype)));
        }
      }
    }
  }
  return y;
}

}  // namespace tilebeat
