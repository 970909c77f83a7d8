#pragma once

#include "planner/language/matrix_backend.h"
#include "planner/language/transfer.h"
#include "workload/tensor.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilebeat {

/// Kernel blocks of a layer in the engine's layout, packed from several tensors of the weights' shape: one
/// block at a time is held.
class BlockBytes {
 public:
  /// `place` says where DRAM has the blocks. All outlive it.
  BlockBytes(const MatrixLayer& layer, const WeightPlace& place, std::vector<const Tensor*> tensors)
      : layer_(layer), place_(place), tensors_(std::move(tensors)) {}

  /// By tensor: the bytes that a transfer of kernels reads, in its order.
  std::vector<std::vector<std::uint8_t>> of(const Transfer& transfer);

 private:
  void add(std::int64_t at, std::int64_t count, std::vector<std::vector<std::uint8_t>>& made);
  void pack(std::size_t number);

  const MatrixLayer& layer_;
  const WeightPlace& place_;
  std::vector<const Tensor*> tensors_;
  std::size_t number_ = 0;                       // of the held block
  std::vector<std::vector<std::uint8_t>> held_;  // by tensor; empty: none
};

}  // namespace tilebeat
