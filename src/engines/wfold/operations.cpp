#include "tilebeat/engines/wfold/operations.h"

#include <fmt/format.h>

namespace tilebeat {

void WfoldRun::describe(FieldVisitor& visit) {
  visit("map", map, 32), visit("row_bytes", row_bytes, 32), visit("lead_bytes", lead_bytes, 32);
  visit("weights", weights, 32), visit("result", result, 32), visit("result_pixel", result_pixel, 32);
  visit("macs_per_output", macs_per_output, 32), visit("rows", rows, 16, kFromOne),
      visit("columns", columns, 16, kFromOne);
  visit("kernels", kernels, 16, kFromOne), visit("height", height, 16), visit("h_offset", h_offset, 16);
  visit("pixel_bytes", pixel_bytes, 16, kFromOne), visit("first_channel", first_channel, 16);
  visit("channels", channels, 16, kFromOne), visit("granularity", granularity, 9, kFromOne);
  visit("result_granularity", result_granularity, 9, kFromOne), visit("read_mode", read_mode, 2);
  visit("block_outer", block_outer, 1), visit("begins_sums", begins_sums, 1),
      visit("ends_sums", ends_sums, 1);
}

std::string WfoldRun::subject() const {
  return fmt::format("{}x{}x{}", rows, columns, kernels);
}

WfoldGeometry geometry_of(const ConvSetup& s, const WfoldRun& r) {
  WfoldGeometry g;
  g.rows = r.rows, g.columns = r.columns, g.kernels = r.kernels;
  g.height = r.height, g.row_bytes = r.row_bytes, g.lead_bytes = r.lead_bytes, g.h_offset = r.h_offset;
  g.kernel_h = s.kernel_h, g.stride_h = s.stride_h, g.dilation_h = s.dilation_h;
  g.kernel_w = s.kernel_w, g.stride_w = s.stride_w, g.dilation_w = s.dilation_w;
  g.pixel_bytes = r.pixel_bytes, g.first_channel = r.first_channel, g.channels = r.channels;
  g.granularity = r.granularity;
  g.block_outer = r.block_outer;
  g.post_parameters = s.post_parameters && r.ends_sums;
  return g;
}

namespace wfold {

std::vector<const OperationType*> operations() {
  return operation_types<WfoldRun>();
}

}  // namespace wfold

}  // namespace tilebeat
