#include "tilebeat/engines/switch_array/operations.h"

#include "tilebeat/isa/operations.h"

#include <fmt/format.h>

namespace tilebeat {

void ConvRun::describe(FieldVisitor& visit) {
  visit("copy", copy, 1), visit("first", first, 1), visit("last", last, 1);
  visit("rows", rows, 16, kFromOne), visit("columns", columns, 16, kFromOne), visit("height", height, 16),
      visit("width", width, 16);
  visit("h_offset", h_offset, 16), visit("w_offset", w_offset, 16);
  visit("first_plane", first_plane, 16), visit("planes", planes, 16, kFromOne),
      visit("kernels", kernels, 16, kFromOne);
  visit("slot", slot, 16), visit("parameter_word", parameter_word, 32);
  visit("output_base", output_base, 32), visit("output_stride", output_stride, 32),
      visit("macs_per_pixel", macs_per_pixel, 32);
  visit("blocks", blocks, 16, kFromOne), visit("plane_step", plane_step, 16);
}

std::string ConvRun::subject() const {
  return blocks == 1 ? fmt::format("{}x{}x{}", rows, columns, kernels)
                     : fmt::format("{}x{}x{}, {} blocks", rows, columns, kernels, blocks);
}

void LoadInput::describe(FieldVisitor& visit) {
  visit("copy", copy, 1), visit("address", address, 48);
  visit("row_stride", row_stride, 32), visit("pixel_stride", pixel_stride, 32);
  visit("height", height, 16), visit("width", width, 16), visit("channels", channels, 16, kFromOne);
  visit("stride_h", stride_h, 16, kFromOne), visit("stride_w", stride_w, 16, kFromOne),
      visit("fill", fill, 8);
  visit("slice", slice, 16);
}

std::string LoadInput::subject() const {
  return fmt::format("{}x{}x{}", height, width, channels);
}

void LoadKernels::describe(FieldVisitor& visit) {
  visit("address", address, 48), visit("post_address", post_address, 48), visit("words", words, 32, kFromOne);
  visit("parameter_word", parameter_word, 32), visit("slot", slot, 16),
      visit("post_records", post_records, 16);
  visit("group_channels", group_channels, 32), visit("group_kernels", group_kernels, 16, kFromOne);
  visit("first_kernel", first_kernel, 16), visit("kernels", kernels, 16);
  visit("first_channel", first_channel, 32), visit("block_words", block_words, 32, kFromOne);
  visit("block_channels", block_channels, 16), visit("taps", taps, 24, kFromOne), visit("fill", fill, 8);
}

std::string LoadKernels::subject() const {
  return fmt::format("{} words", words);
}

void StoreOutput::describe(FieldVisitor& visit) {
  visit("address", address, 48), visit("row_stride", row_stride, 32), visit("pixel_stride", pixel_stride, 32);
  visit("source", source, 32), visit("pixel_bytes", pixel_bytes, 32, kFromOne);
  visit("rows", rows, 16, kFromOne), visit("columns", columns, 16, kFromOne);
}

std::string StoreOutput::fault() const {
  return transfer_fault(rows, columns, pixel_bytes);
}

std::string StoreOutput::subject() const {
  return fmt::format("{}x{}x{} bytes", rows, columns, pixel_bytes);
}

namespace switch_array {

std::vector<const OperationType*> operations() {
  return operation_types<ConvRun, LoadInput, LoadKernels, StoreOutput>();
}

}  // namespace switch_array

}  // namespace tilebeat
