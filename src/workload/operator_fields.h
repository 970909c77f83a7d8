#pragma once

#include "workload/operator_specs.h"

namespace tilebeat {

// The fields of operator_specs.h as a workload file has them, each declared once.

template <class V>
void describe(V& v, Requant& r) {
  v.special(
      "scale", PerChannelValue{r.scale, kPositiveScale},
      "factor from accumulator to output, or one an output channel; without it that of the three scales");
  v.integer("zero_point", r.zero_point, kZeroPoint, "added after scaling, within the type's range");
  v.choice("dtype", r.dtype, kByteTypeNames, "type of the output");
  v.optional_number("input_scale", r.input_scale, kPositiveScale, "real value of one step of the input");
  v.special("weight_scale", PerChannelValue{r.weight_scale, kPositiveScale},
            "real value of one step of the kernels or of the second input, or one an output channel");
  v.optional_number("output_scale", r.output_scale, kPositiveScale, "real value of one step of the output");
  v.one_or_all("scale", {"input_scale", "weight_scale", "output_scale"});
}

template <class V>
void describe(V& v, TensorRequant& r) {
  std::optional<double> scale;
  v.optional_number("scale", scale, kPositiveScale,
                    "factor from real value to output; without it 1 / output_scale");
  v.integer("zero_point", r.zero_point, kZeroPoint, "added after scaling, within the type's range");
  v.choice("dtype", r.dtype, kByteTypeNames, "type of the output");
  v.optional_number("output_scale", r.output_scale, kPositiveScale, "real value of one step of the output");
  v.one_or_all("scale", {"output_scale"});
  if (v.reading()) r.scale = scale ? *scale : 1 / *r.output_scale;
}

template <class V>
void describe(V& v, StepRequant& r) {
  v.required().number("scale", r.scale, kPositiveScale, "real value of one step of the output");
  v.integer("zero_point", r.zero_point, kZeroPoint, "element that stands for 0, within the type's range");
  v.choice("dtype", r.dtype, kByteTypeNames, "type of the output");
}

template <class V>
void describe_range(V& v, std::optional<OutputRange>& range) {
  v.optional_integers("output_range", range, kZeroPoint,
                      "[low, high] in elements of the output: the result is kept within, at the very end");
}

template <class V>
void describe_requant(V& v, TensorRequant& r) {
  v.required().object("requant", r, "saturate(round_half_even(value * scale) + zero_point)");
  describe_range(v, r.range);
}

/// What follows the accumulators of a convolution, a fully connected layer or a product.
template <class V>
void describe_accumulators(V& v, Conv2dSpec& s) {
  v.special("activation", ActivationValue{s.conv.activation}, "applied to the accumulator, bias added");
  v.optional_object(
      "requant", s.conv.requant,
      "saturate(round_half_even(accumulator * scale) + zero_point); without it int32 is the output");
  describe_range(v, s.range);
}

template <class V>
void describe(V& v, Conv2dSpec& s) {
  v.required().integer("out_channels", s.conv.out_channels, kExtent, "kernels");
  v.required().integers("kernel", s.conv.kernel, kTapExtent, "[height, width] in taps");
  v.integers("stride", s.conv.stride, kTapExtent, "[height, width] in pixels");
  v.integers("dilation", s.conv.dilation, kTapExtent,
             "[height, width] in pixels from tap to tap, 1 is dense");
  v.integers("pads", s.conv.pads, kPadding, "[top, left, bottom, right] in pixels");
  v.integer("groups", s.conv.groups, kExtent, "groups; divides the channels and the kernels");
  v.required().object("weights", s.weights, "kernels [out_channels, height, width, channels / groups]");
  v.optional_object("bias", s.bias, "int32 [out_channels]");
  v.optional_boolean("depthwise", s.depthwise,
                     "whether fixed arithmetic treats it as a depthwise convolution; without it if there are "
                     "as many groups as channels, and more than one");
  describe_accumulators(v, s);
}

template <class V>
void describe(V& v, ConvTransposeSpec& s) {
  Conv2d& conv = s.layer.conv;
  v.required().integer("out_channels", conv.out_channels, kExtent, "kernels");
  v.required().integers("kernel", conv.kernel, kTapExtent, "[height, width] in taps");
  v.integers("stride", conv.stride, kTapExtent,
             "[height, width] in pixels of the output, from one pixel of the input to the next");
  v.integers("pads", conv.pads, kPadding,
             "[top, left, bottom, right] in pixels that the output lacks, less than the kernel");
  v.integers("output_padding", s.output_padding, kPadding,
             "[height, width] in pixels that the output has more, at its end, less than the stride");
  v.required().object("weights", s.layer.weights, "kernels [out_channels, height, width, channels]");
  v.optional_object("bias", s.layer.bias, "int32 [out_channels]");
  describe_accumulators(v, s.layer);
}

template <class V>
void describe(V& v, FullyConnectedSpec& s) {
  v.required().integer("out_features", s.layer.conv.out_channels, kExtent, "outputs of each map");
  v.required().object("weights", s.layer.weights,
                      "[out_features, K], K = height * width * channels in the map's order");
  v.optional_object("bias", s.layer.bias, "int32 [out_features]");
  describe_accumulators(v, s.layer);
}

template <class V>
void describe_transposition(V& v, bool& a, bool& b) {
  v.boolean("transpose_a", a, "the last two axes of A are [K, rows]");
  v.boolean("transpose_b", b, "the last two axes of B are [columns, K]");
}

template <class V>
void describe(V& v, MatmulSpec& s) {
  v.required().integer("out_features", s.layer.conv.out_channels, kExtent,
                       "columns of B, and of the product");
  v.required().object("weights", s.layer.weights,
                      "B [..., K, out_features], K = the last extent of the input, which is A [..., K]");
  v.integers("weights_axes", s.weights_axes, kExtent, {0, 4},
             "leading axes of the weights, aligned with those of A at their ends; missing ones and extents "
             "of 1 are repeated");
  describe_transposition(v, s.transpose_a, s.transpose_b);
  v.optional_object("bias", s.layer.bias, "int32 [out_features]");
  describe_accumulators(v, s.layer);
}

template <class V>
void describe(V& v, ProductSpec& s) {
  describe_transposition(v, s.transpose_a, s.transpose_b);
  v.optional_object("bias", s.layer.bias, "int32, one a column of B");
  describe_accumulators(v, s.layer);
}

template <class V>
void describe_window(V& v, Pooling& pool, std::optional<std::array<int, 2>>& stride) {
  v.required().integers("kernel", pool.kernel, kTapExtent, "[height, width] in taps");
  v.optional_integers("stride", stride, kTapExtent, "[height, width] in pixels; without it the kernel");
  v.integers("pads", pool.pads, kPadding,
             "[top, left, bottom, right] in pixels; every window keeps a tap on the map");
  describe_range(v, pool.range);
}

template <class V>
void describe(V& v, MaxPoolSpec& s) {
  describe_window(v, s.pool, s.stride);
  v.integers("dilation", s.pool.dilation, kTapExtent,
             "[height, width] in pixels from tap to tap, 1 is dense");
}

template <class V>
void describe(V& v, AveragePoolSpec& s) {
  describe_window(v, s.pool, s.stride);
  v.boolean("count_include_pad", s.pool.count_include_pad,
            "divide by the kernel's area instead of the taps on the map");
  v.optional_number("input_scale", s.input_scale, kPositiveScale, "real value of one step of the input");
  v.optional_object("requant", s.requant,
                    "another scale and zero point than the input's, in arithmetic float32_ort");
}

template <class V>
void describe(V&, PlainSpec&) {}

template <class V>
void describe(V& v, ConcatSpec& s) {
  v.integer("axis", s.axis, kAxis, "axis along which they are joined, from the end if negative");
}

template <class V>
void describe(V& v, ElementwiseSpec& s) {
  v.numbers("input_scales", s.input_scales, kPositiveScale, "real value of one step of each input");
  v.special("activation", ReluValue{s.relu}, "applied to the result before it is requantised");
  describe_requant(v, s.requant);
}

template <class V>
void describe(V& v, ClampSpec& s) {
  v.required().integer("low", s.low, kElement, "least element less the zero point");
  v.required().integer("high", s.high, kElement, "greatest element less the zero point");
}

template <class V>
void describe(V& v, FunctionSpec& s) {
  v.required().number("input_scale", s.input_scale, kPositiveScale, "real value of one step of the input");
  describe_requant(v, s.requant);
}

template <class V>
void describe(V& v, LeakyReluSpec& s) {
  v.number("slope", s.slope, kSlope, "factor of negative values");
  describe(v, s.function);
}

template <class V>
void describe(V& v, ScaleSpec& s) {
  v.required().special("scale", PerChannelValue{s.scale, kReal},
                       "factor of an element less its zero point, or one a channel");
  v.special("offset", PerChannelValue{s.offset, kReal}, "added to the product, or one a channel");
  describe_requant(v, s.requant);
}

template <class V>
void describe(V& v, BatchnormSpec& s) {
  v.required().special("mean", PerChannelValue{s.mean, kReal}, "mean, or one a channel");
  v.required().special("variance", PerChannelValue{s.variance, kVariance}, "variance, or one a channel");
  v.special("gamma", PerChannelValue{s.gamma, kReal}, "scale, or one a channel");
  v.special("beta", PerChannelValue{s.beta, kReal}, "offset, or one a channel");
  v.number("epsilon", s.epsilon, kEpsilon, "added to the variance");
  v.required().number("input_scale", s.input_scale, kPositiveScale, "real value of one step of the input");
  describe_requant(v, s.requant);
}

template <class V>
void describe(V& v, RequantizeSpec& s) {
  v.number("input_scale", s.input_scale, kPositiveScale, "real value of one step of the input");
  describe_requant(v, s.requant);
}

template <class V>
void describe(V& v, SoftmaxSpec& s) {
  v.required().number("input_scale", s.input_scale, kPositiveScale, "real value of one step of the input");
  v.number("beta", s.beta, kPositiveScale, "factor of the exponent");
  v.integer("axis", s.axis, kAxis, "axis whose shares sum to 1, from the end if negative: the last one");
  v.optional_object("requant", s.requant,
                    "saturate(round_half_even(probability * scale) + zero_point); without it scale 256, "
                    "zero_point -128, int8");
  describe_range(v, s.range);
}

template <class V>
void describe(V& v, ResizeSpec& s) {
  v.required().integers("size", s.size, kTapExtent, "[height, width] of the output in pixels");
  v.choice("mode", s.mode, kResizeModeNames, "the nearest pixel, or a mean of the four around the place");
  v.choice("coordinate_mode", s.coordinates, kResizeCoordinatesNames,
           "where the output's pixels lie on the input, as in ONNX");
  v.optional_choice("nearest_mode", s.rounding, kResizeRoundingNames,
                    "which pixel is the nearest, as in ONNX; without it round_prefer_floor");
}

template <class V>
void describe(V& v, PadSpec& s) {
  v.required().integers("pads", s.pad.pads, kPadding, "[top, left, bottom, right] in pixels");
  v.integers("channel_pads", s.pad.channel_pads, kPadding, "[before, after] in channels of every pixel");
  v.optional_integer("value", s.value, kZeroPoint, "element of the border; without it the zero point");
}

template <class V>
void describe(V& v, ReshapeSpec& s) {
  v.required().integers("shape", s.shape, kExtent, {1, 8}, "extents of the output, as many elements");
}

template <class V>
void describe_axes(V& v, std::vector<int>& axes, bool& keep_dims) {
  v.required().integers("axes", axes, kAxis, {1, 6}, "axes that go, neighbours; from the end if negative");
  v.boolean("keep_dims", keep_dims, "the output has these axes, with extent 1");
}

template <class V>
void describe(V& v, ReduceSpec& s) {
  describe_axes(v, s.axes, s.keep_dims);
  v.required().number("input_scale", s.input_scale, kPositiveScale, "real value of one step of the input");
  describe_requant(v, s.requant);
}

template <class V>
void describe(V& v, QuantizeSpec& s) {
  v.required().object("requant", s.requant, "saturate(round_half_even(x / scale) + zero_point) in float32");
}

template <class V>
void describe(V& v, DequantizeSpec& s) {
  v.required().number("scale", s.scale, kPositiveScale, "real value of one step of the input");
}

template <class V>
void describe(V& v, DynamicQuantizeSpec& s) {
  v.choice("result", s.result, kDynamicResultNames, "which result of DynamicQuantizeLinear is the output");
}

template <class V>
void describe(V& v, ReduceMaxSpec& s) {
  describe_axes(v, s.axes, s.keep_dims);
}

template <class V>
void describe(V& v, NormSpec& s) {
  v.special("gamma", PerChannelValue{s.gamma, kReal}, "factor, or one a channel");
  v.special("beta", PerChannelValue{s.beta, kReal}, "offset, or one a channel");
  v.number("epsilon", s.epsilon, kEpsilon, "added to the mean of squares, in real values");
  v.required().number("input_scale", s.input_scale, kPositiveScale, "real value of one step of the input");
  describe_requant(v, s.requant);
}

template <class V>
void describe(V& v, LrnSpec& s) {
  v.integer("size", s.lrn.size, kTapExtent, "channels that are summed over");
  v.number("alpha", s.lrn.alpha, kVariance, "factor of the mean of squares");
  v.number("beta", s.lrn.beta, kSlope, "exponent");
  v.number("bias", s.lrn.bias, kPositiveScale, "added to the mean of squares");
  v.required().number("input_scale", s.lrn.input_scale, kPositiveScale,
                      "real value of one step of the input");
  describe_requant(v, s.lrn.requant);
}

template <class V>
void describe(V& v, ArgMaxSpec& s) {
  v.choice("result", s.result, kArgMaxResultNames, "the index, int32; or uint8, 1 there and 0 elsewhere");
}

template <class V>
void describe(V& v, TransposeSpec& s) {
  v.required().integers("perm", s.perm, {0, 5}, {1, 6}, "axis perm[i] of the input is axis i of the output");
}

template <class V>
void describe(V& v, SliceSpec& s) {
  constexpr Range kIndex{0, kMaxDimension};
  v.required().integers("starts", s.starts, kIndex, {1, 6}, "first index, one an axis");
  v.required().integers("ends", s.ends, kIndex, {1, 6}, "index behind the last one, one an axis");
  v.integers("steps", s.steps, kExtent, {0, 6}, "from index to index, one an axis; without them 1");
}

template <class V>
void describe(V& v, GatherSpec& s) {
  v.integer("axis", s.axis, kAxis, "axis that is gathered along, from the end if negative");
  v.required().integers("indices", s.indices, {0, kMaxDimension - 1}, {1, 65536},
                        "indices of the input along the axis, one an index of the output");
}

}  // namespace tilebeat
