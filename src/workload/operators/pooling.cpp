// Operators that make one element of several: poolings of maps, reductions along axes.
#include "base/types.h"
#include "workload/operators/operator.h"
#include "workload/tensor_source.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// Throws UserError unless every window has a tap on the map along `axis`.
void check_taps(const WindowShape& window, std::int64_t size, std::int64_t outputs, std::size_t axis,
                const Place& place) {
  const std::int64_t dilation = window.dilation[axis];
  for (std::int64_t out = 0; out < outputs; ++out) {
    const std::int64_t first = out * window.stride[axis] - window.pads[axis];
    const std::int64_t skipped = first < 0 ? (-first + dilation - 1) / dilation : 0;
    if (skipped < window.kernel[axis] && first + skipped * dilation < size) continue;
    place.key("pads").refuse(
        fmt::format(
            "{} {} and {} with a window of {} on a map of {}, where output {} lies in the padding alone,",
            axis == 0 ? "top and bottom" : "left and right", window.pads[axis], window.pads[axis + 2],
            window.extent(axis), size, out),
        "pads that leave every window a tap on the map");
  }
}

/// Maximum and average over windows.
class PoolForm : public OperatorForm {
 public:
  void load(const LayerSource& source, Layer& layer) const override {
    Pooling pool = pool_;
    pool.stride = stride_.value_or(pool.kernel);
    load_pool(pool, source, layer);
  }

 protected:
  explicit PoolForm(Pooling::Kind kind) { pool_.kind = kind; }

  void describe_window(Fields& v) {
    v.required().integers("kernel", pool_.kernel, kTapExtent, "[height, width] in taps");
    v.optional_integers("stride", stride_, kTapExtent, "[height, width] in pixels; without it the kernel");
    v.integers("pads", pool_.pads, kPadding,
               "[top, left, bottom, right] in pixels; every window keeps a tap on the map");
    describe_range(v, pool_.range);
  }

  static void load_pool(const Pooling& pool, const LayerSource& source, Layer& layer) {
    const TensorInfo& input = source.input();
    const WindowShape window{pool.kernel, pool.stride, pool.dilation, pool.pads};
    layer.output = input;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const std::int64_t outputs = output_pixels(window, input.shape, axis, source.place);
      check_taps(window, input.shape[1 + axis], outputs, axis, source.place);
      layer.output.shape[1 + axis] = outputs;
    }
    check_shape(layer.output.shape, source.place);
    layer.operation = pool;
  }

  Pooling pool_;

 private:
  std::optional<std::array<int, 2>> stride_;
};

class MaxPoolForm : public PoolForm {
 public:
  MaxPoolForm() : PoolForm(Pooling::Kind::kMax) {}

  void describe(Fields& v) override {
    describe_window(v);
    v.integers("dilation", pool_.dilation, kTapExtent,
               "[height, width] in pixels from tap to tap, 1 is dense");
  }

  void set_arithmetic(const LayerArithmetic& rules, LayerOperation& /*operation*/) const override {
    rules.check_range(pool_.range);
    rules.only_exact();
  }
};

class AveragePoolForm : public PoolForm {
 public:
  AveragePoolForm() : PoolForm(Pooling::Kind::kAverage) {}

  void describe(Fields& v) override {
    describe_window(v);
    v.boolean("count_include_pad", pool_.count_include_pad,
              "divide by the kernel's area instead of the taps on the map");
    v.optional_number("input_scale", input_scale_, kPositiveScale, "real value of one step of the input");
    v.optional_object("requant", requant_,
                      "another scale and zero point than the input's, in arithmetic float32_ort");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    PoolForm::load(source, layer);
    auto& pool = std::get<Pooling>(layer.operation);
    pool.input_scale = pool.output_scale = input_scale_.value_or(1);
    if (!requant_) return;
    const TensorInfo& input = source.input();
    const TensorInfo output = requantised(layer.output.shape, *requant_, source);
    pool.output_scale = requant_->output_scale.value_or(1 / requant_->scale);
    const bool as_input = output.dtype == input.dtype && output.zero_point == input.zero_point &&
                          pool.output_scale == pool.input_scale;
    if (!as_input && source.arithmetic() != Arithmetic::kFloat32Ort) {
      source.place.key("requant").refuse(
          fmt::format("another scale, zero point or type than the input's in arithmetic {}",
                      arithmetic_name(source.arithmetic())),
          "those of the input, or arithmetic float32_ort");
    }
    layer.output = output;
  }

  void set_arithmetic(const LayerArithmetic& rules, LayerOperation& operation) const override {
    auto& pool = std::get<Pooling>(operation);
    rules.check_range(pool.range);
    rules.check_int16_alone();
    pool.arithmetic = rules.arithmetic() == Arithmetic::kTflm ? Arithmetic::kFixed : rules.arithmetic();
    rules.check_factor(pool.input_scale / pool.output_scale, rules.place().key("requant"));
  }

