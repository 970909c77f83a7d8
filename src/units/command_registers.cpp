#include "tilebeat/units/command_registers.h"

#include <cstring>

namespace tilebeat {

tlm::tlm_sync_enum CommandRegisters::write(tlm::tlm_generic_payload& payload, tlm::tlm_phase phase,
                                           bool& started) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
  const std::uint64_t offset = payload.get_address() - base_;
  std::uint64_t value = 0;
  if (payload.get_command() != tlm::TLM_WRITE_COMMAND || payload.get_data_length() != sizeof value ||
      offset % sizeof value != 0 || offset >= kCommandRegisterBytes) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  std::memcpy(&value, payload.get_data_ptr(), sizeof value);
  switch (static_cast<CommandRegister>(offset)) {
    case CommandRegister::kProgramAddress:
      address = value;
      break;
    case CommandRegister::kProgramBytes:
      bytes = value;
      break;
    case CommandRegister::kStart:
      started = true;
      break;
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  return tlm::TLM_COMPLETED;
}

}  // namespace tilebeat
