#pragma once

// Random chips: clusters, cores, memories and paths of any size that is allowed.

#include "config/hardware_config.h"
#include "engines/switch_array/config.h"
#include "random_cases.h"

#include <algorithm>
#include <cstdint>

namespace tilebeat::testing {

using switch_array::SwitchArrayConfig;

inline InterconnectConfig random_bus(int least_bytes) {
  InterconnectConfig bus;
  bus.bytes_per_clock = least_bytes << number(0, 2);
  bus.request_cycles = number(1, 4), bus.response_cycles = number(1, 4);
  bus.max_outstanding = number(1, 16);
  return bus;
}

/// Bursts and buffers of copies on buses of that width.
inline DmaConfig random_copy_config(int bus_bytes) {
  DmaConfig copy;
  copy.burst_bytes = bus_bytes << number(0, 3);
  copy.buffer_bytes = 2 * copy.burst_bytes + number(0, 300);
  copy.max_outstanding = number(1, 8);
  copy.command_queue = number(1, 8);
  return copy;
}

/// About `kib` KiB: a whole number of rows of the banks.
inline MemoryConfig random_memory(int kib, int bus_bytes) {
  MemoryConfig memory;
  memory.banks = number(1, 16);
  memory.bank_bytes = std::min(bus_bytes, 4 << number(0, 3));
  const std::int64_t row = std::int64_t{memory.banks} * memory.bank_bytes;
  memory.size_bytes = std::max<std::int64_t>(1, std::int64_t{kib} * 1024 / row) * row;
  memory.latency_cycles = number(1, 4);
  return memory;
}

/// 1 to 3 clusters of 1 to 7 cores of small engines; memories so small that most layers are cut.
inline HardwareConfig random_chip() {
  HardwareConfig hardware;
  SwitchArrayConfig& array = hardware.engine<SwitchArrayConfig>();
  shape_array(array, {2, 6, 16, 8});
  array.bank_depth_words = number(64, 800);
  array.parameter_depth_words = number(100, 1200);
  array.parameter_slots = number(1, 8);
  tighten_output_buffer(array);
  hardware.planner.loop_order = static_cast<LoopOrder>(number(0, 2));
  if (one_in(3)) hardware.planner.map_layout = static_cast<MapLayout>(number(0, 3));
  hardware.planner.map_block_channels = skewed(24);
  hardware.dram = random_dram_config();
  hardware.interconnect = random_bus(8);
  hardware.dma = random_copy_config(hardware.interconnect.bytes_per_clock);
  hardware.host.instruction_buffer_bytes = 64 * number(1, 16);
  ChipConfig& chip = hardware.chip.emplace();
  chip.clusters = number(1, 3), chip.cores_per_cluster = skewed(7);
  chip.memory_controllers = 1 << number(0, 2);
  chip.core.bus = random_bus(16);
  chip.cluster_bus = random_bus(16), chip.cluster_link = random_bus(8);
  const int core_bus = chip.core.bus.bytes_per_clock, cluster_bus = chip.cluster_bus.bytes_per_clock;
  chip.core.nram = random_memory(4 << number(0, 4), core_bus);
  chip.core.wram = random_memory(2 << number(0, 4), core_bus);
  chip.sram = random_memory(4 << number(0, 4), cluster_bus);
  chip.core.copy = random_copy_config(core_bus);
  chip.copy = random_copy_config(cluster_bus);
  chip.core.vector.lanes = skewed(80), chip.core.vector.latency_cycles = number(0, 6);
  chip.sync_cycles = number(1, 8);
  chip.dram_path = static_cast<DramPath>(number(0, 2));
  chip.merged_dma = one_in(4);
  if (one_in(4)) chip.scalar_lanes = number(1, 4);
  if (one_in(3)) hardware.host.start = HostStart::kTable;
  hardware.dma.burst_bytes = std::max(hardware.dma.burst_bytes, core_bus);
  hardware.dma.buffer_bytes = std::max(hardware.dma.buffer_bytes, hardware.dma.burst_bytes);
  const int widest = std::max(core_bus, hardware.interconnect.bytes_per_clock);
  array.arrangement_queue_words = least_queue_words(widest) + number(0, 20);
  return hardware;
}

}  // namespace tilebeat::testing
