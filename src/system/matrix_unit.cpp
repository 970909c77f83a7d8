#include "tilebeat/system/matrix_unit.h"

#include "tilebeat/engines/switch_array/sim/engine.h"
#include "tilebeat/engines/switch_array/sim/read_channel.h"
#include "tilebeat/engines/switch_array/sim/store_channel.h"
#include "tilebeat/engines/wfold/sim/engine.h"
#include "tilebeat/units/copy_engine.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

class SwitchArrayUnit : public MatrixUnit {
 public:
  explicit SwitchArrayUnit(const MatrixUnitContext& c) : c_(c) {}

  std::vector<std::function<void()>> build() override {
    const SwitchArrayConfig& array = c_.hardware.engine<SwitchArrayConfig>();
    const int width = c_.hardware.chip->core.bus.bytes_per_clock;
    const int word_bytes = array.columns * array.port_channels;
    const DmaConfig& dma = c_.hardware.dma;
    return {
        [=] { load_ = std::make_unique<ReadChannel>("load", c_.context, dma, Unit::kLoad, word_bytes); },
        [=] {
          parameter_ =
              std::make_unique<ReadChannel>("parameter", c_.context, dma, Unit::kParameter, word_bytes);
        },
        [=] { store_ = std::make_unique<StoreChannel>("store", c_.context, dma, width); },
        [=] {
          engine_ = std::make_unique<SwitchArrayEngine>(
              "engine", c_.context, c_.hardware.engine<SwitchArrayConfig>(), width, c_.options.granularity,
              c_.options.trace_accumulators, c_.order);
        },
    };
  }
  void bind(Interconnect& bus, CommandProcessor& control, Scratchpad&) override {
    load_->port.socket.bind(bus.initiator_ports[0]);
    parameter_->port.socket.bind(bus.initiator_ports[1]);
    store_->port.socket.bind(bus.initiator_ports[2]);
    control.units[0].bind(load_->command);
    control.units[1].bind(parameter_->command);
    control.units[2].bind(engine_->switch_network->command);
    control.units[3].bind(store_->command);
    load_->completion.bind(control.completions[0]);
    parameter_->completion.bind(control.completions[1]);
    engine_->switch_network->completion.bind(control.completions[2]);
    engine_->post_processor->completion.bind(control.completions[3]);
    store_->completion.bind(control.completions[4]);
    load_->stream.bind(engine_->arrangement->stream);
    parameter_->stream.bind(engine_->parameter_loader->stream);
    store_->source.bind(engine_->output_buffer->ports[engine_->output_buffer->ports.size() - 1]);
  }
  std::vector<std::pair<std::string, CycleLedger*>> ledgers() override {
    return {{"load.request", &load_->port.ledger},
            {"load.stream", &load_->data_ledger},
            {"parameter.request", &parameter_->port.ledger},
            {"parameter.stream", &parameter_->data_ledger},
            {"store.request", &store_->port.ledger},
            {"store.read", &store_->data_ledger},
            {"engine.arrangement", &engine_->arrangement->ledger},
            {"engine.parameter_loader", &engine_->parameter_loader->ledger},
            {"engine.array", &engine_->switch_network->ledger},
            {"engine.post", &engine_->post_processor->ledger}};
  }
  void collect(Snapshot& snapshot, const std::string& prefix) override {
    collect_engine(snapshot, prefix, *engine_);
  }
  void inject_fault(const Fault& fault, Scratchpad&) override {
    engine_->input_banks.at(static_cast<std::size_t>(fault.bank))->inject_fault(fault.address, fault.mask);
  }

 private:
  MatrixUnitContext c_;
  std::unique_ptr<ReadChannel> load_, parameter_;
  std::unique_ptr<StoreChannel> store_;
  std::unique_ptr<SwitchArrayEngine> engine_;
};

class WfoldUnit : public MatrixUnit {
 public:
  explicit WfoldUnit(const MatrixUnitContext& c) : c_(c) {}

