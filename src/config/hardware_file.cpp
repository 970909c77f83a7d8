#include "tilebeat/config/hardware_file.h"

#include "tilebeat/base/math.h"
#include "tilebeat/config/rules.h"
#include "tilebeat/schema/file_kind.h"
#include "tilebeat/schema/json_file.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "hardware_fields.h"

namespace tilebeat {
namespace {

constexpr double kPicosecondsTimesMhz = 1e6;

HardwareConfig defaults() {
  HardwareConfig config;
  config.dram = dram_preset(config.dram.preset);
  return config;
}

void check_transfers(const HardwareConfig& c, const Place& root) {
  const int width = c.interconnect.bytes_per_clock;
  const Place dma = root.key("dma");
  need_power_of_two(width, root.key("interconnect").key("bytes_per_clock"));
  need(c.dma.burst_bytes % width == 0, dma.key("burst_bytes"), c.dma.burst_bytes,
       fmt::format("a multiple of interconnect.bytes_per_clock ({})", width));
  need_power_of_two(c.dma.burst_bytes, dma.key("burst_bytes"));
  need(c.dma.buffer_bytes >= c.dma.burst_bytes, dma.key("buffer_bytes"), c.dma.buffer_bytes,
       fmt::format("at least burst_bytes ({})", c.dma.burst_bytes));
}

void check_dram(const DramConfig& c, const Place& place) {
  need_power_of_two(c.channels, place.key("channels"));
  need_power_of_two(c.banks, place.key("banks"));
  need_power_of_two(c.bank_groups, place.key("bank_groups"));
  need(c.bank_groups <= c.banks, place.key("bank_groups"), c.bank_groups,
       fmt::format("at most banks ({})", c.banks));
  need_power_of_two(c.transfers_per_clock, place.key("transfers_per_clock"));
  need_power_of_two(c.port_bytes_per_clock, place.key("port_bytes_per_clock"));
  need_power_of_two(c.row_bytes, place.key("row_bytes"));
  need_power_of_two(c.data_bits, place.key("data_bits"));
  need_power_of_two(c.burst_length, place.key("burst_length"));
  need_power_of_two(c.size_bytes, place.key("size_bytes"));
  const std::int64_t burst = std::int64_t{c.data_bits / 8} * c.burst_length;
  need(c.row_bytes % burst == 0, place.key("row_bytes"), c.row_bytes,
       fmt::format("a multiple of the burst of {} bytes (data_bits / 8 * burst_length)", burst));
  const std::int64_t one_row_each = c.row_bytes * c.banks * c.channels;
  need(c.size_bytes >= one_row_each, place.key("size_bytes"), c.size_bytes,
       fmt::format("at least {}: one row in every bank of every channel", one_row_each));
  need(!c.refresh || c.tRFC_ps < c.tREFI_ps, place.key("tRFC_ps"), c.tRFC_ps,
       fmt::format("less than tREFI_ps ({})", c.tREFI_ps));
  const Cycle taken = dram_clocks(c).refresh_and_burst();
  need(!c.refresh || c.tREFI_ps > taken * c.clock_ps, place.key("tREFI_ps"), c.tREFI_ps,
       fmt::format("more than {}: in {} cycles of {} ps a row is closed, the banks are refreshed and a burst "
                   "is served",
                   taken * c.clock_ps, taken, c.clock_ps));
}

void check_memory(const MemoryConfig& c, std::int64_t size_bytes, int bus_bytes, const Place& place) {
  need_power_of_two(c.bank_bytes, place.key("bank_bytes"));
  need(c.bank_bytes <= bus_bytes, place.key("bank_bytes"), c.bank_bytes,
       fmt::format("at most the {} bytes of the bus", bus_bytes));
  const std::int64_t row = std::int64_t{c.banks} * c.bank_bytes;
  need(size_bytes > 0 && size_bytes % row == 0, place.key("size_bytes"), c.size_bytes,
       fmt::format("a positive multiple of {} (banks * bank_bytes)", row));
}

void check_copy(const DmaConfig& c, int bus_bytes, const Place& place) {
  need_power_of_two(c.burst_bytes, place.key("burst_bytes"));
  need(c.burst_bytes >= bus_bytes, place.key("burst_bytes"), c.burst_bytes,
       fmt::format("at least {}, the width of the bus", bus_bytes));
  need(c.buffer_bytes >= 2 * c.burst_bytes, place.key("buffer_bytes"), c.buffer_bytes,
       fmt::format("at least two bursts ({})", 2 * c.burst_bytes));
}

void check_chip(const ChipConfig& c, const Place& place) {
  const Place core = place.key("core");
  need_power_of_two(c.memory_controllers, place.key("memory_controllers"));
  need_power_of_two(c.core.bus.bytes_per_clock, core.key("bus").key("bytes_per_clock"));
  need_power_of_two(c.cluster_bus.bytes_per_clock, place.key("cluster_bus").key("bytes_per_clock"));
  need_power_of_two(c.cluster_link.bytes_per_clock, place.key("cluster_link").key("bytes_per_clock"));
  check_memory(c.core.nram, c.core.nram.size_bytes, c.core.bus.bytes_per_clock, core.key("nram"));
  check_memory(c.core.wram, c.core.wram.size_bytes, c.core.bus.bytes_per_clock, core.key("wram"));
  check_memory(c.sram, c.sram_bytes(), c.cluster_bus.bytes_per_clock, place.key("sram"));
  check_copy(c.core.copy, c.core.bus.bytes_per_clock, core.key("copy"));
  check_copy(c.copy, c.cluster_bus.bytes_per_clock, place.key("copy"));
}

// The memories of all cores and clusters, which are there from the beginning of a run.
void check_sum_of_memories(const HardwareConfig& config, const Place& root) {
  constexpr std::int64_t kMost = std::int64_t{1} << 34;
  if (!config.chip) return;
  const ChipConfig& c = *config.chip;
  const std::int64_t core =
      c.core.nram.size_bytes + c.core.wram.size_bytes + config.matrix_engine().buffer_bytes();
  const std::int64_t bytes = c.clusters * (c.sram_bytes() + c.cores_per_cluster * core);
  need(bytes <= kMost, root.key("chip").key("clusters"), c.clusters,
       fmt::format("fewer clusters, cores or smaller memories: they take {} bytes in all, {} are the limit",
                   bytes, kMost));
}

void check_technology(const TechnologyConfig& c, const Place& place) {
  for (std::size_t i = 1; i < c.memories.size(); ++i) {
    need(c.memories[i].bytes > c.memories[i - 1].bytes, place.key("memories").item(i).key("bytes"),
         c.memories[i].bytes, fmt::format("more than {}, the size before", c.memories[i - 1].bytes));
  }
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
  return engines[static_cast<std::size_t>(&engine_description(dataflow) - known.data())];
}

Picoseconds HardwareConfig::clock_ps() const {
  return std::llround(kPicosecondsTimesMhz / clock_mhz);
}

void check_hardware(const HardwareConfig& config, const std::string& file) {
  const Place root(file);
  if (config.planner.map_layout != MapLayout::kNhwc && !config.chip)
    root.key("planner")
        .key("map_layout")
        .refuse(
            fmt::format("\"{}\"", kMapLayoutNames[static_cast<std::size_t>(config.planner.map_layout)]),
            "\"nhwc\": maps are brought into another order by the DMA engines of a chip, which is not there");
  if (config.fused && !config.chip)
    root.key("fused").refuse("true", "false: layers are fused in the memories of a chip, which is not there");
  if (config.host.start == HostStart::kTable && !config.chip)
    root.key("host").key("start").refuse("\"table\"",
                                         "\"each\": the start unit is one of a chip, which is not there");
  for (std::size_t i = 0; i < config.engines.size(); ++i) config.engines[i].check(config, root);
  check_sum_of_memories(config, root);
  check_transfers(config, root);
  check_dram(config.dram, root.key("dram"));
  check_technology(config.technology, root.key("technology"));
  if (config.chip) check_chip(*config.chip, root.key("chip"));
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
