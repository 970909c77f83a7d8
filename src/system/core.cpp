#include "tilebeat/system/core.h"

#include "tilebeat/isa/address_map.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Ports of the core's bus, units and completions behind those of the matrix unit.
const std::vector<std::string> kCorePorts{"vector_a", "vector_b", "vector_result",
                                          "iodma",    "mvdma",    "broadcast"};
const std::vector<Unit> kCoreUnits{Unit::kVector, Unit::kIodma, Unit::kMvdma};

template <class T>
std::vector<T> joined(std::vector<T> first, const std::vector<T>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::vector<AddressRange> core_map(const CoreConfig& config, int core) {
  return {{nram_address(core), nram_address(core) + static_cast<std::uint64_t>(config.nram.size_bytes), 0},
          {wram_address(core), wram_address(core) + static_cast<std::uint64_t>(config.wram.size_bytes), 1}};
}

Cycle latest(const std::vector<std::pair<std::string, CycleLedger*>>& ledgers) {
  Cycle at = 0;
  for (const auto& [name, ledger] : ledgers) at = std::max(at, ledger->settled_at());
  return at;
}

// "chip.cluster0.core1" is "cluster0.core1." in reports.
std::string report_prefix(const char* name) {
  const std::string whole = name;
  return whole.substr(whole.find('.') + 1) + ".";
}

}  // namespace

Core::Core(sc_core::sc_module_name name, const SimContext& context, const HardwareConfig& hardware, int core,
           int processor, const SimulationOptions& options, BuildOrder& order)
    : sc_module(name) {
  const CoreConfig& config = hardware.chip->core;
  const std::string& dataflow = hardware.dataflow;
  const int width = config.bus.bytes_per_clock;
  const std::vector<AddressRange> map = core_map(config, core);
  const ScratchpadLayout wram_layout =
      dataflow == kWfoldDataflow ? ScratchpadLayout::kRegions : ScratchpadLayout::kInterleaved;
  matrix_ = make_matrix_unit({context, hardware, options, order, map[0].begin});
  std::vector<std::function<void()>> steps = matrix_->build();
  const std::vector<std::function<void()>> own{
      [&] {
        bus = std::make_unique<Interconnect>("bus", config.bus, context,
                                             joined(MatrixUnit::bus_ports(dataflow), kCorePorts), map);
      },
      [&] {
        nram_ = std::make_unique<Scratchpad>("nram", context, config.nram, config.nram.size_bytes,
                                             map[0].begin, width);
      },
      [&] {
        wram_ = std::make_unique<Scratchpad>("wram", context, config.wram, config.wram.size_bytes,
                                             map[1].begin, width, wram_layout);
      },
      [&] {
        const std::vector<Unit> units = joined(MatrixUnit::units(dataflow), kCoreUnits);
        const int completions = MatrixUnit::completions(dataflow) + static_cast<int>(kCoreUnits.size());
        control = std::make_unique<CommandProcessor>("control", context, hardware.host, hardware.dma, units,
                                                     completions, register_address(processor));
      },
      [&] {
        vector_ = std::make_unique<VectorUnit>("vector", context, config.vector, config.copy, map[0].begin);
      },
      [&] { iodma = std::make_unique<CopyEngine>("iodma", context, config.copy, Unit::kIodma, map); },
      [&] { mvdma = std::make_unique<CopyEngine>("mvdma", context, config.copy, Unit::kMvdma, map); },
  };
  order.run(joined(std::move(steps), own));
  bind(dataflow);
}

void Core::bind(const std::string& dataflow) {
  matrix_->bind(*bus, *control, *wram_);
  std::size_t port = MatrixUnit::bus_ports(dataflow).size();
  for (BurstPort* own : {&vector_->a, &vector_->b, &vector_->result, &iodma->inner, &mvdma->inner})
    own->socket.bind(bus->initiator_ports[port++]);
  bus->target_ports[0].bind(nram_->socket);
  bus->target_ports[1].bind(wram_->socket);
  std::size_t unit = MatrixUnit::units(dataflow).size();
  control->units[unit++].bind(vector_->command);
  control->units[unit++].bind(iodma->command);
  control->units[unit++].bind(mvdma->command);
  auto completion = static_cast<std::size_t>(MatrixUnit::completions(dataflow));
  vector_->completion.bind(control->completions[completion++]);
  iodma->completion.bind(control->completions[completion++]);
  mvdma->completion.bind(control->completions[completion++]);
}

