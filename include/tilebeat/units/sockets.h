#pragma once

#include "tilebeat/isa/instruction.h"

#include <string>
#include <vector>

#include <tlm>

namespace tilebeat {

/// An initiator port of a bus, and the socket that is bound to it; null: it is bound by someone else.
struct NamedPort {
  std::string name;
  tlm::tlm_initiator_socket<>* socket = nullptr;
};

/// A unit as its command processor sees it: where it takes instructions, and the sockets by which its modules
/// tell that these are done.
struct UnitSockets {
  Unit unit = Unit::kSync;
  tlm::tlm_target_socket<>* command = nullptr;
  std::vector<tlm::tlm_initiator_socket<>*> completions;
  std::vector<Unit> also{};  ///< other units whose instructions it executes, in one queue with its own
};

/// A unit that is one module, with a socket `command` and a socket `completion`.
template <class Module>
UnitSockets unit_sockets(Unit unit, Module& module) {
  return {unit, &module.command, {&module.completion}};
}

}  // namespace tilebeat
