#pragma once

#include "fabric/direct_access.h"
#include "fabric/scratchpad.h"
#include "fabric/transport.h"
#include "sim/context.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <systemc>

namespace tilebeat::rolling {

/// The unit's side of a port that it has of its own at the banks of a scratchpad (SPEC RO-5, RO-6), whatever
/// the bus of the core does.
///
/// Throughput: one access a cycle, of up to `width_bytes` neighbouring bytes whose words lie in different
/// banks. Latency: the memory's `latency_cycles`; bytes that are read can be used in the cycle after that.
/// Nothing waits: the port has one initiator. Blocking transports move the words; `direct_read` and
/// `direct_write` move the same bytes through direct memory access, for tile granularity: what is written in
/// the cycles of its accesses, what is read all at once, and `use` tells the banks of the cycles (SPEC HI-9).
class ScratchpadPort {
 public:
  sc_core::sc_vector<tlm_utils::simple_initiator_socket<ScratchpadPort>> banks;

  ScratchpadPort(const std::string& name, const SimContext& context, const MemoryConfig& memory,
                 int width_bytes);
  /// Declares the signals of the port below `scope`: its accesses, and their bytes.
  void declare_signals(Trace& trace, const std::string& scope);
  /// Binds the port to port `port` of the memory's engine ports.
  void bind(Scratchpad& memory, int port);

  /// An instruction uses the bytes of the memory from cycle `now` on; see Holds::open. What is open is added
  /// to `open`, where something looks for races. Also throws SimulationError when the memory does not contain
  /// all of them: at the beginning, in both granularities, not when the first missing byte is reached.
  void hold(std::vector<OpenHold>& open, const std::string& user, Holds::Access access,
            const BytePattern& bytes, Cycle now);
  /// What instructions use of the memory; null: nothing looks for races.
  Holds* holds() { return holds_; }

  int width_bytes() const { return width_; }
  int latency() const { return memory_.latency_cycles; }
  /// Whether `bytes` bytes take one access wherever they begin.
  bool in_one_access(int bytes) const {
    return bytes <= width_ && bytes <= (memory_.banks - 1) * memory_.bank_bytes + 1;
  }
  /// Number of accesses for `bytes` bytes from `address`. Throws SimulationError when the memory does not
  /// contain them.
  int accesses(std::uint64_t address, int bytes) const;
  /// Reads or writes these bytes, with the first access `delay` cycles from now; returns the number of
  /// accesses.
  int read(std::uint64_t address, std::uint8_t* to, int bytes, int delay);
  int write(std::uint64_t address, const std::uint8_t* from, int bytes, int delay);

  /// Requests direct memory access from the banks; the first write to one of them withdraws it. Returns
  /// whether that has happened since the previous request.
  enum class Contents : std::uint8_t { kUnchanged, kWritten };
  Contents open_direct();
  /// Reads what lies there in cycle `at`, the present one or a later one.
  void direct_read(std::uint64_t address, std::uint8_t* to, int bytes, Cycle at) const;
  /// The port makes `count` accesses in cycles [first, end), from byte `address` of the memory on, which
  /// direct reads stand for. Throws SimulationError when there are not so many cycles, or the port has made
  /// an access in one of them.
  void use(Cycle first, Cycle end, std::int64_t count, std::uint64_t address) const;
  /// Hands over a write whose first access is in cycle `at`.
  void direct_write(std::uint64_t address, const std::uint8_t* from, int bytes, Cycle at) const;

 private:
  struct Word {
    std::size_t bank = 0;
    std::uint64_t address = 0;
    int bytes = 0;  // bytes from the address on that belong to the word
  };
  // Shifts in place of divisions, for sizes that are powers of two.
  struct Shifts {
    unsigned word = 0, bank = 0;
  };
  static std::optional<Shifts> shifts_of(const MemoryConfig& memory);
  std::uint64_t offset_of(std::uint64_t address, int bytes) const;
  Word word_at(std::uint64_t offset, int bytes) const;
  int access_bytes(std::uint64_t offset, int bytes) const;
  void withdraw(sc_dt::uint64 begin, sc_dt::uint64 end);
  int move(tlm::tlm_command command, std::uint64_t address, std::uint8_t* data, int bytes, int delay);
  void trace_access(tlm::tlm_command command, std::uint64_t address, const std::uint8_t* data, int bytes,
                    Picoseconds at);

  SimContext context_;
  Picoseconds period_;
  MemoryConfig memory_;
  int width_;
  std::optional<Shifts> shifts_;
  Holds* holds_ = nullptr;
  std::uint64_t base_ = 0, size_ = 0;
  std::vector<DirectCells> direct_;  // by bank; empty: never requested
  bool withdrawn_ = true;
  tlm::tlm_generic_payload payload_;
  struct Signals {
    Trace* trace = nullptr;
    Strobe request;
    SignalId write, address, data;
  };
  std::optional<Signals> signals_;
};

}  // namespace tilebeat::rolling
