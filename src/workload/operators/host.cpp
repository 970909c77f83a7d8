// Operators that the host computes in float32 (workload/host_operation.h). Their maps are [N, C, H, W].
#include "base/types.h"
#include "workload/operators/operator.h"
#include "workload/tensor_source.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

using Shape = std::vector<std::int64_t>;

/// Bounds of a clip: any finite float32.
constexpr Bounds kFloat{static_cast<double>(std::numeric_limits<float>::lowest()),
                        static_cast<double>(std::numeric_limits<float>::max())};

constexpr std::array<std::string_view, 2> kWeightNames{"constant", "result"};
constexpr const char* kWeightsText =
    "constants, or results of the network: the runtime sums in another order";

/// Sets the output of a layer of float32.
void set_reals(Shape shape, const LayerSource& source, Layer& layer) {
  check_shape(shape, source.place);
  layer.output = {std::move(shape), DType::kFloat32, 0};
}

/// Throws UserError unless input `i` has `axes` axes.
const Shape& shape_of(const LayerSource& source, std::size_t i, std::size_t axes) {
  const Shape& shape = source.inputs[i].shape;
  if (shape.size() != axes)
    source.input_place(i).refuse(fmt::format("{} with shape {}", shown(source.names[i]), shape_text(shape)),
                                 fmt::format("{} axes", axes));
  return shape;
}

/// Throws UserError unless `fits`.
void need_shape(bool fits, std::size_t i, const LayerSource& source, const std::string& allowed) {
  if (fits) return;
  source.input_place(i).refuse(
      fmt::format("{} with shape {}", shown(source.names[i]), shape_text(source.inputs[i].shape)), allowed);
}

/// The common shape of a and b, whose `skipped` last axes do not count.
Shape common_shape(const LayerSource& source, std::size_t skipped) {
  const Shape &a = source.inputs[0].shape, &b = source.inputs[1].shape;
  Shape made = a.size() > b.size() ? a : b;
  for (std::size_t i = 1 + skipped; i <= std::min(a.size(), b.size()); ++i) {
    const std::int64_t x = a[a.size() - i], y = b[b.size() - i];
    need_shape(x == y || x == 1 || y == 1, 1, source,
               fmt::format("a shape that can be repeated to {}", shape_text(a)));
    made[made.size() - i] = x == 1 ? y : x;
  }
  return made;
}

class HostElementwiseForm : public OperatorForm {
 public:
  explicit HostElementwiseForm(HostElementwise::Kind kind) : operation_{kind} {}
  void describe(Fields& /*v*/) override {}
  void load(const LayerSource& source, Layer& layer) const override {
    set_reals(common_shape(source, 0), source, layer);
    layer.operation = HostOperation{operation_};
  }

 private:
  HostElementwise operation_;
};

class HostFunctionForm : public OperatorForm {
 public:
  using Kind = HostFunction::Kind;
  explicit HostFunctionForm(Kind kind) : kind_(kind) {
    if (kind == Kind::kLeakyRelu) a_ = 0.01;
    if (kind == Kind::kHardSigmoid) a_ = 0.2, b_ = 0.5;
  }
  void describe(Fields& v) override {
    if (kind_ == Kind::kClip) {
      v.optional_number("low", low_, kFloat, "the least result; without it there is none");
      v.optional_number("high", high_, kFloat, "the greatest result; without it there is none");
    } else if (kind_ == Kind::kLeakyRelu) {
      v.number("slope", a_, kSlope, "factor of negative elements");
    } else if (kind_ == Kind::kHardSigmoid) {
      v.number("slope", a_, kSlope, "factor of an element");
      v.number("offset", b_, kReal, "added to the product");
    }
  }
  void load(const LayerSource& source, Layer& layer) const override {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    set_reals(source.input().shape, source, layer);
    const bool clips = kind_ == Kind::kClip;
    const double a = clips ? low_.value_or(-kInfinity) : a_, b = clips ? high_.value_or(kInfinity) : b_;
    layer.operation = HostOperation{HostFunction{kind_, static_cast<float>(a), static_cast<float>(b)}};
  }

 private:
  Kind kind_;
  double a_ = 0, b_ = 0;
  std::optional<double> low_, high_;
};

class HostSoftmaxForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.integer("axis", axis_, kAxis, "axis along which the results sum to 1, from the end if negative");
  }
  void load(const LayerSource& source, Layer& layer) const override {
    set_reals(source.input().shape, source, layer);
    const int axis = axis_of(axis_, source.input().shape.size(), source.place.key("axis"));
    layer.operation = HostOperation{HostSoftmax{axis}};
  }

 private:
  int axis_ = -1;
};

