#include "planner/layer/mapping_set.h"

#include "base/types.h"
#include "planner/layer/board_job.h"
#include "planner/layer/choose_layer.h"
#include "planner/layer/estimate.h"
#include "planner/layer/matrix_work.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace tilebeat {
namespace {

constexpr int kMapBuffers = 3;  // of the grid, at most

// The sizes of a part when `all` is cut evenly into any number of parts.
std::vector<int> even_cuts(int all) {
  std::set<int> sizes;
  for (int parts = 1; parts <= all; ++parts) sizes.insert(ceil_div(all, parts));
  return {sizes.begin(), sizes.end()};
}
// Of the numbers of parts from 1 to `most`, those that make the largest part smaller.
std::vector<int> numbers_of_parts(int all, int most) {
  std::vector<int> numbers;
  for (int parts = 1; parts <= std::min(all, most); ++parts) {
    if (numbers.empty() || ceil_div(all, parts) < ceil_div(all, numbers.back())) numbers.push_back(parts);
  }
  return numbers;
}

// All that fit of the grid, of a layer in shards.
class Grid {
 public:
  using Use = std::function<void(const LayerMapping&)>;
  Grid(const ShardedLayer& layer, const HardwareConfig& hardware, const TensorLayout& output, Use use)
      : layer_(layer),
        hardware_(hardware),
        chip_(*hardware.chip),
        output_(output),
        use_(std::move(use)),
        of_core_(*layer.largest().layer),
        p_(of_core_.problem()),
        grain_(of_core_.grain()) {}

  void run() const {
    LayerMapping m;
    m.layer = p_.name, m.kernels_per_block = p_.block_kernels;
    m.reduction_parts = layer_.cores(), m.group_parts = layer_.group_parts();
    const int groups = reduction_groups_of(chip_, m.reduction_parts) / m.group_parts;
    const Split most{ceil_div(p_.out_height, grain_.rows), ceil_div(p_.out_width, grain_.columns),
                     p_.kernel_blocks()};
    for (const int images : numbers_of_parts(p_.batch, groups)) {
      for (const Split& split : splits_of(groups / images, most)) {
        m.image_parts = images, m.row_parts = split.rows, m.column_parts = split.columns;
        m.kernel_parts = split.kernels;
        add_loads(m, largest_part(p_, grain_, m));
      }
    }
  }

 private:
  void add_loads(LayerMapping m, const CorePart& part) const {
    const int channels = of_core_.reduces() ? ceil_div(p_.channels, grain_.channels) : 1;
    for (const int channel_parts : numbers_of_parts(channels, channels)) {
      m.channel_parts = channel_parts;
      for (const int blocks : channel_parts > 1 ? std::vector{1} : even_cuts(part.blocks.size())) {
        m.blocks_per_load = blocks;
        const int loads = to_int(ceil_div(part.blocks.size(), blocks)) * channel_parts;
        for (const int buffers : std::set<int>{1, 2, loads}) {
          m.kernel_buffers = buffers;
          if (buffers <= loads && fits(m, grain_.rows, 1)) add_tiles(m, part);
        }
      }
    }
  }

  void add_tiles(LayerMapping m, const CorePart& part) const {
    const bool one = m.channel_parts > 1;
    const int rows = part.rows.size(), columns = part.columns.size();
    for (const int height : even_cuts(ceil_div(rows, grain_.rows))) {
      for (const int width : even_cuts(ceil_div(columns, grain_.columns))) {
        if (one && (height > 1 || width > 1)) continue;
        m.tile_rows = std::min(rows, height * grain_.rows);
        m.tile_columns = std::min(columns, width * grain_.columns);
        const int of_image = to_int(ceil_div(rows, m.tile_rows) * ceil_div(columns, m.tile_columns));
        add_buffers(m, part, of_image);
      }
    }
  }

  // Rows are shared where tiles need common rows, or need their rows again for other kernels.
  void add_buffers(LayerMapping m, const CorePart& part, int of_image) const {
    const bool stay = m.channel_parts == 1 && m.blocks_per_load * m.kernel_buffers >= part.blocks.size();
    const bool common = (p_.conv.kernel[0] - 1) * p_.conv.dilation[0] >= p_.conv.stride[0];
    const int images = part.images.size();
    for (const bool strips : {false, true}) {
      if (strips && (of_image == 1 || (stay && !common))) continue;
      m.map_strips = strips;
      for (int buffers = 1; buffers <= std::min(kMapBuffers, strips ? images : of_image * images);
           ++buffers) {
        m.map_buffers = buffers;
        for (const StepOrder order : {StepOrder::kTileOuter, StepOrder::kKernelOuter}) {
          // Kernels that stay are loaded once in either order; where maps stay, too, it says what comes
          // first.
          const bool maps_stay = buffers >= (strips ? images : of_image * images);
          const bool one_step =
              of_image * images == 1 || (m.channel_parts == 1 && m.blocks_per_load >= part.blocks.size());
          if (order == StepOrder::kKernelOuter && (one_step || (stay && !maps_stay))) continue;
          m.order = order;
          add_paths(m);
        }
      }
    }
  }

  void add_paths(LayerMapping m) const {
    for (const Paths& paths : paths_) {
      std::tie(m.maps, m.kernels, m.results) = paths;
      if (fits(m, m.tile_rows, m.tile_columns)) use_(m);
    }
  }

