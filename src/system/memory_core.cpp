#include "isa/address_map.h"
#include "system/core.h"

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Passes a write on to every core whose bit is set in the multicast address.
std::vector<WriteBridge::Window> multicast_windows(const ChipConfig& chip, int first_core) {
  WriteBridge::Window nram{kMulticast, to_unsigned(chip.core.nram.size_bytes), kMulticastCoresShift, {}};
  WriteBridge::Window wram{
      kMulticast | kMulticastWram, to_unsigned(chip.core.wram.size_bytes), kMulticastCoresShift, {}};
  for (int i = first_core; i < first_core + chip.cores_per_cluster; ++i) {
    nram.targets.push_back(nram_address(i));
    wram.targets.push_back(wram_address(i));
  }
  return {nram, wram};
}

}  // namespace

MemoryCore::MemoryCore(sc_core::sc_module_name name, const SimContext& context,
                       const HardwareConfig& hardware, int cluster, int processor, BuildOrder& order)
    : sc_module(name) {
  const ChipConfig& chip = *hardware.chip;
  const int cores = chip.cores_per_cluster;
  const std::uint64_t base = sram_address(cluster);
  const std::vector<AddressRange> map{{base, base + to_unsigned(chip.sram_bytes()), 0}};
  const int width = chip.cluster_bus.bytes_per_clock;
  order.run({
      [&] {
        sram_ = std::make_unique<Scratchpad>("sram", context, chip.sram, chip.sram_bytes(), base, width);
      },
      [&] { build_engines(context, chip, map, order); },
      [&] {
        if (chip.scalar_lanes == 0) return;
        VectorConfig config = chip.core.vector;
        config.lanes = chip.scalar_lanes;
        scalar_ = std::make_unique<VectorUnit>("scalar", context, config, chip.copy, base,
                                               VectorUnit::Operations::kScalar);
      },
      [&] {
        broadcast = std::make_unique<WriteBridge>("broadcast", context, width, chip.copy.max_outstanding,
                                                  cores, multicast_windows(chip, cluster * cores));
      },
      [&] {
        cdma_in = std::make_unique<WriteBridge>(
            "cdma_in", context, chip.cluster_link.bytes_per_clock, chip.copy.max_outstanding, 1,
            std::vector<WriteBridge::Window>{{base, map[0].end - base, {}, {base}}});
      },
  });
  std::vector<NamedPort> ports;
  for (int i = 0; i < cores; ++i) ports.push_back({fmt::format("core{}", i)});
  std::vector<UnitSockets> units;
  for (const auto& engine : engines_) {
    const std::string engine_name = engine->basename();
    ports.push_back({engine_name == "mvdma" ? "broadcast" : engine_name, &engine->inner.socket});
    units.push_back(unit_sockets(engine->unit(), *engine));
  }
  if (chip.merged_dma) units.front().also = {Unit::kCdma, Unit::kMvdma};
  ports.push_back({"cdma_in", &cdma_in->outputs[0]->socket});
  if (scalar_) {
    ports = joined(ports, {{"scalar_a", &scalar_->a.socket},
                           {"scalar_b", &scalar_->b.socket},
                           {"scalar_result", &scalar_->result.socket}});
    units.push_back(unit_sockets(Unit::kVector, *scalar_));
  }
  order.run({
      [&] { bus = std::make_unique<Interconnect>("bus", chip.cluster_bus, context, names_of(ports), map); },
      [&] { control = make_control(context, hardware, units, register_address(processor)); },
  });
  bind_ports(*bus, ports);
  bind_units(*control, units);
  broadcast_port().socket.bind(broadcast->socket);
  bus->target_ports[0].bind(sram_->socket);
}

// Builds the engines in the order GDMA, CDMA, broadcast; the merged engine has a port for each.
void MemoryCore::build_engines(const SimContext& context, const ChipConfig& chip,
                               const std::vector<AddressRange>& map, BuildOrder& order) {
  if (chip.merged_dma) {
    const CopySide link{"link", {{sram_address(0), sram_address(chip.clusters)}}};
    const CopySide cores{"cores", {{kMulticast, kMulticast << 1}}};
    engines_.push_back(std::make_unique<CopyEngine>("dma", context, chip.copy, Unit::kGdma, map,
                                                    std::vector<CopySide>{link, cores},
                                                    chip.decode_bytes_per_clock));
    return;
  }
  engines_.resize(3);
  const auto build = [&](std::size_t at, const char* name, Unit unit) {
    const int decoder = unit == Unit::kMvdma ? chip.decode_bytes_per_clock : 0;
    engines_[at] =
        std::make_unique<CopyEngine>(name, context, chip.copy, unit, map, std::vector<CopySide>{}, decoder);
  };
  order.run({[&] { build(0, "gdma", Unit::kGdma); }, [&] { build(1, "cdma", Unit::kCdma); },
             [&] { build(2, "mvdma", Unit::kMvdma); }});
}

BurstPort& MemoryCore::link_port() {
  return engines_.size() == 1 ? *engines_.front()->more_outer[0] : engines_[1]->outer;
}
BurstPort& MemoryCore::broadcast_port() {
  return engines_.size() == 1 ? *engines_.front()->more_outer[1] : engines_[2]->outer;
}

void MemoryCore::visit(StatVisitor& visitor) {
  visit_ledgers(visitor, *control);
  for (const auto& engine : engines_) visit_ledgers(visitor, engine->basename(), *engine);
  if (scalar_) {
    visitor.ledger("scalar", scalar_->ledger);
    visitor.ledger("scalar.a", scalar_->a.ledger);
    visitor.ledger("scalar.b", scalar_->b.ledger);
    visitor.ledger("scalar.result", scalar_->result.ledger);
  }
  visitor.ledger("broadcast", broadcast->ledger);
  visitor.ledger("cdma_in", cdma_in->ledger);
}

Cycle MemoryCore::settled_at() {
  LatestClock latest;
  visit(latest);
  return latest.at;
}

void MemoryCore::leave_unused() {
  UnusedUnits unused;
  visit(unused);
}

void MemoryCore::probe(UnitProbes& probes) {
  probes.within(report_name(*this));
  visit(probes);
  probes.bus("bus", *bus);
}

void MemoryCore::collect(Snapshot& snapshot) {
  SnapshotVisitor visitor(snapshot, report_name(*this));
  visit(visitor);
  visitor.bus("bus", *bus);
  visitor.scratchpad("sram", *sram_, &MemoryBytes::sram_read, &MemoryBytes::sram_write);
  visitor.control_counters(*control);
  for (const auto& engine : engines_) {
    visitor.counter(engine->basename(), "written", "bytes", engine->bytes);
    visitor.counter(engine->basename(), "filled", "bytes", engine->filled);
    visitor.counter(engine->basename(), kDecodedCounter, "weights", engine->decoded);
  }
  if (scalar_) {
    visitor.counter("scalar", "results", "elements", scalar_->results);
    visitor.results(scalar_->results);
    visitor.counter("scalar", "lane_clocks", "cycles", scalar_->lane_clocks);
  }
  for (const auto& [module, bridge] :
       {std::pair("broadcast", broadcast.get()), std::pair("cdma_in", cdma_in.get())}) {
    visitor.counter(module, "transfers", "bursts", bridge->stats.transfers);
    visitor.counter(module, "taken", "bytes", bridge->stats.taken_bytes);
    visitor.counter(module, "delivered", "bytes", bridge->stats.delivered_bytes);
  }
}

}  // namespace tilebeat
