#pragma once

#include "engines/rolling/config.h"
#include "engines/rolling/sim/job.h"
#include "engines/rolling/sim/operand_image.h"
#include "engines/rolling/sim/scratchpad_port.h"
#include "fabric/burst_port.h"
#include "observe/statistics.h"
#include "sim/clock.h"
#include "sim/context.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace tilebeat::rolling {

/// Counters of a loader.
struct LoaderStats {
  std::int64_t requests = 0;  ///< to the memory
  std::int64_t bytes = 0;     ///< bytes read
  std::int64_t written = 0;   ///< bytes of kernels that were written back transposed
  std::int64_t lines = 0;     ///< lines that entered the registers, records of bias and scale included
  std::int64_t elements = 0;  ///< elements that entered the registers, padding included
  std::int64_t decoded = 0;   ///< of these, elements that were decoded (SPEC DT-1)
};

/// Reads one operand line by line, in the order of the rounds (SPEC RO-5, RO-6): an address generator, a
/// queue of requested lines, and the way into the registers. Derived loaders fetch lines over a bus
/// (BusLoader), or through a port of their own at a scratchpad (ScratchpadLoader).
///
/// Throughput: one line a cycle enters, or port_bytes elements of a longer one, padding among them. A line
/// can enter in the cycle after its last byte arrived. Back-pressure: at most line_queue lines were requested
/// and have not entered.
class OperandLoader {
 public:
  CycleLedger ledger;  ///< ledger of the way into the registers; settled when a line enters
  LoaderStats stats;

  OperandLoader(OperandName operand, const RollingConfig& config);
  OperandLoader(const OperandLoader&) = delete;
  OperandLoader& operator=(const OperandLoader&) = delete;
  OperandLoader(OperandLoader&&) = delete;
  OperandLoader& operator=(OperandLoader&&) = delete;
  virtual ~OperandLoader() = default;

  /// Declares the signals that it has below `scope`.
  virtual void declare_signals(const std::string& scope) = 0;
  /// The ledger of the requests.
  virtual CycleLedger& request_ledger() = 0;
  /// Appends the rounds of a run, which may be requested from cycle `now` on.
  virtual void begin(Job& job, Cycle now) = 0;
  /// Takes arrivals before cycle `now`.
  virtual void take(Cycle now) = 0;
  /// Makes the requests of cycle `now`; books `idle` when no round is left.
  virtual void request(Rounds& rounds, Cycle now, Activity idle) = 0;
  /// Makes all requests whose cycles are known, if the loader does not depend on others.
  virtual void request_ahead(Rounds& rounds) = 0;
  /// Schedules the next cycle in which there is work.
  virtual void schedule(NextClock& next) const = 0;

  /// A requested line.
  struct Line {
    Load load;
    Round* round = nullptr;  ///< its round, which stays until its last line has entered
    bool begins_round = false, ends_round = false;
    bool ends_operand = false;  ///< the last line of its round that is no record
    Cycle ready = 0;            ///< the first cycle in which it can enter
    Cycle leaves = 0;           ///< the cycle in which it is in place, once it has entered
    int clocks = 1;             ///< cycles that it takes to enter
    std::vector<std::uint8_t> bytes;
    std::vector<Piece> pieces;  ///< places that were filled; the rest is padding
    int missing = 0;            ///< bytes that have not arrived
  };
  /// The line that enters next, if its bytes are present or their arrival is known; else null.
  const Line* front() const {
    if (entered_ == prepared_) return nullptr;
    const Line& front = lines_[entered_slot_];
    return front.missing == 0 ? &front : nullptr;
  }
  /// The first cycle in which the way into the registers is free.
  Cycle next_entry() const { return next_entry_; }
  /// The front line enters in cycle `at`; `release` is its stall cause after it was ready.
  void enter(Cycle at, Activity release);

 protected:
  Line& line(std::int64_t number) { return nth(lines_, number % config_.line_queue); }
  const Line& line(std::int64_t number) const { return nth(lines_, number % config_.line_queue); }
  /// The round of the line that is requested next; null when there is none.
  Round* next_round(Rounds& rounds) {
    if (next_round_ == nullptr) next_round_ = rounds.at(round_);
    return next_round_;
  }
  void count_elements(const Job& job, std::int64_t elements);
  /// Prepares the next line; `find_pieces` finds its pieces in memory.
  Line& prepare(Round& round);
  static void find_pieces(const Round& round, OperandName operand, Line& line);

  const RollingConfig config_;
  const OperandName operand_;
  std::int64_t prepared_ = 0;  // lines that had their turn
  std::int64_t entered_ = 0;   // lines that entered, perhaps in a later cycle

 private:
  std::vector<Line> lines_;  // by number modulo line_queue
  std::size_t entered_slot_ = 0, prepared_slot_ = 0;
  Cycle next_entry_ = 0;
  std::int64_t round_ = 0;       // number of the round being requested
  Round* next_round_ = nullptr;  // the same, once it is known
  std::vector<Load> loads_;      // loads of that round
  std::size_t next_load_ = 0;
};

/// A loader that reads over a bus: of a board without cores, straight from DRAM (SPEC RO-5).
///
/// Throughput: one request a cycle, of up to request_bytes neighbouring bytes that several lines may share:
/// the addresses of as many lines are generated in that cycle. A line of padding alone can enter in the cycle
/// after its turn. A request is made when there is room for as many lines as the longest one can hold, or for
/// half of the queue.
class BusLoader : public OperandLoader {
 public:
  BurstPort port;

  BusLoader(OperandName operand, const SimContext& context, const RollingConfig& config, int max_outstanding,
            sc_core::sc_event& changed);

