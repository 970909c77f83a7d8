#include "unit_graph.h"

#include "tilebeat/base/error.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kMapAxes = 4;  // N, H, W, C

WindowAxis same_row(int height) {
  return {height, 1, 1, 1, 0};
}

template <class Operation>
WindowAxis window_axis(const Operation& operation, int height) {
  return {height, operation.kernel[0], operation.stride[0], operation.dilation[0], operation.pads[0]};
}

bool leaves(const Workload& workload, const std::string& tensor, const std::vector<int>& layers) {
  if (std::count(workload.outputs.begin(), workload.outputs.end(), tensor) > 0) return true;
  for (std::size_t i = 0; i < workload.layers.size(); ++i) {
    const std::vector<std::string>& inputs = workload.layers[i].inputs;
    const bool reads = std::count(inputs.begin(), inputs.end(), tensor) > 0;
    if (reads && std::count(layers.begin(), layers.end(), static_cast<int>(i)) == 0) return true;
  }
  return false;
}

}  // namespace

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

std::optional<WindowAxis> row_axis(const Workload& workload, const Layer& layer, std::size_t input) {
  const TensorInfo& map = workload.tensor(layer.inputs[input]);
  if (map.shape.size() != kMapAxes || layer.output.shape.size() != kMapAxes) return std::nullopt;
  const int height = static_cast<int>(map.shape[1]);
  if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
    const bool plain = conv->pixels == PixelAxes::kMap && conv->kernels == KernelSource::kWeights &&
                       conv->form == ConvForm::kGathered;
    if (!plain) return std::nullopt;
    return window_axis(*conv, height);
  }
  if (const auto* pool = std::get_if<Pooling>(&layer.operation)) return window_axis(*pool, height);
  const bool moves = std::holds_alternative<Reshape>(layer.operation) ||
                     std::holds_alternative<Resize>(layer.operation) ||
                     std::holds_alternative<Pad>(layer.operation);
  if (moves || reads_other_rows(workload, layer)) return std::nullopt;
  return same_row(height);
}

UnitGraph make_unit_graph(const Workload& workload, const std::vector<int>& layers) {
  UnitGraph unit;
  std::map<std::string, int> numbers;
  const auto number_of = [&](const std::string& name) {
    const auto [found, added] = numbers.try_emplace(name, static_cast<int>(unit.tensors.size()));
    if (added) unit.tensors.push_back({name, workload.tensor(name), -1, {}});
    return found->second;
  };
  for (const int number : layers) {
    const Layer& layer = workload.layers[static_cast<std::size_t>(number)];
    const auto refuse = [&](const std::string& why) {
      throw UserError(fmt::format("layer '{}' cannot be fused: {}", layer.name, why));
    };
    const int local = static_cast<int>(unit.layers.size());
    if (local > 0 && layer.scene != unit.layers.front().layer->scene)
      refuse(fmt::format("it belongs to scene '{}', '{}' to '{}'", layer.scene,
                         unit.layers.front().layer->name, unit.layers.front().layer->scene));
    UnitLayer made;
    made.layer = &layer;
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      if (!row_axis(workload, layer, i)) refuse("its rows are not made of rows of a map");
      made.inputs.push_back(number_of(layer.inputs[i]));
      std::vector<int>& consumers = unit.tensors[static_cast<std::size_t>(made.inputs.back())].consumers;
      if (consumers.empty() || consumers.back() != local) consumers.push_back(local);
    }
    made.output = number_of(layer.name);
    unit.tensors[static_cast<std::size_t>(made.output)].producer = local;
    unit.layers.push_back(std::move(made));
    if (number != layers.back() && leaves(workload, layer.name, layers))
      refuse("its output is read outside the unit, which has one output, that of its last layer");
  }
  for (const UnitLayer& layer : unit.layers) {
    if (layer.output != unit.output() &&
        unit.tensors[static_cast<std::size_t>(layer.output)].consumers.empty())
      throw UserError(
          fmt::format("layer '{}' cannot be fused: nothing in the unit reads it", layer.layer->name));
  }
  return unit;
}

}  // namespace tilebeat
