#include "tilebeat/engines/wfold/operations.h"

#include <fmt/format.h>

namespace tilebeat {

void WfoldRun::describe(FieldVisitor& visit) {
  visit("map", map, 32), visit("row_bytes", row_bytes, 32), visit("lead_bytes", lead_bytes, 32);
  visit("weights", weights, 32), visit("result", result, 32), visit("result_pixel", result_pixel, 32);
  visit("macs_per_output", macs_per_output, 32), visit("rows", rows, 16), visit("columns", columns, 16);
  visit("kernels", kernels, 16), visit("height", height, 16), visit("h_offset", h_offset, 16);
  visit("pixel_bytes", pixel_bytes, 16), visit("first_channel", first_channel, 16);
  visit("channels", channels, 16), visit("granularity", granularity, 9);
  visit("result_granularity", result_granularity, 9), visit("read_mode", read_mode, 2);
  visit("block_outer", block_outer, 1);
}

std::string WfoldRun::subject() const {
  return fmt::format("{}x{}x{}", rows, columns, kernels);
}

namespace wfold {

std::vector<const OperationType*> operations() {
  return operation_types<WfoldRun>();
}

}  // namespace wfold

}  // namespace tilebeat
