#pragma once

#include "engines/wfold/config.h"
#include "engines/wfold/sim/wfold_master.h"
#include "engines/wfold/sim/wfold_messages.h"
#include "fabric/burst_port.h"
#include "fabric/sram_bank.h"
#include "fabric/transport.h"
#include "observe/statistics.h"
#include "sim/context.h"
#include "sim/upset.h"
#include "units/commanded_unit.h"
#include "units/matrix_unit.h"
#include "units/weight_decoder.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <systemc>

namespace tilebeat::wfold {

/// A slave of the W-fold engine (document 003 figure 5, 520; SPEC WF-4, WF-8): first buffer of L1 map lines,
/// second buffer of L2 kernel lines, Ncu compute units, third buffer of two tiles of int32 results, and the
/// post-processing lane at its way out.
///
/// All slaves work in lockstep: the master tells them cycle by cycle which line enters, what their port
/// reads and which beat is done; each has its own region of the second storage. A beat multiplies Ncu
/// selected map lines with one kernel line, 2 * Ncu * M bytes, and accumulates Ncu * Ws outputs of one
/// kernel. Reading a slot that nothing has been written to is a SimulationError. In tile granularity the
/// master hands over whole tiles, and kernels come through the region's direct memory access.
class WfoldSlave : public sc_core::sc_module {
 public:
  MessageTarget<SlaveClock> control;                      ///< from the master: SlaveClock
  MessageTarget<ImageLoad> images;                        ///< from the master: ImageLoad
  MessageTarget<SlaveChunk> chunks;                       ///< from the master: SlaveChunk
  MessageTarget<ResultRead> results;                      ///< from the writer: ResultRead
  tlm_utils::simple_initiator_socket<WfoldSlave> region;  ///< the second port of its part of WRAM

  WfoldSlave(sc_core::sc_module_name name, const SimContext& context, const WfoldConfig& config, int number);

  /// Injects an upset into byte `upset.address` of the third buffer, which holds int32 sums,
  /// [half][kernel][result], the lowest byte first.
  void upset(const Fault& upset) { upsets_.add(*upset.at, upset); }

  std::int64_t results_read = 0;  ///< results that left for the writer
  BankPortStats port;             ///< accesses to its region
  int most_scales = 0;            ///< that the decoder at its region's port has room for; 0: it has none
  std::int64_t decoded = 0;       ///< weights (SPEC DT-1)

 private:
  void take_clock(SlaveClock& clock, sc_core::sc_time& delay);
  void take_chunk(SlaveChunk& chunk, sc_core::sc_time& delay);
  void read_results(ResultRead& read, sc_core::sc_time& delay);
  void take_upsets(Cycle now, const ConvSetup& setup);
  void mark_absent(const SlaveClock::Absent& absent, const WfoldSchedule& schedule);
  void enter_line(const SlaveClock::Line& line, const WfoldJob& job);
  void read_port(const SlaveClock::PortRead& read, const WfoldJob& job);
  void align(const SlaveClock::Align& step, const WfoldJob& job);
  void access(tlm::tlm_command command, std::uint64_t address, std::uint8_t* bytes, int count,
              Cycle delay = 0);
  void take_image(ImageLoad& load, sc_core::sc_time& delay);
  void read_kernels(const WfoldJob& job, std::uint64_t address, std::uint8_t* bytes, int count);
  const std::uint8_t* decoded_region(const SlaveChunk& chunk, const std::uint8_t* cells);
  void note_line_reads(const SlaveChunk& chunk);
  void select(const SlaveClock::Beat& beat, const WfoldJob& job, int lines, std::int16_t* to);
  const std::int16_t* kernel_line(int slot) const;
  void run_latched_beat(const SlaveClock::Beat& beat, const WfoldJob& job);
  void run_beat(const SlaveClock::Beat& beat, const WfoldJob& job);
  void replicate(const std::uint8_t* bytes, const KernelLine& stored, const WfoldJob& job,
                 std::int16_t* line) const;
  void load_kernels(const SlaveChunk& chunk);
  void count_reads(std::int64_t accesses, int bytes);
  template <class Pair>
  static void add_results(const Pair* pairs, int granularity, int count, Sum* sums);
  Sum* results_of(int half, int kernel) {
    return third_.data() + (to_signed(half) * kernels_ + kernel) * most_results_;
  }
  void declare_signals();
  void declare_third();
  void trace_beat(const SlaveClock::Beat& beat, const WfoldSchedule& schedule);
  void note_results(int unit, int granularity, const std::int32_t* pairs, const Sum* sums);
  void trace_results(const SlaveClock::Beat& beat, int units, int granularity);
  void trace_third(int half, int kernel);
  void trace_read(const ResultRead& read, Picoseconds at);