 private:
  std::optional<double> input_scale_;
  std::optional<TensorRequant> requant_;
};

/// A pooling with a kernel as large as the map.
class GlobalPoolForm : public PoolForm {
 public:
  explicit GlobalPoolForm(Pooling::Kind kind) : PoolForm(kind) {}
  void describe(Fields& /*v*/) override {}
  void load(const LayerSource& source, Layer& layer) const override {
    Pooling pool = pool_;
    for (std::size_t axis = 0; axis < 2; ++axis)
      pool.kernel[axis] = pool.stride[axis] = to_int(source.input().shape[1 + axis]);
    load_pool(pool, source, layer);
  }
};

/// The axes `named`, counted from the front, in rising order; they must be neighbours.
std::vector<int> axes_of(const std::vector<int>& named, const LayerSource& source) {
  const Place place = source.place.key("axes");
  std::vector<int> axes;
  for (std::size_t i = 0; i < named.size(); ++i)
    axes.push_back(axis_of(named[i], source.input().shape.size(), place.item(i)));
  std::sort(axes.begin(), axes.end());
  for (std::size_t i = 1; i < axes.size(); ++i) {
    if (axes[i] != axes[i - 1] + 1)
      place.refuse(fmt::format("[{}]", fmt::join(named, ", ")), "axes that are neighbours, each once");
  }
  return axes;
}

/// The shape without `axes`, or with extents of 1 there.
std::vector<std::int64_t> reduced_shape(const std::vector<int>& axes, bool keep_dims,
                                        const LayerSource& source) {
  const auto& in = source.input().shape;
  std::vector<std::int64_t> shape;
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    const bool goes = std::count(axes.begin(), axes.end(), to_int(axis)) > 0;
    if (goes) count *= in[axis];
    if (!goes || keep_dims) shape.push_back(goes ? 1 : in[axis]);
  }
  if (shape.empty()) shape.push_back(1);
  constexpr std::int64_t kMostElements = UINT16_MAX;  // of a field of the instruction
  if (count > kMostElements)
    source.place.key("axes").refuse(fmt::format("a reduction of {} elements", count),
                                    fmt::format("at most {}", kMostElements));
  return shape;
}

/// A maximum over neighbouring axes; it keeps type, scale and zero point.
class ReduceMaxForm : public OperatorForm {
 public:
  explicit ReduceMaxForm(Reduce::Kind kind = Reduce::Kind::kMax) { reduce_.kind = kind; }

  void describe(Fields& v) override {
    v.required().integers("axes", reduce_.axes, kAxis, {1, 6},
                          "axes that go, neighbours; from the end if negative");
    v.boolean("keep_dims", keep_dims_, "the output has these axes, with extent 1");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    Reduce reduce = reduce_;
    reduce.axes = axes_of(reduce_.axes, source);
    layer.output = source.input();
    layer.output.shape = reduced_shape(reduce.axes, keep_dims_, source);
    layer.operation = std::move(reduce);
  }

 protected:
  Reduce reduce_;

 private:
  bool keep_dims_ = true;
};

/// Sums and means.
class ReduceForm : public ReduceMaxForm {
 public:
  using ReduceMaxForm::ReduceMaxForm;

  void describe(Fields& v) override {
    constexpr std::array<std::string_view, 2> kRules{"map", "any_axes"};
    ReduceMaxForm::describe(v);
    if (reduce_.kind == Reduce::Kind::kMean)
      v.choice("rule", reduce_.rule, kRules,
               "arithmetic fixed alone: the mean of height and width of a map, or of any axes");
    describe_input_scale(v, reduce_.input_scale);
    describe_requant(v, reduce_.requant);
  }

  void load(const LayerSource& source, Layer& layer) const override {
    ReduceMaxForm::load(source, layer);
    layer.output = requantised(layer.output.shape, reduce_.requant, source);
  }

  void set_arithmetic(const LayerArithmetic& rules, LayerOperation& operation) const override {
    auto& reduce = std::get<Reduce>(operation);
    const bool named = reduce.kind == Reduce::Kind::kMean &&
                       (rules.arithmetic() != Arithmetic::kTflm || reduce.rule == Reduce::MeanRule::kAnyAxes);
    if (named) rules.check_int16_alone();
    if (!named) return rules.only_exact(reduce.requant.range);
    if (rules.begin(reduce.requant))
      rules.check_factor(reduce.input_scale / *reduce.requant.output_scale, rules.place().key("input_scale"));
  }
};

}  // namespace

extern const FormMaker kMaxPoolForm = make_form<MaxPoolForm>;
extern const FormMaker kAveragePoolForm = make_form<AveragePoolForm>;
Form global_pool_form(Pooling::Kind kind) {
  return std::make_unique<GlobalPoolForm>(kind);
}
Form reduce_form(Reduce::Kind kind) {
  return std::make_unique<ReduceForm>(kind);
}
extern const FormMaker kReduceMaxForm = make_form<ReduceMaxForm>;

}  // namespace tilebeat
