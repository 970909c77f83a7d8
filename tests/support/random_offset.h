#pragma once

// Random chips of cores with offset-table engines.

#include "engines/offset_table/config.h"
#include "random_wfold.h"

namespace tilebeat::testing {

/// A random chip whose cores have small offset-table engines; `cores` of them at most in a cluster.
inline HardwareConfig random_offset_chip(int clusters = 2, int cores = 2) {
  HardwareConfig hardware = random_chip();
  hardware.dataflow = offset_table::kDataflow;
  ChipConfig& chip = *hardware.chip;
  chip.clusters = number(1, clusters), chip.cores_per_cluster = number(1, cores);
  auto& c = hardware.engine<offset_table::OffsetConfig>();
  c.rows = skewed(16), c.columns = one_in(2) ? c.rows : skewed(16);
  c.vector = number(1, 8);
  c.layout = static_cast<MapLayout>(number(0, 3));
  c.block_channels = skewed(24);
  c.thread_order = static_cast<offset_table::ThreadOrder>(number(0, 1));
  c.addresses = one_in(5) ? offset_table::Addresses::kComputed : offset_table::Addresses::kTables;
  c.divider_cycles = number(1, 12), c.multiplier_cycles = number(1, 4), c.address_queue = number(1, 6);
  c.cache.line_bytes = 4 << number(0, 5);
  c.cache.ways = number(1, 4);
  c.cache.bytes = c.cache.line_bytes * c.cache.ways * (1 << number(0, 5));
  c.cache.replacement = static_cast<offset_table::Replacement>(number(0, 1));
  c.cache.banks = 1 << number(0, 5);
  c.cache.bank_order = static_cast<offset_table::BankOrder>(number(0, 1));
  c.cache.misses = skewed(8);
  c.cache.hit_latency_cycles = number(1, 4);
  c.table_bytes = one_in(3) ? number(256, 1024) : 16384;
  c.beat_queue = skewed(20);
  c.port_bytes = 4 << number(0, 4);
  c.drain_bytes = 4 << number(0, 4);
  c.write_queue = skewed(24);
  c.post_latency_cycles = number(0, 8);
  c.record_kernels = c.columns * number(1, 8);
  const int bus = chip.core.bus.bytes_per_clock;
  chip.core.nram = random_memory(8 << number(1, 5), bus);
  chip.core.wram = random_memory(8 << number(1, 5), bus);
  return hardware;
}

}  // namespace tilebeat::testing
