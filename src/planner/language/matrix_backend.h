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

/// The smallest amount of work of an engine and its cost: parts and tiles are best multiples of it.
struct Grain {
  int rows = 1, columns = 1;      ///< output pixels side by side
  int kernels = 1;                ///< kernels of a kernel block
  int channels = 1;               ///< input channels; a reduction is cut at multiples of them
  std::int64_t cycles = 1;        ///< cycles for one grain over all input channels, at most
  std::int64_t kernel_bytes = 0;  ///< bytes of one block's packed kernels, at most
};

/// The place in the core's memory of post-parameters that are not stored inside the kernel blocks.
enum class PostPlace : std::uint8_t {
  kApart,     ///< behind the kernels of all blocks that are loaded together
  kInRegions  ///< in every region behind the kernels of each block
};

/// The layout of a layer's kernels in memory as the engine reads them: block after block.
struct WeightLayout {
  /// Offset of each kernel block, set after set, and the end of the last one. All sets have the same layout;
  /// kernels that are a tensor have one set here.
  std::vector<std::uint64_t> blocks;
  std::int64_t post_bytes = 0;  ///< bytes of one block's separate post-parameters; 0: none are separate
  PostPlace post_place = PostPlace::kApart;
  /// Regions of the core's memory over which each block is spread evenly; 1: the core's memory has the same
  /// layout as DRAM.
  int regions = 1;
  /// Kernels follow one another in DRAM and are dealt to the regions one by one; otherwise a block has the
  /// bytes of region after region.
  bool dealt = false;
  /// Groups of neighbouring regions, to each of which neighbouring kernels of a block are dealt.
  int region_groups = 1;
  std::int64_t record_bytes = 0;  ///< bytes of all blocks' separate post-parameters
  std::int64_t most_bytes = 0;    ///< most bytes that a block takes in the core's memory
  /// Bytes of post-parameters that are not among those of the blocks.
  std::int64_t records_apart() const {
    return post_place == PostPlace::kInRegions && !dealt ? 0 : record_bytes;
  }
};
/// The place in DRAM of kernels that are a tensor.
struct KernelTensorPlace {
  std::uint64_t address = 0;
  StoredMapPointer stored = {};  ///< set where images are spaced, each of whole sets of kernels
  /// The address of the set that begins `offset` bytes behind the first one in C order.
  std::uint64_t of_set(std::int64_t offset) const {
    return address + to_unsigned(stored ? stored->place_of(offset) : offset);
  }
};
/// The places of a layer's kernels in DRAM, and their layout there.
struct WeightPlace {
  std::vector<std::uint64_t> blocks;        ///< address of each kernel block, set after set
  std::optional<KernelTensorPlace> tensor;  ///< of kernels that are a tensor; `blocks` is then unused
  std::uint64_t post = 0;  ///< address of the first block's separate post-parameters; 0: none
  WeightLayout layout;
  std::int64_t region_bytes = 0;  ///< bytes of one region of the core's memory
  std::int64_t transposed_bytes =
      0;  ///< most bytes of a block that a transposing copy takes (transposed_bytes)
};

/// The places of elements of a kernel tensor within their block in the core's memory: channel `channels.begin
/// + j * chunk + i` of kernel `kernels.begin + k` lies at offset + k * kernel_stride + j * chunk_stride + i *
/// channel_stride. The number of channels is a multiple of `chunk`.
struct KernelPart {
  Interval kernels, channels;
  int chunk = 1;
  std::int64_t offset = 0, kernel_stride = 1, chunk_stride = 1, channel_stride = 1;
};

/// A weight stream of a plan (isa/weight_stream.h): its place in DRAM, and its bytes.
struct PlacedStream {
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
};
/// Gives the stream of so many bytes of kernels from an address of WeightPlace::blocks on.
using StreamOf = std::function<PlacedStream(std::uint64_t address, std::int64_t bytes)>;

