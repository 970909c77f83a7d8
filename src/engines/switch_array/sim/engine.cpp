#include "engines/switch_array/sim/engine.h"

#include "engines/switch_array/config.h"
#include "engines/switch_array/sim/dma_channels.h"
#include "units/matrix_unit.h"

#include <fmt/format.h>

namespace tilebeat::switch_array {

SwitchArrayEngine::SwitchArrayEngine(sc_core::sc_module_name name, const SimContext& context,
                                     const SwitchArrayConfig& config, int bytes_per_clock,
                                     Granularity granularity, bool trace_accumulators, BuildOrder& order)
    : sc_module(name), input_banks(to_size(config.rows)), parameter_banks(to_size(config.columns)) {
  const int p = config.port_channels;
  const auto input_row = std::make_shared<TimedWrites>(to_size(config.rows));
  const auto parameter_row = std::make_shared<TimedWrites>(to_size(config.columns));
  std::vector<std::function<void()>> steps;
  steps.emplace_back([&] {
    arrangement = std::make_unique<InputArrangement>("arrangement", context, config, bytes_per_clock);
  });
  steps.emplace_back(
      [&] { switch_network = std::make_unique<SwitchNetwork>("switch", context, config, granularity); });
  steps.emplace_back(
      [&] { pe_array = std::make_unique<PeArray>("pe", context, config, trace_accumulators); });
  steps.emplace_back([&] {
    parameter_loader =
        std::make_unique<ParameterLoader>("parameter_loader", context, config, bytes_per_clock);
  });
  steps.emplace_back([&] { post_processor = std::make_unique<PostProcessor>("post", context, config); });
  steps.emplace_back([&] {
    output_buffer =
        std::make_unique<SramBank>("output_buffer", context, config.output_buffer_bytes, config.groups + 1);
    for (int g = 0; g < config.groups; ++g)
      output_buffer->trace_port(this->name(), fmt::format("out{}", g), g, 4 * config.columns, 1);
  });
  for (int i = 0; i < config.rows; ++i) {
    steps.emplace_back([&, i] {
      const std::string bank = fmt::format("b{}", i);
      auto& slot = nth(input_banks, i);
      slot = std::make_unique<SramBank>(bank.c_str(), context, std::int64_t{2} * config.bank_depth_words * p,
                                        2, 2, BankPlace{input_row, to_size(i)});
      slot->trace_port(fmt::format("{}.banks", this->name()), bank, kReadPort, p, p);
      slot->trace_port(fmt::format("{}.banks", this->name()), bank + "_write", kWritePort, p, p);
    });
  }
  for (int i = 0; i < config.columns; ++i) {
    steps.emplace_back([&, i] {
      const std::string bank = fmt::format("w{}", i);
      auto& slot = nth(parameter_banks, i);
      slot = std::make_unique<SramBank>(bank.c_str(), context, std::int64_t{config.parameter_depth_words} * p,
                                        2, 1, BankPlace{parameter_row, to_size(i)});
      slot->trace_port(fmt::format("{}.parameters", this->name()), bank, kReadPort, p, p);
      slot->trace_port(fmt::format("{}.parameters", this->name()), bank + "_write", kWritePort, p, p);
    });
  }
  order.run(std::move(steps));

  for (std::size_t i = 0; i < input_banks.size(); ++i) {
    arrangement->bank_write[i].bind(input_banks[i]->ports[kWritePort]);
    switch_network->bank_read[i].bind(input_banks[i]->ports[kReadPort]);
  }
  for (std::size_t i = 0; i < parameter_banks.size(); ++i) {
    parameter_loader->bank_write[i].bind(parameter_banks[i]->ports[kWritePort]);
    pe_array->parameter_read[i].bind(parameter_banks[i]->ports[kReadPort]);
  }
  switch_network->to_array.bind(pe_array->operands);
  pe_array->drain.bind(post_processor->drain);
  parameter_loader->post_write.bind(post_processor->parameters);
  parameter_loader->record_slots.bind(post_processor->slots);
  for (int g = 0; g < config.groups; ++g) {
    nth(post_processor->output, g).bind(nth(output_buffer->ports, g));
  }
}

namespace {

/// The switch array with its DMA channels.
class SwitchArrayUnit : public MatrixUnit {
 public:
  explicit SwitchArrayUnit(const MatrixUnitContext& c)
      : load_name_(c.channel_prefix + "load"),
        parameter_name_(c.channel_prefix + "parameter"),
        store_name_(c.channel_prefix + "store") {
    const auto& array = c.hardware.engine<SwitchArrayConfig>();
    const DmaConfig& dma = c.hardware.dma;
    const int width = c.hardware.matrix_bus_bytes();
    c.order.run({
        [&] {
          load_ =
              std::make_unique<ReadChannel>(load_name_.c_str(), c.context, dma, array, Unit::kLoad, width);
        },
        [&] {
          parameter_ = std::make_unique<ReadChannel>(parameter_name_.c_str(), c.context, dma, array,
                                                     Unit::kParameter, width);
        },
        [&] { store_ = std::make_unique<StoreChannel>(store_name_.c_str(), c.context, dma, width); },
        [&] {
          engine_ = std::make_unique<SwitchArrayEngine>("engine", c.context, array, width, c.granularity,
                                                        c.trace_accumulators, c.order);
        },
    });
    parameter_->decoder.most_scales = c.hardware.port_scales();
    parameter_->stream_bytes_per_clock = c.hardware.chip ? 0 : array.decode_bytes_per_clock;
    load_->stream.bind(engine_->arrangement->stream);
    parameter_->stream.bind(engine_->parameter_loader->stream);
    store_->source.bind(engine_->output_buffer->ports[engine_->output_buffer->ports.size() - 1]);
  }

