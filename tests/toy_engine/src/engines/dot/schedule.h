#pragma once

#include "engines/dot/operations.h"
#include "isa/instruction.h"

#include <cstdint>

namespace tilebeat::dot {

/// One tap of one output: the channels of a group are multiplied and added up.
struct DotStep {
  int kernel = 0;              ///< of the run
  std::int64_t output = 0;     ///< pixel of the run
  int tap = 0;                 ///< of the kernel
  bool begins_kernel = false;  ///< the kernel has to be in its register
  bool ends_output = false;    ///< the last tap
  std::int64_t map_byte = -1;  ///< of the map, where the operands begin; -1: the tap lies on padding
};

/// The order in which a run computes: kernel by kernel, in each the output pixels, in each the taps. Pure:
/// the planner takes cycles from it and the unit its operands.
class DotSchedule {
 public:
  DotSchedule(const ConvSetup& setup, const DotRun& run) : setup_(setup), run_(run) {}

  std::int64_t steps() const { return std::int64_t{run_.kernels} * outputs() * taps(); }
  DotStep step(std::int64_t index) const;
  /// Cycles of one step, also of one on padding.
  int step_clocks(int lanes) const { return (run_.channels + lanes - 1) / lanes; }
  std::int64_t clocks(int lanes) const { return steps() * step_clocks(lanes); }
  /// Bytes of a kernel in memory: its record and its weights.
  int kernel_bytes() const { return kPostParameterBytes + taps() * run_.channels; }

  const ConvSetup& setup() const { return setup_; }
  const DotRun& run() const { return run_; }

 private:
  int taps() const { return setup_.kernel_h * setup_.kernel_w; }
  std::int64_t outputs() const { return std::int64_t{run_.rows} * run_.columns; }

  ConvSetup setup_;
  DotRun run_;
};

}  // namespace tilebeat::dot
