#pragma once

#include "engines/switch_array/config.h"
#include "engines/switch_array/sim/array_messages.h"
#include "fabric/timed_writes.h"
#include "fabric/transport.h"
#include "observe/statistics.h"
#include "sim/context.h"
#include "units/commanded_unit.h"

#include <deque>
#include <vector>

#include <systemc>

namespace tilebeat::switch_array {

/// Counters of the post-processor.
struct PostStats {
  std::int64_t results = 0;      ///< results written to the output buffer
  std::int64_t lane_drains = 0;  ///< lanes drained, surplus lanes included
};

/// The registers of post-parameter records, by slot and column. A record lies there from its clock on.
class PostRecords : private TimedCells {
 public:
  explicit PostRecords(std::size_t count);
  /// Writes a record at time `at`, now or later.
  void write(std::size_t number, const PostParameter& record, Picoseconds at);
  /// Writes what is due at time `now`; `data` are then the records of that time.
  void commit(Picoseconds now) { row_.commit(now); }
  const PostParameter* data() const { return records_.data(); }

 private:
  void written(std::uint64_t /*begin*/, std::uint64_t /*end*/) override {}
  std::vector<PostParameter> records_;
  TimedWrites row_{1};
};

/// The path from the PE array's shadow registers to the output buffer (SPEC SW-8, NU-2): bias, clamp or relu,
/// requantisation.
///
/// Throughput: each row group delivers one lane of C results every drain_clocks_per_lane cycles. Latency:
/// post_latency_cycles from a lane's drain to its write. Lanes and columns without an output are dropped
/// here. No back-pressure: the array drains only into space that the program reserved.
class PostProcessor : public sc_core::sc_module {
 public:
  MessageTarget<DrainMessage> drain;
  tlm_utils::simple_target_socket<PostProcessor> parameters;  ///< writes of records
  MessageTarget<RecordSlot> slots;                            ///< asked before they are written
  sc_core::sc_vector<tlm_utils::simple_initiator_socket<PostProcessor>> output;  ///< one a row group, G
  CompletionSocket completion;

  PostProcessor(sc_core::sc_module_name name, const SimContext& context, const SwitchArrayConfig& config);
  SC_HAS_PROCESS(PostProcessor);

  CycleLedger ledger;
  PostStats stats;

 private:
  struct Completion {
    Cycle at = 0;
    Semaphores signals{};
  };
  void take_results(DrainMessage& message, sc_core::sc_time& delay);
  void take_parameters(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void tell_slot(RecordSlot& slot, sc_core::sc_time& delay);
  void take_cycle(const DrainMessage::OneCycle& results);
  void take_chunk(const DrainMessage::WholeChunk& results);
  void begin_results(const ConvRun& run, Cycle copied);
  void book_drain(Cycle last_mac);
  void hold_slot(const ConvRun& run, Cycle last_mac);
  void complete_chunk(const ArrayChunk& chunk, Cycle last_mac);
  void drain_lanes(const DrainMessage::OneCycle& results);
  void drain_chunk(const DrainMessage::WholeChunk& results);
  Cycle written_at(Cycle last_mac, int lane) const;
  void process_pixel(const ConvRun& run, const Sum* sums, std::uint8_t* to);
  std::uint64_t output_address(const ArrayChunk& chunk, int row, int column) const;
  void trace_record(std::uint64_t record, const std::uint8_t* bytes, Picoseconds at) const;
  void complete();

  SimContext context_;
  SwitchArrayConfig config_;
  ArrayShape shape_;
  MethodGate gate_;
  sc_core::sc_event wake_;
  ConvSetup setup_;
  Holds* output_held_;  // null: nothing looks for races
  PostRecords records_;
  std::vector<Cycle> slot_drained_;  // by slot: the cycle after the last lane that uses it drained
  std::vector<std::uint8_t> pixel_;  // one pixel's results as they are stored
  std::vector<std::uint8_t> lanes_;  // those of the lanes of a group
  int pixel_bytes_ = 0;
  std::deque<Completion> completions_;
  tlm::tlm_generic_payload payload_;
  Strobe record_write_;
  SignalId record_address_ = -1, record_data_ = -1;
};

}  // namespace tilebeat::switch_array
