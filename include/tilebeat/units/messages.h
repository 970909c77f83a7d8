#pragma once

#include "tilebeat/base/activity.h"
#include "tilebeat/base/types.h"
#include "tilebeat/isa/instruction.h"
#include "tilebeat/observe/wait_trail.h"

#include <cstdint>
#include <variant>

namespace tilebeat {

/// What the sender, and so its receiver, waits for from now on.
struct WaitsFor {
  Activity activity = Activity::kNoWork;
};

/// From the command processor to a unit, on the unit's command socket. It arrives in phase kGrant and is
/// acted upon in the next cycle.
struct UnitCommand {
  static constexpr const char* kMessageName = "UnitCommand";
  /// The next instruction, its tokens taken.
  struct Dispatch {
    const Instruction& instruction;
    Activity next_waits_for;  ///< why the instruction after it does not come yet
  };
  /// WaitsFor: why the instruction after the ones already sent does not come yet.
  std::variant<Dispatch, WaitsFor> content;
};

/// From a unit to the command processor, sent in phase kAct.
struct UnitMessage {
  static constexpr const char* kMessageName = "UnitMessage";
  enum class Kind : std::uint8_t {
    kReleased,  ///< the unit's front no longer needs the instruction or its operands and can take another one
    kDone       ///< the results are complete
  };
  Unit unit;
  Kind kind;
  Semaphores signals{};
};

/// From the start unit to a command processor, in phase kAct: run this program from its first instruction.
struct ProgramStart {
  static constexpr const char* kMessageName = "ProgramStart";
  std::uint64_t address = 0;  ///< in DRAM, a multiple of the instruction size
  std::uint64_t bytes = 0;
};

/// From the command processor to the host: the program has ended.
struct ProgramEnd {
  static constexpr const char* kMessageName = "ProgramEnd";
  std::uint64_t address = 0;  ///< of its last instruction
};

/// Instructions that a unit holds at a time: the one it works on and the next one.
constexpr int kUnitDepth = 2;

/// From a DMA channel to the module that takes its data.
struct StreamMessage {
  static constexpr const char* kMessageName = "StreamMessage";
  /// An instruction's data begins.
  struct Begin {
    const Instruction& instruction;
  };
  struct Data {
    const std::uint8_t* bytes;
    int count;
    const WaitTrail& trail;  ///< of the burst that brought it
  };
  /// When data is taken, which the sink knows in advance.
  struct Answer {
    Cycle accepted = 0;  ///< the cycle after the last bus beat was taken
    Cycle blocked = 0;   ///< cycles in which a beat had to wait for a write queue
    Cycle written = 0;   ///< the cycle after the last byte was written
  };
  std::variant<Begin, Data, WaitsFor> content;
  Answer answer{};  ///< filled in by the receiver of Data
};

}  // namespace tilebeat
