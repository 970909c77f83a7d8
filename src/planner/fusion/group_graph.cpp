#include "planner/fusion/group_graph.h"

#include "base/types.h"
#include "planner/language/problem.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

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

// Windows slide over maps as they are; rows of products are pixels of rows_as_map.
bool suits(const Layer& layer, const TensorInfo& map, const MapExtents& seen) {
  const auto& conv = std::get<Conv2d>(layer.operation);
  if (const std::optional<MapExtents> product = map_of_product(layer)) return seen == *product;
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
  const auto extent = [&](std::size_t axis) { return to_int(tensor.shape[axis]); };
  if (view.matrices > 0) return rows_as_map(tensor, view.matrices);
  if (tensor.shape.size() != kMapAxes || (view.kind == TensorView::kRows && is_list(tensor)))
    return rows_as_map(tensor);
  return {extent(0), extent(1), extent(2), extent(3)};
}

bool is_kernels(const Layer& layer, std::size_t input) {
  const auto* conv = std::get_if<Conv2d>(&layer.operation);
  return conv != nullptr && conv->kernels == KernelSource::kInput && input == 1;
}

int matrices_of(const Layer& layer) {
  const std::optional<MapExtents> product = map_of_product(layer);
  return product ? product->images : 0;
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

const Softmax::Mask* GroupGraph::mask_of(std::size_t l) const {
  const GroupTensor& results = nth(tensors, layers[l].output);
  if (results.consumers.size() != 1) return nullptr;
  const auto* softmax = std::get_if<Softmax>(&nth(layers, results.consumers[0]).layer->operation);
  return softmax != nullptr && softmax->mask ? &*softmax->mask : nullptr;
}

bool slides_over_maps(const Layer& layer) {
  const auto* conv = std::get_if<Conv2d>(&layer.operation);
  return (conv != nullptr && conv->pixels == PixelAxes::kMap) ||
         std::holds_alternative<Pooling>(layer.operation) ||
         std::holds_alternative<Resize>(layer.operation) || std::holds_alternative<Pad>(layer.operation);
}

bool reads_other_rows(const Workload& workload, const Layer& layer) {
  if (const auto* concat = std::get_if<Concat>(&layer.operation))
    return concat->axis + 1 != count_of(layer.output.shape);
  if (const auto* softmax = std::get_if<Softmax>(&layer.operation))
    return softmax->axis >= 0 && softmax->axis + 1 != count_of(layer.output.shape);
  if (std::holds_alternative<Elementwise>(layer.operation)) {
    return std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](const std::string& name) {
      return workload.tensor(name).shape != layer.output.shape;
    });
  }
  return std::holds_alternative<Reduce>(layer.operation) || std::holds_alternative<Move>(layer.operation) ||
         std::holds_alternative<ArgMax>(layer.operation) || std::holds_alternative<Gather>(layer.operation) ||
         std::holds_alternative<Lookup>(layer.operation) ||
         std::holds_alternative<PlainElementwise>(layer.operation) ||
         std::holds_alternative<Quantize>(layer.operation) ||
         std::holds_alternative<Dequantize>(layer.operation) ||
         std::holds_alternative<DynamicQuantize>(layer.operation) ||
         std::holds_alternative<HostOperation>(layer.operation);
}

