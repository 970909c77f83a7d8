// How a reduction, and what makes float32 of bytes or bytes of float32, is cut into pieces.
#include "tilebeat/base/math.h"

#include <algorithm>

#include "parameter_bytes.h"
#include "vector_work.h"

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

}  // namespace tilebeat
