#include "app/planning.h"

#include "app/command_options.h"
#include "app/commands.h"
#include "app/output_files.h"
#include "base/inputs_read.h"
#include "config/engine_config.h"
#include "config/hardware_config.h"
#include "planner/language/mapping_file.h"
#include "planner/program/planner.h"
#include "schema/json_file.h"
#include "schema/place.h"
#include "system/simulation.h"
#include "tilebeat/error.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

// The place of a layer in its file; layers may be in any order there.
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

Workload workload_of(const Workload& whole, const Layer& layer) {
  Workload alone;
  alone.name = layer.name;
  for (const std::string& name : layer.inputs) {
    const TensorInfo& info = whole.tensor(name);
    alone.inputs[name] = info;
    alone.input_data[name] = {info.shape, info.dtype, std::vector<std::uint8_t>(to_size(info.size_bytes()))};
  }
  alone.layers = {layer};
  alone.outputs = {layer.name};
  return alone;
}

namespace {

Cycle simulated_cycles(const HardwareConfig& hardware, Plan plan) {
  const RunResult result = simulate(hardware, std::move(plan), {});
  if (!result.failures.empty()) throw SimulationError(result.failures.front());
  return result.cycles;
}

}  // namespace

Trial trial_alone(const Workload& alone, const HardwareConfig& hardware, const LayerMapping& mapping) {
  return Trial(fmt::format("layer '{}'", mapping.layer), [&] {
    HardwareConfig tried = hardware;
    tried.planner.search = 0;
    return simulated_cycles(tried, plan_network(alone, tried, {"", {request_of(mapping)}}).plan);
  });
}

namespace {

// The mappings that are simulated of a layer by itself, where neither the hardware file nor a mapping file
// says otherwise: estimates of short layers err most, and simulating them takes a fraction of a second.
int usual_search(const PlannedNetwork& planned, const NetworkMapping& asked) {
  constexpr Cycle kShort = 20000;
  constexpr int kMappings = 8;
  const bool is_free = asked.layers.empty() && asked.groups.empty();
  const std::vector<LayerPlan>& layers = planned.plan.layers;
  if (!is_free || layers.size() != 1 || planned.mappings.size() != 1) return 0;
  return layers.front().estimated_cycles <= kShort ? kMappings : 0;
}

bool are_mapped_alike(const PlannedNetwork& a, const PlannedNetwork& b) {
  return mapping_text(a.mappings, a.groups) == mapping_text(b.mappings, b.groups);
}

}  // namespace

PlannedNetwork plan_workload(const Workload& workload, const HardwareConfig& hardware,
                             const std::string& file, const NetworkMapping& asked) {
  const auto planned = [&](const HardwareConfig& chosen) {
    return plan_network(workload, chosen, asked, [&](const Layer& layer, const LayerMapping& mapping) {
      return trial_alone(workload_of(workload, layer), chosen, mapping).finish();
    });
  };
  try {
    HardwareConfig estimating = hardware;
    estimating.planner.search = 0;
    PlannedNetwork estimated = planned(estimating);
    HardwareConfig searching = hardware;
    searching.planner.search = hardware.planner.search.value_or(usual_search(estimated, asked));
    if (searching.planner.search == 0 || !hardware.chip) return estimated;
    PlannedNetwork found = planned(searching);
    if (are_mapped_alike(found, estimated)) return found;
    // Layers that are fastest alone may be slower one behind the other.
    const auto cycles = [&](const PlannedNetwork& network) {
      return Trial(workload.name, [&] { return simulated_cycles(estimating, network.plan); }).finish();
    };
    return cycles(found) < cycles(estimated) ? std::move(found) : std::move(estimated);
  } catch (const PlanError& error) {
    if (error.names_place()) throw;
    place_of_layer(file, error.layer()).fail(error.what());
  }
}

namespace {

// The compiled data of the first engine that compiles any.
std::shared_ptr<CompiledAhead> any_ahead(EngineConfigs& engines) {
  for (std::size_t i = 0; i < engines.size(); ++i) {
    if (auto ahead = engines[i].compiled_ahead()) return ahead;
  }
  throw UserError("tables: no engine compiles anything ahead");
}

void show(const TablesCommand& command) {
  EngineConfigs engines;
  const std::shared_ptr<CompiledAhead> ahead = any_ahead(engines);
  ahead->use(read_compiled(command.show), command.show);
  CompiledAhead::Question question;
  question.entry = command.entry;
  question.thread = command.thread, question.k = command.k;
  fmt::print("{}", ahead->text(question));
}

void compile(const TablesCommand& command) {
  HardwareConfig hardware = load_hardware(command.config);
  const std::shared_ptr<CompiledAhead> ahead = ahead_of(hardware);
  const Workload workload = load_workload(command.layer);
  note_inputs(files_read(command.config, command.layer));
  check_not_read("--out", command.out);
  ahead->record();
  plan_workload(workload, hardware, command.layer);
  const std::vector<std::uint8_t> bytes = ahead->file();
  OutputFiles files;
  files.write(command.out, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  files.commit();
  fmt::print("{}\nWrote {} ({} bytes)\n", ahead->text({}), command.out, bytes.size());
}

}  // namespace

std::shared_ptr<CompiledAhead> ahead_of(HardwareConfig& hardware) {
  const auto& known = engine_descriptions();
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (hardware.dataflow != known[i].dataflow) continue;
    if (auto ahead = hardware.engines[i].compiled_ahead()) return ahead;
  }
  throw UserError(fmt::format("tables: the engine \"{}\" compiles nothing ahead", hardware.dataflow));
}

std::vector<std::uint8_t> read_compiled(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw UserError(fmt::format("{}: is a folder", path));
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw UserError(fmt::format("{}: cannot be read", path));
  note_input(path);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) throw UserError(fmt::format("{}: cannot be read", path));
  return bytes;
}

int tables(const TablesCommand& command) {
  if (!command.show.empty())
    show(command);
  else
    compile(command);
  return 0;
}

}  // namespace tilebeat
