#pragma once

#include "tilebeat/base/types.h"

#include <cstdint>
#include <string>

namespace tilebeat {

/// A signal of a trace, as handed out by `Trace::add_signal`. Negative: filtered out, nothing is recorded.
using SignalId = int;

/// Receives value changes. Modules hold a pointer that is null when nothing is traced, so that an untraced
/// run pays one branch. Signals are declared during elaboration; changes may be recorded ahead of simulated
/// time, in any order, as long as none lies before the present.
class Trace {
 public:
  virtual ~Trace() = default;
  /// Declares a signal. `scope` is a dotted path such as `soc.engine.banks`, `name` is unique within it,
  /// `width_bits` is 1 to 64. Until its first change a signal of one bit is 0, any
  /// other unknown (x).
  virtual SignalId add_signal(const std::string& scope, const std::string& name, int width_bits) = 0;
  /// The signal has `value` from `at` on. Of several changes at one instant the one recorded last stands.
  virtual void change(SignalId signal, Picoseconds at, std::uint64_t value) = 0;
  /// The signal is unknown (x) from `at` on.
  virtual void unknown(SignalId signal, Picoseconds at) = 0;
  /// Nothing is recorded any more: its size limit is reached, or its window has passed.
  bool is_over() const { return over_; }

 protected:
  bool over_ = false;
};

/// Receives spans for a timeline: `track` did `what` from `begin` to `end`.
class Timeline {
 public:
  virtual ~Timeline() = default;
  virtual void span(const std::string& track, const std::string& what, Picoseconds begin,
                    Picoseconds end) = 0;
};

/// Where a module reports to; both may be null.
struct Observers {
  Trace* trace = nullptr;
  Timeline* timeline = nullptr;
};

}  // namespace tilebeat
