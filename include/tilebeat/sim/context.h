#pragma once

#include "tilebeat/observe/trace.h"
#include "tilebeat/sim/clock.h"
#include "tilebeat/sim/stable_process.h"

namespace tilebeat {

/// What every module of a simulation shares; all module constructors take it.
struct SimContext {
  ClockDomain clock;              ///< the NPU's clock
  Observers observers{};          ///< where to trace to; nothing by default
  DeltaJitter* jitter = nullptr;  ///< delta delays of the determinism test (SPEC CY-4); null: none

  /// What changes are recorded in; null: nothing is traced, or no more.
  Trace* trace() const {
    return observers.trace != nullptr && !observers.trace->is_over() ? observers.trace : nullptr;
  }
  /// What work is shown in; null: there is none, or no more.
  Timeline* timeline() const {
    return observers.timeline != nullptr && !observers.timeline->is_over() ? observers.timeline : nullptr;
  }
};

}  // namespace tilebeat
