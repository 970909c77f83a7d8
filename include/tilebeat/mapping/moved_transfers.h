#pragma once

#include "tilebeat/mapping/transfer.h"
#include "tilebeat/workload/stored_map.h"

#include <vector>

namespace tilebeat {

/// Transfers whose sources, or destinations, lie in a map as if it were NHWC from its address on: the
/// transfers that move the same bytes where the map really lies as it says. Without a map they stay as they
/// are.
std::vector<Transfer> moved(const StoredMapPointer& map, std::vector<Transfer> transfers, TransferEnd end);

}  // namespace tilebeat
