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

/// Buffers of a task graph that each hold one content and are filled in turn.
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
  std::vector<BufferRing::Filling> fillings_;  // by place, in the order of the ring
};

constexpr int kEndedBuffers = 2;  ///< result buffers per core
/// Buffers for partial sums of other cores, per core of a reduction group of `cores`: one more than the core
/// adds at a time.
inline int slice_buffers(int cores) {
  return cores;
}

/// The NRAM buffers of a core for partial sums of other cores and, behind them, for the results of the
/// exchange.
struct SumsRoom {
  std::int64_t at = 0;                ///< bytes in front of the buffers
  int slices = 0;                     ///< number of buffers for partial sums
  std::int64_t slice = 0, ended = 0;  ///< bytes of a partial-sum buffer and of a result buffer
  std::int64_t bytes() const { return slices * slice + kEndedBuffers * ended; }
};

/// The partial-sum exchange of a reduction group: each core has sums of all pixels of a tile over its own
/// channels. The tile's pixels are divided among the cores. Each core sends the others their slices through
/// the cluster's SRAM, and its vector unit adds the slices that it receives to its own. The last addition
/// turns the sums into results (SPEC NU-2).
class PartialSumExchange {
 public:
  PartialSumExchange(TaskGraph& graph, const ChipConfig& chip, const SumsRoom& room)
      : graph_(graph), chip_(chip), room_(room) {}

  /// Adds, for each of the cores `cores`, a stream of `buffers` buffers of `bytes` bytes in the cluster's
  /// SRAM.
  void add_streams(Staging& staging, const std::vector<int>& cores, int buffers, std::int64_t bytes);

  /// A core of a reduction group, and the place of a tile's sums in its NRAM.
  struct Member {
    int core = 0;
    EnginePlace place;
    BufferRing::Filling sums;
    std::uint64_t address = 0;
  };
  /// The place of post-parameters (post_parameters_of) in a core's NRAM, and the access that reads them.
  struct Post {
    std::uint32_t offset = 0;
    Access read;
  };
  /// The partial sums of a tile over all kernels of `blocks`.
  struct Sums {
    const Problem& problem;  ///< its results are made of the sums
    const OutputTile& tile;
    Interval blocks;
    std::function<Post(const Member&)> post;  ///< empty: the sums are the results
  };
  /// A rectangle of the tile whose results lie at `address` without gaps.
  struct Part {
    OutputTile tile;
    std::uint64_t address = 0;
  };
  /// A core's part of a tile's results after the exchange; it may be empty.
  struct Result {
    std::vector<Part> parts;
    Access read;
  };
  /// Adds the exchange tasks of a tile. Returns the result of each core.
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

/// The post-parameters of a layer whose cores exchange partial sums: a core loads those of a kernel load
/// once, when it first needs them.
class PostLoads {
 public:
  /// `at`: bytes of NRAM in front of their buffers.
  PostLoads(TaskGraph& graph, const MatrixWork& work, const Footprint& footprint, std::int64_t at);

  /// Adds a stream for cores `cores` of a cluster, if kernels pass through the cluster's SRAM.
  void add_stream(Staging& staging, const std::vector<int>& cores);
  PartialSumExchange::Post load(Staging& staging, const PartialSumExchange::Member& core, Interval blocks);

  /// Bytes that were read from DRAM.
  std::int64_t bytes() const { return bytes_; }

 private:
  TaskGraph& graph_;
  const MatrixWork& work_;
  std::int64_t at_, buffer_bytes_;
  CopyTasks copies_;
  std::map<int, BufferCache<int>> loaded_;  // by core; keyed by the first kernel block
  std::map<int, int> streams_;              // by cluster
  std::int64_t bytes_ = 0;
};

}  // namespace tilebeat
