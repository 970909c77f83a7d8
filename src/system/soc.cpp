#include "tilebeat/system/soc.h"

#include "tilebeat/base/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::uint64_t kRegisterBase = std::uint64_t{1} << 44;  // above any DRAM
enum BusPort { kHostPort, kFetchPort, kLoadPort, kParameterPort, kStorePort };
const std::vector<std::string> kBusPorts{"host", "fetch", "load", "parameter", "store"};
const std::vector<Unit> kUnits{Unit::kLoad, Unit::kParameter, Unit::kMatrix, Unit::kStore};
enum BusTarget { kDramTarget, kRegisterTarget };
enum CompletionPort { kLoadDone, kParameterDone, kStoreDone, kSwitchDone, kPostDone, kCompletionPorts };

}  // namespace

Soc::Soc(sc_core::sc_module_name name, const HardwareConfig& hardware, const Plan& plan,
         const SimulationOptions& options, DeltaJitter* jitter)
    : System(name, hardware, plan, options, jitter) {
  build(hardware, plan, options);
  bind();
  for (const Fault& fault : options.faults) {
    engine_->input_banks.at(static_cast<std::size_t>(fault.bank))->inject_fault(fault.address, fault.mask);
  }
  observe(*control_);
  observe(*host_);
}

void Soc::build(const HardwareConfig& hardware, const Plan& plan, const SimulationOptions& options) {
  const int bus = hardware.interconnect.bytes_per_clock;
  const int word_bytes =
      hardware.engine<SwitchArrayConfig>().columns * hardware.engine<SwitchArrayConfig>().port_channels;
  std::vector<ProgramSet> programs;
  for (const ProgramImage& program : plan.programs) {
    programs.push_back(
        {program.label, {{kRegisterBase, program.address, program.instructions.size() * kInstructionBytes}}});
  }
  const std::vector<AddressRange> map{
      {0, static_cast<std::uint64_t>(hardware.dram.size_bytes), kDramTarget},
      {kRegisterBase, kRegisterBase + kCommandRegisterBytes, kRegisterTarget}};
  order_.run({
      [&] {
        interconnect_ =
            std::make_unique<Interconnect>("bus", hardware.interconnect, context_, kBusPorts, map);
      },
      [&] { dram_ = std::make_unique<DramController>("dram", hardware.dram, context_); },
      [&] { host_ = std::make_unique<Host>("host", context_, hardware.host, programs, 1); },
      [&] {
        control_ = std::make_unique<CommandProcessor>("control", context_, hardware.host, hardware.dma,
                                                      kUnits, kCompletionPorts, kRegisterBase);
      },
      [&] {
        load_ = std::make_unique<ReadChannel>("dma_load", context_, hardware.dma, Unit::kLoad, word_bytes);
      },
      [&] {
        parameter_ = std::make_unique<ReadChannel>("dma_parameter", context_, hardware.dma, Unit::kParameter,
                                                   word_bytes);
      },
      [&] { store_ = std::make_unique<StoreChannel>("dma_store", context_, hardware.dma, bus); },
      [&] {
        engine_ =
            std::make_unique<SwitchArrayEngine>("engine", context_, hardware.engine<SwitchArrayConfig>(), bus,
                                                options.granularity, options.trace_accumulators, order_);
      },
  });
}

void Soc::bind() {
  auto& ports = interconnect_->initiator_ports;
  host_->port.socket.bind(ports[kHostPort]);
  control_->fetch.socket.bind(ports[kFetchPort]);
  load_->port.socket.bind(ports[kLoadPort]);
  parameter_->port.socket.bind(ports[kParameterPort]);
  store_->port.socket.bind(ports[kStorePort]);
  interconnect_->target_ports[kDramTarget].bind(dram_->socket);
  interconnect_->target_ports[kRegisterTarget].bind(control_->registers);
  control_->interrupt.bind(host_->interrupts[0]);

  control_->units[0].bind(load_->command);
  control_->units[1].bind(parameter_->command);
  control_->units[2].bind(engine_->switch_network->command);
  control_->units[3].bind(store_->command);
  load_->completion.bind(control_->completions[kLoadDone]);
  parameter_->completion.bind(control_->completions[kParameterDone]);
  store_->completion.bind(control_->completions[kStoreDone]);
  engine_->switch_network->completion.bind(control_->completions[kSwitchDone]);
  engine_->post_processor->completion.bind(control_->completions[kPostDone]);

  load_->stream.bind(engine_->arrangement->stream);
  parameter_->stream.bind(engine_->parameter_loader->stream);
  store_->source.bind(engine_->output_buffer->ports[engine_->output_buffer->ports.size() - 1]);
}

Snapshot Soc::snapshot_now() {
  Cycle at = now();
  for (const auto& [name, ledger] : ledgers()) at = std::max(at, ledger->settled_at());
  return take_snapshot(at);
}

std::vector<std::pair<const char*, CycleLedger*>> Soc::ledgers() {
  return {{"host", &host_->ledger},
          {"control.decode", &control_->ledger},
          {"control.fetch", &control_->fetch.ledger},
          {"dma_load.request", &load_->port.ledger},
          {"dma_load.stream", &load_->data_ledger},
          {"dma_parameter.request", &parameter_->port.ledger},
          {"dma_parameter.stream", &parameter_->data_ledger},
          {"dma_store.request", &store_->port.ledger},
          {"dma_store.read", &store_->data_ledger},
          {"engine.arrangement", &engine_->arrangement->ledger},
          {"engine.parameter_loader", &engine_->parameter_loader->ledger},
          {"engine.array", &engine_->switch_network->ledger},
          {"engine.post", &engine_->post_processor->ledger}};
}

Snapshot Soc::take_snapshot(Cycle at) {
  Snapshot snapshot;
  snapshot.at = at;
  for (const auto& [name, ledger] : ledgers()) collect_ledger(snapshot, name, *ledger, at);
  collect_engine(snapshot, "", *engine_);
  collect_bus(snapshot, "bus", *interconnect_, at);
  collect_dram(snapshot, "dram", *dram_, context_.clock.at(at));
  snapshot.count("control", "instructions", "instructions", control_->stats.instructions);
  snapshot.count("control", "fetched", "bytes", control_->stats.fetched_bytes);
  snapshot.count("dma_load", "streamed", "bytes", load_->bytes);
  snapshot.count("dma_parameter", "streamed", "bytes", parameter_->bytes);
  snapshot.count("dma_store", "stored", "bytes", store_->bytes);
  return snapshot;
}

}  // namespace tilebeat
