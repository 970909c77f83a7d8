#include "report/report.h"
#include "report/scenes.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

using Json = nlohmann::ordered_json;

// An object without the copies that brace lists make: there are as many objects as modules and counters.
Json::object_t object_of(std::size_t members) {
  Json::object_t object;
  object.reserve(members);
  return object;
}

Json stalls_json(const ActivityCycles& cycles) {
  Json::object_t stalls =
      object_of(to_size(std::count_if(cycles.begin(), cycles.end(), [](Cycle count) { return count != 0; })));
  for (int i = 0; i < kActivityCount; ++i) {
    const auto activity = static_cast<Activity>(i);
    const Cycle count = nth(cycles, i);
    if (activity != Activity::kBusy && count != 0)
      stalls.emplace(std::string(activity_name(activity)), count);
  }
  return stalls;
}

Json bytes_json(const MemoryBytes& b) {
  return {{"dram", {{"read", b.dram_read}, {"write", b.dram_write}}},
          {"input_buffer", {{"read", b.input_buffer_read}, {"write", b.input_buffer_write}}},
          {"parameter_buffer", {{"read", b.parameter_buffer_read}, {"write", b.parameter_buffer_write}}},
          {"output_buffer", {{"read", b.output_buffer_read}, {"write", b.output_buffer_write}}},
          {"nram", {{"read", b.nram_read}, {"write", b.nram_write}}},
          {"wram", {{"read", b.wram_read}, {"write", b.wram_write}}},
          {"sram", {{"read", b.sram_read}, {"write", b.sram_write}}},
          {"bus", {{"read", b.bus_read}, {"write", b.bus_write}}}};
}

Json facts_json(const std::vector<std::pair<std::string, std::string>>& facts) {
  Json list = Json::array();
  for (const auto& [name, text] : facts) list.push_back({{"name", name}, {"text", text}});
  return list;
}

Json energy_json(const EnergyParts& parts) {
  Json energy = Json::object();
  for (const EnergyPart& part : kEnergyParts) energy[std::string(part.name)] = parts.*part.value;
  energy["total"] = parts.total();
  return energy;
}

Json energy_json(const EnergyResult& energy) {
  Json modules = Json::array();
  for (const ModuleEnergy& module : energy.modules)
    modules.push_back({{"name", module.name}, {"pj", module.pj}});
  return {{"technology", energy.technology},
          {"pj", energy_json(energy.parts)},
          {"modules", modules},
          {"watts", energy.watts()},
          {"edp_joule_seconds", energy.edp()},
          {"area_mm2",
           {{"macs", energy.area.macs},
            {"results", energy.area.results},
            {"lanes", energy.area.lanes},
            {"buffers", energy.area.buffers},
            {"nram", energy.area.nram},
            {"wram", energy.area.wram},
            {"sram", energy.area.sram},
            {"dma", energy.area.dma},
            {"buses", energy.area.buses},
            {"memories", energy.area.memories()},
            {"total", energy.area.total()}}}};
}

Json losses_json(const MacLosses& losses) {
  Json made = Json::object();
  for (std::size_t i = 0; i < losses.size(); ++i) made[std::string(kMacLossNames[i])] = losses[i];
  return made;
}

Json helpers_json(const HelperCycles& helpers) {
  Json made = Json::object();
  for (std::size_t i = 0; i < helpers.size(); ++i)
    made[std::string(kHelperUnitNames[i])] = {{"busy", nth(helpers[i], Activity::kBusy)},
                                              {"stall_cycles", stalls_json(helpers[i])}};
  return made;
}

