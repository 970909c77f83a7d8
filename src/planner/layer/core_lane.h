#pragma once

#include "planner/language/matrix_backend.h"
#include "planner/language/task_graph.h"
#include "planner/language/transfer.h"
#include "planner/layer/kernel_loads.h"
#include "planner/layer/partial_sum_exchange.h"
#include "planner/layer/shards.h"
#include "planner/layer/staging.h"
#include "planner/vector/vector_work.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tilebeat {

/// Where a job finds its operands in the memories of its core and leaves its result, and who else uses these
/// places.
struct JobPlaces {
  std::uint64_t map = 0;  ///< the first row of the tile's map
  AccessList map_reads;   ///< empty: the tile is padding, nobody else uses it
  std::uint64_t kernels = 0;
  Access kernels_read;
  std::uint64_t result = 0;
  Access result_write;
};
/// The job of a tile with a group of kernels, which lies so.
MatrixJob job_of(const Shard& share, const OutputTile& tile, const KernelGroup& group, JobPlaces places);

/// One core's part in the tasks of a layer or a fusion group: what it loads, computes and stores. Its source
/// brings operands to the core's memories, its sink takes results from there: DRAM, streams through the SRAM
/// of the cluster (DramLanes), or the rows that a fusion group holds there.
class CoreLane {
 public:
  /// `copies` outlives it, and belongs to `graph`.
  CoreLane(TaskGraph& graph, CopyTasks& copies, const ChipConfig& chip, int core);

  /// Brings bytes to address `to` of the core's memories; the copies write `written`.
  using Source = std::function<void(std::uint64_t to, const Access& written)>;
  /// Takes bytes from address `from`; the copies make the access `read`.
  using Sink = std::function<void(std::uint64_t from, const Access& read)>;

  // ---- matrix units ----

  /// What the core does before and behind the transfers of a tile's map, which fill `map`; and how the
  /// transfers between write it.
  void begin_map(const MapLoad& load, const BufferRing::Filling& map);
  static Access map_access(const MapLoad& load, const BufferRing::Filling& map);
  void end_map(const MapLoad& load, const BufferRing::Filling& map);

  // ---- vector units ----

  /// Two buffers for the operands of pieces, one behind the other, and two for results, in NRAM; parameters,
  /// where there are any.
  struct PieceRoom {
    std::int64_t operands_at = 0, operand_bytes = 0, results_at = 0, result_bytes = 0;
    std::int64_t parameters_at = 0;
    std::optional<BufferId> parameters;
  };
  /// A piece of vector work. `untouched`: an address of DRAM, for the copy that fills a buffer.
  void run_piece(const VectorPiece& piece, const PieceRoom& room, std::uint64_t untouched,
                 const Source& source, const Sink& sink);

  /// Copies of the core's own DMA engines.
  void copy(const Copy& copy, const AccessList& accesses) { copies_->add(processor, copy, accesses); }
  void copy(Unit unit, const std::vector<Transfer>& transfers, const AccessList& accesses) {
    copies_->add(processor, unit, transfers, accesses);
  }

  int number, cluster, processor;
  EnginePlace place;
  BufferRing operands, results;  ///< of two buffers each, for whoever uses them

 private:
  TaskGraph* graph_;
  CopyTasks* copies_;
  const ChipConfig* chip_;
};

/// DRAM as source and sink of lanes: by the IODMA of each core, or in streams through the SRAM of its
/// cluster.
class DramLanes {
 public:
  /// Core `core` loads, or stores, by a stream of the SRAM; all others directly.
  void load_by(int core, Staging& staging, int stream) { loads_[core] = {&staging, stream}; }
  void store_by(int core, Staging& staging, int stream) { stores_[core] = {&staging, stream}; }
  void load(CoreLane& lane, const std::vector<Transfer>& transfers, const AccessList& written) const;
  void store(CoreLane& lane, const std::vector<Transfer>& transfers, const Access& read) const;

 private:
  using Stream = std::pair<Staging*, int>;
  std::map<int, Stream> loads_, stores_;  // by core
};

}  // namespace tilebeat
