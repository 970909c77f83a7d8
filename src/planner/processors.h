#pragma once

#include "tilebeat/config/hardware_config.h"

namespace tilebeat {

/// Numbers of the command processors of a chip: cluster by cluster, its cores, then its memory core.
inline int cluster_size(const ChipConfig& chip) {
  return chip.cores_per_cluster + 1;
}
inline int processor_of_core(const ChipConfig& chip, int core) {
  return core / chip.cores_per_cluster * cluster_size(chip) + core % chip.cores_per_cluster;
}
inline int processor_of_memory(const ChipConfig& chip, int cluster) {
  return cluster * cluster_size(chip) + chip.cores_per_cluster;
}

constexpr std::int64_t kBufferAlignment = 256;  ///< bytes, of buffers in on-chip memories

}  // namespace tilebeat
