#pragma once

#include "tilebeat/fabric/message.h"
#include "tilebeat/sim/context.h"
#include "tilebeat/sim/next_clock.h"
#include "tilebeat/units/messages.h"

#include <systemc>

namespace tilebeat {

/// Through which a unit, or a module that finishes a unit's instructions, reports to the command processor.
class CompletionSocket : public tlm_utils::simple_initiator_socket<CompletionSocket> {
 public:
  /// `unit` is the one whose instructions are reported.
  CompletionSocket(const char* name, Unit unit) : simple_initiator_socket(name), unit_(unit) {}

  /// Reports that an instruction was released or is done, which gives one for each of `signals`. Takes no
  /// time; called in phase kAct.
  void tell(UnitMessage::Kind kind, const Semaphores& signals) {
    send_(*this, UnitMessage{unit_, kind, signals});
  }

 private:
  Unit unit_;
  MessageSender send_;
};

/// What all units of the command processor have in common: they take its commands and act upon them in the
/// next cycle, remember why no further instruction comes, and report what is released and done.
///
/// A unit adds a method that is sensitive to `wake_` and begins with `gate_`.
class CommandedUnit : public sc_core::sc_module {
 protected:
  sc_core::sc_event wake_;  // declared first: ports of the units notify it

 public:
  tlm_utils::simple_target_socket<CommandedUnit> command;
  CompletionSocket completion;

 protected:
  CommandedUnit(const sc_core::sc_module_name& name, const SimContext& context, Unit unit);

  /// An instruction was sent; the unit keeps a copy and may begin in cycle `next`. Throws a SimulationError
  /// if the unit cannot execute it.
  virtual void take(const Instruction& instruction, Cycle next) = 0;
  /// A command wakes the unit. Otherwise the unit looks for new instructions by itself.
  virtual bool wakes_on_command() const { return true; }

  void tell(UnitMessage::Kind kind, const Semaphores& signals) { completion.tell(kind, signals); }
  /// Wakes the unit in phase kAct of `cycle`, unless it is woken earlier.
  void wake_at(Cycle cycle) { notify_at(wake_, context_.clock, cycle); }
  /// The same, when there is something to do.
  void wake_at(const NextClock& next) { notify_at(wake_, context_.clock, next); }

  SimContext context_;
  MethodGate gate_;
  Activity blocker_ = Activity::kHost;  ///< why the instruction after those that were sent does not come

 private:
  void receive(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
};

}  // namespace tilebeat
