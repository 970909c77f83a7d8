#include "unit_graph.h"

#include "tilebeat/base/error.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace tilebeat {
namespace {

bool leaves(const Workload& workload, const std::string& tensor, const std::vector<int>& layers) {
  if (std::count(workload.outputs.begin(), workload.outputs.end(), tensor) > 0) return true;
  for (std::size_t i = 0; i < workload.layers.size(); ++i) {
    const std::vector<std::string>& inputs = workload.layers[i].inputs;
    const bool reads = std::count(inputs.begin(), inputs.end(), tensor) > 0;
    if (reads && std::count(layers.begin(), layers.end(), static_cast<int>(i)) == 0) return true;
  }
  return false;
}

// Maps where windows slide over them.
TensorView view_of(const Workload& workload, const std::vector<int>& layers) {
  const bool windows = std::any_of(layers.begin(), layers.end(), [&](int number) {
    return slides_over_maps(workload.layers[static_cast<std::size_t>(number)]);
  });
  return windows ? TensorView::kMaps : TensorView::kRows;
}

}  // namespace

UnitGraph make_unit_graph(const Workload& workload, const std::vector<int>& layers) {
  UnitGraph unit;
  unit.view = view_of(workload, layers);
  std::map<std::string, int> numbers;
  const auto number_of = [&](const std::string& name) {
    const auto [found, added] = numbers.try_emplace(name, static_cast<int>(unit.tensors.size()));
    if (added) {
      const TensorInfo& info = workload.tensor(name);
      unit.tensors.push_back({name, info, unit_map(info, unit.view), {}, -1, {}});
    }
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
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      if (!row_axis(workload, layer, i, unit.view)) refuse("its rows are not made of rows of its inputs");
    }
    if (number != layers.back() && leaves(workload, layer.name, layers))
      refuse("its output is read outside the unit, which has one output, that of its last layer");
    if (std::holds_alternative<Reshape>(layer.operation)) {
      if (number == layers.front() || number == layers.back()) refuse("it does nothing at the unit's border");
      const int same = number_of(layer.inputs.front());
      numbers[layer.name] = same;
      unit.tensors[static_cast<std::size_t>(same)].aliases.push_back(layer.name);
      continue;
    }
    UnitLayer made;
    made.layer = &layer;
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      made.inputs.push_back(number_of(layer.inputs[i]));
      std::vector<int>& consumers = unit.tensors[static_cast<std::size_t>(made.inputs.back())].consumers;
      if (consumers.empty() || consumers.back() != local) consumers.push_back(local);
    }
    made.output = number_of(layer.name);
    unit.tensors[static_cast<std::size_t>(made.output)].producer = local;
    unit.layers.push_back(std::move(made));
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
