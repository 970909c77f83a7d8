#pragma once

#include "base/memo.h"
#include "config/hardware_config.h"
#include "isa/weight_image.h"
#include "planner/language/matrix_backend.h"
#include "planner/layer/operand_transfers.h"
#include "workload/tensor.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
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

/// The kernels of a layer with weights of four bits in a core's memory where they stay packed
/// (`chip.decompress`: read; SPEC DT-1, isa/weight_image.h). A kernel group is an image there, of which every
/// region has one of the same size.
class PackedKernels {
 public:
  /// Null where kernels are never packed: on other hardware, int8 weights, groups of convolution, several
  /// sets, int16 maps, kernels that the engine moves in the memory.
  static std::shared_ptr<const PackedKernels> of(const std::shared_ptr<const MatrixLayer>& layer,
                                                 const WeightPlace& weights, const HardwareConfig& hardware);

  PackedKernels(std::shared_ptr<const MatrixLayer> layer, WeightPlace place, std::int64_t most_scales);

  /// The header of a group's images; none where the group is int8 in the memory: its scales follow no pattern
  /// of an image, are more than a port holds, or packing saves nothing.
  std::optional<WeightImage> image_of(const KernelGroup& group) const;
  /// The images of a group, whose header is `image`, region after region.
  std::vector<std::uint8_t> images(const KernelGroup& group, const WeightImage& image) const;

 private:
  // Bytes of a group as they would lie in the memory, region after region.
  struct Decoded {
    std::int64_t region_bytes = 0;
    std::vector<std::vector<std::uint8_t>> parts;  // by tensor
    std::vector<bool> plain;                       // whether a byte belongs to a post-parameter
  };
  Decoded decoded(const KernelGroup& group, const std::vector<const Tensor*>& tensors) const;
  // Of one block in its first region: the groups of its weights, 0 for any, and the plain bytes behind them.
  struct Pattern {
    std::vector<int> groups;
    int plain = 0;
  };
  Pattern pattern_of(const KernelGroup& group, int block) const;
  std::optional<WeightImage> form_of(const KernelGroup& group, bool has_whole, bool has_last) const;
  bool has_short_block() const;

  std::shared_ptr<const MatrixLayer> layer_;
  WeightPlace place_;
  std::int64_t most_scales_;
  // By channels, and whether there are blocks of all kernels, and the last one with fewer.
  Memo<std::array<int, 4>, std::optional<WeightImage>> forms_;
};

}  // namespace tilebeat
