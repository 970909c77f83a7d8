#pragma once

#include "fabric/port_trace.h"
#include "fabric/port_use.h"
#include "fabric/timed_writes.h"
#include "fabric/transport.h"
#include "sim/context.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <systemc>

namespace tilebeat {

/// The place of a bank in a row of banks that are written together.
struct BankPlace {
  std::shared_ptr<TimedWrites> row;
  std::size_t number = 0;
};

/// One on-chip memory bank with a fixed number of ports, each one access of any width up to its word a cycle.
///
/// Latency: an access at cycle t is done in cycle t; the reader registers the data. A write that is annotated
/// with a later time waits in the row's TimedWrites: reads of that time and later see it, from whichever
/// port, and none before (SPEC CY-1). Throughput: one access a port and cycle. There is no back-pressure:
/// ports have one initiator each, whose schedule keeps to this; a second access of a port in the same cycle,
/// or one before it, is a SimulationError (SPEC HI-9). Direct memory access is granted a region at a time and
/// withdrawn with the first write into that region through any port; of a bank with a fault for reading
/// alone. Asked for with TLM_WRITE_COMMAND it is exclusive: the one who has it writes without the bank
/// noticing, so that all other grants of the region are withdrawn, and it is, in turn, when somebody else
/// asks. A bank that is traced, or has a fault, grants no exclusive access. To who keeps nothing
/// (DirectAccess) it grants that all of it may be read for good; if the port is traced, the reader shows what
/// it reads (PortTrace). Who has direct access commits the row's TimedWrites before it reads, and hands its
/// own writes to them. Its accesses count in the
/// port's PortUse, which comes with the grant: it enforces one access a cycle, and the counters of both
/// granularities agree (SPEC CY-3, HI-7). A scratchpad counts its words itself.
class SramBank : public sc_core::sc_module, private TimedCells {
 public:
  sc_core::sc_vector<tlm::tlm_target_socket<>> ports;

  /// `regions` equal parts, each granted and withdrawn by itself for direct memory access (at most 32).
  /// Without a `place` the bank is a row of its own.
  SramBank(sc_core::sc_module_name name, const SimContext& context, std::int64_t size_bytes, int port_count,
           int regions = 1, BankPlace place = {});

  /// Traces of `port` whether it is accessed, `signal`_valid, where, `signal`_addr: the number of the
  /// `address_unit` bytes that the access begins in, and under `signal` the bytes of each access, at most
  /// `word_bytes`, which are `shown` as the others are or not.
  void trace_port(const std::string& scope, const std::string& signal, int port, int word_bytes,
                  int address_unit, Shown shown = Shown::kAlways);
  /// A stuck cell: whatever is written to byte `address` is stored with the bits of `mask` flipped (fault
  /// injection of SPEC CY-3's corruption test).
  void inject_fault(std::int64_t address, std::uint8_t mask);
  /// Flips the bits of `mask` in byte `address` once, at the beginning of cycle `at` (at least 1).
  void upset(std::int64_t address, std::uint8_t mask, Cycle at);
  const BankPortStats& stats(int port) const { return nth(ports_, port).use.stats(); }
  /// Whether `port` makes an access in the cycle that began at or before `now`.
  bool busy(int port, Picoseconds now) const { return nth(ports_, port).use.is_busy(now); }
  std::int64_t size_bytes() const { return to_signed(size_bytes_); }
  /// All bytes, as they are at the present time.
  const std::uint8_t* contents() {
    place_.row->commit(static_cast<Picoseconds>(simcontext()->time_stamp().value()));
    return cells_;
  }
  /// Writes zeros into all bytes without time passing.
  void clear();

 private:
  // A port implements TLM's forward interface itself: the array reads 32 banks a cycle, and the function
  // pointers of the convenience sockets would be a third of that.
  struct Port final : tlm::tlm_fw_transport_if<> {
    void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override {
      bank->access(*this, payload, delay);
    }
    tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                       sc_core::sc_time& delay) override;
    bool get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) override;
    unsigned transport_dbg(tlm::tlm_generic_payload& payload) override;

    explicit Port(PortUse of_port) : use(of_port) {}

    SramBank* bank = nullptr;
    PortUse use;
    std::optional<PortTrace> trace;
  };
  void access(Port& port, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void store(const Port& port, const tlm::tlm_generic_payload& payload, Picoseconds at, Picoseconds now);
  void written(std::uint64_t begin, std::uint64_t end) override;
  void falsify(std::uint64_t begin, std::uint64_t end, std::uint8_t* bytes) const override;
  void withdraw_written(std::uint64_t begin, std::uint64_t end);
  void watch();
  void withdraw_all();
  void withdraw(std::uint64_t region, const Port* but = nullptr);
  bool grant(const Port& port, tlm::tlm_command command, std::uint64_t region);
  void trace_access(Port& port, const tlm::tlm_generic_payload& payload, Picoseconds at);

  SimContext context_;
  BankPlace place_;
  Picoseconds period_ps_;
  std::uint64_t region_bytes_;
  std::uint32_t granted_regions_ = 0, exclusive_regions_ = 0;  // a bit each
  std::uint64_t size_bytes_;
  std::deque<Port> ports_;           // which cannot be moved
  std::vector<std::uint8_t> shown_;  // the bytes of a traced write
  bool has_fault_ = false;           // a stuck cell, or an upset at any time
  std::int64_t fault_address_ = -1;
  std::uint8_t fault_mask_ = 0;
};

}  // namespace tilebeat
