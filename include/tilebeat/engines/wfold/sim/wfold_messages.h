#pragma once

#include "tilebeat/base/activity.h"
#include "tilebeat/base/types.h"
#include "tilebeat/engines/wfold/operations.h"
#include "tilebeat/engines/wfold/schedule.h"
#include "tilebeat/isa/instruction.h"

#include <cstdint>
#include <memory>

namespace tilebeat {

/// The run that slaves and writer work for, from its first clock until its last result is stored.
struct WfoldJob {
  Instruction instruction;
  WfoldRun run;
  ConvSetup setup;
  WfoldSchedule schedule;
};

/// From the master to a slave: what happens in this clock (clock granularity), in the order in which it is
/// listed.
struct SlaveClock {
  static constexpr const char* kMessageName = "SlaveClock";
  const WfoldJob* job = nullptr;

  // A broadcast line enters the first buffer.
  const std::uint8_t* line = nullptr;
  int line_slot = 0;

  // The port to the slave's region delivers bytes of a kernel line, or a post-parameter record.
  int port_bytes = 0;
  std::uint64_t port_address = 0;
  int second_slot = -1;  ///< of the line, or -1: it is record `record` of set `record_set`
  int line_offset = 0;   ///< where in the line the bytes begin
  bool line_complete = false;
  int record_set = 0, record = 0;

  // A beat.
  const WfoldBeat* beat = nullptr;
  bool selects = false;  ///< the first beat of a step: the units latch new lines
  int column = 0;        ///< of the first buffer, counted in positions from its slot 0: the first selected
  int map_column = 0;    ///< folded column of the map that lies there
  int beat_slot = 0;     ///< of the second buffer
  int half = 0;          ///< of the third buffer
  bool first = false;    ///< the accumulators of this kernel begin anew
};

/// From the master to a slave: all beats of one refill (tile granularity).
struct SlaveChunk {
  static constexpr const char* kMessageName = "SlaveChunk";
  const WfoldJob* job = nullptr;
  WfoldBeat first;  ///< its first beat
  WfoldTile tile;
  const std::int16_t* lines = nullptr;  ///< [lines of the refill][line_bytes], widened, without zero point
  int half = 0;
  int record_set = 0;
  int port_bytes = 64;       ///< of the region's port, a clock: for counting accesses
  bool new_kernels = false;  ///< the kernel tile's lines and records come from the region
};

/// From the master to the writer: a tile's last beat is in clock `ready` - 1.
struct TileResults {
  static constexpr const char* kMessageName = "TileResults";
  std::shared_ptr<const WfoldJob> job;     ///< none: only `idle` is news
  Activity idle = Activity::kOutputReady;  ///< what the writer waits for when it has nothing left
  WfoldTile tile;
  int half = 0, record_set = 0;
  Cycle ready = 0;
  bool last = false;  ///< of its job
};

/// From the writer to a slave: results of columns [first, end) and kernels [first, end) of its own, finished,
/// as int32 [column][kernel].
struct ResultRead {
  static constexpr const char* kMessageName = "ResultRead";
  const WfoldJob* job = nullptr;
  int half = 0, record_set = 0;
  int first_column = 0, end_column = 0;
  int first_kernel = 0, end_kernel = 0;
  std::int32_t* results = nullptr;
};

/// From the writer to the master: the half of the third buffers that the oldest tile used is free from clock
/// `at` + 1 on.
struct HalfDrained {
  static constexpr const char* kMessageName = "HalfDrained";
  Cycle at = 0;
};

}  // namespace tilebeat
