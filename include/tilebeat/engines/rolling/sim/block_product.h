#pragma once

#include <cstddef>
#include <cstdint>

namespace tilebeat::rolling {

/// Lines of an operand, `stride` elements apart.
struct Lines {
  const std::int16_t* first = nullptr;
  std::size_t stride = 0;

  const std::int16_t* line(int number) const { return first + static_cast<std::size_t>(number) * stride; }
  Lines from(int number) const { return {line(number), stride}; }
};

/// sums[i * stride + j] += line i of A times line j of B, for all rows i and columns j: what rolling around
/// adds up, at once. Lines have `length` elements, a multiple of 16; those that do not exist are 0.
void multiply_block(const Lines& a, int rows, const Lines& b, int columns, int length, std::int32_t* sums,
                    std::size_t stride);

/// sums[i] = line i of A times line i of B, `lanes` elements each, a multiple of 16; lines lie side by side:
/// one beat of an array.
void multiply_lines(const std::int16_t* a, const std::int16_t* b, int lines, int lanes, std::int32_t* sums);

}  // namespace tilebeat::rolling
