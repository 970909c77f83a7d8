// Operators along one axis, and those between float32 and bytes.
#include "workload/operators/operator.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// What a row of attention scores sees of its keys.
struct CausalFields {
  std::optional<std::int64_t> past, window;
};

void describe(Fields& v, CausalFields& c) {
  constexpr std::int64_t kMostKeys = 65535;
  v.optional_integer("past", c.past, Range{0, kMostKeys},
                     "keys before the first query; without it as many as there are more keys than queries");
  v.optional_integer("window", c.window, Range{1, kMostKeys},
                     "keys that a query sees at most, the last one included; without it all");
}

class SoftmaxForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    describe_input_scale(v, softmax_.input_scale);
    v.number("beta", softmax_.beta, kPositiveScale, "factor of the exponent");
    v.integer("axis", softmax_.axis, kAxis,
              "axis whose shares sum to 1, from the end if negative: the last one");
    v.optional_object("requant", requant_,
                      "saturate(round_half_even(probability * scale) + zero_point); without it scale 256, "
                      "zero_point -128, int8, of an int16 input scale 32768, int16");
    v.optional_object(
        "causal", causal_,
        "rows, which are those of the axis before the last, are queries that do not see later "
        "keys: query i sees the keys i + past - window + 1 to i + past, the share of others is 0");
    describe_range(v, range_);
  }

  void load(const LayerSource& source, Layer& layer) const override {
    constexpr TensorRequant kStandard{256, -128, DType::kInt8, 1.0 / 256};
    constexpr TensorRequant kWide{32768, 0, DType::kInt16, 1.0 / 32768};
    Softmax softmax = softmax_;
    softmax.requant = requant_.value_or(source.input().dtype == DType::kInt16 ? kWide : kStandard);
    softmax.requant.range = range_;
    softmax.axis = axis_of(softmax_.axis, source.input().shape.size(), source.place.key("axis"));
    if (causal_) softmax.mask = mask_of(source, softmax.axis);
    layer.output = requantised(source.input().shape, softmax.requant, source);
    layer.operation = softmax;
  }

  void set_arithmetic(const LayerArithmetic& rules, LayerOperation& operation) const override {
    auto& softmax = std::get<Softmax>(operation);
    if (rules.of_int16()) {
      if (causal_) rules.place().key("causal").refuse("a causal softmax of int16", "one of int8 or uint8");
      rules.check_int16_in_fixed_point();
      rules.begin(softmax.requant);
      return rules.check_shares(softmax.requant, kScaleTolerance);
    }
    if (causal_) return rules.only_exact(softmax.requant.range);
    if (rules.arithmetic() == Arithmetic::kTflm) return rules.only_exact(softmax.requant.range);
    if (!rules.begin(softmax.requant)) return;
    if (rules.arithmetic() == Arithmetic::kFloat32Ort && softmax.beta != 1)
      rules.place().key("beta").refuse_value(softmax.beta, "1 in arithmetic float32_ort");
  }

 private:
  Softmax::Mask mask_of(const LayerSource& source, int axis) const {
    const auto& shape = source.input().shape;
    const Place place = source.place.key("causal");
    if (shape.size() < 2 || axis + 1 != count_of(shape))
      source.place.key("axis").refuse_value(axis, "the last of at least two axes, as the layer is causal");
    const std::int64_t keys = shape.back(), queries = shape[shape.size() - 2];
    if (queries > keys)
      place.refuse(fmt::format("{} queries and {} keys", queries, keys),
                   "no more queries than keys: the first ones would see none");
    const std::int64_t past = causal_->past.value_or(keys - queries);
    if (past > keys - queries)
      place.key("past").refuse_value(
          past, fmt::format("at most {}: {} keys less {} queries", keys - queries, keys, queries));
    return {queries, past, std::min(causal_->window.value_or(keys), keys)};
  }

  Softmax softmax_;
  std::optional<CausalFields> causal_;
  std::optional<TensorRequant> requant_;
  std::optional<OutputRange> range_;
};

/// layernorm, rmsnorm.
class NormForm : public OperatorForm {
 public:
  explicit NormForm(RowNorm::Kind kind) { norm_.kind = kind, norm_.gamma = {1}, norm_.beta = {0}; }

  void describe(Fields& v) override {
    v.special("gamma", PerChannelValue{norm_.gamma, kReal}, "factor, or one a channel");
    v.special("beta", PerChannelValue{norm_.beta, kReal}, "offset, or one a channel");
    v.number("epsilon", norm_.epsilon, kEpsilon, "added to the mean of squares, in real values");
    describe_input_scale(v, norm_.input_scale);
    describe_requant(v, norm_.requant);
  }

