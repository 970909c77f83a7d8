// How operators on lines of elements are cut into pieces: those that repeat, turn or move their operands, and
// those on all channels of a pixel.
#include "base/math.h"
#include "planner/layer/placement.h"
#include "planner/vector/function_table.h"
#include "planner/vector/vector_work.h"

#include <algorithm>
#include <set>

namespace tilebeat {

std::int64_t LineAxes::lines() const {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis + 1 < extents.size(); ++axis) count *= extents[axis];
  return count;
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size() - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

LineAxes joined(const LineAxes& axes, LineUse use) {
  LineAxes made = axes;
  const auto all = [&made](auto test) {
    for (const LineAxes::Tensor& operand : made.operands) {
      if (!test(operand.strides)) return false;
    }
    return test(made.result.strides);
  };
  const auto erase = [&made](std::size_t axis) {
    const auto at = static_cast<std::ptrdiff_t>(axis);
    made.extents.erase(made.extents.begin() + at);
    for (LineAxes::Tensor& operand : made.operands) operand.strides.erase(operand.strides.begin() + at);
    made.result.strides.erase(made.result.strides.begin() + at);
  };
  // Axis by axis from the end: an axis of one index goes, and one that continues the next one joins it.
  for (std::size_t axis = made.extents.size() - 1; axis-- > 0;) {
    if (made.extents[axis] == 1) {
      erase(axis);
      continue;
    }
    const bool is_line = axis + 2 == made.extents.size();
    if (is_line && use == LineUse::kPixel) continue;
    const bool continues = all([&](const std::vector<std::int64_t>& strides) {
      return strides[axis] == strides[axis + 1] * made.extents[axis + 1];
    });
    if (!continues) continue;
    made.extents[axis + 1] *= made.extents[axis];
    erase(axis);
  }
  return made;
}

std::int64_t element_of(const LineAxes& axes, const LineAxes::Tensor& tensor, const Lines& lines) {
  std::int64_t element = tensor.offset + lines.begin * tensor.strides.back(), rest = lines.first;
  for (std::size_t axis = axes.extents.size() - 1; axis-- > 0; rest /= axes.extents[axis])
    element += rest % axes.extents[axis] * tensor.strides[axis];
  return element;
}

CopyShape lines_shape(const LineAxes& axes, const LineAxes::Tensor& tensor, const Lines& lines,
                      TransferEnd tensor_end) {
  const std::int64_t size = tensor.element_bytes, length = lines.end - lines.begin;
  const std::int64_t step = tensor.strides.back();
  const std::int64_t row = axes.extents.size() > 1 ? tensor.strides[axes.extents.size() - 2] : 0;
  const bool is_run = step == 1 || length == 1;
  CopyShape shape;
  shape.run = is_run ? length * size : size;
  shape.columns = is_run ? 1 : length;
  shape.rows = lines.count;
  const bool from = tensor_end == TransferEnd::kSource;
  (from ? shape.source_column : shape.destination_column) = is_run ? 0 : step * size;
  (from ? shape.destination_column : shape.source_column) = is_run ? 0 : size;
  (from ? shape.source_row : shape.destination_row) = row * size;
  (from ? shape.destination_row : shape.source_row) = length * size;
  return shape;
}

namespace {

// `shape` as an operand of a result of `rank` axes: aligned at their ends, extents of 1 repeated.
LineAxes::Tensor repeated_operand(const TensorInfo& info, std::size_t rank) {
  LineAxes::Tensor tensor{0, dense_strides(info.shape), dtype_size(info.dtype)};
  for (std::size_t axis = 0; axis < info.shape.size(); ++axis) {
    if (info.shape[axis] == 1) tensor.strides[axis] = 0;
  }
  tensor.strides.insert(tensor.strides.begin(), rank - info.shape.size(), 0);
  return tensor;
}

LineAxes::Tensor dense_result(const TensorInfo& info) {
  return {0, dense_strides(info.shape), dtype_size(info.dtype)};
}

}  // namespace

void VectorWork::cut(const Elementwise& /*operation*/) {
  const bool alike = std::all_of(inputs_.begin(), inputs_.end(),
                                 [&](const Placement& input) { return input.info.shape == output_.shape; });
  if (alike) return cut_flat(std::nullopt);
  LineAxes axes{output_.shape, {}, dense_result(output_)};
  for (const Placement& input : inputs_)
    axes.operands.push_back(repeated_operand(input.info, output_.shape.size()));
  cut_lines(joined(axes, LineUse::kElements), LineUse::kElements);
}

// Neither need read all of the input.
void VectorWork::prepare(const Move& move) {
  std::int64_t elements = 1;
  for (std::size_t axis = 0; axis < move.strides.size(); ++axis)
    elements *= move.strides[axis] != 0 ? output_.shape[axis] : 1;
  const std::int64_t read = elements * dtype_size(output_.dtype);
  touched_ = output_.size_bytes() + std::min(read, inputs_[0].info.size_bytes());
}
void VectorWork::prepare(const Gather& gather) {
  const std::set<std::int64_t> indices(gather.indices.begin(), gather.indices.end());
  const TensorInfo& input = inputs_[0].info;
  const std::int64_t extent = input.shape[static_cast<std::size_t>(gather.axis)];
  touched_ = output_.size_bytes() + input.size_bytes() / extent * static_cast<std::int64_t>(indices.size());
}

void VectorWork::cut(const Move& move) {
  LineAxes axes{
      output_.shape, {{move.offset, move.strides, dtype_size(output_.dtype)}}, dense_result(output_)};
  cut_lines(joined(axes, LineUse::kElements), LineUse::kElements);
}

// Along another axis than the last one the pixels are gathered on their way in and spread on their way out.
void VectorWork::cut(const Softmax& softmax) {
  const auto rank = output_.shape.size();
  if (softmax.axis < 0 || softmax.axis == static_cast<int>(rank) - 1) return cut_flat(channels_);
  LineAxes axes{output_.shape, {dense_result(output_)}, dense_result(output_)};
  const auto turn = [&softmax](std::vector<std::int64_t>& values) {
    const auto place = values.begin() + softmax.axis;
    std::rotate(place, place + 1, values.end());
  };
  turn(axes.extents), turn(axes.operands[0].strides), turn(axes.result.strides);
  cut_lines(joined(axes, LineUse::kPixel), LineUse::kPixel);
}

void VectorWork::cut_lines(const LineAxes& axes, LineUse use) {
  std::int64_t element = axes.result.element_bytes;
  for (const LineAxes::Tensor& operand : axes.operands) element += operand.element_bytes;
  const std::int64_t room = std::min<std::int64_t>(step_bytes() / element, kMostOfField);
  if (room == 0 || (use == LineUse::kPixel && room < axes.line())) beyond_nram("a pixel and its result");
  const Interval part = part_of(static_cast<int>(axes.lines()), share_.cores, share_.core, 1);
  // A single line is divided among the cores instead.
  const bool one_line = axes.lines() == 1 && use == LineUse::kElements;
  Interval elements{0, static_cast<int>(axes.line())};
  if (one_line) elements = part_of(elements.size(), share_.cores, share_.core, 64);
  const std::int64_t length =
      std::min<std::int64_t>(room, one_line ? std::max(1, ceil_div(elements.size(), 2)) : axes.line());
  const std::int64_t half = std::max(1, ceil_div(part.size(), 2));
  const Interval lines = one_line ? Interval{0, 1} : part;
  for (std::int64_t at = lines.begin; at < lines.end;) {
    const std::int64_t most = length < axes.line() ? 1 : room / axes.line();
    const std::int64_t count =
        std::min({most, lines.end - at, axes.neighbours() - at % axes.neighbours(), half});
    for (std::int64_t from = elements.begin; from < elements.end; from += length)
      add_lines(axes, {at, count, from, std::min<std::int64_t>(elements.end, from + length)}, use);
    at += count;
  }
}

void VectorWork::add_lines(const LineAxes& axes, const Lines& lines, LineUse use) {
  const std::int64_t length = lines.end - lines.begin, elements = lines.count * length;
  VectorPiece piece;
  for (std::size_t i = 0; i < axes.operands.size(); ++i) {
    const LineAxes::Tensor& operand = axes.operands[i];
    const std::int64_t from = element_of(axes, operand, lines) * operand.element_bytes;
    piece.b_offset = piece.in_bytes;  // that of the last operand
    piece.fetches.push_back({inputs_[i].address + static_cast<std::uint64_t>(from), piece.in_bytes,
                             lines_shape(axes, operand, lines, TransferEnd::kSource)});
    piece.in_bytes = align_up(piece.in_bytes + elements * operand.element_bytes, kBufferAlignment);
  }
  const LineAxes::Tensor& result = axes.result;
  piece.out_bytes = elements * result.element_bytes;
  piece.destination =
      result_.address + static_cast<std::uint64_t>(element_of(axes, result, lines) * result.element_bytes);
  piece.store = lines_shape(axes, result, lines, TransferEnd::kDestination);
  if (!std::holds_alternative<Move>(layer_.operation)) {
    VectorRun run = base_;
    run.rows = 1;
    run.columns = static_cast<std::uint16_t>(use == LineUse::kPixel ? lines.count : 1);
    run.channels = static_cast<std::uint16_t>(use == LineUse::kPixel ? length : elements);
    piece.run = run;
  }
  pieces_.push_back(std::move(piece));
}

// The cores divide the indices; a piece is an index of one place of the outer axes, or a part of it.
void VectorWork::cut(const Gather& gather) {
  const auto axis = static_cast<std::size_t>(gather.axis);
  std::int64_t inner = dtype_size(output_.dtype), outers = 1;
  for (std::size_t a = axis + 1; a < output_.shape.size(); ++a) inner *= output_.shape[a];
  for (std::size_t a = 0; a < axis; ++a) outers *= output_.shape[a];
  const auto count = static_cast<std::int64_t>(gather.indices.size());
  const std::int64_t extent = inputs_[0].info.shape[axis], run = std::min(inner, step_bytes());
  if (run == 0) beyond_nram("a byte");
  const Interval part = part_of(static_cast<int>(outers * count), share_.cores, share_.core, 1);
  for (std::int64_t at = part.begin; at < part.end; ++at) {
    const std::int64_t index = gather.indices[static_cast<std::size_t>(at % count)];
    for (std::int64_t from = 0; from < inner; from += run) {
      VectorPiece piece;
      piece.in_bytes = std::min(run, inner - from);
      piece.fetches.push_back(
          {inputs_[0].address + static_cast<std::uint64_t>((at / count * extent + index) * inner + from), 0,
           one_run(piece.in_bytes)});
      piece.destination = result_.address + static_cast<std::uint64_t>(at * inner + from);
      piece.store = one_run(piece.in_bytes);
      pieces_.push_back(std::move(piece));
    }
  }
}

// ---- all channels of a pixel ----

void VectorWork::prepare_row(RowKind kind, const std::optional<OutputRange>& range) {
  const TensorInfo& input = inputs_[0].info;
  channels_ = static_cast<int>(input.shape.back());
  need_row();
  bound(range);
  types();
  row_.kind = kind;
  row_.a_type = input.dtype, row_.out_type = output_.dtype;
  row_.a_zero = base_.a_zero, row_.out_zero = base_.out_zero;
  row_.floor = base_.floor, row_.ceiling = base_.ceiling;
  row_.channels = static_cast<std::uint16_t>(channels_);
}

void VectorWork::prepare(const RowNorm& norm) {
  const bool centre = norm.kind == RowNorm::Kind::kLayerNorm;
  const auto n = static_cast<double>(inputs_[0].info.shape.back());
  const double steps = (centre ? n : 1.0) / norm.input_scale;
  append(norm.epsilon * (steps * steps), parameters_), append(norm.requant.scale, parameters_);
  for (std::size_t c = 0; c < norm.gamma.size(); ++c)
    append(norm.gamma[c], parameters_), append(norm.beta[c], parameters_);
  prepare_row(centre ? RowKind::kLayerNorm : RowKind::kRmsNorm, norm.requant.range);
}

void VectorWork::prepare(const Lrn& lrn) {
  for (const double factor :
       {lrn.input_scale, lrn.alpha / static_cast<double>(lrn.size), lrn.beta, lrn.bias, lrn.requant.scale})
    append(factor, parameters_);
  prepare_row(RowKind::kLrn, lrn.requant.range);
  row_.size = static_cast<std::uint16_t>(lrn.size);
}

void VectorWork::prepare(const ArgMax& operation) {
  prepare_row(operation.result == ArgMax::Result::kIndex ? RowKind::kArgMax : RowKind::kOneHot, std::nullopt);
}

void VectorWork::cut_rows() {
  for (const Span& span : spans(static_cast<int>(inputs_[0].info.elements() / channels_))) cut_rows(span);
}
void VectorWork::cut_rows(const Span& span) {
  const std::int64_t out = std::int64_t{row_.results()} * dtype_size(output_.dtype);
  Interval part = part_of(span.pixels.size(), span.cores, span.core, 1);
  part = {span.pixels.begin + part.begin, span.pixels.begin + part.end};
  const std::int64_t most = std::min<std::int64_t>(std::max<std::int64_t>(ceil_div(part.size(), 2), 1),
                                                   step_bytes() / (channels_ + out));
  if (part.size() > 0 && most == 0) beyond_nram("a pixel and its result");
  for (std::int64_t at = part.begin; at < part.end; at += most) {
    const std::int64_t count = std::min<std::int64_t>(most, part.end - at);
    VectorPiece piece;
    piece.in_bytes = count * channels_, piece.out_bytes = count * out;
    piece.fetches.push_back(
        {inputs_[0].address + static_cast<std::uint64_t>(at * channels_), 0, one_run(piece.in_bytes)});
    piece.destination = result_.address + static_cast<std::uint64_t>(at * out);
    piece.store = one_run(piece.out_bytes);
    VectorRow run = row_;
    run.pixels = static_cast<std::uint32_t>(count);
    piece.run = run;
    pieces_.push_back(std::move(piece));
  }
}

}  // namespace tilebeat
