#pragma once

#include "fabric/dram_controller.h"
#include "fabric/interconnect.h"
#include "observe/statistics.h"
#include "sim/context.h"

#include <deque>
#include <string>
#include <vector>

namespace tilebeat {

/// Connects the observers to the activities of every unit (SPEC UI-7): it visits all ledgers once, before the
/// run, and listens to each. For a unit named `cluster0.core1.vector` in reports, waveforms have the text
/// signal `chip.cluster0.core1.vector.state`, and timelines a track of its activities. A unit needs nothing
/// but its ledger for this.
class UnitProbes : public StatVisitor {
 public:
  /// `system` is the name of the outermost module: "chip". Both outlive the run.
  UnitProbes(std::string system, const SimContext& context)
      : system_(std::move(system)), observers_(context.observers), clock_(context.clock) {}

  /// The following parts belong to `container`, by its name in reports; empty: to the whole system.
  void within(const std::string& container) { prefix_ = container.empty() ? "" : container + "."; }
  void ledger(const std::string& module, CycleLedger& ledger) override {
    listen(prefix_ + module, ledger, clock_);
  }
  void bus(const std::string& module, Interconnect& bus) { bus.visit_ledgers(module, *this); }
  /// Channels count in cycles of the DRAM.
  void dram(const std::string& module, DramController& dram);

  /// Stops listening when no observer records any more, so that ledgers cost no more than without observers.
  void let_go_if_over();

  // Nothing to listen to.
  void counter(const std::string&, const std::string&, const std::string&, std::int64_t) override {}
  void bytes(std::int64_t MemoryBytes::*, std::int64_t) override {}
  void array(const CycleLedger&, std::int64_t, std::int64_t) override {}

 private:
  class StateSignal : public ActivityListener {
   public:
    StateSignal(Trace& trace, SignalId signal, ClockDomain clock)
        : trace_(trace), signal_(signal), clock_(clock) {}
    void spent(Activity activity, Cycle begin, Cycle end, CycleOrder order) override;

   private:
    Trace& trace_;
    SignalId signal_;
    ClockDomain clock_;
    Activity shown_ = Activity::kCount;
  };
  void listen(const std::string& module, CycleLedger& ledger, const ClockDomain& clock);

  std::string system_, prefix_;
  Observers observers_;
  ClockDomain clock_;
  std::deque<ActivityLog> logs_;  // ledgers and logs keep references
  std::deque<StateSignal> states_;
  std::vector<CycleLedger*> ledgers_;  // ledgers with a listener
};

}  // namespace tilebeat
