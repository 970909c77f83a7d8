#pragma once

#include "base/types.h"
#include "planner/language/mapping_file.h"
#include "planner/language/problem.h"
#include "planner/vector/vector_work.h"
#include "workload/workload.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace tilebeat {

/// What fusion groups of a workload ask again and again: where layers stand, and who reads their results. The
/// workload outlives it and stays as it is.
class LayerIndex {
 public:
  explicit LayerIndex(const Workload& workload);

  const Workload& workload() const { return workload_; }
  /// The numbers of layers by name, in rising order. Throws UserError for a layer that is not in the
  /// workload.
  std::vector<int> numbers_of(const std::vector<std::string>& names) const;
  /// The layers that read a layer's result, in rising order.
  const std::vector<int>& readers(int layer) const { return nth(readers_, layer); }
  /// Whether a run writes the layer's result.
  bool is_output(int layer) const { return nth(is_output_, layer); }

 private:
  const Workload& workload_;
  std::unordered_map<std::string, int> numbers_;
  std::vector<std::vector<int>> readers_;  // by layer
  std::vector<bool> is_output_;            // by layer
};

/// The rows of a transposed convolution's output, which are made several at a time: output `q` of `window`,
/// the axis of its sub-pixel convolution, makes rows q * stride - lead to (q + 1) * stride - lead, as far as
/// the map has them.
struct SubpixelRows {
  WindowAxis window;
  int stride = 1, lead = 0;

  /// The outputs of `window` that make rows `rows` (not empty).
  Interval outputs_of(Interval rows) const {
    return {(rows.begin + lead) / stride, (rows.end - 1 + lead) / stride + 1};
  }
  /// The rows that outputs `outputs` make, of a map of `height` rows.
  Interval rows_of(Interval outputs, int height) const;
};
/// The rows of a resized map.
struct ResizedRows {
  ResizeAxis axis;
  Resize::Mode mode = Resize::Mode::kNearest;
};

/// The dependency of the rows of a layer's output on those of one of its inputs: a sliding window, sub-pixel
/// rows or resized rows.
class RowAxis {
 public:
  RowAxis(const WindowAxis& window) : form_(window) {}     // NOLINT(google-explicit-constructor): is one
  RowAxis(const SubpixelRows& rows) : form_(rows) {}       // NOLINT(google-explicit-constructor)
  RowAxis(const ResizedRows& resized) : form_(resized) {}  // NOLINT(google-explicit-constructor)

  /// The input rows that output rows `outs` (not empty) need; empty where they depend only on the border.
  Interval inputs_of(Interval outs) const;
  /// Number of outputs that are computed for rows `outs`, which may be empty; the number of rows, unless
  /// several are made at a time.
  int computed(Interval outs) const { return outs.empty() ? 0 : outputs_of(outs).size(); }
  /// The outputs that are computed for rows `outs` (not empty).
  Interval outputs_of(Interval outs) const {
    return subpixel() != nullptr ? subpixel()->outputs_of(outs) : outs;
  }
  int rows_at_a_time() const { return subpixel() != nullptr ? subpixel()->stride : 1; }
  /// Set when rows are made several at a time; null: rows are made one by one.
  const SubpixelRows* subpixel() const { return std::get_if<SubpixelRows>(&form_); }

 private:
  std::variant<WindowAxis, SubpixelRows, ResizedRows> form_;
};

/// The extents with which the layers of a fusion group see their tensors: maps [N, H, W, C] as they are, or,
/// where no layer slides over maps, [1, 1, T, K] as rows_as_map. Tensors of other ranks are seen as rows in
/// both. Where a layer is a product of two results, all tensors are rows of `matrices` matrices, a map each.
struct TensorView {
  enum Kind : std::uint8_t { kMaps, kRows };

  TensorView(Kind seen, int products = 0)  // NOLINT(google-explicit-constructor): is one
      : kind(seen), matrices(products) {}

  Kind kind;
  int matrices;  ///< 0: no layer is a product of two results
};
MapExtents unit_map(const TensorInfo& tensor, TensorView view);

/// Whether input number `input` of a layer is B of a product of two results. In a group B lies in DRAM before
/// the group begins; its matrices come to WRAM as kernels, for one image after the other.
bool is_kernels(const Layer& layer, std::size_t input);
/// TensorView::matrices of groups with this layer; 0: any.
int matrices_of(const Layer& layer);

/// Whether the layer reads a neighbourhood of pixels for an output pixel.
bool slides_over_maps(const Layer& layer);

/// Whether a row of the layer's result depends on other rows of its inputs in a way that row_axis cannot
/// express: its maps must be stored as NHWC, and the layer cannot be fused.
bool reads_other_rows(const Workload& workload, const Layer& layer);

