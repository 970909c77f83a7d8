#pragma once

#include "tilebeat/mapping/mapping_file.h"
#include "tilebeat/program/plan.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../placement.h"
#include "unit_tasks.h"

namespace tilebeat {

/// Layers of a workload that run as one, decided (SPEC FU-4). What it is made of outlives it.
class FusedUnit {
 public:
  /// `request` names layers of the workload; what it leaves open is decided here. Throws UserError when they
  /// cannot be fused, or do not fit so.
  FusedUnit(const Workload& workload, const HardwareConfig& hardware, const UnitRequest& request);

  const UnitMapping& mapping() const { return mapping_; }
  /// Tensors that have no place in DRAM.
  std::set<std::string> inner_tensors() const;
  /// The processors that work.
  std::vector<int> processors() const;

  /// Gives kernels and factors their places; those of tensors are known.
  void place(DramPlaces& places, const std::map<std::string, Placement>& tensors);
  /// Name, bounds and choices; bytes and estimate are not there yet.
  LayerPlan plan() const;
  /// After `place`.
  PlannedBytes add_tasks(TaskGraph& graph, const std::vector<BufferId>& stored) const;

 private:
  struct DecidedLayer {
    std::unique_ptr<MatrixLayer> matrix;
    WeightPlace weights;
    std::unique_ptr<VectorWork> vector;
    std::uint64_t parameters = 0;
  };
  UnitWork work() const;

  const Workload& workload_;
  const HardwareConfig& hardware_;
  UnitGraph graph_;
  UnitMapping mapping_;
  std::vector<DecidedLayer> layers_;
  std::vector<std::uint64_t> addresses_;  // by tensor
};

}  // namespace tilebeat