/// The part of the input channels that a job accumulates (SPEC MA-1): the first job starts the sums, the last
/// completes them.
struct Reduction {
  Interval channels;  ///< of every convolution group; all channels: a single job does the whole reduction
  bool first = true, last = true;
};

/// A tile that a matrix unit computes from a map with kernels. Map, kernels and results lie in memories that
/// the unit's ports reach.
struct MatrixJob {
  OutputTile tile;  ///< for each of `images` images; `tile.image` is the first
  int images = 1;
  Interval blocks;  ///< kernel blocks
  Reduction reduction;
  TensorLayout ifm;           ///< layout of the tile's inputs
  std::uint64_t weights = 0;  ///< address of the first block, at the first channel of the reduction
  /// Address of the image that holds the kernels packed, from whose beginning `weights` counts decoded bytes
  /// (isa/weight_image.h); 0: they are int8.
  std::uint64_t image = 0;
  std::int64_t image_front = 0, image_bytes = 0;  ///< bytes in front of its codes, and of all
  /// Set where the unit of a board decodes the kernels that it loads (Problem::in_streams).
  const StreamOf* stream_of = nullptr;
  std::uint64_t post = 0;  ///< address of the first block's separate post-parameters; 0: none
  TensorLayout ofm;        ///< layout of the tile's outputs; channel 0 is the first kernel
  AccessList ifm_reads;    ///< empty: no other task uses the map's place
  std::optional<Access> weights_read, ofm_write;  ///< absent: no other task uses the place
  /// All accesses of the job.
  AccessList accesses() const {
    AccessList all = ifm_reads;
    for (const auto& access : {weights_read, ofm_write}) {
      if (access) all.push_back(*access);
    }
    return all;
  }
  /// Jobs with different kernels that follow one another on the tile's map; a hint for `cuts`.
  int jobs_of_map = 1;
};

/// Tells of the jobs of a unit, in their order, which of them find the scales of their image in the unit.
class ImagesInTurn {
 public:
  /// Whether the job before had the same image, with the same contents.
  bool same(const MatrixJob& job) {
    const auto read = job.weights_read ? std::pair(job.weights_read->buffer, job.weights_read->version)
                                       : std::pair<BufferId, int>();
    const bool known = job.image != 0 && job.image == image_ && read == read_;
    image_ = job.image, read_ = read;
    return known;
  }

 private:
  std::uint64_t image_ = 0;
  std::pair<BufferId, int> read_;
};

/// The place of an engine: its processor and, in a core, the addresses of the core's memories.
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

/// The load of a map tile to where the engine reads it: the transfers, and copies of the core before and
/// after them.
struct MapLoad {
  std::optional<Copy> before, after;
  std::vector<Transfer> transfers;
};

using Explanation = std::vector<std::pair<std::string, std::string>>;  ///< pairs of a decision and its reason

/// An engine's way to cut the jobs of a layer. MatrixLayer::cuts makes it; only `lower` and `explain` of the
/// same layer, which must outlive it, read it. Copies are equivalent.
struct JobCut {
  std::any engine;
};

/// A layer on one engine: the planner's whole view of the engine. All members are pure, so that threads may
/// call them concurrently; results that an engine caches are kept in a Memo (base/memo.h).
class MatrixLayer {
 public:
  virtual ~MatrixLayer() = default;
  virtual const Problem& problem() const = 0;
  virtual Grain grain() const = 0;
  /// The planner asks every candidate layer for its layout, and only the chosen one for `pack_block`.
  virtual WeightLayout weight_layout() const = 0;
  /// The bytes of kernel block `block` of set `set`, as many as the layout says, with elements of `weights`,
  /// which has the shape of the problem's. Not called for kernels that are a tensor.
  virtual std::vector<std::uint8_t> pack_block(const Tensor& weights, int set, int block) const = 0;
  /// How many weights of neighbouring channels lie together in packed blocks: 1 where the channels of a
  /// kernel are neighbours, the kernels of a block where these are.
  virtual std::vector<int> weights_of_channel() const { return {1}; }
  /// Makes the lowering that turns jobs, in the order in which they are added, into tasks. The layer outlives
  /// it.
  virtual std::unique_ptr<MatrixLowering> lower(TaskGraph& graph, const EnginePlace& place,
                                                const JobCut& cut) const = 0;
  virtual Explanation explain(const JobCut& cut) const = 0;
  /// The engine's facts about the layer for `plan` and the report. They do not depend on whether the planner
  /// or a mapping file made the choices.
  virtual Explanation facts() const { return {}; }

