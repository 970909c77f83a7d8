#include "engines/wfold/sim/wfold_master.h"

#include "engines/wfold/config.h"
#include "engines/wfold/sim/wfold_engine.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tilebeat::wfold {
namespace {

// Checks the fields before a schedule is made from them.
void check_fields(const WfoldRun& r, const WfoldConfig& config) {
  const auto is_granularity = [&config](int g) {
    return g >= 2 && g <= config.line_bytes && (g & (g - 1)) == 0;
  };
  if (!is_granularity(r.granularity) || !is_granularity(r.result_granularity)) {
    throw SimulationError(fmt::format("wfold.run: granularities {} and {}, powers of two from 2 to {} exist",
                                      r.granularity, r.result_granularity, config.line_bytes));
  }
}

}  // namespace

WfoldMaster::WfoldMaster(sc_core::sc_module_name name, const SimContext& context, const WfoldConfig& config,
                         int max_outstanding, std::uint64_t nram, std::int64_t region_bytes,
                         Granularity granularity)
    : CommandedUnit(name, context, Unit::kMatrix),
      slave_control("slave_control", to_size(config.slaves)),
      slave_chunks("slave_chunks", to_size(config.slaves)),
      slave_images("slave_images", to_size(config.slaves)),
      to_writer("to_writer"),
      reservations("reservations"),
      drained("drained"),
      config_(config),
      second_storage_(context.holds("wram")),
      nram_(nram),
      region_bytes_(region_bytes),
      granularity_(granularity),
      pipeline_(config.masters, config.weight_port_bytes),
      work_(context, *this, {"", "utilization", "%", CounterInfo::Kind::kWork}),
      entered_(to_size(config.masters)),
      complete_at_(to_size(wfold_shape(config).kernel_lines())),
      occupied_(to_size(wfold_shape(config).kernel_lines())),
      line_(to_size(config.masters), std::vector<std::uint8_t>(to_size(config.line_bytes))) {
  for (int i = 0; i < config.masters; ++i)
    readers.push_back(
        std::make_unique<LineReader>(numbered("port", i), context, config, i, max_outstanding, nram, wake_));
  drained.register_b_transport(this, &WfoldMaster::take_drained);
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
  if (Trace* trace = context_.trace(); trace != nullptr) declare_signals(*trace);
}

LineReaderStats WfoldMaster::reader_stats() const {
  LineReaderStats sum;
  for (const auto& reader : readers) {
    sum.requests += reader->stats.requests;
    sum.bytes += reader->stats.bytes;
    sum.lines += reader->stats.lines;
  }
  return sum;
}

void WfoldMaster::take(const Instruction& instruction, Cycle) {
  queue_.push_back(instruction);
}

void WfoldMaster::take_drained(HalfDrained& message, sc_core::sc_time&) {
  nth(drained_at_, tiles_drained_ % 4) = message.at;
  ++tiles_drained_;
  wake_at(message.at + 1);
}

Cycle WfoldMaster::half_drained(std::int64_t tile) const {
  const std::int64_t before = tiles_before_ + tile - 2;  // the tile that used the half last
  if (before < 0) return kAlwaysFree;
  return before < tiles_drained_ ? nth(drained_at_, before % 4) : kNotYet;
}

void WfoldMaster::step() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  for (const auto& reader : readers) {
    reader->take(now);
    if (Trace* trace = context_.trace(); trace != nullptr) reader->trace(*trace, context_.clock.at(now), now);
  }
  if (state_ == State::kFinishing && now >= finish_at_) finish_run(now);
  if (state_ == State::kLoadingImages && now >= finish_at_) end_images(now);
  if (state_ == State::kIdle || state_ == State::kDraining) begin_next(now);
  if (state_ == State::kAligning) align(now);
  if (state_ == State::kRunning) {
    if (granularity_ == Granularity::kClock) {
      run_clock(now);
    } else {
      run_ahead();
    }
  }
  bool requested = false;
  for (const auto& reader : readers)
    requested |= reader->request(now, state_ == State::kIdle ? blocker_ : Activity::kNoWork);
  schedule(now, requested);
}

