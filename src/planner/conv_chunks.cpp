#include "tilebeat/base/math.h"
#include "tilebeat/engines/switch_array/config.h"

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
void visit_pairs(const ConvTiling& tiling, const Segment& segment, Visit visit) {
  const bool tile_outer = tiling.order == LoopOrder::kTileOuter;
  const int tiles = static_cast<int>(segment.tiles.size());
  const int first = segment.problem.first_block, blocks = segment.problem.end_block - first;
  const int outer = tile_outer ? tiles : blocks;
  const int inner = tile_outer ? blocks : tiles;
  for (int i = 0; i < outer; ++i) {
    for (int j = 0; j < inner; ++j) tile_outer ? visit(i, first + j) : visit(j, first + i);
  }
}

void place_stores(const ConvTiling& tiling, const std::vector<Segment>& segments,
                  std::vector<Chunk>& chunks) {
  const int per_store = tiling.order == LoopOrder::kTileOuter ? tiling.kernel_blocks_per_store : 1;
  int store = -1;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    Chunk& chunk = chunks[i];
    const ConvProblem& p = segments[static_cast<std::size_t>(chunk.segment)].problem;
    chunk.first_stored_block = p.first_block + (chunk.kernel_block - p.first_block) / per_store * per_store;
    chunk.stored_blocks = std::min(per_store, p.end_block - chunk.first_stored_block);
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
  const ArrayShape array = array_shape(hardware.engine<SwitchArrayConfig>());
  int most = 0;
  for (int kb = p.first_block; kb < p.end_block; ++kb) most = std::max(most, planes_of(p, array, kb).size());
  return std::min(most, tiling.planes_per_chunk) * p.taps();
}

std::vector<Chunk> chunks_of(const std::vector<Segment>& segments, const HardwareConfig& hardware,
                             const ConvTiling& tiling) {
  const SwitchArrayConfig& config = hardware.engine<SwitchArrayConfig>();
  const ArrayShape array = array_shape(config);
  int words = 1;
  for (const Segment& segment : segments)
    words = std::max(words, slot_words(segment.problem, hardware, tiling));
  const int slots = std::min(config.parameter_slots, config.parameter_depth_words / words);
  using InputKey = std::tuple<int, int, int, int>;  // map, tile, first and last channel block
  using KernelKey = std::tuple<int, int, int>;      // load, kernel block, first channel block
  Residency<InputKey> inputs(kCopies);
  Residency<KernelKey> kernels(slots);

  std::vector<Chunk> chunks;
  const auto release = [&](int chunk, bool Chunk::*flag) {
    if (chunk >= 0) chunks[static_cast<std::size_t>(chunk)].*flag = true;
  };
  std::vector<int> begins;  // of the segments, in chunks
  for (std::size_t number = 0; number < segments.size(); ++number) {
    const Segment& segment = segments[number];
    const ConvProblem& p = segment.problem;
    begins.push_back(static_cast<int>(chunks.size()));
    const int earliest = number == 0 ? 0 : begins[number - 1];
    visit_pairs(tiling, segment, [&](int tile, int kb) {
      const PlaneRange all = planes_of(p, array, kb);
      for (int begin = all.begin; begin < all.end; begin += tiling.planes_per_chunk) {
        const int index = static_cast<int>(chunks.size());
        Chunk chunk;
        chunk.segment = static_cast<int>(number);
        chunk.tile = tile;
        chunk.kernel_block = kb;
        chunk.planes = {begin, std::min(all.end, begin + tiling.planes_per_chunk)};
        chunk.first = begin == all.begin;
        chunk.last = chunk.planes.end == all.end;
        const InputKey input_key =
            tiling.channels_resident ? InputKey{segment.map_load, tile, 0, 0}
                                     : InputKey{segment.map_load, tile, chunk.planes.begin, chunk.planes.end};
        const auto input = inputs.use(input_key, index);
        chunk.copy = input.buffer;
        chunk.loads_input = input.loads;
        chunk.waits_input = input.free_from > 0;
        chunk.load_input_before = std::max(input.free_from, earliest);
        release(input.released_by, &Chunk::releases_input);
        const auto kernel = kernels.use({segment.kernel_load, kb, begin}, index);
        chunk.slot = kernel.buffer;
        chunk.loads_kernels = kernel.loads;
        // Kernels are asked for a little ahead; far ahead they would only fill the queue in front of a nearer
        // load.
        constexpr int kKernelLead = 3;
        chunk.waits_kernels = kernel.free_from > 0;
        chunk.load_kernels_before = std::max({kernel.free_from, index - kKernelLead, earliest});
        release(kernel.released_by, &Chunk::releases_kernels);
        chunks.push_back(chunk);
      }
    });
  }
  place_stores(tiling, segments, chunks);
  return chunks;
}

ChannelRange loaded_channels(const ConvProblem& p, int port_channels, bool channels_resident,
                             const Chunk& chunk) {
  if (channels_resident) return {0, p.channels};
  const int begin = chunk.planes.begin * port_channels;
  return {begin, std::min(p.channels, chunk.planes.end * port_channels) - begin};
}

Traffic traffic_of(const std::vector<Segment>& segments, const HardwareConfig& hardware,
                   const ConvTiling& tiling, const std::vector<Chunk>& chunks) {
  const SwitchArrayConfig& config = hardware.engine<SwitchArrayConfig>();
  Traffic traffic;
  for (const Chunk& chunk : chunks) {
    const Segment& segment = segments[static_cast<std::size_t>(chunk.segment)];
    const ConvProblem& p = segment.problem;
    const bool post = !p.conv.bias.empty() || p.conv.requant;
    const Tile& tile = segment.tiles[static_cast<std::size_t>(chunk.tile)];
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
