#pragma once

#include "base/types.h"
#include "config/hardware_config.h"
#include "engines/switch_array/config.h"
#include "engines/switch_array/sim/kernel_decoder.h"
#include "engines/switch_array/write_queues.h"
#include "fabric/burst_port.h"
#include "fabric/strided_block.h"
#include "fabric/transport.h"
#include "observe/holds.h"
#include "observe/statistics.h"
#include "units/commanded_unit.h"
#include "units/matrix_unit.h"

#include <algorithm>
#include <deque>
#include <vector>

#include <systemc>

namespace tilebeat::switch_array {

/// Takes a stream message. Calls `begin(instruction)` when an instruction's data begins, and for its data, by
/// beats, `take_beats(bytes, count, beat, ready)`, which puts the words of the first beat of `count` bytes,
/// `beat` bytes long, into `queues`, or those of several beats that wait for nothing, and returns their
/// number. Answers when the beats are taken and written, and books the sink's cycles: busy for a beat,
/// `bank_write` while one waits for a queue, `decode` while a decoder takes bytes that bring none. In the
/// cycle after the last beat the channel tells what the sink waits for next.
template <class Begin, class TakeBeats>
void take_stream(StreamMessage& message, WriteQueues& queues, CycleLedger& ledger, Cycle now,
                 int bytes_per_clock, Begin begin, TakeBeats take_beats) {
  const auto take_data = [&](const StreamMessage::Data& data) {
    ledger.explain(data.trail, now);
    Cycle ready = std::max(now, queues.next_beat());
    ledger.settle(ready);
    const int beat = data.bytes_per_clock > 0 ? data.bytes_per_clock : bytes_per_clock;
    StreamMessage::Answer& answer = message.answer;
    // The clocks that bring scales come first, so that no weight is taken before it is decoded.
    answer.decoding = std::max<Cycle>(0, data.clocks - ceil_div(data.count, beat));
    ledger.spend(Activity::kDecode, answer.decoding);
    ready += answer.decoding;
    for (int at = 0; at < data.count;) {
      const int beats = take_beats(data.bytes + at, data.count - at, beat, ready);
      const Cycle blocked = queues.next_beat() - beats - ready;
      answer.blocked += blocked;
      if (blocked > 0 || answer.stretches.empty()) answer.stretches.push_back({blocked, 0});
      answer.stretches.back().beats += beats;
      ledger.spend(Activity::kBankWrite, blocked);
      ledger.spend(Activity::kBusy, beats);
      at += beats * beat;
      ready = queues.next_beat();
    }
    answer.accepted = ready, answer.written = queues.drained();
  };
  std::visit(Overloaded{[&](const StreamMessage::Begin& news) { begin(news.instruction); }, take_data,
                        [&](const WaitsFor& news) { ledger.enter(news.activity, now); }},
             message.content);
}

/// What loads write of the buffers that the observer of races knows (array_messages.h): words of the input
/// banks and of the parameter buffer, and records of the post-parameters.
BytePattern words_of(const LoadInput& load, const SwitchArrayConfig& array);
inline BytePattern words_of(const LoadKernels& load) {
  return {load.parameter_word, load.words};
}
inline BytePattern records_of(const LoadKernels& load, const SwitchArrayConfig& array) {
  return {std::uint64_t{load.slot} * to_unsigned(array.columns), load.post_records};
}

/// A read channel of the DMA control (document 000 [0086], 201): fetches what its instruction describes in
/// bursts from the interconnect into a landing buffer and streams it, in order, into the module behind it
/// (input arrangement or parameter buffer).
///
/// Throughput: one request a cycle, one bus beat a cycle to the sink. Latency: a burst that landed in cycle t
/// is streamed from cycle t + 1 on. Back-pressure: a burst is requested only when the landing buffer has room
/// for it and fewer than `max_outstanding` are under way; a sink that cannot take a beat holds the stream
/// (`bank_write`). The next instruction's bursts are requested while data of the previous one is still under
/// way; packed kernels are when the image that they belong to is there. Codes pass a decoder on their way: of
/// an image, a bus beat of it is one of weights; of a weight stream it takes `stream_bytes_per_clock` bytes
/// and makes up to twice as many weights. Two ledgers: `port.ledger` for requests, `data_ledger` for the
/// stream.
class ReadChannel : public CommandedUnit {
 public:
  BurstPort port;
  MessageInitiator<StreamMessage> stream;

  /// `unit` names the queue that the channel serves; `bytes_per_clock` is a bus beat.
  ReadChannel(sc_core::sc_module_name name, const SimContext& context, const DmaConfig& config,
              const SwitchArrayConfig& array, Unit unit, int bytes_per_clock);
  SC_HAS_PROCESS(ReadChannel);

  KernelDecoder decoder;
  int stream_bytes_per_clock = 0;  ///< of weight streams; 0: the channel decodes none
  CycleLedger data_ledger;
  std::int64_t bytes = 0;    ///< bytes streamed
  std::int64_t decoded = 0;  ///< weights (SPEC DT-1)

