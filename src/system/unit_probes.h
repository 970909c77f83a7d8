#pragma once

#include "fabric/dram_controller.h"
#include "fabric/interconnect.h"
#include "observe/statistics.h"
#include "sim/context.h"

#include <deque>
#include <string>
#include <vector>

namespace tilebeat {

/// Lets the observers hear what every unit does with its cycles (SPEC UI-7): it is shown all ledgers once,
/// before the run, and listens to each. Of a unit that reports call `cluster0.core1.vector`, waveforms have
/// the text signal `chip.cluster0.core1.vector.state` and timelines a track of its activities. A unit needs
/// nothing for this but its ledger.
class UnitProbes : public StatVisitor {
 public:
  /// `system` is the name of the outermost module: "chip". Both outlive the run.
  UnitProbes(std::string system, const SimContext& context)
      : system_(std::move(system)), observers_(context.observers), clock_(context.clock) {}

  /// What follows is part of `container`, as reports call it; empty: of the whole system.
  void within(const std::string& container) { prefix_ = container.empty() ? "" : container + "."; }
  void ledger(const std::string& module, CycleLedger& ledger) override {
    listen(prefix_ + module, ledger, clock_);
  }
  void bus(const std::string& module, Interconnect& bus) { bus.visit_ledgers(module, *this); }
  /// The channels count in the DRAM's own cycles.
  void dram(const std::string& module, DramController& dram);

  /// Stops listening when no observer records any more: then ledgers cost what they cost without any.
  void let_go_if_over();

  // There is nothing to hear from these.
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
  std::vector<CycleLedger*> ledgers_;  // that are listened to
};

}  // namespace tilebeat