std::vector<std::pair<std::string, CycleLedger*>> Core::ledgers() {
  std::vector<std::pair<std::string, CycleLedger*>> all{{"control.decode", &control->ledger},
                                                        {"control.fetch", &control->fetch.ledger}};
  all = joined(std::move(all), matrix_->ledgers());
  return joined(std::move(all), {{"vector", &vector_->ledger},
                                 {"vector.a", &vector_->a.ledger},
                                 {"vector.b", &vector_->b.ledger},
                                 {"vector.result", &vector_->result.ledger},
                                 {"iodma.read", &iodma->read_ledger},
                                 {"iodma.write", &iodma->write_ledger},
                                 {"mvdma.read", &mvdma->read_ledger},
                                 {"mvdma.write", &mvdma->write_ledger}});
}

Cycle Core::settled_at() {
  return latest(ledgers());
}

void Core::collect(Snapshot& snapshot, Cycle at) {
  const std::string prefix = report_prefix(this->name());
  for (const auto& [part, ledger] : ledgers()) collect_ledger(snapshot, prefix + part, *ledger, at);
  matrix_->collect(snapshot, prefix);
  collect_bus(snapshot, prefix + "bus", *bus, at);
  MemoryBytes& bytes = snapshot.bytes;
  collect_scratchpad(snapshot, prefix + "nram", *nram_, bytes.nram_read, bytes.nram_write);
  collect_scratchpad(snapshot, prefix + "wram", *wram_, bytes.wram_read, bytes.wram_write);
  snapshot.count(prefix + "control", "instructions", "instructions", control->stats.instructions);
  snapshot.count(prefix + "control", "fetched", "bytes", control->stats.fetched_bytes);
  snapshot.count(prefix + "vector", "results", "elements", vector_->results);
  snapshot.count(prefix + "vector", "lane_clocks", "clocks", vector_->lane_clocks);
  snapshot.count(prefix + "iodma", "written", "bytes", iodma->bytes);
  snapshot.count(prefix + "mvdma", "written", "bytes", mvdma->bytes);
}

// ---- MemoryCore ----

namespace {

const std::vector<Unit> kMemoryUnits{Unit::kGdma, Unit::kCdma, Unit::kMvdma};
enum MemoryCompletion { kGdmaDone, kCdmaDone, kBroadcastDone, kMemoryCompletions };

std::vector<std::string> cluster_ports(int cores) {
  std::vector<std::string> names;
  for (int i = 0; i < cores; ++i) names.push_back(fmt::format("core{}", i));
  for (const char* name : {"gdma", "cdma", "broadcast", "cdma_in"}) names.emplace_back(name);
  return names;
}

// Every core whose bit is set in a multicast address.
WriteBridge::Router multicast_router(const ChipConfig& chip, int first_core) {
  return [chip, first_core](std::uint64_t address, std::uint64_t bytes) {
    std::vector<WriteBridge::Route> routes;
    if ((address & kMulticast) == 0) return routes;
    const bool wram = (address & kMulticastWram) != 0;
    const std::uint64_t offset = address & kMulticastOffsetMask;
    const std::uint64_t cores = (address & ~(kMulticast | kMulticastWram)) >> kMulticastCoresShift;
    const auto size = static_cast<std::uint64_t>((wram ? chip.core.wram : chip.core.nram).size_bytes);
    if (cores >> chip.cores_per_cluster != 0 || offset + bytes > size) return routes;
    for (int i = 0; i < chip.cores_per_cluster; ++i) {
      if ((cores >> i & 1) == 0) continue;
      routes.push_back({i, (wram ? wram_address(first_core + i) : nram_address(first_core + i)) + offset});
    }
    return routes;
  };
}

}  // namespace

