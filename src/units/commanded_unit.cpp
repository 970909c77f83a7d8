#include "tilebeat/units/commanded_unit.h"

#include "tilebeat/base/overloaded.h"

namespace tilebeat {

CommandedUnit::CommandedUnit(const sc_core::sc_module_name& name, const SimContext& context, Unit unit)
    : sc_module(name), command("command"), completion("completion", unit), context_(context) {
  command.register_b_transport(this, &CommandedUnit::receive);
}

// Commands arrive in phase kGrant.
void CommandedUnit::receive(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
  const Cycle next = context_.clock.cycle_of(now_ps()) + 1;
  const auto dispatch = [&](const UnitCommand::Dispatch& news) {
    blocker_ = news.next_waits_for;
    take(news.instruction, next);
  };
  std::visit(Overloaded{dispatch, [this](const WaitsFor& news) { blocker_ = news.activity; }},
             message_of<UnitCommand>(payload, command).content);
  if (wakes_on_command()) wake_at(next);
}

}  // namespace tilebeat
