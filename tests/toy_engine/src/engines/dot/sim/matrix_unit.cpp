#include "units/matrix_unit.h"

#include "engines/dot/sim/dot_unit.h"

namespace tilebeat::dot {
namespace {

/// The dot-product engine as a core sees it.
class DotMatrixUnit : public MatrixUnit {
 public:
  explicit DotMatrixUnit(const MatrixUnitContext& c)
      : dot_("dot", c.context, c.hardware.engine<DotConfig>(), c.hardware.dma) {}

  std::vector<NamedPort> memory_ports() override {
    return {{"dot_operands", &dot_.operands.socket}, {"dot_results", &dot_.results.socket}};
  }
  std::vector<UnitSockets> units() override { return {unit_sockets(Unit::kMatrix, dot_)}; }
  void visit(StatVisitor& visitor) override {
    visitor.ledger("dot", dot_.ledger);
    visitor.ledger("dot.operands", dot_.operands.ledger);
    visitor.ledger("dot.results", dot_.results.ledger);
    visitor.array(dot_.ledger, dot_.beats, dot_.useful_macs);
    visitor.counter("dot", "beats", "beats", dot_.beats);
    visitor.counter("dot", "useful_macs", "multiply-accumulates", dot_.useful_macs);
    visitor.counter("dot", "kernels_loaded", "kernels", dot_.kernels_loaded);
  }

 private:
  DotUnit dot_;
};

}  // namespace

std::unique_ptr<MatrixUnit> make_unit(const MatrixUnitContext& context) {
  return std::make_unique<DotMatrixUnit>(context);
}

}  // namespace tilebeat::dot
