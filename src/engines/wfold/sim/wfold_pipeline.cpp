// The W-fold master in tile granularity: computes all cycles that are determined at once.
#include "engines/wfold/sim/wfold_pipeline.h"

#include "base/types.h"
#include "engines/wfold/sim/wfold_engine.h"
#include "engines/wfold/sim/wfold_master.h"
#include "kernels/mac.h"

#include <algorithm>

namespace tilebeat::wfold {

void WfoldPipeline::begin(const WfoldSchedule& schedule, Cycle now) {
  schedule_ = &schedule;
  walk_.begin(schedule);
  WfoldTiming::begin(schedule, now);
}

void WfoldPipeline::idle(Activity cause, Cycle now) {
  beats.enter(cause, now), ports.enter(cause, now);
  for (CycleLedger& bus : broadcast) bus.enter(cause, now);
}

bool WfoldPipeline::lines_there() const {
  if (!walk_.more) return false;
  const std::int64_t needed = walk_.lines_needed(*schedule_);
  for (int master = 0; master < masters(); ++master) {
    if (entered(master) < needed) return false;
  }
  return true;
}

// Makes a beat of one line of columns with the kernels that the units latch in the first beat of the step.
Cycle WfoldPipeline::do_latched_beat(Cycle drained_at) {
  const bool latches = walk_.begins_step();
  WfoldBeat line = walk_.beat;
  const int kernels = walk_.tile.kernels_per_slave;
  if (latches) {
    line.kernel = kernels - 1;
    kernels_complete_ = complete_at(line, walk_.tile);
  }
  begin_step(drained_at, walk_.lines_needed(*schedule_));
  const Cycle at = beat_after(kernels_complete_);
  for (line.kernel = 0; latches && line.kernel < kernels; ++line.kernel) latch(line, walk_.tile, at);
  free_lines(walk_.lines_freed(*schedule_), at);
  walk_.advance(*schedule_);
  return at;
}

Cycle WfoldPipeline::do_step(Cycle drained_at) {
  if (schedule_->shape().kernels_first()) return do_latched_beat(drained_at);
  const std::int64_t freed = walk_.lines_freed(*schedule_);
  const int kernels = walk_.tile.kernels_per_slave;
  begin_step(drained_at, walk_.lines_needed(*schedule_));
  for (int k = 0; k < kernels; ++k) {
    const Cycle at = beat(walk_.beat, walk_.tile);
    if (k == 0) free_lines(freed, at);
    walk_.advance(*schedule_);
  }
  return beats.settled_at() - 1;
}

void WfoldMaster::run_ahead() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (int master = 0; master < config_.masters; ++master) moved |= enter_lines(master);
    read_ahead();
    while (do_step()) {
      moved = true;
      read_ahead();
    }
  }
}

// Lets the regions' ports read on, and tells a memory that they share of their accesses.
void WfoldMaster::read_ahead() {
  const bool shared = reservations.size() > 0;
  pipeline_.read_kernels(
      [this](std::int64_t tile) -> std::optional<Cycle> {
        const Cycle at = half_drained(tile);
        return at == kNotYet ? std::nullopt : std::optional(at);
      },
      [&](const PortAccess& access) {
        note_port_time(access);
        if (shared) reserve_banks(access);
      });
  if (pipeline_.kernels_read()) pipeline_.no_more_kernels();
}

void WfoldMaster::note_port_time(const PortAccess& access) {
  const std::int64_t tile = access.line.beat.tile;
  if (port_times_.empty() || port_times_.back().tile != tile)
    port_times_.push_back({tile, access.at, access.at});
  port_times_.back().until = access.at + access.cycles;
}

// The cycles in which the ports have read for a tile; none where the kernels were there.
WfoldMaster::PortTime WfoldMaster::port_time_of(std::int64_t tile) {
  while (!port_times_.empty() && port_times_.front().tile < tile) port_times_.pop_front();
  return port_times_.empty() || port_times_.front().tile != tile ? PortTime{tile, 0, 0} : port_times_.front();
}

// Tells the memory which regions are accessed in these cycles: those of the slaves that have a record or
// bytes of the line left to read.
void WfoldMaster::reserve_banks(const PortAccess& access) {
  const WfoldSchedule& schedule = job_->schedule;
  std::vector<std::uint64_t> banks(to_size(access.cycles));
  KernelLine line;
  for (int slave = 0; slave < config_.slaves; ++slave) {
    const std::uint64_t bank = std::uint64_t{1} << slave;
    Cycle cycles = 0;
    if (access.records) {
      while (cycles < access.cycles && schedule.kernel_of(slave, to_int(cycles)) < access.line.tile.kernels)
        ++cycles;
    } else {
      schedule.find_kernel_line(access.line.beat, access.line.tile, slave, line);
      cycles = ceil_div<Cycle>(line.bytes.end - line.bytes.begin, config_.weight_port_bytes);
    }
    for (Cycle i = 0; i < cycles; ++i) nth(banks, i) |= bank;
  }
  for (Cycle i = 0; i < access.cycles; ++i) reservations.send({access.at + i, nth(banks, i)});
}

