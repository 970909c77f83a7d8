#pragma once

#include "planner/fusion/fusion_group.h"
#include "planner/layer/board_job.h"
#include "planner/layer/choose_layer.h"
#include "planner/layer/matrix_tasks.h"
#include "planner/vector/vector_tasks.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// A part of a network that is planned as a whole: a layer on the unit of a board, on matrix units or on
/// vector units of a chip, or a fusion group. It is made, then placed; nothing changes it afterwards. What it
/// was made of outlives it.
class PlannedPart {
 public:
  virtual ~PlannedPart() = default;
  /// Gives kernels and factors their places in DRAM.
  virtual void place(DramPlaces& /*places*/) {}
  /// The processors that work for it.
  virtual std::vector<int> processors() const = 0;
  /// Whether it has tasks.
  virtual bool works() const { return true; }
  /// Adds its tasks to a graph, without the loads of kernels that are made ahead. Once it is placed.
  virtual PlannedUse build(TaskGraph& graph, const Prefetch& prefetch) const = 0;
  /// As `build`, for an estimate: one task may stand for many.
  virtual PlannedUse build_roughly(TaskGraph& graph, const Prefetch& prefetch) const {
    return build(graph, prefetch);
  }

  // ---- weight prefetch ----

  /// Bytes of WRAM that the first loads of kernels take, by their number from 1 on: as many as can be made
  /// ahead.
  virtual std::vector<std::int64_t> wram_of_loads() const { return {}; }
  /// Adds the loads that are made ahead to the graph of an earlier part, which takes `sram` bytes of a
  /// cluster's SRAM. Throws UserError when there is no room left.
  virtual PlannedUse build_prefetch(TaskGraph& /*graph*/, const Prefetch& /*prefetch*/,
                                    std::int64_t sram) const {
    return {{}, sram, 0};
  }
  /// Bytes of a core's WRAM that it takes, and regions that they lie in.
  virtual std::int64_t wram_bytes(const Prefetch& /*prefetch*/) const { return 0; }
  virtual int wram_regions() const { return 1; }
};

/// A layer that leaves its tensor where it is.
class ReshapePart : public PlannedPart {
 public:
  std::vector<int> processors() const override { return {}; }
  bool works() const override { return false; }
  PlannedUse build(TaskGraph& /*graph*/, const Prefetch& /*prefetch*/) const override { return {}; }
};

/// A layer on the unit of a board, which works on DRAM.
class BoardPart : public PlannedPart {
 public:
  /// Throws UserError for a layer that a board cannot run; what was chosen is added to `choices`.
  BoardPart(std::unique_ptr<MatrixLayer> layer, const OperandLayouts& layouts, const HardwareConfig& hardware,
            Explanation& choices);
  void place(DramPlaces& places) override;
  std::vector<int> processors() const override { return {}; }
  PlannedUse build(TaskGraph& graph, const Prefetch& prefetch) const override;

 private:
  std::vector<MatrixJob> jobs() const { return board_jobs(layer_->problem(), layouts_, weights_); }

  std::unique_ptr<MatrixLayer> layer_;
  OperandLayouts layouts_;
  WeightPlace weights_;
  JobCut cut_;
};

/// A layer on matrix units of a chip, mapped.
class MatrixPart : public PlannedPart {
 public:
  /// `chosen.mapping` names the layer; `output`: the layer's, in DRAM.
  MatrixPart(ChosenLayer chosen, const TensorLayout& output, const HardwareConfig& hardware);
  void place(DramPlaces& places) override;
  std::vector<int> processors() const override;
  PlannedUse build(TaskGraph& graph, const Prefetch& prefetch) const override;
  PlannedUse build_roughly(TaskGraph& graph, const Prefetch& prefetch) const override;
  std::vector<std::int64_t> wram_of_loads() const override;
  PlannedUse build_prefetch(TaskGraph& graph, const Prefetch& prefetch, std::int64_t sram) const override;
  std::int64_t wram_bytes(const Prefetch& prefetch) const override;
  int wram_regions() const override { return chosen_.layer.shards.front().weights.layout.regions; }

  /// The mapping, without what is loaded ahead.
  const LayerMapping& mapping() const { return chosen_.mapping; }
  /// What was decided and why, and what the engine tells of the layer.
  Explanation explain() const;
  Explanation facts() const { return chosen_.layer.largest().layer->facts(); }
  /// The layer has kernels that are a tensor: nobody can load them ahead.
  bool kernels_are_a_tensor() const { return chosen_.layer.problem.kernel_tensor.has_value(); }

 private:
  // Calls `use` with the work that it then is.
  template <class Use>
  auto with_work(const Prefetch& prefetch, const Use& use) const {
    LayerMapping mapping = chosen_.mapping;
    mapping.weight_prefetch = prefetch.loads;
    return use(MatrixWork{chosen_.layer, hardware_, mapping, output_, prefetch.wram_at});
  }

  ChosenLayer chosen_;
  TensorLayout output_;
  const HardwareConfig& hardware_;
  std::vector<JobCut> cuts_;  // by share
};

/// A layer on vector units, or one whose bytes DMA engines move.
class VectorPart : public PlannedPart {
 public:
  /// `started`: the processors are started for it, which takes time.
  VectorPart(std::unique_ptr<VectorLayer> layer, std::string name, bool started,
             const HardwareConfig& hardware);
  /// Also decides how many cores work.
  void place(DramPlaces& places) override;
  std::vector<int> processors() const override;
  PlannedUse build(TaskGraph& graph, const Prefetch& prefetch) const override;
  int cores() const { return cores_; }

 private:
  std::vector<int> processors_of_cores(int cores) const;
  int build_on(int cores, TaskGraph& graph, PlannedBytes& bytes) const;

  std::unique_ptr<VectorLayer> layer_;
  std::string name_;
  bool started_;
  const HardwareConfig& hardware_;
  DataPath path_;
  std::uint64_t parameters_ = 0;
  int cores_ = 1;
};

/// A fusion group.
class GroupPart : public PlannedPart {
 public:
  /// `tensors`: the places of those in DRAM.
  GroupPart(FusionGroup& group, const std::map<std::string, Placement>& tensors)
      : group_(group), tensors_(tensors) {}
  void place(DramPlaces& places) override { group_.place(places, tensors_); }
  std::vector<int> processors() const override { return group_.processors(); }
  PlannedUse build(TaskGraph& graph, const Prefetch& prefetch) const override {
    return group_.add_tasks(graph, prefetch);
  }
  std::vector<std::int64_t> wram_of_loads() const override { return group_.wram_of_loads(); }
  PlannedUse build_prefetch(TaskGraph& graph, const Prefetch& prefetch, std::int64_t sram) const override {
    return group_.add_prefetch(graph, prefetch, sram);
  }
  std::int64_t wram_bytes(const Prefetch& prefetch) const override { return group_.wram_bytes(prefetch); }
  int wram_regions() const override { return group_.regions(); }

 private:
  FusionGroup& group_;
  const std::map<std::string, Placement>& tensors_;
};

}  // namespace tilebeat
