#include "system/chip.h"

#include "isa/address_map.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <optional>
#include <set>

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
  return 1 + 2 * to_size(processor);
}
std::size_t dma_port(int processor) {
  return fetch_port(processor) + 1;
}

// Whether a start unit starts the programs from a table.
bool has_start_unit(const HardwareConfig& hardware) {
  return hardware.host.start == HostStart::kTable;
}

// Names of the interconnect's initiator ports. Behind the processors' ports come, core by core, the matrix
// unit's own ports and that of an IODMA for stores, then those of the start unit and of an outside master, if
// there are any.
std::vector<std::string> noc_ports(const HardwareConfig& hardware, StartedBy started_by) {
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
  std::vector<std::string> own = engine_description(hardware.dataflow).dram_ports;
  if (chip.core.stores == StoreOrder::kBetweenBursts) own.emplace_back("iostore");
  for (int core = 0; core < chip.cores(); ++core) {
    for (const std::string& port : own)
      names.push_back(fmt::format("cluster{}.core{}.{}", core / chip.cores_per_cluster,
                                  core % chip.cores_per_cluster, port));
  }
  if (has_start_unit(hardware)) names.emplace_back("start");
  if (started_by == StartedBy::kOutside) names.emplace_back("external");
  return names;
}

// Address map of the interconnect: DRAM over all controllers, then the registers of every processor and of
// the start unit.
std::vector<AddressRange> noc_map(const HardwareConfig& hardware) {
  const ChipConfig& chip = *hardware.chip;
  std::vector<AddressRange> map{{0, to_unsigned(hardware.dram.size_bytes), 0, chip.memory_controllers,
                                 kControllerBytes,
                                 hardware.dram.channels * hardware.dram.port_bytes_per_clock, "dram"}};
  const int registers = chip.processors() + (has_start_unit(hardware) ? 1 : 0);
  for (int p = 0; p < registers; ++p) {
    map.push_back(
        {register_address(p), register_address(p) + kCommandRegisterBytes, chip.memory_controllers + p});
  }
  return map;
}

std::vector<std::string> names_of_memories(const ChipConfig& chip) {
  std::vector<std::string> names;
  for (int i = 0; i < chip.memory_controllers; ++i) names.push_back(fmt::format("dram{}", i));
  return names;
}

std::vector<AddressRange> link_map(const ChipConfig& chip) {
  std::vector<AddressRange> map;
  for (int k = 0; k < chip.clusters; ++k)
    map.push_back({sram_address(k), sram_address(k) + to_unsigned(chip.sram_bytes()), k});
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
      const StartTable& table = nth(plan.start_tables, set - sets.begin());
      set->programs = {{register_address(processors), table.address, table.bytes}};
      continue;
    }
    set->programs.push_back({register_address(program.processor), program.address,
                             program.instructions.size() * kInstructionBytes});
  }
  return sets;
}

// By cluster, whether it is idle for the whole run and need not be built. Programs written by hand may access
// any memory, a waveform shows every module, and whoever starts a system from outside may let it follow other
// programs.
std::vector<bool> idle_clusters(const ChipConfig& chip, const Plan& plan, const SimulationOptions& options) {
  const bool all_work = plan.hand_written || plan.programs.empty() || options.observers.trace != nullptr ||
                        options.started_by == StartedBy::kOutside;
  std::vector<bool> idle(to_size(chip.clusters), !all_work);
  for (const ProgramImage& program : plan.programs)
    nth(idle, program.processor / (chip.cores_per_cluster + 1)) = false;
  for (const PlacedFault& fault : options.faults) nth(idle, fault.cluster) = false;
  return idle;
}

}  // namespace

// Stands in for clusters that are not built: any number of sockets can be bound to its sockets, and it never
// sends anything.
class Chip::Unconnected : public sc_core::sc_module, tlm::tlm_fw_transport_if<>, tlm::tlm_bw_transport_if<> {
  using Types = tlm::tlm_base_protocol_types;

