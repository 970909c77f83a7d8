#include "tilebeat/config/hardware_file.h"

#include "tilebeat/base/math.h"
#include "tilebeat/schema/json_file.h"

#include <cmath>

#include <fmt/format.h>

#include "hardware_fields.h"

namespace tilebeat {
namespace {

constexpr double kPicosecondsTimesMhz = 1e6;
constexpr std::int64_t kBytesPerResult = 4;

HardwareConfig defaults() {
  HardwareConfig config;
  config.dram = dram_preset(config.dram.preset);
  return config;
}

/// Refuses `value` of `place` unless `good`.
template <class T>
void need(bool good, const Place& place, const T& value, const std::string& allowed) {
  if (!good) place.refuse(OrderedJson(value).dump(), allowed);
}

void need_power_of_two(std::int64_t value, const Place& place) {
  need((value & (value - 1)) == 0, place, value, "a power of two");
}

// A memory that a process can hold.
void need_size(std::int64_t bytes, const Place& place, std::int64_t words) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  need(bytes <= kMost, place, words,
       fmt::format("fewer words: the banks would take {} bytes, {} are the limit", bytes, kMost));
}

void check_switch_array(const SwitchArrayConfig& c, const Place& place) {
  need(c.rows % c.groups == 0, place.key("rows"), c.rows, fmt::format("a multiple of groups ({})", c.groups));
  const std::int64_t word = c.port_channels;
  need_size(2 * word * c.rows * c.bank_depth_words, place.key("bank_depth_words"), c.bank_depth_words);
  need_size(word * c.columns * c.parameter_depth_words, place.key("parameter_depth_words"),
            c.parameter_depth_words);
  const std::int64_t results = std::int64_t{c.rows} * c.columns;
  need(c.output_buffer_bytes / 2 >= results * kBytesPerResult, place.key("output_buffer_bytes"),
       c.output_buffer_bytes,
       fmt::format("at least {}: two halves of one operation cycle of {} int32 results",
                   2 * results * kBytesPerResult, results));
}

void check_wfold(const HardwareConfig& hardware, const Place& root) {
  const WfoldConfig& c = hardware.wfold;
  const Place place = root.key("wfold");
  need_power_of_two(c.line_bytes, place.key("line_bytes"));
  need_power_of_two(c.smallest_pci, place.key("smallest_pci"));
  need_power_of_two(c.pci, place.key("pci"));
  need(c.pci != 1, place.key("pci"), c.pci, "0, or at least 2");
  need(c.first_buffer_lines > c.compute_units, place.key("first_buffer_lines"), c.first_buffer_lines,
       fmt::format("more than compute_units ({})", c.compute_units));
  const std::string to_line = fmt::format("at most line_bytes ({})", c.line_bytes);
  need(c.smallest_pci <= c.line_bytes, place.key("smallest_pci"), c.smallest_pci, to_line);
  need(c.pci <= c.line_bytes, place.key("pci"), c.pci, to_line);
  if (hardware.dataflow != Dataflow::kWfold) return;
  need(hardware.chip.has_value(), root.key("dataflow"), std::string("wfold"),
       "dilated, or a file with `chip`: the engine's two storages are NRAM and WRAM of a core");
  const MemoryConfig& wram = hardware.chip->core.wram;
  const Place banks = root.key("chip").key("core").key("wram").key("banks");
  need(wram.banks == c.slaves, banks, wram.banks,
       fmt::format("wfold.slaves ({}): a region for every slave", c.slaves));
}

void check_transfers(const HardwareConfig& c, const Place& root) {
  const int width = c.interconnect.bytes_per_clock;
  const Place dma = root.key("dma");
  need_power_of_two(width, root.key("interconnect").key("bytes_per_clock"));
  need(c.dma.burst_bytes % width == 0, dma.key("burst_bytes"), c.dma.burst_bytes,
       fmt::format("a multiple of interconnect.bytes_per_clock ({})", width));
  need_power_of_two(c.dma.burst_bytes, dma.key("burst_bytes"));
  const SwitchArrayConfig& array = c.switch_array;
  const Place array_place = root.key("switch_array");
  const int beat_words = (width + array.port_channels - 1) / array.port_channels;
  need(array.arrangement_queue_words >= beat_words, array_place.key("arrangement_queue_words"),
       array.arrangement_queue_words, fmt::format("at least {}: the words of one bus beat", beat_words));
  need(c.dma.buffer_bytes >= c.dma.burst_bytes, dma.key("buffer_bytes"), c.dma.buffer_bytes,
       fmt::format("at least burst_bytes ({})", c.dma.burst_bytes));
}

void check_dram(const DramConfig& c, const Place& place) {
  need_power_of_two(c.channels, place.key("channels"));
  need_power_of_two(c.banks, place.key("banks"));
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
  // A refresh must be over, whatever the banks held, before the next one falls due.
  const auto clocks = [&c](Picoseconds duration) { return ceil_div(duration, c.clock_ps); };
  constexpr Cycle kCommands = 2;
  const Cycle longest = clocks(c.tRAS_ps) + 2 * clocks(c.tRP_ps) + clocks(c.tRFC_ps) + kCommands;
  need(!c.refresh || clocks(c.tREFI_ps) > longest, place.key("tREFI_ps"), c.tREFI_ps,
       fmt::format("more than {}: {} clocks of {} ps for tRAS_ps, twice tRP_ps, tRFC_ps and {} commands",
                   longest * c.clock_ps, longest, c.clock_ps, kCommands));
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
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  const std::int64_t bytes =
      c.clusters * (c.sram_bytes() + c.cores_per_cluster * (c.core.nram.size_bytes + c.core.wram.size_bytes));
  need(bytes <= kMost, place.key("clusters"), c.clusters,
       fmt::format("fewer clusters or smaller memories: they take {} bytes in all, {} are the limit", bytes,
                   kMost));
}

}  // namespace

std::string processor_name(const std::optional<ChipConfig>& chip, int processor) {
  if (!chip) return "soc";
  const int cluster = processor / (chip->cores_per_cluster + 1),
            core = processor % (chip->cores_per_cluster + 1);
  return core == chip->cores_per_cluster ? fmt::format("memory {}", cluster)
                                         : fmt::format("core {}.{}", cluster, core);
}

Picoseconds HardwareConfig::clock_ps() const {
  return std::llround(kPicosecondsTimesMhz / clock_mhz);
}

void check_hardware(const HardwareConfig& config, const std::string& file) {
  const Place root(file);
  if (config.fused) {
    root.key("fused").refuse("true",
                             fmt::format("false: fused layers are not available with dataflow {}",
                                         kDataflowNames.at(static_cast<std::size_t>(config.dataflow))));
  }
  check_switch_array(config.switch_array, root.key("switch_array"));
  check_wfold(config, root);
  check_transfers(config, root);
  check_dram(config.dram, root.key("dram"));
  if (config.chip) check_chip(*config.chip, root.key("chip"));
}

HardwareConfig parse_hardware(const nlohmann::json& json, const std::string& file) {
  HardwareConfig config = defaults();
  read_document(json, file, config);
  check_hardware(config, file);
  return config;
}

HardwareConfig load_hardware(const std::string& path) {
  return parse_hardware(read_json_file(path), path);
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
