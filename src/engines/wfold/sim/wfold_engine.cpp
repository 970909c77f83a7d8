#include "engines/wfold/sim/wfold_engine.h"

#include "engines/wfold/config.h"
#include "units/copy_engine.h"
#include "units/matrix_unit.h"

#include <fmt/format.h>

namespace tilebeat::wfold {

WfoldEngine::WfoldEngine(sc_core::sc_module_name name, const SimContext& context, const WfoldConfig& config,
                         int max_outstanding, std::uint64_t nram, std::int64_t region_bytes,
                         Granularity granularity, BuildOrder& order)
    : sc_module(name), slaves(to_size(config.slaves)) {
  std::vector<std::function<void()>> steps;
  steps.emplace_back([&] {
    master = std::make_unique<WfoldMaster>("master", context, config, max_outstanding, nram, region_bytes,
                                           granularity);
  });
  steps.emplace_back([&] {
    writer = std::make_unique<WfoldWriter>("writer", context, config, max_outstanding, nram, granularity);
  });
  for (int i = 0; i < config.slaves; ++i) {
    steps.emplace_back([&, i] {
      nth(slaves, i) = std::make_unique<WfoldSlave>(fmt::format("sl{}", i).c_str(), context, config, i);
    });
  }
  order.run(std::move(steps));

  for (std::size_t i = 0; i < slaves.size(); ++i) {
    master->slave_control[i].bind(slaves[i]->control);
    master->slave_chunks[i].bind(slaves[i]->chunks);
    master->slave_images[i].bind(slaves[i]->images);
    writer->results[i].bind(slaves[i]->results);
  }
  master->to_writer.bind(writer->tiles);
  writer->drained.bind(master->drained);
}

namespace {

/// The W-fold engine with the engine that folds maps in place.
class WfoldUnit : public MatrixUnit {
 public:
  explicit WfoldUnit(const MatrixUnitContext& c)
      : shared_(c.hardware.engine<WfoldConfig>().storage == StoragePlace::kShared),
        weight_port_bytes_(c.hardware.engine<WfoldConfig>().weight_port_bytes) {
    const CoreConfig& core = c.hardware.chip->core;
    const std::vector<AddressRange> map{{c.nram, c.nram + to_unsigned(core.nram.size_bytes), 0}};
    c.order.run({
        [&] {
          engine_ = std::make_unique<WfoldEngine>(
              "engine", c.context, c.hardware.engine<WfoldConfig>(), c.hardware.dma.max_outstanding, c.nram,
              core.wram.size_bytes / core.wram.banks, c.granularity, c.order);
        },
        [&] { fold_ = std::make_unique<CopyEngine>("fold", c.context, core.copy, Unit::kFold, map); },
    });
    for (auto& slave : engine_->slaves) slave->most_scales = c.hardware.port_scales();
  }

  std::vector<NamedPort> memory_ports() override {
    std::vector<NamedPort> ports;
    for (int i = 0; i < count_of(engine_->master->readers); ++i)
      ports.push_back({numbered("lines", i), &nth(engine_->master->readers, i)->port.socket});
    ports.push_back({"results", &engine_->writer->port.socket});
    ports.push_back({"fold_read", &fold_->outer.socket});
    ports.push_back({"fold_write", &fold_->inner.socket});
    return ports;
  }
  int region_port_bytes() const override { return weight_port_bytes_; }
  bool divides_memory() const override { return shared_; }
  std::vector<UnitSockets> units() override {
    return {{Unit::kMatrix,
             &engine_->master->command,
             {&engine_->master->completion, &engine_->writer->completion}},
            unit_sockets(Unit::kFold, *fold_)};
  }
  void bind_memories(Scratchpad& /*nram*/, Scratchpad& wram) override {
    for (std::size_t i = 0; i < engine_->slaves.size(); ++i)
      engine_->slaves[i]->region.bind(wram.region_port(to_int(i)));
    if (shared_) engine_->master->reservations.bind(wram.reservations);
  }
  void upset_pe(const Fault& upset) override { nth(engine_->slaves, upset.bank)->upset(upset); }
  void visit(StatVisitor& visitor) override {
    visitor.ledger("engine.array", engine_->master->slaves_ledger());
    visitor.ledger("engine.weights", engine_->master->weights_ledger());
    for (int i = 0; i < count_of(engine_->master->readers); ++i) {
      visitor.ledger(numbered("engine.broadcast", i), engine_->master->broadcast_ledger(i));
      visitor.ledger(numbered("engine.read", i), nth(engine_->master->readers, i)->port.ledger);
    }
    visitor.ledger("engine.drain", engine_->writer->drain_ledger);
    visitor.ledger("engine.write", engine_->writer->port.ledger);
    visitor.ledger("fold.read", fold_->read_ledger);
    visitor.ledger("fold.write", fold_->write_ledger);
    visit_engine(visitor);
    visitor.counter("fold", "written", "bytes", fold_->bytes);
    std::int64_t decoded = 0;
    for (std::size_t i = 0; i < engine_->slaves.size(); ++i) {
      const BankPortStats& port = engine_->slaves[i]->port;
      const std::string slave = fmt::format("engine.sl{}", i);
      visitor.counter(slave, "region_port_busy", "cycles", port.accesses);
      visitor.counter(slave, "results", "results", engine_->slaves[i]->results_read);
      visitor.own_bytes(slave, kOwnWramRead, port.bytes);
      decoded += engine_->slaves[i]->decoded;
    }
    visitor.counter("engine.weights", kDecodedCounter, "weights", decoded);
    visitor.decoded(decoded);
  }

 private:
  void visit_engine(StatVisitor& visitor) {
    const WfoldStats& stats = engine_->master->stats;
    const LineReaderStats reader = engine_->master->reader_stats();
    const WfoldWriterStats& writer = engine_->writer->stats;
    visitor.array(engine_->master->slaves_ledger(), stats.beats, stats.useful_macs);
    visitor.losses(stats.losses);
    visitor.counter("engine.master", "beats", "beats", stats.beats);
    visitor.counter("engine.master", "runs", "runs", stats.runs);
    visitor.counter("engine.master", "tiles", "tiles", stats.tiles);
    visitor.counter("engine.master", "refills", "refills", stats.refills);
    visitor.counter("engine.master", "broadcast_lines", "lines", stats.broadcast_lines);
    visitor.counter("engine.master", "kernel_lines", "lines a slave", stats.kernel_lines);
    visitor.counter("engine.master", "useful_macs", "multiply-accumulates", stats.useful_macs);
    visitor.counter("engine.master", "read_requests", "requests", reader.requests);
    visitor.counter("engine.master", "read", "bytes", reader.bytes);
    visitor.counter("engine.writer", "results", "results", writer.results);
    visitor.results(writer.results);
    visitor.counter("engine.writer", "write_requests", "requests", writer.requests);
    visitor.counter("engine.writer", "written", "bytes", writer.bytes);
  }

  bool shared_;  // NRAM and WRAM are one memory
  int weight_port_bytes_;
  std::unique_ptr<WfoldEngine> engine_;
  std::unique_ptr<CopyEngine> fold_;
};

}  // namespace

std::unique_ptr<MatrixUnit> make_unit(const MatrixUnitContext& context) {
  return std::make_unique<WfoldUnit>(context);
}

}  // namespace tilebeat::wfold
