#include "planner/layer/estimate.h"

#include "base/types.h"
#include "planner/layer/matrix_tasks.h"
#include "planner/layer/placement.h"
#include "planner/layer/shards.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace tilebeat {
namespace {

class CoarseLowering : public MatrixLowering {
 public:
  CoarseLowering(TaskGraph& graph, const EnginePlace& place, JobCosts& costs)
      : graph_(graph), place_(place), costs_(costs) {}
  void add(const MatrixJob& job) override {
    Task task;
    task.processor = place_.processor;
    task.instruction.operation = ConvSetup{};  // any instruction of the matrix unit
    task.accesses = job.accesses();
    task.cost = costs_.of(job);
    graph_.add(std::move(task));
  }

 private:
  TaskGraph& graph_;
  EnginePlace place_;
  JobCosts& costs_;
};

}  // namespace

std::unique_ptr<MatrixLowering> coarse_lowering(TaskGraph& graph, const EnginePlace& place, JobCosts& costs) {
  return std::make_unique<CoarseLowering>(graph, place, costs);
}

PlannedUse add_estimated_tasks(TaskGraph& graph, const MatrixWork& work, const EnoughTasks& enough) {
  const ShardedLayer& layer = work.layer;
  const LayerMapping& m = work.mapping;
  const std::vector<JobCut> cuts = job_cuts(layer, m, work.hardware);
  const MatrixLayer& largest = *layer.largest().layer;
  const CorePart part = largest_part(largest.problem(), largest.grain(), m);
  const std::int64_t jobs = std::int64_t{m.cores()} * part.images.size() *
                            ceil_div(part.rows.size(), m.tile_rows) *
                            ceil_div(part.columns.size(), m.tile_columns) *
                            ceil_div(part.blocks.size(), m.blocks_per_load) * m.channel_parts;
  std::vector<JobCosts> costs;
  for (std::size_t i = 0; i < layer.shards.size(); ++i) {
    const Shard& shard = layer.shards[i];
    costs.emplace_back(shard, cuts[i], largest_job(*shard.layer, m),
                       part.blocks.size() <= m.blocks_per_load && m.channel_parts == 1);
  }
  return add_matrix_tasks(
      graph, work,
      [&](TaskGraph& g, const EnginePlace& place, int number) -> std::unique_ptr<MatrixLowering> {
        const auto shard = to_size(number);
        if (jobs <= kFewJobs) return layer.shards[shard].layer->lower(g, place, cuts[shard]);
        return coarse_lowering(g, place, costs[shard]);
      },
      enough);
}

double estimated_cycles(const MappingQuestion& q, const LayerMapping& m, TaskGraph& graph, double limit,
                        double busy) {
  LayerMapping mapping = m;
  if (q.kernels_loaded)
    mapping.weight_prefetch = to_int(wram_of_loads({q.layer, q.hardware, m, q.output}).size());
  const MatrixWork work{q.layer, q.hardware, mapping, q.output};
  const Machine machine =
      machine_of(q.hardware, q.first_of_program ? processors_of(*q.hardware.chip, m) : std::vector<int>{},
                 q.one_core ? std::optional(1) : std::nullopt);
  double before = 0;
  if (q.kernels_loaded) {
    graph.shrink({});
    const PlannedUse use = add_prefetch(graph, work, 0);
    before = static_cast<double>(use.bytes.kernels) / machine.dram_bytes_per_clock;
  }
  graph.shrink({});
  LeastCycles least(graph, machine);
  const auto too_many = [&] { return least.now() > busy * limit - before; };
  add_estimated_tasks(graph, work, too_many);
  if (too_many()) return std::numeric_limits<double>::infinity();
  return before + schedule(graph, dependencies_of(graph), machine, limit - before).cycles;
}

std::vector<JobCut> job_cuts(const ShardedLayer& layer, const LayerMapping& m,
                             const HardwareConfig& hardware) {
  const ChipConfig& chip = *hardware.chip;
  std::vector<JobCut> cuts;
  for (const Shard& shard : layer.shards) {
    cuts.push_back(
        shard.layer
            ->cuts(largest_job(*shard.layer, m), core_path(chip, hardware.dma), chip.core.bus.bytes_per_clock)
            .front());
  }
  return cuts;
}

