// How a reduction, and what makes float32 of bytes or bytes of float32, is cut into pieces.
// What operations of the vector unit are expected to cost.
#include "base/math.h"
#include "planner/vector/function_table.h"
#include "planner/vector/vector_work.h"

#include <algorithm>
#include <type_traits>

namespace tilebeat {

void VectorWork::prepare(const Reduce& reduce) {
  const bool greatest = reduce.kind == Reduce::Kind::kMax;
  base_.kind = greatest ? VectorKind::kMaxPool : VectorKind::kMean;
  base_.arithmetic = greatest ? Arithmetic::kExact : reduce.requant.arithmetic;
  const auto& shape = inputs_[0].info.shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto number = static_cast<int>(axis);
    std::int64_t& extent = number < reduce.axes.front()  ? reduced_.outers
                           : number > reduce.axes.back() ? reduced_.inner
                                                         : reduced_.count;
    extent *= shape[axis];
  }
  base_.kernel_w = static_cast<std::uint16_t>(reduced_.count);
  bound(reduce.requant.range);
  if (!greatest) parameters_ = mean_parameters(reduce, reduced_.count, inputs_[0].info.zero_point);
  types();
}

// Of every outer index the elements of one inner index are taps side by side, in channels of inner indices.
void VectorWork::cut(const Reduce& /*reduce*/) {
  const ReducedAxes& axes = reduced_;
  const std::int64_t longest =
      std::min({chip_.core.vector.row_elements, chip_.core.copy.buffer_bytes, kMostOfField});
  // Channels are divided only where there are too few outer indices for all cores.
  const std::int64_t lanes = chip_.core.vector.lanes;
  const std::int64_t parts = ceil_div<std::int64_t>(share_.cores, axes.outers);
  std::int64_t channels = std::min({longest, axes.inner, align_up(ceil_div(axes.inner, parts), lanes)});
  const auto bytes = [&](std::int64_t outers) { return outers * (axes.count + 1) * channels; };
  while (channels > 1 && bytes(1) > step_bytes()) channels = ceil_div<std::int64_t>(channels, 2);
  if (bytes(1) > step_bytes()) beyond_nram("the elements of a mean and their mean");
  const auto columns = static_cast<int>(ceil_div(axes.inner, channels));
  const Interval part = part_of(static_cast<int>(axes.outers) * columns, share_.cores, share_.core, 1);
  for (int at = part.begin; at < part.end;) {
    std::int64_t outers = 1;
    if (columns == 1) {
      const std::int64_t half = ceil_div(part.size(), 2);
      outers = std::min<std::int64_t>({part.end - at, half, kMostOfField, step_bytes() / bytes(1)});
    }
    const auto first = static_cast<int>(at % columns * channels);
    const auto end = static_cast<int>(std::min<std::int64_t>(axes.inner, first + channels));
    add_reduced(at / columns, outers, {first, end});
    at += static_cast<int>(outers);
  }
}

void VectorWork::add_reduced(std::int64_t first, std::int64_t outers, Interval channels) {
  const ReducedAxes& axes = reduced_;
  VectorRun run = base_;
  run.rows = run.height = static_cast<std::uint16_t>(outers);
  run.columns = 1, run.width = static_cast<std::uint16_t>(axes.count);
  run.channels = static_cast<std::uint16_t>(channels.size());
  VectorPiece piece;
  piece.run = run;
  piece.in_bytes = outers * axes.count * channels.size(), piece.out_bytes = outers * channels.size();
  CopyShape fetch = one_run(piece.in_bytes);
  if (channels.size() < axes.inner) {  // of one outer index
    fetch = one_run(channels.size());
    fetch.rows = axes.count, fetch.source_row = axes.inner, fetch.destination_row = channels.size();
  }
  const std::int64_t element = first * axes.count * axes.inner + channels.begin;
  piece.fetches.push_back({inputs_[0].address + static_cast<std::uint64_t>(element), 0, fetch});
  piece.destination = result_.address + static_cast<std::uint64_t>(first * axes.inner + channels.begin);
  piece.store = one_run(piece.out_bytes);
  pieces_.push_back(std::move(piece));
}

void VectorWork::prepare(const Quantize& quantize) {
  base_.kind = VectorKind::kQuantize;
  append(quantize.scale, parameters_), append(0.0F, parameters_);
  types();
}
void VectorWork::prepare(const Dequantize& dequantize) {
  base_.kind = VectorKind::kDequantize;
  append(dequantize.scale, parameters_), append(0.0F, parameters_);
  types();
}

// The parameters are the range, which is empty at first.
void VectorWork::prepare(const DynamicQuantize& operation) {
  base_.kind =
      operation.result == DynamicQuantize::Result::kZero ? VectorKind::kDynamicZero : VectorKind::kDynamic;
  append(0.0F, parameters_), append(0.0F, parameters_);
  types();
}

// One core goes through all elements for their range, and again for the results.
void VectorWork::cut(const DynamicQuantize& operation) {
  if (share_.core != 0) return;
  const std::int64_t elements = inputs_[0].info.elements();
  const auto most = std::min<std::int64_t>(kMostOfField, step_bytes() / 8);
  if (most == 0) beyond_nram("an element");
  const auto cut_all = [&](const VectorRun& run, VectorPiece::ResultPlace place, std::int64_t end) {
    for (std::int64_t at = 0; at < end; at += most) {
      const std::int64_t count = std::min(most, end - at);
      VectorRun part = run;
      part.rows = part.columns = 1, part.channels = static_cast<std::uint16_t>(count);
      VectorPiece piece;
      piece.run = part, piece.result_place = place;
      piece.in_bytes = count * 4;
      piece.out_bytes = count * dtype_size(part.out_type);
      piece.fetches.push_back(
          {inputs_[0].address + static_cast<std::uint64_t>(at * 4), 0, one_run(count * 4)});
      piece.destination = result_.address + static_cast<std::uint64_t>(at);
      piece.store = one_run(piece.out_bytes);
      pieces_.push_back(std::move(piece));
    }
  };
  VectorRun range = base_;
  range.kind = VectorKind::kRange, range.out_type = DType::kFloat32, range.out_zero = 0;
  cut_all(range, VectorPiece::ResultPlace::kParameters, elements);
  const bool one = operation.result != DynamicQuantize::Result::kY;
  cut_all(base_, VectorPiece::ResultPlace::kStored, one ? 1 : elements);
}

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
