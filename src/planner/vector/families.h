#pragma once

#include "planner/vector/function_table.h"
#include "planner/vector/vector_work.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace tilebeat {

// Work of the operators, cut into pieces; one source file per family of operators.

/// A core's share of a layer's work while it is being cut, and the pieces so far.
class VectorCut {
 public:
  VectorCut(const VectorWork& work, const VectorShare& share) : work_(work), share_(share) {}

  const VectorShare& share() const { return share_; }
  /// Bytes of fetched and computed data of a step; NRAM holds two steps at a time.
  std::int64_t step_bytes() const;
  /// Bounds of the share: images, output rows of the core, columns of the part.
  Interval images() const;
  Interval rows() const;
  Interval columns() const;
  /// Neighbouring pixels, counted over all images, that `cores` cores divide among themselves.
  struct Span {
    Interval pixels;
    int core = 0, cores = 1;
    /// The pixels of core `core`.
    Interval part() const;
  };
  /// The spans of the share: one of all `pixels` pixels of the output, or one per row of a strip.
  std::vector<Span> spans(int pixels) const;

  std::vector<VectorPiece> pieces;

 private:
  const VectorWork& work_;
  VectorShare share_;
};

/// Calls `add(image, rows, columns)` for the parts of a map's outputs that a core computes, of at most
/// `rows` x `columns` pixels.
template <class Add>
void for_parts(const VectorCut& cut, int rows, int columns, Add add) {
  const Interval part = cut.rows(), across = cut.columns();
  for (int n = cut.images().begin; n < cut.images().end; ++n) {
    for (int r = part.begin; r < part.end; r += rows) {
      for (int c = across.begin; c < across.end; c += columns)
        add(n, Interval{r, std::min(part.end, r + rows)}, Interval{c, std::min(across.end, c + columns)});
    }
  }
}

/// Work that the vector unit computes by a VectorRun.
class RunWork : public VectorWork {
 protected:
  RunWork(const VectorJob& job, VectorKind kind);
  /// Sets the bounds of a clamped result of bytes.
  void bound(const std::optional<OutputRange>& range);

  VectorRun run_;  ///< fields that hold for the whole layer
};

/// Strided views of tensors that are traversed in one order: index i, with one number per axis, addresses
/// element offset + sum of i[axis] * strides[axis] of each tensor. The last axis is a line.
struct StridedView {
  struct Tensor {
    std::int64_t offset = 0;
    std::vector<std::int64_t> strides;  ///< in elements; 0: the axis is repeated
    int element_bytes = 1;
  };
  std::vector<std::int64_t> extents;
  std::vector<Tensor> operands;
  Tensor result;

  std::int64_t line() const { return extents.back(); }
  std::int64_t lines() const;
  /// Number of consecutive lines at equal distances: the extent of the axis before the last one.
  std::int64_t neighbours() const { return extents.size() > 1 ? extents[extents.size() - 2] : 1; }
};

/// The meaning of a line to the operation.
enum class LineUse : std::uint8_t {
  kElements,  ///< a run of elements: it may be cut, and lines may be joined
  kPixel      ///< a pixel, whose channels stay together
};

StridedView::Tensor dense_tensor(const TensorInfo& info);
/// Strides in elements of a dense tensor of shape `shape`.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape);

/// The work of an operator. The functions throw UserError when it cannot fit.
using Work = std::unique_ptr<VectorWork>;

// ---- flat.cpp: element by element, or pixel by pixel ----
Work work_of(const Elementwise& operation, const VectorJob& job);
Work work_of(const PlainElementwise& operation, const VectorJob& job);
Work work_of(const ByteFunction& function, const VectorJob& job);
Work work_of(const ChannelScale& operation, const VectorJob& job);
Work work_of(const Requantize& operation, const VectorJob& job);
Work work_of(const Quantize& operation, const VectorJob& job);
Work work_of(const Dequantize& operation, const VectorJob& job);
Work work_of(const Softmax& operation, const VectorJob& job);

// ---- windows.cpp: parts of maps ----
Work work_of(const Pooling& pool, const VectorJob& job);
Work work_of(const Resize& resize, const VectorJob& job);
Work work_of(const Pad& pad, const VectorJob& job);

// ---- movement.cpp: no computation ----
Work work_of(const Concat& operation, const VectorJob& job);
Work work_of(const Move& move, const VectorJob& job);
Work work_of(const Gather& gather, const VectorJob& job);
Work work_of(const Lookup& lookup, const VectorJob& job);

// ---- reductions.cpp: all elements along axes ----
Work work_of(const Reduce& reduce, const VectorJob& job);
/// Of a softmax that has a mask.
Work causal_softmax_work(const Softmax& operation, const VectorJob& job);
Work work_of(const RowNorm& norm, const VectorJob& job);
Work work_of(const Lrn& lrn, const VectorJob& job);
Work work_of(const ArgMax& operation, const VectorJob& job);
Work work_of(const DynamicQuantize& operation, const VectorJob& job);

// ---- vector_work.cpp: operators of other units, or without work ----
Work work_of(const Conv2d& conv, const VectorJob& job);
Work work_of(const Reshape& reshape, const VectorJob& job);
Work work_of(const HostOperation& operation, const VectorJob& job);

}  // namespace tilebeat
