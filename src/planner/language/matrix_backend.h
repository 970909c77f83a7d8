#pragma once

#include "config/hardware_config.h"
#include "planner/language/problem.h"
#include "planner/language/task_graph.h"
#include "planner/language/transfer.h"
#include "workload/workload.h"

#include <any>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// What an engine computes at once, and what that costs: parts and tiles are best multiples of it.
struct Grain {
  int rows = 1, columns = 1;      ///< output pixels side by side
  int kernels = 1;                ///< of a kernel block
  int channels = 1;               ///< input channels: a reduction is cut at multiples of them
  std::int64_t cycles = 1;        ///< for so many pixels and kernels over all channels, at most
  std::int64_t kernel_bytes = 0;  ///< packed kernels of one block, at most
};

/// Where the core's memory has post-parameters that are no part of the kernel blocks.
enum class PostPlace : std::uint8_t {
  kApart,     ///< behind the kernels of all blocks that are loaded together
  kInRegions  ///< in every region behind the kernels of each block
};

/// How the kernels of a layer lie in memory as the engine reads them: blocks one behind the other.
struct WeightLayout {
  /// By kernel block, of one set after the other: where it begins; and the end of all. Sets are alike; of
  /// kernels that are a tensor there is one.
  std::vector<std::uint64_t> blocks;
  std::int64_t post_bytes = 0;  ///< of one block's post-parameters that lie apart; 0: there are none
  PostPlace post_place = PostPlace::kApart;
  /// The kernels lie in so many regions of the core's memory, every block with an equal part in each; 1: they
  /// lie there as they do here.
  int regions = 1;
};
/// Where such kernels lie in DRAM.
struct WeightPlace {
  std::vector<std::uint64_t> blocks;    ///< by kernel block, of one set after the other: its address
  std::optional<std::uint64_t> tensor;  ///< the address of kernels that are a tensor; `blocks` has no meaning
  std::uint64_t post = 0;               ///< of the first block's post-parameters; 0: there are none apart
  WeightLayout layout;
  std::int64_t region_bytes = 0;      ///< of the core's memory
  std::int64_t transposed_bytes = 0;  ///< of the largest block that is turned on its way (transposed_bytes)
};

/// Where elements of kernels that are a tensor lie in the place of their block in the core's memory: of
/// kernel `kernels.begin + k` the channel `channels.begin + j * chunk + i` at offset + k * kernel_stride + j
/// * chunk_stride + i * channel_stride. The number of channels is a multiple of `chunk`.
struct KernelPart {
  Interval kernels, channels;
  int chunk = 1;
  std::int64_t offset = 0, kernel_stride = 1, chunk_stride = 1, channel_stride = 1;
};

/// Which part of the input channels a job adds up (SPEC MA-1): the first begins the sums, the last ends them.
struct Reduction {
  Interval channels;  ///< of every group's; all of them: one job does it all
  bool first = true, last = true;
};

/// A tile that a matrix unit computes: from a map, with kernels, to results that lie in a memory which its
/// ports reach.
struct MatrixJob {
  OutputTile tile;  ///< of each of `images` images, of which `tile.image` is the first
  int images = 1;
  Interval blocks;  ///< kernel blocks
  Reduction reduction;
  TensorLayout ifm;                               ///< of the tile's inputs
  std::uint64_t weights = 0;                      ///< of the first block, and of what the reduction adds up
  std::uint64_t post = 0;                         ///< of the first block; 0: none apart
  TensorLayout ofm;                               ///< of the tile's outputs; channel 0 is the first kernel
  AccessList ifm_reads;                           ///< empty: nobody else uses the map's place
  std::optional<Access> weights_read, ofm_write;  ///< absent: likewise
  /// All of these that are there.
  AccessList accesses() const {
    AccessList all = ifm_reads;
    for (const auto& access : {weights_read, ofm_write}) {
      if (access) all.push_back(*access);
    }
    return all;
  }
  /// For `cuts`: so many jobs follow one another on the tile's map, each with kernels of its own.
  int jobs_of_map = 1;
};

/// Where the engine sits: its processor, and in a core the addresses of its memories.
struct EnginePlace {
  int processor = 0;
  std::uint64_t nram = 0, wram = 0;
};

/// Turns jobs of one unit into tasks, one job after the other.
class MatrixLowering {
 public:
  virtual ~MatrixLowering() = default;
  virtual void add(const MatrixJob& job) = 0;
  /// Bytes of maps and of kernels that the tasks so far read through the unit's ports.
  struct ReadBytes {
    std::int64_t maps = 0, kernels = 0;
  };
  virtual ReadBytes read_bytes() const { return {}; }
};

