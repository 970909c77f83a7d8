#pragma once

#include <cstddef>
#include <cstdint>

namespace tilebeat::rolling {

/// sums[i * stride + j] += line i of A times line j of B, for all rows i and columns j: what rolling around
/// adds up, at once. Lines lie `lanes` elements apart, a multiple of 16, those that do not exist 0.
void multiply_block(const std::int16_t* a, int rows, const std::int16_t* b, int columns, int lanes,
                    std::int32_t* sums, std::size_t stride);

}  // namespace tilebeat::rolling