 public:
  tlm::tlm_initiator_socket<32, Types, 0, sc_core::SC_ZERO_OR_MORE_BOUND> out;
  tlm::tlm_target_socket<32, Types, 0, sc_core::SC_ZERO_OR_MORE_BOUND> in;
  MessageInitiator<ProgramEnd, 0, sc_core::SC_ZERO_OR_MORE_BOUND> interrupt;
  MessageInitiator<SyncRequest, 0, sc_core::SC_ZERO_OR_MORE_BOUND> sync_out;
  MessageTarget<SyncDelivery, 0, sc_core::SC_ZERO_OR_MORE_BOUND> sync_in;
  MessageTarget<ProgramStart, 0, sc_core::SC_ZERO_OR_MORE_BOUND> start_in;
  explicit Unconnected(sc_core::sc_module_name name)
      : sc_module(name),
        out("out"),
        in("in"),
        interrupt("interrupt"),
        sync_out("sync_out"),
        sync_in("sync_in"),
        start_in("start_in") {
    out.bind(*this);
    in.bind(*this);
    sync_in.register_b_transport(this, &Unconnected::refuse_message<SyncDelivery>);
    start_in.register_b_transport(this, &Unconnected::refuse_message<ProgramStart>);
  }

 private:
  [[noreturn]] void refuse() const {
    throw SimulationError(fmt::format("{}: a cluster without programs was accessed", name()));
  }
  template <class Message>
  void refuse_message(Message&, sc_core::sc_time&) {
    refuse();
  }
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) override {
    refuse();
  }
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) override {
    refuse();
  }
  void b_transport(tlm::tlm_generic_payload&, sc_core::sc_time&) override { refuse(); }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }
  unsigned transport_dbg(tlm::tlm_generic_payload&) override { return 0; }
  void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
};

Chip::Chip(sc_core::sc_module_name name, const HardwareConfig& hardware, const Plan& plan,
           const SimulationOptions& options, DeltaJitter* jitter)
    : System(name, hardware, plan, options, jitter),
      memories_(names_of_memories(*hardware.chip), hardware.dram, options.external_memory) {
  build(hardware, plan, options);
  bind(*hardware.chip, options.started_by);
  leave_unused(plan);
  for (const PlacedFault& fault : options.faults) {
    if (fault.place == FaultPlace::kDram || fault.place == FaultPlace::kBus) continue;
    const ClusterParts& cluster = clusters_.at(to_size(fault.cluster));
    if (fault.place == FaultPlace::kSram)
      cluster.memory->inject_fault(fault.cell);
    else
      cluster.cores.at(to_size(fault.core))->inject_fault(fault);
  }
}

Chip::~Chip() = default;

// Programs by hand without any program are driven from outside.
void Chip::leave_unused(const Plan& plan) {
  if (plan.programs.empty()) return;
  std::set<int> used;
  for (const ProgramImage& program : plan.programs) used.insert(program.processor);
  int processor = 0;
  for (const ClusterParts& cluster : clusters_) {
    processor = to_int(&cluster - clusters_.data()) * processors_a_cluster_;
    for (const auto& core : cluster.cores) {
      if (used.count(processor++) == 0) core->leave_unused();
    }
    if (cluster.memory && used.count(processor) == 0) cluster.memory->leave_unused();
  }
}

