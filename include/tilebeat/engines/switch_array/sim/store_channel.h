#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/fabric/burst_port.h"
#include "tilebeat/fabric/holds.h"
#include "tilebeat/fabric/strided_block.h"
#include "tilebeat/fabric/transport.h"
#include "tilebeat/observe/ledger.h"
#include "tilebeat/units/commanded_unit.h"

#include <deque>
#include <vector>

#include <systemc>

namespace tilebeat {

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

  Holds* source_holds = nullptr;  ///< of the output buffer, if an engine uses it
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
  void step();
  void take_responses(Cycle now);
  void release(Cycle now);
  void read_source(Cycle now);
  Activity request_blocker(Cycle now) const;
  bool request(Cycle now);
  void schedule(Cycle now);

  DmaConfig config_;
  int bytes_per_clock_;

  std::deque<Instruction> commands_;  // sent and not fully read
  std::deque<Instruction> storing_;   // being read or written, oldest first
  std::deque<BurstCutter> cutter_;    // at most one: the front command's bursts
  std::uint64_t source_address_ = 0;
  std::deque<Staged> staged_;
  std::deque<bool> last_flags_;  // of the bursts under way: the instruction's last one
  int staged_bytes_ = 0, granting_bytes_ = 0;
  Cycle read_free_ = 0;             // the output buffer's port is free from here on
  Cycle store_begin_ = 0;           // of the front command
  std::int64_t stored_before_ = 0;  // bytes before it
  bool releasing_ = false;          // the front command's last beat is read at read_free_ - 1
  tlm::tlm_generic_payload payload_;
  SignalId busy_signal_ = -1;
};

}  // namespace tilebeat
