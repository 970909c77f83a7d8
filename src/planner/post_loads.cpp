#include "post_loads.h"

#include "tilebeat/base/math.h"

namespace tilebeat {

PostLoads::PostLoads(TaskGraph& graph, const MatrixWork& work, const Footprint& footprint, std::int64_t at)
    : graph_(graph), work_(work), at_(at), buffer_bytes_(footprint.post), copies_(graph, work.hardware) {}

void PostLoads::add_stream(Staging& staging, const std::vector<int>& cores) {
  const LayerMapping& m = work_.mapping;
  if (work_.layer.post_parameters == 0) return;
  if (m.kernels != DataPath::kDirect)
    streams_[cores.front() / work_.chip().cores_per_cluster] = staging.add_stream(buffer_bytes_, 2);
  const int loads =
      ceil_div(largest_part_of(work_.layer.problem.kernel_blocks(), m.kernel_parts, 1), m.blocks_per_load);
  for (const int core : cores) loaded_[core] = BufferCache<int>(graph_, BufferRole::kKernels, loads);
}

CoreSums::Post PostLoads::load(Staging& staging, const CoreSums::Member& core, Interval blocks) {
  const auto use = loaded_.at(core.core).use(blocks.begin);
  const auto offset = static_cast<std::uint32_t>(at_ + use.filling.place * buffer_bytes_);
  const CoreSums::Post post{offset, use.filling.read()};
  if (!use.load) return post;
  const std::vector<Transfer> transfers = post_transfers(work_.layer, blocks, core.place.nram + offset);
  bytes_ += bytes_of(transfers);
  if (work_.mapping.kernels == DataPath::kDirect) {
    copies_.add(core.place.processor, Unit::kIodma, transfers, {use.filling.write()});
  } else {
    staging.load(streams_.at(core.core / work_.chip().cores_per_cluster),
                 {{core.place.processor, transfers, {use.filling.write()}}});
  }
  return post;
}

}  // namespace tilebeat
