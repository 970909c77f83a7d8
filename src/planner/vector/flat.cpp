// Operators that compute element by element, or pixel by pixel: cut into runs of neighbouring elements.
#include "base/types.h"
#include "planner/layer/placement.h"
#include "planner/vector/families.h"

#include <algorithm>

namespace tilebeat {
namespace {

/// Work whose operands and results are in the order that they have in DRAM.
class FlatWork : public RunWork {
 protected:
  /// `pixel`: elements that stay together, one per channel; nothing: elements have no channel.
  FlatWork(const VectorJob& job, VectorKind kind, std::optional<int> pixel)
      : RunWork(job, kind), pixel_(pixel) {}
  static std::optional<int> pixel_of(const VectorJob& job) { return to_int(job.layer.output.shape.back()); }

  void cut(VectorCut& cut) const override {
    for (const VectorCut::Span& span : cut.spans(to_int(output_.elements() / channels_))) cut_span(span, cut);
  }

 private:
  void cut_span(const VectorCut::Span& span, VectorCut& cut) const {
    constexpr int kGranule = 64;  // elements that a core gets at least
    const int unit = pixel_.value_or(1);
    const int per_pixel = channels_ / unit, first = span.pixels.begin * per_pixel;
    const int granule = pixel_ ? 1 : kGranule;
    Interval part = part_of(span.pixels.size() * per_pixel, span.cores, span.core, granule);
    part = {first + part.begin, first + part.end};
    const std::int64_t element = dtype_size(run_.a_type) +
                                 (inputs_.size() > 1 ? dtype_size(run_.b_type) : 0) +
                                 dtype_size(run_.out_type);
    const std::int64_t most =
        std::min<std::int64_t>({kMostOfField, cut.step_bytes() / (element * unit),
                                std::max<std::int64_t>(ceil_div(part.size(), 2), granule)});
    if (part.size() > 0 && most == 0) beyond_nram("a pixel and its result");
    for (int at = part.begin; at < part.end; at += to_int(most)) {
      const int count = to_int(std::min<std::int64_t>(most, part.end - at));
      add_run(std::int64_t{at} * unit, std::int64_t{count} * unit, pixel_ ? count : 1, pixel_.value_or(count),
              cut);
    }
  }

  void add_run(std::int64_t first, std::int64_t elements, int columns, int channels, VectorCut& cut) const {
    VectorPiece piece;
    for (const Placement& input : inputs_) {
      const int size = dtype_size(input.info.dtype);
      piece.b_offset = piece.in_bytes;  // ends as the offset of the last operand
      piece.fetches.push_back(
          {input.address + to_unsigned(first * size), piece.in_bytes, one_run(elements * size)});
      piece.in_bytes = align_up(piece.in_bytes + elements * size, kBufferAlignment);
    }
    const int size = dtype_size(output_.dtype);
    piece.out_bytes = elements * size;
    VectorRun run = run_;
    run.rows = 1;
    set_field(run.columns, columns), set_field(run.channels, channels);
    piece.run = run;
    piece.destination = result_.address + to_unsigned(first * size);
    piece.store = one_run(piece.out_bytes);
    cut.pieces.push_back(std::move(piece));
  }

  std::optional<int> pixel_;
};

class ByteFunctionWork : public FlatWork {
 public:
  ByteFunctionWork(const ByteFunction& function, const VectorJob& job)
      : FlatWork(job, VectorKind::kTable, std::nullopt) {
    const TensorInfo& input = inputs_.front().info;
    const auto table = function_table(function, input.dtype, input.zero_point);
    parameters_.assign(table.begin(), table.end());
    check_parameters();
  }
};

bool of_int16(const VectorJob& job) {
  return job.inputs[0].info.dtype == DType::kInt16 || job.layer.output.dtype == DType::kInt16;
}

/// A function of one element that is int16, or becomes int16: no table has all its results.
class Int16FunctionWork : public FlatWork {
 public:
  Int16FunctionWork(const ByteFunction& function, const VectorJob& job)
      : FlatWork(job, kind_of(function.kind), std::nullopt) {
    run_.arithmetic = function.requant.arithmetic;
    const auto within = [](std::int64_t element) {
      return static_cast<std::int32_t>(std::clamp<std::int64_t>(element, INT16_MIN, INT16_MAX));
    };
    if (function.kind == ByteFunction::Kind::kRelu)
      bound(OutputRange{0, INT16_MAX});
    else if (function.kind == ByteFunction::Kind::kClamp)
      bound(OutputRange{within(function.low), within(function.high)});
    else
      bound(function.requant.range);
    parameters_ = function_parameters_int16(function);
    check_parameters();
  }