void WfoldMaster::schedule(Cycle now, bool requested) {
  NextClock next(now);
  if (requested) next.at(now + 1);
  if (state_ == State::kFinishing || state_ == State::kLoadingImages) next.at(finish_at_);
  if (state_ == State::kAligning) next.at(now + 1);
  if (state_ == State::kRunning && granularity_ == Granularity::kClock) next.at(now + 1);
  if (state_ == State::kRunning || state_ == State::kFinishing) {
    for (const auto& reader : readers) next.at(reader->next_room(now));
  }
  wake_at(next);
}

void WfoldMaster::begin_next(Cycle now) {
  while (!queue_.empty()) {
    const Instruction& front = queue_.front();
    const auto complete = [&] {
      tell_complete(front);
      queue_.pop_front();
    };
    if (const auto* kernels = front.operation.get_if<WfoldKernels>()) {
      check_groups(kernels->layout());
      kernel_layout_ = kernels->layout(), packed_.reset();
      if (kernels->packed) return begin_images(*kernels, now);
      complete();
      continue;
    }
    if (const auto* setup = front.operation.get_if<ConvSetup>()) {
      // Results in the third buffers still need the registers that they were computed with.
      const bool out = tiles_drained_ == tiles_before_ &&
                       (tiles_before_ == 0 || nth(drained_at_, (tiles_before_ - 1) % 4) < now);
      if (!out) {
        state_ = State::kDraining;
        pipeline_.idle(Activity::kOutputDrain, now);
        return;
      }
      setup_ = *setup, kernel_layout_ = {}, packed_.reset();
      complete();
      continue;
    }
    if (const auto* kernels = front.operation.get_if<WfoldAlign>()) {
      begin_align(*kernels, now);
    } else {
      begin_run(now);
    }
    return;
  }
  state_ = State::kIdle;
  idle(blocker_, now);
}

// Sets the stall cause of the whole engine while there is no run.
void WfoldMaster::idle(Activity cause, Cycle now) {
  pipeline_.idle(cause, now);
  to_writer.send({WaitsFor{cause}});
}

void WfoldMaster::check_run(const WfoldJob& job) const {
  const WfoldSchedule& schedule = job.schedule;
  const std::int64_t half = config_.transit_bytes / 2;
  if (job.run.read_mode == WfoldReadMode::kContinuous && !can_read_continuously(schedule))
    throw SimulationError("wfold.run: a map of several channel blocks cannot be read continuously");
  if (job.run.read_mode == WfoldReadMode::kTransit && !transit_holds_block(schedule, half))
    throw SimulationError(
        fmt::format("wfold.run: a row window does not fit the {} bytes of half the transit buffer", half));
  check_kernels(job);
}

// Checks that lines can be sent to the groups of slaves.
void WfoldMaster::check_groups(const WfoldKernelLayout& layout) const {
  if (layout.slave_groups > config_.multicast_groups || config_.slaves % layout.slave_groups != 0)
    throw SimulationError(fmt::format("wfold.kernels: {} groups of {} slaves, lines can be sent to {}",
                                      layout.slave_groups, config_.slaves, config_.multicast_groups));
  if (layout.slave_groups > 1 && layout.slave_groups % config_.masters != 0)
    throw SimulationError(fmt::format("wfold.kernels: {} groups of slaves, {} masters have equally many each",
                                      layout.slave_groups, config_.masters));
  if (layout.slave_groups > 1 && (layout.group_kernels == 0 || layout.first_in_group > 0))
    throw SimulationError("wfold.kernels: groups of slaves need whole groups of a convolution");
  if (layout.first_in_group > std::max(0, layout.group_kernels - 1))
    throw SimulationError(fmt::format("wfold.kernels: the first kernel is number {} of a group of {}",
                                      layout.first_in_group, layout.group_kernels));
}

