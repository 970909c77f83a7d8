#pragma once

#include "planner/fusion/group_tasks.h"
#include "planner/fusion/group_weights.h"
#include "planner/language/matrix_backend.h"
#include "planner/language/problem.h"
#include "planner/language/task_graph.h"
#include "planner/language/transfer.h"
#include "planner/layer/core_lane.h"
#include "planner/layer/partial_sum_exchange.h"
#include "planner/layer/staging.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace tilebeat {

/// The extents of a row buffer: bytes of a pixel and of a whole row, and the columns that a place has room
/// for.
struct BufferedRow {
  std::int64_t pixel_bytes = 1, bytes = 1;
  int columns = 1;
  std::int64_t place_bytes() const { return std::min(bytes, columns * pixel_bytes); }
};

/// A row buffer: a tensor of which the SRAM holds some rows at a time, or a strip of columns of them, in a
/// ring of places of one row each. Elements have virtual addresses, as if the whole tensor lay there without
/// gaps, image after image. Rows are counted over all images; rows of several images may be present. Each
/// place is a buffer of the task graph, so that a task waits only for the rows that it touches.
class RowBuffer {
 public:
  /// `capacity` places of such rows from `address` on; the virtual addresses begin at `origin`.
  RowBuffer(TaskGraph& graph, std::uint64_t origin, std::uint64_t address, const BufferedRow& row,
            int capacity);

  std::uint64_t origin() const { return origin_; }
  /// Rows made from now on begin with column `column`, where places do not hold whole rows.
  void begin_strip(int column);
  /// Places rows `rows` behind those that were made last, over the oldest rows.
  void make(Interval rows);
  /// The accesses of a task that uses rows `rows`, all of which are present.
  AccessList accesses(Interval rows, AccessKind kind) const;
  /// The rows that virtual addresses [address, address + bytes) touch.
  Interval rows_of(std::uint64_t address, std::int64_t bytes) const;

  /// Translates a transfer whose source (or destination) is virtual into transfers of real addresses, cut
  /// where the ring wraps around. Where places hold strips, each run of bytes lies in one row.
  std::vector<Transfer> placed(const Transfer& transfer, TransferEnd end) const;

 private:
  // Offset from the first place, as if the ring never wrapped around.
  std::int64_t unrolled(std::uint64_t address) const;
  CopyShape with_places(const CopyShape& shape, TransferEnd end) const;
  void add_placed(const Transfer& transfer, std::int64_t begin, TransferEnd end,
                  std::vector<Transfer>& to) const;

  std::uint64_t origin_, address_;
  BufferedRow row_;
  std::int64_t place_bytes_;
  std::int64_t skipped_ = 0;  // bytes of a row in front of the strip
  std::vector<BufferId> places_;
  // Rows that were made in sequence: row r is the (r + shift)-th made row, which determines its place and
  // version.
  struct Made {
    Interval rows;
    std::int64_t shift = 0;
  };
  std::int64_t shift_of(int row) const;
  std::deque<Made> made_;  // makings with rows that may still be present, the newest last
  std::int64_t next_ = 0;
};

/// One cluster's part of a fusion group: its tasks (SPEC FU-4).
class ClusterTasks {
 public:
  /// `most`: by layer, the most outputs of a step over all clusters, so that the cores of every cluster share
  /// the work in the same way. With `sram`: only the prefetched kernel loads, beside `sram` bytes in use.
  ClusterTasks(TaskGraph& graph, const GroupWork& work, ClusterRows rows,
               const std::vector<MostOutputs>& most, PlannedUse& use, std::optional<std::int64_t> sram = {});

  /// The loads of kernels and factors, and this cluster's link in one of them.
  const std::vector<GroupWeights::Load>& loads() const { return loads_; }
  Staging::Link link(const GroupWeights::Load& load) {
    return {&staging_, *loads_stream_, {staging_.multicast(load.transfers, load.written)}};
  }
  /// Makes a load for this cluster alone: from DRAM to the one core that needs it, or through the SRAM.
  void load_alone(const GroupWeights::Load& load);
  GroupWeights& weights() { return weights_; }

  /// Number of steps, over all parts. In each step `begin` comes first, then the layers in turn; each layer
  /// runs once per portion of its kernels that is on the chip at a time.
  int steps() const { return count_of(steps_); }
  void begin(int number);
  /// Whether the step makes rows of layer `l`'s output.
  bool makes(std::size_t l) const;
  void run_layer(std::size_t l, int portion) {
    for (int i = 0; i < part().images && makes(l); ++i) run_layer(l, portion, part().image + i);
  }

