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

// Kernel blocks of a shard in the engine's layout, with the codes of weights of four bits.
class CodedBlocks {
 public:
  /// `graph` holds weights and codes for further loads of the layer.
  CodedBlocks(const Shard& shard, TaskGraph& graph)
      : shard_(shard),
        form_(shard.layer->problem().weights.four_bits()),
        weights_(shard.layer->problem().weights.int8()),
        codes_(shard.layer->problem().weights.codes()) {
    graph.hold(weights_);
    if (codes_) graph.hold(codes_);
  }

  // The stream of a transfer's weights.
  std::vector<std::uint8_t> stream_of(const Transfer& transfer) {
    const EncodableWeights weights = of(transfer);
    const MatrixLayer& layer = *shard_.layer;
    return layer.problem().of_halves ? stream_of_twins(weights, layer.weights_of_channel())
                                     : encoded_stream(weights);
  }

 private:
  // The weights of a transfer, in its order.
  EncodableWeights of(const Transfer& transfer) {
    EncodableWeights made;
    if (form_ != nullptr) {
      made.shift = form_->shift, made.is_signed = form_->is_signed;
      made.has_zero_points = form_->has_zero_points;
    }
    const CopyShape& s = transfer.shape;
    for (std::int64_t row = 0; row < s.rows; ++row) {
      for (std::int64_t column = 0; column < s.columns; ++column)
        add(to_signed(transfer.source - shard_.weights.blocks.front()) + row * s.source_row +
                column * s.source_column,
            s.run, made);
    }
    return made;
  }
  struct Block {
    std::size_t number = 0;
    std::vector<std::uint8_t> bytes, codes, scales;
  };
  // Appends `count` bytes from byte `at` of the shard's kernels on.
  void add(std::int64_t at, std::int64_t count, EncodableWeights& made) {
    const std::vector<std::uint64_t>& begins = shard_.weights.layout.blocks;
    while (count > 0) {
      const auto next = std::upper_bound(begins.begin(), begins.end(), to_unsigned(at));
      const auto begin = to_signed(*(next - 1));
      const Block& block = packed(to_size(next - begins.begin() - 1));
      const std::int64_t from = at - begin, some = std::min(count, ssize(block.bytes) - from);
      const auto append = [&](const std::vector<std::uint8_t>& part, std::vector<std::uint8_t>& to) {
        to.insert(to.end(), part.begin() + from, part.begin() + from + some);
      };
      append(block.bytes, made.bytes);
      if (codes_) append(block.codes, made.codes), append(block.scales, made.scales);
      at += some, count -= some;
    }
  }
  const Block& packed(std::size_t number) {
    if (last_.bytes.empty() || last_.number != number) {
      const MatrixLayer& layer = *shard_.layer;
      const auto blocks = to_size(layer.problem().kernel_blocks());
      const auto pack = [&](const Tensor& weights) {
        return layer.pack_block(weights, to_int(number / blocks), to_int(number % blocks));
      };
      last_ = {number, pack(*weights_), {}, {}};
      if (codes_) last_.codes = pack(codes_->codes), last_.scales = pack(codes_->scales);
    }
    return last_;
  }

  const Shard& shard_;
  const FourBits* const form_;  // none: int8
  const std::shared_ptr<const Tensor> weights_;
  const std::shared_ptr<const WeightCodes> codes_;
  Block last_;
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

std::vector<Transfer> weight_loads(TaskGraph& graph, const Shard& shard, const KernelGroup& group,
                                   std::uint64_t destination, std::int64_t buffer) {
  std::vector<Transfer> all = weight_transfers(*shard.layer, shard.weights, group, destination);
  const Problem& p = shard.layer->problem();
  if (!p.in_streams) return all;
  const auto kernels = to_signed(kernel_transfers(*shard.layer, shard.weights, group, destination).size());
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

}  // namespace tilebeat
