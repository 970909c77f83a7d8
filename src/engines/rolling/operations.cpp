#include "tilebeat/engines/rolling/operations.h"

#include <fmt/format.h>

namespace tilebeat::rolling {

void RollingSetup::describe(FieldVisitor& visit) {
  visit("variant", variant, 3), visit("scheme", scheme, 2), visit("realignment", realignment, 1);
  visit("wrap", wrap, 1), visit("transposition", transposition, 1);
  visit("stacked_blocks", stacked_blocks, 8, kFromOne), visit("stacked_cuts", stacked_cuts, 8, kFromOne);
  visit("pixel_bytes", pixel_bytes, 16, kFromOne), visit("group_channels", group_channels, 16, kFromOne);
  visit("group_kernels", group_kernels, 16, kFromOne), visit("block_kernels", block_kernels, 16, kFromOne);
  visit("images", images, 16, kFromOne), visit("useful_taps", useful_taps, 32);
}

void RollingRun::describe(FieldVisitor& visit) {
  visit("map", map, 48), visit("weights", weights, 48), visit("post", post, 48), visit("result", result, 48);
  visit("result_pixel", result_pixel, 20), visit("rows", rows, 16, kFromOne),
      visit("columns", columns, 16, kFromOne);
  visit("kernels", kernels, 16, kFromOne), visit("height", height, 16), visit("width", width, 16);
  visit("h_offset", h_offset, 16), visit("w_offset", w_offset, 16), visit("first_kernel", first_kernel, 16);
  visit("first_channel", first_channel, 16), visit("channels", channels, 16, kFromOne);
  visit("first", first, 1), visit("last", last, 1);
}

std::string RollingRun::subject() const {
  return fmt::format("{}x{}x{}", rows, columns, kernels);
}

std::vector<const OperationType*> operations() {
  return operation_types<RollingSetup, RollingRun>();
}

}  // namespace tilebeat::rolling
