// Operators that treat every element separately, or with one element of another tensor.
#include "workload/operators/operator.h"
#include "workload/tensor_source.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// The shape of the result of two tensors whose axes are aligned at their ends.
std::vector<std::int64_t> broadcast_shape(const LayerSource& source) {
  const auto& names = source.names;
  std::vector<std::int64_t> a = source.inputs[0].shape, b = source.inputs[1].shape;
  const std::size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1), b.insert(b.begin(), rank - b.size(), 1);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (a[axis] != b[axis] && a[axis] != 1 && b[axis] != 1) {
      source.input_place(1).refuse(
          fmt::format("{} with shape {}", shown(names[1]), shape_text(source.inputs[1].shape)),
          fmt::format("{}, the shape of {}, or extents of 1", shape_text(source.input().shape),
                      shown(names[0])));
    }
    a[axis] = std::max(a[axis], b[axis]);
  }
  check_shape(a, source.place);
  return a;
}

/// add, sub, mul, div, max, min.
class ElementwiseForm : public OperatorForm {
 public:
  explicit ElementwiseForm(Elementwise::Kind kind) { operation_.kind = kind; }

  void describe(Fields& v) override {
    v.numbers("input_scales", operation_.input_scales, kPositiveScale,
              "real value of one step of each input");
    v.special("activation", ReluValue{operation_.relu}, "applied to the result before it is requantised");
    if (operation_.kind == Elementwise::Kind::kAdd || operation_.kind == Elementwise::Kind::kSub)
      v.boolean("power_of_two_scales", power_of_two_scales_,
                "arithmetic fixed of int16 alone: where all three scales are powers of two, an operand is "
                "shifted to the scale of the output");
    describe_requant(v, operation_.requant);
  }

  void load(const LayerSource& source, Layer& layer) const override {
    layer.output = requantised(broadcast_shape(source), operation_.requant, source);
    layer.operation = operation_;
  }

  void set_arithmetic(const LayerArithmetic& rules, LayerOperation& operation) const override {
    auto& e = std::get<Elementwise>(operation);
    const bool named = e.kind == Elementwise::Kind::kAdd || e.kind == Elementwise::Kind::kSub ||
                       e.kind == Elementwise::Kind::kMul;
    if (named) rules.check_int16_alone();
    if (!named) return rules.only_exact(e.requant.range);
    if (!rules.begin(e.requant)) return;
    const double sy = *e.requant.output_scale;
    const double sa = e.input_scales[0], sb = e.input_scales[1];
    const Place place = rules.place().key("input_scales");
    if (e.kind == Elementwise::Kind::kMul) return rules.check_factor(sa * sb / sy, place);
    rules.check_factor(sa / sy, place), rules.check_factor(sb / sy, place);
    // The sum's shift keeps a bit before the binary point; the larger multiplier has 21 bits. Sums of int16
    // have a head of 15 bits, those of bytes one of 20.
    const double most = rules.of_int16() ? 1 << 14 : 1 << 19;
    constexpr double kLeastRatio = 1.0 / (1 << 30);
    const double greater = std::max(sa, sb) / sy;
    if (greater >= most || greater < kLeastRatio)
      place.refuse(fmt::format("a greater scale of {} of the output's", greater),
                   fmt::format("{} to {}", kLeastRatio, most));
    if (rules.of_int16() && power_of_two_scales_) e.shifts = shifts_of(e, rules);
  }

 private:
  /// The shifts of the operands to the scale of the output; none where a scale is no power of two.
  static std::optional<std::array<int, 2>> shifts_of(const Elementwise& e, const LayerArithmetic& rules) {
    constexpr int kMostShift = 15;
    const auto output = exponent_of(*e.requant.output_scale);
    std::array<int, 2> shifts{};
    for (std::size_t i = 0; i < shifts.size(); ++i) {
      const auto input = exponent_of(e.input_scales[i]);
      if (!input || !output) return std::nullopt;
      shifts[i] = *output - *input;
    }
    const auto [least, most] = std::minmax(shifts[0], shifts[1]);
    if (least != 0 || most > kMostShift)
      rules.place()
          .key("input_scales")
          .refuse(fmt::format("[{}, {}] with power_of_two_scales", e.input_scales[0], e.input_scales[1]),
                  fmt::format("one scale that is the output's, {}, and another one of 2^-{} to 1 of it",
                              *e.requant.output_scale, kMostShift));
    if (e.kind == Elementwise::Kind::kAdd) rules.need_one_shape();
    return shifts;
  }

  Elementwise operation_;
  bool power_of_two_scales_ = false;
};

/// Elementwise operators whose operands and result have one type, float32 or int32, and are not requantised.
class PlainElementwiseForm : public OperatorForm {
 public:
  PlainElementwiseForm(Elementwise::Kind kind, DType type) : operation_{kind}, type_(type) {}

