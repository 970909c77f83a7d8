#include "tilebeat/system/chip.h"

#include "tilebeat/isa/address_map.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// A level of the hierarchy without behaviour of its own.
class Cluster : public sc_core::sc_module {
 public:
  explicit Cluster(sc_core::sc_module_name name, const std::function<void()>& build) : sc_module(name) {
    build();
  }
};

// Initiator ports of the interconnect: the host's, then two a processor.
std::size_t fetch_port(int processor) {
  return 1 + 2 * static_cast<std::size_t>(processor);
}
std::size_t dma_port(int processor) {
  return fetch_port(processor) + 1;
}

// Behind them those that matrix units have of their own.
bool has_start_unit(const HardwareConfig& hardware) {
  return hardware.host.start == HostStart::kTable;
}

// The last of them is the start unit's, if there is one.
std::vector<std::string> noc_ports(const HardwareConfig& hardware) {
  const ChipConfig& chip = *hardware.chip;
  std::vector<std::string> names{"host"};
  for (int cluster = 0; cluster < chip.clusters; ++cluster) {
    for (int core = 0; core <= chip.cores_per_cluster; ++core) {
      const bool memory = core == chip.cores_per_cluster;
      const std::string processor =
          fmt::format("cluster{}.{}", cluster, memory ? "memory" : fmt::format("core{}", core));
      names.push_back(processor + ".fetch");
      names.push_back(processor + (memory ? ".gdma" : ".iodma"));
    }
  }
  for (int core = 0; core < chip.cores(); ++core) {
    for (const std::string& port : engine_description(hardware.dataflow).dram_ports)
      names.push_back(fmt::format("cluster{}.core{}.{}", core / chip.cores_per_cluster,
                                  core % chip.cores_per_cluster, port));
  }
  if (has_start_unit(hardware)) names.emplace_back("start");
  return names;
}

// DRAM over all controllers, then the registers of every processor and of the start unit.
std::vector<AddressRange> noc_map(const HardwareConfig& hardware) {
  const ChipConfig& chip = *hardware.chip;
  std::vector<AddressRange> map{{0, static_cast<std::uint64_t>(hardware.dram.size_bytes), 0,
                                 chip.memory_controllers, kControllerBytes,
                                 hardware.dram.channels * hardware.dram.port_bytes_per_clock}};
  const int registers = chip.processors() + (has_start_unit(hardware) ? 1 : 0);
  for (int p = 0; p < registers; ++p) {
    map.push_back(
        {register_address(p), register_address(p) + kCommandRegisterBytes, chip.memory_controllers + p});
  }
  return map;
}

std::vector<AddressRange> link_map(const ChipConfig& chip) {
  std::vector<AddressRange> map;
  for (int k = 0; k < chip.clusters; ++k)
    map.push_back({sram_address(k), sram_address(k) + static_cast<std::uint64_t>(chip.sram_bytes()), k});
  return map;
}

std::vector<std::string> link_ports(const ChipConfig& chip) {
  std::vector<std::string> names;
  for (int k = 0; k < chip.clusters; ++k) names.push_back(fmt::format("cluster{}", k));
  return names;
}

std::vector<ProgramSet> program_sets(const Plan& plan, int processors) {
  std::vector<ProgramSet> sets;
  for (const ProgramImage& program : plan.programs) {
    auto set =
        std::find_if(sets.begin(), sets.end(), [&](const ProgramSet& s) { return s.label == program.label; });
    if (set == sets.end()) set = sets.insert(sets.end(), {program.label, {}, 0});
    ++set->processors;
    if (!plan.start_tables.empty()) {
      const StartTable& table = plan.start_tables[static_cast<std::size_t>(set - sets.begin())];
      set->programs = {{register_address(processors), table.address, table.bytes}};
      continue;
    }
    set->programs.push_back({register_address(program.processor), program.address,
                             program.instructions.size() * kInstructionBytes});
  }
  return sets;
}

}  // namespace

