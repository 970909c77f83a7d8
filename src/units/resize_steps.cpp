#include "tilebeat/units/vector_steps.h"

namespace tilebeat {

ResizeSteps::ResizeSteps(const VectorResize& run, int lanes, int burst_bytes)
    : run_(run), burst_bytes_(burst_bytes), passes_((run.channels + lanes - 1) / lanes) {
  enter_pixel();
  make_step();
}

// Beyond the edges of the source lie copies of its first and last pixel.
ResizeSteps::Taps ResizeSteps::taps_of(const Axis& axis, std::int64_t output) const {
  const std::int64_t at = axis.first + output * axis.step;
  const std::int64_t rest = (at % axis.divisor + axis.divisor) % axis.divisor;
  const std::int64_t below = (at - rest) / axis.divisor;
  Taps taps;
  if (run_.kind == ResizeKind::kBilinear) taps.weights[0] = axis.divisor;
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
  step_.a = run_.a +
            static_cast<std::uint64_t>(((h_.first + row_) * run_.width + w_.first + column_) * run_.channels);
  step_.a_bytes = step_.taps * run_.channels;
  const auto row = static_cast<std::size_t>(row_), column = static_cast<std::size_t>(column_);
  for (std::size_t tap = 0; tap < static_cast<std::size_t>(step_.taps); ++tap)
    step_.weights[tap] = h_.weights[row] * w_.weights[column + tap];
  step_.first = row_ == 0 && column_ == 0;
  column_ += step_.taps;
  if (column_ == w_.count) column_ = 0, ++row_;
  step_.last = row_ == h_.count;
  if (run_.kind == ResizeKind::kBilinear)
    step_.divisor = std::int64_t{run_.h_divisor} * std::int64_t{run_.w_divisor};
  step_.results = run_.channels;
  step_.result = run_.destination + static_cast<std::uint64_t>(pixel_ * run_.channels);
  step_.clocks = step_.taps * passes_;
}

void ResizeSteps::advance() {
  if (step_.last) {
    ++pixel_;
    enter_pixel();
  }
  make_step();
}

std::unique_ptr<StepSequence> steps_of(const Operation& operation, int lanes, int burst_bytes) {
  if (const auto* resize = operation.get_if<VectorResize>())
    return std::make_unique<ResizeSteps>(*resize, lanes, burst_bytes);
  if (const auto* row = operation.get_if<VectorRow>()) return std::make_unique<RowSteps>(*row, lanes);
  return std::make_unique<VectorSteps>(operation.get<VectorRun>(), lanes, burst_bytes);
}

}  // namespace tilebeat
