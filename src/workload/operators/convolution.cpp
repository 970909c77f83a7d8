#include "workload/operators/convolution.h"

#include "base/types.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilebeat {
namespace {

constexpr std::int32_t kUint8ToInt8 = -128;
constexpr Range kRandomWeights{-127, 127};
constexpr Range kRandomBias{-1000, 1000};
constexpr std::array<std::string_view, 2> kSumNames{"int64", "int32"};
constexpr double kMostShortFactor = 1 << 14;  // where a shift to the right begins (SPEC DT-2)

/// Transposes B to kernels: matrices [k, columns] become [columns, k].
void transpose(Tensor& tensor, std::int64_t rows, std::int64_t columns) {
  const std::vector<std::uint8_t> plain = tensor.bytes;
  for (std::int64_t matrix = 0; matrix < tensor.elements(); matrix += rows * columns) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column)
        nth(tensor.bytes, matrix + column * rows + row) = nth(plain, matrix + row * columns + column);
    }
  }
}

/// The largest distance of an element from its zero point.
std::int64_t farthest(const TensorInfo& info) {
  return std::max(info.zero_point - dtype_min(info.dtype), dtype_max(info.dtype) - info.zero_point);
}

/// The bound of a sum of products of which the magnitudes sum to `products`, with a bias of any size.
std::int64_t bound_of(std::int64_t bias, std::int64_t products) {
  constexpr std::int64_t kBeyond = std::int64_t{1} << 60;  // of any sum
  return std::abs(std::clamp(bias, -kBeyond, kBeyond)) + products;
}

bool is_wide(const LayerSource& source) {
  return source.input().dtype == DType::kInt16;
}

void check_bound(std::int64_t bound, const LayerSource& source) {
  constexpr std::int64_t kMostWide = (std::int64_t{1} << 47) - 1;
  const std::int64_t most = is_wide(source) ? kMostWide : INT32_MAX;
  if (bound > most) {
    source.place.refuse(fmt::format("layer \"{}\" with accumulators of up to {}", source.name, bound),
                        is_wide(source) ? fmt::format("at most {}, the greatest number of 48 bits", most)
                                        : fmt::format("at most {}, the greatest int32", most));
  }
}

}  // namespace

// ---- fields and arithmetic ----

void describe(Fields& v, Requant& r) {
  v.special(
      "scale", PerChannelValue{r.scale, kPositiveScale},
      "factor from accumulator to output, or one an output channel; without it that of the three scales");
  v.integer("zero_point", r.zero_point, kZeroPoint, "added after scaling, within the type's range");
  v.special("dtype", QuantisedTypeValue{r.dtype}, "type of the output");
  v.optional_number("input_scale", r.input_scale, kPositiveScale, "real value of one step of the input");
  v.special("weight_scale", PerChannelValue{r.weight_scale, kPositiveScale},
            "real value of one step of the kernels or of the second input, or one an output channel");
  v.optional_number("output_scale", r.output_scale, kPositiveScale, "real value of one step of the output");
  v.one_or_all("scale", {"input_scale", "weight_scale", "output_scale"});
}

void AccumulatorForm::describe_accumulators(Fields& v) {
  v.special("activation", ActivationValue{conv_.activation}, "applied to the accumulator, bias added");
  v.optional_object(
      "requant", conv_.requant,
      "saturate(round_half_even(accumulator * scale) + zero_point); without it int32 is the output, of an "
      "int16 input int64");
  describe_range(v, range_);
  v.optional_choice("sums", sums_, kSumNames,
                    "of an int16 input in fixed arithmetic: int64; or int32 that wrap, which are rescaled as "
                    "those of bytes");
}

