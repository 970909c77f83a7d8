#include "planner/fusion/group_tasks.h"

#include "base/types.h"
#include "planner/fusion/cluster_tasks.h"
#include "planner/fusion/pyramid.h"
#include "planner/layer/estimate.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

namespace tilebeat {
namespace {

constexpr std::uint64_t kVirtual = std::uint64_t{1} << 60;
constexpr int kVirtualShift = 44;

using Clusters = std::vector<std::unique_ptr<ClusterTasks>>;

std::vector<MostOutputs> most_of(const std::vector<ClusterRows>& rows, const GroupWork& work) {
  std::vector<MostOutputs> most(work.graph.layers.size());
  const GroupAxes down = row_axes(work.workload, work.graph),
                  across = row_axes(work.workload, work.graph, MapAxis::kColumns);
  for (std::size_t l = 0; l < most.size(); ++l) {
    const int output = work.graph.layers[l].output;
    for (const ClusterRows& of : rows) {
      most[l].rows = std::max(most[l].rows, of.most_computed(output, down[l].front()));
      most[l].columns = std::max(most[l].columns, of.most_computed_columns(output, across[l].front()));
      most[l].made_rows = std::max(most[l].made_rows, of.most_rows(output));
      most[l].made_columns = std::max(most[l].made_columns, of.most_columns(output));
      most[l].images = std::max(most[l].images, of.most_images());
    }
  }
  return most;
}

Clusters clusters_of(TaskGraph& graph, const GroupWork& work, PlannedUse& use,
                     std::optional<std::int64_t> sram = {}) {
  std::vector<ClusterRows> rows = rows_of_clusters(work);
  const std::vector<MostOutputs> most = most_of(rows, work);
  std::vector<Pyramid> pyramids = pyramids_of(work);
  Clusters clusters;
  for (ClusterRows& of : rows)
    clusters.push_back(std::make_unique<ClusterTasks>(graph, work, std::move(of), most, pyramids, use, sram));
  std::int64_t room = INT64_MAX;
  for (const auto& cluster : clusters) room = std::min(room, cluster->stream_room());
  for (const auto& cluster : clusters) cluster->make_loads(sram.has_value(), room);
  return clusters;
}

// A load of a cluster; all clusters that compute a layer have the same loads.
using ClusterLoad = std::pair<ClusterTasks*, const GroupWeights::Load*>;

// Loads the same data into several clusters, with a single fetch for the chip where possible.
void load(const std::vector<ClusterLoad>& loads, std::size_t turn, const GroupWork& work, PlannedUse& use) {
  const auto count = count_of(loads);
  const std::int64_t bytes = bytes_of(loads.front().second->transfers);
  const bool direct = work.hardware.chip->dram_path == DramPath::kDirect;
  if (!direct && kernel_fetches(work.hardware, count) < count) {
    std::vector<Staging::Link> links;
    for (const auto& [cluster, one] : loads) links.push_back(cluster->link(*one));
    use.bytes.kernels += Staging::load(std::move(links), turn) * bytes;
    return;
  }
  for (const auto& [cluster, one] : loads) use.bytes.kernels += cluster->load_alone(*one) * bytes;
}

// Loads resident kernels, and factors.
void load_weights(const Clusters& clusters, const GroupWork& work, PlannedUse& use) {
  for (std::size_t i = 0; i < clusters.front()->loads().size(); ++i) {
    std::vector<ClusterLoad> loads;
    for (const auto& cluster : clusters) loads.emplace_back(cluster.get(), &cluster->loads()[i]);
    load(loads, i, work, use);
  }
}

// All clusters compute a layer at the same time, portion by portion of its kernels.
void run_streamed(const Clusters& clusters, const GroupWork& work, PlannedUse& use,
                  const EnoughTasks& enough) {
  int steps = 0;
  for (const auto& cluster : clusters) steps = std::max(steps, cluster->steps());
  std::size_t turn = 0;
  for (int step = 0; step < steps && !(enough && enough()); ++step) {
    std::vector<ClusterTasks*> working;
    for (const auto& cluster : clusters) {
      if (step < cluster->steps()) working.push_back(cluster.get());
    }
    for (ClusterTasks* cluster : working) cluster->begin(step);
    for (std::size_t l = 0; l < work.layers.size(); ++l) {
      std::vector<ClusterTasks*> makers;
      std::copy_if(working.begin(), working.end(), std::back_inserter(makers),
                   [l](const ClusterTasks* cluster) { return cluster->makes(l); });
      if (makers.empty()) continue;
      const int portions = work.layers[l].matrix != nullptr ? makers.front()->weights().portions(l) : 1;
      for (int portion = 0; portion < portions; ++portion) {
        if (makers.front()->weights().is_product(l)) {
          for (ClusterTasks* cluster : makers) cluster->load_product(l, portion);
        } else if (work.layers[l].matrix != nullptr) {
          std::vector<std::vector<GroupWeights::Load>> loads;  // by cluster
          for (ClusterTasks* cluster : makers) loads.push_back(cluster->weights().fill(l, portion));
          for (std::size_t i = 0; i < loads.front().size(); ++i) {
            std::vector<ClusterLoad> one;
            for (std::size_t c = 0; c < makers.size(); ++c) one.emplace_back(makers[c], &loads[c][i]);
            load(one, turn++, work, use);
          }
        }
        for (ClusterTasks* cluster : makers) cluster->run_layer(l, portion);
      }
    }
    for (ClusterTasks* cluster : working) cluster->end();
  }
}

void run_resident(ClusterTasks& cluster, const GroupWork& work, const EnoughTasks& enough) {
  for (int step = 0; step < cluster.steps() && !(enough && enough()); ++step) {
    cluster.begin(step);
    for (std::size_t l = 0; l < work.layers.size(); ++l) cluster.run_layer(l, 0);
    cluster.end();
  }
}

}  // namespace

int GroupWork::largest_reduction_group() const {
  int largest = 1;
  for (const GroupLayerWork& layer : layers) {
    if (layer.matrix != nullptr) largest = std::max(largest, layer.matrix->cores());
  }
  return largest;
}

std::vector<MostOutputs> most_outputs(const GroupWork& work) {
  return most_of(rows_of_clusters(work), work);
}

int kernel_fetches(const HardwareConfig& hardware, int clusters) {
  const double links =
      static_cast<double>(hardware.chip->cluster_link.bytes_per_clock) * static_cast<double>(clusters);
  if (links < machine_of(hardware, {}).dram_bytes_per_clock) return clusters;
  return ceil_div(clusters, to_int(Staging::kMostLinks));
}

std::uint64_t group_address(const GroupGraph& graph, const std::vector<std::uint64_t>& addresses,
                            int tensor) {
  if (tensor == graph.output()) return nth(addresses, tensor);
  return kVirtual + (to_unsigned(tensor) << kVirtualShift);
}

int group_tensor(std::uint64_t address) {
  return to_int((address - kVirtual) >> kVirtualShift);
}

PlannedUse add_group_tasks(TaskGraph& graph, const GroupWork& work, const EnoughTasks& enough) {
  PlannedUse use;
  const Clusters clusters = clusters_of(graph, work, use);
  load_weights(clusters, work, use);
  if (work.kernels == GroupKernels::kStreamed) {
    run_streamed(clusters, work, use, enough);
  } else {
    for (const auto& cluster : clusters) run_resident(*cluster, work, enough);
  }
  const GroupTensor& output = nth(work.graph.tensors, work.graph.output());
  use.bytes.results = output.info.size_bytes();
  return use;
}

PlannedUse add_unit_prefetch(TaskGraph& graph, const GroupWork& work, std::int64_t sram) {
  PlannedUse use;
  load_weights(clusters_of(graph, work, use, sram), work, use);
  use.sram = std::max(use.sram, sram);
  return use;
}

std::vector<std::int64_t> wram_of_unit_loads(const GroupWork& work) {
  TaskGraph graph;
  PlannedUse use;
  return clusters_of(graph, work, use, 0).front()->weights().wram_of_loads();
}

namespace {

std::int64_t wram_of(const GroupWeights& weights) {
  if (weights.streamed()) return weights.kernel_bytes();
  const std::vector<std::int64_t> bytes = weights.wram_of_loads();
  return bytes.empty() ? 0 : bytes.back();
}

}  // namespace

std::int64_t wram_of_unit(const GroupWork& work) {
  TaskGraph graph;
  PlannedUse use;
  return wram_of(clusters_of(graph, work, use, 0).front()->weights());
}

namespace {

// The bytes that a step's layers read, and those of the results, of a tensor.
std::int64_t step_bytes(const ClusterRows& of, std::size_t part, Interval rows, const GroupTensor& tensor,
                        int number) {
  return std::int64_t{of.parts[part].images} * rows.size() * nth(of.columns[part], number).size() *
         tensor.pixel_bytes();
}

// Adds what the steps of a cluster read, make and load.
void add_steps(const GroupWork& work, const ClusterTasks& cluster, GroupNeeds& needs) {
  const ClusterRows& of = cluster.rows();
  const std::int64_t cores = work.cores;
  const GroupWeights& weights = cluster.weights();
  const bool through_sram = work.hardware.chip->dram_path != DramPath::kDirect;
  std::int64_t load = weights.largest_load();
  for (const GroupWeights::Load& one : cluster.loads()) load = std::max(load, bytes_of(one.transfers));
  const std::int64_t staged = through_sram ? Staging::wanted(load, work.hardware.chip->sram_bytes()) : 0;
  for (std::size_t p = 0; p < of.parts.size(); ++p) {
    for (int s = 0; s < of.schedules[p].steps(); ++s) {
      std::int64_t in = 0;
      for (std::size_t t = 0; t < work.graph.tensors.size(); ++t) {
        const GroupTensor& tensor = work.graph.tensors[t];
        if (tensor.producer < 0)
          in += step_bytes(of, p, of.schedules[p].read(s, to_int(t)), tensor, to_int(t));
      }
      const int output = work.graph.output();
      const std::int64_t out =
          step_bytes(of, p, of.schedules[p].made(s, output), nth(work.graph.tensors, output), output);
      const bool loads = weights.streamed() || needs.step_in.empty();
      needs.step_in.push_back(ceil_div(in, cores)), needs.step_out.push_back(ceil_div(out, cores));
      needs.step_kernels.push_back(loads ? staged : 0);
      needs.step_wram.push_back(weights.streamed() ? weights.slot_bytes() : loads ? needs.kernels : 0);
    }
  }
}

}  // namespace

GroupNeeds needs_of_unit(const GroupWork& work) {
  TaskGraph graph;
  PlannedUse use;
  const Clusters clusters = clusters_of(graph, work, use, 0);
  GroupNeeds needs;
  needs.kernels = wram_of(clusters.front()->weights());
  needs.nram = clusters.front()->nram_bytes();
  for (std::size_t t = 0; t < work.graph.tensors.size(); ++t) {
    const GroupTensor& tensor = work.graph.tensors[t];
    const auto number = to_int(t);
    if (number == work.graph.output() || work.holdings[t] == Holding::kNram) continue;
    std::int64_t held = 0;
    for (const auto& cluster : clusters) {
      const ClusterRows& of = cluster->rows();
      held =
          std::max(held, std::int64_t{of.most_live(number)} * of.most_columns(number) * tensor.pixel_bytes());
    }
    (tensor.producer < 0 ? needs.in : needs.cache) += held;
    if (tensor.producer >= 0) continue;
    const std::int64_t loaded = made_pixels(work, {}, number) * tensor.pixel_bytes();
    needs.loaded += loaded, needs.loaded_once += std::min(loaded, tensor.info.size_bytes());
  }
  const int output = work.graph.output();
  for (const auto& cluster : clusters) {
    const ClusterRows& of = cluster->rows();
    needs.out = std::max(needs.out, std::int64_t{of.most_made(output)} * of.most_columns(output) *
                                        nth(work.graph.tensors, output).pixel_bytes());
  }
  if (work.results == DataPath::kSram) needs.cache += needs.out;
  add_steps(work, *clusters.front(), needs);
  return needs;
}

namespace {

// Cuts each part into strips of columns, side by side.
std::vector<OutputPart> in_strips(const std::vector<OutputPart>& parts, int width, int strip) {
  std::vector<OutputPart> strips;
  for (const OutputPart& part : parts) {
    for (int column = 0; column < width; column += strip) {
      strips.push_back(part);
      strips.back().columns = {column, std::min(width, column + strip)};
    }
  }
  return strips;
}

std::vector<OutputPart> parts_of(const GroupWork& work, int cluster) {
  const GroupTensor& output = nth(work.graph.tensors, work.graph.output());
  const Interval rows = part_of(output.images() * output.height(), work.clusters, cluster, 1);
  std::vector<OutputPart> parts;
  for (int image = 0; image < output.images(); ++image) {
    const int first = image * output.height();
    const Interval part{std::max(rows.begin, first) - first,
                        std::min(rows.end, first + output.height()) - first};
    if (part.empty()) continue;
    const bool joins = part.size() == output.height() && !parts.empty() && parts.back().rows == part &&
                       parts.back().images < work.step_maps;
    if (joins)
      ++parts.back().images;
    else
      parts.push_back({image, 1, part, work.step_rows, {}});
  }
  return in_strips(parts, output.map.width, work.step_columns);
}

}  // namespace

int ClusterRows::most_made(int tensor) const {
  int most = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (int s = 0; s < schedules[p].steps(); ++s)
      most = std::max(most, parts[p].images * schedules[p].made(s, tensor).size());
  }
  return most;
}

