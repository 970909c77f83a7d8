#pragma once

#include "engines/switch_array/operations.h"
#include "engines/switch_array/schedule.h"
#include "fabric/message.h"
#include "isa/instruction.h"
#include "kernels/mac.h"
#include "observe/holds.h"
#include "units/commanded_unit.h"

#include <cstdint>
#include <variant>
#include <vector>

namespace tilebeat::switch_array {

/// The buffers that runs of a switch array use and channels must not touch meanwhile, as the observer of
/// races knows them.
constexpr const char* kInputBanks = "the input banks";  ///< words of a bank, one copy after the other
constexpr const char* kParameterBuffer = "the parameter buffer";  ///< words of a column
constexpr const char* kPostRecords = "the post-parameters";       ///< records
constexpr const char* kOutputBuffer = "the output buffer";        ///< bytes

/// The registers change without computation.
struct NewSetup {
  const ConvSetup& setup;
};

/// The chunk that operands and results belong to.
struct ArrayChunk {
  const ConvRun& run;
  const Instruction& instruction;  ///< the instruction that completes with the last results
  const SwitchSchedule& schedule;
};

/// From the switch network to the PE array.
struct ArrayOperands {
  /// A beat is in the switch stage (clock granularity): its words of the parameter buffer, at `word`, are
  /// read in this cycle and registered.
  struct Kernels {
    std::uint32_t word;
  };
  /// A beat in the MAC stage (clock granularity), with the kernels that were registered first.
  struct OneBeat {
    ArrayChunk chunk;
    const Beat& beat;
    const std::uint8_t* lanes;  ///< a word of P bytes a lane, delivered by the switch
  };
  /// All beats of a chunk (tile granularity).
  struct WholeChunk {
    ArrayChunk chunk;
    const TileOperands& tile;              ///< read through the switch
    const std::vector<int>& cycle_clocks;  ///< read cycles of every operation cycle, a channel block
    Cycle first_mac;  ///< the cycle of the first MAC, had every beat taken one read cycle
  };
  /// WaitsFor: the stall cause of the switch, or that it works again.
  std::variant<NewSetup, WaitsFor, Kernels, OneBeat, WholeChunk> content;
  Cycle stalled = 0;  ///< answer: cycles by which the array held the switch back (`output_drain`)
  Cycle drained = 0;  ///< answer: the cycle after the last lane of all operation cycles so far drained
};

/// From the parameter loader to the post-processor, before it writes a record of a slot.
struct RecordSlot {
  int number = 0;
  Cycle free_from = 0;  ///< answer: the first cycle in which no lane that drains uses the slot (SPEC SW-9)
};

/// From the PE array to the post-processor.
struct DrainMessage {
  /// The shadow registers of an operation cycle (clock granularity).
  struct OneCycle {
    ArrayChunk chunk;
    const Sum* sums;      ///< [row][column] of the array
    int stride;           ///< sums from a row to the next
    const Beat& beat;     ///< the operation cycle's last beat
    Cycle last_mac;       ///< its cycle
    bool chunk_complete;  ///< the results complete the instruction
  };
  /// All results of a chunk (tile granularity); they complete the instruction.
  struct WholeChunk {
    ArrayChunk chunk;
    const Sum* sums;                      ///< [pixel][stride] of the chunk
    int stride;                           ///< sums from a pixel to the next
    const std::vector<Cycle>& last_macs;  ///< cycles of the last MAC of each operation cycle
  };
  /// WaitsFor: the stall cause of the post-processor when it has drained everything.
  std::variant<NewSetup, WaitsFor, OneCycle, WholeChunk> content;
};

}  // namespace tilebeat::switch_array
