// What operations of the vector unit are expected to cost.

#include "tilebeat/base/math.h"

#include <algorithm>
#include <type_traits>

#include "vector_work.h"

namespace tilebeat {
namespace {

// The slowest of lanes, operands and results.
TaskCost cost_of(double lanes, double read, double written, const ChipConfig& chip) {
  TaskCost cost;
  constexpr double kStart = 16;
  cost.cycles = kStart + std::max({lanes, read, written});
  cost.latency = kStart + chip.core.vector.latency_cycles;
  return cost;
}

// A cycle for `lanes` elements, for every tap of a pooling and every pass of a softmax; and the bytes
// through the ports.
TaskCost run_cost(const VectorRun& run, const VectorPiece& piece, const ChipConfig& chip) {
  const double pixels = static_cast<double>(run.rows) * run.columns;
  const double steps = static_cast<double>(ceil_div<int>(run.channels, chip.core.vector.lanes));
  const bool pooling = run.kind == VectorKind::kMaxPool || run.kind == VectorKind::kAveragePool ||
                       run.kind == VectorKind::kMean;
  const double passes = pooling ? static_cast<double>(run.kernel_h) * run.kernel_w : 1;
  const double width = chip.core.bus.bytes_per_clock;
  const double read = pooling ? pixels * passes * run.channels : static_cast<double>(piece.in_bytes);
  return cost_of(pixels * steps * passes, read / width, static_cast<double>(piece.out_bytes) / width, chip);
}
// Every pixel reads its taps anew, those of a source row in one run, and is written by itself.
TaskCost run_cost(const VectorResize& run, const VectorPiece& /*piece*/, const ChipConfig& chip) {
  const Resize::Mode mode =
      run.kind == ResizeKind::kBilinear ? Resize::Mode::kBilinear : Resize::Mode::kNearest;
  const auto taps = [mode](const ResizeAxis& axis, int outs) {
    int count = 0;
    for (int o = 0; o < outs; ++o) count += axis.needed(mode, {o, o + 1}).size();
    return static_cast<double>(count);
  };
  const double rows = taps({run.height, run.h_first, run.h_step, run.h_divisor}, run.rows);
  const double columns = taps({run.width, run.w_first, run.w_step, run.w_divisor}, run.columns);
  const double steps = static_cast<double>(ceil_div<int>(run.channels, chip.core.vector.lanes));
  const int burst = chip.core.copy.burst_bytes, width = chip.core.bus.bytes_per_clock;
  // `pairs` runs of two taps and `singles` of one, some of which cross the window of a burst.
  const auto port = [&](double pairs, double singles) {
    const double crossings = (2 * pairs + singles) * run.channels / burst;
    const double beats = pairs * ceil_div(2 * run.channels, width) + singles * ceil_div(+run.channels, width);
    return std::max(pairs + singles + crossings, beats + (run.channels % width == 0 ? 0 : crossings));
  };
  const double pairs = 2 * run.channels > burst ? 0 : columns - run.columns;
  return cost_of(rows * columns * steps, port(rows * pairs, rows * (columns - 2 * pairs)),
                 port(0, static_cast<double>(run.rows) * run.columns), chip);
}

// Three times over the channels, and the bytes through the ports.
TaskCost run_cost(const VectorRow& run, const VectorPiece& piece, const ChipConfig& chip) {
  const double width = chip.core.bus.bytes_per_clock, passes = run.results() == 1 ? 2 : 3;
  const double steps = static_cast<double>(ceil_div<int>(run.channels, chip.core.vector.lanes));
  return cost_of(run.pixels * steps * passes, static_cast<double>(piece.in_bytes) / width,
                 static_cast<double>(piece.out_bytes) / width, chip);
}

}  // namespace

Task vector_task(const VectorPiece& piece, std::int64_t from, std::int64_t to, std::int64_t parameters,
                 const ChipConfig& chip) {
  Task task;
  std::visit(
      [&](auto run) {
        run.a = static_cast<std::uint32_t>(from);
        run.destination = static_cast<std::uint32_t>(to);
        if constexpr (std::is_same_v<decltype(run), VectorRun>)
          run.b = static_cast<std::uint32_t>(from + piece.b_offset);
        if constexpr (!std::is_same_v<decltype(run), VectorResize>)
          run.parameters = static_cast<std::uint32_t>(parameters);
        task.instruction.operation = run;
        task.cost = run_cost(run, piece, chip);
      },
      *piece.run);
  return task;
}

}  // namespace tilebeat
