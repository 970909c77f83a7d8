#include "tilebeat/engines/offset_table/operations.h"

#include <fmt/format.h>

namespace tilebeat::offset_table {

void OffsetSetup::describe(FieldVisitor& visit) {
  visit("layout", layout, 2), visit("order", order, 1), visit("block", block, 16, kFromOne);
  visit("channels", channels, 16, kFromOne), visit("groups", groups, 16, kFromOne);
  visit("group_kernels", group_kernels, 16, kFromOne), visit("block_kernels", block_kernels, 16, kFromOne);
  visit("vector", vector, 8, kFromOne), visit("bank_shift", bank_shift, 5), visit("part", part, 16, kFromOne),
      visit("useful_taps", useful_taps, 32);
}

void OffsetMap::describe(FieldVisitor& visit) {
  visit("tables", tables, 48);
  visit("rows", rows, 16, kFromOne), visit("columns", columns, 16, kFromOne);
  visit("height", height, 16), visit("width", width, 16);
  visit("h_offset", h_offset, 16), visit("w_offset", w_offset, 16);
}

void OffsetRun::describe(FieldVisitor& visit) {
  visit("map", map, 48), visit("weights", weights, 48), visit("post", post, 48), visit("result", result, 48);
  visit("result_pixel", result_pixel, 32);
  visit("kernels", kernels, 16, kFromOne), visit("first_kernel", first_kernel, 16);
  visit("first_channel", first_channel, 16), visit("channels", channels, 16, kFromOne);
  visit("first", first, 1), visit("last", last, 1), visit("same_map", same_map, 1);
}

std::string OffsetRun::subject() const {
  return fmt::format("{} kernels", kernels);
}

std::vector<const OperationType*> operations() {
  return operation_types<OffsetSetup, OffsetMap, OffsetRun>();
}

}  // namespace tilebeat::offset_table