Chip::Chip(sc_core::sc_module_name name, const HardwareConfig& hardware, const Plan& plan,
           const SimulationOptions& options, DeltaJitter* jitter)
    : System(name, hardware, plan, options, jitter) {
  build(hardware, plan, options);
  bind(*hardware.chip);
  for (const MemoryFault& fault : options.faults) {
    if (fault.memory == FaultMemory::kSram)
      memory_cores_.at(static_cast<std::size_t>(fault.cluster))->inject_fault(fault.cell);
    else
      cores_.at(static_cast<std::size_t>(fault.cluster * hardware.chip->cores_per_cluster + fault.core))
          ->inject_fault(fault);
  }
  for (const auto& core : cores_) observe(*core->control);
  for (const auto& memory : memory_cores_) observe(*memory->control);
  observe(*host_);
}

void Chip::build(const HardwareConfig& hardware, const Plan& plan, const SimulationOptions& options) {
  const ChipConfig& chip = *hardware.chip;
  drams_.resize(static_cast<std::size_t>(chip.memory_controllers));
  std::vector<std::function<void()>> steps{
      [&] {
        noc_ = std::make_unique<Interconnect>("noc", hardware.interconnect, context_, noc_ports(hardware),
                                              noc_map(hardware));
      },
      [&] {
        link_ = std::make_unique<Interconnect>("link", chip.cluster_link, context_, link_ports(chip),
                                               link_map(chip));
      },
      [&] {
        host_ = std::make_unique<Host>("host", context_, hardware.host, program_sets(plan, chip.processors()),
                                       chip.processors());
      },
      [&] {
        if (!has_start_unit(hardware)) return;
        start_ = std::make_unique<StartUnit>("start", context_, chip.processors(),
                                             register_address(chip.processors()));
      },
      [&] {
        sync_ = std::make_unique<SyncNetwork>("sync", context_, chip.processors(), chip.cores_per_cluster + 1,
                                              chip.sync_cycles);
      },
      [&] { build_clusters(hardware, options); },
  };
  DramConfig dram = hardware.dram;
  dram.size_bytes /= chip.memory_controllers;
  for (int i = 0; i < chip.memory_controllers; ++i) {
    steps.emplace_back([&, i] {
      const AddressSlice slice{static_cast<std::uint64_t>(i),
                               static_cast<std::uint64_t>(chip.memory_controllers), kControllerBytes};
      drams_[static_cast<std::size_t>(i)] =
          std::make_unique<DramController>(fmt::format("dram{}", i).c_str(), dram, context_, slice);
    });
  }
  order_.run(std::move(steps));
}

void Chip::build_clusters(const HardwareConfig& hardware, const SimulationOptions& options) {
  const ChipConfig& chip = *hardware.chip;
  for (int k = 0; k < chip.clusters; ++k) {
    clusters_.push_back(std::make_unique<Cluster>(fmt::format("cluster{}", k).c_str(), [&] {
      const int first = k * (chip.cores_per_cluster + 1);
      for (int i = 0; i < chip.cores_per_cluster; ++i) {
        cores_.push_back(std::make_unique<Core>(fmt::format("core{}", i).c_str(), context_, hardware,
                                                k * chip.cores_per_cluster + i, first + i, options, order_));
      }
      memory_cores_.push_back(std::make_unique<MemoryCore>("memory", context_, hardware, k,
                                                           first + chip.cores_per_cluster, order_));
    }));
  }
}

void Chip::bind_processor(CommandProcessor& control, int processor) {
  const auto p = static_cast<std::size_t>(processor);
  control.fetch.socket.bind(noc_->initiator_ports[fetch_port(processor)]);
  noc_->target_ports[drams_.size() + p].bind(control.registers);
  control.interrupt.bind(host_->interrupts[p]);
  control.sync_out.bind(sync_->from[p]);
  sync_->to[p].bind(control.sync_in);
  if (start_) start_->to[p].bind(control.start_in);
}

