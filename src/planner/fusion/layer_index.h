#pragma once

#include "base/types.h"
#include "workload/workload.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace tilebeat {

/// What fusion groups of a workload ask again and again: where layers stand, and who reads their results. The
/// workload outlives it and stays as it is.
class LayerIndex {
 public:
  explicit LayerIndex(const Workload& workload);

  const Workload& workload() const { return workload_; }
  /// The numbers of layers by name, in rising order. Throws UserError for a layer that is not in the
  /// workload.
  std::vector<int> numbers_of(const std::vector<std::string>& names) const;
  /// The layers that read a layer's result, in rising order.
  const std::vector<int>& readers(int layer) const { return nth(readers_, layer); }
  /// Whether a run writes the layer's result.
  bool is_output(int layer) const { return nth(is_output_, layer); }

 private:
  const Workload& workload_;
  std::unordered_map<std::string, int> numbers_;
  std::vector<std::vector<int>> readers_;  // by layer
  std::vector<bool> is_output_;            // by layer
};

}  // namespace tilebeat
