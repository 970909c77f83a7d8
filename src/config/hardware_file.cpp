
#include "base/types.h"
#include "config/engine_config_of.h"
#include "config/hardware_config.h"
#include "schema/fields.h"
#include "schema/json_file.h"
#include "schema/place.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace tilebeat {

// Every field of a hardware file, declared once: key, range, meaning with unit.

/// Periods of 100 ps to 1 us.
constexpr Bounds kClockMhz{1.0, 10000.0};
constexpr Bounds kEnergy{0.0, 1e9};
constexpr Range kCycles{0, 1024};
constexpr Range kDramPicoseconds{0, 1000000};
constexpr Range kTileExtent{0, std::int64_t{1} << 20};

/// The name of an engine.
struct EngineNameValue {
  std::string& name;

  static std::vector<std::string> allowed() {
    std::vector<std::string> names;
    for (const EngineDescription& engine : engine_descriptions()) names.emplace_back(engine.dataflow);
    return names;
  }
  void read(const Json& json, const Place& place) { name = allowed()[read_choice(json, place, allowed())]; }
  OrderedJson write() const { return name; }
  OrderedJson schema() const { return {{"enum", allowed()}}; }
};

/// The object of an engine in the file.
struct EngineValue {
  EngineConfig& engine;

  void read(const Json& json, const Place& place) { engine.read(json, place); }
  OrderedJson write() const { return engine.write(); }
  OrderedJson schema() const { return engine.schema(); }
};

template <class V>
void describe(V& v, DmaConfig& c) {
  v.integer("burst_bytes", c.burst_bytes, {1, 4096},
            "longest burst in bytes, a power of two and a multiple of interconnect.bytes_per_clock; none "
            "crosses a multiple of 4096");
  v.integer("max_outstanding", c.max_outstanding, {1, 1024}, "bursts under way at a time, a channel");
  v.integer("buffer_bytes", c.buffer_bytes, {1, 1 << 24},
            "bytes of the landing buffer of a channel; holds at least one burst");
  v.integer("command_queue", c.command_queue, {1, 1024}, "commands that wait in front of a unit");
}

template <class V>
void describe(V& v, InterconnectConfig& c) {
  v.integer("bytes_per_clock", c.bytes_per_clock, {1, 128}, "width of every port in bytes, a power of two");
  v.integer("request_cycles", c.request_cycles, {1, 1024},
            "cycles from the grant of a request to its arrival at the target");
  v.integer("response_cycles", c.response_cycles, {1, 1024},
            "cycles from the target's answer to the first beat at the initiator");
  v.integer("max_outstanding", c.max_outstanding, {1, 1024}, "bursts under way at a time, an initiator port");
}