// Checks that kernels fit the pixels that they are multiplied with, and their region.
void WfoldMaster::check_kernels(const WfoldJob& job) const {
  const WfoldSchedule& schedule = job.schedule;
  const WfoldKernelLayout& layout = schedule.geometry().kernel_layout;
  if (const int pixel = job.run.pixel_bytes / job.setup.stride_w; layout.dealt() && layout.channels > pixel) {
    throw SimulationError(fmt::format("wfold.kernels: {} channels of a kernel, a pixel of the {} has {}",
                                      layout.channels, summary(job.instruction), pixel));
  }
  if (layout.slave_groups > 1 && (job.run.kernels % config_.slaves != 0 || schedule.kernel_tiles() > 1 ||
                                  schedule.group_kernels() % layout.group_kernels != 0)) {
    throw SimulationError(
        fmt::format("wfold.run: {} kernels in groups of {} cannot be dealt to {} groups of slaves",
                    job.run.kernels, layout.group_kernels, layout.slave_groups));
  }
  if (const int own = schedule.channels_of_kernels(); layout.dealt() && own > job.run.channels) {
    throw SimulationError(
        fmt::format("wfold.run: {} kernels in groups of {} have {} bytes of a pixel, the run {}",
                    job.run.kernels, layout.group_kernels, own, job.run.channels));
  }
  if (const int end = job.run.first_channel + schedule.channels_of_groups(); end > job.run.pixel_bytes) {
    throw SimulationError(fmt::format("wfold.run: kernels take bytes {} to {} of a pixel of {}",
                                      job.run.first_channel, end, job.run.pixel_bytes));
  }
  if (job.packed) {
    const std::int64_t offset = to_signed(std::uint64_t{job.run.weights}) - to_signed(job.packed->image);
    if (offset < 0) throw SimulationError("wfold.run: kernels in front of their image");
  } else if (job.run.weights + schedule.region_bytes() > region_bytes_) {
    throw SimulationError(fmt::format("wfold.run: kernels take bytes {} to {} of a region of {}",
                                      job.run.weights, job.run.weights + schedule.region_bytes(),
                                      region_bytes_));
  }
}

// Checks that open partial sums in the third buffers fit the run that continues them.
void WfoldMaster::check_sums(const WfoldJob& job) {
  const WfoldRun& run = job.run;
  if ((!run.begins_sums || !run.ends_sums) && job.schedule.tiles() != 1) {
    throw SimulationError(
        fmt::format("wfold.run: sums that several runs add up are one tile, these are {} x {} outputs of {} "
                    "kernels",
                    run.rows, run.columns, run.kernels));
  }
  if (run.begins_sums != (open_sums_ == nullptr))
    throw SimulationError(run.begins_sums ? "wfold.run: the sums of the run before have not ended"
                                          : "wfold.run: no run before has begun the sums");
  if (open_sums_ != nullptr &&
      (open_sums_->run.columns != run.columns || open_sums_->run.kernels != run.kernels ||
       open_sums_->run.granularity != run.granularity)) {
    throw SimulationError(fmt::format(
        "wfold.run: {} columns of {} kernels in lines of {} go on with sums of {} columns of {} kernels in "
        "lines of {}",
        run.columns, run.kernels, run.granularity, open_sums_->run.columns, open_sums_->run.kernels,
        open_sums_->run.granularity));
  }
  if (run.begins_sums) most_macs_ = 0;
  most_macs_ += std::int64_t{job.setup.kernel_h} * job.setup.kernel_w * run.channels;
  if (run.ends_sums && run.macs_per_output > most_macs_) {
    throw SimulationError(
        fmt::format("wfold.run: {} useful multiply-accumulates an output, its kernels have {}",
                    run.macs_per_output, most_macs_));
  }
}

