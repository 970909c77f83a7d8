#pragma once

#include "tilebeat/isa/instruction.h"

#include <type_traits>

namespace tilebeat {

/// The fields of each operation, once, in the order in which they are packed: encoder, decoder and
/// assembler and disassembler visit them.
template <class V, class Op>
void visit_fields(V& v, Op& op) {
  using T = std::remove_const_t<Op>;
  if constexpr (std::is_same_v<T, ConvSetup>) {
    v("kernel_h", op.kernel_h, 16), v("kernel_w", op.kernel_w, 16);
    v("stride_h", op.stride_h, 16), v("stride_w", op.stride_w, 16);
    v("dilation_h", op.dilation_h, 16), v("dilation_w", op.dilation_w, 16);
    v("input_zero_point", op.input_zero_point, 16), v("weight_zero_point", op.weight_zero_point, 16);
    v("input_type", op.input_type, 2), v("output_type", op.output_type, 2);
    v("requantise", op.requantise, 1), v("clamp", op.clamp, 1), v("post_parameters", op.post_parameters, 1);
    v("clamp_low", op.clamp_low, 32), v("clamp_high", op.clamp_high, 32);
    v("output_zero_point", op.output_zero_point, 32);
  } else if constexpr (std::is_same_v<T, ConvRun>) {
    v("copy", op.copy, 1), v("first", op.first, 1), v("last", op.last, 1);
    v("rows", op.rows, 16), v("columns", op.columns, 16), v("height", op.height, 16),
        v("width", op.width, 16);
    v("h_offset", op.h_offset, 16), v("w_offset", op.w_offset, 16);
    v("first_plane", op.first_plane, 16), v("planes", op.planes, 16), v("kernels", op.kernels, 16);
    v("slot", op.slot, 16), v("parameter_word", op.parameter_word, 32);
    v("output_base", op.output_base, 32), v("output_stride", op.output_stride, 32),
        v("macs_per_pixel", op.macs_per_pixel, 32);
  } else if constexpr (std::is_same_v<T, WfoldRun>) {
    v("map", op.map, 32), v("row_bytes", op.row_bytes, 32), v("lead_bytes", op.lead_bytes, 32);
    v("weights", op.weights, 32), v("result", op.result, 32), v("result_pixel", op.result_pixel, 32);
    v("macs_per_output", op.macs_per_output, 32), v("rows", op.rows, 16), v("columns", op.columns, 16);
    v("kernels", op.kernels, 16), v("height", op.height, 16), v("h_offset", op.h_offset, 16);
    v("pixel_bytes", op.pixel_bytes, 16), v("first_channel", op.first_channel, 16);
    v("channels", op.channels, 16), v("granularity", op.granularity, 9);
    v("result_granularity", op.result_granularity, 9), v("read_mode", op.read_mode, 2);
    v("block_outer", op.block_outer, 1);
  } else if constexpr (std::is_same_v<T, LoadInput>) {
    v("copy", op.copy, 1), v("address", op.address, 48);
    v("row_stride", op.row_stride, 32), v("pixel_stride", op.pixel_stride, 32);
    v("height", op.height, 16), v("width", op.width, 16), v("channels", op.channels, 16);
    v("stride_h", op.stride_h, 16), v("stride_w", op.stride_w, 16), v("fill", op.fill, 8);
  } else if constexpr (std::is_same_v<T, LoadKernels>) {
    v("address", op.address, 48), v("post_address", op.post_address, 48), v("words", op.words, 32);
    v("parameter_word", op.parameter_word, 32), v("slot", op.slot, 16),
        v("post_records", op.post_records, 16);
  } else if constexpr (std::is_same_v<T, StoreOutput>) {
    v("address", op.address, 48), v("row_stride", op.row_stride, 32), v("pixel_stride", op.pixel_stride, 32);
    v("source", op.source, 32), v("pixel_bytes", op.pixel_bytes, 32);
    v("rows", op.rows, 16), v("columns", op.columns, 16);
  } else if constexpr (std::is_same_v<T, LayerEnd>) {
    v("layer", op.layer, 32);
  } else if constexpr (std::is_same_v<T, Barrier>) {
    v("id", op.id, 16), v("participants", op.participants, 16);
  } else if constexpr (std::is_same_v<T, Signal>) {
    v("processors", op.processors, 48), v("semaphore", op.semaphore, 8);
  } else if constexpr (std::is_same_v<T, Copy>) {
    v("source", op.source, 48), v("destination", op.destination, 48), v("run_bytes", op.run_bytes, 32);
    v("inner_count", op.inner_count, 16), v("outer_count", op.outer_count, 16);
    v("source_inner_stride", op.source_inner_stride, 32),
        v("source_outer_stride", op.source_outer_stride, 32);
    v("destination_inner_stride", op.destination_inner_stride, 32);
    v("destination_outer_stride", op.destination_outer_stride, 32);
    v("pad_top", op.pad_top, 8), v("pad_left", op.pad_left, 8), v("pad_bottom", op.pad_bottom, 8);
    v("pad_right", op.pad_right, 8), v("fill", op.fill, 8);
  } else if constexpr (std::is_same_v<T, VectorRun>) {
    v("kind", op.kind, 4), v("a_type", op.a_type, 2), v("b_type", op.b_type, 2),
        v("out_type", op.out_type, 2);
    v("relu", op.relu, 1), v("count_padding", op.count_padding, 1);
    v("a_zero", op.a_zero, 16), v("b_zero", op.b_zero, 16), v("out_zero", op.out_zero, 16);
    v("a", op.a, 32), v("b", op.b, 32), v("destination", op.destination, 32),
        v("parameters", op.parameters, 32);
    v("rows", op.rows, 16), v("columns", op.columns, 16), v("channels", op.channels, 16);
    v("height", op.height, 16), v("width", op.width, 16);
    v("kernel_h", op.kernel_h, 16), v("kernel_w", op.kernel_w, 16);
    v("stride_h", op.stride_h, 8), v("stride_w", op.stride_w, 8);
    v("dilation_h", op.dilation_h, 8), v("dilation_w", op.dilation_w, 8);
    v("h_offset", op.h_offset, 16), v("w_offset", op.w_offset, 16);
  }
}

/// The opcode of an operation.
template <class Op>
Opcode opcode_of(const Op& op) {
  if constexpr (std::is_same_v<Op, ConvSetup>) return Opcode::kConvSetup;
  if constexpr (std::is_same_v<Op, ConvRun>) return Opcode::kConvRun;
  if constexpr (std::is_same_v<Op, WfoldRun>) return Opcode::kWfoldRun;
  if constexpr (std::is_same_v<Op, LoadInput>) return Opcode::kLoadInput;
  if constexpr (std::is_same_v<Op, LoadKernels>) return Opcode::kLoadKernels;
  if constexpr (std::is_same_v<Op, StoreOutput>) return Opcode::kStoreOutput;
  if constexpr (std::is_same_v<Op, LayerEnd>) return Opcode::kLayerEnd;
  if constexpr (std::is_same_v<Op, Halt>) return Opcode::kHalt;
  if constexpr (std::is_same_v<Op, Barrier>) return Opcode::kBarrier;
  if constexpr (std::is_same_v<Op, Signal>) return Opcode::kSignal;
  if constexpr (std::is_same_v<Op, VectorRun>) return Opcode::kVectorRun;
  if constexpr (std::is_same_v<Op, Copy>) {
    switch (op.unit) {
      case Unit::kMvdma:
        return Opcode::kCopyMvdma;
      case Unit::kGdma:
        return Opcode::kCopyGdma;
      case Unit::kCdma:
        return Opcode::kCopyCdma;
      case Unit::kFold:
        return Opcode::kCopyFold;
      default:
        return Opcode::kCopyIodma;
    }
  }
}

/// An operation of the kind that `opcode` names, with default fields; nothing for a number that is no opcode.
std::optional<decltype(Instruction::operation)> operation_of(Opcode opcode);
/// How the opcode is written.
const char* mnemonic(Opcode opcode);
inline constexpr std::array kOpcodes{
    Opcode::kConvSetup,   Opcode::kConvRun,   Opcode::kLoadInput, Opcode::kLoadKernels,
    Opcode::kStoreOutput, Opcode::kLayerEnd,  Opcode::kHalt,      Opcode::kBarrier,
    Opcode::kSignal,      Opcode::kCopyIodma, Opcode::kCopyMvdma, Opcode::kCopyGdma,
    Opcode::kCopyCdma,    Opcode::kVectorRun, Opcode::kWfoldRun,  Opcode::kCopyFold};

}  // namespace tilebeat
