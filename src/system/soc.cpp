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

// Bytes that a debug transport through `socket` moved.
template <class Socket>
std::size_t debug_transport(Socket& socket, tlm::tlm_command command, std::uint64_t address,
                            std::vector<std::uint8_t>& data) {
  tlm::tlm_generic_payload payload;
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_ptr(data.data());
  payload.set_data_length(static_cast<unsigned>(data.size()));
  payload.set_streaming_width(static_cast<unsigned>(data.size()));
  return socket->transport_dbg(payload);
}

}  // namespace

Soc::Soc(sc_core::sc_module_name name, const HardwareConfig& hardware, const Plan& plan,
         const SimulationOptions& options, DeltaJitter* jitter)
    : sc_module(name),
      context_{ClockDomain(hardware.clock_ps()), options.observers, jitter},
      order_(options.build_order_seed != 0 ? BuildOrder(options.build_order_seed) : BuildOrder()) {
  build(hardware, plan, options);
  bind();
  for (const Fault& fault : options.faults) {
    engine_->input_banks.at(static_cast<std::size_t>(fault.bank))->inject_fault(fault.address, fault.mask);
  }
  control_->on_layer_end = [this](std::uint32_t layer, Cycle at) {
    layer_ends_.emplace_back(layer, take_snapshot(at));
  };
}