void WfoldMaster::begin_run(Cycle now) {
  const auto* run = queue_.front().operation.get_if<WfoldRun>();
  if (run == nullptr)
    throw SimulationError(summary(queue_.front()) + ": the matrix unit of this core is a W-fold engine");
  check_fields(*run, config_);
  job_ = std::make_shared<const WfoldJob>(
      WfoldJob{queue_.front(), *run, setup_,
               WfoldSchedule(wfold_shape(config_), geometry_of(setup_, kernel_layout_, *run)), packed_});
  check_run(*job_);
  check_sums(*job_);
  hold_kernels(*job_, Holds::Access::kRead, now);
  if (context_.bytes != nullptr) context_.bytes->begin(job_->instruction, footprint_of(*job_), now);
  state_ = State::kRunning;
  began_ = tile_began_ = now;
  macs_before_ = stats.useful_macs;
  ++stats.runs;
  pipeline_.decode(packed_ ? PackedRegions::kDecodeCycles : 0);
  pipeline_.begin(job_->schedule, now);
  for (Entered& entered : entered_) entered = {0, std::vector<Cycle>(to_size(job_->schedule.places()), 0)};
  port_times_.clear();
  beat_.begin(job_->schedule);
  weights_ = beat_;
  records_left_ = job_->schedule.geometry().post_parameters ? weights_.tile.kernels_per_slave : 0;
  port_at_ = 0;
  freed_ = 0;
  std::fill(occupied_.begin(), occupied_.end(), false);
  tile_lines_.clear();
  tiles_computed_ = 0;
  find_step_lines();
  to_writer.send({WaitsFor{Activity::kOutputReady}});
  for (const auto& reader : readers) reader->begin(*job_);
}

// Every master reads lines of the map; the requests are those that LineReader sends.
Footprint WfoldMaster::footprint_of(const WfoldJob& job) const {
  Footprint made;
  const std::uint64_t map = nram_ + job.run.map;
  for (int master = 0; master < config_.masters; ++master) {
    WfoldReader reader(job.schedule, job.run.read_mode, config_.transit_bytes / 2, master);
    for (; !reader.done(); reader.advance()) {
      for (const WfoldRequest& request : reader.fetch().requests) {
        const std::uint64_t row = map + to_unsigned(request.row * job.schedule.geometry().row_bytes);
        made.chip.reads.add(row + to_unsigned(request.bytes.begin), row + to_unsigned(request.bytes.end));
      }
    }
  }
  const std::uint64_t weights = second_storage_->base() + job.run.weights;
  std::optional<int> done;  // the kernel tile that the walk has been over; later tiles read it again
  WfoldWalk walk;
  for (walk.begin(job.schedule); walk.more;) {
    const int kernel_tile = walk.tile.kernel_tile;
    const bool again = done && kernel_tile <= *done;
    for (int slave = 0; slave < config_.slaves && !again && !job.packed; ++slave) {
      const std::uint64_t region = weights + to_unsigned(slave * region_bytes_);
      KernelLine line;
      job.schedule.find_kernel_line(walk.beat, walk.tile, slave, line);
      made.chip.reads.add(region + to_unsigned(line.bytes.begin), region + to_unsigned(line.bytes.end));
      if (!job.schedule.geometry().post_parameters || !walk.begins_tile()) continue;
      for (int kernel = 0; kernel < walk.tile.kernels_per_slave; ++kernel) {
        if (job.schedule.kernel_of(slave, kernel) >= walk.tile.kernels) break;
        made.chip.reads.add(BytePattern{
            region + to_unsigned(job.schedule.records_begin(kernel_tile) + kernel * kPostParameterBytes),
            kPostParameterBytes});
      }
    }
    const std::int64_t tile = walk.beat.tile;
    walk.advance_kernel_line(job.schedule);
    if (walk.more && walk.beat.tile != tile) done = kernel_tile;
  }
  if (job.packed) add(pattern_of(*job.packed), made.chip.reads);
  if (job.run.ends_sums) {
    const auto element = to_unsigned(dtype_size(job.setup.output_type));
    add(BytePattern{nram_ + job.run.result, job.run.kernels * element, job.run.result_pixel,
                    std::uint64_t{job.run.rows} * job.run.columns},
        made.chip.writes);
  }
  return made;
}

