#pragma once

#include "engines/wfold/config.h"
#include "engines/wfold/sim/line_reader.h"
#include "engines/wfold/sim/wfold_messages.h"
#include "engines/wfold/sim/wfold_pipeline.h"
#include "fabric/message.h"
#include "fabric/scratchpad.h"
#include "fabric/transport.h"
#include "observe/statistics.h"
#include "sim/context.h"
#include "units/commanded_unit.h"
#include "units/matrix_unit.h"

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <systemc>

namespace tilebeat::wfold {

/// Counters of the master; slaves work in lockstep, so they hold for each slave.
struct WfoldStats {
  std::int64_t runs = 0, tiles = 0, refills = 0;
  std::int64_t beats = 0;
  std::int64_t broadcast_lines = 0;  ///< lines that entered the first buffers of all slaves, or of a group
  std::int64_t kernel_lines = 0;     ///< lines that entered every second buffer
  std::int64_t useful_macs = 0;
  MacLosses losses{};
};

/// The name of a part that every master has: that of the first one without its number.
inline std::string numbered(const std::string& part, int master) {
  return master == 0 ? part : part + std::to_string(master);
}

/// The master of the W-fold engine (document 003 figure 5, 510; SPEC WF-2, WF-4, WF-8): reads map lines from
/// the first storage, broadcasts them, and steps the slaves through tiles, refills, steps and beats.
///
/// With two masters (document 003 [0060]) each has a reader, a port to the first storage and a broadcast bus
/// of its own for its half of the slaves; all slaves stay in lockstep, and results leave by one way. This
/// module is both.
///
/// Throughput: one beat, one broadcast line of each master and one read of each region's port a cycle. A line
/// that enters a first buffer, and a kernel line that is complete in a second buffer, can be used in the
/// cycle after; the place of a line that no later step reads is free in the cycle after the step's first
/// beat, that of a kernel line in the cycle after its beat. At the beginning of a kernel tile the ports read
/// its records first, one a cycle. The beats of a tile need a free half of the third buffers. Back-pressure:
/// a beat waits for results to drain (`output_drain`), for map lines (`input_load`), for kernel lines
/// (`weight_load`), in this order. A run's map and kernels are released in the cycle after its last beat; the
/// next run's first line is requested then. A run that does not end its sums is done with that: its half of
/// the third buffers stays as it is, and the next run goes on in it.
///
/// In clock granularity every beat moves data through the slaves' buffers. In tile granularity WfoldPipeline
/// works the cycles of lines, kernel lines and beats out ahead, and a slave computes a refill at a time.
class WfoldMaster : public CommandedUnit {
 public:
  std::vector<std::unique_ptr<LineReader>> readers;                ///< one a master
  sc_core::sc_vector<MessageInitiator<SlaveClock>> slave_control;  ///< one a slave
  sc_core::sc_vector<MessageInitiator<SlaveChunk>> slave_chunks;   ///< one a slave
  sc_core::sc_vector<MessageInitiator<ImageLoad>> slave_images;    ///< one a slave
  MessageInitiator<WriterMessage> to_writer;
  /// Bound where the second storage is a block of a divided memory.
  MessageInitiator<BankReservation, 1, sc_core::SC_ZERO_OR_MORE_BOUND> reservations;
  MessageTarget<HalfDrained> drained;

  /// `nram` is the address of the first storage, `region_bytes` the size of a region of the second one.
  WfoldMaster(sc_core::sc_module_name name, const SimContext& context, const WfoldConfig& config,
              int max_outstanding, std::uint64_t nram, std::int64_t region_bytes, Granularity granularity);
  SC_HAS_PROCESS(WfoldMaster);

  /// Ledgers of the slaves, the regions' ports and the broadcast bus, in both granularities.
  CycleLedger& slaves_ledger() { return pipeline_.beats; }
  CycleLedger& weights_ledger() { return pipeline_.ports; }
  CycleLedger& broadcast_ledger(int master) { return nth(pipeline_.broadcast, master); }
  WfoldStats stats;
  /// The counters of all readers.
  LineReaderStats reader_stats() const;

 private:
  static constexpr Cycle kAlwaysFree = -1, kNotYet = -2;  // other results of half_drained
  enum class State : std::uint8_t { kIdle, kDraining, kAligning, kLoadingImages, kRunning, kFinishing };
  void take(const Instruction& instruction, Cycle next) override;
  void take_drained(HalfDrained& message, sc_core::sc_time& delay);
  void step();
  void begin_next(Cycle now);
  void begin_run(Cycle now);
  void check_run(const WfoldJob& job) const;
  void check_sums(const WfoldJob& job);
  void finish_run(Cycle now);
  void idle(Activity cause, Cycle now);
  void end_step(const WfoldWalk& walk, const WfoldWalk& next, Cycle last_beat);
  void count_losses(const WfoldTile& tile);
  void hold_kernels(const WfoldJob& job, Holds::Access access, Cycle now);
  Footprint footprint_of(const WfoldJob& job) const;
  Footprint footprint_of_align(const WfoldJob& job) const;
  void check_groups(const WfoldKernelLayout& layout) const;
  void check_kernels(const WfoldJob& job) const;
  void begin_align(const WfoldAlign& kernels, Cycle now);
  void align(Cycle now);
  void begin_images(const WfoldKernels& kernels, Cycle now);
  void end_images(Cycle now);
  BytePattern pattern_of(const PackedRegions& packed) const;
  // The cycle in which the half of the run's tile `tile` was drained.
  Cycle half_drained(std::int64_t tile) const;
  int half_of(std::int64_t tile) const { return to_int((tiles_before_ + tile) % 2); }
  int record_set_of(const WfoldTile& tile) const { return (kernel_tiles_before_ + tile.kernel_tile) % 2; }
  void schedule(Cycle now, bool requested);

