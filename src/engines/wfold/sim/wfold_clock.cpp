// The W-fold master's cycles in clock granularity.
#include "engines/wfold/sim/wfold_master.h"

#include <algorithm>

namespace tilebeat::wfold {

// All decisions depend on the contents of the buffers at the beginning of the cycle.
void WfoldMaster::run_clock(Cycle now) {
  const std::int64_t freed = freed_;
  SlaveClock clock{*job_};
  const Activity blocker = beat_blocker(now);
  pipeline_.beats.enter(blocker, now);
  if (blocker == Activity::kBusy) clock.beat = next_beat();
  clock.port_read = read_weights(now);
  std::vector<SlaveClock::Lines> lines;
  for (int master = 0; master < config_.masters; ++master) lines.push_back(send_lines(master, freed, now));
  tell_slaves(clock, lines);
  if (context_.trace() != nullptr) trace_clock(clock, lines, now);
  if (blocker == Activity::kBusy) commit_beat(now);
}

SlaveClock::Lines WfoldMaster::send_lines(int master, std::int64_t freed, Cycle now) {
  SlaveClock::Lines lines;
  lines.absent = pass_lines(master, freed, now);
  lines.line = enter_line(master, freed, now);
  return lines;
}

// Tells the slaves that have something to do in this cycle what; a line goes to the slaves of its group
// alone.
void WfoldMaster::tell_slaves(SlaveClock& clock, const std::vector<SlaveClock::Lines>& lines) {
  const WfoldSchedule& schedule = job_->schedule;
  for (int slave = 0; slave < config_.slaves; ++slave) {
    clock.lines = nth(lines, schedule.master_of_slave(slave));
    if (clock.lines.line && clock.lines.line->group != schedule.group_of_slave(slave))
      clock.lines.line.reset();
    if (clock.beat || clock.lines.absent.count > 0 || clock.lines.line || clock.port_read)
      nth(slave_control, slave).send(clock);
  }
}

// The cause that keeps the next beat from being done in this cycle; kBusy when nothing does.
Activity WfoldMaster::beat_blocker(Cycle now) const {
  const WfoldBeat& beat = beat_.beat;
  if (beat_.begins_tile()) {
    const Cycle drained_at = half_drained(beat.tile);
    if (drained_at == kNotYet || drained_at >= now) return Activity::kOutputDrain;
  }
  if (beat_.begins_step() || job_->schedule.shape().kernels_first()) {
    if (!lines_there(now)) return Activity::kInputLoad;
  }
  return kernels_there(now) ? Activity::kBusy : Activity::kWeightLoad;
}

// Whether the lines that the next beat needs have entered from every master.
bool WfoldMaster::lines_there(Cycle now) const {
  const std::int64_t last = beat_.lines_needed(job_->schedule) - 1;
  const auto place = to_size(last % job_->schedule.places());
  return std::all_of(entered_.begin(), entered_.end(),
                     [&](const Entered& entered) { return last < entered.lines && entered.at[place] < now; });
}

// Whether the next beat's kernel line is complete, or those that the units latch in it.
bool WfoldMaster::kernels_there(Cycle now) const {
  const bool kernels_first = job_->schedule.shape().kernels_first();
  if (kernels_first && !beat_.begins_step()) return true;
  WfoldBeat line = beat_.beat;
  const int end = kernels_first ? beat_.tile.kernels_per_slave : line.kernel + 1;
  for (; line.kernel < end; ++line.kernel) {
    const auto slot = to_size(job_->schedule.kernel_slot(line, beat_.tile));
    if (!occupied_[slot] || complete_at_[slot] < 0 || complete_at_[slot] >= now) return false;
  }
  return true;
}

SlaveClock::Beat WfoldMaster::next_beat() const {
  const WfoldBeat& beat = beat_.beat;
  const WfoldSchedule& schedule = job_->schedule;
  const std::vector<int>& columns = schedule.steps(beat_.refill.part);
  const int offset = nth(columns, beat.step) - columns.front();
  SlaveClock::Beat made;
  made.at = beat;
  made.selects = beat_.begins_step();
  made.column = to_int(beat.first_line % schedule.places()) / schedule.groups() * schedule.fold() + offset +
                beat.window * schedule.fold();
  made.map_column = beat_.tile.column + nth(columns, beat.step) + beat.window * schedule.fold();
  made.kernels = beat_.tile.kernels_per_slave;
  made.slot = schedule.kernel_slot(beat, beat_.tile);
  made.half = half_of(beat.tile);
  made.first = job_->run.begins_sums && beat.refill == 0 && beat.step == 0;
  return made;
}

// Marks the places of lines that do not exist; `freed` lines had left theirs at the beginning of the cycle.
SlaveClock::Absent WfoldMaster::pass_lines(int master, std::int64_t freed, Cycle now) {
  const int places = job_->schedule.places();
  LineReader& reader = *nth(readers, master);
  Entered& entered = nth(entered_, master);
  SlaveClock::Absent absent{to_int(entered.lines % places), 0};
  for (; reader.next_is_absent() && entered.lines - freed < places; ++absent.count) {
    nth(entered.at, entered.lines % places) = now;
    ++entered.lines;
    reader.pass();
  }
  return absent;
}

// Returns the line that enters in this cycle; `freed` lines had left their places at its beginning.
std::optional<SlaveClock::Line> WfoldMaster::enter_line(int master, std::int64_t freed, Cycle now) {
  LineReader& reader = *nth(readers, master);
  Entered& entered = nth(entered_, master);
  CycleLedger& bus = nth(pipeline_.broadcast, master);
  if (!reader.more_lines()) {
    bus.enter(Activity::kNoWork, now);
    return std::nullopt;
  }
  const Cycle ready = reader.next_is_absent() ? now : reader.line_ready();
  if (ready < 0 || ready > now) {
    bus.enter(Activity::kLineLoad, now);
    return std::nullopt;
  }
  const int places = job_->schedule.places(), groups = job_->schedule.groups();
  if (entered.lines - freed >= places) {
    bus.enter(Activity::kInputRelease, now);
    return std::nullopt;
  }
  bus.enter(Activity::kBusy, now);
  std::uint8_t* const line = nth(line_, master).data();
  reader.form(line);
  reader.leave(now);
  const auto place = to_int(entered.lines % places);
  nth(entered.at, place) = now;
  ++entered.lines;
  ++stats.broadcast_lines;
  return SlaveClock::Line{line, place / groups, place % groups};
}

// Reads the regions' ports in this cycle.
std::optional<SlaveClock::PortRead> WfoldMaster::read_weights(Cycle now) {
  if (!weights_.more) {
    pipeline_.ports.enter(Activity::kNoWork, now);
    return std::nullopt;
  }
  return records_left_ > 0 ? read_record(now) : read_kernel_line(now);
}

std::optional<SlaveClock::PortRead> WfoldMaster::read_record(Cycle now) {
  const Cycle drained_at = half_drained(weights_.beat.tile);
  if (drained_at == kNotYet || drained_at >= now) {
    pipeline_.ports.enter(Activity::kOutputDrain, now);
    return std::nullopt;
  }
  pipeline_.ports.enter(Activity::kBusy, now);
  const int record = weights_.tile.kernels_per_slave - records_left_;
  --records_left_;
  const auto offset =
      to_unsigned(job_->schedule.records_begin(weights_.tile.kernel_tile) + record * kPostParameterBytes);
  return SlaveClock::PortRead{SlaveClock::PortRead::Record{
      job_->run.weights + offset, record_set_of(weights_.tile), record, weights_.tile.kernels}};
}

std::optional<SlaveClock::PortRead> WfoldMaster::read_kernel_line(Cycle now) {
  const WfoldSchedule& schedule = job_->schedule;
  const int slot = schedule.kernel_slot(weights_.beat, weights_.tile);
  const auto index = to_size(slot);
  if (port_at_ == 0 && occupied_[index]) {
    pipeline_.ports.enter(Activity::kWeightRelease, now);
    return std::nullopt;
  }
  pipeline_.ports.enter(Activity::kBusy, now);
  const Cycle cycles = schedule.port_cycles(weights_.beat, weights_.tile, config_.weight_port_bytes);
  const bool complete = port_at_ + 1 == cycles;
  const SlaveClock::PortRead read{
      SlaveClock::PortRead::KernelBytes{weights_.beat, weights_.tile, slot, port_at_, complete}};
  occupied_[index] = true;
  complete_at_[index] = -1;
  ++port_at_;
  if (!complete) return read;
  complete_at_[index] = now + (job_->packed ? PackedRegions::kDecodeCycles : 0);
  port_at_ = 0;
  ++stats.kernel_lines;
  weights_.advance_kernel_line(schedule);
  if (weights_.more && schedule.geometry().post_parameters && weights_.begins_kernel_tile())
    records_left_ = weights_.tile.kernels_per_slave;
  return read;
}

void WfoldMaster::commit_beat(Cycle now) {
  const WfoldSchedule& schedule = job_->schedule;
  const WfoldWalk done = beat_;
  ++stats.beats;
  const bool kernels_first = schedule.shape().kernels_first();
  WfoldBeat line = done.beat;
  const int latched = !kernels_first ? 1 : done.begins_step() ? done.tile.kernels_per_slave : 0;
  for (int i = 0; i < latched; ++i, ++line.kernel)
    nth(occupied_, schedule.kernel_slot(line, done.tile)) = false;
  if (kernels_first || done.begins_step()) freed_ = done.lines_freed(schedule);
  beat_.advance(schedule);
  if (!beat_.more || beat_.begins_step()) end_step(done, beat_, now);
}

}  // namespace tilebeat::wfold
