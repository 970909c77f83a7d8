#include "engines/rolling/schedule.h"

#include "base/types.h"

#include <algorithm>
#include <utility>

namespace tilebeat::rolling {
namespace {

constexpr int kWrapClocks = 2;  // through the buffer (SPEC RO-6)

int around(int position, int ring) {
  return ((position % ring) + ring) % ring;
}

}  // namespace

int adder_tree_clocks(int lanes, int multipliers) {
  const auto levels = [](int products) {
    int count = 0;
    while ((1 << count) < products) ++count;
    return count;
  };
  return levels(lanes) + levels(multipliers) + 1;
}

RollingSchedule::RollingSchedule(const Shape& shape, const Order& order, const Product& product)
    : shape_(shape),
      order_(order),
      product_(product),
      lines_(shape.lines(order.variant)),
      lanes_(shape.lanes(order.variant)) {
  rows_step_ = columns_step_ = lines_ * order_.stacked_blocks;
  if (plain_array()) {
    rows_step_ = shape.lines(Variant::kRightBUp), columns_step_ = shape.lanes(Variant::kRightBUp);
    lanes_ = std::min(rows_step_, columns_step_);
  }
  cuts_ = ceil_div(product_.n, lanes_);
  rounds_per_block_ = ceil_div(cuts_, order_.stacked_cuts);
  blocks_of_rows_ = ceil_div(product_.m, rows_step_);
  for (int begin = 0; begin < product_.k;) {
    const int in_group = (product_.first_column + begin) % product_.group_columns;
    const int size = std::min(product_.group_columns - in_group, product_.k - begin);
    segments_.push_back({{begin, size}, blocks_of_columns_});
    blocks_of_columns_ += ceil_div(size, columns_step_);
    begin += size;
  }
}

// ---- blocking ----

OutputBlock RollingSchedule::block(std::int64_t index) const {
  const std::int64_t number = index / blocks_of_rows_;
  const auto segment =
      std::prev(std::upper_bound(segments_.begin(), segments_.end(), number,
                                 [](std::int64_t n, const Segment& s) { return n < s.first; }));
  OutputBlock block;
  block.rows.begin = to_int(index % blocks_of_rows_) * rows_step_;
  block.rows.size = std::min(rows_step_, product_.m - block.rows.begin);
  const int column = to_int(number - segment->first) * columns_step_;
  block.columns.begin = segment->columns.begin + column;
  block.columns.size = std::min(columns_step_, segment->columns.size - column);
  const int longest = std::max(block.rows.size, block.columns.size);
  block.parts = plain_array() ? 1 : ceil_div(longest, lines_);
  // Blocks that roll as one ring have equal sizes; otherwise all blocks but the last are full.
  const bool equal = order_.scheme == Scheme::kWholeRolling || block.parts == 1;
  block.lines = equal ? ceil_div(longest, block.parts) : lines_;
  return block;
}

std::vector<RollingSchedule::Alike> RollingSchedule::block_shapes() const {
  std::vector<Alike> shapes;
  const auto add = [&](std::int64_t index, std::int64_t count) {
    if (count == 0) return;
    const OutputBlock one = block(index);
    for (Alike& known : shapes) {
      if (known.block.rows.size != one.rows.size || known.block.columns.size != one.columns.size) continue;
      known.count += count;
      return;
    }
    shapes.push_back({one, count});
  };
  for (const Segment& segment : segments_) {
    const std::int64_t columns = ceil_div(segment.columns.size, columns_step_);
    for (const bool last : {false, true}) {
      const std::int64_t column = segment.first + (last ? columns - 1 : 0);
      const std::int64_t count = last ? 1 : columns - 1;
      add(column * blocks_of_rows_, count * (blocks_of_rows_ - 1));
      add(column * blocks_of_rows_ + blocks_of_rows_ - 1, count);
    }
  }
  return shapes;
}

Span RollingSchedule::cut(int index) const {
  return {index * lanes_, std::min(lanes_, product_.n - index * lanes_)};
}

Span RollingSchedule::cuts_of_round(int round) const {
  const int first = round * order_.stacked_cuts;
  return {first, std::min(order_.stacked_cuts, cuts() - first)};
}

Span RollingSchedule::lines_of(const OutputBlock& block, OperandName operand, int part) const {
  const int all = operand == OperandName::kA ? block.rows.size : block.columns.size;
  const int begin = part * block.lines;
  return {begin, std::clamp(all - begin, 0, block.lines)};
}

// ---- computations ----

int RollingSchedule::rolling_part(const OutputBlock& block, int phase, int part) const {
  return around(rolls_to_front(order_.variant) ? part + phase : part - phase, block.parts);
}

bool RollingSchedule::pair_exists(const OutputBlock& block, int phase, int part) const {
  if (lines_of(block, stationary(), part).empty()) return false;
  return order_.scheme == Scheme::kWholeRolling ||
         !lines_of(block, rolling(), rolling_part(block, phase, part)).empty();
}

int RollingSchedule::ring(const OutputBlock& block, int phase, int part) const {
  if (order_.scheme == Scheme::kWholeRolling) return block.parts * block.lines;
  return std::max(lines_of(block, stationary(), part).size,
                  lines_of(block, rolling(), rolling_part(block, phase, part)).size);
}

int RollingSchedule::computations(const OutputBlock& block, int phase) const {
  int most = 0;
  for (int part = 0; part < block.parts; ++part) {
    if (pair_exists(block, phase, part)) most = std::max(most, ring(block, phase, part));
  }
  return most;
}

std::optional<int> RollingSchedule::rolled_line(const OutputBlock& block, const Step& step, int line) const {
  const int moved = rolls_to_front(order_.variant) ? step.computation : -step.computation;
  const int length = ring(block, step.phase, step.part);
  if (order_.scheme == Scheme::kWholeRolling) {
    const int all = rolling() == OperandName::kA ? block.rows.size : block.columns.size;
    const int at = around(step.part * block.lines + line + moved, length);
    return at < all ? std::optional(at) : std::nullopt;
  }
  const Span lines = lines_of(block, rolling(), rolling_part(block, step.phase, step.part));
  if (line >= length) return std::nullopt;
  const int at = around(line + moved, length);
  return at < lines.size ? std::optional(lines.begin + at) : std::nullopt;
}

std::optional<Element> RollingSchedule::sum_of(const OutputBlock& block, const Step& step, int line) const {
  const Span lines = lines_of(block, stationary(), step.part);
  if (line >= lines.size) return std::nullopt;
  const std::optional<int> rolled = rolled_line(block, step, line);
  if (!rolled) return std::nullopt;
  const int stays = lines.begin + line;
  return stationary() == OperandName::kA ? Element{stays, *rolled} : Element{*rolled, stays};
}

// ---- sums ----

SumPlace RollingSchedule::stored_at(const OutputBlock& block, const Step& step, int line) const {
  return {step.part * block.lines + line, step.phase * block.lines + step.computation};
}

SumPlace RollingSchedule::aligned_at(const OutputBlock& block, const Element& element) const {
  if (plain_array()) return {element.row, element.column};
  const bool a_stays = stationary() == OperandName::kA;
  const int stays = a_stays ? element.row : element.column, rolled = a_stays ? element.column : element.row;
  const bool to_front = rolls_to_front(order_.variant);
  // Down and right leave computation t at -t: the flip of SPEC RO-2, made when elements are read.
  if (order_.scheme == Scheme::kWholeRolling)
    return {stays, to_front ? rolled : around(-rolled, block.parts * block.lines)};
  const int part = stays / block.lines, with = rolled / block.lines;
  const int phase = around(to_front ? with - part : part - with, block.parts);
  const int index = rolled % block.lines;
  return {stays, phase * block.lines + (to_front ? index : around(-index, ring(block, phase, part)))};
}

int RollingSchedule::realignment(const OutputBlock& block) const {
  if (plain_array()) return 0;
  int longest = 1;
  for (int phase = 0; phase < phases(block); ++phase) longest = std::max(longest, computations(block, phase));
  return longest - 1;
}

std::vector<RollingSchedule::Shift> RollingSchedule::shifts(const OutputBlock& block, int clock) const {
  std::vector<Shift> made;
  const bool right = rolls_to_front(order_.variant);
  for (int phase = 0; phase < phases(block); ++phase) {
    for (int part = 0; part < block.parts; ++part) {
      if (!pair_exists(block, phase, part)) continue;
      const Span lines = lines_of(block, stationary(), part);
      const Span indices{phase * block.lines, ring(block, phase, part)};
      for (int line = 0; line < lines.size; ++line) {
        const int steps = order_.scheme == Scheme::kWholeRolling ? lines.begin + line : line;
        if (clock < steps) made.push_back({lines.begin + line, indices, right});
      }
    }
  }
  return made;
}

// ---- cycles ----

// Whether the step's part takes part in its computation.
bool RollingSchedule::works(const OutputBlock& block, const Step& step) const {
  return pair_exists(block, step.phase, step.part) && step.computation < ring(block, step.phase, step.part);
}

bool RollingSchedule::seek_group(const OutputBlock& block, Step& step) const {
  while (step.part < block.parts && !works(block, step)) ++step.part, step.cut = 0;
  return step.part < block.parts;
}

void RollingSchedule::next_group(int round, Step& step) const {
  if (++step.cut == cuts_of_round(round).size) ++step.part, step.cut = 0;
}

// Moves to the first beat of the computation from the step's group on; false when there is none.
bool RollingSchedule::seek_beat(const OutputBlock& block, int round, Step& step) const {
  if (!seek_group(block, step)) return false;
  step.kind = Step::Kind::kBeat;
  Step later = step;
  for (step.groups = 0; step.groups < shape_.multipliers && seek_group(block, later); ++step.groups)
    next_group(round, later);
  step.ends_computation = !seek_group(block, later);
  return true;
}

bool RollingSchedule::begin_computation(const OutputBlock& block, int round, Step& step) const {
  step.part = step.cut = step.clock = 0;
  return seek_beat(block, round, step);
}

Step RollingSchedule::first_step(const OutputBlock& block, int round) const {
  Step step;
  if (!plain_array()) begin_computation(block, round, step);
  return step;
}

bool RollingSchedule::advance_streamed(const OutputBlock& block, int round, Step& step) const {
  const bool beat = step.kind == Step::Kind::kBeat;
  const int end = beat ? cut(cuts_of_round(round).begin).size : block.rows.size;
  if (++step.computation < end) return true;
  if (!beat || round + 1 < rounds_per_block()) return false;
  step.kind = Step::Kind::kSums;
  step.computation = 0;
  return true;
}

bool RollingSchedule::advance(const OutputBlock& block, int round, Step& step) const {
  if (plain_array()) return advance_streamed(block, round, step);
  switch (step.kind) {
    case Step::Kind::kBeat:
      for (int group = step.groups; group > 0 && seek_group(block, step); --group) next_group(round, step);
      if (seek_beat(block, round, step)) return true;
      return after_beats(block, round, step);
    case Step::Kind::kWrap:
      if (++step.clock < wrap_clocks(rolling_rings(block, round, step))) return true;
      return after_wrap(block, round, step);
    case Step::Kind::kCorrection:
      ++step.computation;
      return begin_computation(block, round, step);
    case Step::Kind::kExchange:
      ++step.phase;
      step.computation = 0;
      return begin_computation(block, round, step);
    case Step::Kind::kSums:
      break;
  }
  return false;
}

// The last roll only restores the operand: it is left out when the operand is not used any more (SPEC RO-1).
bool RollingSchedule::after_beats(const OutputBlock& block, int round, Step& step) const {
  const bool rolls = !last_computation(block, step) || step.phase + 1 < phases(block);
  if (!rolls) return false;
  if (wrap_clocks(rolling_rings(block, round, step)) == 0) return after_wrap(block, round, step);
  step.kind = Step::Kind::kWrap;
  step.clock = 0;
  return true;
}

bool RollingSchedule::after_wrap(const OutputBlock& block, int round, Step& step) const {
  if (last_computation(block, step)) {
    step.kind = Step::Kind::kExchange;
    return true;
  }
  if (order_.scheme == Scheme::kWholeRolling && block.parts > 1) {
    step.kind = Step::Kind::kCorrection;
    return true;
  }
  ++step.computation;
  return begin_computation(block, round, step);
}

RollingSchedule::Clocks RollingSchedule::clocks(const OutputBlock& block, int round) const {
  Clocks clocks;
  const int cuts = cuts_of_round(round).size;
  if (plain_array()) {
    clocks.beats = cut(cuts_of_round(round).begin).size;
    clocks.all = clocks.beats + (round + 1 == rounds_per_block() ? block.rows.size : 0);
    return clocks;
  }
  const bool whole = order_.scheme == Scheme::kWholeRolling;
  std::int64_t wraps = 0;
  int last = 0;
  for (int phase = 0; phase < phases(block); ++phase) {
    for (const Stretch& stretch : stretches(block, phase)) {
      clocks.beats += std::int64_t{stretch.computations} * ceil_div(stretch.parts * cuts, shape_.multipliers);
      last = wrap_clocks((whole ? block.parts : stretch.parts) * cuts);
      wraps += std::int64_t{stretch.computations} * last;
    }
  }
  const Rolls moved = rolls(block);
  clocks.all =
      clocks.beats + moved.exchanges + moved.corrections + wraps - last;  // the last one does not roll
  return clocks;
}

// The shorter rings are through first.
std::vector<RollingSchedule::Stretch> RollingSchedule::stretches(const OutputBlock& block, int phase) const {
  std::vector<int> rings;
  for (int part = 0; part < block.parts; ++part) {
    if (pair_exists(block, phase, part)) rings.push_back(ring(block, phase, part));
  }
  std::sort(rings.begin(), rings.end());
  std::vector<Stretch> made;
  int before = 0;
  for (int i = 0; i < count_of(rings); ++i) {
    if (const int length = nth(rings, i); length > before)
      made.push_back({length - std::exchange(before, length), count_of(rings) - i});
  }
  return made;
}

// Rings that roll after a computation: those of the groups that were multiplied, or of all blocks of one
// ring.
int RollingSchedule::rolling_rings(const OutputBlock& block, int round, const Step& step) const {
  int parts = 0;
  Step at = step;
  for (at.part = 0; at.part < block.parts; ++at.part)
    parts += order_.scheme == Scheme::kWholeRolling || works(block, at) ? 1 : 0;
  return parts * cuts_of_round(round).size;
}

// Cycles in which rings wrap after the cycle of the last beat (SPEC RO-7).
int RollingSchedule::wrap_clocks(int rings) const {
  if (order_.wrap == Wrap::kBuffer) return kWrapClocks * rings;
  return shape_.spare_lines == SpareLines::kShared ? rings - 1 : 0;
}

Span RollingSchedule::rings_at(const OutputBlock& block, int round, const Step& step, int clock) const {
  if (order_.wrap == Wrap::kBuffer) {
    const bool through = clock >= 0 && (clock + 1) % kWrapClocks == 0;
    return {clock / kWrapClocks, through ? 1 : 0};
  }
  if (shape_.spare_lines == SpareLines::kShared) return {clock + 1, 1};
  return {0, clock < 0 ? rolling_rings(block, round, step) : 0};
}

RollingSchedule::Rolls RollingSchedule::rolls(const OutputBlock& block) const {
  Rolls rolls;
  if (plain_array()) return rolls;
  rolls.rings = -1;  // none after the last computation of all
  for (int phase = 0; phase < phases(block); ++phase) rolls.rings += computations(block, phase);
  rolls.exchanges = phases(block) - 1;
  if (order_.scheme == Scheme::kWholeRolling && block.parts > 1) rolls.corrections = rolls.rings;
  return rolls;
}

}  // namespace tilebeat::rolling
