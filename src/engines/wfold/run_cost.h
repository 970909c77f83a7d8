#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/engines/wfold/config.h"
#include "tilebeat/engines/wfold/operations.h"
#include "tilebeat/mapping/task_graph.h"

#include <array>
#include <cstdint>
#include <map>

namespace tilebeat::wfold {

/// What runs are expected to cost: the cycles of a dry run, which has the order of lines, beats and results
/// but no data, and knows nothing of other users of NRAM. Of a long run some rows are gone through; the
/// others are taken to be like them.
class RunCosts {
 public:
  /// `hardware` outlives it.
  explicit RunCosts(const HardwareConfig& hardware) : hardware_(hardware) {}

  /// The cost of a run with the registers `setup`, which are the same for all of them.
  const TaskCost& of(const ConvSetup& setup, const WfoldRun& run);

 private:
  TaskCost work_out(const ConvSetup& setup, const WfoldRun& run) const;

  using Key = std::array<std::int64_t, 14>;
  const HardwareConfig& hardware_;
  std::map<Key, TaskCost> known_;
};

}  // namespace tilebeat::wfold
