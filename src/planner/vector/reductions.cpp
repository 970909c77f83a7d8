// Operators that traverse all elements along axes: reductions, norms, argmax, and the range of a tensor.
#include "base/types.h"
#include "planner/layer/placement.h"
#include "planner/vector/families.h"

#include <algorithm>

namespace tilebeat {
namespace {

/// A reduction of an input [outers, count, inner] over `count`.
class ReduceWork : public RunWork {
 public:
  ReduceWork(const Reduce& reduce, const VectorJob& job)
      : RunWork(job, reduce.kind == Reduce::Kind::kMax ? VectorKind::kMaxPool : VectorKind::kMean) {
    const bool greatest = reduce.kind == Reduce::Kind::kMax;
    run_.arithmetic = greatest ? Arithmetic::kExact : reduce.requant.arithmetic;
    const auto& shape = inputs_[0].info.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto number = to_int(axis);
      std::int64_t& extent = number < reduce.axes.front()  ? outers_
                             : number > reduce.axes.back() ? inner_
                                                           : count_;
      extent *= shape[axis];
    }
    set_field(run_.kernel_w, count_);
    bound(reduce.requant.range);
    if (!greatest) parameters_ = mean_parameters(reduce, count_, inputs_[0].info.zero_point);
    check_parameters();
  }

 private:
  // For each outer index, the reduced elements are neighbouring taps and the inner indices are channels.
  void cut(VectorCut& cut) const override {
    const int in_size = dtype_size(run_.a_type), out_size = dtype_size(run_.out_type);
    const std::int64_t longest =
        std::min({chip_.core.vector.row_elements, chip_.core.copy.buffer_bytes / in_size, kMostOfField});
    // Channels are divided only where there are too few outer indices for all cores.
    const std::int64_t lanes = chip_.core.vector.lanes;
    const std::int64_t parts = ceil_div<std::int64_t>(cut.share().cores, outers_);
    std::int64_t channels = std::min({longest, inner_, align_up(ceil_div(inner_, parts), lanes)});
    const auto bytes = [&](std::int64_t outers) { return outers * (count_ * in_size + out_size) * channels; };
    while (channels > 1 && bytes(1) > cut.step_bytes()) channels = ceil_div<std::int64_t>(channels, 2);
    if (bytes(1) > cut.step_bytes()) beyond_nram("the elements of a mean and their mean");
    const auto columns = to_int(ceil_div(inner_, channels));
    const Interval part = part_of(to_int(outers_) * columns, cut.share().cores, cut.share().core, 1);
    for (int at = part.begin; at < part.end;) {
      std::int64_t outers = 1;
      if (columns == 1) {
        const std::int64_t half = ceil_div(part.size(), 2);
        outers = std::min<std::int64_t>({part.end - at, half, kMostOfField, cut.step_bytes() / bytes(1)});
      }
      const auto first = to_int(at % columns * channels);
      const auto end = to_int(std::min<std::int64_t>(inner_, first + channels));
      add_reduced(at / columns, outers, {first, end}, cut);
      at += to_int(outers);
    }
  }

  void add_reduced(std::int64_t first, std::int64_t outers, Interval channels, VectorCut& cut) const {
    VectorRun run = run_;
    run.rows = run.height = static_cast<std::uint16_t>(outers);
    run.columns = 1, set_field(run.width, count_);
    set_field(run.channels, channels.size());
    VectorPiece piece;
    piece.run = run;
    const int in_size = dtype_size(run_.a_type), out_size = dtype_size(run_.out_type);
    const std::int64_t in_run = std::int64_t{channels.size()} * in_size;
    piece.in_bytes = outers * count_ * in_run, piece.out_bytes = outers * channels.size() * out_size;
    CopyShape fetch = one_run(piece.in_bytes);
    if (channels.size() < inner_) {  // elements of a single outer index
      fetch = one_run(in_run);
      fetch.rows = count_, fetch.source_row = inner_ * in_size, fetch.destination_row = in_run;
    }
    const std::int64_t element = first * count_ * inner_ + channels.begin;
    piece.fetches.push_back({inputs_[0].address + to_unsigned(element * in_size), 0, fetch});
    piece.destination = result_.address + to_unsigned((first * inner_ + channels.begin) * out_size);
    piece.store = one_run(piece.out_bytes);
    cut.pieces.push_back(std::move(piece));
  }

