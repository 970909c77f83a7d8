// The last step of a layer's choice: single fields of its mapping are changed as long as its estimate falls.
#include "base/types.h"
#include "planner/layer/choose_layer.h"
#include "planner/layer/estimate.h"
#include "planner/layer/matrix_work.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Where others begin: what they may cost above the best so far.
constexpr double kWithinReach = 1.1;
constexpr int kRounds = 3;          // over all fields
constexpr int kMostMapBuffers = 3;  // at most

class Refiner {
 public:
  Refiner(const MappingQuestion& question, const ChosenMapping& chosen, EffortCost effort)
      : q_(question),
        asked_(question.request != nullptr ? *question.request : MappingRequest{}),
        p_(question.layer.largest().layer->problem()),
        grain_(question.layer.largest().layer->grain()),
        effort_(std::move(effort)),
        best_(chosen) {
    tried_.insert(fields_of(best_.mapping));
  }

  ChosenMapping run() {
    ChosenMapping first = best_;
    if (q_.is_good_enough(first.cycles)) return first;
    descend();
    const LayerMapping own_paths = best_.mapping;
    // Other paths pay off with other tiles and loads: from the first mapping and from the best one so far.
    for (const Paths& paths : other_paths(first.mapping)) {
      if (q_.is_good_enough(best_.cycles)) break;
      for (const LayerMapping& base : {first.mapping, own_paths}) {
        ChosenMapping before = best_;
        best_.mapping = base;
        std::tie(best_.mapping.maps, best_.mapping.kernels, best_.mapping.results) = paths;
        best_.cycles = kWithinReach * before.cycles;
        descend();
        if (!is_better(best_, before)) best_ = std::move(before);
      }
    }
    if (best_.cycles > kWorthChanging * first.cycles || best_.cycles + kWorthChangingCycles > first.cycles)
      return first;
    best_.reason = fmt::format("{}; {} changes of single fields estimated, with the best ones {:.0f} cycles",
                               first.reason, changes_, best_.cycles);
    return std::move(best_);
  }

 private:
  using Paths = std::tuple<DataPath, DataPath, DataPath>;
  // One of the operands by another way, where one core needs it alone.
  std::vector<Paths> other_paths(const LayerMapping& m) const {
    std::vector<Paths> others;
    if (q_.hardware.chip->dram_path != DramPath::kAuto) return others;
    const auto change = [&](DataPath LayerMapping::*field, bool asked) {
      const DataPath now = m.*field;
      if (asked || (now != DataPath::kDirect && now != DataPath::kSram)) return;
      LayerMapping changed = m;
      changed.*field = now == DataPath::kDirect ? DataPath::kSram : DataPath::kDirect;
      others.emplace_back(changed.maps, changed.kernels, changed.results);
    };
    change(&LayerMapping::maps, asked_.maps.has_value());
    change(&LayerMapping::kernels, asked_.kernels.has_value());
    change(&LayerMapping::results, asked_.results.has_value());
    return others;
  }
  // Changes fields of `best_` as long as its estimate falls.
  void descend() {
    consider(best_.mapping);
    for (int round = 0; round < kRounds; ++round) {
      const double before = best_.cycles;
      change_loads();
      change_tiles();
      change_buffers();
      if (best_.cycles == before || q_.is_good_enough(best_.cycles)) break;
    }
  }

  CorePart part() const { return largest_part(p_, grain_, best_.mapping); }

  // Kernels that stay in WRAM come in more or fewer loads: computing begins with the first one.
  void change_loads() {
    const LayerMapping& m = best_.mapping;
    if (asked_.blocks_per_load || asked_.kernel_buffers || m.channel_parts > 1) return;
    const int blocks = part().blocks.size();
    const bool stay = m.blocks_per_load * m.kernel_buffers >= blocks;
    const int sets = stay ? m.kernel_buffers / to_int(ceil_div(blocks, m.blocks_per_load)) : 1;
    const LayerMapping base = best_.mapping;
    for (const StepOrder order : {StepOrder::kTileOuter, StepOrder::kKernelOuter}) {
      if (asked_.order.value_or(order) != order) continue;
      for (int loads = 1; loads <= blocks; ++loads) {
        LayerMapping changed = base;
        changed.order = order;
        changed.blocks_per_load = ceil_div(blocks, loads);
        changed.kernel_buffers = sets * to_int(ceil_div(blocks, changed.blocks_per_load));
        if (!consider(changed) && !stay) {  // they do not fit WRAM together
          for (const int buffers : {4, 3, 2}) {
            changed.kernel_buffers = buffers;
            if (buffers < loads && consider(changed)) break;
          }
        }
      }
    }
  }

