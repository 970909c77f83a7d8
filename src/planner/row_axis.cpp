#include "row_axis.h"

#include "tilebeat/base/overloaded.h"
#include "tilebeat/mapping/subpixel.h"

#include <algorithm>

namespace tilebeat {
namespace {

constexpr std::size_t kMapAxes = 4;  // N, H, W, C

template <class Operation>
WindowAxis window_axis(const Operation& operation, std::size_t axis, int extent) {
  return {extent, operation.kernel[axis], operation.stride[axis], operation.dilation[axis],
          operation.pads[axis]};
}

bool is_list(const TensorInfo& tensor) {
  return tensor.shape.size() == kMapAxes && tensor.shape[0] == 1 && tensor.shape[1] == 1;
}

// Windows slide over maps as they are, rows of products are pixels of rows_as_map.
bool suits(const Conv2d& conv, const TensorInfo& map, const MapExtents& seen) {
  if (conv.pixels == PixelAxes::kMatrices || conv.kernels != KernelSource::kWeights) return false;
  return seen == (conv.pixels == PixelAxes::kRows ? rows_as_map(map) : unit_map(map, TensorView::kMaps));
}

RowAxis axis_of(const Conv2d& conv, std::size_t number, int extent, int out_extent) {
  if (conv.form == ConvForm::kGathered) return window_axis(conv, number, extent);
  const SubpixelAxis axis = subpixel_axis(conv, number, out_extent);
  return SubpixelRows{{extent, axis.taps, 1, 1, axis.pad}, axis.stride, axis.lead};
}

}  // namespace

MapExtents unit_map(const TensorInfo& tensor, TensorView view) {
  const auto extent = [&](std::size_t axis) { return static_cast<int>(tensor.shape[axis]); };
  if (tensor.shape.size() != kMapAxes || (view == TensorView::kRows && is_list(tensor)))
    return rows_as_map(tensor);
  return {extent(0), extent(1), extent(2), extent(3)};
}

Interval SubpixelRows::rows_of(Interval outputs, int height) const {
  return {std::max(0, outputs.begin * stride - lead), std::min(height, outputs.end * stride - lead)};
}

Interval RowAxis::inputs_of(Interval outs) const {
  const auto through = [](const WindowAxis& axis, Interval of) {
    const Window window = axis.window(of);
    return Interval{window.in, window.in + window.ins};
  };
  return std::visit(
      Overloaded{[&](const WindowAxis& axis) { return through(axis, outs); },
                 [&](const SubpixelRows& rows) { return through(rows.window, rows.outputs_of(outs)); },
                 [&](const ResizedRows& resized) { return resized.axis.needed(resized.mode, outs); }},
      form_);
}

bool slides_over_maps(const Layer& layer) {
  const auto* conv = std::get_if<Conv2d>(&layer.operation);
  return (conv != nullptr && conv->pixels == PixelAxes::kMap) ||
         std::holds_alternative<Pooling>(layer.operation) ||
         std::holds_alternative<Resize>(layer.operation) || std::holds_alternative<Pad>(layer.operation);
}

bool reads_other_rows(const Workload& workload, const Layer& layer) {
  if (const auto* concat = std::get_if<Concat>(&layer.operation))
    return concat->axis + 1 != static_cast<int>(layer.output.shape.size());
  if (const auto* softmax = std::get_if<Softmax>(&layer.operation))
    return softmax->axis >= 0 && softmax->axis + 1 != static_cast<int>(layer.output.shape.size());
  if (std::holds_alternative<Elementwise>(layer.operation)) {
    return std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](const std::string& name) {
      return workload.tensor(name).shape != layer.output.shape;
    });
  }
  return std::holds_alternative<Reduce>(layer.operation) || std::holds_alternative<Move>(layer.operation) ||
         std::holds_alternative<ArgMax>(layer.operation) || std::holds_alternative<Gather>(layer.operation) ||
         std::holds_alternative<Quantize>(layer.operation) ||
         std::holds_alternative<Dequantize>(layer.operation) ||
         std::holds_alternative<DynamicQuantize>(layer.operation);
}

std::optional<RowAxis> row_axis(const Workload& workload, const Layer& layer, std::size_t input,
                                TensorView view, MapAxis axis) {
  const TensorInfo& map = workload.tensor(layer.inputs[input]);
  const MapExtents in = unit_map(map, view), out = unit_map(layer.output, view);
  const auto number = static_cast<std::size_t>(axis);
  const int extent = axis == MapAxis::kRows ? in.height : in.width;
  const int out_extent = axis == MapAxis::kRows ? out.height : out.width;
  if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
    if (!suits(*conv, map, in)) return std::nullopt;
    return conv->pixels == PixelAxes::kRows ? WindowAxis{extent, 1, 1, 1, 0}
                                            : axis_of(*conv, number, extent, out_extent);
  }
  if (slides_over_maps(layer) && !(in == unit_map(map, TensorView::kMaps))) return std::nullopt;
  if (const auto* pool = std::get_if<Pooling>(&layer.operation)) return window_axis(*pool, number, extent);
  if (reads_other_rows(workload, layer)) return std::nullopt;
  if (std::holds_alternative<Reshape>(layer.operation) && !(in == out)) return std::nullopt;
  if (const auto* resize = std::get_if<Resize>(&layer.operation))
    return ResizedRows{resize_axis(*resize, extent, out_extent), resize->mode};
  const auto* pad = std::get_if<Pad>(&layer.operation);
  return WindowAxis{extent, 1, 1, 1, pad != nullptr ? pad->pads[number] : 0};
}

}  // namespace tilebeat
