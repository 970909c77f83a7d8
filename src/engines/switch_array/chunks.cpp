#include "chunks.h"

#include <algorithm>

namespace tilebeat::switch_array {

int ChunkMaker::slots(const SwitchArrayConfig& config, int slot_words) {
  return std::min(config.parameter_slots, config.parameter_depth_words / slot_words);
}

std::vector<Chunk> ChunkMaker::chunks(const Job& job, int tiles, const std::vector<Interval>& planes,
                                      const JobContents& contents, bool first, bool last) {
  const bool tile_outer = tiling_.order == LoopOrder::kTileOuter;
  const int blocks = job.blocks.size();
  std::vector<Chunk> chunks;
  for (int i = 0; i < tiles * blocks; ++i) {
    const int tile = tile_outer ? i / blocks : i % tiles;
    const int block = tile_outer ? i % blocks : i / tiles;
    const Interval all = planes[static_cast<std::size_t>(block)];
    for (int begin = all.begin; begin < all.end; begin += tiling_.planes_per_chunk) {
      Chunk chunk;
      chunk.tile = tile;
      chunk.kernel_block = job.blocks.begin + block;
      chunk.planes = {begin, std::min(all.end, begin + tiling_.planes_per_chunk)};
      chunk.first = first && begin == all.begin;
      chunk.last = last && chunk.planes.end == all.end;
      const auto input =
          inputs_.use({contents.map, tile, tiling_.channels_resident ? Interval{} : chunk.planes});
      chunk.copy = input.buffer, chunk.loads_input = input.loads;
      const auto kernel = kernels_.use({contents.kernels, chunk.kernel_block, begin});
      chunk.slot = kernel.buffer, chunk.loads_kernels = kernel.loads;
      chunks.push_back(chunk);
    }
  }
  place_stores(job, chunks);
  return chunks;
}

void ChunkMaker::place_stores(const Job& job, std::vector<Chunk>& chunks) const {
  const int per_store = tiling_.order == LoopOrder::kTileOuter ? tiling_.blocks_per_store : 1;
  bool begun = false;
  for (Chunk& chunk : chunks) {
    const int first = job.blocks.begin;
    chunk.first_stored_block = first + (chunk.kernel_block - first) / per_store * per_store;
    chunk.stored_blocks = std::min(per_store, job.blocks.end - chunk.first_stored_block);
    if (!chunk.last) continue;
    chunk.begins_store = !std::exchange(begun, true);
    chunk.ends_store = chunk.kernel_block == chunk.first_stored_block + chunk.stored_blocks - 1;
    if (chunk.ends_store) begun = false;
  }
}

}  // namespace tilebeat::switch_array
