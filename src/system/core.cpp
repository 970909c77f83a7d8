#include "system/core.h"

#include "isa/address_map.h"

namespace tilebeat {

std::vector<std::string> names_of(const std::vector<NamedPort>& ports) {
  std::vector<std::string> names;
  for (const NamedPort& port : ports) names.push_back(port.name);
  return names;
}

void bind_ports(Interconnect& bus, const std::vector<NamedPort>& ports) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].socket != nullptr) ports[i].socket->bind(bus.initiator_ports[i]);
  }
}

std::unique_ptr<CommandProcessor> make_control(const SimContext& context, const HardwareConfig& hardware,
                                               const std::vector<UnitSockets>& units,
                                               std::uint64_t registers) {
  std::vector<std::vector<Unit>> present;
  std::size_t completions = 0;
  for (const UnitSockets& unit : units) {
    present.push_back(joined(std::vector<Unit>{unit.unit}, unit.also));
    completions += unit.completions.size();
  }
  return std::make_unique<CommandProcessor>("control", context, hardware.host, hardware.dma, present,
                                            to_int(completions), registers);
}

void bind_units(CommandProcessor& control, const std::vector<UnitSockets>& units) {
  std::size_t completion = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    control.units[i].bind(*units[i].command);
    for (MessageInitiator<UnitMessage>* socket : units[i].completions)
      socket->bind(control.completions[completion++]);
  }
}

namespace {

enum CoreTarget { kNramTarget, kWramTarget };

std::vector<AddressRange> core_map(const CoreConfig& config, int core) {
  const std::uint64_t nram = nram_address(core), wram = wram_address(core);
  return {{nram, nram + to_unsigned(config.nram.size_bytes), kNramTarget},
          {wram, wram + to_unsigned(config.wram.size_bytes), kWramTarget}};
}

}  // namespace

Core::Core(sc_core::sc_module_name name, const SimContext& outer, const HardwareConfig& hardware, int core,
           int processor, const SimulationOptions& options, BuildOrder& order)
    : sc_module(name),
      system_watch_(outer.watch),
      context_(outer),
      engine_cells_(hardware.matrix_engine().fault_space(hardware).cells) {
  context_.watch = this;
  context_.races = &races_;
  const SimContext& context = context_;
  const CoreConfig& config = hardware.chip->core;
  const int width = config.bus.bytes_per_clock, decoder = hardware.chip->decode_bytes_per_clock;
  std::vector<AddressRange> map = core_map(config, core);
  const std::uint64_t nram = map[kNramTarget].begin, wram = map[kWramTarget].begin;
  order.run({
      [&] {
        matrix_ = make_matrix_unit(
            {context, hardware, order, options.granularity, options.trace_accumulators, "", nram});
      },
      [&] { vector_ = std::make_unique<VectorUnit>("vector", context, config.vector, config.copy, nram); },
      [&] {
        iodma = std::make_unique<CopyEngine>("iodma", context, config.copy, Unit::kIodma, map,
                                             std::vector<CopySide>{}, decoder);
      },
      [&] {
        mvdma = std::make_unique<CopyEngine>("mvdma", context, config.copy, Unit::kMvdma, map,
                                             std::vector<CopySide>{}, decoder);
      },
      [&] {
        if (config.stores == StoreOrder::kBehindLoads) return;
        iostore = std::make_unique<CopyEngine>("iostore", context, config.copy, Unit::kIostore, map);
      },
  });
  std::vector<NamedPort> ports = joined(matrix_->memory_ports(), {{"vector_a", &vector_->a.socket},
                                                                  {"vector_b", &vector_->b.socket},
                                                                  {"vector_result", &vector_->result.socket},
                                                                  {"iodma", &iodma->inner.socket},
                                                                  {"mvdma", &mvdma->inner.socket}});
  if (iostore) ports.push_back({"iostore", &iostore->inner.socket});
  ports.push_back({"broadcast"});
  const bool divided = matrix_->divides_memory();
  if (divided) map[kWramTarget].target = kNramTarget;  // the first block takes the requests to both
  std::vector<UnitSockets> units =
      joined(matrix_->units(), {unit_sockets(Unit::kVector, *vector_), unit_sockets(Unit::kIodma, *iodma),
                                unit_sockets(Unit::kMvdma, *mvdma)});
  if (iostore) units.push_back(unit_sockets(Unit::kIostore, *iostore));
  order.run({
      [&] { bus = std::make_unique<Interconnect>("bus", config.bus, context, names_of(ports), map); },
      [&] {
        nram_ = std::make_unique<Scratchpad>("nram", context, config.nram, config.nram.size_bytes, nram,
                                             width, 0, matrix_->nram_ports());
      },
      [&] {
        wram_ = std::make_unique<Scratchpad>("wram", context, config.wram, config.wram.size_bytes, wram,
                                             width, matrix_->region_port_bytes(), matrix_->wram_ports());
      },
      [&] { control = make_control(context, hardware, units, register_address(processor)); },
  });
  bind_ports(*bus, ports);
  bind_units(*control, units);
  bus->target_ports[kNramTarget].bind(nram_->socket);
  if (divided)
    nram_->divide(std::move(wram_));
  else
    bus->target_ports[kWramTarget].bind(wram_->socket);
  matrix_->bind_memories(*nram_, wram_block());

  SC_METHOD(record_begin);
  sensitive << begun_;
  dont_initialize();
}

