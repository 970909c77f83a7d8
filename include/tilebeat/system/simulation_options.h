#pragma once

#include "tilebeat/sim/context.h"
#include "tilebeat/sim/granularity.h"
#include "tilebeat/units/matrix_unit.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace tilebeat {

/// What a simulation is asked for, besides workload and hardware.
struct SimulationOptions {
  Granularity granularity = Granularity::kTile;
  Observers observers;
  bool trace_accumulators = false;
  std::vector<Fault> faults;           ///< of the matrix unit; in a chip, of that of its first core
  std::uint32_t jitter_seed = 0;       ///< 0: no random delta delays (SPEC CY-4)
  std::uint32_t build_order_seed = 0;  ///< 0: modules are built in their usual order
  std::function<void(Cycle now, std::size_t layers_done)> progress;  ///< called now and then; may be empty
};

}  // namespace tilebeat