  void declare_signals(const std::string& /*scope*/) override {}  // the bus shows its ports
  CycleLedger& request_ledger() override { return port.ledger; }
  void begin(Job& /*job*/, Cycle /*now*/) override {}
  void take(Cycle now) override;
  void request(Rounds& rounds, Cycle now, Activity idle) override;
  void request_ahead(Rounds& /*rounds*/) override {}
  void schedule(NextClock& next) const override;

 private:
  struct Fragment {
    std::int64_t line = 0;
    int at = 0, bytes = 0;
  };
  struct Pending {
    Fragment fragment;
    std::uint64_t address = 0;
  };
  bool prepare_next(Rounds& rounds, Cycle now);
  std::int64_t left(Cycle now);

  int batch_;                                 // lines that the longest request can hold
  std::int64_t left_ = 0;                     // lines that have entered before the present
  std::deque<Pending> pending_;               // prepared lines that are not requested yet
  std::deque<std::vector<Fragment>> bursts_;  // under way
  std::vector<std::vector<Fragment>> spare_;
};

/// A loader with a port of its own at a scratchpad: of a core, A from NRAM, B from WRAM (SPEC RO-5, RO-6).
///
/// Throughput: one address generator that makes one access a cycle, of up to port_bytes neighbouring bytes of
/// one line; a line of padding alone takes a cycle, too. A line can enter in the cycle after its last byte
/// arrived, 1 + latency_cycles of the memory after its last access. A line is requested in the cycle in which
/// the one line_queue lines before it is in place, or later.
///
/// Nobody else uses the port, so that the cycle of every access is known as soon as the cycle is known in
/// which lines before have entered. In tile granularity the operands of a run are read at once, through
/// direct memory access; what is left for each line is its cycle.
class ScratchpadLoader : public OperandLoader {
 public:
  ScratchpadPort port;
  int most_scales = 0;  ///< that the decoder at its port has room for; 0: it has none

  ScratchpadLoader(OperandName operand, const SimContext& context, const RollingConfig& config,
                   const MemoryConfig& memory, Granularity granularity);

  /// From now on every line is read in its turn, also in tile granularity, because registers flip bits.
  void read_every_line() { reads_images_ = false; }

  /// Transposes the kernels of a run in their place, cut by cut: their words are read, wait in registers, and
  /// are written, one access a cycle. The address generator is busy from cycle `now` on.
  void transpose(const Job& job, Cycle now);
  /// Reads the header and the scales of a run's packed kernels. The address generator is busy from cycle
  /// `now` on.
  void load_image(Job& job, Cycle now);
  void declare_signals(const std::string& scope) override;
  CycleLedger& request_ledger() override { return requests_; }
  void begin(Job& job, Cycle now) override;
  void take(Cycle /*now*/) override {}
  /// Tile granularity: loads all lines of a round, whose groups are free from cycle `free` on and the slot
  /// for records that come after them from `slot_free` on; `release` is their stall cause until then. Returns
  /// the cycle in which the last of all is in place.
  Cycle load_round(Round& round, Cycle free, Cycle slot_free, Activity release);
  /// Tile granularity: the operand of a round's run, which must be the run that began last.
  const OperandImage& image_of(const Round& round);
  void request(Rounds& rounds, Cycle now, Activity idle) override;
  void request_ahead(Rounds& rounds) override;
  void schedule(NextClock& /*next*/) const override {}

 private:
  using KernelsKey = std::array<std::int64_t, 9>;
  struct Kernels {
    KernelsKey key{};
    OperandImage image;
  };
  static constexpr std::size_t kKernels = 4;  // number of runs whose kernels are kept

  static KernelsKey key_of(const Job& job);
  ImageSource source_of(const Job& job) const {
    return {job.schedule, job.lines, job.conv, job.setup, job.run, port, job.kernels, next_turn_};
  }
  void begin_kernels(const Job& job, bool unchanged);
  // Cycles from the last access of a job's line to its bytes.
  int latency_of(const Job& job) const {
    return port.latency() + (operand_ == OperandName::kB ? job.kernels.decode_cycles() : 0);
  }
  void request_until(Rounds& rounds, Cycle last);
  void pass_lines(const Round& round, LineFlow& flow, OperandImage::Sum& read);
  void pass_others(const Round& round, Load::Kind kind, LineFlow& flow, OperandImage::Sum& read);
  void settle(const LineFlow& flow, const OperandImage::Sum& read, Activity release);
  int access(Round& round, Line& made, Cycle turn);
  int access_packed(const KernelView& kernels, const Piece& piece, std::uint8_t* to, Cycle at, int delay);
  bool is_kernel(const Load& load) const {
    return operand_ == OperandName::kB && load.kind != Load::Kind::kRecord;
  }
  int read_directly(std::uint64_t address, std::uint8_t* to, int bytes, Cycle at) const;

  const SimContext context_;
  Strobe transposing_;
  Granularity granularity_;
  bool reads_images_;  // a run's operands are read at once
  CycleLedger requests_;
  Cycle next_turn_ = 0;  // the address generator is free from it on

  // Tile granularity.
  Departures departures_;
  Cycle block_from_ = 0;       // the first cycle in which the output block's lines may be requested
  std::int64_t of_block_ = 0;  // accesses for the block so far
  std::array<Kernels, kKernels> kernels_;  // kept kernels (B)
  std::size_t current_ = 0, oldest_ = 0;   // indices of the current and of the oldest of them
  std::vector<std::int16_t> elements_;     // elements of the map
  std::vector<OperandImage> maps_;  // images of A, for each group of a convolution from the run's first on
};

}  // namespace tilebeat::rolling