std::optional<RowAxis> row_axis(const Workload& workload, const Layer& layer, std::size_t input,
                                TensorView view, MapAxis axis) {
  const TensorInfo& map = workload.tensor(layer.inputs[input]);
  const auto in_matrices = [&](const TensorInfo& of) {
    return view.matrices == 0 || of.elements() / of.shape.back() % view.matrices == 0;
  };
  if (!in_matrices(map) || !in_matrices(layer.output)) return std::nullopt;
  const MapExtents in = unit_map(map, view), out = unit_map(layer.output, view);
  const auto number = to_size(axis);
  const int extent = axis == MapAxis::kRows ? in.height : in.width;
  const int out_extent = axis == MapAxis::kRows ? out.height : out.width;
  if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
    if (!suits(layer, map, in)) return std::nullopt;
    return conv->pixels != PixelAxes::kMap ? WindowAxis{extent, 1, 1, 1, 0}
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

namespace {

// Whether the result of a layer is read outside some layers, whose numbers rise, or written by the run.
bool leaves(const LayerIndex& index, int layer, const std::vector<int>& layers) {
  const std::vector<int>& readers = index.readers(layer);
  return index.is_output(layer) ||
         !std::includes(layers.begin(), layers.end(), readers.begin(), readers.end());
}

// Whether one of some layers makes the tensor.
bool is_made_by(const Workload& workload, const std::vector<int>& layers, const std::string& tensor) {
  return std::any_of(layers.begin(), layers.end(),
                     [&](int number) { return nth(workload.layers, number).name == tensor; });
}

// Maps if any window slides over them, else rows.
TensorView view_of(const Workload& workload, const std::vector<int>& layers) {
  const bool windows = std::any_of(layers.begin(), layers.end(), [&](int number) {
    return slides_over_maps(nth(workload.layers, number));
  });
  if (windows) return TensorView::kMaps;
  int matrices = 0;
  for (const int number : layers) matrices = std::max(matrices, matrices_of(nth(workload.layers, number)));
  return {TensorView::kRows, matrices};
}

}  // namespace

GroupGraph make_group_graph(const LayerIndex& index, const std::vector<int>& layers) {
  const Workload& workload = index.workload();
  GroupGraph group;
  group.view = view_of(workload, layers);
  std::unordered_map<std::string, int> numbers;
  const auto number_of = [&](const std::string& name) {
    const auto [found, added] = numbers.try_emplace(name, count_of(group.tensors));
    if (added) {
      const TensorInfo& info = workload.tensor(name);
      group.tensors.push_back({name, info, unit_map(info, group.view), {}, -1, {}});
    }
    return found->second;
  };
  for (const int number : layers) {
    const Layer& layer = nth(workload.layers, number);
    const auto refuse = [&](const std::string& why) {
      throw UserError(fmt::format("layer '{}' cannot be fused: {}", layer.name, why));
    };
    const int local = count_of(group.layers);
    if (local > 0 && layer.scene != group.layers.front().layer->scene)
      refuse(fmt::format("it belongs to scene '{}', '{}' to '{}'", layer.scene,
                         group.layers.front().layer->name, group.layers.front().layer->scene));
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      if (is_kernels(layer, i)) {
        if (is_made_by(workload, layers, layer.inputs[i]))
          refuse(fmt::format("its second operand, '{}', is made in the group", layer.inputs[i]));
      } else if (!row_axis(workload, layer, i, group.view)) {
        refuse("its rows are not made of rows of its inputs");
      }
    }
    if (number != layers.back() && leaves(index, number, layers))
      refuse("its output is read outside the group, which has one output, that of its last layer");
    if (std::holds_alternative<Reshape>(layer.operation)) {
      if (number == layers.front() || number == layers.back())
        refuse("it does nothing at the group's border");
      const int same = number_of(layer.inputs.front());
      numbers[layer.name] = same;
      nth(group.tensors, same).aliases.push_back(layer.name);
      continue;
    }
    GroupLayer made;
    made.layer = &layer;
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      if (is_kernels(layer, i)) {
        if (std::find(group.kernels.begin(), group.kernels.end(), layer.inputs[i]) == group.kernels.end())
          group.kernels.push_back(layer.inputs[i]);
        continue;
      }
      made.inputs.push_back(number_of(layer.inputs[i]));
      std::vector<int>& consumers = nth(group.tensors, made.inputs.back()).consumers;
      if (consumers.empty() || consumers.back() != local) consumers.push_back(local);
    }
    made.output = number_of(layer.name);
    nth(group.tensors, made.output).producer = local;
    group.layers.push_back(std::move(made));
  }
  for (const GroupLayer& layer : group.layers) {
    if (layer.output != group.output() && nth(group.tensors, layer.output).consumers.empty())
      throw UserError(
          fmt::format("layer '{}' cannot be fused: nothing in the group reads it", layer.layer->name));
  }
  return group;
}

