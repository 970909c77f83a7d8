#include "isa/operations.h"

#include "base/types.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {

void ConvSetup::describe(FieldVisitor& visit) {
  visit("kernel_h", kernel_h, 16, kFromOne), visit("kernel_w", kernel_w, 16, kFromOne);
  visit("stride_h", stride_h, 16, kFromOne), visit("stride_w", stride_w, 16, kFromOne);
  visit("dilation_h", dilation_h, 16, kFromOne), visit("dilation_w", dilation_w, 16, kFromOne);
  visit("input_zero_point", input_zero_point, 16, kZeroPointRange),
      visit("weight_zero_point", weight_zero_point, 16, kZeroPointRange);
  visit("input_type", input_type, 3), visit("output_type", output_type, 3);
  visit("requantise", requantise, 1), visit("clamp", clamp, 1), visit("post_parameters", post_parameters, 1);
  visit("clamp_low", clamp_low, 32), visit("clamp_high", clamp_high, 32);
  visit("output_zero_point", output_zero_point, kZeroPointBits, kZeroPointRange);
  visit("weight_type", weight_type, 3), visit("function", function, 3);
  visit("output_scale", output_scale, 64), visit("slope", slope, 64);
  visit("rescale", rescale, 3), visit("floor", floor, 16), visit("ceiling", ceiling, 16);
}

std::string ConvSetup::fault() const {
  for (const DType type : {input_type, weight_type, output_type}) {
    if (type == DType::kFloat32) return "conv.setup: matrix units have no float32 elements";
  }
  if (!is_quantised(input_type)) return "conv.setup: maps are int8, uint8 or int16";
  if (!is_byte(weight_type)) return "conv.setup: kernels are int8 or uint8";
  const bool wide = input_type == DType::kInt16;
  if ((wide && input_zero_point != 0) || (output_type == DType::kInt16 && output_zero_point != 0))
    return "conv.setup: the zero points of int16 are 0";
  if (!requantise && (wide != (output_type == DType::kInt64) || output_type == DType::kInt16))
    return "conv.setup: sums of products of int16 are int64, others int32";
  if (requantise && output_type == DType::kInt64) return "conv.setup: int64 is the type of sums alone";
  const bool of_wide = rescale == Rescale::kShortMultiplier || rescale == Rescale::kReal64Away;
  if (requantise && (wide ? rescale == Rescale::kReal32 : of_wide))
    return "conv.setup: short_multiplier and real64_away rescale sums of products of int16, real32 does not";
  const bool bytes = !requantise || is_quantised(output_type);
  if (rescale != Rescale::kReal64 && (function != RealFunction::kNone || !bytes))
    return "conv.setup: rescale is for results that are bytes or int16, without a function";
  return {};
}

void LayerEnd::describe(FieldVisitor& visit) {
  visit("layer", layer, 32);
}

void Halt::describe(FieldVisitor&) {}

void Barrier::describe(FieldVisitor& visit) {
  visit("id", id, 16), visit("participants", participants, 16, kFromOne);
}

std::string Barrier::subject() const {
  return fmt::format("{}", id);
}

void Signal::describe(FieldVisitor& visit) {
  visit("processors", processors, 48), visit("semaphore", semaphore, 8);
  visit("cluster_distance", cluster_distance, 8);
}

std::string Signal::fault() const {
  const bool one_is_named = (processors == 0) != (semaphore == 0);
  return one_is_named ? "signal: processors and semaphore are named together or not at all" : "";
}

void Copy::describe(FieldVisitor& visit) {
  visit("source", source, 48), visit("destination", destination, 48), visit("run_bytes", run_bytes, 32);
  visit("inner_count", inner_count, 16), visit("outer_count", outer_count, 16);
  visit("source_inner_stride", source_inner_stride, 32),
      visit("source_outer_stride", source_outer_stride, 32);
  visit("destination_inner_stride", destination_inner_stride, 32);
  visit("destination_outer_stride", destination_outer_stride, 32);
  visit("pad_top", pad_top, 8), visit("pad_left", pad_left, 8), visit("pad_bottom", pad_bottom, 8);
  visit("pad_right", pad_right, 8), visit("fill", fill, 8);
  visit("transposed_columns", transposed_columns, 16), visit("transposed_stride", transposed_stride, 32);
  visit("decodes", decodes, 1);
}

void RowGather::describe(FieldVisitor& visit) {
  visit("source", source, 48), visit("destination", destination, 48), visit("indices", indices, 48);
  visit("more_indices", more_indices, 48), visit("count", count, 16, kFromOne);
  visit("row_bytes", row_bytes, 32, kFromOne), visit("pitch", pitch, 32), visit("more_pitch", more_pitch, 32);
  visit("rows", rows, 32, kFromOne), visit("more_rows", more_rows, 32);
}

std::string RowGather::subject() const {
  return fmt::format("{} rows of {} bytes", count, row_bytes);
}

std::string RowGather::fault() const {
  return transfer_fault(1, count, row_bytes);
}

std::string transfer_fault(std::int64_t outer_count, std::int64_t inner_count, std::int64_t run_bytes) {
  if (outer_count == 0 || inner_count == 0) return {};
  if (run_bytes <= kMostTransferBytes / outer_count / inner_count) return {};
  return fmt::format("{} x {} x {} bytes are more than the {} that one instruction may move", outer_count,
                     inner_count, run_bytes, kMostTransferBytes);
}

