#pragma once

#include "config/hardware_config.h"
#include "engines/offset_table/config.h"
#include "engines/offset_table/operations.h"
#include "engines/offset_table/pipeline.h"
#include "engines/offset_table/schedule.h"
#include "engines/offset_table/tables.h"
#include "engines/rolling/sim/kernel_view.h"
#include "engines/rolling/sim/scratchpad_port.h"
#include "fabric/burst_port.h"
#include "observe/statistics.h"
#include "sim/clock.h"
#include "sim/context.h"
#include "sim/upset.h"
#include "units/commanded_unit.h"
#include "units/matrix_unit.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <systemc>

namespace tilebeat::offset_table {

/// Counters of the table cache.
struct TableStats {
  std::int64_t loads = 0;           ///< loads of tables that fit the cache as a whole
  std::int64_t reused = 0;          ///< runs that found their tables in the cache
  std::int64_t loaded_bytes = 0;    ///< bytes of all loads
  std::int64_t streamed_bytes = 0;  ///< bytes of tables that pass through the halves of the cache
  std::int64_t largest_bytes = 0;   ///< bytes of the largest tables of one map
};

/// The table cache (SPEC OT-3, OT-6): tables of addresses on the chip, and the port by which they come from
/// DRAM.
///
/// Tables that fit are loaded once and stay until others are asked for. Of larger ones the displacements of
/// groups, and the distances of taps, are held; the rest of the cache is divided between offsets and records
/// of threads, of which the smaller part is held as a whole when it takes no more than half. What does not
/// fit its share streams through the two halves of it: the next part is requested in the cycle after the one
/// that lay in its half was used for the last time.
///
/// Throughput: one burst a cycle is requested. Latency: a byte can be used in the cycle after the response.
/// Back-pressure: `max_outstanding` bursts are under way.
class TableMemory {
 public:
  BurstPort port;
  TableStats stats;

  TableMemory(const char* name, const SimContext& context, int table_bytes, const DmaConfig& dma,
              sc_core::sc_event& changed);

  /// Nothing is held any more.
  void forget() { held_.reset(); }
  /// Begins a run with the tables whose image lies at `address`: records of the threads in order, `rows` at a
  /// time, and for each such group the offsets of every slice, by segment. Requests nothing before cycle
  /// `from`. Throws SimulationError when not even a part fits.
  void begin(std::uint64_t address, const ImageLayout& image, const TableShape& shape,
             const OffsetSchedule& schedule, int rows, Cycle from);
  /// The first cycle in which the records of group `group` of threads, or the offsets of beat `beat` of slice
  /// `slice`, are in the cache; none: not known yet. Calls only move forward. `used` is the cycle after the
  /// last use of the previous records or offsets.
  std::optional<Cycle> threads_from(std::int64_t group, Cycle used);
  std::optional<Cycle> offsets_from(std::int64_t group, std::size_t slice, const Beat& beat, Cycle used);

  /// Whether offsets stay in the cache during the run.
  bool offsets_stay() const { return held_ || offsets_.held; }

  /// The image; what is not in the cache has no meaning.
  const std::uint8_t* bytes() const { return image_.data(); }

  /// Takes responses and sends a request; books `idle` while there is nothing to request.
  void step(Cycle now, Activity idle);
  void schedule(NextClock& next) const;

 private:
  struct Range {
    std::int64_t begin = 0, end = 0;  // bytes of the image
  };
  // Parts of the image that are used in sequence; a held stream has a single part.
  struct Stream {
    bool held = true;
    std::vector<Range> parts;                  // repeated until `total`
    std::int64_t total = 0;                    // parts that are used
    std::int64_t wanted = 0;                   // number of parts requested so far
    std::int64_t current = 0;                  // number of the part in use
    std::deque<std::optional<Cycle>> arrived;  // from `current` on
  };
  struct Request {
    Range range;
    std::int64_t requested = 0, received = 0;
    Cycle from = 0;
    Stream* stream = nullptr;
    std::int64_t number = 0;  // part of the stream
  };
  void hold_all(std::uint64_t address, const ImageLayout& image, Cycle from);
  void divide(const ImageLayout& image, const OffsetSchedule& schedule, int rows, std::int64_t groups);
  void want(Stream& stream, Cycle from);
  void request_range(Range range, Stream& stream, std::int64_t number, Cycle from);
  std::optional<Cycle> forward(Stream& stream, std::int64_t part, Cycle used);

