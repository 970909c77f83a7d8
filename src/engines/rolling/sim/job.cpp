#include "tilebeat/engines/rolling/sim/job.h"

namespace tilebeat::rolling {

void Rounds::begin(std::shared_ptr<Job> job) {
  job_ = std::move(job);
  block_ = 0, round_ = 0;
  // Rounds of the run before have been made: its lines were all requested.
  records_of_.reset();
  end_ += job_->schedule.blocks() * job_->schedule.rounds_per_block();
}

Round* Rounds::at(std::int64_t number) {
  if (number >= end_) return nullptr;
  while (first_ + static_cast<std::int64_t>(rounds_.size()) <= number) make();
  return &rounds_[static_cast<std::size_t>(number - first_)];
}

// Records come with the last round of the first output block that needs them.
void Rounds::make() {
  const RollingSchedule& schedule = job_->schedule;
  const bool first = round_ == 0, last = round_ + 1 == schedule.rounds_per_block();
  Round round;
  round.job = job_;
  round.number = first_ + static_cast<std::int64_t>(rounds_.size());
  round.block = schedule.block(block_);
  round.round = round_;
  round.begins_sums = first && job_->run.first;
  round.ends_sums = last && job_->run.last;
  round.ends_job = last && block_ + 1 == schedule.blocks();
  if (round.ends_sums && job_->conv.post_parameters && !(records_of_ == round.block.columns)) {
    round.records = Records::kLoaded;
    records_of_ = round.block.columns;
  }
  rounds_.push_back(std::move(round));
  if (!last) {
    ++round_;
    return;
  }
  round_ = 0;
  ++block_;
}

}  // namespace tilebeat::rolling
