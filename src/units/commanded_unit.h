#pragma once

#include "base/activity.h"
#include "base/types.h"
#include "fabric/message.h"
#include "isa/instruction.h"
#include "observe/activity_log.h"
#include "sim/clock.h"
#include "sim/context.h"
#include "units/byte_checks.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <systemc>
#include <tlm>

namespace tilebeat {

/// The stall cause of the sender, and so of its receiver, from now on.
struct WaitsFor {
  Activity activity = Activity::kNoWork;
};

/// From the command processor to a unit, on the unit's command socket. It arrives in phase kGrant and is
/// acted upon in the next cycle.
struct UnitCommand {
  /// The next instruction; its tokens have been taken.
  struct Dispatch {
    const Instruction& instruction;
    Activity next_waits_for;  ///< why the instruction after it does not come yet
  };
  /// WaitsFor: the cause for which the next instruction does not come yet.
  std::variant<Dispatch, WaitsFor> content;
};

/// From a unit to the command processor, sent in phase kAct.
struct UnitMessage {
  enum class Kind : std::uint8_t {
    kReleased,  ///< the unit's front no longer needs the instruction or its operands and can take another one
    kDone       ///< the results are complete
  };
  Unit unit;
  Kind kind;
  Semaphores signals{};
  /// kDone: of the instruction that the message before has released, which may overtake older ones whose
  /// results are on their way; else of the oldest one.
  bool with_release = false;
};

/// From the start unit to a command processor, in phase kAct: run this program from its first instruction.
struct ProgramStart {
  std::uint64_t address = 0;  ///< in DRAM, a multiple of the instruction size
  std::uint64_t bytes = 0;
};

/// From the command processor to the host: the program has ended.
struct ProgramEnd {
  std::uint64_t address = 0;  ///< address of its last instruction
};

/// Instructions that a unit holds at a time: the one it works on and the next one.
constexpr int kUnitDepth = 2;

/// From a DMA channel to the module that takes its data.
struct StreamMessage {
  /// An instruction's data begins.
  struct Begin {
    const Instruction& instruction;
  };
  struct Data {
    const std::uint8_t* bytes;
    int count;
    const WaitTrail& trail;   ///< wait trail of the burst that brought it
    int bytes_per_clock = 0;  ///< that are there; 0: a bus beat
    Cycle clocks = 0;         ///< in which they are decoded, at least
  };
  /// The cycle in which data are taken, which the sink knows in advance.
  struct Answer {
    Cycle accepted = 0;  ///< the cycle after the last bus beat was taken
    Cycle blocked = 0;   ///< cycles in which a beat had to wait for a write queue
    Cycle written = 0;   ///< the cycle after the last byte was written
    /// Neighbouring beats, and the cycles that the first of them waited.
    struct Stretch {
      Cycle blocked = 0, beats = 0;
    };
    std::vector<Stretch> stretches{};  ///< of all beats in order; none: the wait comes first
    Cycle decoding = 0;                ///< cycles in front of the first beat in which data were decoded
  };
  std::variant<Begin, Data, WaitsFor> content;
  Answer answer{};  ///< filled in by the receiver of Data
};

/// The socket by which a unit, or a module that finishes a unit's instructions, reports to the command
/// processor.
class CompletionSocket : public MessageInitiator<UnitMessage> {
 public:
  /// `unit`: the unit whose instructions are reported.
  CompletionSocket(const char* name, Unit unit) : MessageInitiator(name), unit_(unit) {}

  /// Reports that an instruction was released or is done, which gives a token to each of `signals`. Takes no
  /// time; called in phase kAct.
  void tell(UnitMessage::Kind kind, const Semaphores& signals) { send(UnitMessage{unit_, kind, signals}); }
  /// Reports that an instruction is released and done at once, without results behind it.
  void tell_complete(const Instruction& instruction) {
    tell(UnitMessage::Kind::kReleased, instruction.release_signals);
    send(UnitMessage{unit_, UnitMessage::Kind::kDone, instruction.done_signals, true});
  }

 private:
  Unit unit_;
};

/// The common part of all units of the command processor: they take its commands and act upon them in the
/// next cycle, remember the cause for which no further instruction comes, and report releases and
/// completions.
///
/// A unit adds a method that is sensitive to `wake_` and begins with `gate_`.
class CommandedUnit : public sc_core::sc_module {
 protected:
  sc_core::sc_event wake_;  // declared first: ports of the units notify it

 public:
  MessageTarget<UnitCommand> command;
  CompletionSocket completion;

 protected:
  CommandedUnit(const sc_core::sc_module_name& name, const SimContext& context, Unit unit);

  /// Takes an instruction, which may begin in cycle `next`; the unit keeps a copy. Throws a SimulationError
  /// if the unit cannot execute it.
  virtual void take(const Instruction& instruction, Cycle next) = 0;
  /// What an instruction that was taken reads and writes, for the checks of programs by hand. A unit that
  /// learns it only when it begins an instruction leaves it empty and tells the checks then.
  virtual Footprint footprint(const Instruction& /*instruction*/) const { return {}; }
  /// Whether a command wakes the unit; otherwise it looks for new instructions by itself.
  virtual bool wakes_on_command() const { return true; }

  void tell(UnitMessage::Kind kind, const Semaphores& signals) { completion.tell(kind, signals); }
  void tell_complete(const Instruction& instruction) { completion.tell_complete(instruction); }
  /// Wakes the unit in phase kAct of `cycle`, unless it is woken earlier.
  void wake_at(Cycle cycle) { notify_at(wake_, context_.clock, cycle); }
  /// The same for the first cycle of `next`, if it has any.
  void wake_at(const NextClock& next) { notify_at(wake_, context_.clock, next); }

  SimContext context_;
  MethodGate gate_;
  Activity blocker_ = Activity::kHost;  ///< why the instruction after those that were sent does not come

 private:
  void receive(UnitCommand& message, sc_core::sc_time& delay);
};

/// An initiator port for a bus, and the socket to bind it to; null: somebody else binds it.
struct NamedPort {
  std::string name;
  tlm::tlm_initiator_socket<>* socket = nullptr;
};

/// A unit as its command processor sees it: the socket for its instructions, and the sockets by which its
/// modules report completions.
struct UnitSockets {
  Unit unit = Unit::kSync;
  MessageTarget<UnitCommand>* command = nullptr;
  std::vector<MessageInitiator<UnitMessage>*> completions;
  std::vector<Unit> also{};  ///< other units whose instructions it executes, in one queue with its own
};

/// A unit that is one module, with a socket `command` and a socket `completion`.
template <class Module>
UnitSockets unit_sockets(Unit unit, Module& module) {
  return {unit, &module.command, {&module.completion}};
}

}  // namespace tilebeat