void AccumulatorForm::set_arithmetic(const LayerArithmetic& rules, LayerOperation& operation) const {
  auto& conv = std::get<Conv2d>(operation);
  const bool has_sums = rules.input().dtype == DType::kInt16 && rules.arithmetic() == Arithmetic::kFixed;
  if (sums_ && !(has_sums && conv.requant))
    rules.place().key("sums").refuse(shown(kSumNames.at(to_size(*sums_))),
                                     "nothing without an int16 input, a requant and arithmetic fixed");
  if (!conv.requant) {
    if (range_)
      rules.place()
          .key("output_range")
          .refuse(fmt::format("[{}, {}]", (*range_)[0], (*range_)[1]), "nothing without a requant");
    return;
  }
  Requant& r = *conv.requant;
  r.range = range_;
  rules.check_range(r.range);
  rules.check_int16();
  if (rules.arithmetic() == Arithmetic::kExact) return;
  r.arithmetic = rules.arithmetic();
  if (r.arithmetic == Arithmetic::kTflm) r.arithmetic = Arithmetic::kFixed, r.roundings = Roundings::kTwo;
  if (rules.input().dtype == DType::kInt16 && sums_.value_or(Sums::kInt64) == Sums::kInt64)
    r.roundings = Roundings::kShort;
  const Place place = rules.place().key("requant");
  rules.need(r.input_scale.has_value(), place.key("input_scale"));
  rules.need(!r.weight_scale.empty(), place.key("weight_scale"));
  rules.need(r.output_scale.has_value(), place.key("output_scale"));
  if (conv.activation.kind == ActivationKind::kClamp || conv.activation.kind == ActivationKind::kFunction)
    rules.place()
        .key("activation")
        .refuse(fmt::format("another activation than \"relu\" in arithmetic {}", rules.name()),
                R"("none" or "relu"; "output_range" keeps the result within bounds)");
  const bool short_multiplier = r.roundings == Roundings::kShort && r.rule != ProductRule::kFullyConnected;
  for (const double weight_scale : r.weight_scale)
    rules.check_factor(*r.input_scale * weight_scale / *r.output_scale, place,
                       short_multiplier ? kMostShortFactor : kMostFactor);
}

// ---- loading ----

void AccumulatorForm::check_requant(Conv2d& conv, const char* outputs, const Place& layer) {
  const Place place = layer.key("requant");
  if (!conv.requant) {
    if (conv.activation.kind == ActivationKind::kFunction)
      place.fail("is missing: an activation that is a function of the real value needs its scale");
    return;
  }
  Requant& requant = *conv.requant;
  const auto check_list = [&](const std::vector<double>& scales, const char* key) {
    if (scales.size() <= 1 || scales.size() == to_size(conv.out_channels)) return;
    place.key(key).refuse(
        fmt::format("a list of {} entries", scales.size()),
        fmt::format("a number or a list of {} entries, the {}", conv.out_channels, outputs));
  };
  check_list(requant.scale, "scale"), check_list(requant.weight_scale, "weight_scale");
  if (requant.scale.empty()) {  // the three scales are there
    for (const double weight_scale : requant.weight_scale)
      requant.scale.push_back(*requant.input_scale * weight_scale / *requant.output_scale);
  }
  check_zero_point(conv.requant->zero_point, conv.requant->dtype, place.key("zero_point"));
}

void AccumulatorForm::set_type(const Conv2d& conv, const LayerSource& source, TensorInfo& output) {
  output.dtype = conv.requant ? conv.requant->dtype : is_wide(source) ? DType::kInt64 : DType::kInt32;
  output.zero_point = conv.requant ? conv.requant->zero_point : 0;
}

void AccumulatorForm::load_weights(const KernelShape& kernels, const LayerSource& source,
                                   Conv2d& conv) const {
  const Place place = source.place.key("weights");
  weights_.check_fields(place);
  conv.weights_source = weights_.text(kernels.in_file);
  const std::string name = fmt::format("{}, {}{}", conv.weights_source, fmt::join(kernels.shape, " x "),
                                       kernels.transposed ? ", transposed" : "");
  auto known = source.known_weights.find(name);
  if (known == source.known_weights.end())
    known = source.known_weights.emplace(name, read_weights(kernels, place, conv, name)).first;
  const auto& [weights, stored] = known->second;
  conv.weights = weights;
  if (weights_.in_four_bits()) return;
  check_zero_point(weights_.zero_point, stored, place.key("zero_point"));
  conv.weight_zero_point = weights_.zero_point + (stored == DType::kUint8 ? kUint8ToInt8 : 0);
}