  // Tiles of all sizes that cut a core's part evenly, in both orders, with and without rows in common.
  void change_tiles() {
    if (best_.mapping.channel_parts > 1) return;
    const CorePart all = part();
    if (!asked_.tile_rows) {
      const LayerMapping base = best_.mapping;
      for (const bool strips : {false, true}) {
        if (asked_.map_strips.value_or(strips) != strips) continue;
        for (const StepOrder order : {StepOrder::kTileOuter, StepOrder::kKernelOuter}) {
          LayerMapping changed = base;
          changed.order = order;
          if (asked_.order.value_or(order) != order || !set_strips(changed, strips, all)) continue;
          if (strips != base.map_strips && !asked_.map_buffers) changed.map_buffers = strips ? 1 : 2;
          consider_sizes(changed, &LayerMapping::tile_rows, all.rows.size(), grain_.rows);
        }
      }
    }
    if (!asked_.tile_columns && !best_.mapping.map_strips)
      consider_sizes(best_.mapping, &LayerMapping::tile_columns, all.columns.size(), grain_.columns);
  }
  void consider_sizes(const LayerMapping& m, int LayerMapping::*field, int size, int grain) {
    const int grains = ceil_div(size, grain);
    for (int tiles = 1; tiles <= grains; ++tiles) {
      LayerMapping changed = m;
      changed.*field = std::min(size, to_int(ceil_div(grains, tiles)) * grain);
      consider(changed);
    }
  }
  // Makes tiles share rows, for which they need all columns, or not. False: the request has other columns.
  bool set_strips(LayerMapping& m, bool strips, const CorePart& all) const {
    m.map_strips = strips;
    if (!strips) return true;
    const bool as_asked = !asked_.tile_columns || m.tile_columns == all.columns.size();
    m.tile_columns = all.columns.size();
    return as_asked;
  }

  // Numbers of map buffers, and tiles that share rows or do not.
  void change_buffers() {
    const CorePart all = part();
    for (const bool strips : {false, true}) {
      if (asked_.map_strips.value_or(strips) != strips) continue;
      for (int buffers = 1; buffers <= kMostMapBuffers && !asked_.map_buffers; ++buffers) {
        LayerMapping changed = best_.mapping;
        changed.map_buffers = buffers;
        if (!set_strips(changed, strips, all) || (strips && buffers > all.images.size())) break;
        consider(changed);
      }
    }
  }

  // Takes a mapping with a lower estimate. Returns whether it fits.
  bool consider(const LayerMapping& m) {
    if (!tried_.insert(fields_of(m)).second) return true;
    try {
      footprint_of({q_.layer, q_.hardware, m, q_.output});
      ++changes_;
      const double cycles = estimated_cycles(q_, m, graph_, best_.cycles, kWorthChanging);
      if (cycles < best_.cycles) best_.mapping = m, best_.cycles = cycles;
    } catch (const UserError&) {
      return false;
    }
    return true;
  }
  // A mapping that occupies more of the chip has to be clearly faster.
  bool is_better(const ChosenMapping& one, const ChosenMapping& other) const {
    const double more = effort_(one.mapping) - effort_(other.mapping);
    if (more <= 0) return one.cycles < other.cycles;
    return one.cycles < kClearlyFaster * other.cycles && one.cycles + kClearlyFewer + more < other.cycles;
  }

  const MappingQuestion& q_;
  MappingRequest asked_;
  const Problem& p_;
  Grain grain_;
  EffortCost effort_;
  ChosenMapping best_;
  std::set<FieldsOfMapping> tried_;
  TaskGraph graph_;
  int changes_ = 0;
};

}  // namespace

FieldsOfMapping fields_of(const LayerMapping& m) {
  return {{m.row_parts, m.column_parts, m.kernel_parts, m.image_parts, m.group_parts, m.reduction_parts,
           m.kernels_per_block, m.tile_rows, m.tile_columns, m.blocks_per_load, m.channel_parts,
           m.map_buffers, m.kernel_buffers},
          m.map_strips,
          m.order,
          m.maps,
          m.kernels,
          m.results};
}

ChosenMapping refined(const MappingQuestion& question, const ChosenMapping& chosen,
                      const EffortCost& effort) {
  return Refiner(question, chosen, effort).run();
}

}  // namespace tilebeat
