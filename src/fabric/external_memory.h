#pragma once

#include "observe/statistics.h"
#include "sim/context.h"

#include <cstdint>
#include <deque>
#include <vector>

#include <systemc>
#include <tlm>
#include <tlm_utils/passthrough_target_socket.h>

namespace tilebeat {

/// The way to somebody else's main memory, in the place of a DRAM and its controller (SPEC AP-3).
///
/// Function: a request becomes one blocking transport of its bytes, with the address that the interconnect
/// gave it; where the memory grants direct access to all of them, they are copied instead. A response other
/// than TLM_OK_RESPONSE ends the simulation with a SimulationError.
///
/// Latency: BEGIN_RESP is sent when the transport has returned and the delay that it came back with, or the
/// latency that was granted with direct access, is over, but not before the cycle after the request.
///
/// Throughput and back-pressure: the memory's own. At most `most` requests are under way; END_REQ of the next
/// one is sent when one of them has ended. They begin in the order of their arrival.
///
/// Protocol: as DramController has it, which it stands for. transport_dbg is passed on.
class ExternalMemory : public sc_core::sc_module {
 public:
  /// The memory's socket, which need not be bound before the simulation starts.
  using Port = sc_core::sc_port_b<tlm::tlm_fw_transport_if<>>;

  tlm_utils::passthrough_target_socket<ExternalMemory> socket;
  CycleLedger ledger;  ///< busy: a request is under way
  struct Statistics {
    std::int64_t read_bytes = 0, written_bytes = 0;
    std::int64_t requests = 0, direct = 0;  ///< all, and those by direct access
  };
  Statistics stats;

  ExternalMemory(const sc_core::sc_module_name& name, const SimContext& context, Port& memory, int most);
  /// Addresses [begin, end] are no longer granted.
  void withdraw(std::uint64_t begin, std::uint64_t end);

 private:
  tlm::tlm_sync_enum receive(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                             sc_core::sc_time& delay);
  unsigned debug(tlm::tlm_generic_payload& payload) { return memory_->transport_dbg(payload); }
  void begin(tlm::tlm_generic_payload& payload);
  void serve();
  void access(tlm::tlm_generic_payload& payload);
  bool access_directly(tlm::tlm_generic_payload& payload);
  void transport(tlm::tlm_generic_payload& payload);
  void end(tlm::tlm_generic_payload& payload);

  SimContext context_;
  Port& memory_;
  int most_;
  int under_way_ = 0;
  int workers_ = 0, free_ = 0;                     // threads, and those that wait for a request
  std::deque<tlm::tlm_generic_payload*> waiting_;  // for a worker
  tlm::tlm_generic_payload* held_ = nullptr;       // the request whose END_REQ is withheld
  std::vector<tlm::tlm_dmi> granted_;
  sc_core::sc_event arrived_;
};

}  // namespace tilebeat
