// Units that take instructions, and the texts of a command processor for errors and deadlock reports.
#include "units/commanded_unit.h"

#include "base/types.h"
#include "units/command_processor.h"
#include "units/matrix_unit.h"

#include <fmt/format.h>

namespace tilebeat {

CommandedUnit::CommandedUnit(const sc_core::sc_module_name& name, const SimContext& context, Unit unit)
    : sc_module(name), command("command"), completion("completion", unit), context_(context) {
  command.register_b_transport(this, &CommandedUnit::receive);
}

// Commands arrive in phase kGrant.
void CommandedUnit::receive(UnitCommand& message, sc_core::sc_time&) {
  const Cycle next = context_.clock.cycle_of(now_ps()) + 1;
  const auto dispatch = [&](const UnitCommand::Dispatch& news) {
    blocker_ = news.next_waits_for;
    take(news.instruction, next);
    if (context_.bytes == nullptr) return;
    Footprint accessed = footprint(news.instruction);
    if (!accessed.empty()) context_.bytes->begin(news.instruction, std::move(accessed), next - 1);
  };
  std::visit(Overloaded{dispatch, [this](const WaitsFor& news) { blocker_ = news.activity; }},
             message.content);
  if (wakes_on_command()) wake_at(next);
}

std::string CommandProcessor::describe_state() const {
  std::string text = running_ ? fmt::format("  decoder at {:#x}: waits for {}\n", decode_address_,
                                            activity_name(decode_blocker_))
                              : std::string("  no program is running\n");
  // The first instruction of a queue, and what it waits for.
  const auto head_of = [this](const std::deque<Queued>& queue) {
    if (queue.empty()) return std::string();
    std::string head = fmt::format("; instruction at {:#x} waits for", queue.front().address);
    for (const Semaphore s : queue.front().instruction.waits) {
      if (s != 0 && semaphores_[s] == 0) head += " " + semaphore_name(s);
    }
    return head;
  };
  if (!signals_.empty()) text += fmt::format("  signals   {} queued{}\n", signals_.size(), head_of(signals_));
  for (std::size_t i = 0; i < state_.size(); ++i) {
    const UnitState& unit = state_[i];
    if (unit.socket < 0) continue;
    text += fmt::format("  {:<9} holds {}, {} under way, {} queued{}\n", kUnitNames[i], unit.held,
                        unit.under_way.size(), unit.queue.size(), head_of(unit.queue));
  }
  return text;
}

std::string CommandProcessor::describe_under_way() const {
  std::string text;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    for (const auto& [address, released, done] : state_[i].under_way)
      text += fmt::format("{}{} at {:#x}", text.empty() ? "" : ", ", kUnitNames[i], address);
  }
  return text;
}

void show_work(const SimContext& context, const sc_core::sc_module& module, const Instruction& instruction,
               Cycle begin, Cycle end, const WorkSize& size) {
  Timeline* timeline = context.timeline();
  if (timeline == nullptr) return;
  Slice slice{summary(instruction), context.clock.at(begin), context.clock.at(end)};
  slice.instruction = instruction.address;
  slice.bytes = size.bytes, slice.macs = size.macs;
  timeline->slice(report_name(module), slice);
}

}  // namespace tilebeat
