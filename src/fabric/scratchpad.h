#pragma once

#include "config/hardware_config.h"
#include "fabric/message.h"
#include "fabric/sram_bank.h"
#include "fabric/transport.h"
#include "observe/holds.h"
#include "sim/context.h"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <systemc>
#include <tlm>
#include <tlm_utils/passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>

namespace tilebeat {

/// Counters of a scratchpad.
struct ScratchpadStats {
  std::int64_t read_bytes = 0, write_bytes = 0;
  std::int64_t words = 0;  ///< bank accesses
  /// words over the data buses for reads and for writes
  std::int64_t read_words = 0, write_words = 0;
  std::int64_t conflict_clocks = 0;  ///< cycles in which a request's next word found its bank taken
  std::int64_t port_clocks = 0;      ///< cycles in which a request found the port's data bus taken
  std::int64_t held_requests = 0;    ///< requests that found the queue full
};

/// From a matrix engine to a divided memory: it accesses the banks in `banks`, a bit each, through their
/// region's port in cycle `cycle` or, where it takes the bytes through direct memory access, would access
/// them. Sent for rising cycles, for each before its phase kGrant.
struct BankReservation {
  Cycle cycle;
  std::uint64_t banks;
};

/// An on-chip memory: NRAM, WRAM or the SRAM of a cluster (SPEC HI-2, HI-3). It occupies `size_bytes` from
/// `base`; consecutive words of `bank_bytes` lie in consecutive banks, each a target of its own with one
/// port. With regions (the second storage of document 003 [0124]), bank i holds the i-th part of the memory
/// and has a second port, `region_port(i)`, that serves one access of up to `region_port_bytes` a cycle
/// whatever the bus does. With interleaved words a matrix engine may have `engine_ports` ports of its own at
/// every bank, `engine_port(port, bank)`, which also serve one access a cycle each.
///
/// A request of up to 4096 bytes that arrives in cycle t is taken at once, unless `request_queue` requests
/// are held: then END_REQ follows in the cycle in which one of them is answered, and that is t. From cycle t
/// + 1 + `latency_cycles` on its words are accessed in order. The port has a data bus for reads and one for
/// writes, each of which carries bus width / bank width words a cycle, those of the oldest request first. A
/// bank makes one access a cycle: a request whose next word lies in a bank that an older one uses goes on in
/// the next cycle. The response is sent in the cycle after the last word; a partly covered word takes a whole
/// access.
///
/// Two memories with equally many banks can be blocks of one (`divide`; document 003 [0062]): bank i of both
/// is one bank with one port. The requests to both blocks then come to the first one's `socket`, share its
/// queue and its data buses, and each bank makes one access a cycle for either block or for the matrix
/// engine, whose accesses through `region_port` come first. Requests use in phase kGrant the banks that it
/// has left.
///
/// Cycles without changes are skipped: the words of one read and one write that share no bank are accessed
/// together, through the banks' direct memory access, when the next event happens at the memory, and told to
/// the banks' ports as runs; this takes a number of banks that is a multiple of the words of a cycle. A
/// request without a competitor is only processed for its response. Cycles and counters are those of single
/// words. With a trace every cycle is processed.
///
/// Protocol: nb_transport base protocol as the interconnect speaks it; requests outside the memory are
/// answered with TLM_ADDRESS_ERROR_RESPONSE at once. transport_dbg reads and writes without time passing.
class Scratchpad : public sc_core::sc_module {
 public:
  /// Unbound in the second block of a divided memory.
  tlm_utils::passthrough_target_socket_optional<Scratchpad> socket;

  Scratchpad(sc_core::sc_module_name name, const SimContext& context, const MemoryConfig& config,
             std::int64_t size_bytes, std::uint64_t base, int bus_bytes, int region_port_bytes = 0,
             int engine_ports = 0);
  SC_HAS_PROCESS(Scratchpad);

  tlm::tlm_target_socket<>& region_port(int region) { return nth(banks_, region)->ports[1]; }

  /// Engine port `port` of bank `bank`.
  tlm::tlm_target_socket<>& engine_port(int port, int bank) {
    return nth(banks_, bank)->ports[bus_and_region_ports() + to_size(port)];
  }
  /// Makes `second`, a memory of regions, a block of this memory. Called once, before time passes.
  void divide(std::unique_ptr<Scratchpad> second);
  /// The second block of a divided memory.
  Scratchpad& second() const { return *second_; }
  /// The second block of a divided memory hears here of accesses of the matrix engine.
  MessageTarget<BankReservation, 1, sc_core::SC_ZERO_OR_MORE_BOUND> reservations;

  /// Accesses all words up to and including those of cycle `cycle`, before counters are read.
  void settle(Cycle cycle) { catch_up(cycle + 1); }
  /// The configuration that an engine must know to use the memory's ports.
  const MemoryConfig& config() const { return config_; }
  std::uint64_t base() const { return base_; }
  std::uint64_t size() const { return size_; }
  /// Words that each data bus of the port carries a cycle.
  int words_per_clock() const { return words_per_clock_; }

