#include "fabric/transport.h"

#include "tilebeat/error.h"

#include <fmt/format.h>

namespace tilebeat {

void refuse_message(const sc_core::sc_object& socket, const MessageType& taken, const MessageType* sent) {
  throw SimulationError(fmt::format(
      "{}: takes a {}, but was sent {}; bind the socket to a module that sends {}", socket.name(), taken.name,
      sent != nullptr ? fmt::format("a {}", sent->name) : "a memory access", taken.name));
}

}  // namespace tilebeat
