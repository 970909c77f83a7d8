#include "planner/language/mapping_file.h"

#include "schema/fields.h"
#include "schema/json_file.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

constexpr Range kParts{1, 1024};
constexpr Range kExtent{1, std::int64_t{1} << 20};
constexpr Range kBuffers{1, 64};
constexpr Range kLoads{0, 65536};

// An object with those fields of an engine that a mapping file may set for a layer.
struct ChoicesValue {
  const EngineDescription& engine;
  std::map<std::string, std::string>& choices;

  void read(const Json& json, const Place& place) {
    for (const auto& [key, value] : json.items()) {
      const auto& known = engine.layer_choices;
      if (std::find(known.begin(), known.end(), key) == known.end())
        place.fail(fmt::format("'{}' is not a choice of a layer, those are {}", key, fmt::join(known, ", ")));
    }
    engine.make()->read(json, place);
    choices[engine.key] = json.dump();
  }
  OrderedJson write() const {
    const auto found = choices.find(engine.key);
    return found == choices.end() ? OrderedJson() : OrderedJson::parse(found->second);
  }
  OrderedJson schema() const {
    OrderedJson schema = engine.make()->schema(), chosen = OrderedJson::object();
    for (const std::string& key : engine.layer_choices) {
      chosen[key] = schema.at("properties").at(key);
      chosen[key].erase("default");
    }
    schema["properties"] = std::move(chosen);
    return schema;
  }
};

// The value of `holdings`: a JSON object from tensor names to holdings.
struct HoldingsValue {
  std::map<std::string, Holding>& holdings;

  void read(const Json& json, const Place& place) {
    if (!json.is_object()) place.fail("expected an object");
    for (const auto& [tensor, value] : json.items()) {
      const auto found = value.is_string()
                             ? std::find(kHoldingNames.begin(), kHoldingNames.end(), value.get<std::string>())
                             : kHoldingNames.end();
      if (found == kHoldingNames.end())
        place.key(tensor).refuse(value.dump(), fmt::format("one of {}", fmt::join(kHoldingNames, ", ")));
      holdings[tensor] = static_cast<Holding>(found - kHoldingNames.begin());
    }
  }
  OrderedJson write() const {
    if (holdings.empty()) return {};
    OrderedJson json = OrderedJson::object();
    for (const auto& [tensor, holding] : holdings) json[tensor] = nth(kHoldingNames, holding);
    return json;
  }
  OrderedJson schema() const {
    return {{"type", "object"}, {"additionalProperties", {{"enum", kHoldingNames}}}};
  }
};

// The value of `reductions`: a JSON object from layer names to the number of cores of a reduction group.
struct ReductionsValue {
  std::map<std::string, int>& reductions;
  static constexpr Range kReductionGroup{2, 1024};

  void read(const Json& json, const Place& place) {
    if (!json.is_object()) place.fail("expected an object");
    for (const auto& [layer, value] : json.items()) {
      const bool allowed =
          value.is_number_integer() && value >= kReductionGroup.low && value <= kReductionGroup.high;
      if (!allowed)
        place.key(layer).refuse_value(value,
                                      fmt::format("{} to {}", kReductionGroup.low, kReductionGroup.high));
      reductions[layer] = value.get<int>();
    }
  }
  OrderedJson write() const {
    if (reductions.empty()) return {};
    OrderedJson json = OrderedJson::object();
    for (const auto& [layer, cores] : reductions) json[layer] = cores;
    return json;
  }
  OrderedJson schema() const {
    return {{"type", "object"},
            {"additionalProperties",
             {{"type", "integer"}, {"minimum", kReductionGroup.low}, {"maximum", kReductionGroup.high}}}};
  }
};

}  // namespace

template <class V>
void describe(V& v, GroupRequest& u) {
  v.required().names("layers", u.layers, {1, 65536}, "layers that run as one, in the workload's order");
  v.optional_integer("clusters", u.clusters, kParts, "clusters that share the output's rows");
  v.optional_integer("cores", u.cores, kParts, "cores of each of these clusters that work; left out: all");
  v.optional_integer("step_rows", u.step_rows, kExtent, "output rows that a cluster makes in a step");
  v.optional_integer(
      "step_columns", u.step_columns, kExtent,
      "columns of the output that a cluster makes at a time, in strips side by side; left out: all");
  v.optional_integer("step_maps", u.step_maps, kExtent,
                     "images of a batch that a cluster makes in a step, all rows of each; 1: rows of one");
  v.optional_choice("holding", u.holding, kHoldingNames,
                    "how tensors are held that `holdings` does not name");
  v.optional_choice("kernels", u.kernels, kGroupKernelsNames,
                    "whether all kernels stay in WRAM, or come anew in every step; left out: they stay");
  v.optional_choice("results", u.results, kResultPathNames,
                    "the way of the results to DRAM: from NRAM, or through the SRAM, where a step's are "
                    "collected; left out: as chip.dram_path says");
  v.renamed("kernels_ahead", "weight_prefetch"), v.renamed("kernels_during", "weight_prefetch_during");
  v.optional_integer("weight_prefetch", u.weight_prefetch, kLoads,
                     "loads of the group's kernels that are made while an earlier layer runs");
  v.optional_text("weight_prefetch_during", u.weight_prefetch_during,
                  "that layer, or the last one of a group; where it is left out, the one before");
  v.special("holdings", HoldingsValue{u.holdings}, "how single tensors are held, by name");
  v.special("reductions", ReductionsValue{u.reductions},
            "cores of a cluster that share the input channels of a layer and add up their sums, by layer");
}

