#pragma once

#include "base/memo.h"
#include "config/hardware_config.h"
#include "planner/language/matrix_backend.h"
#include "planner/language/transfer.h"
#include "planner/layer/placement.h"
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

/// What is known of the jobs of a shard of a layer: by all that their cost depends on, how the engine cuts
/// them included. Many mappings of a layer have the same jobs.
using KnownJobCosts = Memo<std::vector<std::int64_t>, TaskCost>;

/// What jobs of a layer cost their unit, in one mapping: the schedule of the engine's own tasks. Jobs of one
/// shape cost the same, wherever they find their operands.
class JobCosts {
 public:
  /// `cut`: how the engine cuts them, for jobs whose largest is `largest`; `same_kernels`: all jobs of a core
  /// have the same. What it is given but `largest` outlives it.
  JobCosts(const Shard& shard, const JobCut& cut, const MatrixJob& largest, bool same_kernels);

  const TaskCost& of(const MatrixJob& job);

 private:
  TaskCost cost_of(const MatrixJob& job) const;
  std::pair<double, std::size_t> jobs_alone(MatrixJob job, int count) const;

  const Shard& share_;
  const JobCut& cut_;
  bool same_kernels_;
  std::vector<std::int64_t> key_;  // what is decided for all jobs
  std::map<std::tuple<int, int, int, int, int, int, bool, bool>, TaskCost> of_shapes_;
};

/// What cores compute of a layer, as a layer of its own on the engine: the layer itself; all outputs over a
/// part of the input channels, which are int32 sums; or the kernels of some groups.
struct Shard {
  std::shared_ptr<MatrixLayer> layer;
  WeightPlace weights;
  TensorLayout input;    ///< the shard's channels of the layer's map in DRAM
  int first_kernel = 0;  ///< of the layer: the shard's first
  /// Of its jobs, for estimates.
  std::shared_ptr<KnownJobCosts> job_costs = std::make_shared<KnownJobCosts>();
};

/// What a layer is cut into shares by.
enum class ShardCut : std::uint8_t {
  kChannels,  ///< one shard a core of a reduction group
  kGroups     ///< one shard a part of the groups
};

/// Where the operands of a layer lie in DRAM: its map, and kernels that are a tensor.
struct OperandPlaces {
  TensorLayout input;
  std::optional<std::uint64_t> kernels;
};

/// A layer as cores compute it.
struct ShardedLayer {
  /// The layer itself, in kernel blocks of the shares' size. Results have its type, and what becomes of sums
  /// is its business.
  Problem problem;
  ShardCut cut = ShardCut::kChannels;
  std::vector<Shard> shards;  ///< of rising channels; one: the layer itself
  std::uint64_t post_parameters =
      0;  ///< where those of all kernels lie in DRAM (post_parameters_of); 0: none

  /// The share with the most channels, and its number.
  const Shard& largest() const { return shards[largest_number()]; }
  std::size_t largest_number() const;
  int parts(ShardCut of) const { return cut == of ? count_of(shards) : 1; }
  int cores() const { return parts(ShardCut::kChannels); }  ///< of a reduction group
  int group_parts() const { return parts(ShardCut::kGroups); }
  bool adds_sums() const { return cores() > 1; }
};

/// The shares of the core that computes `layer` by itself. Throws UserError when the engine has no kernels
/// that are a tensor.
ShardedLayer whole_layer(std::shared_ptr<MatrixLayer> layer, const OperandPlaces& places,
                         const HardwareConfig& hardware);
/// The layer `layer`, which `whole` is for one core, in `parts` shards, in kernel blocks of every size that
/// the engine offers for all of them: channels and kernels are cut at multiples of the engine's grain. Throws
/// UserError when the layer cannot be cut so.
std::vector<ShardedLayer> sharded_layers(const Workload& workload, const Layer& layer,
                                         const HardwareConfig& hardware, const MatrixLayer& whole,
                                         ShardCut cut, int parts, const OperandPlaces& places);

/// The kernels of all shares one behind the other, and the post-parameters. The layer outlives it.
KernelBytes kernels_of(const ShardedLayer& layer);
/// Tells the shares where their part of these lies in DRAM.
void set_places(ShardedLayer& layer, const WeightPlace& place);

/// Reduction groups must take less than this share of the time without: there is more in their way that
/// estimates do not know.
constexpr double kWorthAReductionGroup = 0.95;
/// Cores of the largest reduction group that a layer allows on a chip: of one cluster, whose memory the sums
/// pass through, each with channels of its own.
int largest_reduction_group(const MatrixLayer& layer, const ChipConfig& chip);
/// The most parts of its groups that a layer allows on a chip.
int most_group_parts(const MatrixLayer& layer, const ChipConfig& chip);
/// Reduction groups of `cores` cores that a chip has, each in one cluster.
int reduction_groups_of(const ChipConfig& chip, int cores);

/// What the last additions of sums need (endsums of docs/vector.md): the clamp's bounds, then a record a
/// kernel. Empty when the results are the sums themselves.
std::vector<std::uint8_t> post_parameters_of(const Problem& problem);
/// The way of what they need for kernel blocks `blocks`, from DRAM to `destination`: bounds, then records.
std::vector<Transfer> post_transfers(const ShardedLayer& layer, Interval blocks, std::uint64_t destination);
/// Bytes of these in a buffer of their own, of `blocks` kernel blocks.
std::int64_t post_buffer_bytes(const Problem& problem, int blocks);
/// Throws UserError when no reduction group of `cores` cores can compute the layer.
void check_reduction_group(const MatrixLayer& layer, const ChipConfig& chip, int cores);

}  // namespace tilebeat