class HostReduceForm : public OperatorForm {
 public:
  explicit HostReduceForm(HostReduce::Kind kind) : kind_(kind) {}
  void describe(Fields& v) override {
    v.required().integers("axes", axes_, kAxis, {1, 6}, "axes that become 1, from the end if negative");
  }
  void load(const LayerSource& source, Layer& layer) const override {
    Shape shape = source.input().shape;
    HostReduce reduce{kind_, {}};
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      reduce.axes.push_back(axis_of(axes_[i], shape.size(), source.place.key("axes").item(i)));
      nth(shape, reduce.axes.back()) = 1;
    }
    set_reals(std::move(shape), source, layer);
    layer.operation = HostOperation{std::move(reduce)};
  }

 private:
  HostReduce::Kind kind_;
  std::vector<int> axes_;
};

/// A window on maps [N, C, H, W].
template <class Window>
void describe_window(Fields& v, Window& window) {
  v.integers("stride", window.stride, kTapExtent, "[height, width]");
  v.integers("dilation", window.dilation, kTapExtent, "[height, width] from tap to tap in pixels");
  v.integers("pads", window.pads, kPadding, "[top, left, bottom, right] in pixels");
}

template <class Window>
Shape windowed(const Window& window, std::array<int, 2> kernel, const Shape& in, std::int64_t channels,
               const LayerSource& source) {
  const WindowShape shape{kernel, window.stride, window.dilation, window.pads};
  const Shape map{in[0], in[2], in[3], in[1]};
  return {in[0], channels, output_pixels(shape, map, 0, source.place),
          output_pixels(shape, map, 1, source.place)};
}

class HostConvForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    describe_window(v, conv_);
    v.integer("groups", conv_.groups, kTapExtent, "groups of channels that are convolved apart");
    v.choice("weights", conv_.weights, kWeightNames, kWeightsText);
  }
  void load(const LayerSource& source, Layer& layer) const override {
    const Shape &in = shape_of(source, 0, 4), &kernels = shape_of(source, 1, 4);
    need_shape(kernels[1] * conv_.groups == in[1] && kernels[0] % conv_.groups == 0, 1, source,
               fmt::format("kernels [Co, {} / groups, Kh, Kw] with Co a multiple of groups", in[1]));
    if (source.inputs.size() > 2)
      need_shape(shape_of(source, 2, 1)[0] == kernels[0], 2, source, fmt::format("[{}]", kernels[0]));
    set_reals(windowed(conv_, {to_int(kernels[2]), to_int(kernels[3])}, in, kernels[0], source), source,
              layer);
    layer.operation = HostOperation{conv_};
  }

 private:
  HostConv conv_;
};

class HostPoolForm : public OperatorForm {
 public:
  explicit HostPoolForm(HostPool::Kind kind) { pool_.kind = kind; }
  void describe(Fields& v) override {
    v.required().integers("kernel", pool_.kernel, kTapExtent, "[height, width] in taps");
    v.integers("stride", pool_.stride, kTapExtent, "[height, width]");
    v.integers("pads", pool_.pads, kPadding, "[top, left, bottom, right] in pixels");
    if (pool_.kind == HostPool::Kind::kMax) {
      v.integers("dilation", pool_.dilation, kTapExtent, "[height, width] from tap to tap in pixels");
    } else {
      v.boolean("count_include_pad", pool_.count_include_pad, "whether taps on pads are counted");
    }
  }
  void load(const LayerSource& source, Layer& layer) const override {
    const Shape& in = shape_of(source, 0, 4);
    for (std::size_t i = 0; i < pool_.pads.size(); ++i) {
      if (pool_.pads[i] >= pool_.kernel[i % 2])
        source.place.key("pads").item(i).refuse_value(pool_.pads[i], "less than the kernel");
    }
    set_reals(windowed(pool_, pool_.kernel, in, in[1], source), source, layer);
    layer.operation = HostOperation{pool_};
  }

 private:
  HostPool pool_;
};

class HostGlobalPoolForm : public OperatorForm {
 public:
  void describe(Fields& /*v*/) override {}
  void load(const LayerSource& source, Layer& layer) const override {
    const Shape& in = shape_of(source, 0, 4);
    HostPool pool{HostPool::Kind::kGlobalAverage, {to_int(in[2]), to_int(in[3])}};
    set_reals({in[0], in[1], 1, 1}, source, layer);
    layer.operation = HostOperation{pool};
  }
};