  // ---- members with a default ----

  /// The separate post-parameters, block by block, `record_bytes` of the layout in all: a record (encode) for
  /// each kernel.
  virtual std::vector<std::uint8_t> pack_post_parameters() const;

  /// The engine's choices for the layer, as a JSON object with fields of its part of the hardware file.
  virtual std::string choices() const { return {}; }
  /// The same layer in kernel blocks of other sizes; the planner takes the one with the lowest estimate.
  virtual std::vector<std::unique_ptr<MatrixLayer>> other_block_sizes() const { return {}; }

  /// Bytes of a row of a tile's map in the core's memory; by default its pixels as they are.
  virtual std::int64_t ifm_row_bytes(const Window& w) const;
  /// Whether the rows of a tile's map are contiguous in the core's memory and come by transfers alone. Then
  /// vertically neighbouring tiles may share rows.
  virtual bool shares_rows() const { return true; }
  /// The load of a tile's map from `source` to `destination`, by default one transfer to rows of
  /// ifm_row_bytes; for a map with separate channels, one transfer per row or one for all. The layer may use
  /// only a part of the channels of a pixel at `source`.
  virtual MapLoad load_map(const OutputTile& tile, const TensorLayout& source,
                           std::uint64_t destination) const;

  /// Whether the engine reads the layer's kernels also from images (isa/weight_image.h).
  virtual bool reads_images() const { return false; }

  /// Whether jobs may sum over a part of the channels; the outputs of such a job are one grain.
  virtual bool reduces() const { return false; }
  /// The bytes that channels `channels` take of a kernel block: where they begin in the block and end. Where
  /// kernels are spread over regions, counted within the block's part of each region; there channels of
  /// kernels that are dealt begin at 0. Called for layers that reduce or deal, and for kernels that are a
  /// tensor.
  virtual Interval weights_of(int /*block*/, Interval /*channels*/) const { return {}; }
  /// The transfers of channels `channels` of a block whose kernels are dealt to regions, which begin `region`
  /// bytes apart: from its first byte in DRAM to the first byte of its place in a region, both counted from
  /// 0.
  virtual std::vector<Transfer> dealt_kernels(int block, Interval channels, std::int64_t region) const;
  /// The places of channels `channels` of a block, for kernels that are a tensor; without post-parameters.
  virtual std::vector<KernelPart> kernel_parts(int block, Interval channels) const;
  /// Ways to cut jobs whose largest is `largest`, with similar expected cost; the first is the best by that
  /// estimate. Maps and results lie behind `path`, in a memory that moves `memory_bytes` bytes a cycle.
  /// Throws UserError when the unit cannot compute the job.
  virtual std::vector<JobCut> cuts(const MatrixJob& /*largest*/, const PortPath& /*path*/,
                                   double /*memory_bytes*/) const {
    return {JobCut{}};
  }
};

/// The layout of blocks of `bytes_of(block)` bytes each: without separate post-parameters, and with a
/// post-parameter record for each kernel of a block where the layer has post-parameters.
WeightLayout layout_of_blocks(const Problem& problem, const std::function<std::int64_t(int)>& bytes_of);
WeightLayout layout_with_records(const Problem& problem, const std::function<std::int64_t(int)>& bytes_of);

/// The layer on the engine of the hardware's dataflow. `workload` and `hardware` outlive it. Defined where
/// the engines are listed.
std::unique_ptr<MatrixLayer> make_matrix_layer(const Workload& workload, const Layer& layer,
                                               const HardwareConfig& hardware);

}  // namespace tilebeat