template <class V>
void describe(V& v, DramConfig& c) {
  v.choice("preset", c.preset, kDramPresetNames,
           "values of all other fields of this object, unless named here");
  if (v.reading()) c = dram_preset(c.preset);
  v.choice("mapping", c.mapping, kAddressMappingNames, "the parts of an address, most significant first");
  v.integer("channels", c.channels, {1, 64}, "independent channels, a power of two");
  v.integer("banks", c.banks, {1, 64}, "banks a channel, a power of two");
  v.integer("bank_groups", c.bank_groups, {1, 64},
            "groups of a channel's banks, a power of two, at most banks: bank b is in group b % bank_groups");
  v.integer("row_bytes", c.row_bytes, {16, 1 << 20},
            "payload bytes of one open row of one bank, a power of two");
  v.integer("data_bits", c.data_bits, {8, 512}, "payload bits of a channel's data bus, a power of two");
  v.integer(
      "ecc_bits", c.ecc_bits, {0, 128},
      "bits of a channel's data bus that carry no payload; where there are any, a burst that is written in "
      "part is read first");
  v.integer("burst_length", c.burst_length, {2, 64}, "transfers of one burst, a power of two");
  v.integer("transfers_per_clock", c.transfers_per_clock, {1, 16},
            "transfers on the data bus in a cycle of the DRAM's clock, a power of two");
  v.integer("clock_ps", c.clock_ps, {100, 1000000}, "period of the DRAM's command clock in ps");
  v.integer("tRCD_ps", c.tRCD_ps, kDramPicoseconds, "ps from activating a row to the first read or write");
  v.integer("tRP_ps", c.tRP_ps, kDramPicoseconds, "ps to close a row");
  v.integer("tCL_ps", c.tCL_ps, kDramPicoseconds, "ps from a read command to its first data");
  v.integer("tCWL_ps", c.tCWL_ps, kDramPicoseconds, "ps from a write command to its first data");
  v.integer("tRAS_ps", c.tRAS_ps, kDramPicoseconds, "least ps from activating a row to closing it");
  v.integer("tCCD_ps", c.tCCD_ps, kDramPicoseconds,
            "least ps between two reads, or two writes, of different bank groups (tCCD_S)");
  v.integer("tCCD_L_ps", c.tCCD_L_ps, kDramPicoseconds, "least ps between two reads of one bank group");
  v.integer("tCCD_L_WR_ps", c.tCCD_L_WR_ps, kDramPicoseconds,
            "least ps between two writes of one bank group");
  v.integer("tRRD_ps", c.tRRD_ps, kDramPicoseconds,
            "least ps between activating rows of different bank groups (tRRD_S)");
  v.integer("tRRD_L_ps", c.tRRD_L_ps, kDramPicoseconds, "least ps between activating rows of one bank group");
  v.integer("tFAW_ps", c.tFAW_ps, kDramPicoseconds, "ps in which at most four rows are activated");
  v.integer("tWR_ps", c.tWR_ps, kDramPicoseconds, "ps from the last data of a write to closing its row");
  v.integer("tWTR_ps", c.tWTR_ps, kDramPicoseconds,
            "ps from the last data of a write to a read of another bank group (tWTR_S)");
  v.integer("tWTR_L_ps", c.tWTR_L_ps, kDramPicoseconds,
            "ps from the last data of a write to a read of the same bank group");
  v.integer("tRTP_ps", c.tRTP_ps, kDramPicoseconds, "ps from a read to closing its row");
  v.integer("tREFI_ps", c.tREFI_ps, {10000, 1000000000},
            "ps between two refreshes; longer than it takes to close a row, refresh, and serve a burst");
  v.integer("tRFC_ps", c.tRFC_ps, {0, 10000000}, "ps of one refresh, less than tREFI_ps");
  v.boolean("refresh", c.refresh, "false: the DRAM is never refreshed");
  v.integer("port_bytes_per_clock", c.port_bytes_per_clock, {1, 1024},
            "bytes that the port of a controller takes and gives in an NPU cycle, a channel, a power of two");
  v.integer("queue_depth", c.queue_depth, {1, 4096}, "bursts that a channel's scheduler chooses from");
  v.integer("starvation_cap", c.starvation_cap, {0, 65536},
            "row hits that may overtake the oldest request before it is served");
  v.integer("size_bytes", c.size_bytes, {1 << 20, std::int64_t{1} << 40},
            "payload bytes in all, a power of two");
}

template <class V>
void describe(V& v, HostConfig& c) {
  v.integer("register_write_cycles", c.register_write_cycles, {1, 1000000},
            "cycles between two register writes");
  v.choice("start", c.start, kHostStartNames,
           "each: the host starts the processors of a chip one after the other; table: the chip has a start "
           "unit that reads a table of programs and starts all of them");
  v.integer("instruction_buffer_bytes", c.instruction_buffer_bytes, {64, 1 << 24},
            "bytes of the buffer that instructions are fetched into");
}

template <class V>
void describe(V& v, PlannerConfig& c) {
  v.boolean("zero_inserted", c.zero_inserted,
            "run dilated kernels as larger dense ones filled with zeros: the baseline of document 000");
  v.choice(
      "loop_order", c.loop_order, kLoopOrderNames,
      "outer loop over tiles or over kernel blocks; auto tries both and takes, of all tilings that are "
      "expected "
      "to take at most 2 % longer than the fastest, the one that moves the fewest bytes on the DRAM bus");
  v.integer(
      "max_tile_rows", c.max_tile_rows, kTileExtent,
      "most output rows a tile, rounded down to a multiple of switch_array.groups but at least that many; 0: "
      "as many as fit");
  v.integer(
      "max_tile_columns", c.max_tile_columns, kTileExtent,
      "most output columns a tile, rounded down to a multiple of the lanes (rows / groups) but at least that "
      "many; 0: as many as fit");
  v.renamed("kernels_ahead", "weight_prefetch");
  v.boolean("weight_prefetch", c.weight_prefetch,
            "load the first kernels of a layer while an earlier one runs, where that is expected to pay; "
            "on chips");
  v.optional_integer(
      "search", c.search, {0, 1000},
      "mappings of each layer that are simulated in tile granularity to find the fastest, those with the "
      "best estimates; 0: the estimate decides. On chips. Default: 8 of a layer by itself that is expected "
      "to take up to 20,000 cycles, else 0");
  v.boolean("append_in_place", c.append_in_place,
            "concats along another axis than the last one write their other operands behind the first one, "
            "where that one lies, as in a cache of keys and values; false: they copy it. On chips");
  v.choice(
      "map_layout", c.map_layout, kMapLayoutNames,
      "how maps lie in DRAM; DMA engines bring them into the order in which a unit reads them. On chips");
  v.integer("map_block_channels", c.map_block_channels, {1, 65535},
            "channels of a block of maps in DRAM, for nchwc");
}

