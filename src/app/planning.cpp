#include "planning.h"

#include "tilebeat/schema/json_file.h"
#include "tilebeat/schema/place.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "layer_trial.h"

namespace tilebeat {
namespace {

// The place of a layer in its file, where layers may stand in any order.
Place place_of_layer(const std::string& file, const std::string& name) {
  Place root(file);
  if (name.empty() || !std::filesystem::is_regular_file(file)) return root;  // a pipe cannot be read again
  const nlohmann::json workload = read_json_file(file);
  const nlohmann::json& layers = workload.at("layers");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].at("name") == name) return root.key("layers").item(i);
  }
  return root;
}

}  // namespace

PlannedNetwork plan_workload(const Workload& workload, const HardwareConfig& hardware,
                             const std::string& file, const NetworkMapping& asked) {
  try {
    return plan_network(workload, hardware, asked, [&](const Layer& layer, const LayerMapping& mapping) {
      return cycles_alone(workload, hardware, layer, mapping);
    });
  } catch (const PlanError& error) {
    place_of_layer(file, error.layer()).fail(error.what());
  }
}

}  // namespace tilebeat
