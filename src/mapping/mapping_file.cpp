#include "tilebeat/mapping/mapping_file.h"

#include "tilebeat/schema/fields.h"
#include "tilebeat/schema/json_file.h"

#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

constexpr Range kParts{1, 1024};
constexpr Range kExtent{1, std::int64_t{1} << 20};
constexpr Range kBuffers{1, 64};

}  // namespace

template <class V>
void describe(V& v, MappingRequest& m) {
  v.required().name("layer", m.layer, "name of the layer");
  v.optional_text("engine", m.engine, "dataflow of the engine that computes it; the hardware must have it");
  v.optional_integer("row_parts", m.row_parts, kParts, "parts of the output rows, one a core");
  v.optional_integer("column_parts", m.column_parts, kParts, "parts of the output columns, one a core");
  v.optional_integer("kernel_parts", m.kernel_parts, kParts, "parts of the kernel blocks, one a core");
  v.optional_integer("image_parts", m.image_parts, kParts, "parts of the images of a batch, one a core");
  v.optional_integer("kernels_per_block", m.kernels_per_block, kExtent,
                     "kernels of a kernel block: a size that the engine offers for the layer");
  v.optional_integer("tile_rows", m.tile_rows, kExtent, "output rows of a full tile in NRAM");
  v.optional_integer("tile_columns", m.tile_columns, kExtent, "output columns of a full tile in NRAM");
  v.optional_integer("blocks_per_load", m.blocks_per_load, kExtent,
                     "kernel blocks that are loaded into WRAM together");
  v.optional_integer("channel_parts", m.channel_parts, kParts,
                     "parts of the input channels that are added up one after the other");
  v.optional_integer("map_buffers", m.map_buffers, kBuffers, "buffers for tiles of the map in NRAM");
  v.optional_integer("kernel_buffers", m.kernel_buffers, kBuffers, "buffers for kernels in WRAM");
  v.optional_choice("order", m.order, kStepOrderNames, "the outer loop over a core's steps");
  v.optional_choice("maps", m.maps, kDataPathNames, "how maps come from DRAM: direct or sram");
  v.optional_choice("kernels", m.kernels, kDataPathNames, "how kernels come from DRAM");
  v.optional_choice("results", m.results, kDataPathNames, "how results go to DRAM: direct or sram");
}

struct MappingFile {
  int version = kMappingVersion;
  std::vector<MappingRequest> layers;
};

template <class V>
void describe(V& v, MappingFile& file) {
  v.required().integer("tilebeat_mapping", file.version, {kMappingVersion, kMappingVersion},
                       "version of the format");
  v.objects("layers", file.layers, {0, 65536}, "layers whose mapping is not the planner's choice alone");
}

NetworkMapping load_mapping(const std::string& path) {
  MappingFile file;
  read_document(read_json_file(path), path, file);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < file.layers.size(); ++i) {
    const MappingRequest& request = file.layers[i];
    const Place place = Place(path).key("layers").item(i);
    if (!seen.insert(request.layer).second)
      place.key("layer").refuse(fmt::format("\"{}\"", request.layer), "every layer once");
    for (const auto& [key, value] :
         {std::pair("maps", request.maps), std::pair("results", request.results)}) {
      if (value == DataPath::kBroadcast) place.key(key).refuse("\"broadcast\"", "direct or sram");
    }
  }
  return {path, std::move(file.layers)};
}

MappingRequest request_of(const LayerMapping& m) {
  return {m.layer,
          m.engine,
          m.row_parts,
          m.column_parts,
          m.kernel_parts,
          m.image_parts,
          m.kernels_per_block,
          m.tile_rows,
          m.tile_columns,
          m.blocks_per_load,
          m.channel_parts,
          m.map_buffers,
          m.kernel_buffers,
          m.order,
          m.maps,
          m.kernels,
          m.results};
}

std::string mapping_text(const std::vector<LayerMapping>& mappings) {
  MappingFile file;
  for (const LayerMapping& mapping : mappings) file.layers.push_back(request_of(mapping));
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
