#pragma once

// Random chips of cores with rolling-register units.

#include "engines/rolling/config.h"
#include "random_wfold.h"

namespace tilebeat::testing {

/// A random chip whose cores have small rolling-register units; `cores` of them at most in a cluster.
inline HardwareConfig random_rolling_chip(int clusters = 2, int cores = 2) {
  HardwareConfig hardware = random_chip();
  hardware.dataflow = rolling::kDataflow;
  ChipConfig& chip = *hardware.chip;
  chip.clusters = number(1, clusters), chip.cores_per_cluster = number(1, cores);
  auto& c = hardware.engine<rolling::RollingConfig>();
  c.rows = skewed(16), c.columns = one_in(2) ? c.rows : skewed(16);
  c.groups = number(1, 8);
  c.start_row = one_in(4) ? number(0, c.rows - 1) : 0;
  c.start_column = one_in(4) ? number(0, c.columns - 1) : 0;
  c.port_bytes = 4 << number(0, 3);
  c.request_bytes = std::min(hardware.dma.burst_bytes, 1 << number(0, 8));
  c.line_queue = skewed(80);
  c.result_blocks = number(1, 16);
  c.drain_bytes = 4 << number(0, 4);
  c.write_queue = skewed(24);
  c.record_slots = one_in(2) ? number(1, 4) : 0;
  c.registers = static_cast<rolling::RegisterGroups>(number(0, 1));
  c.post_latency_cycles = number(0, 8);
  c.variant = one_in(2) ? rolling::VariantChoice::kAuto
                        : rolling::forced(static_cast<rolling::Variant>(number(0, 7)));
  c.blocking = static_cast<rolling::BlockingChoice>(number(0, 3));
  c.stacked_cuts = one_in(3) ? number(0, c.groups) : 0;
  c.realign = static_cast<rolling::Realignment>(number(0, 1));
  c.wrap = static_cast<rolling::Wrap>(number(0, 1));
  c.spare_lines = static_cast<rolling::SpareLines>(number(0, c.wrap == rolling::Wrap::kBuffer ? 2 : 1));
  c.transposition = static_cast<rolling::TranspositionChoice>(number(0, 2));
  c.stationary = one_in(4) ? rolling::Stationary::kOutput : rolling::Stationary::kRolling;
  const int most_blocks = c.groups / std::max(1, c.stacked_cuts);
  if (one_in(3)) c.stacked_blocks = number(0, std::min(most_blocks, c.result_blocks));
  while (c.stacked_blocks * c.stacked_blocks > c.result_blocks) --c.stacked_blocks;
  // Choices that the hardware file refuses together.
  if (c.stationary == rolling::Stationary::kOutput)
    c.variant = rolling::VariantChoice::kAuto;
  else if (one_in(3))
    c.multipliers = number(1, c.groups);
  const bool stacks = c.blocking == rolling::BlockingChoice::kGroupRolling ||
                      c.blocking == rolling::BlockingChoice::kWholeRolling;
  if (stacks && (most_blocks < 2 || c.result_blocks < 4 || c.stacked_blocks == 1))
    c.blocking = rolling::BlockingChoice::kAuto;
  if (c.stacked_blocks > 1 && c.blocking == rolling::BlockingChoice::kPlain)
    c.blocking = rolling::BlockingChoice::kWholeRolling;
  const int bus = chip.core.bus.bytes_per_clock;
  chip.core.nram = random_memory(8 << number(1, 5), bus);
  chip.core.wram = random_memory(8 << number(1, 5), bus);
  return hardware;
}

}  // namespace tilebeat::testing
