#include "planner/layer/weight_streams.h"

#include "base/types.h"
#include "isa/weight_stream.h"
#include "planner/layer/shards.h"
#include "planner/layer/weight_encoder.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace tilebeat {
namespace {

// The streams of a shard's weights.
class CodedBlocks {
 public:
  /// `graph` holds weights and codes for further loads of the layer.
  CodedBlocks(const Shard& shard, TaskGraph& graph)
      : layer_(*shard.layer),
        form_(layer_.problem().weights.four_bits()),
        weights_(layer_.problem().weights.int8()),
        codes_(layer_.problem().weights.codes()),
        blocks_(layer_, shard.weights,
                codes_ ? std::vector<const Tensor*>{weights_.get(), &codes_->codes, &codes_->scales}
                       : std::vector<const Tensor*>{weights_.get()}) {
    graph.hold(weights_);
    if (codes_) graph.hold(codes_);
  }

  // The stream of a transfer's weights.
  std::vector<std::uint8_t> stream_of(const Transfer& transfer) {
    std::vector<std::vector<std::uint8_t>> parts = blocks_.of(transfer);
    EncodableWeights weights;
    weights.bytes = std::move(parts[0]);
    if (codes_) weights.codes = std::move(parts[1]), weights.scales = std::move(parts[2]);
    if (form_ != nullptr) {
      weights.shift = form_->shift, weights.is_signed = form_->is_signed;
      weights.has_zero_points = form_->has_zero_points;
    }
    return layer_.problem().of_halves ? stream_of_twins(weights, layer_.weights_of_channel())
                                      : encoded_stream(weights);
  }

 private:
  const MatrixLayer& layer_;
  const FourBits* const form_;  // none: int8
  const std::shared_ptr<const Tensor> weights_;
  const std::shared_ptr<const WeightCodes> codes_;
  BlockBytes blocks_;
};

// The most weights of a stream that passes through a buffer: a power of two, as the groups and the blocks of
// engines mostly are. A stream of n weights has at most n bytes and a header.
std::int64_t stream_weights(std::int64_t buffer) {
  std::int64_t weights = kStreamWeights;
  while (weights > 1 && weights + kWeightHeaderBytes > buffer) weights /= 2;
  return weights;
}

WeightsOfStream weights_of(const Transfer& transfer) {
  const CopyShape& s = transfer.shape;
  return {transfer.source, s.run, s.columns, s.rows, s.source_column, s.source_row};
}

// Makes transfers of int8 weights read streams. Those that have no place yet get neighbouring ones.
void read_streams(TaskGraph& graph, const Shard& shard, std::vector<Transfer>& transfers) {
  std::optional<CodedBlocks> blocks;
  std::vector<std::uint8_t> bytes;
  std::vector<PlacedStream*> added;
  for (const Transfer& transfer : transfers) {
    const auto [found, is_new] = shard.streams->try_emplace(weights_of(transfer));
    if (!is_new) continue;
    if (!blocks) blocks.emplace(shard, graph);
    const std::vector<std::uint8_t> stream = blocks->stream_of(transfer);
    found->second = {to_unsigned(ssize(bytes)), ssize(stream)};
    added.push_back(&found->second);
    bytes.insert(bytes.end(), stream.begin(), stream.end());
  }
  if (!added.empty()) {
    const std::uint64_t address = graph.constant([&] { return std::move(bytes); });
    for (PlacedStream* stream : added) stream->address += address;
  }
  for (Transfer& transfer : transfers) {
    const PlacedStream& stream = shard.streams->at(weights_of(transfer));
    transfer.source = stream.address, transfer.shape.stream = stream.bytes;
  }
}

}  // namespace

std::int64_t least_kernel_bytes(const Shard& shard) {
  const Problem& p = shard.layer->problem();
  const auto bytes = to_signed(shard.weights.layout.blocks.back());
  if (!p.in_streams) return bytes;
  return ceil_div<std::int64_t>(bytes, (p.weights.four_bits() != nullptr ? 2 : 1) * (p.of_halves ? 2 : 1));
}