  using Paths = std::tuple<DataPath, DataPath, DataPath>;
  static std::vector<Paths> paths_of(const ChipConfig& chip) {
    constexpr DataPath kDirect = DataPath::kDirect, kSram = DataPath::kSram;
    std::vector<Paths> paths{{kSram, kSram, kSram}};
    if (chip.dram_path == DramPath::kDirect) return {{kDirect, kDirect, kDirect}};
    std::vector<DataPath> shared;  // where one load is for several cores
    if (chip.cores_per_cluster > 1) shared.push_back(DataPath::kBroadcast);
    if (chip.clusters > 1) shared.push_back(DataPath::kChain);
    const bool all = chip.dram_path == DramPath::kSram;
    const DataPath alone = all ? kSram : kDirect;
    for (const DataPath path : shared) {
      paths.insert(paths.end(), {{path, alone, alone}, {alone, path, alone}});
      for (const DataPath other : shared) paths.emplace_back(path, other, alone);
    }
    if (!all)
      paths.insert(paths.end(), {{kDirect, kDirect, kDirect},
                                 {kSram, kDirect, kDirect},
                                 {kDirect, kSram, kDirect},
                                 {kDirect, kDirect, kSram}});
    return paths;
  }

  bool fits(LayerMapping m, int rows, int columns) const {
    m.tile_rows = rows, m.tile_columns = columns;
    try {
      footprint_of({layer_, hardware_, m, output_});
      return true;
    } catch (const UserError&) {
      return false;
    }
  }

  const ShardedLayer& layer_;
  const HardwareConfig& hardware_;
  const ChipConfig& chip_;
  const TensorLayout& output_;
  Use use_;
  const MatrixLayer& of_core_;
  const Problem& p_;
  Grain grain_;
  std::vector<Paths> paths_ = paths_of(chip_);
};

}  // namespace

MappingSet::MappingSet(const Workload& workload, const HardwareConfig& hardware, std::size_t most)
    : workload_(workload), hardware_(hardware), most_(most) {
  const Layer& layer = workload.layers.front();
  DramPlaces(hardware, places_).place_tensors(workload, {});
  std::shared_ptr<MatrixLayer> whole = make_matrix_layer(workload, layer, hardware);
  const OperandLayouts layouts = operand_layouts(whole->problem(), places_.tensors.at(layer.inputs.front()),
                                                 places_.tensors.at(layer.name));
  output_ = layouts.output;
  OperandPlaces places{layouts.input, std::nullopt};
  if (whole->problem().kernel_tensor) places.kernels = kernels_at(places_.tensors.at(layer.inputs.at(1)));
  for (auto& size : whole->other_block_sizes()) add_layer(whole_layer(std::move(size), places, hardware));
  add_layer(whole_layer(whole, places, hardware));
  const auto add_shards = [&](ShardCut cut, int parts_most) {
    for (int parts = 2; parts <= parts_most; parts *= 2) {
      try {
        for (ShardedLayer& shards : sharded_layers(workload, layer, hardware, *whole, cut, parts, places))
          add_layer(std::move(shards));
      } catch (const UserError&) {  // the layer cannot be cut so
      }
    }
  };
  add_shards(ShardCut::kGroups, most_group_parts(*whole, *hardware.chip));
  add_shards(ShardCut::kChannels, largest_reduction_group(*whole, *hardware.chip));
  if (size_ > static_cast<std::int64_t>(most_)) mappings_.clear(), layer_of_.clear();
}

void MappingSet::add_layer(ShardedLayer layer) {
  layers_.push_back(std::move(layer));
  const ShardedLayer& added = layers_.back();
  std::set<FieldsOfMapping> listed;
  try {
    for (const MappingCandidate& candidate :
         mapping_candidates({added, hardware_, output_, true, false, nullptr})) {
      if (listed.insert(fields_of(candidate.mapping)).second) add(candidate.mapping);
    }
  } catch (const UserError&) {  // by the planner's own list nothing fits
  }
  Grid(added, hardware_, output_, [&](const LayerMapping& mapping) {
    if (listed.count(fields_of(mapping)) == 0) add(mapping);
  }).run();
}

void MappingSet::add(const LayerMapping& mapping) {
  ++size_;
  if (mappings_.size() >= most_) return;
  mappings_.push_back(mapping);
  mappings_.back().layer = workload_.layers.front().name;
  mappings_.back().engine = hardware_.dataflow;
  mappings_.back().engine_choices = layers_.back().largest().layer->choices();
  layer_of_.push_back(layers_.size() - 1);
}

std::optional<MappingSet::Cost> MappingSet::cost(std::size_t number, TaskGraph& graph, double limit) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const ShardedLayer& layer = layers_[layer_of_[number]];
  const LayerMapping& m = mappings_[number];
  graph.shrink({});
  LeastWork work(graph, hardware_);
  try {
    add_estimated_tasks(graph, {layer, hardware_, m, output_}, [&] { return work.now() >= limit; });
  } catch (const UserError&) {
    return {};
  }
  if (const double least = work.now(); least >= limit) return Cost{least, kNever};
  const std::vector<Dependency> dependencies = dependencies_of(graph);
  const double least = least_cycles(graph, dependencies, hardware_);
  if (least >= limit) return Cost{least, kNever};
  const Machine machine = machine_of(hardware_, processors_of(*hardware_.chip, m));
  return Cost{least, schedule(graph, dependencies, machine).cycles};
}

}  // namespace tilebeat