 private:
  struct Core : CoreLane {
    using CoreLane::CoreLane;
    // The lowering of the layer that the matrix unit works on. The unit's inner state belongs to one layer at
    // a time: `unit` is a buffer that the layer's setup writes and all its tasks read.
    std::unique_ptr<MatrixLowering> lowering;
    std::size_t lowered = 0;
    BufferId unit = 0;
    int turns = 0;
  };
  void make_loads(bool ahead);
  void make_sums();

  // ---- places ----

  std::uint64_t address_of(int tensor) const { return group_address(unit_, work_.addresses, tensor); }

  void make_cores();

  // Loads the rows of the next step while those of this step are read, where the SRAM has room for both.
  void hold_tensors();
  BufferedRow held_row(int tensor) const;

  // ---- steps ----

  struct Step {
    std::size_t part = 0;
    int step = 0;  // number within the part
  };
  void list_steps();
  const OutputPart& part() const { return rows_.parts[step_.part]; }
  // The rows of a tensor that the step makes, and their columns.
  Interval made(int tensor) const { return rows_.schedules[step_.part].made(step_.step, tensor); }
  const Interval& columns(int tensor) const { return nth(rows_.columns[step_.part], tensor); }

  void run_layer(std::size_t l, int portion, int image);
  // Rows counted over all images.
  Interval global(int tensor, int image, Interval rows) const;

  // Loads rows of an input into the SRAM, some at a time, so that cores can begin with the first ones.
  void fetch(int number, int image, Interval rows);
  void fetch(const RowBuffer& held, int number, Interval rows);

  // `outs`: rows of the layer's output.
  void run_matrix(std::size_t l, int portion, int image, Interval outs);

  // A core of a reduction group, its shard of the layer, and the shard's kernels that are on the chip.
  struct Worker {
    Core* core = nullptr;
    const Shard* shard = nullptr;
    const JobCut* cut = nullptr;
    std::vector<const GroupWeights::Group*> groups;
    // The map of a tile; nothing: the tile is padding.
    std::optional<BufferRing::Filling> map;
    std::uint64_t map_at = 0;
  };
  std::vector<Worker> reduction_group_of(std::size_t l, int reduction_group, int portion);

  void run_tile(std::size_t l, std::vector<Worker>& reduction_group, const OutputTile& tile, Interval outs);

  // The results of a tile, or its partial sums, over the kernels of group `group` of the worker.
  struct Computed {
    BufferRing::Filling buffer;
    std::uint64_t address = 0;
  };
  Computed compute(std::size_t l, const Worker& worker, std::size_t group, const OutputTile& tile);

  void add_job(std::size_t l, const Worker& worker, const MatrixJob& job);
  std::unique_ptr<MatrixLowering> lowering_of(std::size_t l, const Worker& worker);

  void load_map(std::size_t l, Worker& worker, const OutputTile& tile);

  std::uint64_t result_address(const Core& core, const BufferRing::Filling& result) const;

  // Results that a core has computed: their tile, kernel blocks and address, and the output rows that the
  // step makes of the layer.
  struct Made {
    const OutputTile& tile;
    Interval blocks;
    std::uint64_t address = 0;
    Access read;
    Interval outs;
  };
  void store_tile(std::size_t l, Core& core, const Made& made);

  // The partial-sum exchange of a tile in a reduction group; each of its cores stores a part of the results.
  void end_sums(std::size_t l, const std::vector<Worker>& reduction_group, std::size_t group,
                const std::vector<Computed>& sums, const OutputTile& tile, Interval outs);

  // Stores results to the SRAM, those of the last layer to DRAM.
  void store(Core& core, int output, const Transfer& transfer, Interval rows, const Access& read);

  void run_vector(std::size_t l, int image, Interval rows);

  void run_piece(std::size_t l, Core& core, const VectorPiece& piece);

  TaskGraph& graph_;
  const GroupWork& work_;
  const GroupGraph& unit_;
  const ChipConfig& chip_;
  int cluster_, memory_;
  ClusterRows rows_;
  PlannedBytes& bytes_;
  GroupAxes axes_, column_axes_;  // by layer and input
  std::vector<Step> steps_;
  Step step_;  // the current step
  CopyTasks copies_;
  Staging staging_;
  GroupWeights weights_;
  std::vector<GroupWeights::Load> loads_;
  std::optional<int> loads_stream_;  // the SRAM stream of the loads
  std::vector<Core> cores_;
  std::vector<std::optional<RowBuffer>> held_;  // by tensor
  std::int64_t operands_at_ = 0, operand_bytes_ = 0, result_bytes_ = 0, slice_bytes_ = 0;
  int largest_reduction_group_ = 1;
  std::optional<PartialSumExchange> sums_;      // set where a layer is cut along its channels
  std::map<const Shard*, JobCosts> job_costs_;  // for estimates with one task per job
};

}  // namespace tilebeat
