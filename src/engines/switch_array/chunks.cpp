#include "engines/switch_array/chunks.h"

#include <algorithm>

namespace tilebeat::switch_array {

int ChunkMaker::slots(const SwitchArrayConfig& config, int slot_words, int blocks_per_chunk) {
  return std::min(config.parameter_slots / blocks_per_chunk,
                  config.parameter_depth_words / (slot_words * blocks_per_chunk));
}

// Cuts kernel blocks into runs of one chunk each, without crossing stores.
void ChunkMaker::cut_blocks(const Job& job) {
  const int per_store = tiling_.order == LoopOrder::kTileOuter ? tiling_.blocks_per_store : 1;
  cut_.clear();
  for (int begin = job.blocks.begin; begin < job.blocks.end; begin = cut_.back().end) {
    const int stored = job.blocks.begin + ((begin - job.blocks.begin) / per_store + 1) * per_store;
    const int most = std::min({begin + tiling_.blocks_per_chunk, stored, job.blocks.end});
    cut_.push_back({begin, begin + alike_blocks(job.problem, array_, begin, {begin, most})});
  }
}

const std::vector<Chunk>& ChunkMaker::chunks(const Job& job, int tiles, const std::vector<Interval>& planes,
                                             const JobContents& contents, bool first, bool last) {
  const bool tile_outer = tiling_.order == LoopOrder::kTileOuter;
  cut_blocks(job);
  const int blocks = count_of(cut_);
  chunks_.clear();
  for (int i = 0; i < tiles * blocks; ++i) {
    const int tile = tile_outer ? i / blocks : i % tiles;
    const Interval of_chunk = nth(cut_, tile_outer ? i % blocks : i / tiles);
    const Interval all = nth(planes, of_chunk.begin - job.blocks.begin);
    for (int begin = all.begin; begin < all.end; begin += tiling_.planes_per_chunk) {
      Chunk chunk;
      chunk.tile = tile;
      chunk.blocks = of_chunk;
      chunk.planes = {begin, std::min(all.end, begin + tiling_.planes_per_chunk)};
      chunk.first = first && begin == all.begin;
      chunk.last = last && chunk.planes.end == all.end;
      const auto input =
          inputs_.use({contents.map, tile, tiling_.channels_resident ? Interval{} : chunk.planes});
      chunk.copy = input.buffer, chunk.loads_input = input.loads;
      const auto kernel = kernels_.use({contents.kernels, of_chunk, begin});
      chunk.slot = kernel.buffer, chunk.loads_kernels = kernel.loads;
      chunks_.push_back(chunk);
    }
  }
  place_stores(job);
  return chunks_;
}

void ChunkMaker::place_stores(const Job& job) {
  const int per_store = tiling_.order == LoopOrder::kTileOuter ? tiling_.blocks_per_store : 1;
  bool begun = false;
  for (Chunk& chunk : chunks_) {
    const int first = job.blocks.begin;
    chunk.first_stored_block = first + (chunk.blocks.begin - first) / per_store * per_store;
    chunk.stored_blocks = std::min(per_store, job.blocks.end - chunk.first_stored_block);
    if (!chunk.last) continue;
    chunk.begins_store = !std::exchange(begun, true);
    chunk.ends_store = chunk.blocks.end == chunk.first_stored_block + chunk.stored_blocks;
    if (chunk.ends_store) begun = false;
  }
}

}  // namespace tilebeat::switch_array
