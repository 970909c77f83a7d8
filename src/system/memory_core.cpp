#include "tilebeat/system/memory_core.h"

#include "tilebeat/isa/address_map.h"
#include "tilebeat/system/wiring.h"

#include <fmt/format.h>

namespace tilebeat {
namespace {

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

// The writes of other clusters to this one's SRAM.
WriteBridge::Router own_router(const AddressRange& own) {
  return [own](std::uint64_t address, std::uint64_t bytes) -> std::vector<WriteBridge::Route> {
    if (address < own.begin || address + bytes > own.end) return {};
    return {{0, address}};
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
        sram_ = std::make_unique<Scratchpad>("sram", context, chip.sram, chip.sram_bytes(), base, width);
      },
      [&] { gdma = std::make_unique<CopyEngine>("gdma", context, chip.copy, Unit::kGdma, map); },
      [&] { cdma = std::make_unique<CopyEngine>("cdma", context, chip.copy, Unit::kCdma, map); },
      [&] { mvdma = std::make_unique<CopyEngine>("mvdma", context, chip.copy, Unit::kMvdma, map); },
      [&] {
        broadcast = std::make_unique<WriteBridge>("broadcast", context, width, chip.copy.max_outstanding,
                                                  cores, multicast_router(chip, cluster * cores));
      },
      [&] {
        cdma_in = std::make_unique<WriteBridge>("cdma_in", context, chip.cluster_link.bytes_per_clock,
                                                chip.copy.max_outstanding, 1, own_router(map[0]));
      },
  });
  std::vector<NamedPort> ports;
  for (int i = 0; i < cores; ++i) ports.push_back({fmt::format("core{}", i)});
  ports = joined(ports, {{"gdma", &gdma->inner.socket},
                         {"cdma", &cdma->inner.socket},
                         {"broadcast", &mvdma->inner.socket},
                         {"cdma_in", &cdma_in->outputs[0]->socket}});
  const std::vector<UnitSockets> units{unit_sockets(Unit::kGdma, *gdma), unit_sockets(Unit::kCdma, *cdma),
                                       unit_sockets(Unit::kMvdma, *mvdma)};
  order.run({
      [&] { bus = std::make_unique<Interconnect>("bus", chip.cluster_bus, context, names_of(ports), map); },
      [&] { control = make_control(context, hardware, units, register_address(processor)); },
  });
  bind_ports(*bus, ports);
  bind_units(*control, units);
  mvdma->outer.socket.bind(broadcast->socket);
  bus->target_ports[0].bind(sram_->socket);
}

void MemoryCore::visit(StatVisitor& visitor) {
  visit_ledgers(visitor, *control);
  visit_ledgers(visitor, "gdma", *gdma);
  visit_ledgers(visitor, "cdma", *cdma);
  visit_ledgers(visitor, "mvdma", *mvdma);
  visitor.ledger("broadcast", broadcast->ledger);
  visitor.ledger("cdma_in", cdma_in->ledger);
}

Cycle MemoryCore::settled_at() {
  LatestClock latest;
  visit(latest);
  return latest.at;
}

void MemoryCore::collect(Snapshot& snapshot) {
  SnapshotVisitor visitor(snapshot, report_name(*this));
  visit(visitor);
  visitor.bus("bus", *bus);
  visitor.scratchpad("sram", *sram_, &MemoryBytes::sram_read, &MemoryBytes::sram_write);
  visitor.control_counters(*control);
  visitor.counter("gdma", "written", "bytes", gdma->bytes);
  visitor.counter("gdma", "filled", "bytes", gdma->filled);
  visitor.counter("cdma", "written", "bytes", cdma->bytes);
  visitor.counter("cdma", "filled", "bytes", cdma->filled);
  visitor.counter("mvdma", "written", "bytes", mvdma->bytes);
  visitor.counter("mvdma", "filled", "bytes", mvdma->filled);
  for (const auto& [module, bridge] :
       {std::pair("broadcast", broadcast.get()), std::pair("cdma_in", cdma_in.get())}) {
    visitor.counter(module, "transfers", "bursts", bridge->stats.transfers);
    visitor.counter(module, "taken", "bytes", bridge->stats.taken_bytes);
    visitor.counter(module, "delivered", "bytes", bridge->stats.delivered_bytes);
  }
}

}  // namespace tilebeat