  std::int64_t table_bytes_;
  int burst_bytes_;
  std::vector<std::uint8_t> image_;
  std::optional<std::uint64_t> held_;  // the tables that are in the cache as a whole
  Stream threads_, offsets_, rest_;
  std::int64_t groups_of_part_ = 1;       // groups of threads in a part
  std::int64_t segments_of_part_ = 1;     // segments of offsets in a part
  std::vector<std::int64_t> first_part_;  // by slice, of offsets
  std::vector<int> first_entry_;          // by slice
  int taps_ = 1;
  std::deque<Request> requests_;
  std::uint64_t address_ = 0;
};

using rolling::ScratchpadPort;

/// Counters of the lanes.
struct LaneStats {
  std::int64_t runs = 0, beats = 0, useful_macs = 0;
  MacLosses losses{};
  std::int64_t results = 0;                                     ///< elements stored
  std::int64_t nram_read = 0, nram_written = 0, wram_read = 0;  ///< bytes
  std::int64_t decoded = 0;                                     ///< weights (SPEC DT-1)
  /// bytes that explicit im2col and pointer tables would take for all maps
  std::int64_t im2col_bytes = 0, pointer_bytes = 0;
};

/// A run that the unit works on, from its first cycle until its last result is stored.
struct Job {
  Job(const Instruction& i, const ConvSetup& c, const OffsetSetup& s, const OffsetMap& m, const OffsetRun& r,
      Cycle now);

  const Instruction instruction;
  const ConvSetup conv;
  const OffsetSetup setup;
  const OffsetMap map;
  const OffsetRun run;
  const TableShape shape;
  const OffsetSchedule schedule;
  const ImageLayout image;
  const Cycle began;
  std::int64_t macs = 0;  ///< useful, done so far

  std::vector<OpenHold> reads, writes;  ///< open accesses to the core's memories
  rolling::KernelView kernels;
  std::vector<PostParameter> records;  ///< by kernel, those that were read
  std::optional<Cycle> released;       ///< the cycle from which on the operands have been read
  std::optional<Cycle> done;           ///< the cycle after the last result was written, or added
};

/// The offset-table engine (SPEC section 6): a gather unit with a table cache and a line cache in front of
/// `rows` x `columns` lanes of `vector` multipliers. OffsetSchedule is its order of work, Pipeline its
/// timing.
///
/// Throughput: one beat a cycle. Latency: from the tags of a beat to its lanes `hit_latency_cycles`, or a
/// line from NRAM; a sum is complete ceil(log2 vector) + 1 cycles after its last beat; a row of results is
/// written `post_latency_cycles` after it left the lanes. Back-pressure: see Pipeline, LineCache and
/// TableMemory. The lanes wait, in this order, for a set of sums (`output_drain`), for tables (`table_load`),
/// for addresses (`address`), for lines
/// (`input_load`), for kernels (`weight_load`); further cycles of a beat are `bank_conflict`. Runs follow one
/// another: the tags of the next one are looked up when all operands of the one before have been requested.
///
/// In clock granularity lines, kernels and results travel through sockets in the cycles of the pipeline, and
/// the operands of a beat are taken from the lines that lie in the cache then; in tile granularity a run is
/// advanced as far as its tables are there, and the products of a slice are one multiplication of matrices.
class OffsetUnit : public CommandedUnit {
 public:
  TableMemory tables;

  /// `nram`, `wram`: the memories of its core.
  OffsetUnit(sc_core::sc_module_name name, const SimContext& context, const OffsetConfig& config,
             const DmaConfig& dma, const MemoryConfig& nram, const MemoryConfig& wram,
             Granularity granularity);
  SC_HAS_PROCESS(OffsetUnit);

