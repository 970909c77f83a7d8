#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/fabric/sram_bank.h"
#include "tilebeat/fabric/transport.h"
#include "tilebeat/sim/context.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <systemc>
#include <tlm>
#include <tlm_utils/passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>

namespace tilebeat {

/// What a scratchpad counts.
struct ScratchpadStats {
  std::int64_t read_bytes = 0, write_bytes = 0;
  std::int64_t words = 0;            ///< bank accesses
  std::int64_t conflict_clocks = 0;  ///< clocks in which a request's next word found its bank taken
};

/// An on-chip memory: NRAM, WRAM or the SRAM of a cluster (SPEC HI-2, HI-3). It occupies `size_bytes` from
/// `base`; consecutive words of `bank_bytes` lie in consecutive banks, each a target of its own with one
/// port.
///
/// A request of up to 4096 bytes that arrives in clock t is taken at once. From clock t + 1 +
/// `latency_cycles` on, bus width / bank width of its words are accessed a clock, in order. In each clock
/// requests are served in the order in which they arrived, and a bank makes one access: a request whose next
/// word lies in a bank that an older one uses goes on in the next clock. Requests to different banks so
/// proceed at the same time, and the banks together deliver up to banks x bank_bytes a clock. The response is
/// sent in the clock after the last word; a partly covered word takes a whole access.
///
/// Protocol: nb_transport base protocol as the interconnect speaks it; requests outside the memory are
/// answered with TLM_ADDRESS_ERROR_RESPONSE at once. transport_dbg reads and writes without time passing.
class Scratchpad : public sc_core::sc_module {
 public:
  tlm_utils::passthrough_target_socket<Scratchpad> socket;

  Scratchpad(sc_core::sc_module_name name, const SimContext& context, const MemoryConfig& config,
             std::int64_t size_bytes, std::uint64_t base, int bus_bytes);
  SC_HAS_PROCESS(Scratchpad);

  ScratchpadStats stats;
  /// See SramBank::inject_fault; `address` counts from the memory's first byte.
  void inject_fault(std::int64_t address, std::uint8_t mask);

 private:
  struct Request {
    tlm::tlm_generic_payload* payload = nullptr;
    Cycle next = 0;     ///< the clock of its next words, or of its response
    unsigned done = 0;  ///< bytes accessed
  };
  tlm::tlm_sync_enum receive(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                             sc_core::sc_time& delay);
  unsigned debug(tlm::tlm_generic_payload& payload);
  bool inside(const tlm::tlm_generic_payload& payload) const;
  void step();
  void respond(Cycle now);
  void access_words(Request& request, Cycle now);
  bool access_word(Request& request);
  void schedule(Cycle now);

  SimContext context_;
  MemoryConfig config_;
  std::uint64_t base_, size_;
  int words_per_clock_;
  std::vector<std::unique_ptr<SramBank>> banks_;
  sc_core::sc_vector<tlm_utils::simple_initiator_socket<Scratchpad>> bank_ports_;
  std::deque<Request> requests_;        // oldest first
  std::vector<std::uint8_t> accessed_;  // by bank: in this clock
  sc_core::sc_event wake_;
  MethodGate gate_;
  tlm::tlm_generic_payload payload_;
};

}  // namespace tilebeat