MemoryCore::MemoryCore(sc_core::sc_module_name name, const SimContext& context,
                       const HardwareConfig& hardware, int cluster, int processor, BuildOrder& order)
    : sc_module(name) {
  const ChipConfig& chip = *hardware.chip;
  const int cores = chip.cores_per_cluster;
  const std::uint64_t base = sram_address(cluster);
  const std::vector<AddressRange> map{{base, base + static_cast<std::uint64_t>(chip.sram_bytes()), 0}};
  const int width = chip.cluster_bus.bytes_per_clock;
  order.run({
      [&] {
        bus = std::make_unique<Interconnect>("bus", chip.cluster_bus, context, cluster_ports(cores), map);
      },
      [&] {
        sram_ = std::make_unique<Scratchpad>("sram", context, chip.sram, chip.sram_bytes(), base, width);
      },
      [&] {
        control =
            std::make_unique<CommandProcessor>("control", context, hardware.host, hardware.dma, kMemoryUnits,
                                               kMemoryCompletions, register_address(processor));
      },
      [&] { gdma = std::make_unique<CopyEngine>("gdma", context, chip.copy, Unit::kGdma, map); },
      [&] { cdma = std::make_unique<CopyEngine>("cdma", context, chip.copy, Unit::kCdma, map); },
      [&] { mvdma = std::make_unique<CopyEngine>("mvdma", context, chip.copy, Unit::kMvdma, map); },
      [&] {
        broadcast = std::make_unique<WriteBridge>("broadcast", context, width, chip.copy.max_outstanding,
                                                  cores, multicast_router(chip, cluster * cores));
      },
      [&] {
        const AddressRange own = map[0];
        cdma_in = std::make_unique<WriteBridge>(
            "cdma_in", context, chip.cluster_link.bytes_per_clock, chip.copy.max_outstanding, 1,
            [own](std::uint64_t address, std::uint64_t bytes) -> std::vector<WriteBridge::Route> {
              if (address < own.begin || address + bytes > own.end) return {};
              return {{0, address}};
            });
      },
  });
  auto& ports = bus->initiator_ports;
  const auto port = [&](int i) -> auto& {
    return ports[static_cast<std::size_t>(cores + i)];
  };
  gdma->inner.socket.bind(port(0));
  cdma->inner.socket.bind(port(1));
  mvdma->inner.socket.bind(port(2));
  cdma_in->outputs[0]->socket.bind(port(3));
  mvdma->outer.socket.bind(broadcast->socket);
  bus->target_ports[0].bind(sram_->socket);
  control->units[0].bind(gdma->command);
  control->units[1].bind(cdma->command);
  control->units[2].bind(mvdma->command);
  gdma->completion.bind(control->completions[kGdmaDone]);
  cdma->completion.bind(control->completions[kCdmaDone]);
  mvdma->completion.bind(control->completions[kBroadcastDone]);
}

std::vector<std::pair<std::string, CycleLedger*>> MemoryCore::ledgers() {
  return {{"control.decode", &control->ledger}, {"control.fetch", &control->fetch.ledger},
          {"gdma.read", &gdma->read_ledger},    {"gdma.write", &gdma->write_ledger},
          {"cdma.read", &cdma->read_ledger},    {"cdma.write", &cdma->write_ledger},
          {"mvdma.read", &mvdma->read_ledger},  {"mvdma.write", &mvdma->write_ledger},
          {"broadcast", &broadcast->ledger},    {"cdma_in", &cdma_in->ledger}};
}

Cycle MemoryCore::settled_at() {
  return latest(ledgers());
}

void MemoryCore::collect(Snapshot& snapshot, Cycle at) {
  const std::string prefix = report_prefix(this->name());
  for (const auto& [part, ledger] : ledgers()) collect_ledger(snapshot, prefix + part, *ledger, at);
  collect_bus(snapshot, prefix + "bus", *bus, at);
  collect_scratchpad(snapshot, prefix + "sram", *sram_, snapshot.bytes.sram_read, snapshot.bytes.sram_write);
  snapshot.count(prefix + "control", "instructions", "instructions", control->stats.instructions);
  snapshot.count(prefix + "control", "fetched", "bytes", control->stats.fetched_bytes);
  snapshot.count(prefix + "gdma", "written", "bytes", gdma->bytes);
  snapshot.count(prefix + "cdma", "written", "bytes", cdma->bytes);
  snapshot.count(prefix + "mvdma", "written", "bytes", mvdma->bytes);
  for (const auto& [name, bridge] :
       {std::pair("broadcast", broadcast.get()), std::pair("cdma_in", cdma_in.get())}) {
    snapshot.count(prefix + name, "transfers", "bursts", bridge->stats.transfers);
    snapshot.count(prefix + name, "taken", "bytes", bridge->stats.taken_bytes);
    snapshot.count(prefix + name, "delivered", "bytes", bridge->stats.delivered_bytes);
  }
}

}  // namespace tilebeat
