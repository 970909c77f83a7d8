#include "planner/vector/vector_work.h"

#include "base/types.h"
#include "planner/language/relayout.h"
#include "planner/layer/placement.h"
#include "planner/vector/families.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

namespace tilebeat {

std::unique_ptr<VectorWork> make_vector_work(const Layer& layer, const HardwareConfig& hardware,
                                             const std::vector<Placement>& inputs, const Placement& output) {
  const VectorJob job{layer, *hardware.chip, inputs, output};
  return std::visit([&job](const auto& operation) { return work_of(operation, job); }, layer.operation);
}

Work work_of(const Conv2d& /*conv*/, const VectorJob& job) {
  throw SimulationError("layer " + job.layer.name + " is the work of a matrix unit, not of a vector unit");
}
Work work_of(const Reshape& /*reshape*/, const VectorJob& job) {
  throw SimulationError("layer " + job.layer.name + " is a name of its input, nothing is to be done");
}

Work work_of(const HostOperation& /*operation*/, const VectorJob& job) {
  throw SimulationError("layer " + job.layer.name + " is the work of the host");
}

VectorWork::VectorWork(const VectorJob& job)
    : chip_(job.chip),
      layer_(job.layer),
      output_(job.layer.output),
      inputs_(job.inputs),
      result_(job.output),
      channels_(to_int(output_.shape.back())),
      touched_(output_.size_bytes()),
      written_(output_.size_bytes()) {
  for (const Placement& input : inputs_) touched_ += input.info.size_bytes();
}

std::vector<VectorPiece> VectorWork::pieces_of(const VectorShare& share) const {
  VectorCut made(*this, share);
  cut(made);
  return std::move(made.pieces);
}

std::vector<Transfer> VectorWork::loads_of(const VectorPiece& piece, std::uint64_t to) const {
  std::vector<Transfer> loads;
  for (const VectorPiece::Fetch& fetch : piece.fetches) {
    const auto input = std::find_if(inputs_.begin(), inputs_.end(), [&](const Placement& place) {
      return fetch.source >= place.address &&
             fetch.source < place.address + to_unsigned(place.info.size_bytes());
    });
    const Transfer load{fetch.source, to + to_unsigned(fetch.offset), fetch.shape};
    for (const Transfer& part : relaid(input->stored, {load}, TransferEnd::kSource)) loads.push_back(part);
  }
  return transposed(loads, transposed_bytes(chip_));
}

std::vector<Transfer> VectorWork::stores_of(const VectorPiece& piece, std::uint64_t from) const {
  return transposed(
      relaid(result_.stored, {{from, piece.destination, piece.store}}, TransferEnd::kDestination),
      transposed_bytes(chip_));
}

void VectorWork::cannot_fit(const std::string& what) const {
  throw UserError(fmt::format("layer '{}' cannot fit: {}", layer_.name, what));
}

void VectorWork::beyond_nram(const char* what) const {
  cannot_fit(
      fmt::format("{}, twice, and {} bytes of factors do not fit chip.core.nram.size_bytes, which is {}",
                  what, parameters_.size(), chip_.core.nram.size_bytes));
}

void VectorWork::need_row() const {
  const int longest = std::min(chip_.core.vector.row_elements,
                               chip_.core.copy.buffer_bytes / dtype_size(inputs_[0].info.dtype));
  if (channels_ > longest) {
    cannot_fit(
        fmt::format("{} channels, chip.core.vector.row_elements and chip.core.copy.buffer_bytes hold {}",
                    channels_, longest));
  }
}

void VectorWork::check_parameters() const {
  if (ssize(parameters_) > chip_.core.vector.parameter_bytes) {
    cannot_fit(fmt::format("{} bytes of factors, chip.core.vector.parameter_bytes is {}", parameters_.size(),
                           chip_.core.vector.parameter_bytes));
  }
}

std::int64_t VectorWork::parameter_room() const {
  return align_up(ssize(parameters_), kBufferAlignment);
}

RunWork::RunWork(const VectorJob& job, VectorKind kind) : VectorWork(job) {
  run_.kind = kind;
  run_.a_type = inputs_[0].info.dtype;
  set_field(run_.a_zero, inputs_[0].info.zero_point);
  if (inputs_.size() > 1) {
    run_.b_type = inputs_[1].info.dtype;
    set_field(run_.b_zero, inputs_[1].info.zero_point);
  }
  run_.out_type = output_.dtype;
  set_field(run_.out_zero, output_.zero_point);
}

void RunWork::bound(const std::optional<OutputRange>& range) {
  if (!range) return;
  set_field(run_.floor, (*range)[0] - dtype_min(output_.dtype));
  set_field(run_.ceiling, dtype_max(output_.dtype) - (*range)[1]);
}

// ---- cutting ----

std::int64_t VectorCut::step_bytes() const {
  if (share_.piece_bytes) return *share_.piece_bytes;
  return std::max<std::int64_t>(
      0, (work_.chip_.core.nram.size_bytes - work_.parameter_room()) / 2 - 4 * kBufferAlignment);
}

Interval VectorCut::images() const {
  if (share_.part) return {share_.part->image, share_.part->image + 1};
  return {0, to_int(work_.output_.shape[0])};
}

Interval VectorCut::columns() const {
  return share_.part ? share_.part->columns : Interval{0, to_int(work_.output_.shape[2])};
}

Interval VectorCut::rows() const {
  const Interval all = share_.part ? share_.part->rows : Interval{0, to_int(work_.output_.shape[1])};
  if (share_.core >= all.size()) return {};
  const Interval part = part_of(all.size(), std::min(share_.cores, all.size()), share_.core, 1);
  return {all.begin + part.begin, all.begin + part.end};
}

std::vector<VectorCut::Span> VectorCut::spans(int pixels) const {
  if (!share_.part) return {{{0, pixels}, share_.core, share_.cores}};
  const auto height = to_int(work_.output_.shape[1]), width = to_int(work_.output_.shape[2]);
  const int first = share_.part->image * height;
  const Interval part = share_.part->rows, of_row = columns();
  if (of_row.size() == width)
    return {{{(first + part.begin) * width, (first + part.end) * width}, share_.core, share_.cores}};
  std::vector<Span> spans;
  const Interval own = rows();
  for (int row = own.begin; row < own.end; ++row)
    spans.push_back({{(first + row) * width + of_row.begin, (first + row) * width + of_row.end}, 0, 1});
  return spans;
}

Interval VectorCut::Span::part() const {
  const Interval part = part_of(pixels.size(), cores, core, 1);
  return {pixels.begin + part.begin, pixels.begin + part.end};
}

// ---- tasks ----

Copy fill_copy(const VectorPiece& piece, std::uint64_t source, std::uint64_t destination) {
  Copy copy;
  copy.unit = Unit::kIodma;
  copy.source = source, copy.destination = destination;
  set_field(copy.run_bytes, piece.in_bytes);
  copy.outer_count = 0, copy.pad_top = 1, copy.fill = *piece.fill;
  return copy;
}

namespace {

// The cost from the slowest of lanes, operands and results.
TaskCost cost_of(double lanes, double read, double written, const ChipConfig& chip) {
  TaskCost cost;
  constexpr double kStart = 16;
  cost.cycles = kStart + std::max({lanes, read, written});
  cost.latency = kStart + chip.core.vector.latency_cycles;
  return cost;
}

// A cycle per `lanes` elements, for every tap of a pooling and every pass of a softmax; and the bytes through
// the ports.
TaskCost run_cost(const VectorRun& run, const VectorPiece& piece, const ChipConfig& chip) {
  const double pixels = static_cast<double>(run.rows) * run.columns;
  const bool wide = run.a_type == DType::kInt16 || run.out_type == DType::kInt16;  // two lanes an element
  const double steps = ceil_div<int>(run.channels * (wide ? 2 : 1), chip.core.vector.lanes);
  const bool pooling = run.kind == VectorKind::kMaxPool || run.kind == VectorKind::kAveragePool ||
                       run.kind == VectorKind::kMean;
  const double passes = pooling ? static_cast<double>(run.kernel_h) * run.kernel_w : 1;
  const double width = chip.core.bus.bytes_per_clock;
  const double read =
      pooling ? pixels * passes * run.channels * dtype_size(run.a_type) : static_cast<double>(piece.in_bytes);
  return cost_of(pixels * steps * passes, read / width, static_cast<double>(piece.out_bytes) / width, chip);
}
// Every pixel reads its taps again, those of a source row in one run, and is written separately.
TaskCost run_cost(const VectorResize& run, const VectorPiece& /*piece*/, const ChipConfig& chip) {
  const Resize::Mode mode =
      run.kind == ResizeKind::kNearest ? Resize::Mode::kNearest : Resize::Mode::kBilinear;
  const auto taps = [mode](const ResizeAxis& axis, int outs) {
    int count = 0;
    for (int o = 0; o < outs; ++o) count += axis.needed(mode, {o, o + 1}).size();
    return static_cast<double>(count);
  };
  const double rows = taps({run.height, run.h_first, run.h_step, run.h_divisor}, run.rows);
  const double columns = taps({run.width, run.w_first, run.w_step, run.w_divisor}, run.columns);
  const double steps = ceil_div<int>(run.channels, chip.core.vector.lanes);
  const int burst = chip.core.copy.burst_bytes, width = chip.core.bus.bytes_per_clock;
  // Port cycles of `pairs` runs of two taps and `singles` runs of one tap, some of which cross a burst
  // boundary.
  const auto port = [&](double pairs, double singles) {
    const double crossings = (2 * pairs + singles) * run.channels / burst;
    const double beats = pairs * ceil_div(2 * run.channels, width) + singles * ceil_div(+run.channels, width);
    return std::max(pairs + singles + crossings, beats + (run.channels % width == 0 ? 0 : crossings));
  };
  const double pairs = 2 * run.channels > burst ? 0 : columns - run.columns;
  return cost_of(rows * columns * steps, port(rows * pairs, rows * (columns - 2 * pairs)),
                 port(0, static_cast<double>(run.rows) * run.columns), chip);
}

// Up to three passes over the channels, and the bytes through the ports.
TaskCost run_cost(const VectorRow& run, const VectorPiece& piece, const ChipConfig& chip) {
  const double width = chip.core.bus.bytes_per_clock;
  const auto passes = [&](std::int64_t channels) {
    return static_cast<double>(ceil_div<std::int64_t>(channels, chip.core.vector.lanes));
  };
  double lanes = run.pixels * (run.results() == 1 ? 2 : 3) * passes(run.channels);
  double read = static_cast<double>(piece.in_bytes);
  if (run.kind == RowKind::kCausalSoftmax) {
    lanes = read = 0;
    for (std::int64_t pixel = 0; pixel < run.pixels; ++pixel) {
      const std::int64_t seen = run.end_seen(pixel) - run.first_seen(pixel);
      lanes += 2 * passes(seen) + passes(run.channels);
      read += static_cast<double>(seen);
    }
  }
  return cost_of(lanes, read / width, static_cast<double>(piece.out_bytes) / width, chip);
}

}  // namespace

Task vector_task(const VectorPiece& piece, std::int64_t from, std::int64_t to, std::int64_t parameters,
                 const ChipConfig& chip) {
  Task task;
  std::visit(
      [&](auto run) {
        set_field(run.a, from);
        set_field(run.destination, to);
        if constexpr (std::is_same_v<decltype(run), VectorRun>) set_field(run.b, from + piece.b_offset);
        if constexpr (!std::is_same_v<decltype(run), VectorResize>) set_field(run.parameters, parameters);
        task.instruction.operation = run;
        task.cost = run_cost(run, piece, chip);
      },
      *piece.run);
  return task;
}

}  // namespace tilebeat
