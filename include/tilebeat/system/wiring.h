#pragma once

#include "tilebeat/fabric/interconnect.h"
#include "tilebeat/units/command_processor.h"
#include "tilebeat/units/sockets.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilebeat {

// Buses and command processors are made from what their units list, and bound by the same lists.

template <class T>
std::vector<T> joined(std::vector<T> first, const std::vector<T>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::vector<std::string> names_of(const std::vector<NamedPort>& ports);
/// Binds each port that has a socket to the bus's initiator port of the same number.
void bind_ports(Interconnect& bus, const std::vector<NamedPort>& ports);

/// A command processor of these units; `registers` is the address of its registers.
std::unique_ptr<CommandProcessor> make_control(const SimContext& context, const HardwareConfig& hardware,
                                               const std::vector<UnitSockets>& units,
                                               std::uint64_t registers);
/// Binds the units that it was made of.
void bind_units(CommandProcessor& control, const std::vector<UnitSockets>& units);

}  // namespace tilebeat