  void load(const LayerSource& source, Layer& layer) const override {
    const auto& shape = source.input().shape;
    RowNorm norm = norm_;
    norm.gamma = one_a_channel(norm_.gamma, shape.back(), source, "gamma");
    norm.beta = one_a_channel(norm_.beta, shape.back(), source, "beta");
    layer.output = requantised(shape, norm_.requant, source);
    layer.operation = std::move(norm);
  }

  void set_arithmetic(const LayerArithmetic& rules, LayerOperation& /*operation*/) const override {
    rules.only_exact(norm_.requant.range);
  }

 private:
  RowNorm norm_;
};

class LrnForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.integer("size", lrn_.size, kTapExtent, "channels that are summed over");
    v.number("alpha", lrn_.alpha, kVariance, "factor of the mean of squares");
    v.number("beta", lrn_.beta, kSlope, "exponent");
    v.number("bias", lrn_.bias, kPositiveScale, "added to the mean of squares");
    describe_input_scale(v, lrn_.input_scale);
    describe_requant(v, lrn_.requant);
  }

  void load(const LayerSource& source, Layer& layer) const override {
    layer.output = requantised(source.input().shape, lrn_.requant, source);
    layer.operation = lrn_;
  }

  void set_arithmetic(const LayerArithmetic& rules, LayerOperation& /*operation*/) const override {
    rules.only_exact(lrn_.requant.range);
  }

 private:
  Lrn lrn_;
};

class ArgMaxForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    constexpr std::array<std::string_view, 2> kNames{"index", "one_hot"};
    v.choice("result", operation_.result, kNames, "the index, int32; or uint8, 1 there and 0 elsewhere");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    layer.output = {source.input().shape, DType::kUint8, 0};
    if (operation_.result == ArgMax::Result::kIndex) {
      layer.output.dtype = DType::kInt32;
      layer.output.shape.back() = 1;
    }
    layer.operation = operation_;
  }

 private:
  ArgMax operation_;
};

/// The type, zero point and step of quantized elements.
struct StepRequant {
  double scale = 1;
  std::int32_t zero_point = 0;
  DType dtype = DType::kInt8;
};

void describe(Fields& v, StepRequant& r) {
  v.required().number("scale", r.scale, kPositiveScale, "real value of one step of the output");
  v.integer("zero_point", r.zero_point, kZeroPoint, "element that stands for 0, within the type's range");
  v.special("dtype", QuantisedTypeValue{r.dtype}, "type of the output");
}

class QuantizeForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.required().object("requant", requant_, "saturate(round_half_even(x / scale) + zero_point) in float32");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    const StepRequant& r = requant_;
    check_zero_point(r.zero_point, r.dtype, source.place.key("requant").key("zero_point"));
    layer.output = {source.input().shape, r.dtype, r.zero_point};
    layer.operation = Quantize{static_cast<float>(r.scale)};
  }

  void set_arithmetic(const LayerArithmetic& rules, LayerOperation& operation) const override {
    if (!rules.of_int16()) return rules.only_exact();
    rules.check_int16();
    std::get<Quantize>(operation).arithmetic = rules.arithmetic();
  }

 private:
  StepRequant requant_;
};

class DequantizeForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.required().number("scale", scale_, kPositiveScale, "real value of one step of the input");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    layer.output = {source.input().shape, DType::kFloat32, 0};
    layer.operation = Dequantize{static_cast<float>(scale_)};
  }

 private:
  double scale_ = 1;
};

class DynamicQuantizeForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    constexpr std::array<std::string_view, 3> kNames{"y", "scale", "zero_point"};
    v.choice("result", operation_.result, kNames, "which result of DynamicQuantizeLinear is the output");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    const bool one = operation_.result != DynamicQuantize::Result::kY;
    const bool real = operation_.result == DynamicQuantize::Result::kScale;
    layer.output = {source.input().shape, real ? DType::kFloat32 : DType::kUint8, 0};
    if (one) layer.output.shape = {1, 1, 1, 1};
    layer.operation = operation_;
  }

 private:
  DynamicQuantize operation_;
};

}  // namespace

extern const FormMaker kSoftmaxForm = make_form<SoftmaxForm>;
Form norm_form(RowNorm::Kind kind) {
  return std::make_unique<NormForm>(kind);
}
extern const FormMaker kLrnForm = make_form<LrnForm>;
extern const FormMaker kArgmaxForm = make_form<ArgMaxForm>;
extern const FormMaker kQuantizeForm = make_form<QuantizeForm>;
extern const FormMaker kDequantizeForm = make_form<DequantizeForm>;
extern const FormMaker kDynamicQuantizeForm = make_form<DynamicQuantizeForm>;

}  // namespace tilebeat