template <class V>
void describe(V& v, MappingRequest& m) {
  v.required().name("layer", m.layer, "name of the layer");
  v.optional_text("engine", m.engine, "dataflow of the engine that computes it; the hardware must have it");
  for (const EngineDescription& engine : engine_descriptions()) {
    if (!engine.layer_choices.empty())
      v.special(engine.key, ChoicesValue{engine, m.engine_choices},
                "choices of the engine for the layer, instead of those of the hardware file");
  }
  v.optional_integer("row_parts", m.row_parts, kParts,
                     "parts of the output rows, one a reduction group of cores");
  v.optional_integer("column_parts", m.column_parts, kParts,
                     "parts of the output columns, one a reduction group");
  v.optional_integer("kernel_parts", m.kernel_parts, kParts,
                     "parts of the kernel blocks, one a reduction group");
  v.optional_integer(
      "group_parts", m.group_parts, kParts,
      "parts of the groups of a convolution, one a reduction group, which loads their channels alone");
  v.optional_integer("image_parts", m.image_parts, kParts,
                     "parts of the images of a batch, one a reduction group");
  v.optional_integer(
      "reduction_parts", m.reduction_parts, kParts,
      "cores of a reduction group: parts of the input channels, one a core, whose sums are added up");
  v.optional_integer("cores_per_cluster", m.cores_per_cluster, kParts,
                     "cores that work in each cluster; default: all");
  v.optional_integer("kernels_per_block", m.kernels_per_block, kExtent,
                     "kernels of a kernel block: a size that the engine offers for the layer");
  v.optional_integer("tile_rows", m.tile_rows, kExtent, "output rows of a full tile in NRAM");
  v.optional_integer("tile_columns", m.tile_columns, kExtent, "output columns of a full tile in NRAM");
  v.optional_integer("blocks_per_load", m.blocks_per_load, kExtent,
                     "kernel blocks that are loaded into WRAM together");
  v.optional_integer("channel_parts", m.channel_parts, kParts,
                     "parts of a core's input channels that are added up one after the other");
  v.optional_boolean("map_strips", m.map_strips,
                     "whether tiles that lie one below the other share a buffer and load common rows once");
  v.optional_integer("map_buffers", m.map_buffers, kBuffers, "buffers for tiles of the map in NRAM");
  v.optional_integer("kernel_buffers", m.kernel_buffers, kBuffers, "buffers for kernels in WRAM");
  v.renamed("kernels_ahead", "weight_prefetch"), v.renamed("kernels_during", "weight_prefetch_during");
  v.optional_integer("weight_prefetch", m.weight_prefetch, kLoads,
                     "loads of a core's kernels that are made while an earlier layer runs");
  v.optional_text("weight_prefetch_during", m.weight_prefetch_during,
                  "that layer; where it is left out, the one before");
  v.optional_choice("order", m.order, kStepOrderNames, "the outer loop over a core's steps");
  v.optional_choice("maps", m.maps, kDataPathNames, "how maps come from DRAM");
  v.optional_choice("kernels", m.kernels, kDataPathNames, "how kernels come from DRAM");
  v.optional_choice("results", m.results, kDataPathNames, "how results go to DRAM: direct or sram");
}

struct MappingFile {
  int version = kMappingVersion;
  std::vector<MappingRequest> layers;
  std::vector<GroupRequest> groups;
};

template <class V>
void describe(V& v, MappingFile& file) {
  v.required().integer("tilebeat_mapping", file.version, {kMappingVersion, kMappingVersion},
                       "version of the format");
  v.objects("layers", file.layers, {0, 65536}, "layers whose mapping is not the planner's choice alone");
  v.renamed("units", "groups");
  v.objects("groups", file.groups, {0, 65536}, "fusion groups; layers in none run by themselves");
}

