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
#include <memory>
#include <optional>
#include <vector>

namespace tilebeat {

/// The extents of a held tensor: bytes of a pixel and of a whole row, columns that a place has room for.
struct BufferedRow {
  std::int64_t pixel_bytes = 1, bytes = 1;
  int columns = 1;
  std::int64_t place_bytes() const { return std::min(bytes, columns * pixel_bytes); }
};

/// A tensor of which an on-chip memory holds some rows at a time, or a strip of some columns of them, in a
/// ring of places of one row each. Its elements have virtual addresses, in which the whole tensor lies
/// without gaps, image after image; rows are counted over all images; those of several images may be there.
/// Every place is a buffer of its own, so that a task waits for the rows that it touches and for no others.
class RowBuffer {
 public:
  /// `capacity` places for such rows from `address` on; the virtual addresses begin at `origin`.
  RowBuffer(TaskGraph& graph, std::uint64_t origin, std::uint64_t address, const BufferedRow& row,
            int capacity);

  std::uint64_t origin() const { return origin_; }
  /// The rows that are made from now on begin with column `column`, where places have no room for all.
  void begin_strip(int column);
  /// Rows `rows` come to lie behind those that were made last. They overwrite what lay there.
  void make(Interval rows);
  /// How a task uses rows, all of which are there.
  AccessList accesses(Interval rows, AccessKind kind) const;
  /// Rows that virtual addresses [address, address + bytes) touch.
  Interval rows_of(std::uint64_t address, std::int64_t bytes) const;

  /// A transfer whose source (or destination) is virtual, as transfers of real addresses: it is cut where
  /// the ring begins again. Where places hold strips, a run of bytes lies in one row.
  std::vector<Transfer> placed(const Transfer& transfer, TransferEnd end) const;

 private:
  // Bytes from the first place on, if the ring never began again.
  std::int64_t unrolled(std::uint64_t address) const;
  CopyShape with_places(const CopyShape& shape, TransferEnd end) const;
  void add_placed(const Transfer& transfer, std::int64_t begin, TransferEnd end,
                  std::vector<Transfer>& to) const;

  std::uint64_t origin_, address_;
  BufferedRow row_;
  std::int64_t place_bytes_;
  std::int64_t skipped_ = 0;  // bytes of a row in front of the strip
  std::vector<BufferId> places_;
  // Rows that were made one behind the other: row r is the (r + shift)-th that was made: place and version
  // follow.
  struct Made {
    Interval rows;
    std::int64_t shift = 0;
  };
  std::int64_t shift_of(int row) const;
  std::deque<Made> made_;  // those of which a row may be there, the newest last
  std::int64_t next_ = 0;
};

/// One cluster's part of a fusion group: its tasks (SPEC FU-4).
class ClusterTasks {
 public:
  /// `most`: of each layer's outputs in a step, of all clusters, whose cores thus share the work in the
  /// same way. With `sram`: only the loads of kernels that are made ahead, beside so many bytes in use.
  ClusterTasks(TaskGraph& graph, const GroupWork& work, ClusterRows rows,
               const std::vector<MostOutputs>& most, PlannedUse& use, std::optional<std::int64_t> sram = {});

  /// The loads of kernels and factors, and this cluster's part in one of them.
  const std::vector<GroupWeights::Load>& loads() const { return loads_; }
  Staging::Link link(const GroupWeights::Load& load) {
    return {&staging_, *loads_stream_, {staging_.multicast(load.transfers, load.written)}};
  }
  /// A load that only this cluster makes: from DRAM to the one core that needs it, or through the SRAM.
  void load_alone(const GroupWeights::Load& load);
  GroupWeights& weights() { return weights_; }

  /// Steps, those of all parts one behind the other. `begin` comes first, then the layers in turn, of each
  /// the portions of its kernels that are on the chip at a time.
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
    // Of the layer that the matrix unit works on. What the unit holds inside belongs to one layer at a time:
    // `unit` is a buffer that the layer's setup writes and all its tasks read.
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

  // Rows of the next step come in while those of this one are read, where the SRAM has room for both.
  void hold_tensors();
  BufferedRow held_row(int tensor) const;

  // ---- steps ----

  struct Step {
    std::size_t part = 0;
    int step = 0;  // of it
  };
  void list_steps();
  const OutputPart& part() const { return rows_.parts[step_.part]; }
  // Rows of a tensor that the step makes, and their columns.
  Interval made(int tensor) const { return rows_.schedules[step_.part].made(step_.step, tensor); }
  const Interval& columns(int tensor) const { return nth(rows_.columns[step_.part], tensor); }

  void run_layer(std::size_t l, int portion, int image);
  // Rows counted over all images.
  Interval global(int tensor, int image, Interval rows) const;

  // Rows of an input come into the SRAM, some at a time: cores begin with the first ones.
  void fetch(int number, int image, Interval rows);
  void fetch(const RowBuffer& held, int number, Interval rows);

  // `outs`: rows of the layer's output.
  void run_matrix(std::size_t l, int portion, int image, Interval outs);

  // A core of a reduction group, its share of the layer, and the kernels of it that are on the chip.
  struct Worker {
    Core* core = nullptr;
    const Shard* shard = nullptr;
    const JobCut* cut = nullptr;
    std::vector<const GroupWeights::Group*> groups;
    // Of a tile; no map: it is padding.
    std::optional<BufferRing::Filling> map;
    std::uint64_t map_at = 0;
  };
  std::vector<Worker> reduction_group_of(std::size_t l, int reduction_group, int portion);

  void run_tile(std::size_t l, std::vector<Worker>& reduction_group, const OutputTile& tile, Interval outs);

  // A tile's results, or its sums, over kernels of group `group` of the worker.
  struct Computed {
    BufferRing::Filling buffer;
    std::uint64_t address = 0;
  };
  Computed compute(std::size_t l, const Worker& worker, std::size_t group, const OutputTile& tile);

  void add_job(std::size_t l, const Worker& worker, const MatrixJob& job);

  void load_map(std::size_t l, Worker& worker, const OutputTile& tile);

  std::uint64_t result_address(const Core& core, const BufferRing::Filling& result) const;

  // What a core has computed: a tile, kernels of it, where that lies, and the rows of the layer's output that
  // the step makes.
  struct Made {
    const OutputTile& tile;
    Interval blocks;
    std::uint64_t address = 0;
    Access read;
    Interval outs;
  };
  void store_tile(std::size_t l, Core& core, const Made& made);

  // A reduction group adds up its sums of a tile; each of its cores stores a part of the results.
  void end_sums(std::size_t l, const std::vector<Worker>& reduction_group, std::size_t group,
                const std::vector<Computed>& sums, const OutputTile& tile, Interval outs);

  // Results to the SRAM; those of the last layer to DRAM.
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
  Step step_;  // that is worked on
  CopyTasks copies_;
  Staging staging_;
  GroupWeights weights_;
  std::vector<GroupWeights::Load> loads_;
  std::optional<int> loads_stream_;  // of the SRAM
  std::vector<Core> cores_;
  std::vector<std::optional<RowBuffer>> held_;  // by tensor
  std::int64_t operands_at_ = 0, operand_bytes_ = 0, result_bytes_ = 0, slice_bytes_ = 0;
  int largest_reduction_group_ = 1;
  std::optional<PartialSumExchange> sums_;  // where a layer is cut along its channels
};

}  // namespace tilebeat