  /// Its ports at the memories of a core: NRAM has two, for lines and for results, WRAM one, for kernels.
  static constexpr int kNramPorts = 2, kWramPorts = 1;
  void bind_memories(Scratchpad& nram, Scratchpad& wram);
  void read_every_word();  ///< see MatrixUnit::read_every_word
  /// Injects an upset into a sum of a lane: `upset.bank` counts columns, row by row of the lanes,
  /// `upset.address` bytes, the lowest first.
  void upset(const Fault& upset) { upsets_.add(*upset.at, upset); }

  const Pipeline& pipeline() const { return pipeline_; }
  int most_scales = 0;  ///< that the decoder at its port at WRAM has room for; 0: it has none

  CycleLedger ledger;  ///< ledger of the lanes
  LaneStats stats;

 private:
  // A thread of the current group: the contents of its registers.
  struct Thread {
    std::int64_t base = 0;
    std::uint32_t rows = 0, columns = 0;  // masks
    int row = 0, column = 0;              // coordinates
    std::uint64_t result = 0;             // address
  };
  // Clock granularity: a beat between tags and lanes.
  struct Under {
    std::shared_ptr<Job> job;
    std::size_t slice = 0, beat = 0;         // numbers
    bool begins = false, ends = false;       // sums; `ends` the slice
    std::optional<Cycle> records_requested;  // until they are read; none: the slice has none to read
    Pipeline::BeatTimes times;
    std::vector<Operand> operands;
    std::vector<LineCache::Reference> references;
    std::vector<std::vector<std::uint8_t>> lines;  // by reference, those that were fetched
    std::vector<std::uint8_t> kernels;
    bool kernels_read = false;
    std::vector<std::uint64_t> results;  // by thread
    std::vector<Pipeline::RowTimes> rows;
  };
  struct Write {
    Cycle at = 0;
    std::uint64_t address = 0;
    std::vector<std::uint8_t> data;
  };
  // The accesses of a port for a slice, and the cycle of the first one.
  struct Accesses {
    Cycle from = 0;
    std::int64_t count = 0;
  };
  struct Signals {
    SignalId beat, group, slice, row, column, channel, hits, misses, conflicts;
    Strobe valid;
    std::vector<SignalId> maps, kernels;  // operands, by row or column, then channel
  };

  void take(const Instruction& instruction, Cycle next) override;
  void step();
  void begin_next(Cycle now);
  void begin_run(Cycle now);
  void load_image(Job& job, Cycle now);
  void count_kernels(const Slice& slice, const Beat& beat);
  static std::uint64_t weights_at(const Job& job, const Slice& slice, const Beat& beat);
  void hold_memories(Job& job, Cycle now);
  void advance(Cycle limit);
  bool begin_group();
  bool do_beat();
  void activate(std::int64_t first, int count);
  std::int32_t entry(std::int64_t offset, int bytes = kEntryBytes) const;
  void gather(const Beat& beat, int group, std::vector<Operand>& operands) const;
  std::int64_t map_size() const;
  std::optional<Cycle> offset_from(const Beat& beat);
  int kernel_accesses(const Slice& slice) const;
  void count_beat(const Slice& slice, const Pipeline::BeatTimes& times,
                  const std::vector<LineCache::Reference>& references);
  void next_slice();
  void account(const Pipeline::BeatTimes& times);
  void wait_for(Activity activity, Cycle until) {
    if (until > ledger.settled_at()) ledger.spend(activity, until - ledger.settled_at());
  }
  void end_slice(const Slice& slice);
  void end_run();
  void finish_jobs(Cycle now);
  void schedule(Cycle now);
  bool works() const { return !jobs_.empty(); }
  // The first cycle in which tables can be requested in place of those that the last beat used.
  Cycle next_request() const { return std::max(pipeline_.next_look(), now_) + 1; }