 private:
  static VectorKind kind_of(ByteFunction::Kind kind) {
    if (kind == ByteFunction::Kind::kSigmoid) return VectorKind::kSigmoid;
    return kind == ByteFunction::Kind::kTanh ? VectorKind::kTanh : VectorKind::kSlopes;
  }
};

class ScaleWork : public FlatWork {
 public:
  ScaleWork(const ChannelScale& operation, const VectorJob& job)
      : FlatWork(job, VectorKind::kScale, pixel_of(job)) {
    bound(operation.requant.range);
    append(operation.requant.scale, parameters_);
    for (std::size_t c = 0; c < operation.scale.size(); ++c) {
      append(operation.scale[c], parameters_);
      append(operation.offset[c], parameters_);
    }
    check_parameters();
  }
};

/// A scale or, in an arithmetic other than exact, a table; of int16 a factor.
class RequantizeWork : public FlatWork {
 public:
  RequantizeWork(const Requantize& operation, const VectorJob& job)
      : FlatWork(job, VectorKind::kScale, pixel_of(job)) {
    if (of_int16(job) && inputs_.front().info.dtype != DType::kInt32) {
      run_.kind = VectorKind::kSlopes, run_.arithmetic = operation.requant.arithmetic;
      bound(operation.requant.range);
      parameters_ = requantize_parameters_int16(operation);
    } else if (operation.requant.arithmetic != Arithmetic::kExact) {
      const TensorInfo& input = inputs_.front().info;
      const auto table = requantize_table(operation, input.dtype, input.zero_point);
      run_.kind = VectorKind::kTable;
      parameters_.assign(table.begin(), table.end());
    } else {
      bound(operation.requant.range);
      append(operation.requant.scale, parameters_);
      for (int c = 0; c < channels_; ++c)
        append(operation.input_scale, parameters_), append(0.0, parameters_);
    }
    check_parameters();
  }
};

/// Conversions between float32 and bytes or int16.
class StepWork : public FlatWork {
 public:
  StepWork(VectorKind kind, float scale, Arithmetic arithmetic, const VectorJob& job)
      : FlatWork(job, kind, std::nullopt) {
    run_.arithmetic = arithmetic;
    append(scale, parameters_), append(0.0F, parameters_);
    check_parameters();
  }
};

// The strided view of an operand for a result of `rank` axes: aligned at the ends, extents of 1 repeated.
StridedView::Tensor repeated_operand(const TensorInfo& info, std::size_t rank) {
  StridedView::Tensor tensor{0, dense_strides(info.shape), dtype_size(info.dtype)};
  for (std::size_t axis = 0; axis < info.shape.size(); ++axis) {
    if (info.shape[axis] == 1) tensor.strides[axis] = 0;
  }
  tensor.strides.insert(tensor.strides.begin(), rank - info.shape.size(), 0);
  return tensor;
}

/// Operands without repeated axes have the order of the result.
class ElementwiseWork : public FlatWork {
 public:
  ElementwiseWork(const PlainElementwise& operation, const VectorJob& job)
      : FlatWork(job, kind_of(operation.kind), std::nullopt) {
    run_.divide = operation.kind == Elementwise::Kind::kDiv;
    for (int i = 0; i < 3; ++i) append(1.0, parameters_);  // no scale
    check_parameters();
    if (layer_.inputs[0] == layer_.inputs[1]) touched_ = 2 * output_.size_bytes();
  }
  ElementwiseWork(const Elementwise& operation, const VectorJob& job)
      : FlatWork(job, kind_of(operation.kind), std::nullopt) {
    run_.divide = operation.kind == Elementwise::Kind::kDiv;
    run_.relu = operation.relu, run_.arithmetic = operation.requant.arithmetic;
    bound(operation.requant.range);
    parameters_ = elementwise_parameters(operation);
    check_parameters();
    if (layer_.inputs[0] == layer_.inputs[1]) touched_ = 2 * output_.size_bytes();
  }