/// The axis of a map along which dependencies are tracked: rows and columns follow the same rules.
enum class MapAxis : std::uint8_t { kRows, kColumns };

/// The dependency of the rows (columns) of a layer's output on those of its input number `input`, both seen
/// as `view` says; nothing where an output row is not made of rows of the input, so that the layer cannot be
/// fused.
std::optional<RowAxis> row_axis(const Workload& workload, const Layer& layer, std::size_t input,
                                TensorView view, MapAxis axis = MapAxis::kRows);

/// A tensor that layers of a fusion group read or write.
struct GroupTensor {
  std::string name;
  TensorInfo info;
  MapExtents map;                    ///< its extents in the group
  std::vector<std::string> aliases;  ///< other names of the tensor: results of reshape and similar layers
  /// number of the layer in the group that makes it; -1: it lies in DRAM before the group begins
  int producer = -1;
  std::vector<int> consumers;  ///< numbers of the layers in the group that read it

  int images() const { return map.images; }
  int height() const { return map.height; }
  std::int64_t pixel_bytes() const { return std::int64_t{map.channels} * dtype_size(info.dtype); }
  /// Bytes of a whole row.
  std::int64_t row_bytes() const { return map.width * pixel_bytes(); }
};

/// A layer of a fusion group; tensors are given by their number in the group.
struct GroupLayer {
  const Layer* layer = nullptr;
  std::vector<int> inputs;  ///< in the operator's order, without B of a product of two results
  int output = 0;
};

/// A fusion group (SPEC FU-1, FU-4): layers in an order in which every tensor is made before it is read.
/// Reshapes are left out: the tensors on both sides are one tensor with two names. Only the last layer's
/// output is visible outside.
struct GroupGraph {
  std::vector<GroupLayer> layers;
  std::vector<GroupTensor> tensors;
  TensorView view = TensorView::kMaps;
  std::vector<std::string> kernels;  ///< tensors that are B of a product, without repetition

  int output() const { return layers.back().output; }
  /// The mask by which the results of layer `l` are read where a causal softmax alone reads them; null: all
  /// are read.
  const Softmax::Mask* mask_of(std::size_t l) const;
  /// Of `most` maps, as many as a step may make together, at least one: products of two results take one
  /// after the other.
  int maps_of_step(int most) const { return kernels.empty() ? std::max(1, most) : 1; }
};

/// The group of the layers with these numbers, which rise. Throws UserError that names the layer that cannot
/// be fused, belongs to another scene, or has an output that is read outside the group or written by the run
/// although the layer is not the last.
GroupGraph make_group_graph(const LayerIndex& index, const std::vector<int>& layers);

/// A part of a group's output that a cluster makes: rows of one image, `step_rows` at a time, or all rows of
/// several images at once; only columns `columns` of them.
struct OutputPart {
  int image = 0, images = 1;
  Interval rows;
  int step_rows = 1;
  Interval columns = {};
};

/// The smallest interval with both; empty ones count for nothing.
Interval joined(Interval a, Interval b);

/// row_axis of every layer and input of a group.
using GroupAxes = std::vector<std::vector<RowAxis>>;
GroupAxes row_axes(const Workload& workload, const GroupGraph& group, MapAxis axis = MapAxis::kRows);

/// The rows of each tensor, of every image of a part, that each step makes: derived from the output backwards
/// (SPEC FU-2). Tensors in DRAM are loaded as if a layer made them.
class RowSchedule {
 public:
  /// `holdings`: by tensor of the group, unused for the output. `axes`: row_axis by layer and input.
  RowSchedule(const GroupGraph& group, const std::vector<Holding>& holdings, const GroupAxes& axes,
              const OutputPart& part);

  int steps() const { return count_of(made_); }
  /// The rows of a tensor that a step makes, and those that the step's layers read; both may be empty.
  Interval made(int step, int tensor) const { return at(made_, step, tensor); }
  Interval read(int step, int tensor) const { return at(read_, step, tensor); }
  /// The most rows of a tensor that are live at a time, from the first one that a step reads to the last one
  /// that it makes.
  int live_rows(int tensor) const;
  /// Number of rows that are made, recomputed ones included.
  std::int64_t made_rows(int tensor) const;

 private:
  using Rows = std::vector<std::vector<Interval>>;  // by step and tensor
  static Interval at(const Rows& rows, int step, int tensor) { return nth(nth(rows, step), tensor); }
  Rows made_, read_;
};

/// By tensor of a group, the columns that output columns `outs` need; empty for tensors that are not needed.
/// `axes` are those of MapAxis::kColumns.
std::vector<Interval> columns_of(const GroupGraph& group, const GroupAxes& axes, Interval outs);

}  // namespace tilebeat
