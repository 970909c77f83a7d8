#include "system/board.h"

#include "isa/address_map.h"
#include "system/core.h"

namespace tilebeat {
namespace {

constexpr std::uint64_t kRegisterBase = std::uint64_t{1} << 44;  // above any DRAM
enum BusTarget { kDramTarget, kRegisterTarget };

std::vector<ProgramSet> program_sets(const Plan& plan) {
  std::vector<ProgramSet> sets;
  for (const ProgramImage& program : plan.programs) {
    sets.push_back({program.label,
                    {{kRegisterBase, program.address, program.instructions.size() * kInstructionBytes}},
                    1});
  }
  return sets;
}

}  // namespace

Board::Board(sc_core::sc_module_name name, const HardwareConfig& hardware, const Plan& plan,
             const SimulationOptions& options, DeltaJitter* jitter)
    : System(name, hardware, plan, options, jitter),
      memory_({"dram"}, hardware.dram, options.external_memory) {
  context_.races = &races_;
  context_.bytes = bytes_of(0);
  build(hardware, plan, options);
  for (const PlacedFault& fault : options.faults) {
    if (fault.place == FaultPlace::kEngine) matrix_->inject_fault(fault.cell);
    if (fault.place == FaultPlace::kPe) matrix_->upset_pe(fault.cell);
  }
}

void Board::build(const HardwareConfig& hardware, const Plan& plan, const SimulationOptions& options) {
  order_.run({
      [&] {
        matrix_ = make_matrix_unit(
            {context_, hardware, order_, options.granularity, options.trace_accumulators, "dma_"});
      },
      memory_.steps(context_).front(),
      [&] {
        host_ = std::make_unique<Host>("host", context_, hardware.host, program_sets(plan), 1,
                                       options.started_by);
      },
  });
  std::vector<NamedPort> ports = joined({{"host", &host_->port.socket}, {"fetch"}}, matrix_->memory_ports());
  if (options.started_by == StartedBy::kOutside) ports.push_back({"external"});
  const std::vector<UnitSockets> units = matrix_->units();
  order_.run({
      [&] {
        const std::vector<AddressRange> map{
            {0, to_unsigned(hardware.dram.size_bytes), kDramTarget, 1, kControllerBytes,
             hardware.dram.channels * hardware.dram.port_bytes_per_clock, "dram"},
            {kRegisterBase, kRegisterBase + kCommandRegisterBytes, kRegisterTarget}};
        interconnect_ =
            std::make_unique<Interconnect>("bus", hardware.interconnect, context_, names_of(ports), map);
      },
      [&] { control_ = make_control(context_of(0), hardware, units, kRegisterBase); },
  });
  bind_ports(*interconnect_, ports);
  bind_units(*control_, units);
  constexpr std::size_t kFetchPort = 1;
  control_->fetch.socket.bind(interconnect_->initiator_ports[kFetchPort]);
  interconnect_->target_ports[kDramTarget].bind(memory_.socket(0));
  interconnect_->target_ports[kRegisterTarget].bind(control_->registers);
  control_->interrupt.bind(host_->interrupts[0]);
  if (options.started_by == StartedBy::kOutside) offer(interconnect_->initiator_ports[ports.size() - 1]);
}

void Board::follow_programs(const Plan& plan) {
  host_->follow(program_sets(plan));
  matrix_->forget_tables();
}

void Board::visit(StatVisitor& visitor) {
  visitor.ledger("host", host_->ledger);
  visit_ledgers(visitor, *control_);
  matrix_->visit(visitor);
}

Cycle Board::settled_at() {
  LatestClock latest;
  visit(latest);
  return latest.at;
}

void Board::show_ledgers(UnitProbes& probes) {
  visit(probes);
  probes.bus("bus", *interconnect_);
  memory_.probe(probes);
}

Snapshot Board::take_snapshot(Cycle at) {
  Snapshot snapshot;
  snapshot.at = at;
  SnapshotVisitor visitor(snapshot, "");
  visit(visitor);
  visitor.bus("bus", *interconnect_);
  memory_.collect(visitor, context_.clock.at(at));
  visitor.control_counters(*control_);
  return snapshot;
}

}  // namespace tilebeat
