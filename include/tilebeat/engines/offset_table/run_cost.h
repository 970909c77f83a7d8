#pragma once

#include "tilebeat/base/types.h"
#include "tilebeat/engines/offset_table/config.h"
#include "tilebeat/engines/offset_table/pipeline.h"
#include "tilebeat/engines/offset_table/schedule.h"

namespace tilebeat::offset_table {

/// What a thread gathers in a beat from a map at `map`.
Operand operand_of(const Tables& tables, std::int64_t thread, int group, const Beat& beat, std::uint64_t map);

/// What a run is expected to take: some groups of threads are sent through the pipeline, the others are taken
/// to be like them.
struct RunCost {
  double cycles = 0;  ///< of the lanes
  double drain = 0;   ///< from the last beat to the last result
};
RunCost cost_of(const OffsetConfig& config, const PortTimes& times, const TableShape& shape,
                const OffsetSetup& setup, const OffsetRun& run, int result_bytes);

}  // namespace tilebeat::offset_table