KnownWeights::mapped_type AccumulatorForm::read_weights(const KernelShape& kernels, const Place& place,
                                                        const Conv2d& conv, const std::string& name) const {
  const WeightType type = weights_.dtype.value_or(WeightType::kInt8);
  std::optional<DType> dtype;
  if (weights_.dtype) dtype = is_signed(type) ? DType::kInt8 : DType::kUint8;
  std::optional<Range> range = has_four_bits(type) ? values_of(type) : kRandomWeights;
  if (type == WeightType::kUint8) range.reset();
  Tensor values = load_tensor(weights_.source, {kernels.in_file, dtype, DType::kInt8, range}, place);
  if (!is_byte(values.dtype))
    place.key("file").refuse(fmt::format("a file of {}", dtype_name(values.dtype)), "int8 or uint8");
  const DType stored = values.dtype;
  if (weights_.in_four_bits()) check_codes(weights_, values, place);
  const std::int64_t inner = kernels.shape.back();
  if (kernels.transposed) transpose(values, inner, kernels.in_file.back());
  values.shape = kernels.shape;
  if (has_four_bits(type))
    return {four_bit_weights(weights_, values, inner * conv.kernel[0] * conv.kernel[1], place, name), stored};
  values.dtype = DType::kInt8;
  if (stored == DType::kUint8) {
    for (std::uint8_t& byte : values.bytes) byte = static_cast<std::uint8_t>(byte + kUint8ToInt8);
  }
  return {Weights(std::move(values), name), stored};
}

void AccumulatorForm::load_bias(const LayerSource& source, Conv2d& conv) const {
  if (!bias_) return;
  const Place place = source.place.key("bias");
  std::optional<DType> dtype;
  if (!is_wide(source)) dtype = DType::kInt32;
  const Tensor tensor = load_tensor(*bias_, {{conv.out_channels}, dtype, DType::kInt32, kRandomBias}, place);
  if (tensor.dtype != DType::kInt32 && tensor.dtype != DType::kInt64)
    place.key("file").refuse(fmt::format("a file of {}", dtype_name(tensor.dtype)), "int32 or int64");
  if (tensor.dtype == DType::kInt64 && sums_ == Sums::kInt32)
    place.key("file").refuse("a file of int64 for sums of int32", "int32");
  for (std::int64_t c = 0; c < conv.out_channels; ++c) conv.bias.push_back(tensor.wide_at(c));
}

void check_accumulators(const Conv2d& conv, const LayerSource& source) {
  // Products with leading axes have several kernels per output channel.
  const std::int64_t per_kernel = conv.weights.shape().back() * conv.kernel[0] * conv.kernel[1];
  std::int64_t bound = 0, kernel = 0;
  for (const std::int64_t size : conv.weights.kernel_sizes(per_kernel, conv.weight_zero_point)) {
    const std::int64_t bias = conv.bias.empty() ? 0 : nth(conv.bias, kernel % conv.out_channels);
    bound = std::max(bound, bound_of(bias, size * farthest(source.input())));
    ++kernel;
  }
  check_bound(bound, source);
}

void check_transposed_accumulators(const Conv2d& conv, const LayerSource& source) {
  const std::vector<std::int64_t>& taps =
      conv.weights.kernel_sizes(conv.weights.shape().back(), conv.weight_zero_point);
  std::int64_t bound = 0;
  for (std::int64_t kernel = 0; kernel < conv.out_channels; ++kernel) {
    const std::int64_t bias = conv.bias.empty() ? 0 : nth(conv.bias, kernel);
    bound = std::max(bound, bound_of(bias, 0));
    for (int r = 0; r < std::min(conv.stride[0], conv.kernel[0]); ++r) {
      for (int c = 0; c < std::min(conv.stride[1], conv.kernel[1]); ++c) {
        std::int64_t sum = 0;
        for (int row = r; row < conv.kernel[0]; row += conv.stride[0]) {
          for (int column = c; column < conv.kernel[1]; column += conv.stride[1])
            sum += nth(taps, (kernel * conv.kernel[0] + row) * conv.kernel[1] + column);
        }
        bound = std::max(bound, bound_of(bias, sum * farthest(source.input())));
      }
    }
  }
  check_bound(bound, source);
}

