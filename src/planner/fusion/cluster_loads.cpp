// Loads of kernels and factors of a fusion group, for one cluster.
#include "base/types.h"
#include "isa/address_map.h"
#include "planner/fusion/cluster_tasks.h"

#include <algorithm>
#include <bitset>
#include <utility>

namespace tilebeat {

void ClusterTasks::make_loads(bool ahead, std::int64_t room) {
  // Without room loads are refused below.
  weights_.limit_streams(room > 0 ? std::min(room, Staging::kLargestPassed) : Staging::kLargestPassed);
  loads_ = weights_.loads(ahead);
  std::int64_t largest = ahead ? 0 : weights_.largest_load();
  for (const GroupWeights::Load& load : loads_) largest = std::max(largest, bytes_of(load.transfers));
  if (!loads_.empty() || largest > 0)
    loads_stream_ = staging_.add_stream(std::min(largest, staging_.share(Staging::kStreamBuffers)),
                                        Staging::kStreamBuffers);
  use_.sram = std::max(use_.sram, staging_.used());
}

int ClusterTasks::load_alone(const GroupWeights::Load& load) {
  const bool one = (load.cores & (load.cores - 1)) == 0;
  if (chip_.dram_path == DramPath::kSram || (chip_.dram_path == DramPath::kAuto && !one)) {
    Staging::load({link(load)}, 0);
    return 1;
  }
  int fetched = 0;
  const auto cores = static_cast<std::size_t>(std::bitset<64>(load.cores).count());
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    if ((load.cores >> c & 1) == 0) continue;
    const EnginePlace& place = cores_[c].place;
    std::vector<Transfer> transfers = load.transfers;
    for (Transfer& transfer : transfers) {
      const bool wram = (transfer.destination & kMulticastWram) != 0;
      transfer.destination = (wram ? place.wram : place.nram) + (transfer.destination & kMulticastOffsetMask);
    }
    // The slot of streamed kernels is a buffer of each core.
    const bool of_core = weights_.streamed() && !load.written.empty() && load.written.size() == cores;
    cores_[c].copy(Unit::kIodma, transfers, of_core ? load.accesses_of(fetched) : load.written);
    ++fetched;
  }
  return fetched;
}

bool ClusterTasks::sees(std::size_t l, int image, const Region& outs, Interval blocks) const {
  const Softmax::Mask* const mask = unit_.mask_of(l);
  if (mask == nullptr || !weights_.is_product(l)) return true;
  const MapExtents& map = nth(unit_.tensors, unit_.layers[l].output).map;
  const std::int64_t width = map.width, before = std::int64_t{image} * map.height * width;
  const auto keys = mask->seen(before + outs.rows.begin * width + outs.columns.begin,
                               before + (outs.rows.end - 1) * width + outs.columns.end - 1);
  const std::int64_t kernels = work_.layers[l].matrix->problem.block_kernels;
  return !keys || (blocks.begin * kernels < keys->second && blocks.end * kernels > keys->first);
}

void ClusterTasks::load_product(std::size_t l, int portion) {
  const std::vector<GroupWeights::Group>& groups = weights_.groups(l);
  const bool used = std::any_of(groups.begin(), groups.end(), [&](const GroupWeights::Group& group) {
    return group.portion == portion && sees(l, part().image, made_region(l), group.group.blocks);
  });
  if (!used) return;
  const Problem& p = work_.layers[l].matrix->problem;
  for (const GroupWeights::Load& load : weights_.fill(l, portion, p.kernel_set(part().image))) {
    int number = 0;
    for (std::size_t c = 0; c < cores_.size(); ++c) {
      if ((load.cores >> c & 1) == 0) continue;
      for (Copy clear : load.clears) {
        clear.destination += cores_[c].place.wram;
        cores_[c].copy(clear, {load.written[to_size(number)], load.cleared[to_size(number)]});
      }
      ++number;
    }
    use_.bytes.kernels += load_alone(load) * bytes_of(load.transfers);
  }
}

}  // namespace tilebeat
