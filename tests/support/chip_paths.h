#pragma once

// When a burst is where on an idle chip, computed from the configuration alone (docs/chip.md).

#include "base/types.h"
#include "config/hardware_config.h"
#include "sim/clock.h"

#include <algorithm>
#include <vector>

namespace tilebeat::testing {

/// Cycles are those in which the named step happens; each function gets the cycle of a request (BEGIN_REQ)
/// and returns the cycle in which the initiator gets the response.
struct PathTimes {
  const HardwareConfig& hardware;

  const ChipConfig& chip() const { return *hardware.chip; }
  static Cycle beats(const InterconnectConfig& bus, int bytes) {
    return ceil_div(bytes, bus.bytes_per_clock);
  }
  /// From a request's arrival at a scratchpad to its answer; the words begin a bank row.
  static Cycle scratchpad(const MemoryConfig& memory, const InterconnectConfig& bus, int bytes) {
    return 1 + memory.latency_cycles +
           ceil_div(ceil_div(bytes, memory.bank_bytes), bus.bytes_per_clock / memory.bank_bytes);
  }
  Cycle read(Cycle at, const InterconnectConfig& bus, const MemoryConfig& memory, int bytes) const {
    const Cycle answer = at + bus.request_cycles + scratchpad(memory, bus, bytes);
    return answer + bus.response_cycles + beats(bus, bytes) - 1;
  }
  Cycle write(Cycle at, const InterconnectConfig& bus, const MemoryConfig& memory, int bytes) const {
    return at + beats(bus, bytes) + bus.request_cycles + scratchpad(memory, bus, bytes) + bus.response_cycles;
  }
  /// The NPU clock of the answer to a request that reaches an idle DRAM with a closed bank in cycle
  /// `arrival`.
  Cycle dram_answer(Cycle arrival, int bytes, bool write) const {
    const DramConfig& dram = hardware.dram;
    const ClockDomain npu(hardware.clock_ps());
    const auto clocks = [&](Picoseconds time) { return ceil_div(time, dram.clock_ps); };
    const Cycle activate = npu.at(arrival, Phase::kGrant) / dram.clock_ps + 1;
    const int bursts = ceil_div(bytes, dram.data_bits / 8 * dram.burst_length);
    const Cycle data = dram.burst_length / dram.transfers_per_clock;
    // Bursts alternate between two banks of two groups, or are all of one bank.
    const int banks = dram.mapping == AddressMapping::kRowBankColumnGroupChannel ? 2 : 1;
    const Cycle same = clocks(write ? dram.tCCD_L_WR_ps : dram.tCCD_L_ps);
    std::vector<Cycle> accesses;
    for (int i = 0; i < bursts; ++i) {
      Cycle at = activate + clocks(dram.tRCD_ps) + (i % banks) * clocks(dram.tRRD_ps);
      if (i > 0) at = std::max(at, accesses.back() + std::max(clocks(dram.tCCD_ps), data));
      if (i >= banks) at = std::max(at, accesses[static_cast<std::size_t>(i - banks)] + same);
      accesses.push_back(at);
    }
    const Cycle latency = clocks(write ? dram.tCWL_ps : dram.tCL_ps);
    return npu.round_up((accesses.back() + latency + data) * dram.clock_ps);
  }
  Cycle read_dram(Cycle at, int bytes) const {
    const InterconnectConfig& bus = hardware.interconnect;
    return dram_answer(at + bus.request_cycles, bytes, false) + bus.response_cycles + beats(bus, bytes) - 1;
  }
  Cycle write_dram(Cycle at, int bytes) const {
    const InterconnectConfig& bus = hardware.interconnect;
    return dram_answer(at + beats(bus, bytes) + bus.request_cycles, bytes, true) + bus.response_cycles;
  }
  /// Through the broadcast bus to NRAM: AW in cycle `at`, then the beats, the write in the core, B a cycle
  /// after its response.
  Cycle broadcast(Cycle at, int bytes) const {
    return write(at + 1 + beats(chip().cluster_bus, bytes), chip().core.bus, chip().core.nram, bytes) + 1;
  }
  /// Over the link into the SRAM of another cluster.
  Cycle cdma(Cycle at, int bytes) const {
    const InterconnectConfig& link = chip().cluster_link;
    const Cycle arrival = at + beats(link, bytes) + link.request_cycles;
    return write(arrival + 1 + beats(link, bytes), chip().cluster_bus, chip().sram, bytes) + 1 +
           link.response_cycles;
  }
};

}  // namespace tilebeat::testing
