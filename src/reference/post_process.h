#pragma once

#include "tilebeat/workload/operators.h"

#include <cstddef>
#include <cstdint>

namespace tilebeat {

/// The result of a sum of products: bias, activation and requantisation of output channel `channel` (SPEC
/// NU-2).
std::int32_t post_process(const Conv2d& conv, std::size_t channel, std::int32_t sum);

}  // namespace tilebeat
