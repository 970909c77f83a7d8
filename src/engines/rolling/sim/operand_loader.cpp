#include "tilebeat/engines/rolling/sim/operand_loader.h"

#include <algorithm>

namespace tilebeat::rolling {

OperandLoader::OperandLoader(OperandName operand, const RollingConfig& config)
    : config_(config), operand_(operand), lines_(static_cast<std::size_t>(config.line_queue)) {}

OperandLoader::Line& OperandLoader::prepare(Round& round) {
  if (next_load_ == 0) {
    round.job->lines.loads(operand_, round.block, round.round,
                           operand_ == OperandName::kB ? round.records : Records::kNone, loads_);
  }
  Line& made = lines_[prepared_slot_];
  if (++prepared_slot_ == lines_.size()) prepared_slot_ = 0;
  ++prepared_;
  made.begins_round = next_load_ == 0;
  made.load = loads_[next_load_++];
  made.round = &round;
  made.ends_round = next_load_ == loads_.size();
  made.missing = 0;
  if (made.ends_round) ++round_, next_load_ = 0, next_round_ = nullptr;
  return made;
}

void OperandLoader::find_pieces(const Round& round, OperandName operand, Line& line) {
  line.bytes.resize(static_cast<std::size_t>(line.load.filled.size));
  round.job->lines.find(operand, round.block, round.round, line.load, line.pieces);
}

void OperandLoader::enter(Cycle at, Activity release) {
  Line& front = lines_[entered_slot_];
  const Cycle ready = std::max(ledger.settled_at(), std::min(front.ready, at));
  ledger.spend(Activity::kLineLoad, ready - ledger.settled_at(), CycleOrder::kMixed);
  ledger.spend(release, at - ready, CycleOrder::kMixed);
  ledger.spend(Activity::kBusy, front.clocks, CycleOrder::kMixed);
  next_entry_ = at + front.clocks;
  front.leaves = next_entry_ - 1;
  if (++entered_slot_ == lines_.size()) entered_slot_ = 0;
  ++entered_;
  ++stats.lines;
  if (front.load.kind != Load::Kind::kRecord) stats.elements += front.load.filled.size;
}

}  // namespace tilebeat::rolling