template <class V>
void describe(V& v, MemoryConfig& c) {
  v.integer(
      "size_bytes", c.size_bytes, {0, std::int64_t{1} << 30},
      "bytes, a multiple of banks x bank_bytes; 0 for the SRAM: cores_per_cluster x nram.size_bytes, rounded "
      "up to that");
  v.integer("banks", c.banks, {1, 256},
            "banks with one port each; consecutive words lie in consecutive banks");
  v.integer("bank_bytes", c.bank_bytes, {1, 256},
            "width of a bank in bytes, a power of two that divides the bus's width");
  v.integer("latency_cycles", c.latency_cycles, kCycles,
            "cycles from the arrival of a request to its first word");
  v.integer("request_queue", c.request_queue, {1, 1024}, "requests that the memory holds at a time");
}

template <class V>
void describe(V& v, VectorConfig& c) {
  v.integer("lanes", c.lanes, {1, 4096}, "elements of one operation a cycle");
  v.integer("latency_cycles", c.latency_cycles, kCycles,
            "cycles from the last operand of a result to the result");
  v.integer("parameter_bytes", c.parameter_bytes, {4096, 1 << 24},
            "bytes of tables and factors of one operation");
  v.integer("row_elements", c.row_elements, {64, 1 << 20},
            "longest channel vector of a softmax and of a pooling");
}

template <class V>
void describe(V& v, CoreConfig& c) {
  v.object("nram", c.nram, "memory for maps and intermediates");
  v.object("wram", c.wram, "memory for kernels");
  v.object("bus", c.bus, "the bus that joins the core's units to NRAM and WRAM");
  v.object("copy", c.copy, "IODMA and MVDMA");
  v.choice("stores", c.stores, kStoreOrderNames,
           "when results go to DRAM: behind the loads of IODMA, in one queue, or between their bursts, by an "
           "IODMA for stores with a queue, a landing buffer and ports of its own");
  v.integer(
      "weight_scales", c.weight_scales, {16, 65536},
      "scales and zero points of packed kernels that a port of the matrix engine holds (chip.decompress: "
      "read)");
  v.object("vector", c.vector, "the vector unit");
}

template <class V>
void describe(V& v, ChipConfig& c) {
  v.integer("clusters", c.clusters, {1, 64}, "clusters");
  v.integer("cores_per_cluster", c.cores_per_cluster, {1, 16}, "cores of a cluster");
  v.integer("memory_controllers", c.memory_controllers, {1, 16},
            "DRAM controllers, each with dram.channels channels; addresses alternate between them every 4096 "
            "bytes");
  v.object("core", c.core, "a core");
  v.object("sram", c.sram, "the shared memory of a cluster");
  v.object("cluster_bus", c.cluster_bus, "the bus between SRAM and cores, with broadcast");
  v.object("cluster_link", c.cluster_link, "the links between clusters that CDMA uses");
  v.object("copy", c.copy, "GDMA, CDMA and broadcast");
  v.boolean("merged_dma", c.merged_dma,
            "one DMA engine in the memory core does what GDMA, CDMA and the broadcast's engine do");
  v.integer(
      "scalar_lanes", c.scalar_lanes, {0, 16},
      "elements that a memory core's scalar unit adds, subtracts or multiplies a cycle; 0: it has none");
  v.integer("sync_cycles", c.sync_cycles, {1, 1024},
            "cycles of a signal between processors, and of a barrier's release");
  v.choice("dram_path", c.dram_path, kDramPathNames,
           "how data comes from DRAM to a core: direct by IODMA, through the SRAM by GDMA and broadcast, or "
           "as planned");
  v.integer("decode_bytes_per_clock", c.decode_bytes_per_clock, {0, 128},
            "bytes of int4 or uint4 weights a clock that the decoder of a DMA engine in front of WRAM takes; "
            "0: there is "
            "none, such weights are refused");
  v.choice(
      "decompress", c.decompress, kDecompressNames,
      "where int4 and uint4 weights become int8: in DMA engines on their way into WRAM, or where the matrix "
      "engine reads WRAM, which then holds them packed where their groups follow a pattern");
}

