#include "tilebeat/system/wiring.h"

namespace tilebeat {

std::vector<std::string> names_of(const std::vector<NamedPort>& ports) {
  std::vector<std::string> names;
  for (const NamedPort& port : ports) names.push_back(port.name);
  return names;
}

void bind_ports(Interconnect& bus, const std::vector<NamedPort>& ports) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].socket != nullptr) ports[i].socket->bind(bus.initiator_ports[i]);
  }
}

std::unique_ptr<CommandProcessor> make_control(const SimContext& context, const HardwareConfig& hardware,
                                               const std::vector<UnitSockets>& units,
                                               std::uint64_t registers) {
  std::vector<std::vector<Unit>> present;
  std::size_t completions = 0;
  for (const UnitSockets& unit : units) {
    present.push_back(joined(std::vector<Unit>{unit.unit}, unit.also));
    completions += unit.completions.size();
  }
  return std::make_unique<CommandProcessor>("control", context, hardware.host, hardware.dma, present,
                                            static_cast<int>(completions), registers);
}

void bind_units(CommandProcessor& control, const std::vector<UnitSockets>& units) {
  std::size_t completion = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    control.units[i].bind(*units[i].command);
    for (tlm::tlm_initiator_socket<>* socket : units[i].completions)
      socket->bind(control.completions[completion++]);
  }
}

}  // namespace tilebeat
