#pragma once

#include "config/hardware_config.h"
#include "fabric/burst_port.h"
#include "fabric/interconnect.h"
#include "fabric/strided_block.h"
#include "observe/statistics.h"
#include "units/commanded_unit.h"
#include "units/matrix_unit.h"
#include "units/weight_decoder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <systemc>

namespace tilebeat {

/// A queue of bytes that are pushed and popped in blocks, first in, first out.
class ByteQueue {
 public:
  std::size_t size() const { return bytes_.size() - begin_; }
  /// A pointer to the oldest byte; the others follow.
  std::uint8_t* data() { return bytes_.data() + begin_; }

  void push(const std::uint8_t* bytes, std::size_t count) {
    make_room(count);
    bytes_.insert(bytes_.end(), bytes, bytes + count);
  }
  /// Appends `byte` `count` times.
  void push(std::size_t count, std::uint8_t byte) {
    make_room(count);
    bytes_.insert(bytes_.end(), count, byte);
  }
  /// Removes the oldest `count` bytes, which must exist.
  void pop(std::size_t count) { begin_ += count; }

 private:
  // Bytes move to the front when that is cheaper than growing.
  void make_room(std::size_t count) {
    if (bytes_.size() + count <= bytes_.capacity() || begin_ < size()) return;
    bytes_.erase(bytes_.begin(), bytes_.begin() + to_signed(begin_));
    begin_ = 0;
  }

  std::vector<std::uint8_t> bytes_;
  std::size_t begin_ = 0;  // index of the oldest byte
};

/// The pieces of a copy's data stream, in order: bursts to read and stretches of the border to fill.
class CopyStream {
 public:
  CopyStream(const Copy& copy, int burst_bytes);

  struct Piece {
    bool fill = false;
    std::uint64_t address = 0;  ///< address of a burst
    int bytes = 0;
  };
  bool done() const { return !piece_; }
  const Piece& piece() const { return *piece_; }
  void advance();
  /// Bytes of the whole stream, border included.
  static std::int64_t total_bytes(const Copy& copy);
  /// The source and the destination of the bytes.
  static StridedBlock source(const Copy& copy);
  static StridedBlock destination(const Copy& copy);
  /// The destination of block `block` of a transposing copy.
  static StridedBlock turned_block(const Copy& copy, int block);

 private:
  void enter_run();

  Copy copy_;
  int burst_bytes_;
  std::int64_t row_ = 0, column_ = -1;    // position of the run, border included
  std::int64_t length_ = 0, offset_ = 0;  // bytes of the run, or of adjacent runs; position within
  std::optional<Piece> piece_;
};

/// A further side of a DMA engine: a port and the addresses behind it.
struct CopySide {
  const char* name = "";
  std::vector<AddressRange> ranges;
};

/// A DMA engine between two buses: IODMA, MVDMA, GDMA and CDMA, which differ in what they are bound to (SPEC
/// HI-2 to HI-4), and the fold engine of a W-fold core, whose ports both lead to the core's own bus. Executes
/// Copy instructions: reads bursts from the one side into a buffer of `buffer_bytes`, in order, and writes
/// bursts to the other.
///
/// Throughput: one read and one write request a cycle. A write is requested in the cycle after the last byte
/// of its data arrived. Back-pressure: a burst is read only when the buffer has room for it and fewer than
/// `max_outstanding` are under way on its side. The next instruction's reads begin while the previous one is
/// still being written. The source is released when its last byte has arrived, the instruction is done when
/// the last write's response has. A stretch of border takes the place of a read request.
///
/// The fold engine may write over its own source, as long as no run of the destination begins later than the
/// run that it comes from: every byte is read before its place is written (SPEC WF-5, document 003 [0212]).
/// With `outer_count` 0 a copy is border alone and fills its destination.
///
/// A transposing copy (Copy::transposed_columns) reads its blocks like any other copy. The buffer consists of
/// byte-wide banks, rotated by one from run to run, so that a burst of bytes from one column leaves it as
/// fast as one from a row: the first write of a block is requested in the cycle after the block's last byte
/// arrived, and no burst has bytes of two blocks. A block and a burst must fit the buffer together.
///
/// A copy that decodes (Copy::decodes) reads a weight stream like a run of bytes. The decoder takes up to
/// `decode_bytes` of its bytes a cycle, for a burst of weights at a time, after which their place in the
/// buffer is free; the decoded burst may be written in the cycle after the last of them. Two bursts of
/// weights have room behind the decoder, so that the next one is decoded while one is written. It decodes for
/// the copy that is being written alone.
///
/// A RowGather reads its indices like any data, RowGather::kHeld at a time, into registers, and when they are
/// there, the rows that they name. It reads the next ones when all these rows have been requested.
///
/// A merged engine (SPEC HI-3) stands for several: it has a port for each of their outer sides and executes
/// their copies in the order of the program, with one buffer and one request a cycle for all.
///
/// A copy is refused at dispatch when it has no bytes, when its blocks do not fit the buffer, when both
/// addresses are on the same side (fold: on different sides, or when it overwrites bytes that are still to be
/// read), or when it leaves a memory of the inner side. One that leaves a memory of the outer side is refused
/// when its bus answers.
class CopyEngine : public CommandedUnit {
 public:
  BurstPort outer, inner;
  std::vector<std::unique_ptr<BurstPort>> more_outer;  ///< in the order of the constructor's `more`