/// How a tile of a map comes to where the engine reads it: transfers, and what the core does before and
/// after.
struct MapLoad {
  std::optional<Copy> before, after;
  std::vector<Transfer> transfers;
};

using Explanation = std::vector<std::pair<std::string, std::string>>;  ///< what was decided, and why

/// How an engine cuts the jobs of a layer: made by MatrixLayer::cuts, handed back to `lower` and `explain` of
/// the same layer, which outlives it, and a closed book to everybody else. Copies are alike.
struct JobCut {
  std::any engine;
};

/// A layer as one engine would run it: everything that the planner must know of the engine. Pure: no member
/// changes anything that another one answers, and threads may ask at the same time. What an engine remembers
/// to answer sooner is a Memo (base/memo.h).
class MatrixLayer {
 public:
  virtual ~MatrixLayer() = default;
  virtual const Problem& problem() const = 0;
  virtual Grain grain() const = 0;
  /// Asked for every way to run the layer; `pack_block` for the chosen one alone.
  virtual WeightLayout weight_layout() const = 0;
  /// Kernel block `block` of set `set`: as many bytes as the layout says. Not asked of kernels that are a
  /// tensor.
  virtual std::vector<std::uint8_t> pack_block(int set, int block) const = 0;
  /// Tasks of jobs in the order in which they are added. The layer outlives it.
  virtual std::unique_ptr<MatrixLowering> lower(TaskGraph& graph, const EnginePlace& place,
                                                const JobCut& cut) const = 0;
  virtual Explanation explain(const JobCut& cut) const = 0;
  /// What the engine tells of the layer in `plan` and in the report: the same whether its choices were made
  /// by the planner or by a mapping file.
  virtual Explanation facts() const { return {}; }

  // ---- what not every engine has to answer ----

  /// The post-parameters that lie apart, block by block: `post_bytes` of the layout for each. A record
  /// (encode) for each kernel of all blocks, also behind the last kernel.
  virtual std::vector<std::uint8_t> pack_post_parameters() const;

  /// What it chose for the layer, as a JSON object with fields of its part of the hardware file.
  virtual std::string choices() const { return {}; }
  /// The same layer in kernel blocks of other sizes: the planner takes what it expects to be fastest.
  virtual std::vector<std::unique_ptr<MatrixLayer>> other_block_sizes() const { return {}; }

  /// Bytes of a row of a tile's map in the core's memory: its pixels as they are.
  virtual std::int64_t ifm_row_bytes(const Window& w) const;
  /// Whether the rows of a tile's map lie there one behind the other, and come by transfers alone: then tiles
  /// that lie one below the other may share rows.
  virtual bool shares_rows() const { return true; }
  /// The way of a tile's map, which lies at `source`, to `destination`: one transfer, to rows of
  /// ifm_row_bytes; of a map whose channels lie apart one for every row, or for all. The layer may have a
  /// part of the channels that a pixel has there.
  virtual MapLoad load_map(const OutputTile& tile, const TensorLayout& source,
                           std::uint64_t destination) const;

  /// Whether jobs may add up parts of the channels; outputs of such a job are one grain.
  virtual bool reduces() const { return false; }
  /// Bytes of one block of kernels over channels `channels`, and where they begin in the block; where kernels
  /// lie in several regions, in the block's part of each. Asked of layers that reduce, and where kernels are
  /// a tensor.
  virtual Interval weights_of(int /*block*/, Interval /*channels*/) const { return {}; }
  /// Where the elements of kernels that are a tensor lie: channels `channels` of a block. Post-parameters do
  /// not belong to it.
  virtual std::vector<KernelPart> kernel_parts(int block, Interval channels) const;
  /// The ways to cut jobs whose largest is `largest`, with maps and results behind `path` in a memory of
  /// `memory_bytes` bytes a cycle, that are expected to be about as good; the first is the best without a
  /// closer look. Throws UserError when the unit cannot.
  virtual std::vector<JobCut> cuts(const MatrixJob& /*largest*/, const PortPath& /*path*/,
                                   double /*memory_bytes*/) const {
    return {JobCut{}};
  }
};

/// The layout of blocks of `bytes_of(block)` bytes each, without post-parameters that lie apart; and with a
/// record for each kernel of a block, where the layer has post-parameters.
WeightLayout layout_of_blocks(const Problem& problem, const std::function<std::int64_t(int)>& bytes_of);
WeightLayout layout_with_records(const Problem& problem, const std::function<std::int64_t(int)>& bytes_of);

/// The layer on the engine that the hardware's dataflow names. `workload` and `hardware` outlive it. Defined
/// where the engines are listed.
std::unique_ptr<MatrixLayer> make_matrix_layer(const Workload& workload, const Layer& layer,
                                               const HardwareConfig& hardware);

}  // namespace tilebeat
