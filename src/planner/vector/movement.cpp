// Operators that move elements without computing, and the traversal of strided views line by line.
#include "base/types.h"
#include "planner/layer/placement.h"
#include "planner/vector/families.h"

#include <algorithm>
#include <set>

namespace tilebeat {
namespace {

/// `count` neighbouring lines from line number `first` on, elements [begin, end) of each.
struct Lines {
  std::int64_t first = 0, count = 1, begin = 0, end = 0;
};

/// The same views with as few axes as possible.
StridedView joined(const StridedView& axes, LineUse use) {
  StridedView made = axes;
  const auto all = [&made](auto test) {
    for (const StridedView::Tensor& operand : made.operands) {
      if (!test(operand.strides)) return false;
    }
    return test(made.result.strides);
  };
  const auto erase = [&made](std::size_t axis) {
    const auto at = to_signed(axis);
    made.extents.erase(made.extents.begin() + at);
    for (StridedView::Tensor& operand : made.operands) operand.strides.erase(operand.strides.begin() + at);
    made.result.strides.erase(made.result.strides.begin() + at);
  };
  // Axis by axis from the end: removes an axis of extent 1, and joins one that continues the next one.
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

/// The element of `tensor` where `lines` begin.
std::int64_t element_of(const StridedView& axes, const StridedView::Tensor& tensor, const Lines& lines) {
  std::int64_t element = tensor.offset + lines.begin * tensor.strides.back(), rest = lines.first;
  for (std::size_t axis = axes.extents.size() - 1; axis-- > 0; rest /= axes.extents[axis])
    element += rest % axes.extents[axis] * tensor.strides[axis];
  return element;
}

/// The copy of lines between a strided view and a buffer in which they lie without gaps.
CopyShape lines_shape(const StridedView& axes, const StridedView::Tensor& tensor, const Lines& lines,
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

/// The piece that fetches and stores `lines`.
VectorPiece piece_of_lines(const StridedView& axes, const Lines& lines, const std::vector<Placement>& inputs,
                           const Placement& output) {
  const std::int64_t length = lines.end - lines.begin, elements = lines.count * length;
  VectorPiece piece;
  for (std::size_t i = 0; i < axes.operands.size(); ++i) {
    const StridedView::Tensor& operand = axes.operands[i];
    const std::int64_t from = element_of(axes, operand, lines) * operand.element_bytes;
    piece.b_offset = piece.in_bytes;  // ends as the offset of the last operand
    piece.fetches.push_back({inputs[i].address + to_unsigned(from), piece.in_bytes,
                             lines_shape(axes, operand, lines, TransferEnd::kSource)});
    piece.in_bytes = align_up(piece.in_bytes + elements * operand.element_bytes, kBufferAlignment);
  }
  const StridedView::Tensor& result = axes.result;
  piece.out_bytes = elements * result.element_bytes;
  piece.destination = output.address + to_unsigned(element_of(axes, result, lines) * result.element_bytes);
  piece.store = lines_shape(axes, result, lines, TransferEnd::kDestination);
  return piece;
}

}  // namespace

std::int64_t StridedView::lines() const {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis + 1 < extents.size(); ++axis) count *= extents[axis];
  return count;
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size() - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

StridedView::Tensor dense_tensor(const TensorInfo& info) {
  return {0, dense_strides(info.shape), dtype_size(info.dtype)};
}

void VectorWork::cut_lines(const StridedView& all, LineUse use, const std::optional<VectorRun>& run,
                           VectorCut& cut) const {
  const StridedView axes = joined(all, use);
  std::int64_t element = axes.result.element_bytes;
  for (const StridedView::Tensor& operand : axes.operands) element += operand.element_bytes;
  const std::int64_t room = std::min<std::int64_t>(cut.step_bytes() / element, kMostOfField);
  if (room == 0 || (use == LineUse::kPixel && room < axes.line())) beyond_nram("a pixel and its result");
  const Interval part = part_of(to_int(axes.lines()), cut.share().cores, cut.share().core, 1);
  // A single line is divided among the cores.
  const bool one_line = axes.lines() == 1 && use == LineUse::kElements;
  Interval elements{0, to_int(axes.line())};
  if (one_line) elements = part_of(elements.size(), cut.share().cores, cut.share().core, 64);
  const std::int64_t length =
      std::min<std::int64_t>(room, one_line ? std::max(1, ceil_div(elements.size(), 2)) : axes.line());
  const std::int64_t half = std::max(1, ceil_div(part.size(), 2));
  const Interval lines = one_line ? Interval{0, 1} : part;
  for (std::int64_t at = lines.begin; at < lines.end;) {
    const std::int64_t most = length < axes.line() ? 1 : room / axes.line();
    const std::int64_t count =
        std::min({most, lines.end - at, axes.neighbours() - at % axes.neighbours(), half});
    for (std::int64_t from = elements.begin; from < elements.end; from += length) {
      const Lines own{at, count, from, std::min<std::int64_t>(elements.end, from + length)};
      VectorPiece& piece = cut.pieces.emplace_back(piece_of_lines(axes, own, inputs_, result_));
      if (!run) continue;
      const std::int64_t channels = own.end - own.begin;
      VectorRun of_part = *run;
      of_part.rows = 1;
      set_field(of_part.columns, use == LineUse::kPixel ? count : 1);
      set_field(of_part.channels, use == LineUse::kPixel ? channels : count * channels);
      piece.run = of_part;
    }
    at += count;
  }
}

namespace {

class ConcatWork : public VectorWork {
 public:
  ConcatWork(const Concat& concat, const VectorJob& job) : VectorWork(job), concat_(concat) {
    if (!appends()) return;
    written_ -= inputs_.front().info.size_bytes();
    touched_ = 2 * written_;
  }

 private:
  // Whether the first input lies where the result begins.
  bool appends() const { return inputs_.front().address == result_.address; }

  void cut(VectorCut& cut) const override {
    const auto axis = to_size(concat_.axis);
    const auto bytes_from_axis = [axis](const TensorInfo& info) {
      std::int64_t bytes = dtype_size(info.dtype);
      for (std::size_t a = axis; a < info.shape.size(); ++a) bytes *= info.shape[a];
      return bytes;
    };
    const std::int64_t row = bytes_from_axis(output_);
    const bool channels = axis + 1 == output_.shape.size();
    const auto all = to_int(output_.size_bytes() / row);
    if (cut.step_bytes() == 0) beyond_nram("a byte");
    for (const VectorCut::Span& span :
         channels ? cut.spans(all)
                  : std::vector<VectorCut::Span>{{{0, all}, cut.share().core, cut.share().cores}}) {
      std::int64_t before = 0;
      for (const Placement& input : inputs_) {
        const std::int64_t depth = bytes_from_axis(input.info);
        const bool is_there = before == 0 && appends();
        if (!is_there) add_joined(input, span.part(), depth, {row, before}, cut);
        before += depth;
      }
    }
  }

  struct JoinedBytes {
    std::int64_t row = 0, first = 0;  // bytes of an output place, and those in front of the input's part
  };
  // Adds the pieces that move bytes [0, depth) of places `part` of an input to bytes `to` of the output's
  // places.
  void add_joined(const Placement& input, Interval part, std::int64_t depth, const JoinedBytes& to,
                  VectorCut& cut) const {
    const std::int64_t run = std::min(depth, cut.step_bytes());
    const std::int64_t most = std::min<std::int64_t>(kMostOfField, cut.step_bytes() / run);
    for (std::int64_t at = part.begin; at < part.end; at += run < depth ? 1 : most) {
      const std::int64_t count = run < depth ? 1 : std::min<std::int64_t>(most, part.end - at);
      for (std::int64_t from = 0; from < depth; from += run) {
        const std::int64_t bytes = std::min(run, depth - from);
        VectorPiece piece;
        piece.in_bytes = count * bytes;
        piece.fetches.push_back({input.address + to_unsigned(at * depth + from), 0, one_run(piece.in_bytes)});
        piece.destination = result_.address + to_unsigned(at * to.row + to.first + from);
        piece.store.run = bytes, piece.store.columns = count;
        piece.store.source_column = bytes, piece.store.destination_column = to.row;
        cut.pieces.push_back(std::move(piece));
      }
    }
  }

  const Concat& concat_;
};

/// Work that may read only a part of the input.
class MoveWork : public VectorWork {
 public:
  MoveWork(const Move& move, const VectorJob& job) : VectorWork(job), move_(move) {
    std::int64_t elements = 1;
    for (std::size_t axis = 0; axis < move.strides.size(); ++axis)
      elements *= move.strides[axis] != 0 ? move.extents[axis] : 1;
    const std::int64_t read = elements * dtype_size(output_.dtype);
    touched_ = output_.size_bytes() + std::min(read, inputs_[0].info.size_bytes());
  }

 private:
  void cut(VectorCut& cut) const override {
    const int size = dtype_size(output_.dtype);
    const StridedView axes{
        move_.extents, {{move_.offset, move_.strides, size}}, {0, dense_strides(move_.extents), size}};
    cut_lines(axes, LineUse::kElements, std::nullopt, cut);
  }

  const Move& move_;
};

/// Work that may read only a part of the input.
class GatherWork : public VectorWork {
 public:
  GatherWork(const Gather& gather, const VectorJob& job) : VectorWork(job), gather_(gather) {
    const std::set<std::int64_t> indices(gather.indices.begin(), gather.indices.end());
    const TensorInfo& input = inputs_[0].info;
    const std::int64_t extent = nth(input.shape, gather.axis);
    touched_ = output_.size_bytes() + input.size_bytes() / extent * ssize(indices);
  }

 private:
  // The cores divide the indices; a piece is an index of one place of the outer axes, or a part of it.
  void cut(VectorCut& cut) const override {
    const auto axis = to_size(gather_.axis);
    std::int64_t inner = dtype_size(output_.dtype), outers = 1;
    for (std::size_t a = axis + 1; a < output_.shape.size(); ++a) inner *= output_.shape[a];
    for (std::size_t a = 0; a < axis; ++a) outers *= output_.shape[a];
    const auto count = ssize(gather_.indices);
    const std::int64_t extent = inputs_[0].info.shape[axis], run = std::min(inner, cut.step_bytes());
    if (run == 0) beyond_nram("a byte");
    const Interval part = part_of(to_int(outers * count), cut.share().cores, cut.share().core, 1);
    for (std::int64_t at = part.begin; at < part.end; ++at) {
      const std::int64_t index = nth(gather_.indices, at % count);
      for (std::int64_t from = 0; from < inner; from += run) {
        VectorPiece piece;
        piece.in_bytes = std::min(run, inner - from);
        piece.fetches.push_back(
            {inputs_[0].address + to_unsigned((at / count * extent + index) * inner + from), 0,
             one_run(piece.in_bytes)});
        piece.destination = result_.address + to_unsigned(at * inner + from);
        piece.store = one_run(piece.in_bytes);
        cut.pieces.push_back(std::move(piece));
      }
    }
  }

  const Gather& gather_;
};

/// Rows at computed indices: a step brings indices of one place of the outer axes, and IODMA their rows, or a
/// part of each.
class LookupWork : public VectorWork {
 public:
  LookupWork(const Lookup& lookup, const VectorJob& job)
      : VectorWork(job), axis_(to_size(lookup.axis)), numbers_(inputs_.size() - 1) {
    touched_ = 2 * output_.size_bytes();
    for (std::size_t i = 1; i < inputs_.size(); ++i) touched_ += inputs_[i].info.size_bytes();
  }

 private:
  static constexpr std::int64_t kIndexBytes = RowGather::kIndexBytes;

  // The cores divide the rows of all outer places.
  void cut(VectorCut& cut) const override {
    const std::vector<std::int64_t>& shape = inputs_.front().info.shape;
    std::int64_t inner = dtype_size(output_.dtype), outers = 1;
    for (std::size_t a = axis_ + numbers_; a < shape.size(); ++a) inner *= shape[a];
    for (std::size_t a = 0; a < axis_; ++a) outers *= shape[a];
    const auto count = output_.shape[axis_];
    const auto numbers = to_signed(numbers_), step = cut.step_bytes();
    // Both halves of the buffers begin at multiples of kBufferAlignment.
    const std::int64_t room = step - (1 + numbers) * kBufferAlignment,
                       run = std::min(inner, room - numbers * kIndexBytes);
    if (run <= 0) beyond_nram("an index and a byte");
    const std::int64_t most =
        run < inner ? 1 : std::min<std::int64_t>(kMostOfField, room / (inner + numbers * kIndexBytes));
    const Interval part = part_of(to_int(outers * count), cut.share().cores, cut.share().core, 1);
    for (std::int64_t at = part.begin; at < part.end;) {
      const std::int64_t outer = at / count, first = at % count;
      const std::int64_t some = std::min({most, count - first, part.end - at});
      for (std::int64_t from = 0; from < inner; from += run)
        cut.pieces.push_back(
            piece(outer, {to_int(first), to_int(first + some)}, inner, from, std::min(run, inner - from)));
      at += some;
    }
  }

  // Bytes [from, from + run) of the rows of some indices.
  VectorPiece piece(std::int64_t outer, Interval indices, std::int64_t inner, std::int64_t from,
                    std::int64_t run) const {
    const TensorInfo& table = inputs_.front().info;
    const std::int64_t some = indices.size(), each = align_up(kIndexBytes * some, kBufferAlignment);
    const std::int64_t second = numbers_ == 2 ? table.shape[axis_ + 1] : 1;
    VectorPiece made;
    RowGather rows;
    for (std::size_t i = 0; i < numbers_; ++i) {
      const std::int64_t offset = to_signed(i) * each;
      made.fetches.push_back({inputs_[i + 1].address + to_unsigned(kIndexBytes * indices.begin), offset,
                              one_run(kIndexBytes * some)});
      (i == 0 ? rows.indices : rows.more_indices) = to_unsigned(offset);
      made.in_bytes = offset + kIndexBytes * some;
    }
    rows.source = inputs_.front().address + to_unsigned(outer * table.shape[axis_] * second * inner + from);
    set_field(rows.count, some), set_field(rows.row_bytes, run);
    set_field(rows.rows, table.shape[axis_]), set_field(rows.pitch, second * inner);
    if (numbers_ == 2) set_field(rows.more_rows, second), set_field(rows.more_pitch, inner);
    made.rows = rows;
    made.out_bytes = some * run;
    made.destination =
        result_.address + to_unsigned((outer * output_.shape[axis_] + indices.begin) * inner + from);
    made.store.run = run, made.store.columns = some;
    made.store.source_column = run, made.store.destination_column = inner;
    return made;
  }

  std::size_t axis_, numbers_;
};

}  // namespace

Work work_of(const Concat& operation, const VectorJob& job) {
  return std::make_unique<ConcatWork>(operation, job);
}
Work work_of(const Move& move, const VectorJob& job) {
  return std::make_unique<MoveWork>(move, job);
}
Work work_of(const Gather& gather, const VectorJob& job) {
  return std::make_unique<GatherWork>(gather, job);
}
Work work_of(const Lookup& lookup, const VectorJob& job) {
  return std::make_unique<LookupWork>(lookup, job);
}

}  // namespace tilebeat