int ClusterRows::most_computed(int tensor, const RowAxis& axis) const {
  int most = 0;
  for (const RowSchedule& schedule : schedules) {
    for (int s = 0; s < schedule.steps(); ++s) most = std::max(most, axis.computed(schedule.made(s, tensor)));
  }
  return most;
}

int ClusterRows::most_live(int tensor) const {
  int most = 0;
  for (std::size_t p = 0; p < parts.size(); ++p)
    most = std::max(most, parts[p].images * schedules[p].live_rows(tensor));
  return most;
}

int ClusterRows::most_rows(int tensor) const {
  int most = 0;
  for (const RowSchedule& schedule : schedules) {
    for (int s = 0; s < schedule.steps(); ++s) most = std::max(most, schedule.made(s, tensor).size());
  }
  return most;
}

int ClusterRows::most_images() const {
  int most = 1;
  for (const OutputPart& part : parts) most = std::max(most, part.images);
  return most;
}

int ClusterRows::most_columns(int tensor) const {
  int most = 0;
  for (const std::vector<Interval>& of : columns) most = std::max(most, nth(of, tensor).size());
  return most;
}

int ClusterRows::most_computed_columns(int tensor, const RowAxis& axis) const {
  int most = 0;
  for (const std::vector<Interval>& of : columns) most = std::max(most, axis.computed(nth(of, tensor)));
  return most;
}

