#pragma once

#include "tilebeat/config/holding.h"

#include <map>
#include <string>
#include <vector>

namespace tilebeat {

/// Layers that run as one, and how (SPEC MA-1, FU-4).
struct UnitMapping {
  std::vector<std::string> layers;          ///< in the workload's order; the last one makes the output
  int clusters = 1;                         ///< that share the rows of the output
  int step_rows = 1;                        ///< output rows that a cluster makes in a step
  int step_columns = 1;                     ///< columns of these rows that it makes at a time, strip by strip
  int step_maps = 1;                        ///< images of which it makes all rows in a step; 1: rows of one
  std::map<std::string, Holding> holdings;  ///< by tensor, of all but the output
  UnitKernels kernels = UnitKernels::kResident;  ///< where they are while it runs
  std::map<std::string, int> reductions;         ///< cores of a team that shares a layer's channels, by layer
  int kernels_ahead = 0;       ///< loads of kernels that are made while an earlier layer runs
  std::string kernels_during;  ///< that layer, or the last one of that unit; empty: none
};

}  // namespace tilebeat