 private:
  static VectorKind kind_of(Elementwise::Kind kind) {
    if (kind == Elementwise::Kind::kAdd) return VectorKind::kAdd;
    if (kind == Elementwise::Kind::kMax) return VectorKind::kMax;
    if (kind == Elementwise::Kind::kMin) return VectorKind::kMin;
    return kind == Elementwise::Kind::kSub ? VectorKind::kSub : VectorKind::kMul;
  }

  void cut(VectorCut& cut) const override {
    const bool alike = std::all_of(inputs_.begin(), inputs_.end(),
                                   [&](const Placement& input) { return input.info.shape == output_.shape; });
    if (alike) return FlatWork::cut(cut);
    StridedView axes{output_.shape, {}, dense_tensor(output_)};
    for (const Placement& input : inputs_)
      axes.operands.push_back(repeated_operand(input.info, output_.shape.size()));
    cut_lines(axes, LineUse::kElements, run_, cut);
  }
};

/// A softmax; along an axis other than the last one, transfers gather the pixels and scatter the results.
class SoftmaxWork : public FlatWork {
 public:
  SoftmaxWork(const Softmax& operation, const VectorJob& job)
      : FlatWork(job, VectorKind::kSoftmax, pixel_of(job)), axis_(operation.axis) {
    run_.arithmetic = operation.requant.arithmetic;
    bound(operation.requant.range);
    if (operation.axis >= 0) channels_ = to_int(nth(output_.shape, operation.axis));
    parameters_ = softmax_parameters(operation, channels_);
    need_row();
    check_parameters();
  }

 private:
  void cut(VectorCut& cut) const override {
    const auto rank = output_.shape.size();
    if (axis_ < 0 || axis_ == to_int(rank) - 1) return FlatWork::cut(cut);
    StridedView axes{output_.shape, {dense_tensor(output_)}, dense_tensor(output_)};
    const auto turn = [this](std::vector<std::int64_t>& values) {
      const auto place = values.begin() + axis_;
      std::rotate(place, place + 1, values.end());
    };
    turn(axes.extents), turn(axes.operands[0].strides), turn(axes.result.strides);
    cut_lines(axes, LineUse::kPixel, run_, cut);
  }

  int axis_;
};

}  // namespace

Work work_of(const Elementwise& operation, const VectorJob& job) {
  return std::make_unique<ElementwiseWork>(operation, job);
}
Work work_of(const PlainElementwise& operation, const VectorJob& job) {
  return std::make_unique<ElementwiseWork>(operation, job);
}
Work work_of(const ByteFunction& function, const VectorJob& job) {
  if (of_int16(job)) return std::make_unique<Int16FunctionWork>(function, job);
  return std::make_unique<ByteFunctionWork>(function, job);
}
Work work_of(const ChannelScale& operation, const VectorJob& job) {
  return std::make_unique<ScaleWork>(operation, job);
}
Work work_of(const Requantize& operation, const VectorJob& job) {
  return std::make_unique<RequantizeWork>(operation, job);
}
Work work_of(const Quantize& operation, const VectorJob& job) {
  return std::make_unique<StepWork>(VectorKind::kQuantize, operation.scale, operation.arithmetic, job);
}
Work work_of(const Dequantize& operation, const VectorJob& job) {
  return std::make_unique<StepWork>(VectorKind::kDequantize, operation.scale, Arithmetic::kExact, job);
}
Work work_of(const Softmax& operation, const VectorJob& job) {
  if (operation.mask) return causal_softmax_work(operation, job);
  return std::make_unique<SoftmaxWork>(operation, job);
}

}  // namespace tilebeat