 private:
  // A burst, or an instruction without bytes, in the order in which the sink gets it.
  struct Delivery {
    int bytes = 0;
    bool first = false, last = false;
    std::optional<KernelDecoder::Range> decoded = {};  ///< what they become, codes of an image
    bool of_stream = false, ends_stream = false;       ///< they belong to a weight stream
  };
  struct Completion {
    Cycle at = 0;
    Semaphores signals{};
  };
  void take(const Instruction& instruction, Cycle next) override;
  Footprint footprint(const Instruction& instruction) const override;
  void step();
  void complete(Cycle now);
  void deliver(Cycle now);
  Cycle take_image(const Delivery& next, Cycle now);
  Cycle pass_on(const Delivery& next, Cycle now);
  void end_burst(const Delivery& next, const StreamMessage::Answer& taken, Cycle now);
  bool begin_command();
  void book_beats(const StreamMessage::Answer& taken, Cycle now);
  void request(Cycle now);
  bool next_burst();
  void account(Cycle now);
  void schedule(Cycle now);

  DmaConfig config_;
  SwitchArrayConfig array_;
  int bytes_per_clock_;
  LoadImage image_;  // of the last command that named one

  std::deque<Instruction> commands_;   // sent and not fully requested; the front one is being requested
  std::deque<Instruction> streaming_;  // being requested or streamed, oldest first
  std::deque<StridedBlock> blocks_;    // blocks of the front command that have not begun
  std::deque<BurstCutter> cutter_;     // at most one: the block being requested
  bool requesting_ = false, first_burst_ = false;
  int coded_ = 0;          // of these blocks, leading ones that hold codes or a stream
  bool is_coded_ = false;  // the block being requested holds codes
  std::deque<Delivery> order_;
  std::deque<Completion> completions_;
  int landing_used_ = 0, landing_freed_ = 0;  // bytes reserved; bytes to be freed at stream_free_
  Cycle stream_begin_ = 0;                    // first cycle of the instruction being streamed
  std::int64_t streamed_before_ = 0;          // bytes before it
  WorkCounter landing_fill_;
  Cycle stream_free_ = 0;                                  // the sink can take the next beat from here on
  std::vector<StreamMessage::Answer::Stretch> stretches_;  // storage of the latest answer, for reuse
  SignalId busy_signal_ = -1, landing_signal_ = -1;
};

/// The write channel of the DMA control: takes results from the output buffer (document 000, 204) and writes
/// them to memory as part of an NHWC tensor.
///
/// Throughput: one bus beat a cycle from the output buffer, one request a cycle. Latency: a burst is
/// requested in the cycle after its last beat was read. Back-pressure: bursts that were read wait in a
/// staging buffer of `buffer_bytes` until the interconnect grants them. The output buffer's space is released
/// when its last beat has been read; the instruction is done when the last write response has arrived. Two
/// ledgers: `port.ledger` for requests, `data_ledger` for reading the output buffer.
class StoreChannel : public CommandedUnit {
 public:
  BurstPort port;
  tlm_utils::simple_initiator_socket<StoreChannel> source;  ///< read port of the output buffer

  StoreChannel(sc_core::sc_module_name name, const SimContext& context, const DmaConfig& config,
               int bytes_per_clock);
  SC_HAS_PROCESS(StoreChannel);

  CycleLedger data_ledger;
  std::int64_t bytes = 0;  ///< bytes written

 private:
  struct Staged {
    std::uint64_t address = 0;
    std::vector<std::uint8_t> data;
    Cycle ready = 0;    ///< the cycle after its last beat was read
    bool last = false;  ///< the instruction's last burst
  };
  void take(const Instruction& instruction, Cycle next) override;
  Footprint footprint(const Instruction& instruction) const override;
  void step();
  void take_responses(Cycle now);
  void release(Cycle now);
  void read_source(Cycle now);
  Activity request_blocker(Cycle now) const;
  bool request(Cycle now);
  void schedule(Cycle now);

  DmaConfig config_;
  int bytes_per_clock_;
  Holds* source_held_;  // null: nothing looks for races

  std::deque<Instruction> commands_;  // sent and not fully read
  std::deque<Instruction> storing_;   // being read or written, oldest first
  std::deque<BurstCutter> cutter_;    // at most one: the front command's bursts
  std::uint64_t source_address_ = 0;
  std::deque<Staged> staged_;
  std::deque<bool> last_flags_;  // by burst in flight: whether it is the instruction's last one
  int staged_bytes_ = 0, granting_bytes_ = 0;
  Cycle read_free_ = 0;             // the output buffer's port is free from here on
  Cycle store_begin_ = 0;           // first cycle of the front command
  std::int64_t stored_before_ = 0;  // bytes before it
  bool releasing_ = false;          // the front command's last beat is read at read_free_ - 1
  tlm::tlm_generic_payload payload_;
  SignalId busy_signal_ = -1;
};

}  // namespace tilebeat::switch_array