Json layer_json(const LayerResult& layer) {
  const Cycle conflicts = nth(layer.activity, Activity::kBankConflict);
  Json made{{"name", layer.name},
            {"op", layer.op},
            {"scene", layer.scene},
            {"layers", layer.layers},
            {"dataflow", layer.dataflow},
            {"cycles", layer.cycles},
            {"beats", layer.beats},
            {"bank_conflict_cycles", conflicts},
            {"stall_cycles", stalls_json(layer.activity)},
            {"macs", layer.macs},
            {"utilization", layer.utilization},
            {"bytes", bytes_json(layer.bytes)},
            {"bound_cycles",
             {{"compute", layer.bound.compute},
              {"beats", layer.bound.beats},
              {"dram", layer.bound.dram},
              {"port", layer.port.cycles}}},
            {"estimated_cycles", layer.estimated_cycles},
            {"facts", facts_json(layer.facts)},
            {"busiest", {{"module", layer.busiest}, {"share", layer.busiest_share}}},
            {"check", layer.check}};
  if (!layer.port.name.empty()) made["busiest_port"] = layer.port.name;
  if (layer.beats == 0) made["helpers"] = helpers_json(layer.helpers);
  made["energy_pj"] = energy_json(layer.energy);
  if (layer.losses) made["lost_macs"] = losses_json(*layer.losses);
  if (layer.quality)
    made["quality"] = {{"sqnr_db", layer.quality->sqnr_db}, {"cosine", layer.quality->cosine}};
  return made;
}

Json scenes_json(const std::vector<SceneResult>& scenes) {
  Json list = Json::array();
  for (const SceneResult& scene : scenes)
    list.push_back({{"name", scene.scene},
                    {"cycles", scene.cycles},
                    {"macs", scene.macs},
                    {"dram_read_bytes", scene.dram_read},
                    {"dram_write_bytes", scene.dram_write},
                    {"energy_pj", scene.picojoules},
                    {"limit", {{"bound", scene.limit}, {"cycles", scene.limited}}}});
  return list;
}

// Every key says that its number was not simulated.
Json extrapolated_json(const Extrapolated& run) {
  return {{"simulated_steps", run.simulated},
          {"steps", run.steps},
          {"largest_deviation", run.deviation},
          {"extrapolated_cycles", run.cycles},
          {"extrapolated_dram_read_bytes", run.dram_read},
          {"extrapolated_dram_write_bytes", run.dram_write},
          {"extrapolated_energy_pj", run.picojoules},
          {"extrapolated_last_step_cycles", run.last_step_cycles}};
}

Json host_layers_json(const std::vector<HostLayerResult>& layers) {
  Json list = Json::array();
  for (const HostLayerResult& layer : layers)
    list.push_back({{"name", layer.name},
                    {"op", layer.op},
                    {"read_bytes", layer.bytes.read},
                    {"written_bytes", layer.bytes.written},
                    {"check", layer.check}});
  return list;
}

Json graph_json(const std::vector<LayerInputs>& graph) {
  Json layers = Json::array();
  for (const LayerInputs& layer : graph)
    layers.push_back({{"name", layer.name}, {"op", layer.op}, {"inputs", layer.inputs}});
  return layers;
}

Json memory_json(const MemoryOverTime& over_time) {
  Json memories = Json::array();
  for (const HeldByMemory& memory : over_time.memories)
    memories.push_back({{"module", memory.module}, {"bytes", memory.bytes}, {"held_bytes", memory.held}});
  return {{"slice_cycles", over_time.slice_cycles}, {"memories", memories}};
}

Json module_json(const ModuleCycles& module) {
  Json::object_t made = object_of(5);
  made.emplace("name", module.name);
  made.emplace("clock", module.clock);
  made.emplace("cycles", module.cycles);
  made.emplace("busy", nth(module.activity, Activity::kBusy));
  made.emplace("stall_cycles", stalls_json(module.activity));
  return made;
}

Json counter_json(const Counter& counter) {
  Json::object_t made = object_of(4);
  made.emplace("module", counter.module);
  made.emplace("name", counter.name);
  made.emplace("value", counter.value);
  made.emplace("unit", counter.unit);
  return made;
}

