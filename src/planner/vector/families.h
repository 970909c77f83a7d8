#pragma once

#include "planner/vector/function_table.h"
#include "planner/vector/vector_work.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace tilebeat {

// How the operators of each family are cut into pieces: one file a family.

/// The cutting of a layer's work for one core: its share, and the pieces so far.
class VectorCut {
 public:
  VectorCut(const VectorWork& work, const VectorShare& share) : work_(work), share_(share) {}

  const VectorShare& share() const { return share_; }
  /// Bytes of fetched and computed data of one step, of which two are there at a time.
  std::int64_t step_bytes() const;
  /// Of the share: images, output rows of the core, columns of the part.
  Interval images() const;
  Interval rows() const;
  Interval columns() const;
  /// Neighbouring pixels over all images, which some cores share.
  struct Span {
    Interval pixels;
    int core = 0, cores = 1;
    /// Those of the core.
    Interval part() const;
  };
  /// `pixels`: of the whole output. Those of the share: all of them, or a row of a strip after the other.
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

/// What the vector unit computes by a VectorRun.
class RunWork : public VectorWork {
 protected:
  RunWork(const VectorJob& job, VectorKind kind);
  /// Those of a result of bytes.
  void bound(const std::optional<OutputRange>& range);

  VectorRun run_;  ///< what it says of the whole layer
};

/// Tensors whose elements are gone through in one order: index i, one number an axis, is element
/// offset + sum of i[axis] * strides[axis] of a tensor. The last axis is a line.
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
  /// Lines that follow one another at the same distances: the extent of the axis before the last one.
  std::int64_t neighbours() const { return extents.size() > 1 ? extents[extents.size() - 2] : 1; }
};

/// What a line is to the operation.
enum class LineUse : std::uint8_t {
  kElements,  ///< a run of elements: it may be cut, and lines be joined
  kPixel      ///< a pixel, whose channels stay together
};

StridedView::Tensor dense_tensor(const TensorInfo& info);
/// Strides in elements of a dense tensor of shape `shape`.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape);

/// The operator's work; Throws UserError when it cannot fit.
using Work = std::unique_ptr<VectorWork>;

// flat.cpp: element by element, or pixel by pixel
Work work_of(const Elementwise& operation, const VectorJob& job);
Work work_of(const ByteFunction& function, const VectorJob& job);
Work work_of(const ChannelScale& operation, const VectorJob& job);
Work work_of(const Requantize& operation, const VectorJob& job);
Work work_of(const Quantize& operation, const VectorJob& job);
Work work_of(const Dequantize& operation, const VectorJob& job);
Work work_of(const Softmax& operation, const VectorJob& job);

// windows.cpp: parts of maps
Work work_of(const Pooling& pool, const VectorJob& job);
Work work_of(const Resize& resize, const VectorJob& job);
Work work_of(const Pad& pad, const VectorJob& job);

// movement.cpp: nothing is computed
Work work_of(const Concat& operation, const VectorJob& job);
Work work_of(const Move& move, const VectorJob& job);
Work work_of(const Gather& gather, const VectorJob& job);

// reductions.cpp: all elements along axes
Work work_of(const Reduce& reduce, const VectorJob& job);
Work work_of(const RowNorm& norm, const VectorJob& job);
Work work_of(const Lrn& lrn, const VectorJob& job);
Work work_of(const ArgMax& operation, const VectorJob& job);
Work work_of(const DynamicQuantize& operation, const VectorJob& job);

// vector_work.cpp: they run elsewhere, or not at all
Work work_of(const Conv2d& conv, const VectorJob& job);
Work work_of(const Reshape& reshape, const VectorJob& job);

}  // namespace tilebeat