  // Clock granularity: one call a cycle.
  void run_clock(Cycle now);
  Activity beat_blocker(Cycle now) const;
  SlaveClock::Beat next_beat() const;
  SlaveClock::Lines send_lines(int master, std::int64_t freed, Cycle now);
  SlaveClock::Absent pass_lines(int master, std::int64_t freed, Cycle now);
  std::optional<SlaveClock::Line> enter_line(int master, std::int64_t freed, Cycle now);
  std::optional<SlaveClock::PortRead> read_weights(Cycle now);
  std::optional<SlaveClock::PortRead> read_record(Cycle now);
  std::optional<SlaveClock::PortRead> read_kernel_line(Cycle now);
  bool kernels_there(Cycle now) const;
  void commit_beat(Cycle now);
  bool lines_there(Cycle now) const;
  void tell_slaves(SlaveClock& clock, const std::vector<SlaveClock::Lines>& lines);
  void declare_signals(Trace& trace);
  void trace_clock(const SlaveClock& clock, const std::vector<SlaveClock::Lines>& lines, Cycle now);

  // Tile granularity: one call when something has arrived.
  void run_ahead();
  void find_step_lines();
  std::int64_t first_line_of(int group) const;
  void read_ahead();
  // Cycles [from, until) in which the regions' ports read for a tile, of tiles that are not computed yet.
  struct PortTime {
    std::int64_t tile = 0;
    Cycle from = 0, until = 0;
  };
  void reserve_banks(const PortAccess& access);
  void note_port_time(const PortAccess& access);
  PortTime port_time_of(std::int64_t tile);
  bool enter_lines(int master);
  std::int16_t* place_of_line(int master, std::int64_t line);
  bool do_step();
  void compute_tile(const WfoldWalk& last);

  WfoldConfig config_;
  Holds* second_storage_;  // what instructions use of WRAM; null: nothing looks for races
  std::uint64_t nram_;     // address of the first storage
  std::int64_t region_bytes_;
  Granularity granularity_;

  std::deque<Instruction> queue_;
  State state_ = State::kIdle;
  ConvSetup setup_;
  WfoldKernelLayout kernel_layout_;
  std::optional<PackedRegions> packed_;        // images that hold the kernels
  std::unique_ptr<const WfoldJob> align_job_;  // kernels that are folded in place
  SlaveClock::Align align_{};                  // the last access of kernels that are folded in place
  std::shared_ptr<const WfoldJob> job_;
  std::shared_ptr<const WfoldJob> open_sums_;  // the run before, when its sums go on
  std::int64_t most_macs_ = 0;                 // multiply-accumulates of an output in the runs that add to it
  Cycle began_ = 0, finish_at_ = 0;

  // Tiles and kernel tiles of the runs before this one: halves and record sets alternate over runs.
  std::int64_t tiles_before_ = 0;
  int kernel_tiles_before_ = 0;
  std::int64_t tiles_drained_ = 0;
  std::array<Cycle, 4> drained_at_{};  // by tile modulo 4

  WfoldPipeline pipeline_;  // in clock granularity its ledgers alone
  WorkCounter work_;
  Cycle tile_began_ = 0;
  std::int64_t macs_before_ = 0;  // useful MACs before the run

  // Clock granularity.
  WfoldWalk beat_;        // the next beat
  WfoldWalk weights_;     // the next kernel line
  int records_left_ = 0;  // records of its kernel tile that must be read first
  Cycle port_at_ = 0;     // cycles in which it was read
  struct Entered {
    std::int64_t lines = 0;  // of the run, that have entered or do not exist
    std::vector<Cycle> at;   // by place for map lines
  };
  std::vector<Entered> entered_;    // by master
  std::int64_t freed_ = 0;          // lines of the run, of each master, whose places have become free
  std::vector<Cycle> complete_at_;  // by slot of the buffer for kernel lines; -1: in flight
  std::vector<bool>
      occupied_;  // by slot of the buffer for kernel lines: complete or in flight, and not used yet
  std::vector<std::vector<std::uint8_t>> line_;  // by master: the line that is being broadcast

  // Tile granularity.
  std::deque<std::vector<std::int16_t>> tile_lines_;  // widened lines of the tiles that are not computed yet
  std::vector<std::int16_t> spare_lines_;             // storage of a computed tile, for reuse
  std::int64_t tiles_computed_ = 0;                   // of the run
  std::deque<PortTime> port_times_;
  // index of the first line of each step, over all refills of a tile
  std::vector<std::ptrdiff_t> step_lines_;
  struct Signals {
    SignalId beat = -1, weights = -1, tile = -1, refill = -1;
    // By master: a line is being broadcast, its slot and group, its bytes.
    struct Bus {
      SignalId broadcast = -1, slot = -1, group = -1, line = -1;
    };
    std::vector<Bus> buses;
  };
  Signals signals_;
};

}  // namespace tilebeat::wfold
