#include "run_cost.h"

#include "tilebeat/base/math.h"
#include "tilebeat/isa/operations.h"

#include <algorithm>

#include "dry_run.h"

namespace tilebeat::wfold {
namespace {

constexpr int kRows = 6;               // that a dry run goes through
constexpr std::int64_t kLines = 4096;  // after which it has gone through enough

struct Clocks {
  double beats = 0;    // to the end of the last beat
  double fill = 0;     // to the first
  double drained = 0;  // results leaving
  double behind = 0;   // from the last beat to the last result stored
};

// The clocks of one kernel tile of `kernels` kernels.
Clocks clocks_of(const HardwareConfig& hardware, const ConvSetup& setup, const WfoldRun& run, int kernels) {
  const WfoldConfig& config = hardware.engine<WfoldConfig>();
  WfoldGeometry geometry = geometry_of(setup, run);
  geometry.kernels = kernels;
  const WfoldSchedule schedule(wfold_shape(config), geometry);
  DryRun dry(hardware, run, schedule, setup.output_type);
  const std::int64_t a_row = schedule.tiles() / run.rows;
  std::vector<Cycle> ends;
  std::int64_t lines = 0;
  for (int row = 0; row < run.rows && row < kRows && (row < 3 || lines < kLines); ++row) {
    for (std::int64_t tile = 0; tile < a_row; ++tile) dry.tile();
    lines += a_row * schedule.lines_per_tile();
    ends.push_back(dry.beats_end());
  }
  Clocks clocks;
  const auto gone = static_cast<int>(ends.size());
  clocks.beats = static_cast<double>(ends.back());
  if (gone < run.rows) {
    // The first row may be padding.
    clocks.beats +=
        static_cast<double>(run.rows - gone) * static_cast<double>(ends.back() - ends[1]) / (gone - 2);
  }
  clocks.fill = static_cast<double>(dry.first_beat());
  clocks.drained =
      run.ends_sums ? static_cast<double>(run.rows) * run.columns * ceil_div(kernels * 4, config.line_bytes)
                    : 0;
  clocks.behind = static_cast<double>(std::max<Cycle>(1, dry.stored() - dry.beats_end()));
  return clocks;
}

}  // namespace

const TaskCost& RunCosts::of(const ConvSetup& setup, const WfoldRun& run) {
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
                static_cast<int>(run.read_mode)};
  const auto [found, added] = known_.try_emplace(key);
  TaskCost& cost = found->second;
  if (!added) return cost;
  const int tile = wfold_shape(hardware_.engine<WfoldConfig>()).tile_kernels();
  const int whole = run.kernels / tile, rest = run.kernels % tile;
  double beats = 0, drained = 0, fill = 0;
  const auto take = [&](int kernels, int times) {
    const Clocks clocks = clocks_of(hardware_, setup, run, kernels);
    beats += times * (clocks.beats - clocks.fill);  // the lines of the next ones come meanwhile
    drained += times * clocks.drained;
    cost.latency = clocks.behind;
    if (fill == 0) fill = clocks.fill;
  };
  if (whole > 0) take(tile, whole);
  if (rest > 0) take(rest, 1);
  cost.cycles = std::max(fill + beats, drained);
  return cost;
}

}  // namespace tilebeat::wfold
