#pragma once

#include "tilebeat/base/activity.h"
#include "tilebeat/engines/switch_array/operations.h"
#include "tilebeat/engines/switch_array/schedule.h"
#include "tilebeat/isa/instruction.h"
#include "tilebeat/kernels/mac.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// From the switch network to the PE array: new registers, one beat (clock granularity) or one chunk (tile
/// granularity).
struct ArrayOperands {
  static constexpr const char* kMessageName = "ArrayOperands";
  const ConvSetup* setup = nullptr;  ///< not null: registers change, nothing is computed
  const Activity* waits_for =
      nullptr;                   ///< not null: from now on the switch waits for this, or is at work again
  const ConvRun* run = nullptr;  ///< the chunk that beats belong to
  const Instruction* instruction = nullptr;  ///< whose completion the last results report
  const SwitchSchedule* schedule = nullptr;

  // One beat: a word of P bytes a lane, delivered by the switch.
  const Beat* beat = nullptr;
  const std::uint8_t* lanes = nullptr;

  // One chunk: the tile read through the switch, and the read clocks of every operation cycle.
  const TileOperands* tile = nullptr;
  const std::vector<int>* cycle_clocks = nullptr;  ///< a channel block
  Cycle first_mac = 0;  ///< the clock of the first MAC, had every beat taken one read clock

  Cycle stalled = 0;  ///< out: clocks by which the array held the switch back (`output_drain`)
};

/// From the PE array to the post-processor: new registers, the shadow registers of one operation cycle (clock
/// granularity) or all results of a chunk (tile granularity).
struct DrainMessage {
  static constexpr const char* kMessageName = "DrainMessage";
  const ConvSetup* setup = nullptr;
  const Activity* waits_for =
      nullptr;  ///< not null: what the post-processor waits for when it has drained everything
  const ConvRun* run = nullptr;
  const Instruction* instruction = nullptr;
  const SwitchSchedule* schedule = nullptr;

  const std::int32_t* sums = nullptr;  ///< [row][column] of the array, or [pixel][stride] of the chunk
  int stride = 0;                      ///< int32 from a row (pixel) to the next
  const Beat* beat = nullptr;          ///< the operation cycle's last beat; null for a whole chunk
  const Cycle* last_macs = nullptr;    ///< clocks of the last MAC of each operation cycle
  int operation_cycles = 1;            ///< how many of them
  bool chunk_complete = false;         ///< the results complete the instruction
};

}  // namespace tilebeat
