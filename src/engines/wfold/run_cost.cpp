#include "base/types.h"
#include "engines/wfold/choice.h"
#include "isa/operations.h"

#include <algorithm>
#include <vector>

namespace tilebeat::wfold {
namespace {

constexpr int kRows = 6;               // rows that a dry run goes through, where it does not go through all
constexpr std::int64_t kLines = 2048;  // a run of no more is gone through

// Cycles of a run, or of a kernel tile of it.
struct Clocks {
  double fill = 0;     // to the first beat
  double beats = 0;    // from there to the end of the last one
  double drained = 0;  // cycles in which results leave the third buffers
  double behind = 0;   // from the last beat to the last result stored
};

WfoldSchedule schedule_of(const WfoldConfig& config, const ConvSetup& setup, const WfoldKernelLayout& layout,
                          const WfoldRun& run, int kernels) {
  WfoldGeometry geometry = geometry_of(setup, layout, run);
  geometry.kernels = kernels;
  return {wfold_shape(config), geometry};
}

// The cycles of `all` rows, from a dry run of `rows` of them; the others are like the last ones.
Clocks clocks_of(DryRun& dry, const WfoldSchedule& schedule, int rows, int all) {
  std::vector<double> ends;
  for (int row = 0; row < rows; ++row) {
    for (std::int64_t tile = 0; tile < schedule.tiles() / all; ++tile) dry.tile();
    ends.push_back(static_cast<double>(dry.beats_end()));
  }
  Clocks clocks;
  clocks.fill = static_cast<double>(dry.first_beat());
  clocks.beats = ends.back() - clocks.fill;
  // The first row may be padding.
  if (rows < all) clocks.beats += (all - rows) * (ends.back() - ends[1]) / (rows - 2);
  clocks.behind = static_cast<double>(std::max<Cycle>(1, dry.stored() - dry.beats_end()));
  for (int kernel_tile = 0; kernel_tile < schedule.kernel_tiles(); ++kernel_tile) {
    const WfoldTile tile = schedule.tile(schedule.tiles() / schedule.kernel_tiles() * kernel_tile);
    clocks.drained += ceil_div(tile.kernels * 4, schedule.shape().line_bytes);
  }
  clocks.drained *= static_cast<double>(schedule.geometry().rows) * schedule.geometry().columns;
  return clocks;
}

}  // namespace

const TaskCost& RunCosts::of(const ConvSetup& setup, const WfoldKernelLayout& kernels,
                             const WfoldRun& run) const {
  // The cost depends only on the run's shape, not on the places of its operands.
  WfoldRun anywhere = run;
  anywhere.map = anywhere.weights = anywhere.result = 0;
  const Key key{run.rows,
                run.columns,
                run.kernels,
                run.height,
                run.h_offset,
                run.row_bytes,
                run.lead_bytes,
                run.first_channel,
                run.channels,
                run.result_pixel,
                run.begins_sums,
                run.ends_sums,
                run.result_granularity,
                to_int(run.read_mode),
                kernels.first_in_group};
  return known_.get(key, [&] { return work_out(setup, kernels, anywhere); });
}

TaskCost RunCosts::work_out(const ConvSetup& setup, const WfoldKernelLayout& layout,
                            const WfoldRun& run) const {
  const WfoldConfig& config = hardware_.engine<WfoldConfig>();
  Clocks all;
  const auto take = [&](int kernels, int times, int rows) {
    const WfoldSchedule schedule = schedule_of(config, setup, layout, run, kernels);
    DryRun dry(hardware_, run, schedule, setup.output_type);
    const Clocks clocks = clocks_of(dry, schedule, rows, run.rows);
    // The first lines of later kernel tiles arrive while earlier ones are computed.
    if (all.beats == 0) all.fill = clocks.fill;
    all.beats += times * clocks.beats, all.drained += times * clocks.drained;
    all.behind = clocks.behind;
  };
  const int tile = wfold_shape(config).tile_kernels();
  const WfoldSchedule whole = schedule_of(config, setup, layout, run, run.kernels);
  if (whole.all_lines() <= kLines) {
    take(run.kernels, 1, run.rows);
  } else {
    const int rows = std::min<int>(run.rows, kRows);
    if (run.kernels >= tile) take(tile, run.kernels / tile, rows);
    if (run.kernels % tile > 0) take(run.kernels % tile, 1, rows);
  }
  TaskCost cost;
  // Successive runs proceed at the pace of their results where that is slower.
  cost.cycles = std::max(all.fill + all.beats, run.ends_sums ? all.drained : 0);
  cost.latency = all.behind;
  cost.beats = whole.beats();
  return cost;
}

}  // namespace tilebeat::wfold
