#pragma once

#include "sim/context.h"

#include <string>

#include <systemc>

namespace tilebeat {

/// The name of a module in reports: "chip.cluster0.core1" is "cluster0.core1".
inline std::string report_name(const sc_core::sc_module& module) {
  const std::string whole = module.name();
  return whole.substr(whole.find('.') + 1);
}

/// A counter of a module in the timeline, if there is one (SPEC UI-7).
class WorkCounter {
 public:
  /// Adds a counter to `module`; fills in `info.module`.
  WorkCounter(const SimContext& context, const sc_core::sc_module& module, CounterInfo info)
      : context_(context) {
    if (context_.observers.timeline == nullptr) return;
    info.module = report_name(module);
    counter_ = context_.observers.timeline->add_counter(info);
  }

  /// Counts `amount` evenly in the cycles [begin, end) of the context's clock.
  void count(Cycle begin, Cycle end, std::int64_t amount) const {
    if (Timeline* timeline = context_.timeline(); timeline != nullptr)
      timeline->count(counter_, context_.clock.at(begin), context_.clock.at(end), amount);
  }
  /// Sets the value from `at` on.
  void level(Cycle at, std::int64_t value) const {
    if (Timeline* timeline = context_.timeline(); timeline != nullptr)
      timeline->level(counter_, context_.clock.at(at), value);
  }

 private:
  SimContext context_;
  CounterId counter_ = 0;
};

}  // namespace tilebeat
