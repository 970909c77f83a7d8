#include "kernel_loads.h"

#include "tilebeat/base/math.h"

#include <algorithm>

#include "processors.h"

namespace tilebeat {
namespace {

constexpr auto kAlignment = static_cast<std::uint64_t>(kBufferAlignment);

bool is_whole(const KernelGroup& group) {
  return group.reduction.first && group.reduction.last;
}

std::int64_t offset_of(const WeightPlace& w, int block) {
  return static_cast<std::int64_t>(w.image.blocks[static_cast<std::size_t>(block)]);
}

// A block of a group: which of its bytes are loaded (in several regions: of its part of each), and where to.
struct BlockLoad {
  int block = 0;
  Interval bytes;
  std::uint64_t destination = 0;
};

std::vector<BlockLoad> block_loads(const MatrixLayer& layer, const WeightPlace& w, const KernelGroup& group,
                                   std::uint64_t destination) {
  std::vector<BlockLoad> loads;
  for (int block = group.blocks.begin; block < group.blocks.end; ++block) {
    const std::int64_t all = (offset_of(w, block + 1) - offset_of(w, block)) / w.image.regions;
    const Interval bytes = is_whole(group) ? Interval{0, static_cast<int>(all)}
                                           : layer.weights_of(block, group.reduction.channels);
    loads.push_back({block, bytes, destination});
    destination += static_cast<std::uint64_t>(bytes.size());
  }
  return loads;
}

std::uint64_t end_of(const std::vector<BlockLoad>& loads) {
  return loads.back().destination + static_cast<std::uint64_t>(loads.back().bytes.size());
}

// ---- constants ----

void add_constants(const Problem& p, const WeightPlace& w, const KernelGroup& group,
                   const std::vector<BlockLoad>& loads, std::vector<Transfer>& transfers) {
  const auto source = [&](int block) {
    return w.blocks[static_cast<std::size_t>(group.set * p.kernel_blocks() + block)];
  };
  if (w.image.regions == 1 && is_whole(group)) {
    const std::int64_t bytes = offset_of(w, group.blocks.end) - offset_of(w, group.blocks.begin);
    transfers.push_back({source(group.blocks.begin), loads.front().destination, one_run(bytes)});
    return;
  }
  for (const BlockLoad& load : loads) {
    CopyShape shape = one_run(load.bytes.size());
    if (w.image.regions > 1) {
      shape.rows = w.image.regions;
      shape.source_row = (offset_of(w, load.block + 1) - offset_of(w, load.block)) / w.image.regions;
      shape.destination_row = w.region_bytes;
    }
    transfers.push_back(
        {source(load.block) + static_cast<std::uint64_t>(load.bytes.begin), load.destination, shape});
  }
}

// ---- tensors ----

// One way through the elements of a part: runs of neighbours in both memories, columns of these that are
// neighbours in the tensor where that can be, and rows of columns.
struct Axis {
  std::int64_t count = 1, from = 0, to = 0;  // bytes from one to the next
};
void add_elements(std::uint64_t source, std::uint64_t destination, Axis run, const Axis& columns,
                  const Axis& rows, std::vector<Transfer>& transfers) {
  const auto add = [&](std::int64_t i, std::int64_t bytes) {
    Transfer transfer;
    transfer.source = source + static_cast<std::uint64_t>(i * run.from);
    transfer.destination = destination + static_cast<std::uint64_t>(i * run.to);
    transfer.shape = {bytes, columns.count, rows.count, columns.from, rows.from, columns.to, rows.to};
    transfers.push_back(transfer);
  };
  if (run.from == 1 && run.to == 1) return add(0, run.count);
  for (std::int64_t i = 0; i < run.count; ++i) add(i, 1);
}

void add_part(const KernelTensor& tensor, std::uint64_t address, const KernelPart& part,
              std::uint64_t destination, std::vector<Transfer>& transfers) {
  const std::uint64_t source =
      address + static_cast<std::uint64_t>(part.kernels.begin * tensor.kernel_stride +
                                           part.channels.begin * tensor.channel_stride);
  const std::uint64_t to = destination + static_cast<std::uint64_t>(part.offset);
  const Axis kernels{part.kernels.size(), tensor.kernel_stride, part.kernel_stride};
  const Axis chunks{part.channels.size() / part.chunk, part.chunk * tensor.channel_stride, part.chunk_stride};
  const Axis channels{part.chunk, tensor.channel_stride, part.channel_stride};
  if (tensor.channel_stride == 1) {
    if (part.channel_stride == 1) return add_elements(source, to, channels, chunks, kernels, transfers);
    return add_elements(source, to, chunks, channels, kernels, transfers);
  }
  if (part.kernel_stride == 1) return add_elements(source, to, kernels, channels, chunks, transfers);
  // Rows are what there is more of, so that there are fewer transfers.
  if (channels.count < chunks.count) return add_elements(source, to, channels, kernels, chunks, transfers);
  add_elements(source, to, chunks, kernels, channels, transfers);
}

void add_tensor(const MatrixLayer& layer, const WeightPlace& w, const KernelGroup& group,
                const std::vector<BlockLoad>& loads, std::vector<Transfer>& transfers) {
  const Problem& p = layer.problem();
  const KernelTensor& tensor = *p.kernel_tensor;
  const std::uint64_t address = *w.tensor + static_cast<std::uint64_t>(group.set * tensor.set_stride);
  for (const BlockLoad& load : loads) {
    for (const KernelPart& part : layer.kernel_parts(load.block, group.reduction.channels))
      add_part(tensor, address, part, load.destination, transfers);
  }
}

// Bytes of the post-parameters that stand behind the kernels of a block in each region.
std::int64_t region_records(const Problem& p, const WeightPlace& w, const KernelGroup& group, int block) {
  if (w.post == 0 || !group.reduction.last || w.image.post_place == PostPlace::kApart) return 0;
  return std::int64_t{ceil_div(p.kernels_of({block, block + 1}), w.image.regions)} * kPostParameterBytes;
}

void add_region_records(const Problem& p, const WeightPlace& w, const KernelGroup& group,
                        const std::vector<BlockLoad>& loads, std::vector<Transfer>& transfers) {
  for (const BlockLoad& load : loads) {
    Transfer transfer;
    transfer.source = w.post + static_cast<std::uint64_t>(load.block * w.image.post_bytes);
    CopyShape& shape = transfer.shape;
    shape.rows = w.image.regions;
    shape.source_row = w.image.post_bytes / w.image.regions, shape.destination_row = w.region_bytes;
    shape.run = region_records(p, w, group, load.block);
    transfer.destination = load.destination + static_cast<std::uint64_t>(load.bytes.size() - shape.run);
    transfers.push_back(transfer);
  }
}

}  // namespace

std::vector<KernelGroup> kernel_groups(const Problem& p, const LayerMapping& m, const Grain& grain,
                                       Interval blocks) {
  std::vector<KernelGroup> groups;
  for (int b = blocks.begin; b < blocks.end; b += m.blocks_per_load) {
    const Interval loaded{b, std::min(blocks.end, b + m.blocks_per_load)};
    for (int part = 0; part < m.channel_parts; ++part) {
      const Interval channels = part_of(p.channels, m.channel_parts, part, grain.channels);
      groups.push_back({loaded, {channels, part == 0, part == m.channel_parts - 1}});
    }
  }
  return groups;
}

std::vector<Transfer> weight_transfers(const MatrixLayer& layer, const WeightPlace& w,
                                       const KernelGroup& group, std::uint64_t destination) {
  const std::vector<BlockLoad> loads = block_loads(layer, w, group, destination);
  std::vector<Transfer> transfers;
  if (w.tensor)
    add_tensor(layer, w, group, loads, transfers);
  else
    add_constants(layer.problem(), w, group, loads, transfers);
  if (w.post == 0 || !group.reduction.last) return transfers;
  if (w.image.post_place == PostPlace::kInRegions) {
    add_region_records(layer.problem(), w, group, loads, transfers);
  } else {
    const std::int64_t records = group.blocks.size() * w.image.post_bytes;
    transfers.push_back({w.post + static_cast<std::uint64_t>(group.blocks.begin * w.image.post_bytes),
                         destination + align_up(end_of(loads) - destination, kAlignment), one_run(records)});
  }
  return transfers;
}

std::vector<Copy> cleared_kernels(const MatrixLayer& layer, const WeightPlace& w, const KernelGroup& group,
                                  std::uint64_t destination) {
  if (!w.tensor) return {};
  const std::vector<BlockLoad> loads = block_loads(layer, w, group, destination);
  const auto bytes = static_cast<std::int64_t>(end_of(loads) - destination);
  std::int64_t filled = 0;
  for (const BlockLoad& load : loads) {
    for (const KernelPart& part : layer.kernel_parts(load.block, group.reduction.channels))
      filled += std::int64_t{part.kernels.size()} * part.channels.size();
    filled += region_records(layer.problem(), w, group, load.block) * w.image.regions;
  }
  if (filled == bytes * w.image.regions) return {};
  std::vector<Copy> copies;
  for (int region = 0; region < w.image.regions; region += UINT8_MAX) {
    Copy clear;
    clear.unit = Unit::kIodma;
    clear.source = *w.tensor;  // it reads nothing there
    clear.destination = destination + static_cast<std::uint64_t>(region * w.region_bytes);
    clear.run_bytes = static_cast<std::uint32_t>(bytes);
    clear.outer_count = 0;
    clear.pad_top = static_cast<std::uint8_t>(std::min(w.image.regions - region, int{UINT8_MAX}));
    if (w.image.regions > 1) clear.destination_outer_stride = static_cast<std::uint32_t>(w.region_bytes);
    clear.fill = static_cast<std::uint8_t>(layer.problem().conv.weight_zero_point);
    copies.push_back(clear);
  }
  return copies;
}

std::int64_t buffer_bytes(const MatrixLayer& layer, const WeightPlace& w, const KernelGroup& group) {
  auto bytes = static_cast<std::int64_t>(end_of(block_loads(layer, w, group, 0)));
  if (w.image.regions > 1) return align_up(bytes * w.image.regions, kBufferAlignment * w.image.regions);
  if (w.post != 0 && group.reduction.last && w.image.post_place == PostPlace::kApart)
    bytes = align_up(bytes, kBufferAlignment) + group.blocks.size() * w.image.post_bytes;
  return align_up(bytes, kBufferAlignment);
}

}  // namespace tilebeat
