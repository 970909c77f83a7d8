#pragma once

// The command processor's side of a unit, for tests of the unit alone.

#include "fabric/message.h"
#include "systemc_test.h"
#include "tilebeat/error.h"
#include "units/commanded_unit.h"

#include <deque>
#include <string>
#include <vector>

namespace tilebeat::testing {

/// Sends instructions in phase kGrant of given cycles, as the command processor does, and keeps what the unit
/// reports. A unit acts upon an instruction of cycle t in cycle t + 1.
class UnitDriver : public sc_core::sc_module {
 public:
  struct Report {
    Cycle at;
    UnitMessage::Kind kind;
    Semaphore signal;  ///< the first one
  };
  MessageInitiator<UnitCommand> command;
  MessageTarget<UnitMessage> completion;
  std::vector<Report> reports;

  UnitDriver(const sc_core::sc_module_name& name, const SimContext& context)
      : sc_module(name), command("command"), completion("completion"), context_(context) {
    completion.register_b_transport(this, &UnitDriver::take);
    SC_HAS_PROCESS(UnitDriver);
    SC_METHOD(run);
  }
  /// The instructions' cycles rise. Done and release signals are the instruction's number, from 1.
  void send(Cycle at, const Operation& operation) {
    Instruction instruction;
    instruction.operation = operation;
    instruction.done_signals[0] = instruction.release_signals[0] = static_cast<Semaphore>(script_.size() + 1);
    script_.push_back({at, instruction});
  }
  /// The cycle in which instruction `number` (from 1) was released or done; -1: it was not.
  Cycle when(int number, UnitMessage::Kind kind) const {
    for (const Report& report : reports) {
      if (report.signal == number && report.kind == kind) return report.at;
    }
    return -1;
  }
  Cycle done(int number) const { return when(number, UnitMessage::Kind::kDone); }
  Cycle released(int number) const { return when(number, UnitMessage::Kind::kReleased); }

 private:
  struct Entry {
    Cycle at;
    Instruction instruction;
  };
  // A method, not a thread: the address sanitizer takes an exception for an error once the stack was
  // switched.
  void run() {
    for (; next_ < script_.size(); ++next_) {
      const Entry& entry = script_[next_];
      const Picoseconds wait = context_.clock.at(entry.at, Phase::kGrant) - now_ps();
      if (wait > 0) {
        next_trigger(to_sc_time(wait));
        return;
      }
      command.send({UnitCommand::Dispatch{entry.instruction, Activity::kNoWork}});
    }
  }
  void take(UnitMessage& message, sc_core::sc_time&) {
    reports.push_back({context_.clock.cycle_of(now_ps()), message.kind, message.signals[0]});
  }

  SimContext context_;
  std::deque<Entry> script_;
  std::size_t next_ = 0;
};

/// What sc_start throws: the message of a SimulationError in a process.
inline std::string error_of_run(Cycle cycles, Picoseconds period) {
  try {
    sc_core::sc_start(to_sc_time(cycles * period));
  } catch (const SimulationError& error) {
    return error.what();
  } catch (const sc_core::sc_report& report) {
    return report.get_msg();
  }
  return "";
}

}  // namespace tilebeat::testing