  SimContext context_;
  WfoldConfig config_;
  int number_;                                // of the slave
  int kernels_;                               // most kernels of a tile
  int most_results_;                          // of one kernel: at the smallest granularity, of two channels
  std::vector<std::int16_t> maps_;            // [slot][M], widened
  std::vector<std::int16_t> kernels_buffer_;  // [slot][M], replicated
  std::vector<bool> maps_filled_, kernels_filled_;
  std::vector<std::uint8_t> port_line_;     // bytes of the line that the port delivers
  std::vector<std::int16_t> latched_;       // [Ncu][M], of the first buffer
  std::vector<std::int16_t> window_;        // [M], the map line that all units share
  std::vector<Sum> third_;                  // [half][kernel][Ncu * Ws]
  UpsetsToCome<Fault> upsets_;              // of the third buffer
  std::vector<std::int32_t> pairs_;         // on the way through the adder trees: [kernel][Ncu][M / 2]
  std::vector<Sum> wide_pairs_;             // tile granularity: the same of a whole tile of int16
  std::vector<PostParameter> records_;      // [set][kernel]
  std::vector<std::int16_t> kernel_lines_;  // tile granularity: every line of the kernel tile, in beat order
  std::map<int, std::int64_t> tile_reads_;  // tile granularity: accesses of a tile's kernel lines, by bytes
  std::int64_t tile_weights_ = 0;           // tile granularity: weights of a tile's kernel lines
  std::int64_t chunk_reads_ = 0;            // tile granularity: accesses of the chunk's kernels and records
  std::optional<WeightWindow> window_of_image_;  // of packed kernels
  std::uint64_t image_ = 0;                      // where their image begins
  std::vector<std::uint8_t> decoded_;            // tile granularity: the run's kernels
  KernelLine line_;
  WordAccess read_;
  std::vector<std::uint8_t> record_bytes_;
  tlm::tlm_generic_payload payload_;
  SignalGroup beat_;                 // where a beat is; behind that the operands, where any is recorded
  std::vector<std::uint8_t> shown_;  // its values
  bool shows_operands_ = false;
  Strobe valid_;  // the compute units work on a beat
  // The compute units' outputs, the third buffer's ports, and what it holds.
  struct ThirdSignals {
    int outputs = 1;                 // of a unit, at most
    int held = 1;                    // results of a kernel in a half, at most
    bool shown = false;              // some of the outputs, sums and lines are recorded
    std::vector<SignalId> out, sum;  // [output][unit]
    std::vector<SignalId> lines;     // [half][kernel]: the results of all units
    SignalGroup added, taken;        // where a beat's results go, what is read
    Strobe write, read;
    // The outputs and sums of so many units that work, with so many outputs each.
    struct Results {
      SignalGroup out, sum;
    };
    std::map<std::pair<int, int>, Results> results;    // by outputs and units
    std::vector<std::int32_t> out_values, sum_values;  // of a beat, [output][unit]
    std::vector<std::int32_t> held_values;             // of a kernel in a half
  };
  std::optional<ThirdSignals> third_signals_;
};

/// Counters of the writer.
struct WfoldWriterStats {
  std::int64_t results = 0;   ///< elements stored
  std::int64_t requests = 0;  ///< to the first storage
  std::int64_t bytes = 0;
};

/// The writing half of the W-fold master (document 003 [0147]-[0156], figure 11; SPEC WF-7): takes the
/// results of a tile out of the slaves' third buffers, transposed from CW to WC, drops surplus columns and
/// channels, and writes them to the first storage in lines of Pco channels x Wso columns.
///
/// Throughput: M bytes of int32 results a cycle, that is one result of every slave with 16 slaves and 64
/// bytes: all channels of a column, then the next column. Latency: post_latency_cycles from a result's cycle
/// to its request. Back-pressure: results leave the third buffers while fewer than `write_queue` requests
/// wait. A half of the third buffers is free in the cycle after its last result left; the run is done when
/// the last request has been answered. Two ledgers: `port.ledger` for requests, `drain_ledger` for the third
/// buffers.
class WfoldWriter : public sc_core::sc_module {
  sc_core::sc_event wake_;  // declared first: the port notifies it

