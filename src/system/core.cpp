#include "tilebeat/system/core.h"

#include "tilebeat/isa/address_map.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

enum CorePort {
  kLoadPort,
  kParameterPort,
  kStorePort,
  kVectorAPort,
  kVectorBPort,
  kVectorResultPort,
  kIodmaPort,
  kMvdmaPort,
  kBroadcastPort
};
const std::vector<std::string> kCorePorts{"load",          "parameter", "store", "vector_a", "vector_b",
                                          "vector_result", "iodma",     "mvdma", "broadcast"};
const std::vector<Unit> kCoreUnits{Unit::kLoad,   Unit::kParameter, Unit::kMatrix, Unit::kStore,
                                   Unit::kVector, Unit::kIodma,     Unit::kMvdma};
enum CoreCompletion {
  kLoadDone,
  kParameterDone,
  kSwitchDone,
  kPostDone,
  kStoreDone,
  kVectorDone,
  kIodmaDone,
  kMvdmaDone,
  kCoreCompletions
};

std::vector<AddressRange> core_map(const CoreConfig& config, int core) {
  return {{nram_address(core), nram_address(core) + static_cast<std::uint64_t>(config.nram.size_bytes), 0},
          {wram_address(core), wram_address(core) + static_cast<std::uint64_t>(config.wram.size_bytes), 1}};
}

// The channels of the matrix unit move what the core's bus carries.
DmaConfig channel_config(const HardwareConfig& hardware) {
  DmaConfig dma = hardware.dma;
  dma.burst_bytes = std::max(dma.burst_bytes, hardware.chip->core.bus.bytes_per_clock);
  dma.buffer_bytes = std::max(dma.buffer_bytes, dma.burst_bytes);
  return dma;
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
  const int width = config.bus.bytes_per_clock;
  const DmaConfig dma = channel_config(hardware);
  const int word_bytes = hardware.switch_array.columns * hardware.switch_array.port_channels;
  const std::vector<AddressRange> map = core_map(config, core);
  order.run({
      [&] { bus = std::make_unique<Interconnect>("bus", config.bus, context, kCorePorts, map); },
      [&] {
        nram_ = std::make_unique<Scratchpad>("nram", context, config.nram, config.nram.size_bytes,
                                             map[0].begin, width);
      },
      [&] {
        wram_ = std::make_unique<Scratchpad>("wram", context, config.wram, config.wram.size_bytes,
                                             map[1].begin, width);
      },
      [&] {
        control =
            std::make_unique<CommandProcessor>("control", context, hardware.host, hardware.dma, kCoreUnits,
                                               kCoreCompletions, register_address(processor));
      },
      [&] { load_ = std::make_unique<ReadChannel>("load", context, dma, Unit::kLoad, word_bytes); },
      [&] {
        parameter_ = std::make_unique<ReadChannel>("parameter", context, dma, Unit::kParameter, word_bytes);
      },
      [&] { store_ = std::make_unique<StoreChannel>("store", context, dma, width); },
      [&] {
        engine = std::make_unique<SwitchArrayEngine>("engine", context, hardware.switch_array, width,
                                                     options.granularity, options.trace_accumulators, order);
      },
      [&] {
        vector_ = std::make_unique<VectorUnit>("vector", context, config.vector, config.copy, map[0].begin);
      },
      [&] { iodma = std::make_unique<CopyEngine>("iodma", context, config.copy, Unit::kIodma, map); },
      [&] { mvdma = std::make_unique<CopyEngine>("mvdma", context, config.copy, Unit::kMvdma, map); },
  });
  bind();
}

void Core::bind() {
  auto& ports = bus->initiator_ports;
  load_->port.socket.bind(ports[kLoadPort]);
  parameter_->port.socket.bind(ports[kParameterPort]);
  store_->port.socket.bind(ports[kStorePort]);
  vector_->a.socket.bind(ports[kVectorAPort]);
  vector_->b.socket.bind(ports[kVectorBPort]);
  vector_->result.socket.bind(ports[kVectorResultPort]);
  iodma->inner.socket.bind(ports[kIodmaPort]);
  mvdma->inner.socket.bind(ports[kMvdmaPort]);
  bus->target_ports[0].bind(nram_->socket);
  bus->target_ports[1].bind(wram_->socket);
  control->units[0].bind(load_->command);
  control->units[1].bind(parameter_->command);
  control->units[2].bind(engine->switch_network->command);
  control->units[3].bind(store_->command);
  control->units[4].bind(vector_->command);
  control->units[5].bind(iodma->command);
  control->units[6].bind(mvdma->command);
  load_->completion.bind(control->completions[kLoadDone]);
  parameter_->completion.bind(control->completions[kParameterDone]);
  engine->switch_network->completion.bind(control->completions[kSwitchDone]);
  engine->post_processor->completion.bind(control->completions[kPostDone]);
  store_->completion.bind(control->completions[kStoreDone]);
  vector_->completion.bind(control->completions[kVectorDone]);
  iodma->completion.bind(control->completions[kIodmaDone]);
  mvdma->completion.bind(control->completions[kMvdmaDone]);
  load_->stream.bind(engine->arrangement->stream);
  parameter_->stream.bind(engine->parameter_loader->stream);
  store_->source.bind(engine->output_buffer->ports[engine->output_buffer->ports.size() - 1]);
}

std::vector<std::pair<std::string, CycleLedger*>> Core::ledgers() {
  return {{"control.decode", &control->ledger},
          {"control.fetch", &control->fetch.ledger},
          {"load.request", &load_->port.ledger},
          {"load.stream", &load_->data_ledger},
          {"parameter.request", &parameter_->port.ledger},
          {"parameter.stream", &parameter_->data_ledger},
          {"store.request", &store_->port.ledger},
          {"store.read", &store_->data_ledger},
          {"engine.arrangement", &engine->arrangement->ledger},
          {"engine.parameter_loader", &engine->parameter_loader->ledger},
          {"engine.array", &engine->switch_network->ledger},
          {"engine.post", &engine->post_processor->ledger},
          {"vector", &vector_->ledger},
          {"vector.a", &vector_->a.ledger},
          {"vector.b", &vector_->b.ledger},
          {"vector.result", &vector_->result.ledger},
          {"iodma.read", &iodma->read_ledger},
          {"iodma.write", &iodma->write_ledger},
          {"mvdma.read", &mvdma->read_ledger},
          {"mvdma.write", &mvdma->write_ledger}};
}

Cycle Core::settled_at() {
  return latest(ledgers());
}

void Core::collect(Snapshot& snapshot, Cycle at) {
  const std::string prefix = report_prefix(this->name());
  for (const auto& [part, ledger] : ledgers()) collect_ledger(snapshot, prefix + part, *ledger, at);
  collect_engine(snapshot, prefix, *engine);
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