  std::int64_t outers_ = 1, count_ = 1, inner_ = 1;
};

/// An operation over all channels of a pixel.
class RowWork : public RunWork {
 protected:
  RowWork(RowKind kind, const VectorJob& job) : RunWork(job, VectorKind::kTable) { row_.kind = kind; }
  /// Call it when the parameters are set.
  void prepare(const std::optional<OutputRange>& range) {
    const TensorInfo& input = inputs_[0].info;
    channels_ = to_int(input.shape.back());
    need_row();
    bound(range);
    check_parameters();
    row_.a_type = input.dtype, row_.out_type = output_.dtype;
    row_.a_zero = run_.a_zero, row_.out_zero = run_.out_zero;
    row_.floor = run_.floor, row_.ceiling = run_.ceiling;
    set_field(row_.channels, channels_);
  }

  VectorRow row_;

 private:
  void cut(VectorCut& cut) const override {
    for (const VectorCut::Span& span : cut.spans(to_int(inputs_[0].info.elements() / channels_)))
      cut_span(span.part(), cut);
  }

  // The channels from the first to the last that some of the pixels from `at` on see.
  VectorPiece::Fetch fetch_of(const VectorRow& run, std::int64_t at) const {
    if (run.kind != RowKind::kCausalSoftmax)
      return {inputs_[0].address + to_unsigned(at * channels_), 0,
              one_run(std::int64_t{run.pixels} * channels_)};
    Interval seen{channels_, 0};
    for (std::int64_t pixel = 0; pixel < run.pixels; ++pixel)
      seen = {std::min(seen.begin, to_int(run.first_seen(pixel))),
              std::max(seen.end, to_int(run.end_seen(pixel)))};
    CopyShape shape = one_run(std::int64_t{run.pixels} * channels_);
    if (seen.size() < channels_) {
      shape = one_run(seen.size());
      shape.rows = run.pixels, shape.source_row = shape.destination_row = channels_;
    }
    return {inputs_[0].address + to_unsigned(at * channels_ + seen.begin), seen.begin, shape};
  }

  void cut_span(Interval part, VectorCut& cut) const {
    const std::int64_t out = std::int64_t{row_.results()} * dtype_size(output_.dtype);
    const std::int64_t most = std::min<std::int64_t>(std::max<std::int64_t>(ceil_div(part.size(), 2), 1),
                                                     cut.step_bytes() / (channels_ + out));
    if (part.size() > 0 && most == 0) beyond_nram("a pixel and its result");
    for (std::int64_t at = part.begin; at < part.end; at += most) {
      const std::int64_t count = std::min<std::int64_t>(most, part.end - at);
      VectorPiece piece;
      piece.in_bytes = count * channels_, piece.out_bytes = count * out;
      piece.destination = result_.address + to_unsigned(at * out);
      piece.store = one_run(piece.out_bytes);
      VectorRow run = row_;
      set_field(run.pixels, count);
      set_field(run.row, at % run.rows);
      piece.fetches.push_back(fetch_of(run, at));
      piece.run = run;
      cut.pieces.push_back(std::move(piece));
    }
  }
};

class NormWork : public RowWork {
 public:
  NormWork(const RowNorm& norm, const VectorJob& job)
      : RowWork(norm.kind == RowNorm::Kind::kLayerNorm ? RowKind::kLayerNorm : RowKind::kRmsNorm, job) {
    const bool centre = norm.kind == RowNorm::Kind::kLayerNorm;
    const auto n = static_cast<double>(inputs_[0].info.shape.back());
    const double steps = (centre ? n : 1.0) / norm.input_scale;
    append(norm.epsilon * (steps * steps), parameters_), append(norm.requant.scale, parameters_);
    for (std::size_t c = 0; c < norm.gamma.size(); ++c)
      append(norm.gamma[c], parameters_), append(norm.beta[c], parameters_);
    prepare(norm.requant.range);
  }
};

class CausalSoftmaxWork : public RowWork {
 public:
  CausalSoftmaxWork(const Softmax& operation, const VectorJob& job) : RowWork(RowKind::kCausalSoftmax, job) {
    parameters_ = softmax_parameters(operation, inputs_[0].info.shape.back());
    prepare(operation.requant.range);
    set_field(row_.rows, operation.mask->queries);
    set_field(row_.past, operation.mask->past);
    set_field(row_.size, operation.mask->window);
    touched_ = output_.size_bytes() +
               inputs_[0].info.elements() / (operation.mask->queries * channels_) * operation.mask->pairs();
  }
};

class LrnWork : public RowWork {
 public:
  LrnWork(const Lrn& lrn, const VectorJob& job) : RowWork(RowKind::kLrn, job) {
    for (const double factor :
         {lrn.input_scale, lrn.alpha / static_cast<double>(lrn.size), lrn.beta, lrn.bias, lrn.requant.scale})
      append(factor, parameters_);
    prepare(lrn.requant.range);
    set_field(row_.size, lrn.size);
  }
};

class ArgMaxWork : public RowWork {
 public:
  ArgMaxWork(const ArgMax& operation, const VectorJob& job)
      : RowWork(operation.result == ArgMax::Result::kIndex ? RowKind::kArgMax : RowKind::kOneHot, job) {
    prepare(std::nullopt);
  }
};

/// One core traverses all elements for their range, and again for the results.
class DynamicQuantizeWork : public RunWork {
 public:
  DynamicQuantizeWork(const DynamicQuantize& operation, const VectorJob& job)
      : RunWork(job, operation.result == DynamicQuantize::Result::kZero ? VectorKind::kDynamicZero
                                                                        : VectorKind::kDynamic),
        operation_(operation) {
    append(0.0F, parameters_), append(0.0F, parameters_);  // the range, which is empty at first
    check_parameters();
  }

