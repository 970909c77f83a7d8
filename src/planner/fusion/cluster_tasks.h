#pragma once

#include "planner/fusion/group_tasks.h"
#include "planner/fusion/group_weights.h"
#include "planner/fusion/pyramid.h"
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

/// A tensor of a fusion group of which a memory on the chip holds a part. Elements have virtual addresses, as
/// if the whole tensor lay there without gaps, image after image. Rows are counted over all images.
class HeldTensor {
 public:
  explicit HeldTensor(std::uint64_t origin, std::int64_t row_bytes)
      : origin_(origin), row_bytes_(row_bytes) {}
  virtual ~HeldTensor() = default;
  std::uint64_t origin() const { return origin_; }  ///< the first virtual address
  /// The accesses of a task that uses rows `rows`, all of which are present.
  virtual AccessList accesses(Interval rows, AccessKind kind) const = 0;
  /// Translates a transfer whose source (or destination) is virtual into transfers of real addresses.
  virtual std::vector<Transfer> placed(const Transfer& transfer, TransferEnd end) const = 0;
  /// The rows that virtual addresses [address, address + bytes) touch.
  Interval rows_of(std::uint64_t address, std::int64_t bytes) const;

 protected:
  /// `shape` with strides of whole rows at one end replaced by such of places of `place_bytes` bytes.
  CopyShape with_places(const CopyShape& shape, TransferEnd end, std::int64_t place_bytes) const;

  std::uint64_t origin_;
  std::int64_t row_bytes_;
};

/// A tensor of a pyramid in the NRAM of a core: the region that is made and read at a time, without gaps.
class NramPart : public HeldTensor {
 public:
  NramPart(TaskGraph& graph, std::uint64_t origin, std::uint64_t address, const GroupTensor& tensor);

  /// From now on the place has `part`, whose rows are counted over all images.
  void begin(const Region& part);
  const Region& part() const { return part_; }
  std::uint64_t address() const { return address_; }
  Access access(AccessKind kind) const { return {filling_.buffer, filling_.version, kind}; }

  AccessList accesses(Interval rows, AccessKind kind) const override;
  std::vector<Transfer> placed(const Transfer& transfer, TransferEnd end) const override;

 private:
  std::uint64_t address_;
  std::int64_t pixel_bytes_;
  BufferRing ring_;
  BufferRing::Filling filling_;
  Region part_;
};

/// A row buffer: a tensor of which the SRAM holds some rows at a time, or a strip of columns of them, in a
/// ring of places of one row each. Rows of several images may be present. Each place is a buffer of the task
/// graph, so that a task waits only for the rows that it touches.
class RowBuffer : public HeldTensor {
 public:
  /// `capacity` places of such rows from `address` on; the virtual addresses begin at `origin`.
  RowBuffer(TaskGraph& graph, std::uint64_t origin, std::uint64_t address, const BufferedRow& row,
            int capacity);

  /// Rows made from now on begin with column `column`, where places do not hold whole rows.
  void begin_strip(int column);
  /// Places rows `rows` behind those that were made last, over the oldest rows.
  void make(Interval rows);
  AccessList accesses(Interval rows, AccessKind kind) const override;
  /// Transfers are cut where the ring wraps around. Where places hold strips, each run of bytes lies in one
  /// row.
  std::vector<Transfer> placed(const Transfer& transfer, TransferEnd end) const override;

 private:
  // Offset from the first place, as if the ring never wrapped around.
  std::int64_t unrolled(std::uint64_t address) const;
  void add_placed(const Transfer& transfer, std::int64_t begin, TransferEnd end,
                  std::vector<Transfer>& to) const;

  std::uint64_t address_;
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
  /// the work in the same way. `pyramids`: those of the group; the first cluster sets the parts that cores
  /// make of them. With `sram`: only the prefetched kernel loads, beside `sram` bytes in use.
  ClusterTasks(TaskGraph& graph, const GroupWork& work, ClusterRows rows,
               const std::vector<MostOutputs>& most, std::vector<Pyramid>& pyramids, PlannedUse& use,
               std::optional<std::int64_t> sram = {});
  /// Bytes of each buffer that the SRAM has left for a stream of loads; 0: it has no room.
  std::int64_t stream_room() const { return staging_.room(Staging::kStreamBuffers); }
  /// Makes the loads of kernels and factors, once, before anything else is called; `ahead`: only those that
  /// an earlier part of the program makes. `room`: of the cluster that has least. All clusters cut streams of
  /// weights alike, since one fetch may be for all of them.
  void make_loads(bool ahead, std::int64_t room);

