#pragma once

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
  int next() { return enabled_ ? static_cast<int>(generator_() & 3U) : 0; }

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

}  // namespace tilebeat
