// The resize of the vector unit on random maps against the reference (SPEC OP-2, HI-2).
#include "budget.h"
#include "vector_bench.h"

#include <array>

namespace tilebeat::testing {
namespace {

/// One axis: output i lies at (first + i * step) / divisor, after docs/vector.md.
struct Axis {
  int in = 1, out = 1;
  std::int64_t first = 0, step = 1, divisor = 1;

  std::int64_t at(int output) const { return first + output * step; }
  /// Taps of a bilinear resize: one where the place is a pixel, or beyond the last or first one.
  int taps(int output) const {
    const std::int64_t place = at(output);
    return place > 0 && place < (in - 1) * divisor && place % divisor != 0 ? 2 : 1;
  }
};

/// The coordinate rules of ONNX as fractions.
Axis axis_of(const Resize& resize) {
  Axis axis;
  axis.in = skewed(12), axis.out = skewed(20);
  const std::int64_t in = axis.in, out = axis.out;
  const bool single = axis.out == 1;
  switch (resize.coordinates) {
    case ResizeCoordinates::kHalfPixel:
      axis.first = in - out, axis.step = 2 * in, axis.divisor = 2 * out;
      break;
    case ResizeCoordinates::kPytorchHalfPixel:
      axis.first = single ? 0 : in - out, axis.step = 2 * in, axis.divisor = 2 * out;
      break;
    case ResizeCoordinates::kAlignCorners:
      axis.step = in - 1, axis.divisor = single ? 1 : out - 1;
      break;
    case ResizeCoordinates::kAsymmetric:
      axis.step = in, axis.divisor = out;
      break;
  }
  if (resize.mode == Resize::Mode::kBilinear) return axis;
  // The nearest pixel below a place that is moved: up by almost one, almost half, half a pixel.
  const std::int64_t divisor = axis.divisor;
  axis.first *= 2, axis.step *= 2, axis.divisor *= 2;
  if (resize.rounding == Resize::Rounding::kCeil) axis.first += 2 * divisor - 1;
  if (resize.rounding == Resize::Rounding::kPreferFloor) axis.first += divisor - 1;
  if (resize.rounding == Resize::Rounding::kPreferCeil) axis.first += divisor;
  return axis;
}

TEST(VectorResize, OP_2_equals_the_reference) {
  check_cases(budget(150, 30), [] {
    Resize resize;
    resize.mode = static_cast<Resize::Mode>(number(0, 1));
    resize.coordinates = static_cast<ResizeCoordinates>(number(0, 3));
    resize.rounding = static_cast<Resize::Rounding>(number(0, 3));
    const Axis h = axis_of(resize), w = axis_of(resize);
    const std::int64_t channels = skewed(90);
    TensorInfo input{{1, h.in, w.in, channels}, random_byte_type(), 0};
    input.zero_point = random_zero(input.dtype);
    const Tensor x = random_bytes(input);
    Layer layer;
    layer.operation = resize;
    layer.output = {{1, h.out, w.out, channels}, input.dtype, input.zero_point};
    VectorResize run;
    run.kind = resize.mode == Resize::Mode::kNearest ? ResizeKind::kNearest : ResizeKind::kBilinear;
    run.type = input.dtype, run.zero = static_cast<std::int16_t>(input.zero_point);
    run.a = kVectorA, run.destination = kVectorDestination;
    run.rows = static_cast<std::uint16_t>(h.out), run.columns = static_cast<std::uint16_t>(w.out);
    run.channels = static_cast<std::uint16_t>(channels);
    run.height = static_cast<std::uint16_t>(h.in), run.width = static_cast<std::uint16_t>(w.in);
    run.h_first = static_cast<std::int32_t>(h.first), run.w_first = static_cast<std::int32_t>(w.first);
    run.h_step = static_cast<std::uint32_t>(h.step), run.w_step = static_cast<std::uint32_t>(w.step);
    run.h_divisor = static_cast<std::uint32_t>(h.divisor),
    run.w_divisor = static_cast<std::uint32_t>(w.divisor);
    const VectorBenchConfig config = random_vector_bench();
    const bool bilinear = resize.mode == Resize::Mode::kBilinear;
    std::int64_t taps = 0;
    for (int r = 0; r < h.out; ++r) {
      for (int c = 0; c < w.out; ++c) taps += bilinear ? h.taps(r) * w.taps(c) : 1;
    }
    const std::int64_t clocks = taps * ((channels + config.unit.lanes - 1) / config.unit.lanes);
    const std::string wrong = in_child([&] {
      return run_vector_operation(run, {{x, input}}, {}, reference_layer(layer, {{x, input}}), clocks,
                                  config);
    });
    RC_ASSERT(wrong == "");
  });
}

}  // namespace
}  // namespace tilebeat::testing