void Chip::bind(const ChipConfig& chip) {
  host_->port.socket.bind(noc_->initiator_ports[0]);
  std::size_t matrix_port = fetch_port(chip.processors());
  for (std::size_t i = 0; i < drams_.size(); ++i) noc_->target_ports[i].bind(drams_[i]->socket);
  for (int k = 0; k < chip.clusters; ++k) {
    MemoryCore& memory = *memory_cores_[static_cast<std::size_t>(k)];
    const int first = k * (chip.cores_per_cluster + 1);
    for (int i = 0; i < chip.cores_per_cluster; ++i) {
      Core& core = *cores_[static_cast<std::size_t>(k * chip.cores_per_cluster + i)];
      bind_processor(*core.control, first + i);
      core.iodma->outer.socket.bind(noc_->initiator_ports[dma_port(first + i)]);
      for (const NamedPort& port : core.dram_ports()) port.socket->bind(noc_->initiator_ports[matrix_port++]);
      core.mvdma->outer.socket.bind(memory.bus->initiator_ports[static_cast<std::size_t>(i)]);
      memory.broadcast->outputs[static_cast<std::size_t>(i)]->socket.bind(
          core.bus->initiator_ports[core.bus->initiator_ports.size() - 1]);
    }
    const int processor = first + chip.cores_per_cluster;
    bind_processor(*memory.control, processor);
    memory.dram_port().socket.bind(noc_->initiator_ports[dma_port(processor)]);
    memory.link_port().socket.bind(link_->initiator_ports[static_cast<std::size_t>(k)]);
    link_->target_ports[static_cast<std::size_t>(k)].bind(memory.cdma_in->socket);
  }
  if (!start_) return;
  start_->port.socket.bind(noc_->initiator_ports[matrix_port]);
  noc_->target_ports[drams_.size() + static_cast<std::size_t>(chip.processors())].bind(start_->registers);
}

Cycle Chip::settled_at() {
  Cycle at = host_->ledger.settled_at();
  if (start_) at = std::max({at, start_->ledger.settled_at(), start_->port.ledger.settled_at()});
  for (const auto& core : cores_) at = std::max(at, core->settled_at());
  for (const auto& memory : memory_cores_) at = std::max(at, memory->settled_at());
  return at;
}

Snapshot Chip::take_snapshot(Cycle at) {
  Snapshot snapshot;
  snapshot.at = at;
  SnapshotVisitor visitor(snapshot, "");
  visitor.ledger("host", host_->ledger);
  if (start_) {
    visitor.ledger("start", start_->ledger);
    visitor.ledger("start.port", start_->port.ledger);
  }
  for (const auto& core : cores_) core->collect(snapshot);
  for (const auto& memory : memory_cores_) memory->collect(snapshot);
  visitor.bus("noc", *noc_);
  visitor.bus("link", *link_);
  for (std::size_t i = 0; i < drams_.size(); ++i)
    visitor.dram(fmt::format("dram{}", i), *drams_[i], context_.clock.at(at));
  visitor.counter("sync", "barriers", "barriers", sync_->barriers);
  visitor.counter("sync", "signals", "signals", sync_->signals);
  return snapshot;
}

std::string Chip::describe_state() const {
  std::string text = sync_->describe_state();
  const auto add = [&](const CommandProcessor& control) {
    if (!control.running()) return;
    text += fmt::format("{}:\n{}", control.name(), control.describe_state());
  };
  for (const auto& core : cores_) add(*core->control);
  for (const auto& memory : memory_cores_) add(*memory->control);
  return text;
}

std::string Chip::describe_under_way() const {
  std::string text;
  for (const auto& core : cores_) text += under_way_line(*core->control);
  for (const auto& memory : memory_cores_) text += under_way_line(*memory->control);
  return text;
}

}  // namespace tilebeat
