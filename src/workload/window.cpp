#include "window.h"

#include <fmt/format.h>

namespace tilebeat {

std::int64_t output_pixels(const WindowShape& window, const std::vector<std::int64_t>& shape,
                           std::size_t axis, const Place& place) {
  const std::int64_t padded = shape[1 + axis] + window.pads[axis] + window.pads[axis + 2];
  const std::int64_t extent = window.extent(axis);
  if (extent > padded) {
    place.key("kernel").item(axis).refuse(fmt::format("{} with dilation {}, a window of {},",
                                                      window.kernel[axis], window.dilation[axis], extent),
                                          fmt::format("a window that fits the padded map of {}", padded));
  }
  return (padded - extent) / window.stride[axis] + 1;
}

}  // namespace tilebeat