std::vector<NamedPort> Core::dram_ports() {
  std::vector<NamedPort> ports = matrix_->dram_ports();
  if (iostore) ports.push_back({"iostore", &iostore->outer.socket});
  return ports;
}

void Core::matrix_begun(Cycle at) {
  is_begin_recorded_ = false;
  begun_.notify(to_sc_time(context_.clock.at(at, Phase::kRecord) - now_ps()));
}

void Core::layer_ended(std::uint32_t layer, Cycle at) {
  if (system_watch_ != nullptr) system_watch_->layer_ended(layer, at);
}

void Core::record_begin() {
  at_begin_ = {};
  at_begin_.at = context_.clock.cycle_of(now_ps());
  count(at_begin_);
  is_begin_recorded_ = true;
}

void Core::inject_fault(const PlacedFault& fault) {
  if (fault.place == FaultPlace::kPe) return matrix_->upset_pe(fault.cell);
  if (fault.place == FaultPlace::kEngine && engine_cells_ == FaultSpace::Cells::kOwn)
    return matrix_->inject_fault(fault.cell);
  Scratchpad& memory = fault.place == FaultPlace::kWram ? wram_block() : *nram_;
  inject(fault.cell, memory.bank(fault.cell.bank));
  matrix_->read_every_word();
}

void Core::visit(StatVisitor& visitor) {
  visit_ledgers(visitor, *control);
  matrix_->visit(visitor);
  visitor.ledger("vector", vector_->ledger);
  visitor.helper(HelperUnit::kVector, vector_->ledger);
  visitor.ledger("vector.a", vector_->a.ledger);
  visitor.ledger("vector.b", vector_->b.ledger);
  visitor.ledger("vector.result", vector_->result.ledger);
  visit_ledgers(visitor, "iodma", *iodma);
  visit_ledgers(visitor, "mvdma", *mvdma);
  if (iostore) visit_ledgers(visitor, "iostore", *iostore);
}

Cycle Core::settled_at() {
  LatestClock latest;
  visit(latest);
  return latest.at;
}

void Core::leave_unused() {
  UnusedUnits unused;
  visit(unused);
}

void Core::probe(UnitProbes& probes) {
  probes.within(report_name(*this));
  visit(probes);
  probes.bus("bus", *bus);
}

// The two granularities account for runs at different times: while the core works on a layer, it adds the
// counts from the beginning of that work. Where that begins in this very cycle, it may not be recorded yet:
// processes of one instant run in any order (SPEC CY-4).
void Core::collect(Snapshot& snapshot) {
  if (control->layer_begun() && is_begin_recorded_ && at_begin_.at < snapshot.at)
    snapshot.add(at_begin_);
  else
    count(snapshot);
}

void Core::count(Snapshot& snapshot) {
  const auto of = [](const ActivityCycles& cycles, Activity a) { return nth(cycles, a); };
  CoreResult core;
  core.name = report_name(*this);
  core.macs = -snapshot.macs, core.busy = -of(snapshot.array, Activity::kBusy);
  SnapshotVisitor visitor(snapshot, core.name);
  visit(visitor);
  core.macs += snapshot.macs, core.busy += of(snapshot.array, Activity::kBusy);
  core.barrier = of(control->ledger.cycles(), Activity::kBarrier);
  core.peer = of(control->ledger.cycles(), Activity::kPeer);
  snapshot.cores.push_back(core);
  visitor.bus("bus", *bus);
  visitor.scratchpad("nram", *nram_, &MemoryBytes::nram_read, &MemoryBytes::nram_write);
  visitor.scratchpad("wram", wram_block(), &MemoryBytes::wram_read, &MemoryBytes::wram_write);
  visitor.control_counters(*control);
  visitor.counter("vector", "results", "elements", vector_->results);
  visitor.results(vector_->results);
  visitor.counter("vector", "lane_clocks", "cycles", vector_->lane_clocks);
  visitor.counter("iodma", "written", "bytes", iodma->bytes);
  visitor.counter("iodma", "filled", "bytes", iodma->filled);
  visitor.counter("iodma", kDecodedCounter, "weights", iodma->decoded);
  visitor.counter("mvdma", "written", "bytes", mvdma->bytes);
  visitor.counter("mvdma", "filled", "bytes", mvdma->filled);
  visitor.counter("mvdma", kDecodedCounter, "weights", mvdma->decoded);
  if (iostore) visitor.counter("iostore", "written", "bytes", iostore->bytes);
}

}  // namespace tilebeat
