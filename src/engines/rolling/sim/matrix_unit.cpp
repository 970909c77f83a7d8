#include "tilebeat/units/matrix_unit.h"

#include "tilebeat/engines/rolling/sim/rolling_unit.h"

#include <fmt/format.h>

namespace tilebeat::rolling {
namespace {

/// The rolling-register unit as a core or a board sees it.
class RollingMatrixUnit : public MatrixUnit {
 public:
  explicit RollingMatrixUnit(const MatrixUnitContext& c)
      : unit_("rolling", c.context, c.hardware.engine<RollingConfig>(), c.hardware.dma.max_outstanding,
              c.granularity) {}

  std::vector<NamedPort> memory_ports() override {
    return {{"rolling_a", &unit_.loaders[0].port.socket},
            {"rolling_b", &unit_.loaders[1].port.socket},
            {"rolling_results", &unit_.results.port.socket}};
  }
  std::vector<UnitSockets> units() override { return {unit_sockets(Unit::kMatrix, unit_)}; }
  void visit(StatVisitor& visitor) override {
    visitor.ledger("rolling.array", unit_.ledger);
    for (std::size_t i = 0; i < kOperands; ++i) {
      OperandLoader& loader = unit_.loaders[i];
      const std::string module = fmt::format("rolling.{}", kOperandNames[i]);
      visitor.ledger(module + ".request", loader.port.ledger);
      visitor.ledger(module + ".load", loader.ledger);
      visitor.counter(module, "requests", "requests", loader.stats.requests);
      visitor.counter(module, "read", "bytes", loader.stats.bytes);
      visitor.counter(module, "lines", "lines", loader.stats.lines);
    }
    visitor.ledger("rolling.results", unit_.results.ledger);
    visitor.ledger("rolling.write", unit_.results.port.ledger);
    const ArrayStats& stats = unit_.stats;
    visitor.array(unit_.ledger, stats.beats, stats.useful_macs);
    visitor.counter("rolling.array", "beats", "beats", stats.beats);
    visitor.counter("rolling.array", "runs", "runs", stats.runs);
    visitor.counter("rolling.array", "rounds", "rounds", stats.rounds);
    visitor.counter("rolling.array", "rolls", "rolls", stats.rolls);
    visitor.counter("rolling.array", "exchanges", "exchanges", stats.exchanges);
    visitor.counter("rolling.array", "corrections", "corrections", stats.corrections);
    visitor.counter("rolling.array", "useful_macs", "multiply-accumulates", stats.useful_macs);
    visitor.counter("rolling.array", "operands", "elements", stats.elements);
    visitor.counter("rolling.array", "operands_reloading", "elements", stats.elements_reloading);
    visitor.counter("rolling.results", "results", "results", unit_.results.stats.results);
    visitor.counter("rolling.results", "realign", "clocks", unit_.results.stats.realign_clocks);
    visitor.counter("rolling.results", "write_requests", "requests", unit_.results.stats.requests);
    visitor.counter("rolling.results", "written", "bytes", unit_.results.stats.bytes);
  }
  void inject_fault(const Fault& fault) override { unit_.inject_fault(fault); }

 private:
  RollingUnit unit_;
};

}  // namespace

std::unique_ptr<MatrixUnit> make_unit(const MatrixUnitContext& context) {
  return std::make_unique<RollingMatrixUnit>(context);
}

}  // namespace tilebeat::rolling
