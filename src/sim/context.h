#pragma once

#include "observe/trace.h"
#include "sim/clock.h"

#include <cstdint>
#include <random>

#include <systemc>

namespace tilebeat {

/// Seeded random delta delays for the test that results do not depend on the order in which processes run
/// inside a phase (SPEC CY-4). A default-constructed jitter is off.
class DeltaJitter {
 public:
  DeltaJitter() = default;
  explicit DeltaJitter(std::uint32_t seed) : enabled_(true), generator_(seed) {}

  /// The delta cycles by which the next woken process is held back: 0 to 3, always 0 when off.
  int next() { return enabled_ ? to_int(generator_() & 3U) : 0; }

 private:
  bool enabled_ = false;
  std::mt19937 generator_;
};

/// Holds an SC_METHOD back by the delta cycles that a jitter deals out. The method begins with
/// `if (gate_.hold(jitter)) return;`. Events that fire while it is held back are covered by the run that
/// follows.
class MethodGate {
 public:
  /// True when the method has to return at once; it is then called again one delta cycle later.
  bool hold(DeltaJitter* jitter) {
    if (jitter == nullptr) return false;
    if (!held_) left_ = jitter->next();
    held_ = left_ > 0;
    if (!held_) return false;
    --left_;
    sc_core::next_trigger(sc_core::SC_ZERO_TIME);
    return true;
  }

 private:
  bool held_ = false;
  int left_ = 0;
};

/// How much is simulated in one step (SPEC CY-3): every beat, or a chunk at a time. Outputs, cycles and
/// statistics agree.
enum class Granularity { kClock, kTile };

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