  /// Addresses in `inner_ranges` are accessed through `inner`, those of `more` through ports of their own,
  /// all others through `outer`. `decode_bytes`: 0, the engine has no decoder.
  CopyEngine(sc_core::sc_module_name name, const SimContext& context, const DmaConfig& config, Unit unit,
             std::vector<AddressRange> inner_ranges, const std::vector<CopySide>& more = {},
             int decode_bytes = 0);
  SC_HAS_PROCESS(CopyEngine);

  Unit unit() const { return unit_; }

  CycleLedger read_ledger, write_ledger;  ///< busy: a request was sent
  std::int64_t bytes = 0;                 ///< bytes written, border included
  std::int64_t filled = 0;                ///< bytes of borders
  std::int64_t decoded = 0;               ///< weights decoded

 private:
  struct Job {
    Instruction instruction;
    Copy copy;                   // what it writes, of a RowGather, too
    std::int64_t unwritten = 0;  // bytes without a write's response
    Cycle began = 0;
  };
  struct Piece {
    BurstPort* port = nullptr;  // null: fill
    int bytes = 0;
    std::uint8_t fill = 0;
    bool last = false;  // whether it is the last one of its job
    bool indices = false;
  };
  // The RowGather whose rows are being read.
  struct Gathering {
    explicit Gathering(const RowGather& gather) : op(gather) {}

    RowGather op;
    std::int64_t asked = 0, taken = 0;        // indices that were requested; rows that were
    std::vector<std::uint8_t> first, second;  // indices that have arrived, from index `begun` on
    std::int64_t begun = 0;
    std::optional<bool> reads = {};  // of which index the stream brings bytes, the second one; none: rows
  };
  void take(const Instruction& instruction, Cycle next) override;
  Footprint footprint(const Instruction& instruction) const override;
  void step();
  void take_data(Cycle now);
  void take_responses(Cycle now);
  bool read(Cycle now);
  bool write(Cycle now);
  Activity read_blocker(Cycle now);
  Activity write_blocker(Cycle now);
  bool begin_stream();
  bool gather_next();
  static void add_reads(const RowGather& gather, Footprint& made);
  void take_indices(const std::vector<std::uint8_t>& data);
  std::int64_t indices_at_a_time() const;
  bool begin_write();
  bool turn_block();
  void decode(Cycle now);
  void decode_burst(Cycle now);
  bool is_inner(std::uint64_t address) const;
  // The fold engine has both ends on the inner side: it reads through one port and writes through the other.
  BurstPort& read_port(std::uint64_t address) {
    return unit_ != Unit::kFold && is_inner(address) ? inner : outer_port(address);
  }
  BurstPort& write_port(std::uint64_t address) { return is_inner(address) ? inner : outer_port(address); }
  BurstPort& outer_port(std::uint64_t address);
  void check(const Copy& copy) const;
  void check(const RowGather& gather) const;
  void check_inside(const char* what, const StridedBlock& block) const;
  void trace_state(Cycle now);

  DmaConfig config_;
  WorkCounter buffer_fill_;
  Unit unit_;
  std::vector<AddressRange> inner_ranges_;
  std::vector<std::vector<AddressRange>> more_ranges_;  // ranges of `more_outer`

  std::deque<Job> jobs_;     // not done, oldest first
  std::size_t to_read_ = 0;  // the first job whose stream has not begun
  std::optional<CopyStream> stream_;
  std::optional<Gathering> gathering_;
  std::deque<Piece> pieces_;    // requested or to be filled, oldest first
  std::size_t to_release_ = 0;  // the job whose last byte arrives next
  ByteQueue data_;              // arrived, not written
  int reserved_ = 0;            // bytes of the buffer in use or promised
  std::size_t to_write_ = 0;
  int next_block_ = 0;  // block of the job to write, if it transposes
  // the transposing copy whose block is at the front of `data_`, not transposed yet
  std::optional<Copy> to_turn_;
  std::optional<BurstCutter> cutter_;
  // of the copy that is being written, if it decodes
  struct Decoding {
    std::int64_t bytes_left = 0, weights_left = 0;  // of the stream, that are not decoded
    std::optional<Cycle> done = {};                 // the cycle in which `fresh` is decoded
    int taken = 0;                                  // bytes of the buffer that are being decoded
    std::vector<std::uint8_t> fresh = {};
    ByteQueue weights = {};  // decoded, not written
  };
  int decode_bytes_;
  WeightDecoder decoder_;
  std::optional<Decoding> decoding_;
  std::deque<std::pair<BurstPort*, int>> writes_;  // under way, oldest first
  SignalId buffer_signal_ = -1, read_signal_ = -1, write_signal_ = -1, decode_signal_ = -1;
};

}  // namespace tilebeat