namespace {

NetworkMapping checked_mapping(const nlohmann::json& json, const std::string& name) {
  MappingFile file;
  read_document(json, name, file);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < file.layers.size(); ++i) {
    const MappingRequest& request = file.layers[i];
    const Place place = Place(name).key("layers").item(i);
    if (!seen.insert(request.layer).second)
      place.key("layer").refuse(fmt::format("\"{}\"", request.layer), "every layer once");
    if (request.results && broadcasts(*request.results))
      place.key("results").refuse(fmt::format("\"{}\"", nth(kDataPathNames, *request.results)),
                                  "direct or sram");
  }
  seen.clear();
  for (std::size_t i = 0; i < file.groups.size(); ++i) {
    for (std::size_t k = 0; k < file.groups[i].layers.size(); ++k) {
      const std::string& layer = file.groups[i].layers[k];
      if (!seen.insert(layer).second)
        Place(name).key("groups").item(i).key("layers").item(k).refuse(fmt::format("\"{}\"", layer),
                                                                       "every layer in one group, once");
    }
  }
  return {name, std::move(file.layers), std::move(file.groups)};
}

}  // namespace

NetworkMapping load_mapping(const std::string& path) {
  return checked_mapping(read_json_file(path), path);
}

NetworkMapping parse_mapping(const std::string& text, const std::string& file) {
  return checked_mapping(parse_json(text, file), file);
}

HardwareConfig with_choices(const HardwareConfig& hardware, const MappingRequest& request,
                            const Place& place) {
  HardwareConfig chosen = hardware;
  for (std::size_t i = 0; i < chosen.engines.size(); ++i) {
    const EngineDescription& engine = engine_descriptions()[i];
    const auto found = request.engine_choices.find(engine.key);
    if (found == request.engine_choices.end()) continue;
    if (engine.dataflow != hardware.dataflow)
      place.key(engine.key).fail(fmt::format("the cores have the engine \"{}\"", hardware.dataflow));
    chosen.engines[i].read(Json::parse(found->second), place.key(engine.key));
    chosen.engines[i].check(chosen, place);
  }
  return chosen;
}

MappingRequest request_of(const LayerMapping& m) {
  MappingRequest request;
  request.layer = m.layer, request.engine = m.engine;
  for (const EngineDescription& engine : engine_descriptions()) {
    if (engine.dataflow == m.engine && !m.engine_choices.empty())
      request.engine_choices[engine.key] = m.engine_choices;
  }
  request.row_parts = m.row_parts, request.column_parts = m.column_parts;
  request.kernel_parts = m.kernel_parts, request.group_parts = m.group_parts;
  request.image_parts = m.image_parts;
  request.reduction_parts = m.reduction_parts;
  if (m.cores_per_cluster > 0) request.cores_per_cluster = m.cores_per_cluster;
  request.kernels_per_block = m.kernels_per_block;
  request.tile_rows = m.tile_rows, request.tile_columns = m.tile_columns;
  request.blocks_per_load = m.blocks_per_load, request.channel_parts = m.channel_parts;
  request.map_strips = m.map_strips;
  request.map_buffers = m.map_buffers, request.kernel_buffers = m.kernel_buffers;
  request.weight_prefetch = m.weight_prefetch;
  if (m.weight_prefetch > 0) request.weight_prefetch_during = m.weight_prefetch_during;
  request.order = m.order;
  request.maps = m.maps, request.kernels = m.kernels, request.results = m.results;
  return request;
}

std::string mapping_text(const std::vector<LayerMapping>& layers, const std::vector<GroupMapping>& groups) {
  MappingFile file;
  for (const LayerMapping& mapping : layers) file.layers.push_back(request_of(mapping));
  for (const GroupMapping& group : groups)
    file.groups.push_back(
        {group.layers,
         group.clusters,
         group.cores,
         group.step_rows,
         group.step_columns,
         group.step_maps,
         {},
         group.holdings,
         group.kernels == GroupKernels::kStreamed ? std::optional(group.kernels) : std::nullopt,
         group.results,
         group.reductions,
         group.weight_prefetch,
         group.weight_prefetch > 0 ? std::optional(group.weight_prefetch_during) : std::nullopt});
  return ObjectValue<MappingFile>{file}.write().dump(1) + "\n";
}

nlohmann::ordered_json mapping_schema() {
  MappingFile file;
  return schema_document(
      "Tilebeat mapping file",
      "What is computed where and when: `tilebeat plan --mapping FILE` writes it, `tilebeat run "
      "--mapping FILE` reads it. A field that is left out is the planner's choice.",
      ObjectValue<MappingFile>{file}.schema());
}

}  // namespace tilebeat
