#pragma once

// The rolling-register unit with ports of its own at NRAM and WRAM, as in a core.

#include "fabric/scratchpad.h"
#include "rolling_bench.h"

#include <map>
#include <memory>
#include <string>

namespace tilebeat::rolling {

constexpr std::uint64_t kNram = 0x10000, kWram = 0x400000;
constexpr std::int64_t kMemoryBytes = 0x200000;
constexpr std::uint64_t kCoreResult = kNram + 0x100000, kCoreRecords = kWram + 0x80000;

/// The bus of a core that nobody uses but for looking into the memories.
class IdleBus : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<IdleBus> nram, wram;

  explicit IdleBus(const sc_core::sc_module_name& name) : sc_module(name), nram("nram"), wram("wram") {}
  static void access(tlm_utils::simple_initiator_socket<IdleBus>& memory, tlm::tlm_command command,
                     std::uint64_t address, std::uint8_t* data, unsigned bytes) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(data);
    payload.set_data_length(bytes);
    memory->transport_dbg(payload);
  }
};

/// A and results lie in NRAM, B and records in WRAM, at the same places as in memories that are stubs.
struct CoreBench {
  testing::RecordingTrace trace;
  Races races;
  SimContext context;
  UnitDriver driver;
  Scratchpad nram, wram;
  IdleBus bus;
  RollingUnit unit;

  CoreBench(const Work& work, Granularity granularity, const MemoryConfig& memory = {kMemoryBytes, 16, 16, 0},
            bool traced = false)
      : context{ClockDomain(1000), {traced ? &trace : nullptr, nullptr}, nullptr, nullptr, nullptr, &races},
        driver("driver", context),
        nram("nram", context, memory, memory.size_bytes, kNram, 64, 0, RollingUnit::kNramPorts),
        wram("wram", context, memory, memory.size_bytes, kWram, 64, 0, RollingUnit::kWramPorts),
        bus("bus"),
        unit("rolling", context, work.config, 8, OperandMemories{memory, memory}, granularity) {
    testing::strict_systemc();
    driver.command.bind(unit.command);
    unit.completion.bind(driver.completion);
    bus.nram.bind(nram.socket), bus.wram.bind(wram.socket);
    unit.bind_memories(nram, wram);
    const MemoryImage image = image_of(work);
    for (auto [address, byte] : image.a)
      IdleBus::access(bus.nram, tlm::TLM_WRITE_COMMAND, kNram + address, &byte, 1);
    for (auto [address, byte] : image.b) {
      const std::uint64_t base = address >= kRecords ? kCoreRecords - kRecords : kWram;
      IdleBus::access(bus.wram, tlm::TLM_WRITE_COMMAND, base + address, &byte, 1);
    }
  }
  RollingRun run_of(const Work& work) const {
    RollingRun run = work.run();
    run.map = kNram, run.weights = kWram, run.post = kCoreRecords, run.result = kCoreResult;
    return run;
  }
  void send(const Work& work) {
    driver.send(0, work.conv);
    driver.send(0, work.setup);
    driver.send(0, run_of(work));
  }
  std::string run(Cycle cycles) { return testing::error_of_run(cycles, 1000); }
  std::int32_t result(int row, int column) {
    std::int32_t value = 0;
    IdleBus::access(
        bus.nram, tlm::TLM_READ_COMMAND,
        kCoreResult + static_cast<std::uint64_t>(row) * kPixel + static_cast<std::uint64_t>(4 * column),
        reinterpret_cast<std::uint8_t*>(&value), sizeof value);
    return value;
  }
};

/// The case of the formulas: an access in cycle 1 brings a line that enters in the next one, or later by the
/// memory's latency; results are there in the cycle after their last access.
inline RollingCase core_case_of(const Work& work, int latency) {
  RollingCase c = case_of(work);
  c.first_line = 2 + latency;
  c.write_bytes = work.config.port_bytes;
  return c;
}

/// As `outcome` tells it, of the unit in a core.
inline std::string core_outcome(const Work& work, Granularity granularity,
                                const MemoryConfig& memory = {kMemoryBytes, 16, 16, 0}) {
  return testing::in_child([&] {
    CoreBench bench(work, granularity, memory);
    bench.send(work);
    const Cycle limit = rolling_clocks(core_case_of(work, memory.latency_cycles)).done + 20000;
    std::string error = bench.run(limit);
    if (!error.empty()) return error;
    for (int row = 0; row < work.m; ++row) {
      for (int column = 0; column < work.k; ++column) {
        if (bench.result(row, column) != work.product(row, column))
          return fmt::format("c[{},{}] is {}, not {}", row, column, bench.result(row, column),
                             work.product(row, column));
      }
    }
    return text_of(bench.unit, bench.driver, limit);
  });
}

}  // namespace tilebeat::rolling
