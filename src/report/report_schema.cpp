#include "report/report.h"

#include <algorithm>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

using Json = nlohmann::ordered_json;

Json count(const std::string& description) {
  return {{"type", "integer"}, {"minimum", 0}, {"description", description}};
}
Json text(const std::string& description) {
  return {{"type", "string"}, {"description", description}};
}
Json share(const std::string& description) {
  return {{"type", "number"}, {"minimum", 0}, {"maximum", 1}, {"description", description}};
}
// All fields are required.
Json object(const std::string& description, const Json& properties) {
  Json names = Json::array();
  for (const auto& [key, value] : properties.items()) names.push_back(key);
  return {{"type", "object"},
          {"description", description},
          {"required", names},
          {"additionalProperties", false},
          {"properties", properties}};
}
Json list(const std::string& description, const Json& items) {
  return {{"type", "array"}, {"description", description}, {"items", items}};
}

Json stalls() {
  Json causes = Json::object();
  for (int i = 1; i < kActivityCount; ++i) {
    const auto activity = static_cast<Activity>(i);
    causes[std::string(activity_name(activity))] = {
        {"type", "integer"}, {"minimum", 1}, {"description", activity_meaning(activity)}};
  }
  return {{"type", "object"},
          {"additionalProperties", false},
          {"properties", causes},
          {"description", "cycles by cause; causes without cycles are left out"}};
}

Json bytes() {
  Json memories = Json::object();
  for (const auto& [name, meaning] :
       {std::pair("dram", "DRAM"), std::pair("input_buffer", "buffers of the engine for maps"),
        std::pair("parameter_buffer", "buffers of the engine for kernels"),
        std::pair("output_buffer", "buffers of the engine for results"),
        std::pair("nram", "a core's memory for maps and results"),
        std::pair("wram", "a core's memory for kernels"), std::pair("sram", "the memory of a cluster"),
        std::pair("bus", "interconnects on chip, each of them")})
    memories[name] = object(meaning, {{"read", count("bytes read")}, {"write", count("bytes written")}});
  Json bytes = object("bytes by memory, of all cores and clusters together", memories);
  // Optional: reports from before `bus` existed are valid as well.
  Json& required = bytes["required"];
  required.erase(std::find(required.begin(), required.end(), "bus"));
  return bytes;
}

Json amount(const std::string& description) {
  return {{"type", "number"}, {"minimum", 0}, {"description", description}};
}

// Energy in pJ by its parts.
Json energy_parts() {
  Json parts = Json::object();
  for (const EnergyPart& part : kEnergyParts)
    parts[std::string(part.name)] = amount("pJ: " + std::string(part.meaning));
  parts["total"] = amount("pJ: their sum");
  return object("energy by what it went into", parts);
}

Json energy() {
  return object(
      "energy and area by the technology of the configuration",
      {{"technology", text("its name")},
       {"pj", energy_parts()},
       {"modules",
        list("memories, ports of buses, DRAM channels and the multiply-accumulate units of cores that "
             "took some; what has no single module is in pj alone",
             object("a module", {{"name", text("path of the module")}, {"pj", amount("pJ of the run")}}))},
       {"watts", amount("mean power")},
       {"edp_joule_seconds", amount("energy times time")},
       {"area_mm2",
        object("area, without control and controllers of DRAM",
               {{"macs", amount("mm2 of multiply-accumulate units")},
                {"results", amount("mm2 of the result units of post-processing")},
                {"lanes", amount("mm2 of lanes of vector units")},
                {"buffers", amount("mm2 of the buffers of engines")},
                {"nram", amount("mm2 of memories for maps and results")},
                {"wram", amount("mm2 of memories for kernels")},
                {"sram", amount("mm2 of memories of clusters")},
                {"dma", amount("mm2 of landing buffers of the copy engines of cores and clusters")},
                {"buses", amount("mm2 of the ports of interconnects")},
                {"memories", amount("mm2 of buffers, nram, wram and sram")},
                {"total", amount("mm2 of all parts")}})}});
}

// Quality against the float network that the workload was quantised from; other layers have none.
Json quality() {
  return object("how well the output stands for the float network's",
                {{"sqnr_db", {{"type", "number"}, {"description", "signal to quantisation noise in dB"}}},
                 {"cosine",
                  {{"type", "number"},
                   {"minimum", -1.001},
                   {"maximum", 1.001},
                   {"description", "of the angle between the two"}}}});
}

// Absent for engines that do not count losses.
Json lost_macs() {
  return object(
      "multiply-accumulates that beats had room for and did not do: with macs they are the beats at the "
      "peak of an array",
      {{"no_pixel", count("of lanes, threads or lines without an output element")},
       {"no_kernel", count("of columns without a kernel")},
       {"no_channel", count("of outputs, with products that are none of the layer's: fill of channels, "
                            "other groups, inserted zeros")}});
}

// Layers that use the matrix arrays have none: their stall_cycles explain them.
Json helpers() {
  const auto unit = [](const char* what) {
    return object(what, {{"busy", count("cycles with work")}, {"stall_cycles", stalls()}});
  };
  return object("the units that work in a layer without multiply-accumulates, cycles of all of a kind",
                {{"vector", unit("the vector units")},
                 {"dma", unit("the DMA engines: busy while they send a write request")}});
}

