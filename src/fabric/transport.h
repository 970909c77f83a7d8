#pragma once

#include "base/types.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

namespace tilebeat {

/// Identifies the type of a message by its address; the name is for errors.
struct MessageType {
  const char* name;
};
/// The type of a message. A message is any struct with a `static constexpr const char* kMessageName`.
template <class Message>
inline constexpr MessageType kMessageType{Message::kMessageName};

/// A message in transport, with the type that it was sent as.
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

/// Throws a SimulationError: `socket` takes messages of type `taken`, but got one of type `sent` (null: no
/// message at all).
[[noreturn]] void refuse_message(const sc_core::sc_object& socket, const MessageType& taken,
                                 const MessageType* sent);

/// The message that arrived at `socket`. Throws SimulationError if it is of another type.
template <class Message>
Message& message_of(tlm::tlm_generic_payload& payload, const sc_core::sc_object& socket) {
  const auto* carried = payload.get_extension<CarriedMessage>();
  const MessageType* sent = carried != nullptr ? carried->type : nullptr;
  if (sent != &kMessageType<Message>) refuse_message(socket, kMessageType<Message>, sent);
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  return *static_cast<Message*>(carried->message);
}

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

/// Accesses made through direct memory access that their target must still count.
struct AccessCount : tlm::tlm_extension<AccessCount> {
  std::int64_t accesses = 0;
  tlm::tlm_extension_base* clone() const override { return new AccessCount(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override {
    *this = static_cast<const AccessCount&>(other);
  }
};

class TimedWrites;

/// Comes with a request for direct memory access to a bank: says what the sender keeps, and brings back the
/// writes on their way to the bank's row, which its memory alone does not show.
struct DirectAccess : tlm::tlm_extension<DirectAccess> {
  /// kNothing: the sender only reads the present contents and derives nothing from them, so that it needs no
  /// notice of writes.
  enum class Keeps : std::uint8_t { kContents, kNothing };
  Keeps keeps = Keeps::kContents;
  TimedWrites* row = nullptr;  ///< answer; it lives as long as the bank
  std::uint32_t bank = 0;      ///< answer: number of the bank in its row
  std::uint8_t port = 0;       ///< answer: number of the port
  tlm::tlm_extension_base* clone() const override { return new DirectAccess(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override {
    *this = static_cast<const DirectAccess&>(other);
  }
};

/// Reports `accesses` of `bytes` each through `socket`, as a TLM_IGNORE_COMMAND with an AccessCount. Takes no
/// time.
template <class Socket>
void count_accesses(Socket& socket, std::int64_t accesses, int bytes) {
  AccessCount count;
  count.accesses = accesses;
  tlm::tlm_generic_payload payload;
  payload.set_extension(&count);
  transport(socket, payload, tlm::TLM_IGNORE_COMMAND, 0, nullptr, static_cast<unsigned>(bytes));
  payload.clear_extension(&count);
}

/// The same for each of a row of banks: `words[b]` accesses of `bytes` bytes to bank b; resets `words` to 0.
template <class Banks>
void count_words(Banks& banks, std::vector<std::int64_t>& words, int bytes) {
  for (std::size_t bank = 0; bank < words.size(); ++bank) {
    const std::int64_t accesses = std::exchange(words[bank], 0);
    if (accesses > 0) count_accesses(banks[bank], accesses, bytes);
  }
}

}  // namespace tilebeat
