#pragma once

#include "planner/language/transfer.h"
#include "workload/tensor.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// Relayout copies: the transfers that move the same bytes as `transfers`, whose end `end` addresses the map
/// as if it were NHWC, at the places where the map really stores them. Without a map, `transfers` unchanged.
std::vector<Transfer> relaid(const StoredMapPointer& map, std::vector<Transfer> transfers, TransferEnd end);

/// Bytes of the largest block that every DMA engine of a chip can transpose in a copy: half of the smallest
/// landing buffer, so that the next block can be read meanwhile, less one burst. 0: too few to be worth it.
std::int64_t transposed_bytes(const ChipConfig& chip);

/// Cuts the blocks of a transposing copy that are larger than `bytes` bytes (at least one run each).
std::vector<Transfer> cut_blocks(const Transfer& transfer, std::int64_t bytes);

/// Replaces transfers of single bytes that are contiguous along one axis at the source and along another at
/// the destination by transposing copies of blocks of at most `bytes` bytes; with 0 bytes none is replaced.
std::vector<Transfer> transposed(std::vector<Transfer> transfers, std::int64_t bytes);

}  // namespace tilebeat