Json layer() {
  Json layer = object(
      "a layer, or a fusion group",
      {{"name", text("of the layer, of a unit its last layer's")},
       {"op", text("operator of the workload, or \"fused\"")},
       {"scene", text("the part of the workload that it belongs to")},
       {"layers", list("of a unit, its layers of the workload", text("name"))},
       {"dataflow", text("the engine: \"dilated\", \"wfold\", \"rolling\" or \"offset\"")},
       {"cycles", count("from the completion of the layer before to its own")},
       {"beats", count("cycles in which PE arrays compute, of all cores together")},
       {"bank_conflict_cycles", count("of the arrays, because lanes read one bank more than once")},
       {"stall_cycles", stalls()},
       {"macs", count("useful multiply-accumulates")},
       {"utilization", share("macs / ((beats + stall_cycles) x the peak of one array)")},
       {"bytes", bytes()},
       {"bound_cycles", object("lower bounds: the layer cannot be faster",
                               {{"compute", count("its multiply-accumulates at the peak of all arrays")},
                                {"beats", count("the beats of its runs, spread evenly over all arrays")},
                                {"dram", count("its tensors over DRAM at the peak bandwidth")}})},
       {"estimated_cycles", count("what the planner expected")},
       {"facts", list("what the engine tells of the layer",
                      object("a fact", {{"name", text("what it is about")}, {"text", text("in words")}}))},
       {"busiest", object("the module that was busy for the largest share of its own cycles",
                          {{"module", text("name, as in modules[]")}, {"share", share("of its cycles")}})},
       {"check", {{"enum", {"passed", "failed", "off"}}, {"description", "output against the reference"}}}});
  // Optional: reports from before they existed are valid as well.
  layer["properties"]["bound_cycles"]["properties"]["port"] =
      count("beats on the port, bus or link that had most: all bytes that it carried, at its width");
  layer["properties"]["busiest_port"] = text("that port and the direction, of a bus, a link or a memory");
  layer["properties"]["helpers"] = helpers();
  layer["properties"]["energy_pj"] = energy_parts();
  layer["properties"]["quality"] = quality();
  layer["properties"]["lost_macs"] = lost_macs();
  return layer;
}

// The origin of a report; version and revision may differ between builds that give the same results.
Json provenance() {
  Json run = object("options that the results follow from, as typed; those that were not given are left out",
                    {{"config", text("--config")},
                     {"layer", text("--layer")},
                     {"program", text("--program")},
                     {"mapping", text("--mapping")},
                     {"uninitialised", text("--uninitialised")},
                     {"tables", text("--tables")},
                     {"extrapolate", text("--extrapolate")},
                     {"check", text("--check")},
                     {"inputs", list("--input", text("NAME=FILE"))},
                     {"faults", list("--fault", text("a broken cell"))}});
  run["required"] = {"config"};
  Json file = object("a file", {{"file", text("path as typed, or as another file names it")},
                                {"sha256", text("of its bytes; left out where it is no regular file")}});
  file["required"] = {"file"};
  const Json output =
      object("a tensor", {{"name", text("its layer")}, {"sha256", text("of the file's bytes")}});
  Json all = object(
      "where the report comes from",
      {{"version", text("of tilebeat")},
       {"revision", text("of its sources")},
       {"run", run},
       {"inputs", list("files that the run read", file)},
       {"plan",
        {{"enum", {"made", "kept"}},
         {"description", "with --plan-cache: whether the plan was made for this run, or kept before"}}},
       {"outputs", list("tensors that the run wrote", output)},
       {"digest", text("SHA-256 of the report's text with zeros in this place")}});
  all["required"] = {"version", "revision", "run", "inputs"};  // earlier reports have no more
  return all;
}

Json total() {
  Json total = object("the whole run", {{"cycles", count("until the last layer is complete")},
                                        {"macs", count("useful multiply-accumulates")},
                                        {"utilization", share("macs / (cycles x peak_macs_per_clock)")},
                                        {"dram_read_bytes", count("bytes read from DRAM")},
                                        {"dram_write_bytes", count("bytes written to DRAM")},
                                        {"bytes", bytes()}});
  total["properties"]["lost_macs"] = lost_macs();
  return total;
}

Json memory_over_time() {
  return object(
      "of a chip, bytes that on-chip memories hold in at most 64 slices of the run",
      {{"slice_cycles", {{"type", "integer"}, {"minimum", 1}, {"description", "length of a slice"}}},
       {"memories",
        list("those that held anything",
             object("a memory",
                    {{"module", text("path of the memory")},
                     {"bytes", count("bytes that it has")},
                     {"held_bytes", list("by slice", count("bytes that are held at any time of "
                                                           "the slice, by lines of the memory"))}}))}});
}

