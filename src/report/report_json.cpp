#include "tilebeat/report/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

using Json = nlohmann::ordered_json;

Json stalls_json(const ActivityCycles& cycles) {
  Json stalls = Json::object();
  for (int i = 0; i < kActivityCount; ++i) {
    const auto activity = static_cast<Activity>(i);
    const Cycle count = cycles[static_cast<std::size_t>(i)];
    if (activity != Activity::kBusy && count != 0) stalls[std::string(activity_name(activity))] = count;
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
          {"sram", {{"read", b.sram_read}, {"write", b.sram_write}}}};
}

Json facts_json(const std::vector<std::pair<std::string, std::string>>& facts) {
  Json list = Json::array();
  for (const auto& [name, text] : facts) list.push_back({{"name", name}, {"text", text}});
  return list;
}

Json layer_json(const LayerResult& layer) {
  const Cycle conflicts = layer.activity[static_cast<std::size_t>(Activity::kBankConflict)];
  return {{"name", layer.name},
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
           {{"compute", layer.bound.compute}, {"beats", layer.bound.beats}, {"dram", layer.bound.dram}}},
          {"estimated_cycles", layer.estimated_cycles},
          {"facts", facts_json(layer.facts)},
          {"busiest", {{"module", layer.busiest}, {"share", layer.busiest_share}}},
          {"check", layer.check}};
}

}  // namespace

nlohmann::ordered_json report_json(const RunResult& run, const nlohmann::ordered_json& hardware) {
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
  report["layers"] = Json::array();
  for (const LayerResult& layer : run.layers) report["layers"].push_back(layer_json(layer));
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
  for (const ModuleCycles& module : run.modules) {
    report["modules"].push_back({{"name", module.name},
                                 {"clock", module.clock},
                                 {"cycles", module.cycles},
                                 {"busy", module.activity[static_cast<std::size_t>(Activity::kBusy)]},
                                 {"stall_cycles", stalls_json(module.activity)}});
  }
  report["counters"] = Json::array();
  for (const Counter& counter : run.counters) {
    report["counters"].push_back({{"module", counter.module},
                                  {"name", counter.name},
                                  {"value", counter.value},
                                  {"unit", counter.unit}});
  }
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

nlohmann::ordered_json report_schema() {
  const Json count{{"type", "integer"}, {"minimum", 0}};
  const Json text{{"type", "string"}};
  const auto object = [](const Json& properties) {
    Json names = Json::array();
    for (const auto& [key, value] : properties.items()) names.push_back(key);
    return Json{
        {"type", "object"}, {"required", names}, {"additionalProperties", false}, {"properties", properties}};
  };
  const auto list = [](const Json& items) { return Json{{"type", "array"}, {"items", items}}; };
  Json causes = Json::object();
  for (int i = 1; i < kActivityCount; ++i) {
    const auto activity = static_cast<Activity>(i);
    causes[std::string(activity_name(activity))] = {
        {"type", "integer"}, {"minimum", 1}, {"description", activity_meaning(activity)}};
  }
  const Json stalls{{"type", "object"},
                    {"additionalProperties", false},
                    {"properties", causes},
                    {"description", "cycles by cause; causes without cycles are left out"}};
  const Json traffic = object({{"read", count}, {"write", count}});
  const Json bytes = object({{"dram", traffic},
                             {"input_buffer", traffic},
                             {"parameter_buffer", traffic},
                             {"output_buffer", traffic},
                             {"nram", traffic},
                             {"wram", traffic},
                             {"sram", traffic}});
  const Json share{{"type", "number"}, {"minimum", 0}, {"maximum", 1}};
  const Json layer =
      object({{"name", text},
              {"op", text},
              {"scene", text},
              {"layers", list(text)},
              {"dataflow", text},
              {"cycles", count},
              {"beats", count},
              {"bank_conflict_cycles", count},
              {"stall_cycles", stalls},
              {"macs", count},
              {"utilization", share},
              {"bytes", bytes},
              {"bound_cycles", object({{"compute", count}, {"beats", count}, {"dram", count}})},
              {"estimated_cycles", count},
              {"facts", list(object({{"name", text}, {"text", text}}))},
              {"busiest", object({{"module", text}, {"share", share}})},
              {"check", {{"enum", {"passed", "failed", "off"}}}}});
  Json schema = object(
      {{"tilebeat_report", {{"const", kReportVersion}}},
       {"passed", {{"type", "boolean"}}},
       {"workload", text},
       {"hardware", text},
       {"dataflow", text},
       {"peak_macs_per_clock", count},
       {"total", object({{"cycles", count},
                         {"macs", count},
                         {"utilization", share},
                         {"dram_read_bytes", count},
                         {"dram_write_bytes", count},
                         {"bytes", bytes}})},
       {"layers", list(layer)},
       {"cores", list(object({{"name", text},
                              {"macs", count},
                              {"utilization", share},
                              {"busy", count},
                              {"barrier", count},
                              {"peer", count}}))},
       {"modules", list(object({{"name", text},
                                {"clock", {{"enum", {"npu", "dram"}}}},
                                {"cycles", count},
                                {"busy", count},
                                {"stall_cycles", stalls}}))},
       {"counters", list(object({{"module", text}, {"name", text}, {"value", count}, {"unit", text}}))},
       {"outputs", list(text)},
       {"differences", list(object({{"layer", text},
                                    {"against", text},
                                    {"index", list(count)},
                                    {"wanted", {{"type", "integer"}}},
                                    {"got", {{"type", "integer"}}}}))},
       {"failures", list(text)},
       {"configuration", {{"type", "object"}, {"description", "the effective hardware configuration"}}}});
  // Files of this version from before there was `outputs` are reports as well.
  schema["required"].erase(std::find(schema["required"].begin(), schema["required"].end(), "outputs"));
  Json result{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "tilebeat report"}};
  result.update(schema);
  return result;
}

}  // namespace tilebeat
