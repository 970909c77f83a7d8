#pragma once

#include "base/types.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

namespace tilebeat {

/// A blocking transport of `length` bytes at `data`, `delay` from now. Returns the delay that the target
/// annotated, in picoseconds. SystemC reports an error for an unbound socket. `payload` is scratch that the
/// caller reuses.
template <class Socket>
std::int64_t transport(Socket& socket, tlm::tlm_generic_payload& payload, tlm::tlm_command command,
                       std::uint64_t address, void* data, unsigned length,
                       sc_core::sc_time delay = sc_core::sc_time()) {
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_ptr(static_cast<unsigned char*>(data));
  payload.set_data_length(length);
  payload.set_streaming_width(length);
  payload.set_byte_enable_ptr(nullptr);
  payload.set_dmi_allowed(false);
  payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  socket->b_transport(payload, delay);
  return to_signed(delay.value());
}

/// Blocking transports of one kind and size, of which there are dozens a cycle: all attributes except address
/// and data are set once.
class WordAccess {
 public:
  WordAccess(tlm::tlm_command command, int word_bytes) {
    payload_.set_command(command);
    payload_.set_data_length(static_cast<unsigned>(word_bytes));
    payload_.set_streaming_width(static_cast<unsigned>(word_bytes));
  }
  /// Makes the access `delay` from now; the target reads or writes `data`.
  template <class Socket>
  void operator()(Socket& socket, std::uint64_t address, const std::uint8_t* data,
                  sc_core::sc_time delay = sc_core::sc_time()) {
    payload_.set_address(address);
    payload_.set_data_ptr(const_cast<std::uint8_t*>(data));
    payload_.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    socket->b_transport(payload_, delay);
  }

 private:
  tlm::tlm_generic_payload payload_;
};

class PortTrace;
class PortUse;
class TimedWrites;

/// Comes with a request for direct memory access to a bank: says what the sender keeps, and brings back what
/// the bank's memory alone does not show: the writes on their way to its row, the use of its port, and who
/// shows it in a trace. They live as long as the bank.
struct DirectAccess : tlm::tlm_extension<DirectAccess> {
  /// kNothing: the sender only reads the present contents and derives nothing from them, so that it needs no
  /// notice of writes.
  enum class Keeps : std::uint8_t { kContents, kNothing };
  Keeps keeps = Keeps::kContents;
  TimedWrites* row = nullptr;  ///< answer
  PortUse* use = nullptr;      ///< answer; also where memory access is refused
  PortTrace* trace = nullptr;  ///< answer, with kNothing; null: nobody traces the port
  std::uint32_t bank = 0;      ///< answer: number of the bank in its row
  std::uint8_t port = 0;       ///< answer: number of the port
  tlm::tlm_extension_base* clone() const override { return new DirectAccess(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override {
    *this = static_cast<const DirectAccess&>(other);
  }
};

}  // namespace tilebeat