std::vector<ClusterRows> rows_of_clusters(const GroupWork& work) {
  const GroupAxes rows = row_axes(work.workload, work.graph),
                  columns = row_axes(work.workload, work.graph, MapAxis::kColumns);
  std::vector<ClusterRows> clusters;
  for (int cluster = 0; cluster < work.clusters; ++cluster) {
    ClusterRows of{cluster, parts_of(work, cluster), {}, {}};
    for (const OutputPart& part : of.parts) {
      of.schedules.emplace_back(work.graph, work.holdings, rows, part);
      of.columns.push_back(columns_of(work.graph, columns, part.columns));
    }
    if (!of.parts.empty()) clusters.push_back(std::move(of));
  }
  return clusters;
}

std::vector<Pyramid> shaped_pyramids(const GroupWork& work) {
  if (pyramids_of(work).empty()) return {};
  TaskGraph graph;
  PlannedUse use;
  return clusters_of(graph, work, use, 0).front()->pyramids();
}

namespace {

// Calls `visit` with what each part of a pyramid makes, by tensor, and the number of images with this part.
void for_each_part(const GroupWork& work, const Pyramid& pyramid,
                   const std::function<void(const std::vector<Region>&, int images)>& visit) {
  const GroupAxes down = row_axes(work.workload, work.graph),
                  across = row_axes(work.workload, work.graph, MapAxis::kColumns);
  const int output = work.graph.layers[pyramid.layers.back()].output;
  for (const ClusterRows& of : rows_of_clusters(work)) {
    for (std::size_t p = 0; p < of.parts.size(); ++p) {
      for (int s = 0; s < of.schedules[p].steps(); ++s) {
        for (const Region& part :
             parts_of(pyramid, {of.schedules[p].made(s, output), nth(of.columns[p], output)}))
          visit(regions_of(pyramid, work, down, across, part), of.parts[p].images);
      }
    }
  }
}

// The pyramid with a layer; null: there is none.
const Pyramid* pyramid_with(const std::vector<Pyramid>& pyramids, std::size_t layer) {
  const auto found = std::find_if(pyramids.begin(), pyramids.end(), [layer](const Pyramid& pyramid) {
    return std::count(pyramid.layers.begin(), pyramid.layers.end(), layer) > 0;
  });
  return found == pyramids.end() ? nullptr : &*found;
}

}  // namespace