  void describe(Fields& /*v*/) override {}
  void load(const LayerSource& source, Layer& layer) const override {
    for (std::size_t i = 0; i < source.inputs.size(); ++i) {
      if (source.inputs[i].dtype != type_)
        source.input_place(i).refuse(
            fmt::format("{} of {}", shown(source.names[i]), dtype_name(source.inputs[i].dtype)),
            std::string(dtype_name(type_)));
    }
    layer.output = {broadcast_shape(source), type_, 0};
    layer.operation = operation_;
  }

 private:
  PlainElementwise operation_;
  DType type_;
};

/// Functions of one byte that keep type, scale and zero point: relu, which has no fields, and clamp.
class ReluForm : public OperatorForm {
 public:
  void describe(Fields& /*v*/) override {}
  void load(const LayerSource& source, Layer& layer) const override {
    layer.output = source.input();
    layer.operation = function_;
  }

 protected:
  ByteFunction function_;
};

class ClampForm : public ReluForm {
 public:
  ClampForm() { function_.kind = ByteFunction::Kind::kClamp; }

  void describe(Fields& v) override {
    v.required().integer("low", function_.low, kElement, "least element less the zero point");
    v.required().integer("high", function_.high, kElement, "greatest element less the zero point");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    if (function_.low > function_.high)
      source.place.key("low").refuse_value(function_.low, fmt::format("at most high, {}", function_.high));
    ReluForm::load(source, layer);
  }
};

/// Any function of one byte: its 256 results.
class TableForm : public OperatorForm {
 public:
  TableForm() { function_.kind = ByteFunction::Kind::kTable; }

  void describe(Fields& v) override {
    v.required().integers("table", function_.table, {-128, 255}, {256, 256},
                          "results for the elements of the input's type, from the least to the greatest");
    v.integer("zero_point", zero_point_, kZeroPoint, "zero point of the output");
    v.choice("dtype", type_, kByteTypeNames, "type of the output");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    check_zero_point(zero_point_, type_, source.place.key("zero_point"));
    for (std::size_t i = 0; i < function_.table.size(); ++i) {
      const std::int64_t value = function_.table[i];
      if (value < dtype_min(type_) || value > dtype_max(type_))
        source.place.key("table").item(i).refuse_value(
            value,
            fmt::format("{} to {}, the range of {}", dtype_min(type_), dtype_max(type_), dtype_name(type_)));
    }
    layer.output = {source.input().shape, type_, zero_point_};
    layer.operation = function_;
  }

 private:
  ByteFunction function_;
  int zero_point_ = 0;
  DType type_ = DType::kInt8;
};

/// Functions of the real value.
class FunctionForm : public OperatorForm {
 public:
  explicit FunctionForm(ByteFunction::Kind kind) { function_.kind = kind; }

  void describe(Fields& v) override {
    describe_input_scale(v, function_.input_scale);
    describe_requant(v, function_.requant);
  }

  void load(const LayerSource& source, Layer& layer) const override {
    layer.output = requantised(source.input().shape, function_.requant, source);
    layer.operation = function_;
  }

  void set_arithmetic(const LayerArithmetic& rules, LayerOperation& operation) const override {
    auto& f = std::get<ByteFunction>(operation);
    using Kind = ByteFunction::Kind;
    const bool of_tables = f.kind == Kind::kSigmoid || f.kind == Kind::kTanh;
    const bool of_integers = f.kind == Kind::kHardSwish || f.kind == Kind::kLeakyRelu;
    if (rules.of_int16()) return set_int16(rules, f);
    const bool named =
        of_integers ? rules.in_fixed_point() : of_tables && rules.arithmetic() != Arithmetic::kTflm;
    if (!named) return rules.only_exact(f.requant.range);
    if (!rules.begin(f.requant) || !of_integers) return;
    rules.check_factor(f.input_scale / *f.requant.output_scale, rules.place().key("input_scale"));
    if (f.slope < 0) rules.place().key("slope").refuse_value(f.slope, "0 and more in fixed point");
  }

 protected:
  ByteFunction function_;

 private:
  static void set_int16(const LayerArithmetic& rules, ByteFunction& f) {
    if (f.kind == ByteFunction::Kind::kLeakyRelu) {
      rules.check_int16_alone();
      if (!rules.begin(f.requant)) return;
      rules.check_factor(f.input_scale / *f.requant.output_scale, rules.place().key("input_scale"));
      if (f.slope < 0) rules.place().key("slope").refuse_value(f.slope, "0 and more in fixed point");
      return;
    }
    rules.check_int16_in_fixed_point();
    rules.begin(f.requant);
    rules.check_shares(f.requant, f.kind == ByteFunction::Kind::kSigmoid ? 0 : kScaleTolerance);
    constexpr double kMostScale = 16.0 / 3;  // beyond it the table's steps leave 32 bits
    if (f.input_scale >= kMostScale)
      rules.place()
          .key("input_scale")
          .refuse_value(f.input_scale, fmt::format("less than {} for int16", kMostScale));
  }
};

class LeakyReluForm : public FunctionForm {
 public:
  LeakyReluForm() : FunctionForm(ByteFunction::Kind::kLeakyRelu) { function_.slope = 0.01; }
  void describe(Fields& v) override {
    v.number("slope", function_.slope, kSlope, "factor of negative values");
    FunctionForm::describe(v);
  }
};

class ScaleForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.required().special("scale", PerChannelValue{scale_, kReal},
                         "factor of an element less its zero point, or one a channel");
    v.special("offset", PerChannelValue{offset_, kReal}, "added to the product, or one a channel");
    describe_requant(v, requant_);
  }

  void load(const LayerSource& source, Layer& layer) const override {
    const TensorInfo& input = source.input();
    const std::int64_t channels = input.shape[3];
    layer.output = requantised(input.shape, requant_, source);
    layer.operation = ChannelScale{one_a_channel(scale_, channels, source, "scale"),
                                   one_a_channel(offset_, channels, source, "offset"), requant_};
  }

  void set_arithmetic(const LayerArithmetic& rules, LayerOperation& /*operation*/) const override {
    rules.only_exact(requant_.range);
  }

 protected:
  TensorRequant requant_;

 private:
  std::vector<double> scale_{1}, offset_{0};
};

/// A batch normalisation, folded into a factor and an offset per channel.
class BatchnormForm : public ScaleForm {
 public:
  void describe(Fields& v) override {
    v.required().special("mean", PerChannelValue{mean_, kReal}, "mean, or one a channel");
    v.required().special("variance", PerChannelValue{variance_, kVariance}, "variance, or one a channel");
    v.special("gamma", PerChannelValue{gamma_, kReal}, "scale, or one a channel");
    v.special("beta", PerChannelValue{beta_, kReal}, "offset, or one a channel");
    v.number("epsilon", epsilon_, kEpsilon, "added to the variance");
    describe_input_scale(v, input_scale_);
    describe_requant(v, requant_);
  }

  void load(const LayerSource& source, Layer& layer) const override {
    const TensorInfo& input = source.input();
    const auto list = [&](const std::vector<double>& values, const char* key) {
      return one_a_channel(values, input.shape[3], source, key);
    };
    const std::vector<double> mean = list(mean_, "mean"), variance = list(variance_, "variance");
    const std::vector<double> gamma = list(gamma_, "gamma"), beta = list(beta_, "beta");
    ChannelScale folded;
    folded.requant = requant_;
    for (std::size_t c = 0; c < mean.size(); ++c) {
      const double s = gamma[c] / std::sqrt(variance[c] + epsilon_);
      folded.scale.push_back(s * input_scale_);
      folded.offset.push_back(beta[c] - mean[c] * s);
    }
    layer.output = requantised(input.shape, requant_, source);
    layer.operation = std::move(folded);
  }

 private:
  std::vector<double> mean_, variance_, gamma_{1}, beta_{0};
  double epsilon_ = 1e-5, input_scale_ = 1;
};

class RequantizeForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    constexpr std::array<std::string_view, 2> kRules{"plain", "concatenation"};
    v.number("input_scale", operation_.input_scale, kPositiveScale, "real value of one step of the input");
    v.choice("rule", operation_.rule, kRules,
             "arithmetic fixed alone: that of a requantisation, or that of the parts of a concatenation");
    describe_requant(v, operation_.requant);
  }

  void load(const LayerSource& source, Layer& layer) const override {
    layer.output = requantised(source.input().shape, operation_.requant, source);
    layer.operation = operation_;
  }

  void set_arithmetic(const LayerArithmetic& rules, LayerOperation& operation) const override {
    auto& r = std::get<Requantize>(operation);
    if (rules.input().dtype == DType::kInt32) return rules.only_exact(r.requant.range);
    rules.check_int16();
    if (rules.of_int16() && rules.arithmetic() == Arithmetic::kFixed) {
      if (r.rule != Requantize::Rule::kPlain)
        rules.place().key("rule").refuse(R"("concatenation" for tensors of int16)", R"("plain")");
      if (rules.input().dtype == DType::kUint8 || r.requant.dtype == DType::kUint8)
        rules.place().key("arithmetic").refuse(R"("fixed" between uint8 and int16)", R"("exact")");
    }
    if (rules.begin(r.requant))
      rules.check_factor(r.input_scale / *r.requant.output_scale, rules.place().key("input_scale"));
  }

 private:
  Requantize operation_;
};

}  // namespace

Form elementwise_form(Elementwise::Kind kind) {
  return std::make_unique<ElementwiseForm>(kind);
}
Form plain_elementwise_form(Elementwise::Kind kind, DType type) {
  return std::make_unique<PlainElementwiseForm>(kind, type);
}
extern const FormMaker kReluForm = make_form<ReluForm>;
extern const FormMaker kClampForm = make_form<ClampForm>;
extern const FormMaker kTableForm = make_form<TableForm>;
extern const FormMaker kLeakyReluForm = make_form<LeakyReluForm>;
Form function_form(ByteFunction::Kind kind) {
  return std::make_unique<FunctionForm>(kind);
}
extern const FormMaker kScaleForm = make_form<ScaleForm>;
extern const FormMaker kBatchnormForm = make_form<BatchnormForm>;
extern const FormMaker kRequantizeForm = make_form<RequantizeForm>;

}  // namespace tilebeat
