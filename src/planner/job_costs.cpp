#include "job_costs.h"

#include <algorithm>

#include "layer_share.h"
#include "task/schedule.h"

namespace tilebeat {
namespace {

void add_window(std::vector<std::int64_t>& key, const Window& w) {
  key.insert(key.end(), {w.out, w.outs, w.in, w.ins, w.offset});
}

void add_layout(std::vector<std::int64_t>& key, const TensorLayout& l) {
  key.insert(key.end(), {static_cast<std::int64_t>(l.address), l.image_stride, l.row_stride, l.pixel_stride,
                         l.channel_stride});
}

// All of a job but who else uses its operands.
void add_job(std::vector<std::int64_t>& key, const MatrixJob& job) {
  add_window(key, job.tile.h), add_window(key, job.tile.w);
  key.insert(key.end(),
             {job.tile.image, job.images, job.blocks.begin, job.blocks.end, job.reduction.channels.begin,
              job.reduction.channels.end, job.reduction.first ? 1 : 0, job.reduction.last ? 1 : 0,
              job.jobs_of_map, static_cast<std::int64_t>(job.weights), static_cast<std::int64_t>(job.post)});
  add_layout(key, job.ifm), add_layout(key, job.ofm);
}

}  // namespace

JobCosts::JobCosts(const LayerShare& share, const MatrixJob& largest, bool same_kernels)
    : share_(share), same_kernels_(same_kernels), cut_{same_kernels ? 1 : 0} {
  add_job(cut_, largest);
}

const TaskCost& JobCosts::of(const MatrixJob& job) {
  const auto shape = std::tuple(job.tile.h.outs, job.tile.w.outs, job.tile.h.ins, job.tile.w.ins,
                                share_.layer->problem().kernels_of(job.blocks), job.reduction.channels.size(),
                                job.reduction.first, job.reduction.last);
  const auto [of_shape, first] = of_shapes_.try_emplace(shape);
  if (first) {
    std::vector<std::int64_t> key = cut_;
    add_job(key, job);
    const auto [known, added] = share_.job_costs->costs.try_emplace(std::move(key));
    if (added) known->second = cost_of(job);
    of_shape->second = known->second;
  }
  return of_shape->second;
}

TaskCost JobCosts::cost_of(const MatrixJob& job) const {
  const auto [one, before] = jobs_alone(job, 1);
  const auto [two, after] = jobs_alone(job, 2);
  TaskCost cost;
  cost.cycles = std::max(1.0, two - one);
  cost.latency = std::max(1.0, one - cost.cycles);
  cost.instructions = static_cast<double>(after - before);
  return cost;
}

// Cycles and tasks of `count` such jobs that nothing else is in the way of.
std::pair<double, std::size_t> JobCosts::jobs_alone(MatrixJob job, int count) const {
  TaskGraph graph;
  EnginePlace place;
  place.nram = job.ifm.address, place.wram = job.weights;
  const auto lowering = share_.layer->lower(graph, place);
  job.ifm_reads.clear(), job.weights_read.reset(), job.ofm_write.reset();
  for (int i = 0; i < count; ++i) {
    lowering->add(job);
    job.ifm.address += 64;
    if (!same_kernels_) job.weights += 64;
  }
  return {schedule(graph, dependencies_of(graph), {}).cycles, graph.tasks().size()};
}

}  // namespace tilebeat
