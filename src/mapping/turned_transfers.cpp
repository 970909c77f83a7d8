#include "tilebeat/mapping/turned_transfers.h"

#include <algorithm>
#include <optional>

namespace tilebeat {
namespace {

constexpr std::int64_t kLeastBlock = 64;
// Runs of a block, where it has to be cut: more would shorten what lies together in the source.
constexpr std::int64_t kMostRuns = 64;

// Runs [row, row + rows) and columns [column, column + columns), which lie in one group or are whole ones.
Transfer part_of_block(const Transfer& whole, std::int64_t row, std::int64_t rows, std::int64_t column,
                       std::int64_t columns) {
  const CopyShape& s = whole.shape;
  Transfer part = whole;
  part.source += static_cast<std::uint64_t>(row * s.source_column + column);
  part.destination += static_cast<std::uint64_t>(row + column / s.turned * s.turned_row +
                                                 column % s.turned * s.destination_column);
  part.shape.columns = rows, part.shape.run = columns;
  part.shape.turned = std::min(s.turned, columns);
  return part;
}

// Single bytes along `across`, neighbours where they come from, and `down`, neighbours where they go to.
struct Axis {
  std::int64_t count, from, to;
};
std::optional<Transfer> turned_bytes_of(const Transfer& transfer, const Axis& across, const Axis& down) {
  if (across.from != 1 || down.to != 1 || across.count == 1 || down.count == 1) return std::nullopt;
  Transfer block = transfer;
  block.shape = {across.count, down.count, 1, down.from, 0, across.to, 0, across.count, 0};
  return block;
}

}  // namespace

std::int64_t turned_bytes(const ChipConfig& chip) {
  std::int64_t bytes = UINT16_MAX;  // counts have 16 bits
  for (const DmaConfig* dma : {&chip.core.copy, &chip.copy}) {
    const std::int64_t buffer = dma->buffer_bytes;
    bytes = std::min({bytes, buffer / 2, buffer - dma->burst_bytes});
  }
  return bytes < kLeastBlock ? 0 : bytes;
}

std::vector<Transfer> cut_blocks(const Transfer& transfer, std::int64_t bytes) {
  const CopyShape& s = transfer.shape;
  if (s.run * s.columns <= bytes) return {transfer};
  const std::int64_t rows = std::min({s.columns, bytes, std::max(kMostRuns, bytes / s.run)});
  const std::int64_t room = bytes / rows, groups = room / s.turned;
  const std::int64_t columns = groups > 0 ? groups * s.turned : room;
  const std::int64_t within = groups > 0 ? s.run : s.turned;  // what columns are cut in
  std::vector<Transfer> parts;
  for (std::int64_t row = 0; row < s.columns; row += rows) {
    for (std::int64_t group = 0; group < s.run; group += within) {
      for (std::int64_t at = 0; at < within; at += columns)
        parts.push_back(part_of_block(transfer, row, std::min(rows, s.columns - row), group + at,
                                      std::min(columns, within - at)));
    }
  }
  return parts;
}

std::vector<Transfer> turned(std::vector<Transfer> transfers, std::int64_t bytes) {
  const auto single_bytes = [](const Transfer& transfer) { return transfer.shape.run == 1; };
  if (bytes == 0 || std::none_of(transfers.begin(), transfers.end(), single_bytes)) return transfers;
  std::vector<Transfer> made;
  for (const Transfer& transfer : transfers) {
    const CopyShape& s = transfer.shape;
    const Axis columns{s.columns, s.source_column, s.destination_column},
        rows{s.rows, s.source_row, s.destination_row};
    std::optional<Transfer> block;
    if (s.run == 1 && s.turned == 0) {
      block = turned_bytes_of(transfer, columns, rows);
      if (!block) block = turned_bytes_of(transfer, rows, columns);
    }
    if (!block) {
      made.push_back(transfer);
      continue;
    }
    for (const Transfer& part : cut_blocks(*block, bytes)) made.push_back(part);
  }
  return made;
}

}  // namespace tilebeat
