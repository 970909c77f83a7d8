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

  /// Delta cycles by which the next woken process is delayed: 0 to 3, always 0 when off.
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

/// The amount of work simulated in one step (SPEC CY-3): a beat, or a chunk. Outputs, cycles and statistics
/// are the same in both.
enum class Granularity { kClock, kTile };

/// The shared context of all modules of a simulation; all module constructors take it.
struct SimContext {
  ClockDomain clock;              ///< the NPU's clock
  Observers observers{};          ///< none by default
  DeltaJitter* jitter = nullptr;  ///< delta delays of the determinism test (SPEC CY-4); null: none

  /// The trace that records changes; null: there is none, or it has ended.
  Trace* trace() const {
    return observers.trace != nullptr && !observers.trace->is_over() ? observers.trace : nullptr;
  }
  /// The timeline that records work; null: there is none, or it has ended.
  Timeline* timeline() const {
    return observers.timeline != nullptr && !observers.timeline->is_over() ? observers.timeline : nullptr;
  }
};

}  // namespace tilebeat
