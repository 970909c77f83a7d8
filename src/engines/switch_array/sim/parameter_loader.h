#pragma once

#include "engines/switch_array/config.h"
#include "engines/switch_array/kernel_words.h"
#include "engines/switch_array/operations.h"
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

/// Writes kernels into the C banks of the parameter buffer and biases and scales into the post-processor
/// (document 000 [0087], 202; SPEC SW-8). The stream carries the words of kernel blocks, word-major, then
/// column, P bytes each, and after them 16-byte post-parameter records. Of kernels with groups it carries the
/// bytes inside their groups alone; the words are filled up here.
///
/// Throughput: one bus beat a cycle; each bank writes one word a cycle through a queue; the post-processor
/// takes one record a cycle. Latency: one cycle from beat to write.
class ParameterLoader : public sc_core::sc_module {
 public:
  MessageTarget<StreamMessage> stream;
  sc_core::sc_vector<tlm_utils::simple_initiator_socket<ParameterLoader>> bank_write;  ///< one a column, C
  tlm_utils::simple_initiator_socket<ParameterLoader> post_write;                      ///< records
  MessageInitiator<RecordSlot> record_slots;

  ParameterLoader(sc_core::sc_module_name name, const SimContext& context, const SwitchArrayConfig& config,
                  int bytes_per_clock);

  CycleLedger ledger;

 private:
  void b_transport(StreamMessage& message, sc_core::sc_time& delay);
  void begin(const LoadKernels& load);
  void note_access();
  void take_beat(const std::uint8_t* bytes, int count, Cycle ready);
  int store_beats(const std::uint8_t* bytes, int count, int of_clock, Cycle ready);
  void withdraw(sc_dt::uint64 begin, sc_dt::uint64 end) { direct_.withdraw(begin, end); }
  const std::uint8_t* take_whole_words(const std::uint8_t* bytes, const std::uint8_t* end);
  bool begin_item();
  void end_item();
  void write_items();

  struct Write {
    int bank = 0;  // the column, or C for the post-processor
    std::uint64_t address = 0;
    const std::uint8_t* bytes = nullptr;  // bytes in the beat; null: they are in `assembled_`
    std::size_t from = 0;                 // in `assembled_`
  };
  Write& add_write();

  SimContext context_;
  SwitchArrayConfig config_;
  int bytes_per_clock_;
  Holds *parameters_, *records_;  // null: nothing looks for races
  WriteQueues queues_;            // the columns' banks and, last, the post-processor
  LoadKernels load_;
  std::optional<switch_array::KernelWords> words_;
  std::int64_t word_ = 0;        // current word of the columns; load_.words: all are loaded
  int column_ = 0, record_ = 0;  // column of the next word, number of the next record
  // Successive words and records of the beat. The last one may be in progress: of its bytes `brought_`, which
  // the stream brings, `taken_` are there.
  std::vector<std::uint8_t> assembled_;
  std::size_t item_ = 0;  // index where it begins
  bool open_ = false;     // there is one under way
  Interval brought_;
  int taken_ = 0;
  std::vector<Write> writes_;
  WordAccess write_word_, write_record_;
  DirectWriter direct_;
};

}  // namespace tilebeat::switch_array
