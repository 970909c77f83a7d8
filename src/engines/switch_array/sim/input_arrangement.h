#pragma once

#include "engines/switch_array/config.h"
#include "engines/switch_array/operations.h"
#include "engines/switch_array/schedule.h"
#include "engines/switch_array/sim/array_messages.h"
#include "engines/switch_array/write_queues.h"
#include "fabric/direct_access.h"
#include "fabric/transport.h"
#include "observe/statistics.h"
#include "sim/context.h"
#include "units/commanded_unit.h"

#include <optional>
#include <vector>

#include <systemc>

namespace tilebeat::switch_array {

/// The input arrangement (document 000 [0088], 260; SPEC SW-1): takes the bytes of an NHWC tile from the load
/// channel, cuts each pixel into words of P channels, and writes each word to its bank and address.
///
/// A slice of the channels of all pixels may come before the next one: all words of a pixel go to one bank,
/// and only words of several pixels keep several banks writing.
///
/// Throughput: one bus beat a cycle while the write queues of the banks have room; each bank writes one word
/// a cycle. Latency: a word is written one cycle after its beat was taken, when its queue is empty.
/// Back-pressure: `accepted` of the stream message tells when the beats of a burst were taken. Channels that
/// fill up a pixel's last word get the tile's `fill` byte.
class InputArrangement : public sc_core::sc_module {
 public:
  MessageTarget<StreamMessage> stream;
  sc_core::sc_vector<tlm_utils::simple_initiator_socket<InputArrangement>> bank_write;  ///< one a bank, R

  InputArrangement(sc_core::sc_module_name name, const SimContext& context, const SwitchArrayConfig& config,
                   int bytes_per_clock);

  CycleLedger ledger;

 private:
  void b_transport(StreamMessage& message, sc_core::sc_time& delay);
  void begin(const LoadInput& load);
  void begin_slice(int channel);
  void note_access();
  void take_beat(const std::uint8_t* bytes, int count, Cycle ready);

  // Successive words of one pixel.
  struct Words {
    int bank = 0, count = 1;
    std::uint64_t address = 0;  // address of the first word in the bank
    const std::uint8_t* from = nullptr;
  };
  void write_words();
  void withdraw(sc_dt::uint64 begin, sc_dt::uint64 end) { direct_.withdraw(begin, end); }

  SimContext context_;
  SwitchArrayConfig config_;
  ArrayShape shape_;
  int bytes_per_clock_;
  Holds* input_;  // null: nothing looks for races
  WriteQueues queues_;
  LoadInput tile_;
  std::optional<Arrangement> arrangement_;
  int row_ = 0, column_ = 0, channel_ = 0;  // position of the next byte
  int slice_begin_ = 0, slice_end_ = 0;     // channels
  int filled_ = 0;                          // bytes of its word that are there
  int bank_ = 0;                            // bank of that pixel
  std::uint64_t address_ = 0;               // address of the word in the bank
  std::uint64_t plane_bytes_ = 0;           // from a pixel's word to the next one
  // Words assembled from parts, P bytes each. A beat completes at most as many words as it has bytes, and one
  // word may be in progress.
  std::vector<std::vector<std::uint8_t>> assembling_;
  std::size_t assembly_ = 0;
  std::vector<Words> words_;  // complete words of the beat
  WordAccess write_word_;
  DirectWriter direct_;
};

}  // namespace tilebeat::switch_array
