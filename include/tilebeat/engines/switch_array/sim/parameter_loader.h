#pragma once

#include "tilebeat/engines/switch_array/config.h"
#include "tilebeat/engines/switch_array/operations.h"
#include "tilebeat/engines/switch_array/write_queues.h"
#include "tilebeat/fabric/message.h"
#include "tilebeat/fabric/transport.h"
#include "tilebeat/observe/ledger.h"
#include "tilebeat/sim/context.h"
#include "tilebeat/units/messages.h"

#include <array>
#include <vector>

#include <systemc>

namespace tilebeat {

/// Writes kernels into the C banks of the parameter buffer and biases and scales into the post-processor
/// (document 000 [0087], 202; SPEC SW-8). The stream carries the words of a kernel block, word-major, then
/// column, P bytes each, and after them 16-byte post-parameter records.
///
/// Throughput: one bus beat a cycle; each bank writes one word a cycle through a queue; the post-processor
/// takes one record a cycle. Latency: one cycle from beat to write.
class ParameterLoader : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<ParameterLoader> stream;
  sc_core::sc_vector<tlm_utils::simple_initiator_socket<ParameterLoader>> bank_write;  ///< one a column, C
  tlm_utils::simple_initiator_socket<ParameterLoader> post_write;

  ParameterLoader(sc_core::sc_module_name name, const SimContext& context, const SwitchArrayConfig& config,
                  int bytes_per_clock);

  CycleLedger ledger;

 private:
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void begin(const LoadKernels& load);
  void take_beat(const std::uint8_t* bytes, int count, Cycle ready);

  struct Write {
    int bank = 0;  // the column, or C for the post-processor
    std::uint64_t address = 0;
    const std::uint8_t* from = nullptr;
  };

  void locate(Write& write);

  SimContext context_;
  SwitchArrayConfig config_;
  int bytes_per_clock_;
  WriteQueues queues_;  // the columns' banks and, last, the post-processor
  LoadKernels load_;
  std::int64_t words_left_ = 0;  // of the kernels, over all columns, that are not complete
  int column_ = 0, record_ = 0;  // of the next word, the next record
  std::uint64_t address_ = 0;    // of the next word in its bank
  std::array<std::vector<std::uint8_t>, 2> assembling_;  // words or records that straddle beats, in turn
  std::size_t assembly_ = 0;  // the one under way; `assembled_` bytes of it are there
  std::size_t assembled_ = 0;
  std::vector<Write> writes_;
  WordAccess write_word_, write_record_;
};

}  // namespace tilebeat