  std::vector<std::function<void()>> build() override {
    const CoreConfig& core = c_.hardware.chip->core;
    const std::vector<AddressRange> map{
        {c_.nram, c_.nram + static_cast<std::uint64_t>(core.nram.size_bytes), 0}};
    return {
        [this, &core] {
          engine_ = std::make_unique<WfoldEngine>(
              "engine", c_.context, c_.hardware.engine<WfoldConfig>(), c_.hardware.dma.max_outstanding,
              c_.nram, core.wram.size_bytes / core.wram.banks, c_.options.granularity, c_.order);
        },
        [this, &core, map] {
          fold_ = std::make_unique<CopyEngine>("fold", c_.context, core.copy, Unit::kFold, map);
        },
    };
  }
  void bind(Interconnect& bus, CommandProcessor& control, Scratchpad& wram) override {
    engine_->master->reader.port.socket.bind(bus.initiator_ports[0]);
    engine_->writer->port.socket.bind(bus.initiator_ports[1]);
    fold_->outer.socket.bind(bus.initiator_ports[2]);
    fold_->inner.socket.bind(bus.initiator_ports[3]);
    control.units[0].bind(engine_->master->command);
    control.units[1].bind(fold_->command);
    engine_->master->completion.bind(control.completions[0]);
    engine_->writer->completion.bind(control.completions[1]);
    fold_->completion.bind(control.completions[2]);
    for (std::size_t i = 0; i < engine_->slaves.size(); ++i)
      engine_->slaves[i]->region.bind(wram.region_port(static_cast<int>(i)));
    wram_ = &wram;
  }
  std::vector<std::pair<std::string, CycleLedger*>> ledgers() override {
    return {{"engine.array", &engine_->master->slaves_ledger()},
            {"engine.weights", &engine_->master->weights_ledger()},
            {"engine.broadcast", &engine_->master->broadcast_ledger()},
            {"engine.read", &engine_->master->reader.port.ledger},
            {"engine.drain", &engine_->writer->drain_ledger},
            {"engine.write", &engine_->writer->port.ledger},
            {"fold.read", &fold_->read_ledger},
            {"fold.write", &fold_->write_ledger}};
  }
  void collect(Snapshot& snapshot, const std::string& prefix) override {
    collect_wfold(snapshot, prefix, *engine_);
    snapshot.count(prefix + "fold", "written", "bytes", fold_->bytes);
    for (std::size_t i = 0; i < engine_->slaves.size(); ++i) {
      const BankPortStats& port = wram_->region_stats(static_cast<int>(i));
      const std::string name = fmt::format("{}engine.sl{}", prefix, i);
      snapshot.count(name, "region_port_busy", "clocks", port.accesses);
      snapshot.count(name, "region_port_read", "bytes", port.bytes);
      snapshot.count(name, "results", "results", engine_->slaves[i]->results_read);
      snapshot.bytes.wram_read += port.bytes;
    }
  }
  void inject_fault(const Fault& fault, Scratchpad& nram) override {
    nram.inject_fault(fault.bank, fault.address, fault.mask);
  }

 private:
  MatrixUnitContext c_;
  std::unique_ptr<WfoldEngine> engine_;
  std::unique_ptr<CopyEngine> fold_;
  const Scratchpad* wram_ = nullptr;
};

}  // namespace

std::vector<std::string> MatrixUnit::bus_ports(const std::string& dataflow) {
  if (dataflow == kWfoldDataflow) return {"lines", "results", "fold_read", "fold_write"};
  return {"load", "parameter", "store"};
}

std::vector<Unit> MatrixUnit::units(const std::string& dataflow) {
  if (dataflow == kWfoldDataflow) return {Unit::kMatrix, Unit::kFold};
  return {Unit::kLoad, Unit::kParameter, Unit::kMatrix, Unit::kStore};
}

int MatrixUnit::completions(const std::string& dataflow) {
  return dataflow == kWfoldDataflow ? 3 : 5;
}

std::unique_ptr<MatrixUnit> make_matrix_unit(const MatrixUnitContext& context) {
  if (context.hardware.dataflow == kWfoldDataflow) return std::make_unique<WfoldUnit>(context);
  return std::make_unique<SwitchArrayUnit>(context);
}

}  // namespace tilebeat
