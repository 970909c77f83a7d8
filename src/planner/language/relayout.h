#pragma once

#include "planner/language/transfer.h"
#include "workload/tensor.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// Transfers whose sources, or destinations, lie in a map as if it were NHWC from its address on: the
/// transfers that move the same bytes where the map really lies as it says. Without a map they stay as they
/// are.
std::vector<Transfer> relaid(const StoredMapPointer& map, std::vector<Transfer> transfers, TransferEnd end);

/// Bytes of the largest block that every DMA engine of a chip turns while it copies: half of the smallest
/// landing buffer, so that the next block is read meanwhile, and a burst less than all of it. 0: too few to
/// be worth it.
std::int64_t transposed_bytes(const ChipConfig& chip);

/// A transfer that turns its blocks, its blocks cut where they are more than `bytes` bytes (at least one).
std::vector<Transfer> cut_blocks(const Transfer& transfer, std::int64_t bytes);

/// The same transfers. Those of single bytes that are neighbours along one axis where they come from and
/// along the other where they go to turn blocks of at most `bytes` bytes instead; with 0 bytes none does.
std::vector<Transfer> transposed(std::vector<Transfer> transfers, std::int64_t bytes);

}  // namespace tilebeat
