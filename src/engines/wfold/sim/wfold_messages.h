#pragma once

#include "base/types.h"
#include "engines/wfold/operations.h"
#include "engines/wfold/schedule.h"
#include "isa/instruction.h"
#include "units/commanded_unit.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

namespace tilebeat::wfold {

/// From the master to a slave: its region holds kernels packed, in an image at byte `image`; the region's
/// port reads header and scales, from the present cycle on. The slave answers how many cycles that takes, and
/// the bytes of the image.
struct ImageLoad {
  std::uint64_t image = 0;
  Cycle cycles = 0;
  std::int64_t bytes = 0;
};

/// The place of packed kernels in every region.
struct PackedRegions {
  std::uint64_t image = 0;
  std::int64_t bytes = 0;
  /// Cycles from a port's data to the weights.
  static constexpr int kDecodeCycles = 1;
};

/// The run that slaves and writer work for, from its first cycle until its last result is stored.
struct WfoldJob {
  Instruction instruction;
  WfoldRun run;
  ConvSetup setup;
  WfoldSchedule schedule;
  std::optional<PackedRegions> packed = {};  ///< none: kernels are int8
};

/// From the master to a slave: the actions of this cycle (clock granularity). The beat uses the buffers'
/// contents from before the cycle.
struct SlaveClock {
  /// A broadcast line enters the first buffers of the slaves of group `group` of a master.
  struct Line {
    const std::uint8_t* bytes;
    int slot, group;
  };
  /// Lines that do not exist: `count` places of the first buffers from `place` on deliver the zero point.
  /// Place p of all groups is slot p div groups of the slaves of group p mod groups.
  struct Absent {
    int place = 0, count = 0;
  };
  /// The port to the slave's region delivers bytes of a kernel line, or a post-parameter record.
  struct PortRead {
    struct KernelBytes {
      WfoldBeat beat;  ///< the beat and the tile of the line
      WfoldTile tile;
      int slot;     ///< slot of the buffer for kernel lines
      Cycle cycle;  ///< number among the cycles in which the line is read
      bool line_complete;
    };
    struct Record {
      std::uint64_t address;
      int set, number;
      int kernels;  ///< of the tile
    };
    std::variant<KernelBytes, Record> content;
  };
  struct Beat {
    WfoldBeat at;
    bool selects = false;  ///< the first beat of a step: the units latch new lines of the first buffer
    int column = 0;        ///< first selected position of the map lines' buffer, counted from its slot 0
    int map_column = 0;    ///< folded column of the map that lies there
    int slot = 0;          ///< slot of the kernel line, or of the first kernel that is latched
    int kernels = 0;       ///< kernels of the slave in the tile
    int half = 0;          ///< half of the third buffer
    bool first = false;    ///< the accumulators of this kernel begin anew
  };
  /// The port reads own bytes of a folded column, or writes the column's bytes.
  struct Align {
    int kernel, row, column;
    ByteRange bytes;  ///< of the folded column
    bool writes;
  };
  /// What the slave's master does on its bus.
  struct Lines {
    Absent absent{};
    std::optional<Line> line{};
  };
  const WfoldJob& job;
  std::optional<Align> align{};
  std::optional<Beat> beat{};
  Lines lines{};
  std::optional<PortRead> port_read{};
};

/// From the master to a slave: all beats of a tile in one run (tile granularity).
struct SlaveChunk {
  const WfoldJob& job;
  WfoldBeat first;  ///< its first beat
  WfoldTile tile;
  const std::int16_t* lines;      ///< [lines of all refills for the slave][line_bytes], widened
  const std::ptrdiff_t* offsets;  ///< index of the first line of each step, refill by refill
  int steps;                      ///< steps of all refills
  int half;
  int record_set;
  int port_bytes;               ///< bytes a cycle of the region's port, to count accesses
  bool new_kernels;             ///< the kernel tile's lines and records come from the region
  Cycle port_from, port_until;  ///< cycles [from, until) are those in which its port reads them
};

/// A tile of results in the third buffers, complete from cycle `ready` on.
struct TileResults {
  std::shared_ptr<const WfoldJob> job;
  WfoldTile tile;
  int half = 0, record_set = 0;
  Cycle ready = 0;
  Cycle sent = 0;     ///< the cycle in which the writer got it
  bool last = false;  ///< whether it is the last one of its job
};

/// From the master to the writer: results, or the writer's stall cause when it has nothing left.
struct WriterMessage {
  std::variant<TileResults, WaitsFor> content;
};

/// From the writer to a slave: results of columns [first, end) and kernels [first, end) of its own, finished,
/// as int32 [column][kernel].
struct ResultRead {
  const WfoldJob& job;
  int half, record_set;
  int first_column = 0, end_column = 0;
  int first_kernel = 0, end_kernel = 0;
  std::int64_t* results = nullptr;  ///< answer: the slave writes them here
};

/// From the writer to the master: the half of the third buffers that the oldest tile used is free from cycle
/// `at` + 1 on.
struct HalfDrained {
  Cycle at = 0;
};

}  // namespace tilebeat::wfold
