#pragma once

#include <cstdint>

#include <systemc>
#include <tlm>

namespace tilebeat {

/// Registers of what the host starts (a command processor, the start unit), 8 bytes each, at these offsets
/// from the base address.
enum class CommandRegister : std::uint64_t {
  kProgramAddress = 0x00,  ///< DRAM byte address of the program, or of the start unit's table
  kProgramBytes = 0x08,    ///< its length
  kStart = 0x10,           ///< any write starts
};
constexpr std::uint64_t kCommandRegisterBytes = 0x18;

/// The registers behind a target socket: they take writes of 8 bytes, one a request, and answer at once.
class CommandRegisters {
 public:
  explicit CommandRegisters(std::uint64_t base) : base_(base) {}

  /// A request at the socket; `started` becomes true when it has written kStart. Anything but a whole
  /// register written is answered with an address error.
  tlm::tlm_sync_enum write(tlm::tlm_generic_payload& payload, tlm::tlm_phase phase, bool& started);

  std::uint64_t address = 0, bytes = 0;

 private:
  std::uint64_t base_;
};

}  // namespace tilebeat
