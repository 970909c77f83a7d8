#include "tilebeat/units/matrix_unit.h"

#include "tilebeat/engines/switch_array/sim/engine.h"
#include "tilebeat/engines/switch_array/sim/read_channel.h"
#include "tilebeat/engines/switch_array/sim/store_channel.h"

#include <fmt/format.h>

namespace tilebeat {
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
          load_ = std::make_unique<ReadChannel>(load_name_.c_str(), c.context, dma, array, Unit::kLoad);
        },
        [&] {
          parameter_ =
              std::make_unique<ReadChannel>(parameter_name_.c_str(), c.context, dma, array, Unit::kParameter);
        },
        [&] { store_ = std::make_unique<StoreChannel>(store_name_.c_str(), c.context, dma, width); },
        [&] {
          engine_ = std::make_unique<SwitchArrayEngine>("engine", c.context, array, width, c.granularity,
                                                        c.trace_accumulators, c.order);
        },
    });
    load_->stream.bind(engine_->arrangement->stream);
    parameter_->stream.bind(engine_->parameter_loader->stream);
    store_->source_holds = &engine_->holds.output;
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
    visitor.counter(store_name_, "stored", "bytes", store_->bytes);
  }
  void inject_fault(const Fault& fault) override {
    engine_->input_banks.at(static_cast<std::size_t>(fault.bank))->inject_fault(fault.address, fault.mask);
  }

 private:
  using Banks = std::vector<std::unique_ptr<SramBank>>;
  using Level = std::int64_t MemoryBytes::*;

  void visit_engine(StatVisitor& visitor) {
    engine_->arrangement->settle();
    engine_->parameter_loader->settle();
    engine_->switch_network->settle();
    engine_->pe_array->settle();
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
    const int reading = static_cast<int>(output.ports.size()) - 1;
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

namespace switch_array {

std::unique_ptr<MatrixUnit> make_unit(const MatrixUnitContext& context) {
  return std::make_unique<SwitchArrayUnit>(context);
}

}  // namespace switch_array

}  // namespace tilebeat
