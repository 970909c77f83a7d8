#pragma once

#include "planner/language/matrix_backend.h"
#include "planner/language/task_graph.h"
#include "planner/layer/matrix_work.h"
#include "planner/layer/staging.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tilebeat {

/// Buffers of a task graph that hold one content each and are filled in turn.
template <class Key>
class BufferCache {
 public:
  BufferCache() = default;
  BufferCache(TaskGraph& graph, BufferRole role, int count)
      : ring_(graph, role, count), residency_(count), fillings_(to_size(count)) {}

  struct Use {
    BufferRing::Filling filling;
    bool load = false;
  };
  Use use(const Key& key) {
    const auto held = residency_.use(key);
    BufferRing::Filling& filling = nth(fillings_, held.buffer);
    if (held.loads) filling = ring_.next();
    return {filling, held.loads};
  }

 private:
  BufferRing ring_;
  Residency<Key> residency_{0};
  std::vector<BufferRing::Filling> fillings_;  // by place, as the ring fills them
};

constexpr int kEndedBuffers = 2;  ///< of a core: for results that it makes of sums
/// Of a core that adds up sums of a reduction group of `cores`: for those of others, one more than are added
/// at a time.
inline int slice_buffers(int cores) {
  return cores;
}

/// Where a core has room for sums of other cores, and behind them for results of them: in NRAM.
struct SumsRoom {
  std::int64_t at = 0;                ///< bytes in front of it
  int slices = 0;                     ///< buffers for sums of others
  std::int64_t slice = 0, ended = 0;  ///< bytes of one of them, and of one for results
  std::int64_t bytes() const { return slices * slice + kEndedBuffers * ended; }
};

/// Adds up the sums of the cores of a reduction group, each of which has a tile's over channels of its own:
/// the tile's pixels are divided among the cores; each sends the others their slices through the memory of
/// the cluster, and its vector unit adds those it receives to its own. The last addition makes results of the
/// sums (SPEC NU-2).
class PartialSumExchange {
 public:
  PartialSumExchange(TaskGraph& graph, const ChipConfig& chip, const SumsRoom& room)
      : graph_(graph), chip_(chip), room_(room) {}

  /// Streams in the memory of a cluster for cores `cores`, of so many buffers each.
  void add_streams(Staging& staging, const std::vector<int>& cores, int buffers, std::int64_t bytes);

  /// A core of a reduction group, and where the sums of a tile lie in its NRAM.
  struct Member {
    int core = 0;
    EnginePlace place;
    BufferRing::Filling sums;
    std::uint64_t address = 0;
  };
  /// Where a core has post-parameters (post_parameters_of) in NRAM.
  struct Post {
    std::uint32_t offset = 0;
    Access read;
  };
  /// Sums of a tile over all kernels of `blocks`.
  struct Sums {
    const Problem& problem;  ///< whose results become of them
    const OutputTile& tile;
    Interval blocks;
    std::function<Post(const Member&)> post;  ///< empty: the results are the sums
  };
  /// A rectangle of the tile whose results lie at `address` without gaps.
  struct Part {
    OutputTile tile;
    std::uint64_t address = 0;
  };
  /// What a core has of a tile's results then; it may be nothing.
  struct Result {
    std::vector<Part> parts;
    Access read;
  };
  /// The tasks for a tile; a result for each core.
  std::vector<Result> add(Staging& staging, const std::vector<Member>& reduction_group, const Sums& sums);

 private:
  // The buffers of a core.
  struct Buffers {
    int stream = 0;
    BufferRing slices, results;
  };
  BufferRing::Filling add_up(const Member& core, Interval pixels, const Sums& of,
                             const std::vector<BufferRing::Filling>& received);
  void add_task(const Member& core, const VectorRun& run, AccessList accesses);
  std::uint32_t slice_offset(int place) const;
  std::uint32_t result_offset(int place) const;

  TaskGraph& graph_;
  const ChipConfig& chip_;
  const SumsRoom room_;
  std::map<int, Buffers> buffers_;  // by core
};

/// The post-parameters of a layer whose cores add up sums: a core loads those of a load of kernels once, when
/// it first needs them.
class PostLoads {
 public:
  /// `at`: bytes of NRAM in front of their buffers.
  PostLoads(TaskGraph& graph, const MatrixWork& work, const Footprint& footprint, std::int64_t at);

  /// What cores `cores` of a cluster need: where kernels pass through its memory, so do they.
  void add_stream(Staging& staging, const std::vector<int>& cores);
  PartialSumExchange::Post load(Staging& staging, const PartialSumExchange::Member& core, Interval blocks);

  /// Bytes that were read from DRAM.
  std::int64_t bytes() const { return bytes_; }

 private:
  TaskGraph& graph_;
  const MatrixWork& work_;
  std::int64_t at_, buffer_bytes_;
  CopyTasks copies_;
  std::map<int, BufferCache<int>> loaded_;  // by core; by the first kernel block
  std::map<int, int> streams_;              // by cluster
  std::int64_t bytes_ = 0;
};

}  // namespace tilebeat