 public:
  MessageTarget<WriterMessage> tiles;
  sc_core::sc_vector<MessageInitiator<ResultRead>> results;  ///< one a slave
  BurstPort port;
  MessageInitiator<HalfDrained> drained;
  CompletionSocket completion;

  /// `nram` is the address of the first storage.
  WfoldWriter(sc_core::sc_module_name name, const SimContext& context, const WfoldConfig& config,
              int max_outstanding, std::uint64_t nram, Granularity granularity);
  SC_HAS_PROCESS(WfoldWriter);

  CycleLedger drain_ledger;
  WfoldWriterStats stats;

 private:
  // A write request of the tile at work: bytes [begin, end) of columns [column, column + columns).
  struct Request {
    std::uint64_t address = 0;
    int column = 0, columns = 1;
    int begin = 0, end = 0;   // bounds of a column's bytes
    std::int64_t slices = 0;  // slices of the tile that must have left
  };
  struct Staged {
    std::uint64_t address = 0;
    std::vector<std::uint8_t> data;
    Cycle ready = 0;
    std::shared_ptr<const WfoldJob> completes;  // the run that ends with it
  };
  void take_tile(WriterMessage& message, sc_core::sc_time& delay);
  void step();
  void hear_news(Cycle now);
  void take_responses(Cycle now);
  void begin_tile();
  void drain(Cycle now);
  void read_slices(std::int64_t first, std::int64_t end);
  void tell_drained(Cycle now);
  void declare_signals(Trace& trace);
  void trace_slice(int column, int kernel, Picoseconds at);
  void trace_request(const Staged& staged, Cycle now);
  Activity result_blocker(Cycle now) const;
  Activity request_blocker(Cycle now) const;
  bool request(Cycle now);
  void schedule(Cycle now);

  SimContext context_;
  WfoldConfig config_;
  std::uint64_t nram_;
  Granularity granularity_;
  MethodGate gate_;

  std::deque<TileResults> tiles_;  // not drained, oldest first
  bool begun_ = false;             // the front tile's requests are made
  std::vector<Request> requests_;  // requests of the front tile
  std::size_t next_request_ = 0;
  int kernels_per_slice_ = 1;  // int32 that leave a cycle, and what that makes of a column
  int column_slices_ = 0;
  std::int64_t slices_out_ = 0;
  std::vector<std::uint8_t> tile_bytes_;  // [column][channel], finished
  std::vector<std::int64_t> read_;        // scratch of one slave
  Cycle drain_free_ = 0;
  bool told_ = true;  // false: the master still has to hear that a tile is out
  std::deque<Staged> staged_;
  std::deque<std::shared_ptr<const WfoldJob>> under_way_;  // by request: the job that it completes
  Activity idle_ = Activity::kHost;                        // stall cause when nothing is left
  Activity news_ = Activity::kHost;                        // the cause that replaces it in cycle `news_at_`
  Cycle news_at_ = 0;
  // The drain: column and first channel of what leaves the third buffers. The write port: its requests.
  SignalId drain_signal_ = -1, column_signal_ = -1, channel_signal_ = -1, address_signal_ = -1,
           bytes_signal_ = -1, data_signal_ = -1;
  Strobe write_;
};

/// The W-fold engine of document 003 figure 5: the master's reading and writing halves and the slaves, joined
/// by sockets. Its outward sockets are those of its parts: the two ports to the first storage, the slaves'
/// ports to their regions of the second one, the matrix command and the two completions.
class WfoldEngine : public sc_core::sc_module {
 public:
  /// `nram` is the address of the first storage, `region_bytes` the size of a region of the second one.
  WfoldEngine(sc_core::sc_module_name name, const SimContext& context, const WfoldConfig& config,
              int max_outstanding, std::uint64_t nram, std::int64_t region_bytes, Granularity granularity,
              BuildOrder& order);

  std::unique_ptr<WfoldMaster> master;
  std::unique_ptr<WfoldWriter> writer;
  std::vector<std::unique_ptr<WfoldSlave>> slaves;  ///< sl0..sl(Ns-1)
};

}  // namespace tilebeat::wfold
