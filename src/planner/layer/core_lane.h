#pragma once

#include "planner/language/matrix_backend.h"
#include "planner/language/task_graph.h"
#include "planner/language/transfer.h"
#include "planner/layer/operand_transfers.h"
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

/// The places of a job's operands and result in the memories of its core, with the accesses that the job
/// makes to them.
struct JobPlaces {
  std::uint64_t map = 0;  ///< address of the first row of the tile's map
  AccessList map_reads;   ///< empty: the tile is padding and reads no map
  std::uint64_t kernels = 0;
  Access kernels_read;
  std::uint64_t result = 0;
  Access result_write;
};
/// The job of a tile with a group of kernels, with operands and result at `places`.
MatrixJob job_of(const Shard& share, const OutputTile& tile, const KernelGroup& group, JobPlaces places);

/// One core's part in the tasks of a layer or a fusion group: its loads, computations and stores. Its source
/// brings operands to the core's memories and its sink takes results from there; these are DRAM, streams
/// through the cluster's SRAM (DramLanes), or a fusion group's row buffers there.
class CoreLane {
 public:
  /// `copies` outlives it, and belongs to `graph`.
  CoreLane(TaskGraph& graph, CopyTasks& copies, const ChipConfig& chip, int core);

  /// Brings bytes to address `to` of the core's memories; the copies write `written`.
  using Source = std::function<void(std::uint64_t to, const Access& written)>;
  /// Takes bytes from address `from`; the copies make the access `read`.
  using Sink = std::function<void(std::uint64_t from, const Access& read)>;

  // ---- matrix units ----

  /// The core's copies before and after the transfers of a tile's map into the filling `map`, and the access
  /// of the transfers between them.
  void begin_map(const MapLoad& load, const BufferRing::Filling& map);
  static Access map_access(const MapLoad& load, const BufferRing::Filling& map);
  void end_map(const MapLoad& load, const BufferRing::Filling& map);

  // ---- vector units ----

  /// Places in NRAM: two operand buffers for pieces, one behind the other, two result buffers, and parameters
  /// if there are any.
  struct PieceRoom {
    std::int64_t operands_at = 0, operand_bytes = 0, results_at = 0, result_bytes = 0;
    std::int64_t parameters_at = 0;
    std::optional<BufferId> parameters;
  };
  /// Adds the tasks of a piece of vector work. `untouched`: a DRAM address for the copy that fills a buffer.
  void run_piece(const VectorPiece& piece, const PieceRoom& room, std::uint64_t untouched,
                 const Source& source, const Sink& sink);

  /// Copies of the core's own DMA engines.
  void copy(const Copy& copy, const AccessList& accesses) { copies_->add(processor, copy, accesses); }
  void copy(Unit unit, const std::vector<Transfer>& transfers, const AccessList& accesses) {
    copies_->add(processor, unit, transfers, accesses);
  }
  /// The same from the core's memories to DRAM.
  void store(const std::vector<Transfer>& transfers, const AccessList& accesses) {
    copy(store_unit(chip_->core), transfers, accesses);
  }

  int number, cluster, processor;
  EnginePlace place;
  BufferRing operands, results;  ///< two buffers each, for the caller's use

 private:
  TaskGraph* graph_;
  CopyTasks* copies_;
  const ChipConfig* chip_;
};

/// DRAM as source and sink of lanes: through the IODMA of each core, or in streams through its cluster's
/// SRAM.
class DramLanes {
 public:
  /// Core `core` loads, or stores, through a stream of the SRAM; all other cores directly.
  void load_by(int core, Staging& staging, int stream) { loads_[core] = {&staging, stream}; }
  void store_by(int core, Staging& staging, int stream) { stores_[core] = {&staging, stream}; }
  void load(CoreLane& lane, const std::vector<Transfer>& transfers, const AccessList& written) const;
  void store(CoreLane& lane, const std::vector<Transfer>& transfers, const Access& read) const;

 private:
  using Stream = std::pair<Staging*, int>;
  std::map<int, Stream> loads_, stores_;  // by core
};

}  // namespace tilebeat
