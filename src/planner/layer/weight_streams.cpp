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

// Kernel blocks of a shard in the engine's layout, with their codes.
class CodedBlocks {
 public:
  /// `graph` holds weights and codes for further loads of the layer.
  CodedBlocks(const Shard& shard, TaskGraph& graph)
      : shard_(shard),
        form_(*shard.layer->problem().weights.four_bits()),
        weights_(shard.layer->problem().weights.int8()),
        codes_(shard.layer->problem().weights.codes()) {
    graph.hold(weights_), graph.hold(codes_);
  }

  // The weights of a transfer, in its order.
  EncodableWeights of(const Transfer& transfer) {
    EncodableWeights made;
    made.shift = form_.shift, made.is_signed = form_.is_signed, made.has_zero_points = form_.has_zero_points;
    const CopyShape& s = transfer.shape;
    for (std::int64_t row = 0; row < s.rows; ++row) {
      for (std::int64_t column = 0; column < s.columns; ++column)
        add(to_signed(transfer.source - shard_.weights.blocks.front()) + row * s.source_row +
                column * s.source_column,
            s.run, made);
    }
    return made;
  }

 private:
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
      append(block.bytes, made.bytes), append(block.codes, made.codes), append(block.scales, made.scales);
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
      last_ = {number, pack(*weights_), pack(codes_->codes), pack(codes_->scales)};
    }
    return last_;
  }

  const Shard& shard_;
  const FourBits form_;
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
    const std::vector<std::uint8_t> stream = encoded_stream(blocks->of(transfer));
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
  const auto bytes = to_signed(shard.weights.layout.blocks.back());
  return shard.layer->problem().weights.four_bits() == nullptr ? bytes : ceil_div<std::int64_t>(bytes, 2);
}

std::vector<Transfer> weight_loads(TaskGraph& graph, const Shard& shard, const KernelGroup& group,
                                   std::uint64_t destination, std::int64_t buffer) {
  std::vector<Transfer> all = weight_transfers(*shard.layer, shard.weights, group, destination);
  const FourBits* form = shard.layer->problem().weights.four_bits();
  if (form == nullptr) return all;
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
    const Problem& p = shard.layer->problem();
    const std::int64_t k = std::int64_t{p.taps()} * (p.channels / p.conv.groups);
    for (Transfer& cut : made)
      cut.shape.stream = expected_stream_bytes(cut.shape.bytes(), k, form->group, form->has_zero_points);
  }
  made.insert(made.end(), others.begin(), others.end());
  return made;
}

}  // namespace tilebeat
