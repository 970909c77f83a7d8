#pragma once

#include <type_traits>

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

namespace tilebeat {

/// Tells the types of messages apart: its address, one a type. The name is for errors.
struct MessageType {
  const char* name;
};
/// The type of a message. A message is any struct with a `static constexpr const char* kMessageName`.
template <class Message>
inline constexpr MessageType kMessageType{Message::kMessageName};

/// A message on its way, with the type that it was sent as.
struct CarriedMessage : tlm::tlm_extension<CarriedMessage> {
  const MessageType* type = nullptr;
  void* message = nullptr;
  tlm::tlm_extension_base* clone() const override { return new CarriedMessage(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override {
    *this = static_cast<const CarriedMessage&>(other);
  }
};

/// Hands messages to the modules behind sockets: how modules exchange typed commands, data and completions. A
/// message is a TLM_IGNORE_COMMAND with a CarriedMessage and takes no time. A module that sends keeps one
/// sender, whose payload is set up once.
class MessageSender {
 public:
  MessageSender() {
    payload_.set_command(tlm::TLM_IGNORE_COMMAND);
    payload_.set_extension(&carried_);
  }
  // The payload would delete an extension that it still has.
  ~MessageSender() { payload_.clear_extension(&carried_); }
  MessageSender(const MessageSender&) = delete;
  MessageSender& operator=(const MessageSender&) = delete;

  /// Sends `message`, `delay` from now. The receiver may fill in an answer, so the message is not const.
  template <class Socket, class Message>
  void operator()(Socket& socket, Message&& message, sc_core::sc_time delay = sc_core::sc_time()) {
    using Type = std::remove_reference_t<Message>;
    static_assert(!std::is_const_v<Type>, "the receiver may answer in the message");
    carried_.type = &kMessageType<Type>;
    carried_.message = &message;
    payload_.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    socket->b_transport(payload_, delay);
  }

 private:
  tlm::tlm_generic_payload payload_;
  CarriedMessage carried_;
};

/// Throws a SimulationError: `socket` takes messages of type `taken`, not what it was sent, `sent` (null: no
/// message at all).
[[noreturn]] void refuse_message(const sc_core::sc_object& socket, const MessageType& taken,
                                 const MessageType* sent);

/// The message that arrived at `socket`; SimulationError if it is of another type.
template <class Message>
Message& message_of(tlm::tlm_generic_payload& payload, const sc_core::sc_object& socket) {
  const auto* carried = payload.get_extension<CarriedMessage>();
  const MessageType* sent = carried != nullptr ? carried->type : nullptr;
  if (sent != &kMessageType<Message>) refuse_message(socket, kMessageType<Message>, sent);
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  return *static_cast<Message*>(carried->message);
}

}  // namespace tilebeat
