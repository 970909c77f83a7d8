#include "resident_weights.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"
#include "tilebeat/isa/address_map.h"

#include <algorithm>

#include <fmt/format.h>

#include "estimate.h"
#include "processors.h"

namespace tilebeat {

ResidentWeights::ResidentWeights(TaskGraph& graph, const UnitWork& work)
    : graph_(graph), work_(work), chip_(*work.hardware.chip), layers_(work.layers.size()) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const VectorWork* vector = work.layers[l].vector;
    if (vector == nullptr) continue;
    layers_[l].factors_at = factor_bytes_;
    layers_[l].factors = graph_.add_buffer(BufferRole::kKernels);
    factor_bytes_ += vector->parameter_room();
  }
}

void ResidentWeights::split(const std::vector<MostOutputs>& most, ClusterShare share) {
  place(most, share);
  if (kernel_bytes_ <= chip_.core.wram.size_bytes) return;
  share.fewest_kernels = true;
  place(most, share);
  if (kernel_bytes_ > chip_.core.wram.size_bytes) {
    throw UserError(
        fmt::format("the unit of layer '{}' cannot fit: its kernels take {} bytes of a core, "
                    "chip.core.wram.size_bytes is {}",
                    work_.graph.layers.back().layer->name, kernel_bytes_, chip_.core.wram.size_bytes));
  }
}

void ResidentWeights::place(const std::vector<MostOutputs>& most, ClusterShare share) {
  int regions = 1;
  for (const UnitLayerWork& layer : work_.layers) {
    if (layer.matrix != nullptr) regions = layer.weights->image.regions;
  }
  const auto first = static_cast<std::uint64_t>(work_.wram_at / regions);
  std::uint64_t end = first;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const UnitLayerWork& layer = work_.layers[l];
    if (layer.matrix == nullptr) continue;
    share.rows = most[l].rows, share.columns = most[l].columns;
    layers_[l].mapping = split_over_cluster(*layer.matrix, chip_, share);
    layer.matrix->cut_jobs(largest_job(*layer.matrix, layers_[l].mapping),
                           core_path(chip_, work_.hardware.dma), chip_.core.bus.bytes_per_clock);
    place_groups(l, end);
  }
  kernel_bytes_ = static_cast<std::int64_t>(end - first) * regions;
}

// Cores with different kernels have them at the same places.
void ResidentWeights::place_groups(std::size_t l, std::uint64_t& end) {
  const UnitLayerWork& layer = work_.layers[l];
  OfLayer& of = layers_[l];
  const Problem& p = layer.matrix->problem();
  const auto bytes = static_cast<std::uint64_t>(group_bytes(*layer.matrix, *layer.weights, of.mapping) /
                                                layer.weights->image.regions);
  std::uint64_t most = 0;
  of.groups.clear();
  for (int part = 0; part < of.mapping.kernel_parts; ++part) {
    std::uint64_t at = 0;
    for (const KernelGroup& group :
         kernel_groups(p, of.mapping, layer.matrix->grain(),
                       part_of(p.kernel_blocks(), of.mapping.kernel_parts, part, 1))) {
      of.groups.push_back({group, part, end + at, graph_.add_buffer(BufferRole::kKernels)});
      at += bytes;
    }
    most = std::max(most, at);
  }
  end += most;
}

std::vector<Transfer> ResidentWeights::transfers(std::size_t l, const Group& group) const {
  const LayerMapping& m = layers_[l].mapping;
  std::uint64_t cores = 0;
  for (int c = 0; c < m.cores(); ++c) {
    if (c % m.kernel_parts == group.part) cores |= std::uint64_t{1} << c;
  }
  return weight_transfers(*work_.layers[l].matrix, *work_.layers[l].weights, group.group,
                          multicast_address(cores, true, group.offset));
}

Transfer ResidentWeights::transfer_of_factors(std::size_t l) const {
  const std::uint64_t cores = (std::uint64_t{1} << chip_.cores_per_cluster) - 1;
  return {work_.layers[l].parameters,
          multicast_address(cores, false, static_cast<std::uint64_t>(layers_[l].factors_at)),
          one_run(static_cast<std::int64_t>(work_.layers[l].vector->parameters().size()))};
}

std::vector<ResidentWeights::Load> ResidentWeights::loads(bool ahead) const {
  std::vector<Load> loads;
  int number = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    for (const Group& group : layers_[l].groups) {
      if ((number++ < work_.kernels_ahead) == ahead) loads.push_back({transfers(l, group), group.buffer});
    }
    const VectorWork* vector = work_.layers[l].vector;
    if (!ahead && vector != nullptr && !vector->parameters().empty())
      loads.push_back({{transfer_of_factors(l)}, layers_[l].factors});
  }
  return loads;
}

std::vector<std::int64_t> ResidentWeights::wram_of_loads() const {
  std::vector<std::int64_t> bytes;
  std::int64_t most = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    for (const Group& group : layers_[l].groups) {
      const WeightImage& image = work_.layers[l].weights->image;
      const std::int64_t size =
          group_bytes(*work_.layers[l].matrix, *work_.layers[l].weights, layers_[l].mapping);
      most = std::max(most, static_cast<std::int64_t>(group.offset) * image.regions - work_.wram_at + size);
      bytes.push_back(most);
    }
  }
  return bytes;
}

}  // namespace tilebeat