template <class V>
void describe(V& v, FusionConfig& c) {
  v.choice("planner", c.planner, kFusionPlannerNames,
           "chooses the units: by the rules of document 001, or those that take least");
  v.choice("objective", c.objective, kFusionObjectiveNames, "what the optimal planner makes least");
  v.choice("start", c.start, kStartRuleNames, "the layer that a unit begins with, of those in no unit");
  v.choice("direction", c.direction, kFusionDirectionNames,
           "where a unit grows from there: forward (rule 1), or toward the input first (rule 2)");
  v.integers("rules_off", c.rules_off, {4, 19}, {0, 16}, "rules of document 001 that do not apply");
  v.integer("least_main_layers", c.least_main_layers, {1, 64},
            "products, convolutions and poolings of a unit (rule 5)");
  v.integer("redundancy_percent", c.redundancy_percent, {0, 10000},
            "bytes that may be loaded on top because unit maps overlap (rule 11)");
  v.boolean("share_in_and_out", c.share_in_and_out,
            "a unit map and its result use the same places (rule 12)");
  v.integer("most_maps", c.most_maps, {1, 1024}, "maps at a time (rule 18)");
  v.integer("stride_redundancy", c.stride_redundancy, {0, 1024},
            "pixels that all kernels of a unit may reach beyond their strides (rule 19)");
  v.choice(
      "inner", c.inner, kFusionInnerNames,
      "where maps between the layers of a group lie: in the SRAM, in the NRAM of the core that makes and "
      "reads them, or as is better");
  v.choice(
      "split", c.split, kFusionSplitNames,
      "how the unit map is found: cut by ratios until it fits, or grown from one map or row as long as it "
      "does");
  v.choice("cut", c.cut, kFusionCutNames,
           "what of a unit map that is too large is cut: rows, and columns once there is one row, or both in "
           "turn");
  v.integers(
      "ratios", c.ratios, {1, 99}, {1, 16},
      "per cent by which a map that is too large is cut, one after the other, the last again and again");
  v.boolean("keep_where_slower", c.keep_where_slower,
            "the planner rules keeps groups that are slower than their layers, or move more bytes");
}

template <class V>
void describe(V& v, MemoryEnergy& c) {
  v.required().integer("bytes", c.bytes, {1, std::int64_t{1} << 40}, "size of a bank");
  v.required().number("pj_per_byte", c.pj_per_byte, kEnergy,
                      "energy of a byte that is read or written, in pJ");
}

template <class V>
void describe(V& v, TechnologyConfig& c) {
  v.name("name", c.name, "name of the technology, shown in reports");
  v.text("source", c.source, "where the numbers are from");
  v.number("mac_pj", c.mac_pj, kEnergy, "energy of a multiply-accumulate of bytes, in pJ");
  v.number("result_pj", c.result_pj, kEnergy,
           "energy of a result of post-processing or of the vector unit, in pJ");
  v.number("decode_pj", c.decode_pj, kEnergy, "energy of a weight of four bits that becomes int8, in pJ");
  v.objects("memories", c.memories, {1, 64},
            "energies of banks of on-chip memories by rising size; between them on the line through the "
            "logarithms");
  v.number("dram_pj_per_byte", c.dram_pj_per_byte, kEnergy,
           "energy of a byte over a DRAM bus, in pJ; without it that of dram.preset");
  v.number("dram_pj_per_activation", c.dram_pj_per_activation, kEnergy,
           "energy of opening a row of DRAM, in pJ; 0: it is in dram_pj_per_byte");
  v.number("bus_pj_per_byte", c.bus_pj_per_byte, kEnergy, "energy of a byte over a bus on chip, in pJ");
  v.number("leakage_mw_per_mm2", c.leakage_mw_per_mm2, kEnergy, "power of idle area, in mW a mm2");
  v.number("mac_um2", c.mac_um2, kEnergy, "area of a multiply-accumulate unit, in um2");
  v.number("result_um2", c.result_um2, kEnergy,
           "area of a unit that rescales a result a cycle in post-processing, in um2");
  v.number("lane_um2", c.lane_um2, kEnergy, "area of a lane of a vector unit, in um2");
  v.number("decode_um2", c.decode_um2, kEnergy,
           "area of a lane of a weight decoder, which makes a weight a cycle, in um2");
  v.number("bus_um2_per_bit", c.bus_um2_per_bit, kEnergy, "area of a bit of a bus's port, in um2");
  v.number("memory_um2_per_byte", c.memory_um2_per_byte, kEnergy, "area of a byte of on-chip memory, in um2");
}

