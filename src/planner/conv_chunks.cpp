#include "tilebeat/base/math.h"

#include <algorithm>
#include <tuple>

#include "conv_plan.h"

namespace tilebeat {
namespace {

constexpr int kCopies = 2;  // of every input bank, and halves of the output buffer

// Buffers that hold one content each and are filled in turn: the copies of the input banks, the slots of the
// parameter buffer. Works out what has to be loaded, from which chunk on the buffer is free for it, and who
// releases it.
template <class Key>
class Residency {
 public:
  explicit Residency(int buffers)
      : content_(static_cast<std::size_t>(buffers)), last_use_(content_.size(), -1) {}

  struct Use {
    int buffer = 0;
    bool loads = false;
    int free_from = 0;     ///< the first chunk index before which the buffer is free
    int released_by = -1;  ///< the chunk that used the buffer last, when it has to be released for this load
  };
  Use use(const Key& key, int chunk) {
    Use result;
    const auto found = std::find_if(content_.begin(), content_.end(),
                                    [&](const auto& c) { return c.second && c.first == key; });
    if (found != content_.end()) {
      result.buffer = static_cast<int>(found - content_.begin());
    } else {
      result.buffer = next_;
      next_ = (next_ + 1) % static_cast<int>(content_.size());
      result.loads = true;
      result.released_by = last_use_[static_cast<std::size_t>(result.buffer)];
      result.free_from = result.released_by + 1;
      content_[static_cast<std::size_t>(result.buffer)] = {key, true};
    }
    last_use_[static_cast<std::size_t>(result.buffer)] = chunk;
    return result;
  }

 private:
  std::vector<std::pair<Key, bool>> content_;
  std::vector<int> last_use_;
  int next_ = 0;
};

// The order of (tile, kernel block) pairs; in a pair all channel splits follow one another.
template <class Visit>
void visit_pairs(const ConvTiling& tiling, int tiles, Visit visit) {
  const bool tile_outer = tiling.order == LoopOrder::kTileOuter;
  const int outer = tile_outer ? tiles : tiling.kernel_blocks;
  const int inner = tile_outer ? tiling.kernel_blocks : tiles;
  for (int i = 0; i < outer; ++i) {
    for (int j = 0; j < inner; ++j) tile_outer ? visit(i, j) : visit(j, i);
  }
}

void place_stores(const ConvTiling& tiling, std::vector<Chunk>& chunks) {
  const int per_store = tiling.order == LoopOrder::kTileOuter ? tiling.kernel_blocks_per_store : 1;
  int store = -1;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    Chunk& chunk = chunks[i];
    chunk.first_stored_block = chunk.kernel_block / per_store * per_store;
    chunk.stored_blocks = std::min(per_store, tiling.kernel_blocks - chunk.first_stored_block);
    chunk.begins_store = chunk.first && chunk.kernel_block == chunk.first_stored_block;
    chunk.ends_store = chunk.last && chunk.kernel_block == chunk.first_stored_block + chunk.stored_blocks - 1;
    if (chunk.begins_store) ++store;
    chunk.half = store % kCopies;
    chunk.waits_output = chunk.begins_store && store >= kCopies;
  }
  // A store gives its half back only where somebody waits for it.
  int later_stores = 0;
  for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
    if (!chunk->ends_store) continue;
    chunk->output_reused = later_stores >= kCopies;
    ++later_stores;
  }
}

}  // namespace

int slot_words(const ConvProblem& p, const HardwareConfig& hardware, const ConvTiling& tiling) {
  const ArrayShape array = array_shape(hardware.switch_array);
  int most = 0;
  for (int kb = 0; kb < tiling.kernel_blocks; ++kb) most = std::max(most, planes_of(p, array, kb).size());
  return std::min(most, tiling.planes_per_chunk) * p.taps();
}

