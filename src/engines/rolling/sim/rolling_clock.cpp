// The rolling-register unit in clock granularity: one call a cycle.
#include "engines/rolling/sim/rolling_unit.h"

#include <algorithm>

namespace tilebeat::rolling {

// All decisions depend on the contents of registers and buffers at the beginning of the cycle.
void RollingUnit::run_clock(Cycle now) {
  upsets_.until(now, [this](const Fault& upset) {
    if (!rounds_.empty()) array_.flip(rounds_.front().job->setup.variant, upset);
  });
  land_sums(now);
  for (const OperandName operand : {OperandName::kA, OperandName::kB}) {
    const bool entered = enter_lines(operand, now);
    if (context_.trace() != nullptr) trace_entry(operand, entered, now);
  }
  if (!rounds_.empty()) {
    const Round& round = rounds_.front();
    const Activity blocker = step_ ? Activity::kBusy : round_blocker(round, now);
    if (blocker == Activity::kBusy)
      do_step(round, now);
    else
      ledger.enter(blocker, now);
  }
  if (context_.trace() != nullptr) trace_clock(now);
}

// The cause that keeps the front round from beginning in this cycle; kBusy when nothing does.
Activity RollingUnit::round_blocker(const Round& round, Cycle now) const {
  if (round.begins_sums) {
    const std::optional<Cycle> free = results.free_from(sums_);
    if (!free || *free > now) return Activity::kOutputDrain;
  }
  if (!round.loaded[0] || *round.loaded[0] >= now) return Activity::kInputLoad;
  if (!round.loaded[1] || *round.loaded[1] >= now) return Activity::kWeightLoad;
  return Activity::kBusy;
}

void RollingUnit::do_step(const Round& round, Cycle now) {
  const RollingSchedule& schedule = round.job->schedule;
  if (!step_) {
    if (round.begins_sums) {
      results.begin(sums_, round.block);
      if (results.trace) results.trace->begin(results.half(sums_), now);
    }
    step_ = schedule.first_step(round.block, round.round);
    if (context_.trace() != nullptr) {
      for (const OperandName operand : {OperandName::kA, OperandName::kB})
        trace_registers(round, operand, now);
    }
  }
  const Step::Kind kind = step_->kind;
  const bool beats = kind == Step::Kind::kBeat;
  const Activity activity = beats                       ? Activity::kBusy
                            : kind == Step::Kind::kSums ? Activity::kOutputDrain
                                                        : Activity::kRoll;
  ledger.enter(activity, now);
  ledger.spend(activity, 1, CycleOrder::kMixed);
  stats.beats += beats ? 1 : 0;
  if (round.job->setup.scheme == Scheme::kOutputStationary)
    stream(round, now);
  else if (beats)
    beat(round, now);
  std::optional<Step> next = step_;
  if (!schedule.advance(round.block, round.round, *next)) next.reset();
  trace_step(now);
  after_step(round, next);
  if (context_.trace() != nullptr && next) trace_registers(round, schedule.rolling(), now + 1);
  step_ = next;
  if (!next) end_round(now);
}

// Multiplies in every PE, the registers of a group for each multiplier.
void RollingUnit::beat(const Round& round, Cycle now) {
  const RollingSchedule& schedule = round.job->schedule;
  Step at = *step_;
  for (int multiplier = 0; multiplier < step_->groups; ++multiplier, schedule.next_group(round.round, at)) {
    schedule.seek_group(round.block, at);
    multiply_group(round, at, nth(line_sums_, multiplier), now);
  }
}

// Multiplies the registers of a step's group and sends the sums of the lines through the adder trees.
void RollingUnit::multiply_group(const Round& round, const Step& step, std::vector<std::int32_t>& line_sums,
                                 Cycle now) {
  const RollingSchedule& schedule = round.job->schedule;
  const int group = group_at(round, step.part, step.cut);
  array_.multiply(group, round.block.lines, line_sums);
  Sums sums = sums_due(now + tree_clocks(round));
  const bool tags = round.job->setup.realignment == Realignment::kTags;
  // Lines of a computation have adjacent places.
  SumPlace place = schedule.stored_at(round.block, step, 0);
  const PeArray::Tag* row = array_.tags(OperandName::kA, group);
  const PeArray::Tag* column = array_.tags(OperandName::kB, group);
  LineSum* sum = sums.values.data();
  for (const std::int32_t value : line_sums) {
    if (row->valid && column->valid)
      *sum++ = {tags ? schedule.aligned_at(round.block, {row->number, column->number}) : place, value};
    ++row, ++column, ++place.line;
  }
  sums.count = to_size(sum - sums.values.data());
  trees_.push_back(std::move(sums));
}

// The plain array: an element of every line of A is multiplied with one of every line of B; at the end a line
// of sums leaves in every cycle.
void RollingUnit::stream(const Round& round, Cycle now) {
  const int group = round.first_group, rows = round.block.rows.size, columns = round.block.columns.size;
  accumulators_.resize(to_size(config_.rows) * to_size(config_.columns));
  const auto accumulator = [&](int row, int column) -> Sum& {
    return nth(accumulators_, row * config_.columns + column);
  };
  if (step_->kind == Step::Kind::kBeat) {
    for (int row = 0; row < rows; ++row) {
      const int a = array_.line(OperandName::kA, group, row)[step_->computation];
      for (int column = 0; column < columns; ++column)
        accumulator(row, column) += a * array_.line(OperandName::kB, group, column)[step_->computation];
    }
    return;
  }
  Sums sums = sums_due(now + tree_clocks(round));
  for (int column = 0; column < columns; ++column) {
    sums.values[sums.count++] = {{step_->computation, column}, accumulator(step_->computation, column)};
    accumulator(step_->computation, column) = 0;
  }
  trees_.push_back(std::move(sums));
}

// Changes the registers at the clock edge between the present step and `next`.
void RollingUnit::after_step(const Round& round, const std::optional<Step>& next) {
  if (!next || round.job->setup.scheme == Scheme::kOutputStationary) return;
  switch (step_->kind) {
    case Step::Kind::kBeat:
      if (!step_->ends_computation) break;
      roll(round, -1);
      ++stats.rolls;
      break;
    case Step::Kind::kWrap:
      roll(round, step_->clock);
      break;
    case Step::Kind::kExchange:
      exchange(round);
      break;
    case Step::Kind::kCorrection:
      correct(round);
      break;
    case Step::Kind::kSums:
      break;
  }
}

// Rolls the rings whose turn it is in cycle `clock` of the wraps, of those that have been multiplied in this
// computation; a ring of all blocks rolls block by block.
void RollingUnit::roll(const Round& round, int clock) {
  const RollingSchedule& schedule = round.job->schedule;
  const Span rings = schedule.rings_at(round.block, round.round, *step_, clock);
  int number = 0;
  const bool whole = round.job->setup.scheme == Scheme::kWholeRolling;
  const int cuts = schedule.cuts_of_round(round.round).size;
  for (int part = 0; part < round.block.parts; ++part) {
    const int ring = whole ? round.block.lines : schedule.ring(round.block, step_->phase, part);
    if (!whole && (!schedule.pair_exists(round.block, step_->phase, part) || step_->computation >= ring))
      continue;
    for (int cut = 0; cut < cuts; ++cut, ++number) {
      if (number < rings.begin || number >= rings.end()) continue;
      array_.roll(schedule.rolling(), group_at(round, part, cut), ring,
                  direction_of(round.job->setup.variant));
    }
  }
}

namespace {

// Calls `swap` for neighbouring parts, so that the contents of part p + 1 move to part p, or vice versa; the
// last part and the first one are neighbours.
template <class Swap>
void rotate_parts(int parts, Direction direction, const Swap& swap) {
  for (int i = 0; i + 1 < parts; ++i) {
    const int part = direction == Direction::kFront ? i : parts - 2 - i;
    swap(part, part + 1);
  }
}

}  // namespace

void RollingUnit::exchange(const Round& round) {
  const RollingSchedule& schedule = round.job->schedule;
  for (int cut = 0; cut < schedule.cuts_of_round(round.round).size; ++cut) {
    rotate_parts(round.block.parts, direction_of(round.job->setup.variant), [&](int a, int b) {
      array_.swap_groups(schedule.rolling(), group_at(round, a, cut), group_at(round, b, cut));
    });
  }
  ++stats.exchanges;
}

// Lines that wrapped within their block belong to its neighbour (document 002 [0071-0075]).
void RollingUnit::correct(const Round& round) {
  const RollingSchedule& schedule = round.job->schedule;
  const Direction direction = direction_of(round.job->setup.variant);
  const int line = direction == Direction::kFront ? round.block.lines - 1 : 0;
  for (int cut = 0; cut < schedule.cuts_of_round(round.round).size; ++cut) {
    rotate_parts(round.block.parts, direction, [&](int a, int b) {
      array_.swap_lines(schedule.rolling(), group_at(round, a, cut), group_at(round, b, cut), line);
    });
  }
  ++stats.corrections;
}

// Sums without values yet, in reused storage.
RollingUnit::Sums RollingUnit::sums_due(Cycle due) {
  Sums sums;
  sums.due = due, sums.number = sums_;
  if (spare_.empty()) {
    sums.values.resize(to_size(std::max(config_.rows, config_.columns)));
    return sums;
  }
  sums.values = std::move(spare_.back());
  spare_.pop_back();
  return sums;
}

void RollingUnit::land_sums(Cycle now) {
  int multiplier = 0;
  while (!trees_.empty() && trees_.front().due <= now) {
    const Sums& front = trees_.front();
    const ResultBuffer::Sums half = results.sums(front.number);
    for (std::size_t i = 0; i < front.count; ++i) half[front.values[i].place] += front.values[i].value;
    if (results.trace) trace_landing(front, multiplier++, now);
    spare_.push_back(std::move(trees_.front().values));
    trees_.pop_front();
  }
}

}  // namespace tilebeat::rolling
