#pragma once

#include "tilebeat/workload/tensor.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// Number `index` (from 0) of the SplitMix64 sequence that starts at `seed`: the same on every machine, and
/// every number can be had without those before it.
std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t index);

/// A tensor of `"random": {"seed": ..., "min": ..., "max": ...}` (SPEC UI-6). Element i in C order is
/// min + floor(u * (max - min + 1) / 2^32) with u the upper 32 bits of splitmix64(seed, i): uniform, both
/// ends included. `min <= max`, both within the range of `dtype`.
Tensor random_tensor(const std::vector<std::int64_t>& shape, DType dtype, std::uint64_t seed,
                     std::int64_t min, std::int64_t max);

}  // namespace tilebeat
