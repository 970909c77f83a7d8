#pragma once

#include "tilebeat/sim/context.h"
#include "tilebeat/sim/granularity.h"
#include "tilebeat/units/host.h"
#include "tilebeat/units/matrix_unit.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace tilebeat {

/// The memories that a fault can be in. The engine's are those that its configuration describes.
enum class FaultMemory : std::uint8_t { kEngine, kNram, kWram, kSram };

/// A broken cell of a memory of a core, or of the SRAM of a cluster.
struct MemoryFault {
  FaultMemory memory = FaultMemory::kEngine;
  int cluster = 0, core = 0;  ///< on a chip; the core within its cluster
  Fault cell;
};

/// What a simulation is asked for, besides workload and hardware.
struct SimulationOptions {
  Granularity granularity = Granularity::kTile;
  Observers observers;
  bool trace_accumulators = false;
  std::vector<MemoryFault> faults;
  /// kOutside: the interconnect has one more port, `System::external_port`, and the programs begin with
  /// `System::start`.
  StartedBy started_by = StartedBy::kItself;
  std::uint32_t jitter_seed = 0;       ///< 0: no random delta delays (SPEC CY-4)
  std::uint32_t build_order_seed = 0;  ///< 0: modules are built in their usual order
  std::function<void(Cycle now, std::size_t layers_done)> progress;  ///< called now and then; may be empty
};

}  // namespace tilebeat
