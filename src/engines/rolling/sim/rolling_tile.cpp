// The rolling-register unit in tile granularity: a round in one step, as soon as its first cycle is known.
#include "engines/rolling/sim/pe_array.h"
#include "engines/rolling/sim/rolling_unit.h"
#include "units/matrix_unit.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace tilebeat::rolling {

void RollingUnit::run_ahead() {
  if (from_images()) {
    while (!rounds_.empty()) load_front();
    return;
  }
  constexpr Cycle kEver = std::numeric_limits<Cycle>::max();
  bool moved = true;
  while (moved) {
    moved = false;
    for (const OperandName operand : {OperandName::kA, OperandName::kB}) {
      loader(operand).request_ahead(rounds_);
      moved = enter_lines(operand, kEver) || moved;
    }
    results.drain_ahead();
    while (do_round()) moved = true;
  }
}

// Only the unit uses its ports, so rounds follow one another without arbitration.
void RollingUnit::load_front() {
  Round& round = rounds_.front();
  const bool records_come = round.records == Records::kLoaded;
  const Cycle slot_free = records_come ? *results.slot_free_from(*round.column) : 0;
  if (records_come) results.take_slot(*round.column);
  for (const OperandName operand : {OperandName::kA, OperandName::kB}) {
    const Activity release = operand == OperandName::kA ? Activity::kInputRelease : Activity::kWeightRelease;
    const Cycle in_place = static_cast<ScratchpadLoader&>(loader(operand))
                               .load_round(round, *groups_free_from(round), slot_free, release);
    if (round.ends_job) nth(loaded_, operand) = in_place;
  }
  do_round();
}

// Computes the front round; false while its first cycle is unknown.
bool RollingUnit::do_round() {
  if (rounds_.empty()) return false;
  const Round& round = rounds_.front();
  if (!round.loaded[0] || !round.loaded[1]) return false;
  Cycle ready = last_ended_ ? *last_ended_ + 1 : 0;
  if (round.begins_sums) {
    const std::optional<Cycle> free = results.free_from(sums_);
    if (!free) return false;
    ready = std::max(ready, *free);
    results.begin(sums_, round.block);
  }
  // Same order of stalls as in clock granularity.
  const std::array<std::pair<Activity, Cycle>, 3> waits{{{Activity::kOutputDrain, ready},
                                                         {Activity::kInputLoad, *round.loaded[0] + 1},
                                                         {Activity::kWeightLoad, *round.loaded[1] + 1}}};
  for (const auto& [activity, until] : waits) {
    if (until > ledger.settled_at()) ledger.spend(activity, until - ledger.settled_at());
  }
  const Cycle begin = ledger.settled_at();
  if (from_images())
    multiply_images(round);
  else
    multiply_round(round);
  const auto& [clocks, rolls] = cost_of(round);
  const bool plain = round.job->setup.scheme == Scheme::kOutputStationary;
  ledger.spend(Activity::kBusy, clocks.beats, CycleOrder::kMixed);
  ledger.spend(plain ? Activity::kOutputDrain : Activity::kRoll, clocks.all - clocks.beats,
               CycleOrder::kMixed);
  stats.beats += clocks.beats;
  stats.rolls += rolls.rings, stats.exchanges += rolls.exchanges, stats.corrections += rolls.corrections;
  end_round(begin + clocks.all - 1);
  return true;
}

