#pragma once

#include "observe/holds.h"
#include "observe/trace.h"
#include "sim/clock.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

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

/// Hears how programs advance, for statistics by layers and cores.
class RunWatch {
 public:
  RunWatch() = default;
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;
  virtual ~RunWatch() = default;
  /// A processor sent a matrix instruction in cycle `at`, the first one of the program or after a
  /// `layer.end`.
  virtual void matrix_begun(Cycle /*at*/) {}
  /// Layer `layer` was complete on a processor in cycle `at`.
  virtual void layer_ended(std::uint32_t /*layer*/, Cycle /*at*/) {}
  /// The programs of the first `labels` labels have run, the next ones have not begun.
  virtual void programs_ran(std::size_t /*labels*/) {}
  /// The last program had run in cycle `at`.
  virtual void run_ended(Cycle /*at*/) {}
};

class DramWatch;
class ProcessorBytes;

/// The shared context of all modules of a simulation; all module constructors take it.
struct SimContext {
  ClockDomain clock;                ///< the NPU's clock
  Observers observers{};            ///< none by default
  DeltaJitter* jitter = nullptr;    ///< delta delays of the determinism test (SPEC CY-4); null: none
  RunWatch* watch = nullptr;        ///< what hears how programs advance; null: nothing
  DramWatch* dram = nullptr;        ///< what hears of commands to DRAM; null: nothing
  Races* races = nullptr;           ///< what finds races in the core or board; null: nothing
  ProcessorBytes* bytes = nullptr;  ///< what checks reads of programs by hand; null: nothing

  /// The uses of a memory of the core or board; null: nothing looks for races.
  Holds* holds(const std::string& memory) const {
    return races != nullptr ? &races->memory(memory) : nullptr;
  }
  /// The trace that records changes; null: there is none, or it has ended.
  Trace* trace() const {
    return observers.trace != nullptr && !observers.trace->is_over() ? observers.trace : nullptr;
  }
  /// The timeline that records work; null: there is none, or it has ended.
  Timeline* timeline() const {
    return observers.timeline != nullptr && !observers.timeline->is_over() ? observers.timeline : nullptr;
  }
};

/// Runs construction steps in the order given, or in a seeded random order: results must not depend on it
/// (SPEC CY-4).
class BuildOrder {
 public:
  BuildOrder() = default;
  explicit BuildOrder(std::uint32_t seed) : shuffle_(true), generator_(seed) {}

  void run(std::vector<std::function<void()>> steps) {
    if (shuffle_) std::shuffle(steps.begin(), steps.end(), generator_);
    for (const auto& step : steps) step();
  }

 private:
  bool shuffle_ = false;
  std::mt19937 generator_;
};

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
