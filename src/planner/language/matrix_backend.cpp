#include "planner/language/matrix_backend.h"

#include "tilebeat/error.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// A tile whose channels lie apart: every channel's pixels are read as they lie and written one by one.
std::vector<Transfer> transposing_transfers(const OutputTile& tile, const TensorLayout& source, int channels,
                                            std::int64_t row_bytes, std::uint64_t destination) {
  // Whole rows of the map follow one another in memory.
  const bool one_run = source.row_stride == tile.w.ins && row_bytes == std::int64_t{tile.w.ins} * channels;
  const int parts = one_run ? 1 : tile.h.ins;
  std::vector<Transfer> transfers;
  for (int row = 0; row < parts; ++row) {
    Transfer transfer;
    transfer.source = source.at(tile.image, tile.h.in + row, tile.w.in);
    transfer.destination = destination + to_unsigned(row * row_bytes);
    CopyShape& shape = transfer.shape;
    shape.run = 1;
    shape.columns = std::int64_t{tile.w.ins} * (one_run ? tile.h.ins : 1), shape.rows = channels;
    shape.source_column = 1, shape.source_row = source.channel_stride;
    shape.destination_column = channels, shape.destination_row = 1;
    transfers.push_back(transfer);
  }
  return transfers;
}

}  // namespace

std::int64_t MatrixLayer::ifm_row_bytes(const Window& w) const {
  return std::int64_t{w.ins} * problem().channels;
}

MapLoad MatrixLayer::load_map(const OutputTile& tile, const TensorLayout& source,
                              std::uint64_t destination) const {
  if (source.channel_stride != 1) {
    return {
        {}, {}, transposing_transfers(tile, source, problem().channels, ifm_row_bytes(tile.w), destination)};
  }
  Transfer transfer;
  transfer.source = source.at(tile.image, tile.h.in, tile.w.in);
  transfer.destination = destination;
  CopyShape& shape = transfer.shape;
  const std::int64_t pixel = problem().channels;
  shape = one_run(tile.w.ins * pixel);
  if (source.pixel_stride != pixel) {  // a part of the channels
    shape.run = pixel, shape.columns = tile.w.ins;
    shape.source_column = source.pixel_stride, shape.destination_column = pixel;
  }
  shape.rows = tile.h.ins;
  shape.source_row = source.row_stride, shape.destination_row = ifm_row_bytes(tile.w);
  return {{}, {}, {transfer}};
}

std::vector<KernelPart> MatrixLayer::kernel_parts(int, Interval) const {
  throw UserError(fmt::format("layer '{}': this engine has no kernels that are a tensor", problem().name));
}

std::vector<Transfer> MatrixLayer::dealt_kernels(int, Interval, std::int64_t) const {
  throw std::logic_error("kernels that are not dealt to regions");
}

WeightLayout layout_of_blocks(const Problem& p, const std::function<std::int64_t(int)>& bytes_of) {
  WeightLayout layout;
  layout.blocks.push_back(0);
  for (int set = 0; set < (p.kernel_tensor ? 1 : p.sets); ++set) {
    for (int block = 0; block < p.kernel_blocks(); ++block)
      layout.blocks.push_back(layout.blocks.back() + to_unsigned(bytes_of(block)));
  }
  for (std::size_t b = 0; b + 1 < layout.blocks.size(); ++b)
    layout.most_bytes = std::max(layout.most_bytes, to_signed(layout.blocks[b + 1] - layout.blocks[b]));
  return layout;
}

WeightLayout layout_with_records(const Problem& p, const std::function<std::int64_t(int)>& bytes_of) {
  WeightLayout layout = layout_of_blocks(p, bytes_of);
  if (p.has_post_parameters()) {
    layout.post_bytes = std::int64_t{p.block_kernels} * kPostParameterBytes;
    layout.record_bytes = std::int64_t{p.conv.out_channels} * kPostParameterBytes;
  }
  return layout;
}

std::vector<std::uint8_t> MatrixLayer::pack_post_parameters() const {
  const Problem& p = problem();
  std::vector<std::uint8_t> records;
  if (weight_layout().post_bytes == 0) return records;
  for (int kernel = 0; kernel < p.conv.out_channels; ++kernel) {
    const auto record = encode(post_parameter(p, kernel));
    records.insert(records.end(), record.begin(), record.end());
  }
  return records;
}

}  // namespace tilebeat