 private:
  void cut(VectorCut& cut) const override {
    if (cut.share().core != 0) return;
    const std::int64_t elements = inputs_[0].info.elements();
    const auto most = std::min<std::int64_t>(kMostOfField, cut.step_bytes() / 8);
    if (most == 0) beyond_nram("an element");
    const auto cut_all = [&](const VectorRun& run, VectorPiece::ResultPlace place, std::int64_t end) {
      for (std::int64_t at = 0; at < end; at += most) {
        const std::int64_t count = std::min(most, end - at);
        VectorRun part = run;
        part.rows = part.columns = 1, set_field(part.channels, count);
        VectorPiece piece;
        piece.run = part, piece.result_place = place;
        piece.in_bytes = count * 4;
        piece.out_bytes = count * dtype_size(part.out_type);
        piece.fetches.push_back({inputs_[0].address + to_unsigned(at * 4), 0, one_run(count * 4)});
        piece.destination = result_.address + to_unsigned(at);
        piece.store = one_run(piece.out_bytes);
        cut.pieces.push_back(std::move(piece));
      }
    };
    VectorRun range = run_;
    range.kind = VectorKind::kRange, range.out_type = DType::kFloat32, range.out_zero = 0;
    cut_all(range, VectorPiece::ResultPlace::kParameters, elements);
    const bool one = operation_.result != DynamicQuantize::Result::kY;
    cut_all(run_, VectorPiece::ResultPlace::kStored, one ? 1 : elements);
  }

  const DynamicQuantize& operation_;
};

}  // namespace

Work work_of(const Reduce& reduce, const VectorJob& job) {
  return std::make_unique<ReduceWork>(reduce, job);
}
Work work_of(const RowNorm& norm, const VectorJob& job) {
  return std::make_unique<NormWork>(norm, job);
}
Work causal_softmax_work(const Softmax& operation, const VectorJob& job) {
  return std::make_unique<CausalSoftmaxWork>(operation, job);
}
Work work_of(const Lrn& lrn, const VectorJob& job) {
  return std::make_unique<LrnWork>(lrn, job);
}
Work work_of(const ArgMax& operation, const VectorJob& job) {
  return std::make_unique<ArgMaxWork>(operation, job);
}
Work work_of(const DynamicQuantize& operation, const VectorJob& job) {
  return std::make_unique<DynamicQuantizeWork>(operation, job);
}

}  // namespace tilebeat