class HostMatmulForm : public OperatorForm {
 public:
  void describe(Fields& v) override { v.choice("weights", product_.weights, kWeightNames, kWeightsText); }
  void load(const LayerSource& source, Layer& layer) const override {
    const Shape &a = source.inputs[0].shape, &b = source.inputs[1].shape;
    need_shape(a.size() >= 2, 0, source, "two axes or more");
    need_shape(b.size() >= 2 && b[b.size() - 2] == a.back(), 1, source,
               fmt::format("[..., {}, n]", a.back()));
    Shape shape = common_shape(source, 2);
    shape[shape.size() - 2] = a[a.size() - 2], shape.back() = b.back();
    set_reals(std::move(shape), source, layer);
    layer.operation = HostOperation{product_};
  }

 private:
  HostProduct product_;
};

class HostGemmForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.boolean("a_transposed", a_transposed_, "whether A is [k, m]");
    v.boolean("b_transposed", b_transposed_, "whether B is [n, k]");
    v.number("alpha", alpha_, kReal, "factor of the product");
    v.number("beta", beta_, kReal, "factor of the third input");
    v.choice("weights", weights_, kWeightNames, kWeightsText);
  }
  void load(const LayerSource& source, Layer& layer) const override {
    const Shape &a = shape_of(source, 0, 2), &b = shape_of(source, 1, 2);
    const std::int64_t m = a[a_transposed_ ? 1 : 0], k = a[a_transposed_ ? 0 : 1];
    const std::int64_t n = b[b_transposed_ ? 0 : 1];
    need_shape(b[b_transposed_ ? 1 : 0] == k, 1, source, fmt::format("a matrix with k = {}", k));
    if (source.inputs.size() > 2) {
      Shape c = source.inputs[2].shape;
      while (c.size() < 2) c.insert(c.begin(), 1);
      need_shape(c.size() == 2 && (c[0] == 1 || c[0] == m) && (c[1] == 1 || c[1] == n), 2, source,
                 fmt::format("a shape that can be repeated to [{}, {}]", m, n));
    }
    set_reals({m, n}, source, layer);
    layer.operation = HostOperation{HostProduct{
        true, a_transposed_, b_transposed_, static_cast<float>(alpha_), static_cast<float>(beta_), weights_}};
  }

 private:
  bool a_transposed_ = false, b_transposed_ = false;
  double alpha_ = 1, beta_ = 1;
  HostWeights weights_ = HostWeights::kConstant;
};

Shape steps_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

class HostTransposeForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.required().integers("axes", axes_, {0, 7}, {1, 8}, "axis of the input that each axis of the output is");
  }
  void load(const LayerSource& source, Layer& layer) const override {
    const Shape &in = source.input().shape, strides = steps_of(in);
    std::vector<int> sorted = axes_;
    std::sort(sorted.begin(), sorted.end());
    bool fits = sorted.size() == in.size();
    for (std::size_t i = 0; i < sorted.size() && fits; ++i) fits = sorted[i] == to_int(i);
    if (!fits)
      source.place.key("axes").refuse(fmt::format("[{}]", fmt::join(axes_, ", ")),
                                      fmt::format("each of the {} axes once", in.size()));
    Shape shape;
    HostMove move;
    for (const int axis : axes_) shape.push_back(nth(in, axis)), move.strides.push_back(nth(strides, axis));
    set_reals(std::move(shape), source, layer);
    layer.operation = HostOperation{std::move(move)};
  }

 private:
  std::vector<int> axes_;
};

class HostSliceForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.required().integers("begin", begin_, {0, kMaxDimension}, {1, 8}, "first index along each axis");
    v.required().integers("size", size_, kExtent, {1, 8}, "extents of the output");
    v.integers("step", step_, {-kMaxDimension, kMaxDimension}, {0, 8},
               "from index to index along each axis; without it 1");
  }
  void load(const LayerSource& source, Layer& layer) const override {
    const Shape &in = source.input().shape, strides = steps_of(in);
    const auto check_count = [&](const char* key, std::size_t count) {
      if (count != in.size())
        source.place.key(key).refuse(fmt::format("a list of {} entries", count),
                                     fmt::format("{} entries, the axes", in.size()));
    };
    check_count("begin", begin_.size()), check_count("size", size_.size());
    if (!step_.empty()) check_count("step", step_.size());
    HostMove move;
    for (std::size_t axis = 0; axis < in.size(); ++axis) {
      const std::int64_t step = step_.empty() ? 1 : step_[axis];
      if (step == 0) source.place.key("step").item(axis).refuse_value(step, "a number other than 0");
      const std::int64_t last = begin_[axis] + (size_[axis] - 1) * step;
      if (begin_[axis] >= in[axis] || last < 0 || last >= in[axis])
        source.place.key("size").item(axis).refuse_value(
            size_[axis], fmt::format("indices within the {} of the input", in[axis]));
      move.offset += begin_[axis] * strides[axis];
      move.strides.push_back(step * strides[axis]);
    }
    set_reals(size_, source, layer);
    layer.operation = HostOperation{std::move(move)};
  }

 private:
  Shape begin_, size_, step_;
};

class HostReshapeForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.required().integers("shape", shape_, kExtent, {1, 8}, "extents of the output, as many elements");
  }
  void load(const LayerSource& source, Layer& layer) const override {
    set_reals(shape_, source, layer);
    const std::int64_t elements = source.input().elements();
    if (layer.output.elements() != elements)
      source.place.key("shape").refuse(shape_text(shape_), fmt::format("a shape of {} elements", elements));
    layer.operation = HostOperation{HostReshape{}};
  }

 private:
  Shape shape_;
};

class HostConcatForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.integer("axis", axis_, kAxis, "axis along which they are joined, from the end if negative");
  }
  void load(const LayerSource& source, Layer& layer) const override {
    Shape shape = source.input().shape;
    const int axis = axis_of(axis_, shape.size(), source.place.key("axis"));
    for (std::size_t i = 1; i < source.inputs.size(); ++i) {
      Shape other = source.inputs[i].shape;
      if (other.size() == shape.size()) nth(other, axis) = nth(shape, axis);
      need_shape(other == shape, i, source, fmt::format("{} but for axis {}", shape_text(shape), axis));
      nth(shape, axis) += nth(source.inputs[i].shape, axis);
    }
    set_reals(std::move(shape), source, layer);
    layer.operation = HostOperation{HostConcat{axis}};
  }

 private:
  int axis_ = -1;
};

class HostQuantizeForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.required().number("scale", scale_, kPositiveScale, "real value of one step of the output");
    v.integer("zero_point", zero_point_, kZeroPoint, "element that stands for 0, within the type's range");
    v.choice("dtype", dtype_, kByteTypeNames, "type of the output");
  }
  void load(const LayerSource& source, Layer& layer) const override {
    check_zero_point(zero_point_, dtype_, source.place.key("zero_point"));
    layer.output = {source.input().shape, dtype_, zero_point_};
    layer.operation = HostOperation{HostQuantize{static_cast<float>(scale_)}};
  }

 private:
  double scale_ = 1;
  std::int32_t zero_point_ = 0;
  DType dtype_ = DType::kInt8;
};

class HostDequantizeForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.required().special("scale", PerChannelValue{scale_, kPositiveScale},
                         "real value of one step of the input, or one an index of `axis`");
    v.integer("axis", axis_, kAxis, "axis of several scales, from the end if negative");
  }
  void load(const LayerSource& source, Layer& layer) const override {
    const Shape& in = source.input().shape;
    const int axis = axis_of(axis_, in.size(), source.place.key("axis"));
    const std::vector<double> scales =
        scale_.size() == 1 ? scale_ : one_a_channel(scale_, nth(in, axis), source, "scale");
    set_reals(in, source, layer);
    layer.operation = HostOperation{HostDequantize{{scales.begin(), scales.end()}, axis}};
  }

 private:
  std::vector<double> scale_;
  int axis_ = -1;
};

}  // namespace

Form host_elementwise_form(HostElementwise::Kind kind) {
  return std::make_unique<HostElementwiseForm>(kind);
}
Form host_function_form(HostFunction::Kind kind) {
  return std::make_unique<HostFunctionForm>(kind);
}
Form host_reduce_form(HostReduce::Kind kind) {
  return std::make_unique<HostReduceForm>(kind);
}
Form host_pool_form(HostPool::Kind kind) {
  return std::make_unique<HostPoolForm>(kind);
}
extern const FormMaker kHostSoftmaxForm = make_form<HostSoftmaxForm>;
extern const FormMaker kHostConvForm = make_form<HostConvForm>;
extern const FormMaker kHostGlobalPoolForm = make_form<HostGlobalPoolForm>;
extern const FormMaker kHostMatmulForm = make_form<HostMatmulForm>;
extern const FormMaker kHostGemmForm = make_form<HostGemmForm>;
extern const FormMaker kHostTransposeForm = make_form<HostTransposeForm>;
extern const FormMaker kHostSliceForm = make_form<HostSliceForm>;
extern const FormMaker kHostReshapeForm = make_form<HostReshapeForm>;
extern const FormMaker kHostConcatForm = make_form<HostConcatForm>;
extern const FormMaker kHostQuantizeForm = make_form<HostQuantizeForm>;
extern const FormMaker kHostDequantizeForm = make_form<HostDequantizeForm>;

}  // namespace tilebeat