std::string Copy::fault() const {
  if (decodes && (turns() || pad_top + pad_left + pad_bottom + pad_right != 0 || unit == Unit::kFold))
    return "a copy that decodes weights has no border and turns no blocks, and fold.copy decodes none";
  if (decodes && (source_outer_stride != 0 || stream_bytes() == 0))
    return fmt::format(
        "source_inner_stride is {}, source_outer_stride {}: a copy that decodes weights has the bytes of "
        "its stream in the first, and 0 in the second",
        source_inner_stride, source_outer_stride);
  if (turns()) {
    if (pad_top + pad_left + pad_bottom + pad_right != 0) return "a copy that turns its blocks has no border";
    if (unit == Unit::kFold) return "fold.copy turns no blocks";
    if (run_bytes % transposed_columns != 0)
      return fmt::format("transposed_columns is {}, which does not divide run_bytes, {}", transposed_columns,
                         run_bytes);
  } else if (transposed_stride != 0) {
    return fmt::format("transposed_stride is {}, transposed_columns is 0: no block is transposed",
                       transposed_stride);
  }
  return transfer_fault(outer_count + pad_top + pad_bottom, inner_count + pad_left + pad_right, run_bytes);
}

std::string Copy::subject() const {
  return fmt::format("{}x{}x{} bytes", outer_count, inner_count, run_bytes);
}

void VectorRun::describe(FieldVisitor& visit) {
  visit("kind", kind, 5), visit("a_type", a_type, 3), visit("b_type", b_type, 3),
      visit("out_type", out_type, 3);
  visit("relu", relu, 1), visit("count_padding", count_padding, 1);
  visit("a_zero", a_zero, kZeroPointBits, kZeroPointRange),
      visit("b_zero", b_zero, kZeroPointBits, kZeroPointRange),
      visit("out_zero", out_zero, kZeroPointBits, kZeroPointRange);
  visit("a", a, 32), visit("b", b, 32), visit("destination", destination, 32),
      visit("parameters", parameters, 32);
  visit("rows", rows, 16, kFromOne), visit("columns", columns, 16, kFromOne),
      visit("channels", channels, 16, kFromOne);
  visit("height", height, 16), visit("width", width, 16);
  visit("kernel_h", kernel_h, 16, kFromOne), visit("kernel_w", kernel_w, 16, kFromOne);
  visit("stride_h", stride_h, 8, kFromOne), visit("stride_w", stride_w, 8, kFromOne);
  visit("dilation_h", dilation_h, 8, kFromOne), visit("dilation_w", dilation_w, 8, kFromOne);
  visit("h_offset", h_offset, 16), visit("w_offset", w_offset, 16);
  visit("arithmetic", arithmetic, 2), visit("floor", floor, 16), visit("ceiling", ceiling, 16);
  visit("divide", divide, 1);
}

std::string VectorRun::fault() const {
  const bool quotient = kind == VectorKind::kMul && arithmetic == Arithmetic::kExact;
  return divide && !quotient ? "vector.run: divide is for mul, in exact arithmetic" : "";
}

void VectorRow::describe(FieldVisitor& visit) {
  visit("kind", kind, 3), visit("a_type", a_type, 3), visit("out_type", out_type, 3);
  visit("a_zero", a_zero, 16, kZeroPointRange), visit("out_zero", out_zero, 16, kZeroPointRange);
  visit("floor", floor, 8), visit("ceiling", ceiling, 8);
  visit("a", a, 32), visit("destination", destination, 32), visit("parameters", parameters, 32);
  visit("pixels", pixels, 32, kFromOne), visit("channels", channels, 16, kFromOne);
  visit("size", size, 16, kFromOne);
  visit("row", row, 32), visit("rows", rows, 32, kFromOne), visit("past", past, 32);
}

std::int64_t VectorRow::first_seen(std::int64_t pixel) const {
  if (kind != RowKind::kCausalSoftmax) return 0;
  return std::max<std::int64_t>(0, end_seen(pixel) - size);
}

std::int64_t VectorRow::end_seen(std::int64_t pixel) const {
  if (kind != RowKind::kCausalSoftmax) return channels;
  return (std::int64_t{row} + pixel) % rows + past + 1;
}

std::string VectorRow::fault() const {
  const bool sees_more =
      kind == RowKind::kCausalSoftmax && std::int64_t{past} + std::int64_t{rows} > std::int64_t{channels};
  return sees_more ? "vector.row: past and rows of a causal_softmax are more than its channels" : "";
}

std::string VectorRow::subject() const {
  return fmt::format("{} {}x{}", nth(kRowKindNames, kind), pixels, channels);
}

std::string VectorRun::subject() const {
  return fmt::format("{} {}x{}x{}", nth(kVectorKindNames, kind), rows, columns, channels);
}

void VectorResize::describe(FieldVisitor& visit) {
  visit("kind", kind, 2), visit("type", type, 3), visit("zero", zero, 16, kZeroPointRange);
  visit("a", a, 32), visit("destination", destination, 32);
  visit("rows", rows, 16, kFromOne), visit("columns", columns, 16, kFromOne),
      visit("channels", channels, 16, kFromOne);
  visit("height", height, 16, kFromOne), visit("width", width, 16, kFromOne);
  visit("h_first", h_first, 32), visit("w_first", w_first, 32);
  visit("h_step", h_step, 28), visit("w_step", w_step, 28);
  visit("h_divisor", h_divisor, 20, kFromOne), visit("w_divisor", w_divisor, 20, kFromOne);
}

std::string VectorResize::subject() const {
  return fmt::format("{} {}x{}x{}", nth(kResizeKindNames, kind), rows, columns, channels);
}

std::vector<const OperationType*> core_operations() {
  return operation_types<ConvSetup, LayerEnd, Halt, Barrier, Signal, Copy, RowGather, VectorRun, VectorResize,
                         VectorRow>();
}

}  // namespace tilebeat
