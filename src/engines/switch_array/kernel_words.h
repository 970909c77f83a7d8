#pragma once

#include "engines/switch_array/operations.h"
#include "planner/language/problem.h"

#include <cstdint>

namespace tilebeat::switch_array {

/// The bytes of the words of a `load.kernels` that are stored in memory. Kernels of a convolution with groups
/// are zero outside their own group's channels: only the bytes inside are stored and transferred, and the
/// loader fills in the rest.
class KernelWords {
 public:
  /// Throws SimulationError when the fields of a load with groups contradict one another.
  KernelWords(const LoadKernels& load, int columns, int port_channels);

  /// The transferred bytes of word `word` of column `column`; the others are `load.fill`.
  Interval brought(std::int64_t word, int column) const;
  /// Number of all transferred bytes.
  std::int64_t bytes() const;

 private:
  /// The first channel of the group of a load's kernel, relative to the first channel of the first kernel's
  /// group.
  std::int64_t group_of(std::int64_t kernel) const;

  LoadKernels load_;
  int columns_, port_channels_;
};

}  // namespace tilebeat::switch_array
