#pragma once

#include "engines/switch_array/operations.h"
#include "planner/language/problem.h"

#include <cstdint>

namespace tilebeat::switch_array {

/// Which bytes of the words of a `load.kernels` lie in memory. Kernels of a convolution with groups are zero
/// outside their own group's channels; only the bytes inside are stored and brought, the loader fills up the
/// words.
class KernelWords {
 public:
  /// Throws SimulationError when the fields of a load with groups contradict one another.
  KernelWords(const LoadKernels& load, int columns, int port_channels);

  /// Of word `word` of column `column`: the bytes that are brought; the others are `load.fill`.
  Interval brought(std::int64_t word, int column) const;
  /// All that are brought.
  std::int64_t bytes() const;

 private:
  /// The first channel of the group of a load's kernel, from the first one of its first kernel's group on.
  std::int64_t group_of(std::int64_t kernel) const;

  LoadKernels load_;
  int columns_, port_channels_;
};

}  // namespace tilebeat::switch_array