template <class V>
void describe(V& v, HardwareConfig& c) {
  v.name("name", c.name, "name of the hardware, shown in reports");
  v.number("clock_mhz", c.clock_mhz, kClockMhz, "clock of the NPU in MHz");
  v.special("dataflow", EngineNameValue{c.dataflow}, "engine that runs the matrix work");
  v.boolean("fused", c.fused, "fuse layers of networks, on a chip");
  v.object("fusion", c.fusion, "which layers are fused");
  for (std::size_t i = 0; i < c.engines.size(); ++i) {
    const EngineDescription& engine = engine_descriptions()[i];
    v.special(engine.key, EngineValue{c.engines[i]}, engine.doc);
  }
  v.object("dma", c.dma, "the DMA channels: maps in, parameters in, results out");
  v.object("interconnect", c.interconnect, "the bus between DMA, host and DRAM");
  v.object("dram", c.dram, "the DRAM behind its memory controller");
  v.object("host", c.host, "host CPU and instruction fetch");
  v.optional_object(
      "chip", c.chip,
      "clusters of cores with NRAM, WRAM and SRAM; without it the system on chip of one engine");
  v.object("planner", c.planner, "how work is mapped");
  if (v.reading()) c.technology.dram_pj_per_byte = typical_pj_per_byte(c.dram.preset);
  v.object("technology", c.technology,
           "what operations, bytes and area cost: energies of reports follow from it");
}

namespace {

constexpr double kPicosecondsTimesMhz = 1e6;

HardwareConfig defaults() {
  HardwareConfig config;
  config.dram = dram_preset(config.dram.preset);
  return config;
}

}  // namespace

std::string processor_name(const std::optional<ChipConfig>& chip, int processor) {
  if (!chip) return "soc";
  const int cluster = processor / (chip->cores_per_cluster + 1),
            core = processor % (chip->cores_per_cluster + 1);
  return core == chip->cores_per_cluster ? fmt::format("memory {}", cluster)
                                         : fmt::format("core {}.{}", cluster, core);
}

const EngineConfig& HardwareConfig::matrix_engine() const {
  const auto& known = engine_descriptions();
  return nth(engines, &engine_description(dataflow) - known.data());
}

bool HardwareConfig::decodes() const {
  return chip ? chip->decode_bytes_per_clock > 0 : matrix_engine().kernel_decoders(*this).decoders > 0;
}

Picoseconds HardwareConfig::clock_ps() const {
  return std::llround(kPicosecondsTimesMhz / clock_mhz);
}

HardwareConfig parse_hardware(const nlohmann::json& json, const std::string& file) {
  HardwareConfig config = defaults();
  read_document(json, file, config);
  check_hardware(config, file);
  return config;
}

HardwareConfig load_hardware(const std::string& path) {
  const nlohmann::json json = read_json_file(path);
  check_file_kind(json, FileKind::kHardware, path);
  return parse_hardware(json, path);
}

nlohmann::ordered_json hardware_to_json(const HardwareConfig& config) {
  HardwareConfig copy = config;
  return ObjectValue<HardwareConfig>{copy}.write();
}

nlohmann::ordered_json hardware_schema() {
  HardwareConfig config = defaults();
  return schema_document(
      "Tilebeat hardware file",
      "The hardware that a workload runs on. Every field has a default; rules between fields are "
      "checked when the file is loaded.",
      ObjectValue<HardwareConfig>{config}.schema());
}

}  // namespace tilebeat
