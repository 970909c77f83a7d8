#pragma once

#include "tilebeat/error.h"

#include <functional>

#include <systemc>
#include <tlm>

namespace tilebeat {

/// The protocol of messages of one type, in TLM-2.0's terms (SPEC HI-9): what travels is the message itself,
/// by blocking transport, and takes no time. Sockets of other messages, or of memory accesses, cannot be
/// bound to sockets of this protocol.
template <class Message>
struct MessageProtocol {
  // NOLINTBEGIN(readability-identifier-naming): TLM-2.0 names them
  using tlm_payload_type = Message;
  using tlm_phase_type = tlm::tlm_phase;
  // NOLINTEND(readability-identifier-naming)
};

/// Throws a SimulationError: messages travel by blocking transport.
[[noreturn]] inline void refuse_phases() {
  throw SimulationError("messages travel by blocking transport only");
}

/// The socket by which a module sends messages of one type; `N` as tlm_initiator_socket has it.
template <class Message, int N = 1, sc_core::sc_port_policy P = sc_core::SC_ONE_OR_MORE_BOUND>
class MessageInitiator : public tlm::tlm_initiator_socket<32, MessageProtocol<Message>, N, P> {
 public:
  explicit MessageInitiator(const char* name)
      : tlm::tlm_initiator_socket<32, MessageProtocol<Message>, N, P>(name) {
    this->bind(answers_);
  }
  /// Sends `message`, `delay` from now. The receiver may fill in an answer.
  void send(Message& message, sc_core::sc_time delay = sc_core::sc_time()) {
    (*this)->b_transport(message, delay);
  }
  void send(Message&& message) { send(message); }

 private:
  struct Answers final : tlm::tlm_bw_transport_if<MessageProtocol<Message>> {
    tlm::tlm_sync_enum nb_transport_bw(Message&, tlm::tlm_phase&, sc_core::sc_time&) override {
      refuse_phases();
    }
    void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
  };
  Answers answers_;
};

/// The socket by which a module receives messages of one type; `N` as tlm_target_socket has it.
template <class Message, int N = 1, sc_core::sc_port_policy P = sc_core::SC_ONE_OR_MORE_BOUND>
class MessageTarget : public tlm::tlm_target_socket<32, MessageProtocol<Message>, N, P> {
 public:
  explicit MessageTarget(const char* name)
      : tlm::tlm_target_socket<32, MessageProtocol<Message>, N, P>(name) {
    this->bind(requests_);
  }
  /// `module`, to which the socket belongs, takes the messages; with them comes the delay from now.
  template <class Module>
  void register_b_transport(Module* module, void (Module::*take)(Message&, sc_core::sc_time&)) {
    requests_.take = [=](Message& message, sc_core::sc_time& delay) { (module->*take)(message, delay); };
  }
  /// The same for one of several sockets, with its number.
  template <class Module>
  void register_b_transport(Module* module, void (Module::*take)(int, Message&, sc_core::sc_time&),
                            int number) {
    requests_.take = [=](Message& message, sc_core::sc_time& delay) {
      (module->*take)(number, message, delay);
    };
  }

 private:
  struct Requests final : tlm::tlm_fw_transport_if<MessageProtocol<Message>> {
    void b_transport(Message& message, sc_core::sc_time& delay) override { take(message, delay); }
    tlm::tlm_sync_enum nb_transport_fw(Message&, tlm::tlm_phase&, sc_core::sc_time&) override {
      refuse_phases();
    }
    bool get_direct_mem_ptr(Message&, tlm::tlm_dmi&) override { return false; }
    unsigned transport_dbg(Message&) override { return 0; }
    std::function<void(Message&, sc_core::sc_time&)> take;
  };
  Requests requests_;
};

}  // namespace tilebeat
