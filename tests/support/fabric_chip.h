#pragma once

// A memory system for tests: scripted initiators, the interconnect, a DRAM and a register target.

#include "fabric/dram_controller.h"
#include "fabric/interconnect.h"
#include "systemc_test.h"

#include <memory>
#include <string>
#include <vector>

namespace tilebeat::testing {

constexpr std::uint64_t kRegisters = std::uint64_t{1} << 40;

/// A chip of N initiators, a DRAM and a register target. `reversed` builds the initiators in the opposite
/// order.
struct Chip : private DramWatch {
  Chip(int ports, const DramConfig& dram_config, Picoseconds period, DeltaJitter* jitter = nullptr,
       bool reversed = false, Observers observers = {})
      : config(dram_config), context{ClockDomain(period), observers, jitter} {
    strict_systemc();
    context.dram = this;
    std::vector<std::string> names;
    for (int i = 0; i < ports; ++i) names.push_back("p" + std::to_string(i));
    if (!reversed) make_bus(names);
    initiators.resize(names.size());
    for (int i = 0; i < ports; ++i) {
      const auto index = static_cast<std::size_t>(reversed ? ports - 1 - i : i);
      initiators[index] =
          std::make_unique<ScriptedInitiator>(("initiator" + std::to_string(index)).c_str(), context);
    }
    if (reversed) make_bus(names);
    for (std::size_t i = 0; i < names.size(); ++i) initiators[i]->socket.bind(bus->initiator_ports[i]);
  }
  void make_bus(const std::vector<std::string>& names) {
    dram = std::make_unique<DramController>("dram", config, context);
    registers = std::make_unique<ScriptedTarget>("registers", context);
    bus = std::make_unique<Interconnect>(
        "bus", bus_config, context, names,
        std::vector<AddressRange>{{0, static_cast<std::uint64_t>(config.size_bytes), 0},
                                  {kRegisters, kRegisters + 4096, 1}});
    bus->target_ports[0].bind(dram->socket);
    bus->target_ports[1].bind(registers->socket);
  }
  void issued(const DramCommand& command) override { log.push_back(command); }
  void run_until(Cycle cycle) {
    sc_core::sc_start(to_sc_time(context.clock.at(cycle) - now_ps()));
    bus->settle(cycle);
    dram->settle(now_ps());
  }
  Cycle clocks(Picoseconds duration) const { return ceil_div(duration, config.clock_ps); }

  DramConfig config;
  InterconnectConfig bus_config;
  SimContext context;
  std::vector<DramCommand> log;
  std::unique_ptr<DramController> dram;
  std::unique_ptr<ScriptedTarget> registers;
  std::unique_ptr<Interconnect> bus;
  std::vector<std::unique_ptr<ScriptedInitiator>> initiators;
};

}  // namespace tilebeat::testing