// Multiplies all products of a round from the registers.
void RollingUnit::multiply_round(const Round& round) {
  const RollingSchedule& schedule = round.job->schedule;
  const int cuts = schedule.cuts_of_round(round.round).size;
  for (int i = 0; i < round.block.parts; ++i) {
    const Span rows = schedule.lines_of(round.block, OperandName::kA, i);
    for (int j = 0; j < round.block.parts && !rows.empty(); ++j) {
      const Span columns = schedule.lines_of(round.block, OperandName::kB, j);
      if (columns.empty()) continue;
      Sum* sums = &results.sum(sums_, {rows.begin, columns.begin});
      for (int cut = 0; cut < cuts; ++cut) {
        const auto lanes = to_size(array_.lanes());
        multiply_block({array_.line(OperandName::kA, group_at(round, i, cut), 0), lanes}, rows.size,
                       {array_.line(OperandName::kB, group_at(round, j, cut), 0), lanes}, columns.size,
                       array_.lanes(), sums, results.stride(sums_), is_wide(round));
      }
    }
  }
}

// Multiplies from the operands' images, for all rounds of an output block at the end of the last one.
void RollingUnit::multiply_images(const Round& round) {
  if (round.round + 1 < round.job->schedule.rounds_per_block()) return;
  const OperandImage& a = static_cast<ScratchpadLoader&>(loader(OperandName::kA)).image_of(round);
  const OperandImage& b = static_cast<ScratchpadLoader&>(loader(OperandName::kB)).image_of(round);
  multiply_block(a.lines(round.block.rows.begin), round.block.rows.size, b.lines(round.block.columns.begin),
                 round.block.columns.size, a.length(), &results.sum(sums_, {0, 0}), results.stride(sums_),
                 is_wide(round));
}

// Rounds come in order; the rounds of an output block are alike, except for the last one.
const RollingUnit::RoundCost& RollingUnit::cost_of(const Round& round) {
  const RollingSchedule& schedule = round.job->schedule;
  if (round.round == 0 || round.round + 1 == schedule.rounds_per_block())
    cost_ = {schedule.clocks(round.block, round.round), schedule.rolls(round.block)};
  return cost_;
}

namespace {

std::optional<OperandMemories> memories_of(const HardwareConfig& hardware) {
  if (!hardware.chip) return std::nullopt;
  return OperandMemories{hardware.chip->core.nram, hardware.chip->core.wram};
}

constexpr OwnAccess kOwnWramWrite{"wram_written", &MemoryBytes::wram_write};

/// The rolling-register unit as a core or a board sees it.
class RollingMatrixUnit : public MatrixUnit {
 public:
  explicit RollingMatrixUnit(const MatrixUnitContext& c)
      : unit_("rolling", c.context, c.hardware.engine<RollingConfig>(), c.hardware.dma.max_outstanding,
              memories_of(c.hardware), c.granularity) {
    unit_.hold_scales(c.hardware.port_scales());
  }

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
      if (loader.stats.written > 0) visitor.own_bytes(module, kOwnWramWrite, loader.stats.written);
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
    const std::int64_t decoded = unit_.loaders[1]->stats.decoded;
    visitor.counter("rolling.b", kDecodedCounter, "weights", decoded);
    visitor.decoded(decoded);
    visitor.counter("rolling.array", "operands_reloading", "elements", stats.elements_reloading);
    visitor.counter("rolling.results", "results", "results", unit_.results.stats.results);
    visitor.results(unit_.results.stats.results);
    visitor.counter("rolling.results", "realign", "cycles", unit_.results.stats.realign_clocks);
    visitor.counter("rolling.results", "write_requests", "requests", unit_.results.stats.requests);
    visitor.counter("rolling.results", "written", "bytes", unit_.results.stats.bytes);
    if (!unit_.results.bus) visitor.own_bytes("rolling.results", kOwnNramWrite, unit_.results.stats.bytes);
  }
  void inject_fault(const Fault& fault) override { unit_.inject_fault(fault); }
  void upset_pe(const Fault& upset) override { unit_.inject_fault(upset); }
  void read_every_word() override { unit_.read_every_word(); }

 private:
  RollingUnit unit_;
};

}  // namespace

std::unique_ptr<MatrixUnit> make_unit(const MatrixUnitContext& context) {
  return std::make_unique<RollingMatrixUnit>(context);
}

}  // namespace tilebeat::rolling
