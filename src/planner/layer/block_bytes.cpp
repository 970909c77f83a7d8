#include "planner/layer/block_bytes.h"

#include "base/types.h"

#include <algorithm>

namespace tilebeat {

std::vector<std::vector<std::uint8_t>> BlockBytes::of(const Transfer& transfer) {
  std::vector<std::vector<std::uint8_t>> made(tensors_.size());
  const CopyShape& s = transfer.shape;
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t column = 0; column < s.columns; ++column)
      add(to_signed(transfer.source - place_.blocks.front()) + row * s.source_row + column * s.source_column,
          s.run, made);
  }
  return made;
}

// Appends `count` bytes from byte `at` of the kernels on.
void BlockBytes::add(std::int64_t at, std::int64_t count, std::vector<std::vector<std::uint8_t>>& made) {
  const std::vector<std::uint64_t>& begins = place_.layout.blocks;
  while (count > 0) {
    const auto next = std::upper_bound(begins.begin(), begins.end(), to_unsigned(at));
    const auto begin = to_signed(*(next - 1));
    pack(to_size(next - begins.begin() - 1));
    const std::int64_t from = at - begin, some = std::min(count, ssize(held_.front()) - from);
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i].insert(made[i].end(), held_[i].begin() + from, held_[i].begin() + from + some);
    at += some, count -= some;
  }
}

void BlockBytes::pack(std::size_t number) {
  if (!held_.empty() && number_ == number) return;
  const auto blocks = to_size(layer_.problem().kernel_blocks());
  held_.clear(), number_ = number;
  for (const Tensor* tensor : tensors_)
    held_.push_back(layer_.pack_block(*tensor, to_int(number / blocks), to_int(number % blocks)));
}

}  // namespace tilebeat
