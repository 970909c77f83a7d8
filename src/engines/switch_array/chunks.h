#pragma once

#include "engines/switch_array/lowering.h"

#include <utility>
#include <vector>

namespace tilebeat::switch_array {

/// One chunk of a job: a tile, kernel blocks and channel blocks, the loads that it needs, and the places of
/// its operands and results in the engine's buffers.
struct Chunk {
  int tile = 0;
  Interval blocks;                 ///< kernel blocks
  Interval planes;                 ///< channel blocks of the first kernel block
  bool first = true, last = true;  ///< begins, ends the sums
  int copy = 0;                    ///< copy of the input banks
  bool loads_input = false;
  int slot = 0;  ///< region of the parameter buffer
  bool loads_kernels = false;
  /// kernel blocks of the store that takes this chunk's results
  int first_stored_block = 0, stored_blocks = 1;
  bool begins_store = false, ends_store = false;
};

/// The numbers of a job's map and kernels: jobs with equal numbers use the same contents.
struct JobContents {
  int map = 0, kernels = 0;
};

/// Cuts jobs of one unit into chunks, one job after the other.
class ChunkMaker {
 public:
  ChunkMaker(const ArrayShape& array, const Tiling& tiling, int slots)
      : array_(array), tiling_(tiling), inputs_(kCopies), kernels_(slots) {}

  static constexpr int kCopies = 2;  ///< copies of every input bank, and halves of the output buffer
  /// Number of regions of the parameter buffer, each for `blocks_per_chunk` kernel blocks of `slot_words`
  /// words a column.
  static int slots(const SwitchArrayConfig& config, int slot_words, int blocks_per_chunk);

  /// The chunks of a job of `tiles` tiles; `planes`: by kernel block of `job.blocks`, the channel blocks that
  /// it adds up. The result is valid until the next call.
  const std::vector<Chunk>& chunks(const Job& job, int tiles, const std::vector<Interval>& planes,
                                   const JobContents& contents, bool first, bool last);

 private:
  struct InputKey {
    int map, tile;
    Interval planes;
    friend bool operator==(const InputKey& a, const InputKey& b) {
      return a.map == b.map && a.tile == b.tile && a.planes == b.planes;
    }
  };
  struct KernelKey {
    int load;
    Interval blocks;
    int first_plane;
    friend bool operator==(const KernelKey& a, const KernelKey& b) {
      return a.load == b.load && a.blocks == b.blocks && a.first_plane == b.first_plane;
    }
  };
  void cut_blocks(const Job& job);
  void place_stores(const Job& job);

  ArrayShape array_;
  Tiling tiling_;
  Residency<InputKey> inputs_;
  Residency<KernelKey> kernels_;
  std::vector<Interval> cut_;  // kernel blocks of each chunk
  std::vector<Chunk> chunks_;
};

}  // namespace tilebeat::switch_array