// Enters a master's lines that have arrived into the first buffers.
bool WfoldMaster::enter_lines(int master) {
  LineReader& reader = *nth(readers, master);
  bool moved = false;
  while (reader.more_lines()) {
    const bool absent = reader.next_is_absent();
    const Cycle ready = absent ? 0 : reader.line_ready();
    if (ready < 0 || !pipeline_.has_place(master)) return moved;
    std::int16_t* const widened = place_of_line(master, pipeline_.entered(master));
    moved = true;
    if (absent) {
      std::fill_n(widened, config_.line_bytes, std::int16_t{0});
      pipeline_.pass(master);
      reader.pass();
      continue;
    }
    std::uint8_t* const line = nth(line_, master).data();
    reader.form(line);
    widen(line, config_.line_bytes, setup_.input_type, setup_.input_zero_point, widened);
    reader.leave(pipeline_.enter(master, ready));
    ++stats.broadcast_lines;
  }
  pipeline_.no_more_lines(master);
  return moved;
}

// The place of a master's line of the run, widened, among the lines of the tiles that are not computed yet.
// Lines of a tile are kept group by group.
std::int16_t* WfoldMaster::place_of_line(int master, std::int64_t line) {
  const WfoldSchedule& schedule = job_->schedule;
  const std::int64_t tile = line / schedule.lines_per_tile() - tiles_computed_;
  const std::int64_t in_tile = line % schedule.lines_per_tile();
  while (tile >= ssize(tile_lines_)) {
    tile_lines_.push_back(std::move(spare_lines_));
    tile_lines_.back().resize(to_size(config_.masters * schedule.lines_per_tile() * config_.line_bytes));
  }
  const std::int64_t group = master * schedule.groups() + in_tile % schedule.groups();
  return nth(tile_lines_, tile).data() +
         (first_line_of(to_int(group)) + in_tile / schedule.groups()) * config_.line_bytes;
}

// Computes the beats of a step; false when its lines are not there, or no half of the third buffers is known
// to be free.
bool WfoldMaster::do_step() {
  if (!pipeline_.lines_there()) return false;
  const WfoldWalk walk = pipeline_.next();
  Cycle drained_at = kAlwaysFree;
  if (walk.begins_tile()) {
    drained_at = half_drained(walk.beat.tile);
    if (drained_at == kNotYet) return false;
  }
  const Cycle last_beat = pipeline_.do_step(drained_at);
  stats.beats += job_->schedule.shape().kernels_first() ? 1 : walk.tile.kernels_per_slave;
  if (walk.begins_step()) stats.kernel_lines += walk.tile.kernels_per_slave;
  const WfoldWalk& next = pipeline_.next();
  if (!next.more || next.beat.tile != walk.beat.tile) compute_tile(walk);
  end_step(walk, next, last_beat);
  return true;
}

// The first line of a group of slaves among the lines of a tile, which are kept group by group.
std::int64_t WfoldMaster::first_line_of(int group) const {
  return group * (job_->schedule.lines_per_tile() / job_->schedule.groups());
}

// Equal steps of all tiles read lines at equal positions of the tile.
void WfoldMaster::find_step_lines() {
  const WfoldSchedule& schedule = job_->schedule;
  step_lines_.clear();
  std::ptrdiff_t first = 0;
  for (int number = 0; number < schedule.refills(); ++number) {
    const int part = schedule.refill(number).part;
    const std::vector<int>& columns = schedule.steps(part);
    for (const int column : columns)
      step_lines_.push_back(first + std::ptrdiff_t{column - columns.front()} * job_->run.granularity);
    first += std::ptrdiff_t{schedule.lines_of_group(part)} * config_.line_bytes;
  }
}

// Computes all beats of a tile in every slave and counts their reads of the regions; `last` is its last step.
void WfoldMaster::compute_tile(const WfoldWalk& last) {
  const auto steps = count_of(step_lines_);
  WfoldBeat first = last.beat;
  first.refill = first.step = first.window = 0;
  first.step_number -= steps - 1;
  const bool new_kernels = first.step_number == 0;
  const PortTime port = port_time_of(last.beat.tile);
  SlaveChunk chunk{*job_,
                   first,
                   last.tile,
                   tile_lines_.front().data(),
                   step_lines_.data(),
                   steps,
                   half_of(last.beat.tile),
                   record_set_of(last.tile),
                   config_.weight_port_bytes,
                   new_kernels,
                   port.from,
                   port.until};
  for (int slave = 0; slave < config_.slaves; ++slave) {
    chunk.lines = tile_lines_.front().data() +
                  first_line_of(job_->schedule.line_group_of_slave(slave)) * config_.line_bytes;
    nth(slave_chunks, slave).send(chunk);
  }
  spare_lines_ = std::move(tile_lines_.front());
  tile_lines_.pop_front();
  ++tiles_computed_;
}

}  // namespace tilebeat::wfold