  /// The loads of kernels and factors, and this cluster's link in one of them.
  const std::vector<GroupWeights::Load>& loads() const { return loads_; }
  Staging::Link link(const GroupWeights::Load& load) {
    return {&staging_, *loads_stream_, {staging_.multicast(load.transfers, load.accesses())}};
  }
  /// Makes a load for this cluster alone, through the SRAM or by each core that needs it, as
  /// `chip.dram_path` says: where it leaves that open, by the one core that needs it. Returns how often it is
  /// fetched.
  int load_alone(const GroupWeights::Load& load);
  /// Loads a portion of the kernels of product `layer` of two results for the map of the current step, unless
  /// WRAM still has them, and counts their bytes (SPEC AT-1). The group's other clusters make other maps.
  void load_product(std::size_t layer, int portion);
  GroupWeights& weights() { return weights_; }
  const GroupWeights& weights() const { return weights_; }
  const ClusterRows& rows() const { return rows_; }
  /// Bytes of a core's NRAM that have a place.
  std::int64_t nram_bytes() const;
  const std::vector<Pyramid>& pyramids() const { return pyramids_; }

  /// Number of steps, over all parts. In each step `begin` comes first, then the layers in turn; each layer
  /// runs once per portion of its kernels that is on the chip at a time.
  int steps() const { return count_of(steps_); }
  void begin(int number);
  /// Stores the step's results that the SRAM has collected.
  void end();
  /// Whether the step makes rows of layer `l`'s output.
  bool makes(std::size_t l) const;
  void run_layer(std::size_t l, int portion);

 private:
  struct Core : CoreLane {
    using CoreLane::CoreLane;
    // The lowering of the layer that the matrix unit works on. The unit's inner state belongs to one layer at
    // a time: `unit` is a buffer that the layer's setup writes and all its tasks read.
    std::unique_ptr<MatrixLowering> lowering;
    std::size_t lowered = 0;
    BufferId unit = 0;
    int turns = 0;
    std::map<int, std::vector<NramPart>> held;  // by tensor of a pyramid: for one part in two, and the other
    std::size_t part = 0;                       // of these two, the one that is computed
    std::size_t parts = 0;                      // parts of pyramids so far
    NramPart* nram(int tensor) {
      const auto found = held.find(tensor);
      return found == held.end() ? nullptr : &found->second[part];
    }
  };
  void make_sums();

  // ---- places ----

  std::uint64_t address_of(int tensor) const { return group_address(unit_, work_.addresses, tensor); }

  void make_cores();
  void make_pyramids(const std::vector<MostOutputs>& most, std::vector<Pyramid>& pyramids);
  std::vector<std::optional<LayerMapping>> fixed_mappings() const;
  // Where the core finds, or makes, a tensor of the group; null: in DRAM.
  HeldTensor* held_for(Core& core, int tensor);

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

  // A core of a reduction group, its shard of the layer, and the shard's kernels that are on the chip.
  struct Worker {
    Core* core = nullptr;
    const Shard* shard = nullptr;
    const JobCut* cut = nullptr;
    std::vector<const GroupWeights::Group*> groups;
    // The map of a tile; nothing: the tile is padding.
    std::optional<BufferRing::Filling> map;
    const NramPart* in_place = nullptr;  // where the map lies instead
    std::uint64_t map_at = 0;
  };
  Region made_region(std::size_t l) const {
    const int output = unit_.layers[l].output;
    return {made(output), columns(output)};
  }
  // Whether the group reads results of kernel blocks `blocks` in a part of layer `l`'s output: of scores that
  // a causal softmax alone reads it reads the keys that queries see (SPEC AT-1).
  bool sees(std::size_t l, int image, const Region& outs, Interval blocks) const;
  void run_layer(std::size_t l, int portion, int image);
  void run_pyramid(const Pyramid& pyramid);
  // A part of a pyramid's output, and what the pyramid makes for it, by tensor.
  struct PyramidPart {
    int image = 0, core = 0;
    std::size_t place = 0;  // of the two for parts that a core holds at a time
    std::vector<Region> regions;
  };
  void run_part(std::size_t l, const PyramidPart& part);
  // Where in NRAM the map of a tile lies already as the engine reads it; null: nowhere.
  const NramPart* map_in_place(std::size_t l, Core& core, const OutputTile& tile) const;
  // Where a tile's results may lie as the next layer reads them; null: nowhere.
  const NramPart* results_in_place(std::size_t l, const Worker& worker, const OutputTile& tile) const;
  // Rows counted over all images.
  Interval global(int tensor, int image, Interval rows) const;

