#include "engines/rolling/sim/job.h"

#include "base/types.h"

#include <algorithm>
#include <utility>

namespace tilebeat::rolling {

void Rounds::begin(std::shared_ptr<Job> job) {
  job_ = std::move(job);
  index_ = 0, round_ = 0;
  // The rounds of the previous run have been made, because all its lines were requested.
  records_of_.reset();
  end_ += job_->schedule.blocks() * job_->schedule.rounds_per_block();
}

Round* Rounds::at(std::int64_t number) {
  if (number >= end_) return nullptr;
  while (first_ + ssize(rounds_) <= number) make();
  return &nth(rounds_, number - first_);
}

void Rounds::make() {
  rounds_.emplace_back();
  advance(rounds_.back(), first_ + ssize(rounds_) - 1);
}

// If no round beyond it has been made, the last round becomes the one after it.
void Rounds::forget() {
  while (first_ < done_ && rounds_.front().entered[0] && rounds_.front().entered[1]) {
    ++first_;
    if (rounds_.size() == 1 && first_ < end_)
      advance(rounds_.front(), first_);
    else
      rounds_.pop_front();
  }
}

void Rounds::advance(Round& round, std::int64_t number) {
  const RollingSchedule& schedule = job_->schedule;
  const bool first = round_ == 0, last = round_ + 1 == schedule.rounds_per_block();
  if (first) block_ = schedule.block(index_);
  if (round.job != job_) round.job = job_;
  round.number = number;
  round.block = block_;
  round.round = round_;
  round.begins_sums = first && job_->run.first;
  round.ends_sums = last && job_->run.last;
  round.ends_job = last && index_ + 1 == schedule.blocks();
  round.loaded = {}, round.entered = {};
  take_records(round);
  take_groups(round);
  if (!last) {
    ++round_;
    return;
  }
  round_ = 0;
  ++index_;
}

// Records come with the last round of the first output block that needs them.
void Rounds::take_records(Round& round) {
  const RollingSchedule& schedule = job_->schedule;
  round.records = Records::kNone;
  round.column.reset(), round.ends_column = false;
  if (!round.ends_sums || !job_->conv.post_parameters) return;
  if (!(records_of_ == block_.columns)) {
    round.records = Records::kLoaded;
    records_of_ = block_.columns;
    column_ = std::make_shared<ColumnRecords>();
    column_->number = columns_++;
  }
  round.column = column_;
  round.ends_column = round.ends_job || !(schedule.block(index_ + 1).columns == block_.columns);
}

// Fixed groups are the same for every round, whether or not it fills them; assigned ones follow one another.
void Rounds::take_groups(Round& round) {
  const Order& order = job_->schedule.order();
  const bool fixed = registers_ == RegisterGroups::kFixed;
  round.cut_groups = fixed ? order.stacked_cuts : job_->schedule.cuts_of_round(round.round).size;
  const int taken = fixed ? order.groups() : round.block.parts * round.cut_groups;
  const int sets = groups_ / order.groups();
  round.first_group = fixed ? to_int(round.number % sets) * taken : next_group_;
  next_group_ = (round.first_group + taken) % groups_;
  round.after.reset();
  for (int i = 0; i < taken; ++i) {
    auto& user = nth(users_, (round.first_group + i) % groups_);
    round.after = std::max(round.after, std::exchange(user, round.number));
  }
}

// Enters the first of some lines; `before` is the cycle in which the line that it replaces is in place.
void LineFlow::enter(Cycle before, int accesses) {
  const Cycle begins = std::max(turn_, before);
  landing_ += begins - turn_;
  turn_ = begins + accesses;
  const Cycle ready = std::max(turn_ + port_.latency, entry_);
  memory_ += ready - entry_;
  const Cycle at = std::max(ready, free_);
  waited_ += at - ready;
  entry_ = at + 1;
}

void LineFlow::pass(int accesses, int elements) {
  enter(departures_.oldest().first, std::max(1, accesses));
  entry_ += ceil_div(elements, port_.bytes) - 1;
  departures_.replace(1, entry_ - 1);
  ++lines_;
}

// After the first line of a stretch the others enter one a cycle, because nothing can delay them: the lines
// that they replace are in place in successive cycles, and so are their requests and entries.
void LineFlow::pass_short(int lines) {
  lines_ += lines;
  while (lines > 0) {
    const Departures::Stretch& oldest = departures_.oldest();
    const int together = std::min(lines, oldest.lines);
    enter(oldest.first, 1);
    departures_.replace(together, entry_ - 1);
    turn_ += together - 1, entry_ += together - 1;
    lines -= together;
  }
}

}  // namespace tilebeat::rolling
