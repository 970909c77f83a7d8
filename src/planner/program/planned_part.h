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

/// A part of a network that is planned as a whole: a layer on the matrix unit of a board, on matrix units or
/// vector units of a chip, or a fusion group. It is made, then placed, and immutable afterwards. The
/// constructor's arguments outlive it.
class PlannedPart {
 public:
  virtual ~PlannedPart() = default;
  /// Assigns kernels and factors their places in DRAM.
  virtual void place(DramPlaces& /*places*/) {}
  /// The processors that work for it.
  virtual std::vector<int> processors() const = 0;
  /// Whether it has tasks.
  virtual bool works() const { return true; }
  /// Adds its tasks to a graph, without prefetched kernel loads. Call after `place`.
  virtual PlannedUse build(TaskGraph& graph, const Prefetch& prefetch) const = 0;
  /// As `build`, for an estimate: one task may stand for many.
  virtual PlannedUse build_roughly(TaskGraph& graph, const Prefetch& prefetch) const {
    return build(graph, prefetch);
  }

  // ---- weight prefetch ----

  /// WRAM bytes of the first n kernel loads, for n from 1 to the most loads that can be prefetched.
  virtual std::vector<std::int64_t> wram_of_loads() const { return {}; }
  /// Adds the prefetched kernel loads to the graph of an earlier part, which takes `sram` bytes of a
  /// cluster's SRAM. Throws UserError when the SRAM has no room left.
  virtual PlannedUse build_prefetch(TaskGraph& /*graph*/, const Prefetch& /*prefetch*/,
                                    std::int64_t sram) const {
    return {{}, sram, 0};
  }
  /// WRAM bytes of a core that it takes, and the number of regions over which they are spread.
  virtual std::int64_t wram_bytes(const Prefetch& /*prefetch*/) const { return 0; }
  virtual int wram_regions() const { return 1; }
  /// Where its estimates by itself are kept; null: nowhere.
  virtual CyclesByLoads* known_cycles() const { return nullptr; }
};

/// A reshape: no bytes move.
class ReshapePart : public PlannedPart {
 public:
  std::vector<int> processors() const override { return {}; }
  bool works() const override { return false; }
  PlannedUse build(TaskGraph& /*graph*/, const Prefetch& /*prefetch*/) const override { return {}; }
};

/// A layer on the unit of a board, which works on DRAM.
class BoardPart : public PlannedPart {
 public:
  /// Throws UserError for a layer that a board cannot run; adds the decisions to `choices`.
  BoardPart(std::unique_ptr<MatrixLayer> layer, const OperandLayouts& layouts, const HardwareConfig& hardware,
            Explanation& choices);
  void place(DramPlaces& places) override;
  std::vector<int> processors() const override { return {}; }
  PlannedUse build(TaskGraph& graph, const Prefetch& prefetch) const override;

 private:
  std::vector<MatrixJob> jobs() const {
    return board_jobs(layer_.layer->problem(), layouts_, layer_.weights);
  }

  Shard layer_;
  OperandLayouts layouts_;
  JobCut cut_;
};

/// A mapped layer on matrix units of a chip.
class MatrixPart : public PlannedPart {
 public:
  /// `chosen.mapping` names the layer; `output`: layout of the layer's output in DRAM.
  MatrixPart(ChosenLayer chosen, const TensorLayout& output, const HardwareConfig& hardware);
  void place(DramPlaces& places) override;
  std::vector<int> processors() const override;
  PlannedUse build(TaskGraph& graph, const Prefetch& prefetch) const override;
  PlannedUse build_roughly(TaskGraph& graph, const Prefetch& prefetch) const override;
  std::vector<std::int64_t> wram_of_loads() const override;
  PlannedUse build_prefetch(TaskGraph& graph, const Prefetch& prefetch, std::int64_t sram) const override;
  std::int64_t wram_bytes(const Prefetch& prefetch) const override;
  int wram_regions() const override { return chosen_.layer.shards.front().weights.layout.regions; }
  CyclesByLoads* known_cycles() const override { return chosen_.cycles.get(); }

  /// The mapping, without weight prefetch.
  const LayerMapping& mapping() const { return chosen_.mapping; }
  /// Decisions with their reasons, and facts of the engine about the layer.
  Explanation explain() const;
  Explanation facts() const { return chosen_.layer.largest().layer->facts(); }
  /// Whether kernels are a tensor, which cannot be prefetched.
  bool kernels_are_a_tensor() const { return chosen_.layer.problem.kernel_tensor.has_value(); }

 private:
  // Calls `use` with the layer's work under weight prefetch `prefetch`.
  template <class Use>
  auto with_work(const Prefetch& prefetch, const Use& use) const {
    LayerMapping mapping = chosen_.mapping;
    mapping.weight_prefetch = prefetch.loads;
    return use(MatrixWork{chosen_.layer, hardware_, mapping, output_, prefetch.wram_at});
  }

  ChosenLayer chosen_;
  TensorLayout output_;
  const HardwareConfig& hardware_;
  std::vector<JobCut> cuts_;  // by shard
};

/// A layer on vector units, or one whose bytes only DMA engines move.
class VectorPart : public PlannedPart {
 public:
  /// `started`: the host starts processors for this layer, which takes cycles.
  VectorPart(std::unique_ptr<VectorWork> work, std::string name, bool started,
             const HardwareConfig& hardware);
  /// Also decides how many cores work on the layer.
  void place(DramPlaces& places) override;
  std::vector<int> processors() const override;
  PlannedUse build(TaskGraph& graph, const Prefetch& prefetch) const override;
  int cores() const { return cores_; }

 private:
  std::vector<int> processors_of_cores(int cores) const;
  int build_on(int cores, TaskGraph& graph, PlannedBytes& bytes) const;

  std::unique_ptr<VectorWork> work_;
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
  /// `tensors`: the places of the tensors in DRAM.
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

/// Adds a layer of the host to `plan`, behind the programs that there are so far. `made` has its name.
void add_host_layer(const Workload& workload, const Layer& layer, LayerPlan made, Plan& plan);

}  // namespace tilebeat