std::int64_t made_pixels(const GroupWork& work, const std::vector<Pyramid>& pyramids, int tensor) {
  std::int64_t made = 0;
  const int producer = nth(work.graph.tensors, tensor).producer;
  const Pyramid* pyramid = producer < 0 ? nullptr : pyramid_with(pyramids, to_size(producer));
  if (pyramid != nullptr) {
    for_each_part(work, *pyramid, [&](const std::vector<Region>& regions, int images) {
      const Region& of = nth(regions, tensor);
      made += std::int64_t{images} * of.rows.size() * of.columns.size();
    });
    return made;
  }
  for (const ClusterRows& of : rows_of_clusters(work)) {
    for (std::size_t p = 0; p < of.parts.size(); ++p)
      made += of.parts[p].images * of.schedules[p].made_rows(tensor) * nth(of.columns[p], tensor).size();
  }
  return made;
}

std::int64_t computed_outputs(const GroupWork& work, const std::vector<Pyramid>& pyramids,
                              std::size_t layer) {
  const GroupLayer& of_unit = work.graph.layers[layer];
  const auto axis_of = [&](MapAxis axis) {
    return *row_axis(work.workload, *of_unit.layer, 0, work.graph.view, axis);
  };
  const RowAxis down = axis_of(MapAxis::kRows), across = axis_of(MapAxis::kColumns);
  std::int64_t computed = 0;
  if (const Pyramid* pyramid = pyramid_with(pyramids, layer)) {
    for_each_part(work, *pyramid, [&](const std::vector<Region>& regions, int images) {
      const Region& of = nth(regions, of_unit.output);
      computed += std::int64_t{images} * down.computed(of.rows) * across.computed(of.columns);
    });
    return computed;
  }
  for (const ClusterRows& of : rows_of_clusters(work)) {
    for (std::size_t p = 0; p < of.parts.size(); ++p) {
      std::int64_t rows = 0;
      for (int s = 0; s < of.schedules[p].steps(); ++s)
        rows += down.computed(of.schedules[p].made(s, of_unit.output));
      computed += of.parts[p].images * rows * across.computed(nth(of.columns[p], of_unit.output));
    }
  }
  return computed;
}

}  // namespace tilebeat
