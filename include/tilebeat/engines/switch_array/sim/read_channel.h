#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/engines/switch_array/config.h"
#include "tilebeat/fabric/burst_port.h"
#include "tilebeat/fabric/message.h"
#include "tilebeat/fabric/strided_block.h"
#include "tilebeat/observe/ledger.h"
#include "tilebeat/units/commanded_unit.h"
#include "tilebeat/units/work_slice.h"

#include <deque>
#include <vector>

#include <systemc>

namespace tilebeat {

/// A read channel of the DMA control (document 000 [0086], 201): fetches what its instruction describes in
/// bursts from the interconnect into a landing buffer and streams it, in order, into the module behind it
/// (input arrangement or parameter buffer).
///
/// Throughput: one request a cycle, one bus beat a cycle to the sink. Latency: a burst that landed in cycle t
/// is streamed from cycle t + 1 on. Back-pressure: a burst is requested only when the landing buffer has room
/// for it and fewer than `max_outstanding` are under way; a sink that cannot take a beat holds the stream
/// (`bank_write`). The next instruction's bursts are requested while data of the previous one is still under
/// way. Two ledgers: `port.ledger` for requests, `data_ledger` for the stream.
class ReadChannel : public CommandedUnit {
 public:
  BurstPort port;
  tlm_utils::simple_initiator_socket<ReadChannel> stream;

  /// `unit` names the queue that the channel serves.
  ReadChannel(sc_core::sc_module_name name, const SimContext& context, const DmaConfig& config,
              const SwitchArrayConfig& array, Unit unit);
  SC_HAS_PROCESS(ReadChannel);

  CycleLedger data_ledger;
  std::int64_t bytes = 0;  ///< bytes streamed

 private:
  // A burst, or an instruction without bytes, in the order in which the sink gets it.
  struct Delivery {
    int bytes = 0;
    bool first = false, last = false;
  };
  struct Completion {
    Cycle at = 0;
    Semaphores signals{};
  };
  void take(const Instruction& instruction, Cycle next) override;
  void step();
  void complete(Cycle now);
  void deliver(Cycle now);
  void request(Cycle now);
  bool next_burst();
  void account(Cycle now);
  void schedule(Cycle now);

  DmaConfig config_;
  SwitchArrayConfig array_;

  std::deque<Instruction> commands_;   // sent and not fully requested; the front one is being requested
  std::deque<Instruction> streaming_;  // being requested or streamed, oldest first
  std::deque<StridedBlock> blocks_;    // of the front command, not begun yet
  std::deque<BurstCutter> cutter_;     // at most one: the block being requested
  bool requesting_ = false, first_burst_ = false;
  std::deque<Delivery> order_;
  std::deque<Completion> completions_;
  int landing_used_ = 0, landing_freed_ = 0;  // bytes reserved; bytes to be freed at stream_free_
  Cycle stream_begin_ = 0;                    // of the instruction being streamed
  std::int64_t streamed_before_ = 0;          // bytes before it
  WorkCounter landing_fill_;
  Cycle stream_free_ = 0;  // the sink can take the next beat from here on
  std::vector<std::uint8_t> streamed_;
  MessageSender send_;
  SignalId busy_signal_ = -1, landing_signal_ = -1;
};

}  // namespace tilebeat