void Soc::build(const HardwareConfig& hardware, const Plan& plan, const SimulationOptions& options) {
  const int bus = hardware.interconnect.bytes_per_clock;
  const int word_bytes = hardware.switch_array.columns * hardware.switch_array.port_channels;
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
            std::make_unique<SwitchArrayEngine>("engine", context_, hardware.switch_array, bus,
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

void Soc::write_memory(std::uint64_t address, const std::vector<std::uint8_t>& bytes) {
  std::vector<std::uint8_t> copy = bytes;
  if (debug_transport(host_->port.socket, tlm::TLM_WRITE_COMMAND, address, copy) != copy.size()) {
    throw SimulationError(fmt::format("the loader cannot write {} bytes at {:#x}", copy.size(), address));
  }
}

std::vector<std::uint8_t> Soc::read_memory(std::uint64_t address, std::int64_t bytes) {
  std::vector<std::uint8_t> data(static_cast<std::size_t>(bytes));
  if (debug_transport(host_->port.socket, tlm::TLM_READ_COMMAND, address, data) != data.size()) {
    throw SimulationError(fmt::format("the loader cannot read {} bytes at {:#x}", bytes, address));
  }
  return data;
}

Snapshot Soc::take_snapshot(Cycle at) {
  Snapshot snapshot;
  snapshot.at = at;
  collect_ledgers(snapshot, at);
  collect_fabric(snapshot, at);
  collect_memories(snapshot);
  return snapshot;
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

void Soc::collect_ledgers(Snapshot& snapshot, Cycle at) {
  for (const auto& [name, ledger] : ledgers()) {
    ledger->settle(at);
    snapshot.modules.push_back({name, "npu", at, ledger->cycles()});
  }
  const SwitchStats& stats = engine_->switch_network->stats;
  snapshot.array = engine_->switch_network->ledger.cycles();
  snapshot.beats = stats.beats;
  snapshot.macs = stats.useful_macs;
  const auto count = [&](const char* module, const char* name, const char* unit, std::int64_t value) {
    snapshot.counters.push_back({module, name, unit, value});
  };
  count("control", "instructions", "instructions", control_->stats.instructions);
  count("control", "fetched", "bytes", control_->stats.fetched_bytes);
  count("dma_load", "streamed", "bytes", load_->bytes);
  count("dma_parameter", "streamed", "bytes", parameter_->bytes);
  count("dma_store", "stored", "bytes", store_->bytes);
  count("engine.switch", "beats", "beats", stats.beats);
  count("engine.switch", "chunks", "chunks", stats.chunks);
  count("engine.switch", "operation_cycles", "operation cycles", stats.operation_cycles);
  count("engine.switch", "bank_reads", "words", stats.bank_read_words);
  count("engine.pe", "useful_macs", "multiply-accumulates", stats.useful_macs);
  count("engine.post", "results", "results", engine_->post_processor->stats.results);
  count("engine.post", "lane_drains", "lanes", engine_->post_processor->stats.lane_drains);
}

void Soc::collect_fabric(Snapshot& snapshot, Cycle at) {
  interconnect_->settle(at);
  for (int i = 0; i < interconnect_->ports(); ++i) {
    const BusPortStatistics& port = interconnect_->statistics(PortId(i));
    const std::string name = "bus." + port.name;
    snapshot.modules.push_back({name + ".read", "npu", port.settled_at, port.read_cycles});
    snapshot.modules.push_back({name + ".write", "npu", port.settled_at, port.write_cycles});
    snapshot.counters.push_back({name, "read", "bytes", port.read_bytes});
    snapshot.counters.push_back({name, "written", "bytes", port.write_bytes});
    snapshot.counters.push_back({name, "read_bursts", "bursts", port.read_bursts});
    snapshot.counters.push_back({name, "write_bursts", "bursts", port.write_bursts});
  }
  dram_->settle(context_.clock.at(at));
  for (int i = 0; i < dram_->channels(); ++i) {
    const DramChannelStatistics& channel = dram_->statistics(i);
    const std::string name = fmt::format("dram.ch{}", i);
    snapshot.modules.push_back({name, "dram", channel.settled_at, channel.cycles});
    const auto count = [&](const char* what, const char* unit, std::int64_t value) {
      snapshot.counters.push_back({name, what, unit, value});
    };
    count("row_hits", "bursts", channel.row_hits);
    count("row_misses", "bursts", channel.row_misses);
    count("row_conflicts", "bursts", channel.row_conflicts);
    count("refreshes", "commands", channel.refreshes);
    count("read", "bytes", channel.read_bytes);
    count("written", "bytes", channel.write_bytes);
    count("data_bus", "bytes", channel.bus_bytes);
    // Bytes a picosecond times 10^6 are megabytes a second.
    const std::int64_t payload = channel.read_bytes + channel.write_bytes;
    count("achieved_bandwidth", "MB/s", at > 0 ? payload * 1'000'000 / context_.clock.at(at) : 0);
    snapshot.bytes.dram_read += channel.read_bytes;
    snapshot.bytes.dram_write += channel.write_bytes;
  }
}

void Soc::collect_memories(Snapshot& snapshot) {
  const auto count = [&](const std::string& module, const char* name, const char* unit, std::int64_t value) {
    snapshot.counters.push_back({module, name, unit, value});
  };
  const auto collect = [&](const SramBank& bank, const std::string& name, std::int64_t& read,
                           std::int64_t& write) {
    const BankPortStats& reads = bank.stats(SwitchArrayEngine::kReadPort);
    const BankPortStats& writes = bank.stats(SwitchArrayEngine::kWritePort);
    count(name, "read_port_busy", "clocks", reads.accesses);
    count(name, "write_port_busy", "clocks", writes.accesses);
    read += reads.bytes;
    write += writes.bytes;
  };
  MemoryBytes& bytes = snapshot.bytes;
  for (std::size_t i = 0; i < engine_->input_banks.size(); ++i) {
    collect(*engine_->input_banks[i], fmt::format("engine.b{}", i), bytes.input_buffer_read,
            bytes.input_buffer_write);
  }
  for (std::size_t i = 0; i < engine_->parameter_banks.size(); ++i) {
    collect(*engine_->parameter_banks[i], fmt::format("engine.w{}", i), bytes.parameter_buffer_read,
            bytes.parameter_buffer_write);
  }
  const int ports = static_cast<int>(engine_->output_buffer->ports.size());
  for (int port = 0; port < ports; ++port) {
    const BankPortStats& stats = engine_->output_buffer->stats(port);
    const bool reads = port == ports - 1;
    (reads ? bytes.output_buffer_read : bytes.output_buffer_write) += stats.bytes;
    count("engine.output_buffer", reads ? "read_port_busy" : fmt::format("write_port{}_busy", port).c_str(),
          "clocks", stats.accesses);
  }
}

}  // namespace tilebeat
