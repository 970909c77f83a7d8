// Rules between fields of hardware files.
#include "base/types.h"
#include "config/engine_config_of.h"
#include "config/hardware_config.h"
#include "schema/error_list.h"
#include "schema/place.h"

#include <fmt/format.h>

namespace tilebeat {
namespace {

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

void check_chip(const ChipConfig& c, const Place& place, ErrorList& errors) {
  const Place core = place.key("core");
  const auto check_bus = [&](const InterconnectConfig& bus, const Place& at) {
    errors.attempt([&] { need_power_of_two(bus.bytes_per_clock, at.key("bytes_per_clock")); });
  };
  const auto check = [&](const MemoryConfig& memory, std::int64_t bytes, const InterconnectConfig& bus,
                         const Place& at) {
    errors.attempt([&] { check_memory(memory, bytes, bus.bytes_per_clock, at); });
  };
  errors.attempt([&] { need_power_of_two(c.memory_controllers, place.key("memory_controllers")); });
  check_bus(c.core.bus, core.key("bus"));
  check_bus(c.cluster_bus, place.key("cluster_bus"));
  check_bus(c.cluster_link, place.key("cluster_link"));
  check(c.core.nram, c.core.nram.size_bytes, c.core.bus, core.key("nram"));
  check(c.core.wram, c.core.wram.size_bytes, c.core.bus, core.key("wram"));
  // Without a size of its own the SRAM follows from the NRAM, whose error is told already.
  if (errors.empty() || c.sram.size_bytes > 0)
    check(c.sram, c.sram_bytes(), c.cluster_bus, place.key("sram"));
  errors.attempt([&] { check_copy(c.core.copy, c.core.bus.bytes_per_clock, core.key("copy")); });
  errors.attempt([&] { check_copy(c.copy, c.cluster_bus.bytes_per_clock, place.key("copy")); });
}

// Checks the sum of all cores' and clusters' memories, which exist from the beginning of a run.
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

// What only a chip can do is refused without one.
void check_chip_is_there(const HardwareConfig& config, const Place& root) {
  if (config.planner.map_layout != MapLayout::kNhwc && !config.chip)
    root.key("planner")
        .key("map_layout")
        .refuse(
            fmt::format("\"{}\"", nth(kMapLayoutNames, config.planner.map_layout)),
            "\"nhwc\": maps are brought into another order by the DMA engines of a chip, which is not there");
  if (config.fused && !config.chip)
    root.key("fused").refuse("true", "false: layers are fused in the memories of a chip, which is not there");
  if (config.host.start == HostStart::kTable && !config.chip)
    root.key("host").key("start").refuse("\"table\"",
                                         "\"each\": the start unit is one of a chip, which is not there");
}

void check_technology(const TechnologyConfig& c, const Place& place) {
  for (std::size_t i = 1; i < c.memories.size(); ++i) {
    need(c.memories[i].bytes > c.memories[i - 1].bytes, place.key("memories").item(i).key("bytes"),
         c.memories[i].bytes, fmt::format("more than {}, the size before", c.memories[i - 1].bytes));
  }
}

}  // namespace

void check_hardware(const HardwareConfig& config, const std::string& file) {
  const Place root(file);
  ErrorList errors;
  errors.attempt([&] { check_chip_is_there(config, root); });
  for (std::size_t i = 0; i < config.engines.size(); ++i)
    errors.attempt([&] { config.engines[i].check(config, root); });
  errors.attempt([&] { check_transfers(config, root); });
  errors.attempt([&] { check_dram(config.dram, root.key("dram")); });
  errors.attempt([&] { check_technology(config.technology, root.key("technology")); });
  if (config.chip) check_chip(*config.chip, root.key("chip"), errors);
  if (errors.empty()) check_sum_of_memories(config, root);
  errors.raise();
}

}  // namespace tilebeat