namespace {

// The expected bytes of a stream of `weights` weights.
std::int64_t expected_bytes(const Problem& p, std::int64_t weights) {
  const std::int64_t times = p.of_halves ? 2 : 1, stored = ceil_div(weights, times);
  const FourBits* form = p.weights.four_bits();
  if (form == nullptr) return kWeightHeaderBytes + stored;
  const std::int64_t k = std::int64_t{p.taps()} * (p.channels / p.conv.groups) / times;
  return expected_stream_bytes(stored, k, form->group, form->has_zero_points);
}

}  // namespace

namespace {

// The images of a group as one transfer, region after region.
Transfer image_load(TaskGraph& graph, const Shard& shard, const KernelGroup& group, const WeightImage& image,
                    std::uint64_t destination) {
  const std::int64_t regions = shard.weights.layout.regions;
  Transfer made{kUnplaced, destination, one_run(image.bytes())};
  made.shape.rows = regions, made.shape.source_row = image.bytes();
  made.shape.destination_row = shard.weights.region_bytes;
  if (!graph.is_for_plan()) return made;
  // Streams have rows.
  const Interval channels = group.reduction.channels;
  const WeightsOfStream key{group.blocks.begin, group.blocks.end, channels.begin, 0, channels.end, regions};
  const bool has_records = shard.weights.layout.post_place == PostPlace::kInRegions;
  const auto [found, is_new] = (has_records ? shard.images_with_records : shard.streams)->try_emplace(key);
  if (is_new)
    found->second = {graph.constant([&] { return shard.packed->images(group, image); }), image.bytes()};
  made.source = found->second.address;
  return made;
}

}  // namespace

std::vector<Transfer> weight_loads(TaskGraph& graph, const Shard& shard, const KernelGroup& group,
                                   std::uint64_t destination, std::int64_t buffer) {
  std::vector<Transfer> all = weight_transfers(*shard.layer, shard.weights, group, destination);
  const Problem& p = shard.layer->problem();
  if (!p.in_streams) return all;
  const auto kernels = to_signed(kernel_transfers(*shard.layer, shard.weights, group, destination).size());
  if (const std::optional<WeightImage> image = shard.image_of(group)) {
    std::vector<Transfer> packed{image_load(graph, shard, group, *image, destination)};
    if (shard.weights.layout.post_place == PostPlace::kInRegions) return packed;  // records and all
    for (auto record = all.begin() + kernels; record != all.end(); ++record) {
      record->destination = destination + post_offset(*shard.layer, shard.weights, group, image->bytes());
      packed.push_back(*record);
    }
    return packed;
  }
  const std::vector<Transfer> others(all.begin() + kernels, all.end());  // post-parameters
  all.resize(to_size(kernels));
  std::vector<Transfer> made;
  for (const Transfer& transfer : all) {
    for (const std::vector<Transfer>& part : parts_of({transfer}, stream_weights(buffer)))
      made.insert(made.end(), part.begin(), part.end());
  }
  if (graph.is_for_plan()) {
    read_streams(graph, shard, made);
  } else {
    for (Transfer& cut : made) cut.shape.stream = expected_bytes(p, cut.shape.bytes());
  }
  made.insert(made.end(), others.begin(), others.end());
  return made;
}

StreamOf kernel_streams(TaskGraph& graph, const Shard& shard) {
  const auto blocks = std::make_shared<std::optional<CodedBlocks>>();
  return [&graph, &shard, blocks](std::uint64_t address, std::int64_t bytes) -> PlacedStream {
    if (!graph.is_for_plan()) return {address, expected_bytes(shard.layer->problem(), bytes)};
    const Transfer weights{address, 0, one_run(bytes)};
    const auto [found, is_new] = shard.streams->try_emplace(weights_of(weights));
    if (is_new) {
      if (!*blocks) blocks->emplace(shard, graph);
      std::vector<std::uint8_t> stream = (*blocks)->stream_of(weights);
      found->second.bytes = ssize(stream);
      found->second.address = graph.constant([&] { return std::move(stream); });
    }
    return found->second;
  };
}

}  // namespace tilebeat