void check_product_accumulators(const Conv2d& conv, const LayerSource& source) {
  std::int64_t bias = 0;
  for (const std::int64_t value : conv.bias) bias = std::max(bias, bound_of(value, 0));
  check_bound(bias + conv.product.inner * farthest(source.inputs[0]) * farthest(source.inputs[1]), source);
}

// ---- the operators ----

namespace {

class Conv2dForm : public AccumulatorForm {
 public:
  void describe(Fields& v) override {
    v.required().integer("out_channels", conv_.out_channels, kExtent, "kernels");
    v.required().integers("kernel", conv_.kernel, kTapExtent, "[height, width] in taps");
    v.integers("stride", conv_.stride, kTapExtent, "[height, width] in pixels");
    v.integers("dilation", conv_.dilation, kTapExtent,
               "[height, width] in pixels from tap to tap, 1 is dense");
    v.integers("pads", conv_.pads, kPadding, "[top, left, bottom, right] in pixels");
    v.integer("groups", conv_.groups, kExtent, "groups; divides the channels and the kernels");
    describe_weights(v, "kernels [out_channels, height, width, channels / groups]");
    describe_bias(v, "int32 [out_channels]; of an int16 input int64, too");
    v.optional_boolean(
        "depthwise", depthwise_,
        "whether fixed arithmetic treats it as a depthwise convolution; without it if there are "
        "as many groups as channels, and more than one");
    describe_accumulators(v);
  }

  void load(const LayerSource& source, Layer& layer) const override {
    Conv2d conv = conv_;
    const std::int64_t channels = source.input().shape[3];
    infer_output(conv, source, layer.output);
    check_requant(conv, "out_channels", source.place);
    const bool in_channels = conv.groups > 1 && conv.groups == channels;
    if (conv.requant && depthwise_.value_or(in_channels)) conv.requant->rule = ProductRule::kDepthwise;
    load_kernels({conv.out_channels, conv.kernel[0], conv.kernel[1], channels / conv.groups}, source, conv);
    layer.operation = std::move(conv);
  }

 protected:
  static void infer_output(const Conv2d& conv, const LayerSource& source, TensorInfo& output) {
    const auto& map = source.input().shape;
    const Place& place = source.place;
    if (map[3] % conv.groups != 0 || conv.out_channels % conv.groups != 0) {
      place.key("groups").refuse_value(
          conv.groups,
          fmt::format("a divisor of {} channels and {} out_channels", map[3], conv.out_channels));
    }
    const WindowShape window{conv.kernel, conv.stride, conv.dilation, conv.pads};
    output.shape = {map[0], output_pixels(window, map, 0, place), output_pixels(window, map, 1, place),
                    conv.out_channels};
    check_shape(output.shape, place);
    set_type(conv, source, output);
  }

  /// Loads the weights, which have shape `weights` in the file.
  void load_kernels(const std::vector<std::int64_t>& weights, const LayerSource& source, Conv2d& conv) const {
    load_weights(
        {weights, {conv.out_channels, conv.kernel[0], conv.kernel[1], source.input().shape[3] / conv.groups}},
        source, conv);
    load_bias(source, conv);
    check_accumulators(conv, source);
  }

 private:
  std::optional<bool> depthwise_;
};

/// A convolution whose kernel covers the map.
class FullyConnectedForm : public Conv2dForm {
 public:
  void describe(Fields& v) override {
    v.required().integer("out_features", conv_.out_channels, kExtent, "outputs of each map");
    describe_weights(v, "[out_features, K], K = height * width * channels in the map's order");
    describe_bias(v, "int32 [out_features]; of an int16 input int64, too");
    describe_accumulators(v);
  }

