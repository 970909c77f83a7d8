#pragma once

#include "planner/language/mapping_file.h"
#include "planner/language/problem.h"
#include "planner/vector/vector_work.h"
#include "workload/workload.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tilebeat {

/// Rows of a transposed convolution's output are made several at a time: output `q` of `window`, that of its
/// sub-pixel convolution, makes rows q * stride - lead to (q + 1) * stride - lead, as far as the map has
/// them.
struct SubpixelRows {
  WindowAxis window;
  int stride = 1, lead = 0;

  /// The outputs of `window` that make rows `rows`, which are not empty.
  Interval outputs_of(Interval rows) const {
    return {(rows.begin + lead) / stride, (rows.end - 1 + lead) / stride + 1};
  }
  /// The rows that such outputs make, of a map of `height` rows.
  Interval rows_of(Interval outputs, int height) const;
};
/// Rows of a resized map.
struct ResizedRows {
  ResizeAxis axis;
  Resize::Mode mode = Resize::Mode::kNearest;
};

/// How the rows of a layer's output depend on those of one of its inputs: through a sliding window, or as
/// these say.
class RowAxis {
 public:
  RowAxis(const WindowAxis& window) : form_(window) {}     // NOLINT(google-explicit-constructor): is one
  RowAxis(const SubpixelRows& rows) : form_(rows) {}       // NOLINT(google-explicit-constructor)
  RowAxis(const ResizedRows& resized) : form_(resized) {}  // NOLINT(google-explicit-constructor)

  /// Rows of the input that rows `outs` of the output, which are not empty, need; none where they are border.
  Interval inputs_of(Interval outs) const;
  /// Outputs that are computed for rows `outs`, which may be empty: as many, where they are made one by one.
  int computed(Interval outs) const { return outs.empty() ? 0 : outputs_of(outs).size(); }
  /// Those outputs, of rows that are not empty.
  Interval outputs_of(Interval outs) const {
    return subpixel() != nullptr ? subpixel()->outputs_of(outs) : outs;
  }
  int rows_at_a_time() const { return subpixel() != nullptr ? subpixel()->stride : 1; }
  /// How rows are made several at a time; nothing: they are made one by one.
  const SubpixelRows* subpixel() const { return std::get_if<SubpixelRows>(&form_); }

 private:
  std::variant<WindowAxis, SubpixelRows, ResizedRows> form_;
};

/// How the layers of a fusion group see their tensors: maps [N, H, W, C] as they are, or, where
/// no layer slides over maps, [1, 1, T, K] as rows_as_map. Tensors of other ranks are rows in both.
enum class TensorView : std::uint8_t { kMaps, kRows };
MapExtents unit_map(const TensorInfo& tensor, TensorView view);

/// Whether the layer takes pixels around a place of a map.
bool slides_over_maps(const Layer& layer);

/// Whether a row of the layer's result is made of other things than the same row of its inputs, so that maps
/// have to lie in their plain order, and the layer in no group.
bool reads_other_rows(const Workload& workload, const Layer& layer);

/// Rows of a map, or its columns, which depend on each other in the same ways.
enum class MapAxis : std::uint8_t { kRows, kColumns };

/// How the rows (columns) of a layer's output depend on those of its input number `input`, both seen as
/// `view` says; nothing where a row of the output is not made of rows of the input, so that the layer cannot
/// be fused.
std::optional<RowAxis> row_axis(const Workload& workload, const Layer& layer, std::size_t input,
                                TensorView view, MapAxis axis = MapAxis::kRows);

/// A tensor that layers of a fusion group read or write.
struct GroupTensor {
  std::string name;
  TensorInfo info;
  MapExtents map;                    ///< its extents in the group
  std::vector<std::string> aliases;  ///< what `reshape` and its like call it
  int producer = -1;  ///< the group's layer that makes it; -1: it lies in DRAM before the group begins
  std::vector<int> consumers;  ///< layers of the group that read it

  int images() const { return map.images; }
  int height() const { return map.height; }
  std::int64_t pixel_bytes() const { return std::int64_t{map.channels} * dtype_size(info.dtype); }
  /// Bytes of a row, all its pixels.
  std::int64_t row_bytes() const { return map.width * pixel_bytes(); }
};

/// A layer of a fusion group; tensors by their number in the group.
struct GroupLayer {
  const Layer* layer = nullptr;
  std::vector<int> inputs;  ///< in the operator's order
  int output = 0;
};

/// Layers that run as one (SPEC FU-1, FU-4), in an order in which every tensor is there before it is read.
/// Layers that only give a tensor another shape are not among them: both names are one tensor.
/// The last layer's output is the only one that others see.
struct GroupGraph {
  std::vector<GroupLayer> layers;
  std::vector<GroupTensor> tensors;
  TensorView view = TensorView::kMaps;

  int output() const { return layers.back().output; }
};

/// The group of the layers with these numbers, which rise. Throws UserError that names the layer: one that
/// cannot be fused, belongs to another scene, or whose output is read outside the group or written by the run
/// although it is not the last.
GroupGraph make_group_graph(const Workload& workload, const std::vector<int>& layers);

/// Output rows of one image that a cluster makes, so many at a time; or all rows of several images, which it
/// makes at a time. Of rows of columns `columns` alone.
struct OutputPart {
  int image = 0, images = 1;
  Interval rows;
  int step_rows = 1;
  Interval columns = {};
};

/// row_axis of every layer and input of a group.
using GroupAxes = std::vector<std::vector<RowAxis>>;
GroupAxes row_axes(const Workload& workload, const GroupGraph& group, MapAxis axis = MapAxis::kRows);

/// Which rows of each tensor, of every image of a part, are made in which step: derived from the output
/// backwards (SPEC FU-2). Tensors in DRAM are loaded as if a layer made them.
class RowSchedule {
 public:
  /// `holdings`: by tensor of the group; that of the output has no meaning. `axes` are those of row_axis, by
  /// layer and input.
  RowSchedule(const GroupGraph& group, const std::vector<Holding>& holdings, const GroupAxes& axes,
              const OutputPart& part);

  int steps() const { return count_of(made_); }
  /// Rows of a tensor that a step makes, and those of it that the step's layers read; both may be empty.
  Interval made(int step, int tensor) const { return at(made_, step, tensor); }
  Interval read(int step, int tensor) const { return at(read_, step, tensor); }
  /// Rows of a tensor that must be there at a time: from the first that a step reads to the last that it
  /// makes.
  int live_rows(int tensor) const;
  /// Rows that are made, those that are made again included.
  std::int64_t made_rows(int tensor) const;

 private:
  using Rows = std::vector<std::vector<Interval>>;  // by step and tensor
  static Interval at(const Rows& rows, int step, int tensor) { return nth(nth(rows, step), tensor); }
  Rows made_, read_;
};

/// The columns of each tensor of a group that columns `outs` of its output need, by tensor; empty for those
/// that need none. `axes` are those of MapAxis::kColumns.
std::vector<Interval> columns_of(const GroupGraph& group, const GroupAxes& axes, Interval outs);

}  // namespace tilebeat