Interval joined(Interval a, Interval b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

RowSchedule::RowSchedule(const GroupGraph& group, const std::vector<Holding>& holdings, const GroupAxes& axes,
                         const OutputPart& part) {
  const std::size_t tensors = group.tensors.size();
  const auto output = to_size(group.output());
  // One step, from the output backwards: the rows of each tensor that layers read; `make` returns the rows
  // that are made.
  const auto step = [&](Interval outs, const auto& make, std::vector<Interval>& made,
                        std::vector<Interval>& read) {
    made.assign(tensors, {}), read.assign(tensors, {});
    made[output] = outs;
    for (std::size_t l = group.layers.size(); l-- > 0;) {
      const GroupLayer& layer = group.layers[l];
      const auto of = to_size(layer.output);
      if (of != output) made[of] = make(of, read[of]);
      if (made[of].empty()) continue;
      for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
        Interval& rows = nth(read, layer.inputs[i]);
        rows = joined(rows, axes[l][i].inputs_of(made[of]));
      }
    }
    for (std::size_t t = 0; t < tensors; ++t) {
      if (group.tensors[t].producer < 0) made[t] = make(t, read[t]);
    }
  };
  std::vector<Interval> all, all_read;
  step(
      part.rows, [](std::size_t, Interval read) { return read; }, all, all_read);
  std::vector<int> made_to(tensors);  // by tensor: end of the rows made so far, where rows stay
  for (std::size_t t = 0; t < tensors; ++t) made_to[t] = all[t].begin;
  const auto make = [&](std::size_t t, Interval read) -> Interval {
    const bool again = holdings[t] == Holding::kRecompute || holdings[t] == Holding::kNram;
    if (again || read.empty()) return read;
    // Rows that a stride skips between two steps are not made.
    const int begin = std::max(made_to[t], read.begin);
    const Interval rows{begin, std::max(begin, holdings[t] == Holding::kWhole ? all[t].end : read.end)};
    made_to[t] = rows.end;
    return rows;
  };
  for (int row = part.rows.begin; row < part.rows.end; row += part.step_rows) {
    made_.emplace_back(), read_.emplace_back();
    step({row, std::min(part.rows.end, row + part.step_rows)}, make, made_.back(), read_.back());
  }
}

int RowSchedule::live_rows(int tensor) const {
  int most = 0, end = 0;
  for (int s = 0; s < steps(); ++s) {
    if (made(s, tensor).empty() && read(s, tensor).empty()) continue;
    if (!made(s, tensor).empty()) end = made(s, tensor).end;
    const int first = read(s, tensor).empty() ? made(s, tensor).begin : read(s, tensor).begin;
    most = std::max(most, end - first);
  }
  return most;
}

std::int64_t RowSchedule::made_rows(int tensor) const {
  std::int64_t rows = 0;
  for (int s = 0; s < steps(); ++s) rows += made(s, tensor).size();
  return rows;
}

GroupAxes row_axes(const Workload& workload, const GroupGraph& group, MapAxis axis) {
  GroupAxes axes;
  for (const GroupLayer& layer : group.layers) {
    axes.emplace_back();
    for (std::size_t i = 0; i < layer.inputs.size(); ++i)
      axes.back().push_back(*row_axis(workload, *layer.layer, i, group.view, axis));
  }
  return axes;
}

// Columns are found like the rows of a single step.
std::vector<Interval> columns_of(const GroupGraph& group, const GroupAxes& axes, Interval outs) {
  const std::vector<Holding> holdings(group.tensors.size(), Holding::kRecompute);
  const RowSchedule schedule(group, holdings, axes, {0, 1, outs, outs.size()});
  std::vector<Interval> columns;
  for (std::size_t t = 0; t < group.tensors.size(); ++t) columns.push_back(schedule.made(0, to_int(t)));
  return columns;
}

LayerIndex::LayerIndex(const Workload& workload)
    : workload_(workload), readers_(workload.layers.size()), is_output_(workload.layers.size(), false) {
  for (const Layer& layer : workload.layers) numbers_.emplace(layer.name, count_of(numbers_));
  for (std::size_t i = 0; i < workload.layers.size(); ++i) {
    for (const std::string& input : workload.layers[i].inputs) {
      const auto read = numbers_.find(input);
      if (read == numbers_.end()) continue;  // an input of the workload
      std::vector<int>& readers = nth(readers_, read->second);
      if (readers.empty() || readers.back() != to_int(i)) readers.push_back(to_int(i));
    }
  }
  for (const std::string& output : workload.outputs) {
    const auto written = numbers_.find(output);
    if (written != numbers_.end()) is_output_[to_size(written->second)] = true;
  }
}

std::vector<int> LayerIndex::numbers_of(const std::vector<std::string>& names) const {
  std::vector<int> numbers;
  for (const std::string& name : names) {
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) throw UserError(fmt::format("layer '{}' is not in the workload", name));
    numbers.push_back(found->second);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace tilebeat