  /// Bytes held over time, by requests over the bus and by instructions of a matrix engine with ports of its
  /// own.
  HeldBytes held;

  ScratchpadStats stats;
  /// Bank `bank`, for a fault in it.
  SramBank& bank(int bank) { return *banks_.at(to_size(bank)); }

 private:
  struct Request {
    tlm::tlm_generic_payload* payload = nullptr;
    Scratchpad* block = nullptr;  ///< the block that it belongs to
    Cycle next = 0;               ///< the cycle of its next words, or of its response
    unsigned done = 0;            ///< bytes accessed
    bool complete() const { return done == payload->get_data_length(); }
    std::size_t port() const { return payload->is_read() ? 0 : 1; }  ///< index of its data bus
  };
  // The bank and address of a byte, and the bytes from it to the end of its word.
  struct Place {
    std::size_t bank = 0;
    std::uint64_t address = 0;
    std::uint64_t word_left = 0;
  };
  Place place_of(std::uint64_t offset) const;
  std::size_t bus_and_region_ports() const { return has_regions() ? 2 : 1; }
  tlm::tlm_sync_enum receive(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                             sc_core::sc_time& delay);
  unsigned debug(tlm::tlm_generic_payload& payload);
  bool inside(const tlm::tlm_generic_payload& payload) const;
  Scratchpad* block_of(const tlm::tlm_generic_payload& payload);
  void step();
  void grant_banks();
  void access_banks(Cycle now);
  std::uint64_t banks_of_engine(Cycle now);
  void respond(Cycle now);
  void take(tlm::tlm_generic_payload& payload, Cycle now);
  void admit(Cycle now);
  /// Accesses at most `room` words of the request and subtracts them from `room`.
  void access_words(Request& request, Cycle now, int& room);
  bool access_word(Request& request, Cycle now);
  void move_word(Request& request, const Place& place, Cycle now);
  void count_words(const tlm::tlm_generic_payload& payload, std::int64_t words);
  void move_words(Request& request, Cycle most);
  void use_ports(const Place& place, Cycle from, int words);
  void note_access(const Request& request, unsigned from, Cycle now);
  void schedule(Cycle from, Cycle ahead);
  void catch_up(Cycle now);
  bool may_run_ahead();
  Cycle runs_ahead_to(Cycle from);
  bool may_meet(const Request& a, const Request& b) const;
  int words_left(const Request& request) const;
  void open_cells();
  void declare_signals(Trace& trace);
  void trace_request(const tlm::tlm_generic_payload& payload, Cycle now);
  void trace_queue();
  struct Busy {
    std::array<int, 2> words;    // read and written
    std::uint64_t engine_banks;  // a bit each
    std::int64_t conflicts, ports_taken;
  };
  void trace_cycle(Cycle now, const Busy& busy);
  ScratchpadStats waits() const;
  void withdraw_cells(int, sc_dt::uint64, sc_dt::uint64) { cells_.clear(); }

  // Trace signals of the bus port and of the banks behind it.
  struct Signals {
    Strobe request;
    SignalId write = -1, address = -1, queue = -1;
    SignalId read_words = -1, write_words = -1;  // in a cycle
    SignalId banks = -1;                         // a bit each: serves the bus in this cycle
    SignalId engine_banks = -1;                  // of a divided memory: serves the engine
    SignalId bank_conflict = -1, port_taken = -1;
  };

  SimContext context_;
  std::unique_ptr<Signals> signals_;  // null: no trace
  MemoryConfig config_;
  std::uint64_t base_, size_;
  std::unique_ptr<Scratchpad> second_;           // null: this memory is not divided, or is a second block
  bool divided_ = false;                         // is a block
  static constexpr std::size_t kMostBanks = 64;  // of a divided memory: a bit each
  void reserve(BankReservation& reservation, sc_core::sc_time&) { reserved_.push_back(reservation); }
  std::deque<BankReservation> reserved_;  // of the second block: accesses of the engine to come
  int words_per_clock_;
  int region_port_bytes_;
  bool has_regions() const { return region_port_bytes_ > 0; }
  bool has_engine_ports_;
  // What a matrix engine uses through ports of its own, which accesses over the bus must not touch; null:
  // there is no engine, or nothing looks for races.
  Holds* holds_ = nullptr;
  // The storage of each bank; null where it grants no exclusive direct memory access.
  std::vector<std::uint8_t*> cells_;
  std::vector<PortUse*> uses_;  // of the banks' ports to the bus
  bool all_cells_ = false;      // none of them is null
  std::vector<std::unique_ptr<SramBank>> banks_;
  sc_core::sc_vector<tlm_utils::simple_initiator_socket_tagged<Scratchpad>> bank_ports_;
  std::deque<Request> requests_;              // oldest first
  tlm::tlm_generic_payload* held_ = nullptr;  // END_REQ is withheld
  std::vector<std::uint8_t> accessed_;        // by bank: in this cycle
  sc_core::sc_event wake_, grant_;
  MethodGate gate_, grant_gate_;
  tlm::tlm_generic_payload payload_;
};

}  // namespace tilebeat
