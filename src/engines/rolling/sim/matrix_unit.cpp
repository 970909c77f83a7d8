#include "tilebeat/units/matrix_unit.h"

#include "tilebeat/engines/rolling/sim/rolling_unit.h"

#include <fmt/format.h>

namespace tilebeat::rolling {
namespace {

std::optional<OperandMemories> memories_of(const HardwareConfig& hardware) {
  if (!hardware.chip) return std::nullopt;
  return OperandMemories{hardware.chip->core.nram, hardware.chip->core.wram};
}

/// The rolling-register unit as a core or a board sees it.
class RollingMatrixUnit : public MatrixUnit {
 public:
  explicit RollingMatrixUnit(const MatrixUnitContext& c)
      : unit_("rolling", c.context, c.hardware.engine<RollingConfig>(), c.hardware.dma.max_outstanding,
              memories_of(c.hardware), c.granularity) {}

  std::vector<NamedPort> memory_ports() override { return unit_.bus_ports(); }
  int nram_ports() const override { return RollingUnit::kNramPorts; }
  int wram_ports() const override { return RollingUnit::kWramPorts; }
  void bind_memories(Scratchpad& nram, Scratchpad& wram) override { unit_.bind_memories(nram, wram); }
  std::vector<UnitSockets> units() override { return {unit_sockets(Unit::kMatrix, unit_)}; }
  void visit(StatVisitor& visitor) override {
    visitor.ledger("rolling.array", unit_.ledger);
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < kOperands; ++i) {
      OperandLoader& loader = *unit_.loaders[i];
      const std::string module = fmt::format("rolling.{}", kOperandNames[i]);
      visitor.ledger(module + ".request", loader.request_ledger());
      visitor.ledger(module + ".load", loader.ledger);
      visitor.counter(module, "requests", "requests", loader.stats.requests);
      visitor.counter(module, "read", "bytes", loader.stats.bytes);
      visitor.counter(module, "lines", "lines", loader.stats.lines);
      elements += loader.stats.elements;
      if (!unit_.results.bus)
        visitor.own_bytes(module, i == 0 ? kOwnNramRead : kOwnWramRead, loader.stats.bytes);
    }
    visitor.ledger("rolling.results", unit_.results.ledger);
    visitor.ledger("rolling.write", unit_.results.request_ledger());
    const ArrayStats& stats = unit_.stats;
    visitor.array(unit_.ledger, stats.beats, stats.useful_macs);
    visitor.losses(stats.losses);
    visitor.counter("rolling.array", "beats", "beats", stats.beats);
    visitor.counter("rolling.array", "runs", "runs", stats.runs);
    visitor.counter("rolling.array", "rounds", "rounds", stats.rounds);
    visitor.counter("rolling.array", "rolls", "rolls", stats.rolls);
    visitor.counter("rolling.array", "exchanges", "exchanges", stats.exchanges);
    visitor.counter("rolling.array", "corrections", "corrections", stats.corrections);
    visitor.counter("rolling.array", "useful_macs", "multiply-accumulates", stats.useful_macs);
    visitor.counter("rolling.array", "operands", "elements", elements);
    visitor.counter("rolling.array", "operands_reloading", "elements", stats.elements_reloading);
    visitor.counter("rolling.results", "results", "results", unit_.results.stats.results);
    visitor.results(unit_.results.stats.results);
    visitor.counter("rolling.results", "realign", "cycles", unit_.results.stats.realign_clocks);
    visitor.counter("rolling.results", "write_requests", "requests", unit_.results.stats.requests);
    visitor.counter("rolling.results", "written", "bytes", unit_.results.stats.bytes);
    if (!unit_.results.bus) visitor.own_bytes("rolling.results", kOwnNramWrite, unit_.results.stats.bytes);
  }
  void inject_fault(const Fault& fault) override { unit_.inject_fault(fault); }
  void read_every_word() override { unit_.read_every_word(); }

 private:
  RollingUnit unit_;
};

}  // namespace

std::unique_ptr<MatrixUnit> make_unit(const MatrixUnitContext& context) {
  return std::make_unique<RollingMatrixUnit>(context);
}

}  // namespace tilebeat::rolling