  // Clock granularity.
  void keep(const Pipeline::BeatTimes& times, bool ends);
  void move_data(Cycle now);
  void fetch(Under& under, Cycle now);
  void multiply(Under& under);
  void store_rows(const Under& under);
  std::uint64_t first_record(const Job& job, const Slice& slice) const {
    return job.run.post + to_unsigned(slice.first) * kPostParameterBytes;
  }
  void keep_records(Job& job, const Slice& slice, const std::vector<std::uint8_t>& bytes);
  void trace_beat(const Pipeline::BeatTimes& times, const Beat& beat);
  void trace_operands(const Under& under, const std::vector<std::uint8_t>& bytes);
  void declare_signals();

  // Tile granularity.
  bool do_stretch();
  void count_accesses(const Slice& slice, const Pipeline::BeatTimes& times,
                      const std::vector<LineCache::Reference>& references);
  void use_ports(const Slice& slice);
  void repeat_beat(const Slice& slice, std::size_t count);
  Stretch& stretch_of(const Slice& slice, const std::vector<Beat>& beats);
  void forget_stretches() {
    stretches_.clear();
    stretch_ = 0, widened_ = false;
  }
  void multiply_slice(const Slice& slice);
  void widen_threads(const std::vector<Beat>& beats);
  const std::vector<std::int16_t>& widened_kernels(const Slice& slice);

  std::vector<std::uint8_t> post_processed(const Job& job, const Slice& slice, const Sum* sums) const;

  OffsetConfig config_;
  Granularity granularity_;
  bool faulty_ = false;
  ScratchpadPort lines_, results_, kernels_;
  Pipeline pipeline_;
  WorkCounter work_;
  Cycle slice_began_ = 0;

  std::deque<Instruction> queue_;  // the front one is begun
  ConvSetup conv_;
  OffsetSetup setup_;
  OffsetMap map_;
  std::optional<Tables> computed_;         // tables of the map, where addresses are computed
  std::shared_ptr<Job> job_;               // job with beats that have not passed the tags
  bool reading_ = false;                   // the front instruction is a run that is not released
  rolling::KernelView last_kernels_;       // of the run before
  std::deque<std::shared_ptr<Job>> jobs_;  // not finished, oldest first
  bool open_sums_ = false;                 // a run left sums for the next one

  // Bytes of a line of NRAM: the last one may be cut.
  int line_size(std::uint64_t line) const {
    const auto whole = to_unsigned(config_.cache.line_bytes);
    return to_int(std::min(whole, nram_end_ - line * whole));
  }

  std::uint64_t nram_end_ = 0;
  Cycle now_ = 0;

  // The place in the run.
  std::int64_t group_ = 0;
  std::size_t slice_ = 0, beat_ = 0;
  bool group_begun_ = false;
  std::vector<Thread> threads_;
  std::vector<Operand> operands_;
  std::vector<LineCache::Reference> references_;
  std::vector<Pipeline::RowTimes> rows_;
  std::vector<int> row_accesses_;
  std::vector<Sum> sums_;  // by row and column of the lanes
  UpsetsToCome<Fault> upsets_;
  std::optional<Cycle> records_requested_;  // of the latest slice, where it reads any
  Cycle written_ = 0;

  // Clock granularity.
  std::deque<Under> under_way_;
  std::deque<Write> writes_;
  std::vector<std::uint8_t> places_;  // the bytes of all lines of the cache
  std::vector<std::int16_t> elements_;

  // Tile granularity.
  Accesses of_lines_, of_kernels_;                       // accesses for the slice
  std::vector<std::vector<std::int16_t>> wide_kernels_;  // by slice: widened kernels of the run
  Stretches stretches_;                                  // stretches of the group of threads, ...
  int of_group_ = 0;                                     // ... for this group of channels
  std::size_t stretch_ = 0;                              // number of the next stretch
  std::vector<std::int16_t> wide_threads_;               // operands of the group of threads
  std::vector<std::uint8_t> bytes_;
  bool widened_ = false;
  std::size_t width_ = 0;  // elements of a line of both
  std::optional<Signals> signals_;
};

}  // namespace tilebeat::offset_table