void Chip::build(const HardwareConfig& hardware, const Plan& plan, const SimulationOptions& options) {
  const ChipConfig& chip = *hardware.chip;
  std::vector<std::function<void()>> steps{
      [&] {
        noc_ = std::make_unique<Interconnect>("noc", hardware.interconnect, context_,
                                              noc_ports(hardware, options.started_by), noc_map(hardware));
      },
      [&] {
        link_ = std::make_unique<Interconnect>("link", chip.cluster_link, context_, link_ports(chip),
                                               link_map(chip));
      },
      [&] {
        host_ = std::make_unique<Host>("host", context_, hardware.host, program_sets(plan, chip.processors()),
                                       chip.processors(), options.started_by);
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
      [&] { build_clusters(hardware, options, idle_clusters(chip, plan, options)); },
      [&] { unconnected_ = std::make_unique<Unconnected>("unconnected"); },
  };
  for (const auto& step : memories_.steps(context_)) steps.push_back(step);
  order_.run(std::move(steps));
}

void Chip::build_clusters(const HardwareConfig& hardware, const SimulationOptions& options,
                          const std::vector<bool>& idle) {
  const ChipConfig& chip = *hardware.chip;
  clusters_.resize(to_size(chip.clusters));
  processors_a_cluster_ = chip.cores_per_cluster + 1;
  like_ = to_int(std::find(idle.begin(), idle.end(), true) - idle.begin());
  for (int k = 0; k < chip.clusters; ++k) {
    if (nth(idle, k) && k != like_) continue;
    ClusterParts& cluster = nth(clusters_, k);
    names_.push_back(std::make_unique<Cluster>(fmt::format("cluster{}", k).c_str(), [&] {
      const int first = k * (chip.cores_per_cluster + 1);
      for (int i = 0; i < chip.cores_per_cluster; ++i) {
        cluster.cores.push_back(
            std::make_unique<Core>(fmt::format("core{}", i).c_str(), context_of(first + i), hardware,
                                   k * chip.cores_per_cluster + i, first + i, options, order_));
      }
      cluster.memory = std::make_unique<MemoryCore>("memory", context_of(first + chip.cores_per_cluster),
                                                    hardware, k, first + chip.cores_per_cluster, order_);
    }));
  }
}

void Chip::bind_processor(CommandProcessor& control, int processor) {
  const auto p = to_size(processor);
  ports_[processor] = {fetch_port(processor), dma_port(processor)};
  control.fetch.socket.bind(noc_->initiator_ports[fetch_port(processor)]);
  noc_->target_ports[to_size(memories_.count()) + p].bind(control.registers);
  control.interrupt.bind(host_->interrupts[p]);
  control.sync_out.bind(sync_->from[p]);
  sync_->to[p].bind(control.sync_in);
  if (start_) start_->to[p].bind(control.start_in);
}

void Chip::bind(const ChipConfig& chip, StartedBy started_by) {
  host_->port.socket.bind(noc_->initiator_ports[0]);
  for (int i = 0; i < memories_.count(); ++i) nth(noc_->target_ports, i).bind(memories_.socket(i));
  // The ports of each cluster's matrix units follow the processors' ports.
  const bool outside = started_by == StartedBy::kOutside;
  const std::size_t inside = noc_->initiator_ports.size() - (outside ? 1 : 0);
  if (outside) offer(noc_->initiator_ports[inside]);
  const std::size_t behind = inside - (start_ ? 1 : 0);
  const std::size_t all_of_them = behind - fetch_port(chip.processors());
  const std::size_t of_a_cluster = all_of_them / to_size(chip.clusters);
  for (int k = 0; k < chip.clusters; ++k) {
    const std::size_t first = fetch_port(chip.processors()) + of_a_cluster * to_size(k);
    if (nth(clusters_, k).memory) {
      bind_cluster(k, chip, first);
      continue;
    }
    bind_nothing(k, chip);
    for (std::size_t port = first; port < first + of_a_cluster; ++port)
      unconnected_->out.bind(noc_->initiator_ports[port]);
  }
  if (!start_) return;
  start_->port.socket.bind(noc_->initiator_ports[behind]);
  nth(noc_->target_ports, memories_.count() + chip.processors()).bind(start_->registers);
}

void Chip::follow_programs(const Plan& plan) {
  host_->follow(program_sets(plan, to_int(host_->interrupts.size())));
  for (const ClusterParts& cluster : clusters_) {
    for (const auto& core : cluster.cores) core->forget_tables();
  }
}

// `matrix_port`: the first interconnect port of the cluster's matrix units.
void Chip::bind_cluster(int cluster, const ChipConfig& chip, std::size_t matrix_port) {
  ClusterParts& parts = nth(clusters_, cluster);
  MemoryCore& memory = *parts.memory;
  const int first = cluster * (chip.cores_per_cluster + 1);
  for (int i = 0; i < chip.cores_per_cluster; ++i) {
    Core& core = *nth(parts.cores, i);
    bind_processor(*core.control, first + i);
    core.iodma->outer.socket.bind(noc_->initiator_ports[dma_port(first + i)]);
    for (const NamedPort& port : core.dram_ports()) {
      ports_.at(first + i).push_back(matrix_port);
      port.socket->bind(noc_->initiator_ports[matrix_port++]);
    }
    core.mvdma->outer.socket.bind(nth(memory.bus->initiator_ports, i));
    nth(memory.broadcast->outputs, i)
        ->socket.bind(core.bus->initiator_ports[core.bus->initiator_ports.size() - 1]);
  }
  const int processor = first + chip.cores_per_cluster;
  bind_processor(*memory.control, processor);
  memory.dram_port().socket.bind(noc_->initiator_ports[dma_port(processor)]);
  memory.link_port().socket.bind(nth(link_->initiator_ports, cluster));
  nth(link_->target_ports, cluster).bind(memory.cdma_in->socket);
}

void Chip::bind_nothing(int cluster, const ChipConfig& chip) {
  const int first = cluster * (chip.cores_per_cluster + 1);
  for (int processor = first; processor <= first + chip.cores_per_cluster; ++processor) {
    const auto p = to_size(processor);
    unconnected_->out.bind(noc_->initiator_ports[fetch_port(processor)]);
    unconnected_->out.bind(noc_->initiator_ports[dma_port(processor)]);
    noc_->target_ports[to_size(memories_.count()) + p].bind(unconnected_->in);
    unconnected_->interrupt.bind(host_->interrupts[p]);
    unconnected_->sync_out.bind(sync_->from[p]);
    sync_->to[p].bind(unconnected_->sync_in);
    if (start_) start_->to[p].bind(unconnected_->start_in);
  }
  unconnected_->out.bind(nth(link_->initiator_ports, cluster));
  nth(link_->target_ports, cluster).bind(unconnected_->in);
}

Cycle Chip::settled_at() {
  Cycle at = host_->ledger.settled_at();
  if (start_) at = std::max({at, start_->ledger.settled_at(), start_->port.ledger.settled_at()});
  for (const ClusterParts& cluster : clusters_) {
    for (const auto& core : cluster.cores) at = std::max(at, core->settled_at());
    if (cluster.memory) at = std::max(at, cluster.memory->settled_at());
  }
  return at;
}

// The ledgers of the chip's own parts.
void Chip::visit(StatVisitor& visitor) {
  visitor.ledger("host", host_->ledger);
  if (!start_) return;
  visitor.ledger("start", start_->ledger);
  visitor.ledger("start.port", start_->port.ledger);
}

void Chip::show_ledgers(UnitProbes& probes) {
  visit(probes);
  for (const ClusterParts& cluster : clusters_) {
    for (const auto& core : cluster.cores) core->probe(probes);
    if (cluster.memory) cluster.memory->probe(probes);
  }
  probes.within("");
  probes.bus("noc", *noc_);
  probes.bus("link", *link_);
  memories_.probe(probes);
}

Snapshot Chip::take_snapshot(Cycle at) {
  Snapshot snapshot;
  snapshot.at = at;
  SnapshotVisitor visitor(snapshot, "");
  visit(visitor);
  // Collects the counts of every cluster; clusters that are not built get those of an idle cluster.
  const auto collect_all = [&](const auto& collect) {
    std::optional<Snapshot> like;
    for (std::size_t k = 0; k < clusters_.size(); ++k) {
      if (clusters_[k].memory) {
        collect(clusters_[k], snapshot);
        continue;
      }
      if (!like) {
        like.emplace();
        like->at = at;
        collect(nth(clusters_, like_), *like);
      }
      snapshot.add(*like, fmt::format("cluster{}.", like_), fmt::format("cluster{}.", k));
    }
  };
  collect_all([](const ClusterParts& cluster, Snapshot& to) {
    for (const auto& core : cluster.cores) core->collect(to);
  });
  collect_all([](const ClusterParts& cluster, Snapshot& to) { cluster.memory->collect(to); });
  visitor.bus("noc", *noc_);
  visitor.bus("link", *link_);
  memories_.collect(visitor, context_.clock.at(at));
  visitor.counter("sync", "barriers", "barriers", sync_->barriers);
  visitor.counter("sync", "signals", "signals", sync_->signals);
  return snapshot;
}

// In overlapping layers a memory core only fetches its program.
LayerCounts Chip::own_counts(int processor) {
  Snapshot own;
  own.at = now();
  const ClusterParts& cluster = nth(clusters_, processor / processors_a_cluster_);
  const auto core = to_size(processor % processors_a_cluster_);
  if (core < cluster.cores.size()) cluster.cores[core]->collect(own);
  for (const std::size_t port : ports_.at(processor)) {
    const BusPortStatistics& moved = noc_->statistics(PortId(to_int(port)));
    own.bytes.bus_read += moved.read_bytes, own.bytes.bus_write += moved.write_bytes;
    own.bytes.dram_read += moved.read_bytes, own.bytes.dram_write += moved.write_bytes;
  }
  return own;
}

std::int64_t Chip::arrived_from_dram() const {
  return noc_->read_bytes();
}

std::vector<const Scratchpad*> Chip::scratchpads() const {
  std::vector<const Scratchpad*> all;
  for (const ClusterParts& cluster : clusters_) {
    for (const auto& core : cluster.cores) all.insert(all.end(), {&core->nram(), &core->wram()});
    if (cluster.memory) all.push_back(&cluster.memory->sram());
  }
  return all;
}

std::string Chip::describe_state() const {
  std::string text = sync_->describe_state();
  for_each_control([&](const CommandProcessor& control) {
    if (!control.running()) return;
    text += fmt::format("{}:\n{}", control.name(), control.describe_state());
  });
  return text;
}

std::string Chip::describe_under_way() const {
  std::string text;
  for_each_control([&](const CommandProcessor& control) { text += under_way_line(control); });
  return text;
}

}  // namespace tilebeat
