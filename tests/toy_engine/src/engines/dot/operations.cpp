#include "engines/dot/operations.h"

#include <fmt/format.h>

namespace tilebeat::dot {

void DotRun::describe(FieldVisitor& visit) {
  visit("map", map, 48), visit("weights", weights, 48), visit("result", result, 48);
  visit("result_pixel", result_pixel, 32), visit("macs_per_output", macs_per_output, 32);
  visit("rows", rows, 16), visit("columns", columns, 16), visit("kernels", kernels, 16);
  visit("height", height, 16), visit("width", width, 16);
  visit("h_offset", h_offset, 16), visit("w_offset", w_offset, 16);
  visit("pixel_bytes", pixel_bytes, 16), visit("channels", channels, 16);
  visit("first_kernel", first_kernel, 16), visit("group_kernels", group_kernels, 16);
}

std::string DotRun::subject() const {
  return fmt::format("{}x{}x{}", rows, columns, kernels);
}

std::vector<const OperationType*> operations() {
  return operation_types<DotRun>();
}

}  // namespace tilebeat::dot
