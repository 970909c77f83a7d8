#pragma once

#include "tilebeat/mapping/transfer.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// Bytes of the largest block that every DMA engine of a chip turns while it copies: half of the smallest
/// landing buffer, so that the next block is read meanwhile, and a burst less than all of it. 0: too few to
/// be worth it.
std::int64_t turned_bytes(const ChipConfig& chip);

/// A transfer that turns its blocks, its blocks cut where they are more than `bytes` bytes (at least one).
std::vector<Transfer> cut_blocks(const Transfer& transfer, std::int64_t bytes);

/// The same transfers. Those of single bytes that are neighbours along one axis where they come from and
/// along the other where they go to turn blocks of at most `bytes` bytes instead; with 0 bytes none does.
std::vector<Transfer> turned(std::vector<Transfer> transfers, std::int64_t bytes);

}  // namespace tilebeat