// The report with empty lists of modules and counters.
Json frame_json(const RunResult& run, const Json& hardware) {
  Json report{{"tilebeat_report", kReportVersion},
              {"passed", run.passed()},
              {"workload", run.workload},
              {"hardware", run.hardware},
              {"dataflow", run.dataflow},
              {"peak_macs_per_clock", run.peak_macs_per_clock},
              {"total",
               {{"cycles", run.cycles},
                {"macs", run.macs},
                {"utilization", run.utilization},
                {"dram_read_bytes", run.bytes.dram_read},
                {"dram_write_bytes", run.bytes.dram_write},
                {"bytes", bytes_json(run.bytes)}}}};
  if (run.losses) report["total"]["lost_macs"] = losses_json(*run.losses);
  report["layers"] = Json::array();
  for (const LayerResult& layer : run.layers) report["layers"].push_back(layer_json(layer));
  if (const std::vector<SceneResult> scenes = scenes_of(run); !scenes.empty())
    report["scenes"] = scenes_json(scenes);
  if (run.extrapolated) report["extrapolated"] = extrapolated_json(*run.extrapolated);
  if (!run.host_layers.empty()) report["host_layers"] = host_layers_json(run.host_layers);
  if (!run.graph.empty()) report["graph"] = graph_json(run.graph);
  report["cores"] = Json::array();
  for (const CoreResult& core : run.core_results) {
    report["cores"].push_back({{"name", core.name},
                               {"macs", core.macs},
                               {"utilization", core.utilization},
                               {"busy", core.busy},
                               {"barrier", core.barrier},
                               {"peer", core.peer}});
  }
  report["modules"] = Json::array();
  report["counters"] = Json::array();
  if (!run.memory_over_time.memories.empty()) report["memory_over_time"] = memory_json(run.memory_over_time);
  report["energy"] = energy_json(run.energy);
  report["outputs"] = run.written;
  report["differences"] = Json::array();
  for (const CheckDifference& d : run.differences) {
    report["differences"].push_back({{"layer", d.layer},
                                     {"against", d.against},
                                     {"index", d.index},
                                     {"wanted", d.wanted},
                                     {"got", d.got}});
  }
  report["failures"] = run.failures;
  report["configuration"] = hardware;
  return report;
}

using Sink = std::function<void(std::string_view)>;

// Writes the elements of a list, which is empty in the frame, in the format of the JSON library.
template <class Elements, class ToJson>
void write_elements(const Elements& elements, const ToJson& to_json, const Sink& sink) {
  constexpr std::size_t kAtATime = 65536;  // bytes
  std::string text;
  for (const auto& element : elements) {
    text += text.empty() && &element == &elements.front() ? "\n  " : ",\n  ";
    const std::string own = to_json(element).dump(1);
    for (std::size_t at = 0; at < own.size();) {
      const std::size_t end = std::min(own.find('\n', at), own.size());
      text.append(own, at, end - at);
      if (end < own.size()) text += "\n  ";
      at = end + 1;
    }
    if (text.size() < kAtATime) continue;
    sink(text);
    text.clear();
  }
  sink(text);
  if (!elements.empty()) sink("\n ");
}

}  // namespace

void write_report(const RunResult& run, const Json& hardware, const Json& provenance, const Sink& sink) {
  Json frame = frame_json(run, hardware);
  if (!provenance.is_null()) frame["provenance"] = provenance;
  const std::string text = frame.dump(1) + "\n";
  // The report's own keys are indented by one blank, so each of these texts occurs exactly once.
  std::size_t written = 0;
  const auto write_list = [&](const std::string& key, const auto& elements, const auto& to_json) {
    const std::size_t end = text.find("\n \"" + key + "\": []") + key.size() + 7;
    sink(std::string_view(text).substr(written, end - written));
    write_elements(elements, to_json, sink);
    written = end;
  };
  write_list("modules", run.modules, module_json);
  write_list("counters", run.counters, counter_json);
  sink(std::string_view(text).substr(written));
}

}  // namespace tilebeat