  std::vector<NamedPort> memory_ports() override {
    return {{"load", &load_->port.socket},
            {"parameter", &parameter_->port.socket},
            {"store", &store_->port.socket}};
  }
  std::vector<UnitSockets> units() override {
    return {unit_sockets(Unit::kLoad, *load_),
            unit_sockets(Unit::kParameter, *parameter_),
            {Unit::kMatrix,
             &engine_->switch_network->command,
             {&engine_->switch_network->completion, &engine_->post_processor->completion}},
            unit_sockets(Unit::kStore, *store_)};
  }
  void visit(StatVisitor& visitor) override {
    visitor.ledger(load_name_ + ".request", load_->port.ledger);
    visitor.ledger(load_name_ + ".stream", load_->data_ledger);
    visitor.ledger(parameter_name_ + ".request", parameter_->port.ledger);
    visitor.ledger(parameter_name_ + ".stream", parameter_->data_ledger);
    visitor.ledger(store_name_ + ".request", store_->port.ledger);
    visitor.ledger(store_name_ + ".read", store_->data_ledger);
    visitor.ledger("engine.arrangement", engine_->arrangement->ledger);
    visitor.ledger("engine.parameter_loader", engine_->parameter_loader->ledger);
    visitor.ledger("engine.array", engine_->switch_network->ledger);
    visitor.ledger("engine.post", engine_->post_processor->ledger);
    visit_engine(visitor);
    visitor.counter(load_name_, "streamed", "bytes", load_->bytes);
    visitor.counter(parameter_name_, "streamed", "bytes", parameter_->bytes);
    visitor.counter(parameter_name_, kDecodedCounter, "weights", parameter_->decoded);
    visitor.decoded(parameter_->decoded);
    visitor.counter(store_name_, "stored", "bytes", store_->bytes);
  }
  void inject_fault(const Fault& fault) override {
    inject(fault, *engine_->input_banks.at(to_size(fault.bank)));
  }
  void upset_pe(const Fault& upset) override { engine_->pe_array->upset(upset); }

 private:
  using Banks = std::vector<std::unique_ptr<SramBank>>;
  using Level = std::int64_t MemoryBytes::*;

  void visit_engine(StatVisitor& visitor) {
    const SwitchStats& stats = engine_->switch_network->stats;
    const PostProcessor& post = *engine_->post_processor;
    visitor.array(engine_->switch_network->ledger, stats.beats, stats.useful_macs);
    visitor.losses(stats.losses);
    visitor.counter("engine.switch", "beats", "beats", stats.beats);
    visitor.counter("engine.switch", "chunks", "chunks", stats.chunks);
    visitor.counter("engine.switch", "operation_cycles", "operation cycles", stats.operation_cycles);
    visitor.counter("engine.switch", "bank_reads", "words", stats.bank_read_words);
    visitor.counter("engine.pe", "useful_macs", "multiply-accumulates", stats.useful_macs);
    visitor.counter("engine.post", "results", "results", post.stats.results);
    visitor.results(post.stats.results);
    visitor.counter("engine.post", "lane_drains", "lanes", post.stats.lane_drains);
    visit_banks(visitor, "engine.b", engine_->input_banks, &MemoryBytes::input_buffer_read,
                &MemoryBytes::input_buffer_write);
    visit_banks(visitor, "engine.w", engine_->parameter_banks, &MemoryBytes::parameter_buffer_read,
                &MemoryBytes::parameter_buffer_write);
    const SramBank& output = *engine_->output_buffer;
    const int reading = count_of(output.ports) - 1;
    for (int port = 0; port <= reading; ++port) {
      const BankPortStats& moved = output.stats(port);
      const bool reads = port == reading;
      visitor.bytes(reads ? &MemoryBytes::output_buffer_read : &MemoryBytes::output_buffer_write,
                    moved.bytes);
      visitor.counter("engine.output_buffer",
                      reads ? std::string("read_port_busy") : fmt::format("write_port{}_busy", port),
                      "cycles", moved.accesses);
    }
  }
  static void visit_banks(StatVisitor& visitor, const char* name, const Banks& banks, Level read,
                          Level write) {
    for (std::size_t i = 0; i < banks.size(); ++i) {
      const BankPortStats& reads = banks[i]->stats(SwitchArrayEngine::kReadPort);
      const BankPortStats& writes = banks[i]->stats(SwitchArrayEngine::kWritePort);
      const std::string bank = fmt::format("{}{}", name, i);
      visitor.counter(bank, "read_port_busy", "cycles", reads.accesses);
      visitor.counter(bank, "write_port_busy", "cycles", writes.accesses);
      visitor.bytes(read, reads.bytes);
      visitor.bytes(write, writes.bytes);
    }
  }

  std::string load_name_, parameter_name_, store_name_;
  std::unique_ptr<ReadChannel> load_, parameter_;
  std::unique_ptr<StoreChannel> store_;
  std::unique_ptr<SwitchArrayEngine> engine_;
};

}  // namespace

std::unique_ptr<MatrixUnit> make_unit(const MatrixUnitContext& context) {
  return std::make_unique<SwitchArrayUnit>(context);
}

}  // namespace tilebeat::switch_array
