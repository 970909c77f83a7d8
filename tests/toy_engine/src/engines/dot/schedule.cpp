#include "engines/dot/schedule.h"

namespace tilebeat::dot {

DotStep DotSchedule::step(std::int64_t index) const {
  DotStep step;
  step.tap = static_cast<int>(index % taps());
  step.output = index / taps() % outputs();
  step.kernel = static_cast<int>(index / taps() / outputs());
  step.begins_kernel = step.output == 0 && step.tap == 0;
  step.ends_output = step.tap == taps() - 1;
  const std::int64_t h = step.output / run_.columns * setup_.stride_h + run_.h_offset +
                         step.tap / setup_.kernel_w * setup_.dilation_h;
  const std::int64_t w = step.output % run_.columns * setup_.stride_w + run_.w_offset +
                         step.tap % setup_.kernel_w * setup_.dilation_w;
  if (h < 0 || h >= run_.height || w < 0 || w >= run_.width) return step;
  const int group = (run_.first_kernel + step.kernel) / run_.group_kernels;
  step.map_byte = (h * run_.width + w) * run_.pixel_bytes + std::int64_t{group} * run_.channels;
  return step;
}

}  // namespace tilebeat::dot