std::vector<Chunk> chunks_of(const ConvProblem& p, const HardwareConfig& hardware, const ConvTiling& tiling,
                             const std::vector<Tile>& tiles) {
  const SwitchArrayConfig& config = hardware.switch_array;
  const ArrayShape array = array_shape(config);
  const int slots =
      std::min(config.parameter_slots, config.parameter_depth_words / slot_words(p, hardware, tiling));
  using InputKey = std::tuple<int, int, int>;  // tile, first and last channel block
  using KernelKey = std::pair<int, int>;       // kernel block, first channel block
  Residency<InputKey> inputs(kCopies);
  Residency<KernelKey> kernels(slots);

  std::vector<Chunk> chunks;
  const auto release = [&](int chunk, bool Chunk::*flag) {
    if (chunk >= 0) chunks[static_cast<std::size_t>(chunk)].*flag = true;
  };
  visit_pairs(tiling, static_cast<int>(tiles.size()), [&](int tile, int kb) {
    const PlaneRange all = planes_of(p, array, kb);
    for (int begin = all.begin; begin < all.end; begin += tiling.planes_per_chunk) {
      const int index = static_cast<int>(chunks.size());
      Chunk chunk;
      chunk.tile = tile;
      chunk.kernel_block = kb;
      chunk.planes = {begin, std::min(all.end, begin + tiling.planes_per_chunk)};
      chunk.first = begin == all.begin;
      chunk.last = chunk.planes.end == all.end;
      const InputKey input_key = tiling.channels_resident
                                     ? InputKey{tile, 0, 0}
                                     : InputKey{tile, chunk.planes.begin, chunk.planes.end};
      const auto input = inputs.use(input_key, index);
      chunk.copy = input.buffer;
      chunk.loads_input = input.loads;
      chunk.load_input_before = input.free_from;
      release(input.released_by, &Chunk::releases_input);
      const auto kernel = kernels.use({kb, begin}, index);
      chunk.slot = kernel.buffer;
      chunk.loads_kernels = kernel.loads;
      // Kernels are asked for a little ahead; far ahead they would only fill the queue in front of a nearer
      // load.
      constexpr int kKernelLead = 3;
      chunk.waits_kernels = kernel.free_from > 0;
      chunk.load_kernels_before = std::max(kernel.free_from, index - kKernelLead);
      release(kernel.released_by, &Chunk::releases_kernels);
      chunks.push_back(chunk);
    }
  });
  place_stores(tiling, chunks);
  return chunks;
}

ChannelRange loaded_channels(const ConvProblem& p, int port_channels, bool channels_resident,
                             const Chunk& chunk) {
  if (channels_resident) return {0, p.channels};
  const int begin = chunk.planes.begin * port_channels;
  return {begin, std::min(p.channels, chunk.planes.end * port_channels) - begin};
}

Traffic traffic_of(const ConvProblem& p, const HardwareConfig& hardware, const ConvTiling& tiling,
                   const std::vector<Tile>& tiles, const std::vector<Chunk>& chunks) {
  const SwitchArrayConfig& config = hardware.switch_array;
  const bool post = !p.conv.bias.empty() || p.conv.requant;
  Traffic traffic;
  for (const Chunk& chunk : chunks) {
    const Tile& tile = tiles[static_cast<std::size_t>(chunk.tile)];
    if (chunk.loads_input) {
      const ChannelRange channels = loaded_channels(p, config.port_channels, tiling.channels_resident, chunk);
      traffic.input += std::int64_t{tile.height} * tile.width * channels.count;
    }
    if (chunk.loads_kernels) {
      traffic.kernels += std::int64_t{chunk.planes.size()} * p.taps() * config.columns * config.port_channels;
      if (post) traffic.kernels += std::int64_t{config.columns} * kPostParameterBytes;
    }
    if (chunk.last) {
      const int kernels = std::min(config.columns, p.conv.out_channels - chunk.kernel_block * config.columns);
      traffic.output += std::int64_t{tile.rows} * tile.columns * kernels * dtype_size(p.output.dtype);
    }
  }
  return traffic;
}

}  // namespace tilebeat
