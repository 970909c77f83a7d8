#pragma once

#include "base/memo.h"
#include "config/hardware_config.h"
#include "planner/language/matrix_backend.h"
#include "planner/language/transfer.h"
#include "planner/layer/packed_kernels.h"
#include "planner/layer/placement.h"
#include "planner/layer/weight_streams.h"
#include "workload/workload.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace tilebeat {

struct Shard;

/// Known costs of the jobs of a shard, by everything that the cost depends on, the engine's cut included.
/// Many mappings of a layer have the same jobs.
using KnownJobCosts = Memo<std::vector<std::int64_t>, TaskCost>;

/// The costs of a layer's jobs for their unit, in one mapping: the schedule of the engine's own tasks. Jobs
/// of one shape cost the same, wherever their operands lie.
class JobCosts {
 public:
  /// `cut`: the engine's cut for jobs whose largest is `largest`; `same_kernels`: all jobs of a core use the
  /// same kernels. All arguments but `largest` outlive it.
  JobCosts(const Shard& shard, const JobCut& cut, const MatrixJob& largest, bool same_kernels);

  const TaskCost& of(const MatrixJob& job);

 private:
  TaskCost cost_of(const MatrixJob& job) const;
  // Some such jobs without interference.
  struct Alone {
    double cycles = 0;
    std::size_t tasks = 0;
    std::int64_t beats = 0;
  };
  Alone jobs_alone(MatrixJob job, int count) const;

  const Shard& share_;
  const JobCut& cut_;
  bool same_kernels_;
  std::vector<std::int64_t> key_;  // the part of the key that all jobs have in common
  std::map<std::tuple<int, int, int, int, int, int, bool, bool>, TaskCost> of_shapes_;
};

/// A shard: a part of a layer that a core computes, as a layer of its own on the engine. It is the layer
/// itself; or all outputs over a part of the input channels, with int32 sums as results; or the kernels of
/// some convolution groups.
struct Shard {
  std::shared_ptr<MatrixLayer> layer;
  WeightPlace weights;
  TensorLayout input;    ///< layout of the shard's channels of the layer's map in DRAM
  int first_kernel = 0;  ///< the shard's first kernel in the layer
  /// The known costs of its jobs, for estimates.
  std::shared_ptr<KnownJobCosts> job_costs = std::make_shared<KnownJobCosts>();
  /// The streams and images of its weights of four bits that have a place in the plan. Layers with the same
  /// weights share them.
  std::shared_ptr<PlacedStreams> streams = std::make_shared<PlacedStreams>();
  /// The same of images that hold the layer's post-parameters, too.
  std::shared_ptr<PlacedStreams> images_with_records = std::make_shared<PlacedStreams>();
  /// Null: kernels are int8 in the core's memory.
  std::shared_ptr<const PackedKernels> packed = nullptr;

  /// The header of a group's images in the core's memory; none: its kernels are int8 there.
  std::optional<WeightImage> image_of(const KernelGroup& group) const;
  /// Bytes of a group's kernels in the core's memory, of those in each region.
  std::int64_t extent_of(const KernelGroup& group) const;
};

/// The dimension along which a layer is cut into shards.
enum class ShardCut : std::uint8_t {
  kChannels,  ///< input channels: one shard per core of a reduction group
  kGroups     ///< convolution groups: one shard per part of them
};

/// The places of a layer's operands in DRAM: its map, and kernels that are a tensor.
struct OperandPlaces {
  TensorLayout input;
  std::optional<KernelTensorPlace> kernels;
};

/// A layer as the shards that cores compute.
struct ShardedLayer {
  /// The layer itself, in kernel blocks of the shards' size. Results have its type, and its bias, activation
  /// and requantisation apply to the sums.
  Problem problem;
  ShardCut cut = ShardCut::kChannels;
  std::vector<Shard> shards;  ///< by rising channels; a single one: the layer itself
  /// DRAM address of the post-parameters of all kernels (post_parameters_of); 0: none.
  std::uint64_t post_parameters = 0;

  /// The shard with the most channels, and its number.
  const Shard& largest() const { return shards[largest_number()]; }
  std::size_t largest_number() const;
  int parts(ShardCut of) const { return cut == of ? count_of(shards) : 1; }
  int cores() const { return parts(ShardCut::kChannels); }  ///< cores of a reduction group
  int group_parts() const { return parts(ShardCut::kGroups); }
  bool adds_sums() const { return cores() > 1; }
};

/// A layer in one shard, the layer itself. Throws UserError when its kernels are a tensor and the engine
/// cannot take those.
ShardedLayer whole_layer(std::shared_ptr<MatrixLayer> layer, const OperandPlaces& places,
                         const HardwareConfig& hardware);
/// The layer `layer`, which `whole` is for a single core, in `parts` shards; one result for every kernel
/// block size that the engine offers for all of them. Channels and kernels are cut at multiples of the
/// engine's grain. Throws UserError when the layer cannot be cut so.
std::vector<ShardedLayer> sharded_layers(const Workload& workload, const Layer& layer,
                                         const HardwareConfig& hardware, const MatrixLayer& whole,
                                         ShardCut cut, int parts, const OperandPlaces& places);

/// The kernels of all shards one after the other, and the post-parameters. The layer outlives it.
KernelBytes kernels_of(const ShardedLayer& layer);
/// Gives the kernels of all shards their places in DRAM, as DramPlaces::place_weights.
void place_kernels(ShardedLayer& layer, const std::vector<int>& parts, DramPlaces& places);

/// A reduction group must take less than this fraction of the cycles without it, because estimates do not
/// know all of its overhead.
constexpr double kWorthAReductionGroup = 0.95;
/// Cores of the largest reduction group that a layer allows on a chip. The cores are in one cluster, whose
/// SRAM the partial sums pass through, and each has channels of its own.
int largest_reduction_group(const MatrixLayer& layer, const ChipConfig& chip);
/// The most parts into which the layer's convolution groups can be divided on a chip.
int most_group_parts(const MatrixLayer& layer, const ChipConfig& chip);
/// Number of reduction groups of `cores` cores that a chip has room for, each in one cluster.
int reduction_groups_of(const ChipConfig& chip, int cores);

/// The parameters of the last addition of a partial-sum exchange (endsums of docs/vector.md): the bounds of
/// the clamp, then a record per kernel. Empty when the results are the sums themselves.
std::vector<std::uint8_t> post_parameters_of(const Problem& problem);
/// The transfers of these parameters for kernel blocks `blocks` from DRAM to `destination`: bounds, then
/// records.
std::vector<Transfer> post_transfers(const ShardedLayer& layer, Interval blocks, std::uint64_t destination);
/// Bytes of a buffer for these parameters of `blocks` kernel blocks.
std::int64_t post_buffer_bytes(const Problem& problem, int blocks);
/// Throws UserError when no reduction group of `cores` cores can compute the layer.
void check_reduction_group(const MatrixLayer& layer, const ChipConfig& chip, int cores);

}  // namespace tilebeat