std::vector<int> processors_of(const ChipConfig& chip, const LayerMapping& m) {
  std::vector<int> processors;
  for (int core = 0; core < m.cores(); ++core)
    processors.push_back(processor_of_core(chip, core_of(chip, m, core)));
  const int clusters = ceil_div(m.cores(), m.working(chip).cores_per_cluster);
  for (int k = 0; m.uses_memory_cores() && k < clusters; ++k)
    processors.push_back(processor_of_memory(chip, k));
  std::sort(processors.begin(), processors.end());
  return processors;
}

int cores_among(const ChipConfig& chip, const std::set<int>& processors) {
  return to_int(std::count_if(processors.begin(), processors.end(),
                              [&](int processor) { return !is_memory_core(chip, processor); }));
}

double later_instruction_bytes(const TaskGraph& graph, const std::set<int>& workers,
                               const HardwareConfig& hardware) {
  std::map<int, double> room;
  for (const int worker : workers) room[worker] = hardware.host.instruction_buffer_bytes;
  for (const Task& task : graph.tasks()) room[task.processor] -= task.cost.instructions * kInstructionBytes;
  double bytes = 0;
  for (const auto& [worker, left] : room) bytes += std::max(left, 0.0);
  return bytes;
}

Cycle end_cycles(const HardwareConfig& hardware, int processors) {
  constexpr Cycle kFence = 8;
  return processors == 1 ? kFence : kFence + hardware.chip->sync_cycles;
}

Machine machine_of(const HardwareConfig& hardware, const std::vector<int>& started,
                   std::optional<int> cores) {
  Machine machine;
  const DramConfig& d = hardware.dram;
  const double refresh = d.refresh ? 1 - ratio_of(d.tRFC_ps, d.tREFI_ps) : 1;
  // reached fraction of the peak between refreshes: rows are opened and closed
  constexpr double kReached = 0.96;
  const int controllers = hardware.chip ? hardware.chip->memory_controllers : 1;
  machine.controllers = controllers;
  machine.instruction_buffer = hardware.host.instruction_buffer_bytes;
  machine.dram_bytes_per_clock = controllers * dram_bytes_per_clock(hardware) * refresh * kReached;
  if (hardware.chip) machine.sram_bytes_per_clock = hardware.chip->cluster_bus.bytes_per_clock;
  if (hardware.chip && cores.value_or(hardware.chip->cores()) == 1) {
    // Requests open rows and turn the bus here and there beyond what their own bytes say.
    constexpr double kServed = 0.98;
    machine.requests.bytes_per_clock = controllers * dram_bytes_per_clock(hardware) * kServed;
    // Refreshes are counted from the begin of a program; of what follows it is not known when they come.
    if (started.empty()) {
      machine.requests.bytes_per_clock *= refresh;
    } else if (d.refresh) {
      const auto clock = static_cast<double>(hardware.clock_ps());
      machine.requests.refresh_interval = static_cast<double>(d.tREFI_ps) / clock;
      machine.requests.refresh_cycles = static_cast<double>(d.tRFC_ps) / clock;
    }
  }
  // A signal is decoded and waits for its token as well.
  if (hardware.chip) machine.signal_cycles = hardware.chip->sync_cycles + 3.0;
  if (hardware.chip && hardware.chip->merged_dma)
    machine.merged_dma_of = hardware.chip->cores_per_cluster + 1;
  // Each: three register writes per processor, with the starts behind all other writes. Table: three writes
  // in all, then the table, one entry a cycle. Then the first instruction is fetched.
  const double write = hardware.host.register_write_cycles + hardware.interconnect.request_cycles + 2.0;
  constexpr double kFetch = 70;
  for (std::size_t i = 0; i < started.size(); ++i) {
    const auto processor = to_size(started[i]);
    if (machine.starts.size() <= processor) machine.starts.resize(processor + 1, 0);
    const auto behind = static_cast<double>(i + 1);
    machine.starts[processor] = kFetch + (hardware.host.start == HostStart::kTable
                                              ? 3 * write + kFetch + behind
                                              : write * (2 * static_cast<double>(started.size()) + behind));
  }
  return machine;
}

}  // namespace tilebeat
