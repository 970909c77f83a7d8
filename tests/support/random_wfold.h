#pragma once

// Random chips of W-fold cores and random layers for them.

#include "engines/wfold/config.h"
#include "random_chip.h"
#include "wfold_formulas.h"

namespace tilebeat::testing {

using wfold::BlockOrder;
using wfold::FirstBuffer;
using wfold::FoldPlace;
using wfold::KernelPlace;
using wfold::kWfoldDataflow;
using wfold::ReadChoice;
using wfold::StoragePlace;
using wfold::WfoldConfig;

inline SpecWfold spec_wfold(const HardwareConfig& hardware) {
  const WfoldConfig& c = hardware.engine<WfoldConfig>();
  if (c.first_buffer == FirstBuffer::kKernels)  // the buffers' roles are swapped
    return {c.slaves, c.second_buffer_lines / 2, c.line_bytes, c.second_buffer_lines, 2 * c.compute_units};
  return {c.slaves, c.compute_units, c.line_bytes, c.first_buffer_lines, c.second_buffer_lines};
}

/// Makes NRAM and WRAM blocks of one memory, with the banks of WRAM.
inline void share_storage(HardwareConfig& hardware) {
  WfoldConfig& c = hardware.engine<WfoldConfig>();
  MemoryConfig &nram = hardware.chip->core.nram, &wram = hardware.chip->core.wram;
  c.storage = StoragePlace::kShared;
  c.weight_port_bytes = std::min(c.weight_port_bytes, wram.bank_bytes);
  const std::int64_t bytes = nram.size_bytes;
  nram = wram;
  nram.size_bytes = align_up(bytes, std::int64_t{wram.banks} * wram.bank_bytes);
}

/// A random chip whose cores have small W-fold engines; `cores` of them at most in a cluster.
inline HardwareConfig random_wfold_chip(int clusters = 2, int cores = 2) {
  HardwareConfig hardware = random_chip();
  hardware.dataflow = kWfoldDataflow;
  ChipConfig& chip = *hardware.chip;
  chip.clusters = number(1, clusters), chip.cores_per_cluster = number(1, cores);
  WfoldConfig& c = hardware.engine<WfoldConfig>();
  c.slaves = one_in(3) ? 16 : number(1, 8);
  c.compute_units = one_in(2) ? 4 : number(1, 4);
  c.line_bytes = one_in(2) ? 64 : 16 << number(0, 2);
  c.first_buffer_lines = std::max(5, c.compute_units + 1) + (one_in(3) ? 0 : number(0, 11));
  c.second_buffer_lines = one_in(2) ? 9 : number(2, 12);
  c.first_buffer = static_cast<FirstBuffer>(number(0, 1));
  c.weight_port_bytes = 16 << number(0, 2);
  c.line_queue = skewed(24);
  c.transit_bytes = one_in(5) ? number(0, 200) : number(0, 8192);
  c.write_queue = skewed(24);
  c.post_latency_cycles = number(0, 8);
  c.smallest_pci = std::min(c.line_bytes, 2 << number(0, 4));
  c.tolerance_bytes = number(1, 40);
  c.pci = one_in(3) ? std::max(2, c.line_bytes >> number(0, 4)) : 0;
  c.read_mode = one_in(3) ? static_cast<ReadChoice>(number(1, 3)) : ReadChoice::kAuto;
  c.adder_stages = one_in(3) ? number(2, 5) : 1;
  c.fold_place = static_cast<FoldPlace>(number(0, 2));
  c.kernel_place = static_cast<KernelPlace>(number(0, 2));
  c.block_order = static_cast<BlockOrder>(number(0, 1));
  if (const int groups = number(1, c.slaves); c.kernel_place != KernelPlace::kOffline)
    c.multicast_groups = c.slaves % groups == 0 ? groups : c.slaves;
  const int bus = chip.core.bus.bytes_per_clock;
  chip.core.nram = random_memory(8 << number(1, 5), bus);
  MemoryConfig& wram = chip.core.wram;
  wram.banks = c.slaves;
  wram.bank_bytes = std::min(bus, 16 << number(0, 2));
  wram.size_bytes = std::int64_t{wram.banks} * wram.bank_bytes * number(16, 256);
  if (c.slaves % 2 == 0) c.masters = number(1, 2);
  if (wram.bank_bytes >= 16 && one_in(3)) share_storage(hardware);
  return hardware;
}

/// A layer of at most about `most` multiply-accumulates.
inline ConvShape random_wfold_layer(std::int64_t most) {
  ConvShape s;
  s.batch = one_in(4) ? number(2, 3) : 1;
  random_channels(s, 200, skewed);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    s.kernel[axis] = skewed(11);
    s.stride[axis] = one_in(2) ? number(1, 2) : skewed(8);
    s.dilation[axis] = one_in(2) ? 1 : number(1, 3);
    s.pads[axis] = one_in(2) ? 0 : number(0, 5);
    s.pads[axis + 2] = one_in(2) ? 0 : number(0, 5);
  }
  std::array<int, 2> outs{number(1, 12), skewed(60)};
  const auto macs = [&] {
    return std::int64_t{s.batch} * outs[0] * outs[1] * s.kernel[0] * s.kernel[1] * s.out_channels *
           s.channels;  // what an engine that ignores groups computes
  };
  while (macs() > most) {
    if (s.batch > 1) {
      s.batch = 1;
    } else if (outs[0] * outs[1] > 12) {
      int& extent = outs[0] > outs[1] ? outs[0] : outs[1];
      extent = (extent + 1) / 2;
    } else if (s.kernel[0] * s.kernel[1] > 12) {
      s.kernel[0] = (s.kernel[0] + 1) / 2;
    } else if (s.groups > 1) {
      s.groups = std::max(1, s.groups / 2);
      s.channels = s.out_channels = s.groups;
    } else {
      int& channels = s.channels > s.out_channels ? s.channels : s.out_channels;
      channels = (channels + 1) / 2;
    }
  }
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const int window = (s.kernel[axis] - 1) * s.dilation[axis] + 1 + (outs[axis] - 1) * s.stride[axis];
    const int extent = window - s.pads[axis] - s.pads[axis + 2] + number(0, s.stride[axis] - 1);
    (axis == 0 ? s.height : s.width) = std::max(1, extent);
  }
  random_operands(s);
  random_post_processing(s);
  return s;
}

}  // namespace tilebeat::testing