  void load(const LayerSource& source, Layer& layer) const override {
    Conv2d conv = conv_;
    const auto& map = source.input().shape;
    conv.kernel = {to_int(map[1]), to_int(map[2])};
    infer_output(conv, source, layer.output);
    check_requant(conv, "out_features", source.place);
    if (conv.requant) conv.requant->rule = ProductRule::kFullyConnected;
    load_kernels({conv.out_channels, map[1] * map[2] * map[3]}, source, conv);
    // Several maps of one pixel are the rows of a matrix: a convolution over all of them.
    if (map[0] > 1 && map[1] * map[2] == 1) conv.pixels = PixelAxes::kRows;
    layer.operation = std::move(conv);
  }
};

/// A transposed convolution: `stride` is that of the output, and `pads` are cut off the output.
class ConvTransposeForm : public AccumulatorForm {
 public:
  void describe(Fields& v) override {
    v.required().integer("out_channels", conv_.out_channels, kExtent, "kernels");
    v.required().integers("kernel", conv_.kernel, kTapExtent, "[height, width] in taps");
    v.integers("stride", conv_.stride, kTapExtent,
               "[height, width] in pixels of the output, from one pixel of the input to the next");
    v.integers("pads", conv_.pads, kPadding,
               "[top, left, bottom, right] in pixels that the output lacks, less than the kernel");
    v.integers("output_padding", output_padding_, kPadding,
               "[height, width] in pixels that the output has more, at its end, less than the stride");
    describe_weights(v, "kernels [out_channels, height, width, channels]");
    describe_bias(v, "int32 [out_channels]; of an int16 input int64, too");
    describe_accumulators(v);
  }

  void load(const LayerSource& source, Layer& layer) const override {
    const Place& place = source.place;
    const auto& map = source.input().shape;
    Conv2d conv = conv_;
    conv.form = ConvForm::kTransposed;
    check_extents(place);
    layer.output.shape = {map[0], pixels_of(map[1], 0, place), pixels_of(map[2], 1, place),
                          conv.out_channels};
    check_shape(layer.output.shape, place);
    set_type(conv, source, layer.output);
    check_requant(conv, "out_channels", place);
    if (conv.requant) conv.requant->rule = ProductRule::kDepthwise;
    const std::vector<std::int64_t> shape{conv.out_channels, conv.kernel[0], conv.kernel[1], map[3]};
    load_weights({shape, shape}, source, conv);
    load_bias(source, conv);
    check_transposed_accumulators(conv, source);
    layer.operation = std::move(conv);
  }

 private:
  void check_extents(const Place& place) const {
    for (std::size_t side = 0; side < conv_.pads.size(); ++side) {
      const int kernel = conv_.kernel[side % 2];
      if (conv_.pads[side] >= kernel)
        place.key("pads").item(side).refuse_value(
            conv_.pads[side], fmt::format("0 to {}, less than the kernel of {}", kernel - 1, kernel));
    }
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const int stride = conv_.stride[axis];
      if (output_padding_[axis] >= stride)
        place.key("output_padding")
            .item(axis)
            .refuse_value(output_padding_[axis],
                          fmt::format("0 to {}, less than the stride of {}", stride - 1, stride));
    }
  }

  /// The extent of the output along `axis`.
  std::int64_t pixels_of(std::int64_t pixels, std::size_t axis, const Place& place) const {
    const std::int64_t whole = (pixels - 1) * conv_.stride[axis] + conv_.kernel[axis] + output_padding_[axis];
    const std::int64_t cut = std::int64_t{conv_.pads[axis]} + conv_.pads[axis + 2];
    if (cut >= whole) {
      place.key("pads").refuse(
          fmt::format("{} {} and {} of an output of {}", axis == 0 ? "top and bottom" : "left and right",
                      conv_.pads[axis], conv_.pads[axis + 2], whole),
          "pads that leave an output");
    }
    return whole - cut;
  }

  std::array<int, 2> output_padding_{0, 0};
};

}  // namespace

extern const FormMaker kConv2dForm = make_form<Conv2dForm>;
extern const FormMaker kFullyConnectedForm = make_form<FullyConnectedForm>;
extern const FormMaker kConvTransposeForm = make_form<ConvTransposeForm>;

}  // namespace tilebeat
