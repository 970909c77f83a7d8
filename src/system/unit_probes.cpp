#include "system/unit_probes.h"

#include <fmt/format.h>

namespace tilebeat {

void UnitProbes::StateSignal::spent(Activity activity, Cycle begin, Cycle /*end*/, CycleOrder /*order*/) {
  if (activity == shown_ || trace_.is_over()) return;
  shown_ = activity;
  trace_.text(signal_, clock_.at(begin), activity_name(activity));
}

void UnitProbes::let_go_if_over() {
  const bool traces = observers_.trace != nullptr && !observers_.trace->is_over();
  const bool shows = observers_.timeline != nullptr && !observers_.timeline->is_over();
  if (traces || shows) return;
  for (CycleLedger* ledger : ledgers_) ledger->report_to(nullptr);
  ledgers_.clear();
}

void UnitProbes::dram(const std::string& module, DramController& dram) {
  const ClockDomain clock = dram.clock();
  for (int i = 0; i < dram.channels(); ++i)
    listen(prefix_ + fmt::format("{}.ch{}", module, i), dram.ledger(i), clock);
}

void UnitProbes::listen(const std::string& module, CycleLedger& ledger, const ClockDomain& clock) {
  ActivityLog log;
  bool heard = false;
  if (observers_.timeline != nullptr) {
    log.add_listener(observers_.timeline->activities(module, clock.period_ps()));
    heard = true;
  }
  if (observers_.trace != nullptr) {
    const SignalId signal = observers_.trace->add_signal(system_ + "." + module, "state", 1, Radix::kText);
    if (signal >= 0) {
      log.add_listener(states_.emplace_back(*observers_.trace, signal, clock));
      heard = true;
    }
  }
  if (!heard) return;
  ledger.report_to(&logs_.emplace_back(std::move(log)));
  ledgers_.push_back(&ledger);
}

}  // namespace tilebeat
