#include "planner/layer/operand_transfers.h"

#include "base/types.h"
#include "planner/language/relayout.h"
#include "planner/layer/placement.h"

#include <algorithm>

namespace tilebeat {
namespace {

constexpr auto kAlignment = to_unsigned(kBufferAlignment);

bool is_whole(const KernelGroup& group) {
  return group.reduction.first && group.reduction.last;
}

std::int64_t offset_of(const WeightPlace& w, int block) {
  return to_signed(nth(w.layout.blocks, block));
}

// The load of a block of a group: its bytes (in several regions: of its part of each), and their destination.
struct BlockLoad {
  int block = 0;
  Interval bytes;
  std::uint64_t destination = 0;
};

Interval loaded_bytes(const MatrixLayer& layer, const WeightPlace& w, const KernelGroup& group, int block) {
  if (!is_whole(group) || w.layout.dealt) return layer.weights_of(block, group.reduction.channels);
  const std::int64_t all = (offset_of(w, block + 1) - offset_of(w, block)) / w.layout.regions;
  return {0, to_int(all)};
}

std::vector<BlockLoad> block_loads(const MatrixLayer& layer, const WeightPlace& w, const KernelGroup& group,
                                   std::uint64_t destination) {
  std::vector<BlockLoad> loads;
  loads.reserve(to_size(group.blocks.size()));
  for (int block = group.blocks.begin; block < group.blocks.end; ++block) {
    const Interval bytes = loaded_bytes(layer, w, group, block);
    loads.push_back({block, bytes, destination});
    destination += to_unsigned(bytes.size());
  }
  return loads;
}

std::uint64_t end_of(const std::vector<BlockLoad>& loads) {
  return loads.back().destination + to_unsigned(loads.back().bytes.size());
}

// ---- constants ----

void add_constants(const MatrixLayer& layer, const WeightPlace& w, const KernelGroup& group,
                   const std::vector<BlockLoad>& loads, std::vector<Transfer>& transfers) {
  const Problem& p = layer.problem();
  const auto source = [&](int block) { return nth(w.blocks, group.set * p.kernel_blocks() + block); };
  if (w.layout.regions == 1 && !w.layout.dealt && is_whole(group)) {
    const std::int64_t bytes = offset_of(w, group.blocks.end) - offset_of(w, group.blocks.begin);
    transfers.push_back({source(group.blocks.begin), loads.front().destination, one_run(bytes)});
    return;
  }
  for (const BlockLoad& load : loads) {
    if (w.layout.dealt) {
      for (Transfer transfer : layer.dealt_kernels(load.block, group.reduction.channels, w.region_bytes)) {
        transfer.source += source(load.block), transfer.destination += load.destination;
        transfers.push_back(transfer);
      }
      continue;
    }
    CopyShape shape = one_run(load.bytes.size());
    if (w.layout.regions > 1) {
      shape.rows = w.layout.regions;
      shape.source_row = (offset_of(w, load.block + 1) - offset_of(w, load.block)) / w.layout.regions;
      shape.destination_row = w.region_bytes;
    }
    transfers.push_back({source(load.block) + to_unsigned(load.bytes.begin), load.destination, shape});
  }
}

// ---- tensors ----

// One axis of a part's elements: runs are contiguous in both memories, columns in the tensor where possible,
// rows consist of columns.
struct Axis {
  std::int64_t count = 1, from = 0, to = 0;  // bytes from one to the next
};
void add_elements(std::uint64_t source, std::uint64_t destination, Axis run, const Axis& columns,
                  const Axis& rows, std::vector<Transfer>& transfers) {
  const auto add = [&](std::int64_t i, std::int64_t bytes) {
    Transfer transfer;
    transfer.source = source + to_unsigned(i * run.from);
    transfer.destination = destination + to_unsigned(i * run.to);
    transfer.shape = {bytes, columns.count, rows.count, columns.from, rows.from, columns.to, rows.to};
    transfers.push_back(transfer);
  };
  if (run.from == 1 && run.to == 1) return add(0, run.count);
  for (std::int64_t i = 0; i < run.count; ++i) add(i, 1);
}

// A part of a block, and its destination.
struct PlacedPart {
  KernelPart part;
  std::uint64_t destination = 0;
};

void add_part(const KernelTensor& tensor, std::uint64_t source, const PlacedPart& placed,
              std::vector<Transfer>& transfers) {
  const KernelPart& part = placed.part;
  const Axis kernels{part.kernels.size(), tensor.kernel_stride, part.kernel_stride};
  const Axis chunks{part.channels.size() / part.chunk, part.chunk * tensor.channel_stride, part.chunk_stride};
  const Axis channels{part.chunk, tensor.channel_stride, part.channel_stride};
  const std::uint64_t to = placed.destination;
  if (tensor.channel_stride == 1) {
    if (part.channel_stride == 1) return add_elements(source, to, channels, chunks, kernels, transfers);
    return add_elements(source, to, chunks, channels, kernels, transfers);
  }
  if (part.kernel_stride == 1) return add_elements(source, to, kernels, channels, chunks, transfers);
  // The longer axis becomes rows, so that there are fewer transfers.
  if (channels.count < chunks.count) return add_elements(source, to, channels, kernels, chunks, transfers);
  add_elements(source, to, chunks, kernels, channels, transfers);
}

// Whether neighbouring elements of a part are a row apart in the tensor, so that it needs a transposing copy.
bool is_transposed(const KernelTensor& tensor, const KernelPart& part) {
  if (tensor.channel_stride == 1)
    return part.kernel_stride == 1 && part.channel_stride != 1 && part.chunk == part.channels.size();
  return tensor.kernel_stride == 1 && part.channel_stride == 1 && part.kernel_stride != 1;
}

// Adds blocks of channels over all kernels of `count` parts that lie `step` bytes apart: each row of the
// tensor is read once, as far as these kernels go.
void add_transposed_channels(const KernelTensor& tensor, std::uint64_t source, const PlacedPart& first,
                             std::int64_t count, std::int64_t step, std::int64_t bytes,
                             std::vector<Transfer>& transfers) {
  const KernelPart& part = first.part;
  Transfer transfer{source, first.destination, {}};
  CopyShape& s = transfer.shape;
  s.run = count * part.kernels.size(), s.columns = part.chunk, s.rows = part.channels.size() / part.chunk;
  s.source_column = tensor.channel_stride, s.source_row = part.chunk * tensor.channel_stride;
  s.destination_column = part.kernel_stride, s.destination_row = part.chunk_stride;
  s.transposed = part.kernels.size(), s.transposed_row = step;
  for (const Transfer& cut : cut_blocks(transfer, bytes)) transfers.push_back(cut);
}

void add_transposed_kernels(const KernelTensor& tensor, std::uint64_t source, const PlacedPart& placed,
                            std::int64_t bytes, std::vector<Transfer>& transfers) {
  const KernelPart& part = placed.part;
  Transfer transfer{source, placed.destination, {}};
  CopyShape& s = transfer.shape;
  s.run = part.channels.size(), s.columns = part.kernels.size();
  s.source_column = tensor.kernel_stride, s.destination_column = part.channel_stride;
  s.transposed = s.run;
  for (const Transfer& cut : cut_blocks(transfer, bytes)) transfers.push_back(cut);
}

// Parts that have the same channels follow one another, in the order of their kernels.
std::vector<PlacedPart> placed_parts(const MatrixLayer& layer, const KernelGroup& group,
                                     const std::vector<BlockLoad>& loads) {
  std::vector<PlacedPart> parts;
  for (const BlockLoad& load : loads) {
    for (const KernelPart& part : layer.kernel_parts(load.block, group.reduction.channels))
      parts.push_back({part, load.destination + to_unsigned(part.offset)});
  }
  return parts;
}

// Number of parts from `first` on that form one block of neighbouring kernels at equal distances.
std::size_t alike(const std::vector<PlacedPart>& parts, std::size_t first) {
  std::size_t end = first + 1;
  for (; end < parts.size(); ++end) {
    const KernelPart &a = parts[end - 1].part, &b = parts[end].part;
    const bool same = a.channels == b.channels && a.kernels.end == b.kernels.begin &&
                      a.kernels.size() == b.kernels.size() && a.chunk_stride == b.chunk_stride &&
                      parts[end].destination > parts[end - 1].destination;
    if (!same || parts[end].destination - parts[end - 1].destination !=
                     parts[first + 1].destination - parts[first].destination)
      break;
  }
  return end - first;
}

void add_tensor(const MatrixLayer& layer, const WeightPlace& w, const KernelGroup& group,
                const std::vector<BlockLoad>& loads, std::vector<Transfer>& transfers) {
  const KernelTensor& tensor = *layer.problem().kernel_tensor;
  const std::uint64_t address = w.tensor->of_set(group.set * tensor.set_stride);
  std::vector<PlacedPart> parts = placed_parts(layer, group, loads);
  const auto turns = [&](const PlacedPart& placed) {
    return w.transposed_bytes > 0 && is_transposed(tensor, placed.part);
  };
  if (std::any_of(parts.begin(), parts.end(), turns)) {
    std::stable_sort(parts.begin(), parts.end(), [](const PlacedPart& a, const PlacedPart& b) {
      return a.part.channels.begin < b.part.channels.begin;
    });
  }
  for (std::size_t i = 0; i < parts.size();) {
    const KernelPart& part = parts[i].part;
    const std::uint64_t source = address + to_unsigned(part.kernels.begin * tensor.kernel_stride +
                                                       part.channels.begin * tensor.channel_stride);
    std::size_t count = 1;
    if (!turns(parts[i])) {
      add_part(tensor, source, parts[i], transfers);
    } else if (tensor.channel_stride == 1) {
      add_transposed_kernels(tensor, source, parts[i], w.transposed_bytes, transfers);
    } else {
      count = alike(parts, i);
      const auto step =
          count > 1 ? to_signed(parts[i + 1].destination - parts[i].destination) : std::int64_t{0};
      add_transposed_channels(tensor, source, parts[i], to_signed(count), step, w.transposed_bytes,
                              transfers);
    }
    i += count;
  }
}

// Bytes of the post-parameters behind the kernels of a block in each region.
std::int64_t region_records(const Problem& p, const WeightPlace& w, const KernelGroup& group, int block) {
  if (w.post == 0 || !group.reduction.last || w.layout.post_place == PostPlace::kApart) return 0;
  return std::int64_t{ceil_div(p.kernels_of({block, block + 1}), w.layout.regions)} * kPostParameterBytes;
}

// Adds the copy of `rows` records for each of the first `regions` regions, dealt as their kernels are: the
// next row is `dealt` records behind.
void add_records(const WeightPlace& w, std::uint64_t source, std::uint64_t destination, int regions, int rows,
                 int dealt, std::vector<Transfer>& transfers) {
  if (rows == 0 || regions == 0) return;
  Transfer transfer{source, destination, {}};
  CopyShape& shape = transfer.shape;
  shape.run = kPostParameterBytes, shape.columns = regions, shape.rows = rows;
  shape.source_column = kPostParameterBytes, shape.source_row = std::int64_t{kPostParameterBytes} * dealt;
  shape.destination_column = w.region_bytes, shape.destination_row = kPostParameterBytes;
  transfers.push_back(transfer);
}

void add_region_records(const Problem& p, const WeightPlace& w, const KernelGroup& group,
                        const std::vector<BlockLoad>& loads, std::vector<Transfer>& transfers) {
  for (const BlockLoad& load : loads) {
    const std::uint64_t source = w.post + to_unsigned(load.block * w.layout.post_bytes);
    const std::int64_t bytes = region_records(p, w, group, load.block);
    const std::uint64_t destination = load.destination + to_unsigned(load.bytes.size() - bytes);
    if (w.layout.dealt) {
      const int kernels = p.kernels_of({load.block, load.block + 1}), rows = kernels / w.layout.regions;
      const int groups = w.layout.region_groups, regions = w.layout.regions / groups;
      for (int i = 0; i < groups; ++i) {
        add_records(w, source + to_unsigned(i * rows * regions * kPostParameterBytes),
                    destination + to_unsigned(i * regions * w.region_bytes), regions, rows, regions,
                    transfers);
      }
      const auto done = to_unsigned(rows * kPostParameterBytes);
      add_records(w, source + done * to_unsigned(w.layout.regions), destination + done,
                  kernels % w.layout.regions, 1, w.layout.regions, transfers);
      continue;
    }
    Transfer transfer{source, destination, {}};
    CopyShape& shape = transfer.shape;
    shape.rows = w.layout.regions;
    shape.source_row = w.layout.post_bytes / w.layout.regions, shape.destination_row = w.region_bytes;
    shape.run = bytes;
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

std::vector<Transfer> kernel_transfers(const MatrixLayer& layer, const WeightPlace& w,
                                       const KernelGroup& group, std::uint64_t destination) {
  const std::vector<BlockLoad> loads = block_loads(layer, w, group, destination);
  std::vector<Transfer> transfers;
  if (w.tensor)
    add_tensor(layer, w, group, loads, transfers);
  else
    add_constants(layer, w, group, loads, transfers);
  return transfers;
}

std::vector<Transfer> weight_transfers(const MatrixLayer& layer, const WeightPlace& w,
                                       const KernelGroup& group, std::uint64_t destination) {
  const std::vector<BlockLoad> loads = block_loads(layer, w, group, destination);
  std::vector<Transfer> transfers = kernel_transfers(layer, w, group, destination);
  if (w.post == 0 || !group.reduction.last) return transfers;
  if (w.layout.post_place == PostPlace::kInRegions) {
    add_region_records(layer.problem(), w, group, loads, transfers);
  } else {
    const std::int64_t records = std::int64_t{layer.problem().kernels_of(group.blocks)} * kPostParameterBytes;
    transfers.push_back({w.post + to_unsigned(group.blocks.begin * w.layout.post_bytes),
                         destination + align_up(end_of(loads) - destination, kAlignment), one_run(records)});
  }
  return transfers;
}

std::int64_t group_extent(const MatrixLayer& layer, const WeightPlace& w, const KernelGroup& group) {
  return to_signed(end_of(block_loads(layer, w, group, 0)));
}

std::uint64_t post_offset(const MatrixLayer& layer, const WeightPlace& w, const KernelGroup& group,
                          std::int64_t extent) {
  if (w.layout.post_place == PostPlace::kInRegions)
    return to_unsigned(extent - region_records(layer.problem(), w, group, group.blocks.end - 1));
  return align_up(to_unsigned(extent), kAlignment);
}

std::vector<Copy> cleared_kernels(const MatrixLayer& layer, const WeightPlace& w, const KernelGroup& group,
                                  std::uint64_t destination) {
  if (!w.tensor) return {};
  const std::vector<BlockLoad> loads = block_loads(layer, w, group, destination);
  const auto bytes = to_signed(end_of(loads) - destination);
  std::int64_t filled = 0;
  for (const BlockLoad& load : loads) {
    for (const KernelPart& part : layer.kernel_parts(load.block, group.reduction.channels))
      filled += std::int64_t{part.kernels.size()} * part.channels.size();
    filled += region_records(layer.problem(), w, group, load.block) * w.layout.regions;
  }
  if (filled == bytes * w.layout.regions) return {};
  std::vector<Copy> copies;
  for (int region = 0; region < w.layout.regions; region += UINT8_MAX) {
    Copy clear;
    clear.unit = Unit::kIodma;
    clear.source = w.tensor->address;  // a valid address; nothing is read there
    clear.destination = destination + to_unsigned(region * w.region_bytes);
    set_field(clear.run_bytes, bytes);
    clear.outer_count = 0;
    set_field(clear.pad_top, std::min(w.layout.regions - region, int{UINT8_MAX}));
    if (w.layout.regions > 1) set_field(clear.destination_outer_stride, w.region_bytes);
    set_field(clear.fill, layer.problem().conv.weight_zero_point);
    copies.push_back(clear);
  }
  return copies;
}

std::int64_t buffer_bytes(const WeightPlace& w, const KernelGroup& group, std::int64_t extent) {
  if (w.layout.regions > 1) return align_up(extent * w.layout.regions, kBufferAlignment * w.layout.regions);
  std::int64_t bytes = extent;
  if (w.post != 0 && group.reduction.last && w.layout.post_place == PostPlace::kApart)
    bytes = align_up(bytes, kBufferAlignment) + group.blocks.size() * w.layout.post_bytes;
  return align_up(bytes, kBufferAlignment);
}

namespace {

std::uint64_t bytes_on(std::uint64_t address, std::int64_t bytes) {
  return address + to_unsigned(bytes);
}

// The stores of a transposed convolution: the bytes of a pixel are rows of neighbouring pixels of the output.
class InterleavedStore {
 public:
  InterleavedStore(const Problem& p, const TensorLayout& output, const OutputTile& tile, Interval blocks,
                   std::uint64_t source, const MapPart& outs)
      : i_(*p.interleaving),
        outs_(outs),
        output_(output),
        tile_(tile),
        source_(source),
        begin_(std::int64_t{blocks.begin} * p.block_kernels * p.element_bytes()),
        pixel_(std::int64_t{p.kernels_of(blocks)} * p.element_bytes()),
        phase_(i_.stride[1] * output.pixel_stride),
        lead_(i_.lead[1] * output.pixel_stride),
        left_(outs.columns.begin * output.pixel_stride),
        right_(outs.columns.end * output.pixel_stride) {}

  std::vector<Transfer> run() {
    for (int row = 0; row < i_.stride[0]; ++row) add_phase(row);
    return std::move(transfers_);
  }

 private:
  // Adds the bytes of a result pixel that belong to row `row` of its output pixels, for all columns.
  void add_phase(int row) {
    const std::int64_t begin = std::max(begin_, row * phase_);
    const std::int64_t end = std::min(begin_ + pixel_, (row + 1) * phase_);
    if (begin >= end) return;
    const Interval rows = rows_of(row);
    if (rows.empty()) return;
    const std::int64_t first = begin - row * phase_, last = end - row * phase_;
    const auto add_cut = [&](int column) {
      add(row, rows, {column, column + 1},
          {std::max(first, left_ - at(column, 0)), std::min(last, right_ - at(column, 0))});
    };
    // The bounds of the stored bytes may cut the first and the last column.
    Interval whole{tile_.w.out, tile_.w.out + tile_.w.outs};
    if (at(whole.begin, first) < left_) add_cut(whole.begin++);
    if (!whole.empty() && at(whole.end - 1, last) > right_) add_cut(--whole.end);
    if (!whole.empty()) add(row, rows, whole, {first, last});
  }
  // Rows of the tile whose output row `row` is stored.
  Interval rows_of(int row) const {
    const int stride = i_.stride[0], above = outs_.rows.begin + i_.lead[0] - row;
    const int behind = outs_.rows.end + i_.lead[0] - row;
    return {std::max(tile_.h.out, above > 0 ? ceil_div(above, stride) : 0),
            std::min(tile_.h.out + tile_.h.outs, behind > 0 ? ceil_div(behind, stride) : 0)};
  }
  // Offset in a row of the output of byte `byte` in the row of output pixels of result column `column`.
  std::int64_t at(int column, std::int64_t byte) const { return column * phase_ - lead_ + byte; }

  struct Bytes {
    std::int64_t begin, end;
  };
  void add(int row, Interval rows, Interval columns, Bytes bytes) {
    if (bytes.begin >= bytes.end) return;
    Transfer transfer;
    CopyShape& shape = transfer.shape;
    shape = one_run(bytes.end - bytes.begin);
    shape.columns = columns.size(), shape.rows = rows.size();
    shape.source_column = pixel_, shape.source_row = pixel_ * tile_.w.outs;
    shape.destination_column = phase_, shape.destination_row = i_.stride[0] * output_.row_stride;
    transfer.source = bytes_on(source_, (rows.begin - tile_.h.out) * shape.source_row +
                                            (columns.begin - tile_.w.out) * shape.source_column +
                                            row * phase_ + bytes.begin - begin_);
    const std::int64_t out_row = std::int64_t{rows.begin} * i_.stride[0] + row - i_.lead[0];
    transfer.destination = bytes_on(output_.at(tile_.image, out_row, 0), at(columns.begin, bytes.begin));
    transfers_.push_back(transfer);
  }

  const Interleaving& i_;
  MapPart outs_;
  const TensorLayout& output_;
  const OutputTile& tile_;
  std::uint64_t source_;
  std::int64_t begin_, pixel_;  // bytes of a pixel: the first one here, and how many
  std::int64_t phase_, lead_;   // bytes of a row of a pixel's pixels, and those that are cut off in front
  std::int64_t left_, right_;   // bounds of the stored bytes in an output row
  std::vector<Transfer> transfers_;
};

}  // namespace

std::vector<Transfer> store_transfers(const Problem& p, const TensorLayout& output, const OutputTile& tile,
                                      Interval blocks, std::uint64_t source, std::optional<MapPart> outs) {
  if (p.interleaving) {
    const MapPart stored = outs.value_or(
        MapPart{{0, p.interleaving->height}, {0, to_int(output.row_stride / output.pixel_stride)}});
    return relaid(output.stored, InterleavedStore(p, output, tile, blocks, source, stored).run(),
                  TransferEnd::kDestination);
  }
  Transfer transfer;
  CopyShape& shape = transfer.shape;
  shape = one_run(std::int64_t{p.kernels_of(blocks)} * p.element_bytes());
  shape.columns = tile.w.outs, shape.rows = tile.h.outs;
  shape.source_column = shape.run, shape.source_row = shape.run * tile.w.outs;
  shape.destination_column = output.pixel_stride, shape.destination_row = output.row_stride;
  transfer.source = source;
  transfer.destination = bytes_on(output.at(tile.image, tile.h.out, tile.w.out),
                                  std::int64_t{blocks.begin} * p.block_kernels * p.element_bytes());
  return relaid(output.stored, {transfer}, TransferEnd::kDestination);
}

}  // namespace tilebeat
