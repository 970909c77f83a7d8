#include "tilebeat/units/matrix_unit.h"

#include "tilebeat/engines/offset_table/sim/offset_unit.h"

namespace tilebeat::offset_table {
namespace {

/// The offset-table engine as a core sees it.
class OffsetMatrixUnit : public MatrixUnit {
 public:
  explicit OffsetMatrixUnit(const MatrixUnitContext& c)
      : unit_("offset", c.context, c.hardware.engine<OffsetConfig>(), c.hardware.dma,
              c.hardware.chip->core.nram, c.hardware.chip->core.wram, c.granularity) {}

  std::vector<NamedPort> memory_ports() override { return {}; }
  std::vector<NamedPort> dram_ports() override { return {{"tables", &unit_.tables.port.socket}}; }
  int nram_ports() const override { return OffsetUnit::kNramPorts; }
  int wram_ports() const override { return OffsetUnit::kWramPorts; }
  void bind_memories(Scratchpad& nram, Scratchpad& wram) override {
    nram_ = &nram;
    unit_.bind_memories(nram, wram);
  }
  std::vector<UnitSockets> units() override { return {unit_sockets(Unit::kMatrix, unit_)}; }
  void visit(StatVisitor& visitor) override {
    visitor.ledger("offset.lanes", unit_.ledger);
    visitor.ledger("offset.tables", unit_.tables.port.ledger);
    const LaneStats& lanes = unit_.stats;
    visitor.array(unit_.ledger, lanes.beats, lanes.useful_macs);
    visitor.losses(lanes.losses);
    visitor.counter("offset.lanes", "beats", "beats", lanes.beats);
    visitor.counter("offset.lanes", "runs", "runs", lanes.runs);
    visitor.counter("offset.lanes", "useful_macs", "multiply-accumulates", lanes.useful_macs);
    visitor.counter("offset.lanes", "results", "results", lanes.results);
    visitor.results(lanes.results);
    const CacheStats& cache = unit_.pipeline().cache.stats;
    visitor.counter("offset.cache", "hits", "lines", cache.hits);
    visitor.counter("offset.cache", "misses", "lines", cache.misses);
    visitor.counter("offset.cache", "evictions", "lines", cache.evictions);
    visitor.counter("offset.cache", "words", "bank accesses", cache.words);
    visitor.counter("offset.cache", "bank_conflict", "cycles", cache.conflict_cycles);
    const TableStats& tables = unit_.tables.stats;
    visitor.counter("offset.tables", "loads", "tables", tables.loads);
    visitor.counter("offset.tables", "reused", "runs", tables.reused);
    visitor.counter("offset.tables", "largest", "bytes", tables.largest_bytes);
    visitor.counter("offset.tables", "loaded", "bytes", tables.loaded_bytes);
    visitor.counter("offset.tables", "streamed", "bytes", tables.streamed_bytes);
    visitor.counter("offset.tables", "address_cycles_saved", "cycles", unit_.pipeline().cycles_saved());
    visitor.counter("offset.tables", "im2col", "bytes", lanes.im2col_bytes);
    visitor.counter("offset.tables", "pointers", "bytes", lanes.pointer_bytes);
    visitor.own_bytes("offset.cache", kOwnNramRead, lanes.nram_read);
    visitor.own_bytes("offset.lanes", kOwnNramWrite, lanes.nram_written);
    visitor.own_bytes("offset.lanes", kOwnWramRead, lanes.wram_read);
  }
  void read_every_word() override { unit_.read_every_word(); }
  void inject_fault(const Fault& fault) override {
    read_every_word();
    nram_->inject_fault(fault.bank, fault.address, fault.mask);
  }

 private:
  OffsetUnit unit_;
  Scratchpad* nram_ = nullptr;
};

}  // namespace

std::unique_ptr<MatrixUnit> make_unit(const MatrixUnitContext& context) {
  return std::make_unique<OffsetMatrixUnit>(context);
}

}  // namespace tilebeat::offset_table