  // Loads rows of an input into the SRAM, some at a time, so that cores can begin with the first ones.
  void fetch(int number, int image, Interval rows);
  // Parts of rows that a copy moves at a time.
  std::vector<Interval> some_rows(int number, Interval rows) const;
  // The transfer of rows of a tensor from DRAM to where the SRAM holds them, virtually.
  Transfer rows_between(int number, Interval rows) const;

  // `outs`: the part of the layer's output that is made.
  void run_matrix(std::size_t l, int portion, int image, const Region& outs);
  void run_matrix_alone(std::size_t l, Core& core, int image, const Region& outs);

  std::vector<Worker> reduction_group_of(std::size_t l, int reduction_group, int portion);

  void run_tile(std::size_t l, std::vector<Worker>& reduction_group, const OutputTile& tile,
                const Region& outs);

  // Counts the multiply-accumulates of a tile with kernels whose results nothing reads.
  void hide(std::size_t l, const OutputTile& tile, const std::vector<const GroupWeights::Group*>& groups);

  // The results of a tile, or its partial sums, over the kernels of group `group` of the worker.
  struct Computed {
    BufferRing::Filling buffer;
    std::uint64_t address = 0;
    bool in_place = false;  // as the next layer of a pyramid reads them
  };
  Computed compute(std::size_t l, const Worker& worker, std::size_t group, const OutputTile& tile);

  void add_job(std::size_t l, const Worker& worker, const MatrixJob& job);
  std::unique_ptr<MatrixLowering> lowering_of(std::size_t l, const Worker& worker);

  void load_map(std::size_t l, Worker& worker, const OutputTile& tile);

  std::uint64_t result_address(const Core& core, const BufferRing::Filling& result) const;

  // Results that a core has computed: their tile, kernel blocks and address, and the part of the output that
  // is made.
  struct Made {
    const OutputTile& tile;
    Interval blocks;
    std::uint64_t address = 0;
    Access read;
    Region outs;
  };
  void store_tile(std::size_t l, Core& core, const Made& made);

  // The partial-sum exchange of a tile in a reduction group; each of its cores stores a part of the results.
  void end_sums(std::size_t l, const std::vector<Worker>& reduction_group, std::size_t group,
                const std::vector<Computed>& sums, const OutputTile& tile, const Region& outs);

  // Stores results to the SRAM, those of the last layer to DRAM.
  void store(Core& core, int output, const Transfer& transfer, Interval rows, const Access& read);

  // The cores share the pieces, or `alone` makes them all.
  void run_vector(std::size_t l, int image, const Region& outs, Core* alone = nullptr);

  void run_piece(std::size_t l, Core& core, const VectorPiece& piece);

  TaskGraph& graph_;
  const GroupWork& work_;
  const GroupGraph& unit_;
  const ChipConfig& chip_;
  int cluster_, memory_;
  ClusterRows rows_;
  PlannedUse& use_;
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
  std::vector<Pyramid> pyramids_;
  int next_core_ = 0;  // the core that makes the next part of a pyramid
  std::int64_t operands_at_ = 0, operand_bytes_ = 0, result_bytes_ = 0, slice_bytes_ = 0, inner_bytes_ = 0;
  int largest_reduction_group_ = 1;
  std::optional<PartialSumExchange> sums_;      // set where a layer is cut along its channels
  std::map<const Shard*, JobCosts> job_costs_;  // for estimates with one task per job
};

}  // namespace tilebeat
