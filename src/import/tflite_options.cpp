#include "import/tflite_lowering.h"

namespace tilebeat {
namespace {

using AttributeValues = std::map<std::string, AttributeValue>;

std::string text(tflite::Activation activation) {
  const std::string name = tflite::EnumNameActivation(activation);
  return name.empty() ? "unknown" : name;
}

std::string text(tflite::TensorType type) {
  const std::string name = tflite::EnumNameTensorType(type);
  return name.empty() ? "unknown" : name;
}

std::string text(tflite::Padding padding) {
  const std::string name = tflite::EnumNamePadding(padding);
  return name.empty() ? "unknown" : name;
}

std::vector<std::int64_t> pair(std::int32_t height, std::int32_t width) {
  return {height, width};
}

std::int64_t flag(bool value) {
  return value ? 1 : 0;
}

std::vector<std::int64_t> list(const flatbuffers::Vector<std::int32_t>* values) {
  return values ? std::vector<std::int64_t>(values->begin(), values->end()) : std::vector<std::int64_t>{};
}

AttributeValues window_options(const tflite::Operator& source) {
  if (const auto* o = source.options_as_Conv2DOptions())
    return {{"padding", text(o->padding())},
            {"stride", pair(o->stride_h(), o->stride_w())},
            {"dilation", pair(o->dilation_h(), o->dilation_w())},
            {"bias_type", text(o->quantized_bias_type())},
            {"activation", text(o->activation())}};
  if (const auto* o = source.options_as_DepthwiseConv2DOptions())
    return {{"padding", text(o->padding())},
            {"stride", pair(o->stride_h(), o->stride_w())},
            {"dilation", pair(o->dilation_h(), o->dilation_w())},
            {"depth_multiplier", std::int64_t{o->depth_multiplier()}},
            {"activation", text(o->activation())}};
  if (const auto* o = source.options_as_Pool2DOptions())
    return {{"padding", text(o->padding())},
            {"stride", pair(o->stride_h(), o->stride_w())},
            {"kernel", pair(o->filter_h(), o->filter_w())},
            {"activation", text(o->activation())}};
  if (const auto* o = source.options_as_TransposeConvOptions())
    return {{"padding", text(o->padding())},
            {"stride", pair(o->stride_h(), o->stride_w())},
            {"bias_type", text(o->quantized_bias_type())},
            {"activation", text(o->activation())}};
  return {};
}

AttributeValues element_options(const tflite::Operator& source) {
  if (const auto* o = source.options_as_FullyConnectedOptions())
    return {{"activation", text(o->activation())},
            {"weights_format", std::int64_t{o->weights_format()}},
            {"bias_type", text(o->quantized_bias_type())},
            {"keep_num_dims", flag(o->keep_num_dims())}};
  if (const auto* o = source.options_as_SoftmaxOptions()) return {{"beta", o->beta()}};
  if (const auto* o = source.options_as_ConcatenationOptions())
    return {{"axis", std::int64_t{o->axis()}}, {"activation", text(o->activation())}};
  if (const auto* o = source.options_as_AddOptions())
    return {{"activation", text(o->activation())}, {"powers_of_two", flag(o->pot_scale_int16())}};
  if (const auto* o = source.options_as_MulOptions()) return {{"activation", text(o->activation())}};
  if (const auto* o = source.options_as_SubOptions())
    return {{"activation", text(o->activation())}, {"powers_of_two", flag(o->pot_scale_int16())}};
  if (const auto* o = source.options_as_DivOptions()) return {{"activation", text(o->activation())}};
  if (const auto* o = source.options_as_GeluOptions()) return {{"approximate", flag(o->approximate())}};
  if (const auto* o = source.options_as_BatchMatMulOptions())
    return {{"adj_x", flag(o->adj_x())},
            {"adj_y", flag(o->adj_y())},
            {"asymmetric_quantize_inputs", flag(o->asymmetric_quantize_inputs())}};
  if (const auto* o = source.options_as_LeakyReluOptions()) return {{"alpha", o->alpha()}};
  return {};
}

AttributeValues shape_options(const tflite::Operator& source) {
  if (const auto* o = source.options_as_ResizeBilinearOptions())
    return {{"align_corners", flag(o->align_corners())},
            {"half_pixel_centers", flag(o->half_pixel_centers())}};
  if (const auto* o = source.options_as_ResizeNearestNeighborOptions())
    return {{"align_corners", flag(o->align_corners())},
            {"half_pixel_centers", flag(o->half_pixel_centers())}};
  if (const auto* o = source.options_as_GatherOptions())
    return {{"axis", std::int64_t{o->axis()}}, {"batch_dims", std::int64_t{o->batch_dims()}}};
  if (const auto* o = source.options_as_PackOptions())
    return {{"axis", std::int64_t{o->axis()}}, {"values_count", std::int64_t{o->values_count()}}};
  if (const auto* o = source.options_as_UnpackOptions())
    return {{"axis", std::int64_t{o->axis()}}, {"num", std::int64_t{o->num()}}};
  if (const auto* o = source.options_as_ReshapeOptions()) return {{"new_shape", list(o->new_shape())}};
  if (const auto* o = source.options_as_ReducerOptions()) return {{"keep_dims", flag(o->keep_dims())}};
  if (const auto* o = source.options_as_SqueezeOptions()) return {{"squeeze_dims", list(o->squeeze_dims())}};
  if (const auto* o = source.options_as_SplitOptions())
    return {{"num_splits", std::int64_t{o->num_splits()}}};
  if (const auto* o = source.options_as_StridedSliceOptions())
    return {{"begin_mask", std::int64_t{o->begin_mask()}},
            {"end_mask", std::int64_t{o->end_mask()}},
            {"ellipsis_mask", std::int64_t{o->ellipsis_mask()}},
            {"new_axis_mask", std::int64_t{o->new_axis_mask()}},
            {"shrink_axis_mask", std::int64_t{o->shrink_axis_mask()}},
            {"offset", flag(o->offset())}};
  return {};
}

}  // namespace

std::map<std::string, AttributeValue> tflite_options(const tflite::Operator& source) {
  using Options = std::map<std::string, AttributeValue>;
  for (const auto& read : {window_options, element_options, shape_options}) {
    if (Options found = read(source); !found.empty()) return found;
  }
  return {};
}

}  // namespace tilebeat
