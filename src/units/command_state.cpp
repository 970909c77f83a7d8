// What a command processor says of itself in errors and reports of deadlocks.
#include "tilebeat/units/command_processor.h"

#include <fmt/format.h>

namespace tilebeat {

std::string CommandProcessor::describe_state() const {
  std::string text = running_ ? fmt::format("  decoder at {:#x}: waits for {}\n", decode_address_,
                                            activity_name(decode_blocker_))
                              : std::string("  no program is running\n");
  // The first of a queue, and what it waits for.
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
    for (const std::uint64_t address : state_[i].under_way)
      text += fmt::format("{}{} at {:#x}", text.empty() ? "" : ", ", kUnitNames[i], address);
  }
  return text;
}

}  // namespace tilebeat