Json scenes() {
  return list(
      "of a run of several programs, the sums over the layers of each; a step of a workload is one",
      object("a scene",
             {{"name", text("as in `scene` of its layers")},
              {"cycles", count("of its layers")},
              {"macs", count("useful multiply-accumulates")},
              {"dram_read_bytes", count("bytes read from DRAM")},
              {"dram_write_bytes", count("bytes written to DRAM")},
              {"energy_pj", amount("energy in pJ")},
              {"limit", object("the kind of lower bound whose layers take most of its cycles",
                               {{"bound",
                                 {{"enum", {"compute", "beats", "dram", "port"}},
                                  {"description", "the largest of bound_cycles of each of these layers"}}},
                                {"cycles", count("of these layers")}})}}));
}

Json extrapolated() {
  return object(
      "with --extrapolate, what a run of all steps would come to: by the line "
      "that fits those of this run best, not simulated",
      {{"simulated_steps", count("the steps of this run")},
       {"steps", count("of the workload")},
       {"largest_deviation", amount("of the cycles of a step of this run from the line, as a share of them")},
       {"extrapolated_cycles", count("of all layers and steps")},
       {"extrapolated_dram_read_bytes", count("of all layers and steps")},
       {"extrapolated_dram_write_bytes", count("of all layers and steps")},
       {"extrapolated_energy_pj", amount("pJ of all layers and steps")},
       {"extrapolated_last_step_cycles", count("of the last step")}});
}

Json fields() {
  return {
      {"tilebeat_report", {{"const", kReportVersion}, {"description", "version of this schema"}}},
      {"passed", {{"type", "boolean"}, {"description", "no difference and no failure"}}},
      {"workload", text("its name")},
      {"hardware", text("its name")},
      {"dataflow", text("the engine of the hardware")},
      {"peak_macs_per_clock", count("multiply-accumulates of all arrays in a cycle")},
      {"total", total()},
      {"layers", list("in the order of their completion", layer())},
      {"scenes", scenes()},
      {"extrapolated", extrapolated()},
      {"host_layers",
       list("computed by the host in float32: in no cycles of the chip, and none of its transfers",
            object("a layer", {{"name", text("of the layer")},
                               {"op", text("operator of the workload")},
                               {"read_bytes", count("bytes of DRAM that the host reads")},
                               {"written_bytes", count("bytes of DRAM that the host writes")},
                               {"check",
                                {{"enum", {"passed", "failed", "off"}},
                                 {"description", "output against an expected file; without one off"}}}}))},
      {"graph",
       list("the layers of the workload, each behind those that it reads; programs by hand have none",
            object(
                "a layer",
                {{"name", text("its name; layers[] has it, or has it in `layers`, or host_layers[] has it")},
                 {"op", text("operator")},
                 {"inputs", list("layers and inputs of the workload that it reads", text("name"))}}))},
      {"cores", list("of a chip", object("a core", {{"name", text("clusterK.coreI")},
                                                    {"macs", count("useful multiply-accumulates")},
                                                    {"utilization", share("of the core's own peak")},
                                                    {"busy", count("cycles in which its PE array computes")},
                                                    {"barrier", count("cycles that it waited at barriers")},
                                                    {"peer", count("cycles that it waited for signals")}}))},
      {"modules",
       list("every module", object("a module: busy and stall_cycles sum to cycles",
                                   {{"name", text("path of the module")},
                                    {"clock",
                                     {{"enum", {"npu", "dram"}},
                                      {"description", "the clock that its cycles are counted in"}}},
                                    {"cycles", count("of the run")},
                                    {"busy", count("cycles of useful work")},
                                    {"stall_cycles", stalls()}}))},
      {"counters",
       list("what modules count", object("a counter", {{"module", text("path of the module")},
                                                       {"name", text("what is counted")},
                                                       {"value", count("the count")},
                                                       {"unit", text("what it is counted in")}}))},
      {"memory_over_time", memory_over_time()},
      {"energy", energy()},
      {"outputs", list("layers whose outputs are in the folder outputs", text("name"))},
      {"differences",
       list("the first element that is wrong of each wrong tensor",
            object("a difference", {{"layer", text("name")},
                                    {"against", text("what the output was compared with")},
                                    {"index", list("of the element, by axis", count("from 0 on"))},
                                    {"wanted", {{"type", "integer"}, {"description", "value that is right"}}},
                                    {"got", {{"type", "integer"}, {"description", "value of the run"}}}}))},
      {"failures", list("errors of the simulation, broken invariants, cycles other than the workload expects",
                        text("a message"))},
      {"configuration", {{"type", "object"}, {"description", "the effective hardware configuration"}}},
      {"provenance", provenance()}};
}

}  // namespace

nlohmann::ordered_json report_schema() {
  Json schema = object("What a run measured, written as report.json.", fields());
  // Optional: files of this version from before these existed are valid as well.
  for (const char* later : {"outputs", "provenance", "energy", "graph", "memory_over_time", "host_layers",
                            "scenes", "extrapolated"})
    schema["required"].erase(std::find(schema["required"].begin(), schema["required"].end(), later));
  Json result{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "tilebeat report"}};
  result.update(schema);
  return result;
}

}  // namespace tilebeat
