#pragma once

#include "tilebeat/mapping/task_graph.h"
#include "tilebeat/mapping/transfer.h"

#include <cstdint>
#include <map>
#include <vector>

#include "buffer_cache.h"
#include "matrix_work.h"
#include "staging.h"

namespace tilebeat {

/// Adds up the sums of the cores of a team, each of which has a tile's over channels of its own: the tile's
/// pixels are divided among the cores; each sends the others their slices through the memory of the cluster,
/// and its vector unit adds those it receives to its own. The last addition makes results of the sums (SPEC
/// NU-2).
class CoreSums {
 public:
  CoreSums(TaskGraph& graph, const MatrixWork& work, const Footprint& footprint)
      : graph_(graph), work_(work), footprint_(footprint), copies_(graph, work.hardware) {}

  /// Streams in the memory of a cluster for cores `cores`; `others` buffers of other streams come on top.
  void add_streams(Staging& staging, const std::vector<int>& cores, int others);

  /// A core of a team, and where the sums of a tile lie in its NRAM.
  struct Member {
    int core = 0;
    EnginePlace place;
    BufferRing::Filling sums;
    std::uint64_t address = 0;
  };
  /// What a core has of a tile's results then, and the transfers that store it; it may be nothing.
  struct Result {
    std::vector<Transfer> transfers;
    Access read;
  };
  /// The tasks for kernel blocks `blocks` of a tile; a result for each core.
  std::vector<Result> add(Staging& staging, const std::vector<Member>& team, const OutputTile& tile,
                          Interval blocks);

  /// Bytes of post-parameters that were read from DRAM.
  std::int64_t loaded_bytes() const { return loaded_bytes_; }

 private:
  // The buffers of a core.
  struct Buffers {
    int stream = 0;
    BufferRing slices, results;
    BufferCache<int> post;  // by the first kernel block
  };
  // The post-parameters of a load of kernels: where they lie in NRAM.
  struct Post {
    std::uint32_t offset = 0;
    Access read;
  };
  BufferRing::Filling add_up(Staging& staging, const Member& core, Interval pixels, Interval blocks,
                             const std::vector<BufferRing::Filling>& received);
  Post load_post(Staging& staging, const Member& core, Interval blocks);
  void add_task(const Member& core, const VectorRun& run, AccessList accesses);
  std::uint32_t offset_of(int place, std::int64_t bytes, std::int64_t before) const;
  std::uint32_t slice_offset(int place) const;
  std::uint32_t result_offset(int place) const;

  TaskGraph& graph_;
  const MatrixWork& work_;
  const Footprint& footprint_;
  CopyTasks copies_;
  std::map<int, Buffers> buffers_;   // by core
  std::map<int, int> post_streams_;  // by cluster
  std::int64_t loaded_bytes_ = 0;
};

}  // namespace tilebeat