// The kernels' own bytes lie at the tail of the place that they are folded to.
Footprint WfoldMaster::footprint_of_align(const WfoldJob& job) const {
  Footprint made;
  const WfoldSchedule& schedule = job.schedule;
  const WfoldTile tile = schedule.tile(0);
  for (int slave = 0; slave < config_.slaves; ++slave) {
    int kernels = 0;
    while (kernels < tile.kernels_per_slave && schedule.kernel_of(slave, kernels) < job.run.kernels)
      ++kernels;
    const std::uint64_t region =
        second_storage_->base() + job.run.weights + to_unsigned(slave * region_bytes_);
    const std::uint64_t own = region + to_unsigned(schedule.in_front_of_own(tile));
    made.chip.reads.add(own, own + to_unsigned(kernels * schedule.own_kernel_bytes()));
    made.chip.writes.add(region, region + to_unsigned(kernels * schedule.kernel_bytes()));
  }
  return made;
}

void WfoldMaster::finish_run(Cycle now) {
  if (second_storage_ != nullptr) second_storage_->close_oldest(now);
  if (context_.trace() != nullptr) trace_clock(SlaveClock{*job_}, {}, now);
  show_work(context_, *this, job_->instruction, began_, now, {{}, stats.useful_macs - macs_before_});
  if (job_->run.ends_sums) {
    tell(UnitMessage::Kind::kReleased, job_->instruction.release_signals);
    tiles_before_ += job_->schedule.tiles();
    kernel_tiles_before_ += job_->schedule.kernel_tiles();
    open_sums_.reset();
  } else {
    // The next run continues in the same half.
    tell_complete(job_->instruction);
    open_sums_ = job_;
  }
  queue_.pop_front();
  begin_next(now);
}

// Counts the losses of a tile's beats in one run. All products of its outputs count as lost until its sums
// end, when they are known to be useful.
void WfoldMaster::count_losses(const WfoldTile& tile) {
  const WfoldSchedule& schedule = job_->schedule;
  const std::int64_t steps = schedule.steps_of_tile();
  // In a step all lines of columns meet all kernels.
  const bool kernels_first = schedule.shape().kernels_first();
  const std::int64_t kernels =
      std::int64_t{config_.slaves} * (kernels_first ? config_.compute_units : tile.kernels_per_slave);
  const std::int64_t lanes =
      std::int64_t{kernels_first ? tile.windows : config_.compute_units} * config_.line_bytes;
  const std::int64_t used = std::int64_t{tile.columns} * schedule.geometry().granularity;
  stats.losses =
      stats.losses + MacLosses{(lanes - used) * kernels * steps, used * (kernels - tile.kernels) * steps,
                               used * tile.kernels * steps};
}

// Ends a step: its last beat is in cycle `last_beat`, and `next` follows. The results of a tile drain from
// the cycle after the adder trees have added its last products on.
void WfoldMaster::end_step(const WfoldWalk& walk, const WfoldWalk& next, Cycle last_beat) {
  const bool tile_ends = !next.more || next.beat.tile != walk.beat.tile;
  if (tile_ends || next.beat.refill != walk.beat.refill) ++stats.refills;
  if (!tile_ends) return;
  if (!next.more) {
    state_ = State::kFinishing;
    finish_at_ = last_beat + 1;
  }
  count_losses(walk.tile);
  if (!job_->run.ends_sums) return;
  ++stats.tiles;
  const std::int64_t macs = std::int64_t{walk.tile.columns} * walk.tile.kernels * job_->run.macs_per_output;
  stats.useful_macs += macs;
  nth(stats.losses, MacLoss::kNoChannel) -= macs;
  work_.count(tile_began_, last_beat + 1, macs);
  tile_began_ = last_beat + 1;
  TileResults results;
  results.job = job_;
  results.tile = walk.tile;
  results.half = half_of(walk.beat.tile);
  results.record_set = record_set_of(walk.tile);
  results.ready = last_beat + config_.adder_stages;
  results.last = !next.more;
  to_writer.send({std::move(results)});
}

}  // namespace tilebeat::wfold
