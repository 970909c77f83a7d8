#pragma once

#include "tilebeat/mapping/task_graph.h"

#include <cstdint>
#include <map>
#include <vector>

#include "buffer_cache.h"
#include "core_sums.h"
#include "matrix_work.h"
#include "staging.h"

namespace tilebeat {

/// The post-parameters of a layer whose cores add up sums: a core loads those of a load of kernels once, when
/// it first needs them.
class PostLoads {
 public:
  /// `at`: bytes of NRAM in front of their buffers.
  PostLoads(TaskGraph& graph, const MatrixWork& work, const Footprint& footprint, std::int64_t at);

  /// What cores `cores` of a cluster need: where kernels pass through its memory, so do they.
  void add_stream(Staging& staging, const std::vector<int>& cores);
  CoreSums::Post load(Staging& staging, const CoreSums::Member& core, Interval blocks);

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
