#pragma once

#include "tilebeat/mapping/problem.h"
#include "tilebeat/mapping/window.h"
#include "tilebeat/workload/workload.h"

#include <cstddef>
#include <optional>
#include <variant>

#include "resize_axis.h"

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

/// How the layers of a fused unit see their tensors: maps [N, H, W, C] as they are, or, where
/// no layer slides over maps, [1, 1, T, K] as rows_as_map. Tensors of other ranks are rows in both.
enum class TensorView : std::uint8_t { kMaps, kRows };
MapExtents unit_map(const TensorInfo& tensor, TensorView view);

/// Whether the layer takes pixels around a place of a map.
bool slides_over_maps(const Layer& layer);

/// Whether a row of the layer's result is made of other things than the same row of its inputs, so that maps
/// have to lie in their plain order, and the layer in no unit.
bool reads_other_rows(const Workload& workload, const Layer& layer);

/// Rows of a map, or its columns, which depend on each other in the same ways.
enum class MapAxis : std::uint8_t { kRows, kColumns };

/// How the rows (columns) of a layer's output depend on those of its input number `input`, both seen as
/// `view` says; nothing where a row of the output is not made of rows of the input, so that the layer cannot
/// be fused.
std::optional<RowAxis> row_axis(const Workload& workload, const Layer& layer, std::size_t input,
                                TensorView view, MapAxis axis = MapAxis::kRows);

}  // namespace tilebeat
