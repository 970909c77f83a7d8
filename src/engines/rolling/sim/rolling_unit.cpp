#include "engines/rolling/sim/rolling_unit.h"

#include "base/types.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace tilebeat::rolling {
namespace {

// Checks all fields: hand-written programs may contain any values.
void check_fields(const ConvSetup& c, const RollingSetup& s, const RollingRun& r,
                  const RollingConfig& config) {
  const auto refuse = [](const std::string& what) { throw SimulationError("rolling.run: " + what); };
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const std::int64_t pixels = std::int64_t{r.rows} * r.columns, taps = std::int64_t{c.kernel_h} * c.kernel_w;
  if (pixels > most / s.images || taps > most / r.channels)
    refuse(fmt::format("{} images of {} outputs over {} taps of {} channels are more than can be counted",
                       s.images, pixels, taps, r.channels));
  if (s.useful_taps > to_unsigned(taps))
    refuse(fmt::format("useful_taps {}: the kernel has {} taps", s.useful_taps, taps));
  const int last_group = (r.first_kernel + r.kernels - 1) / s.group_kernels;
  const std::int64_t end = std::int64_t{last_group} * s.group_channels + r.first_channel + r.channels;
  if (end > s.pixel_bytes)
    refuse(fmt::format("channels up to {} of a pixel of {} bytes", end, s.pixel_bytes));
  const int groups = s.stacked_blocks * s.stacked_cuts;
  if (groups > config.groups)
    refuse(fmt::format("{} x {} stacked block pairs, the array has {} register groups", s.stacked_blocks,
                       s.stacked_cuts, config.groups));
  if (s.stacked_blocks * s.stacked_blocks > config.result_blocks)
    refuse(fmt::format("{} x {} output blocks, half of the result buffer holds {}", s.stacked_blocks,
                       s.stacked_blocks, config.result_blocks));
  const bool stacks = s.scheme == Scheme::kGroupRolling || s.scheme == Scheme::kWholeRolling;
  if (s.wrap == Wrap::kRegister && config.spare_lines == SpareLines::kNone)
    refuse("lines wrap through registers, there are no spare ones");
  if (!stacks && s.stacked_blocks != 1) refuse("blocks are stacked, the scheme works on one at a time");
  if (s.scheme == Scheme::kOutputStationary && s.stacked_cuts != 1)
    refuse("cuts are stacked, output-stationary operands are streamed");
}

}  // namespace

RollingUnit::RollingUnit(sc_core::sc_module_name name, const SimContext& context, const RollingConfig& config,
                         int max_outstanding, const std::optional<OperandMemories>& memories,
                         Granularity granularity)
    : CommandedUnit(name, context, Unit::kMatrix),
      results("results", context, config, max_outstanding,
              memories ? std::optional(memories->nram) : std::nullopt, granularity, wake_),
      config_(config),
      granularity_(granularity),
      array_(shape_of(config), context.observers.trace, std::string(this->name()) + ".array"),
      work_(context, *this, {"", "utilization", "%", CounterInfo::Kind::kWork}),
      rounds_(config),
      line_sums_(to_size(config.multipliers)) {
  for (const OperandName operand : {OperandName::kA, OperandName::kB}) {
    auto& made = nth(loaders, operand);
    if (memories) {
      made = std::make_unique<ScratchpadLoader>(operand, context, config,
                                                operand == OperandName::kA ? memories->nram : memories->wram,
                                                granularity);
    } else {
      made = std::make_unique<BusLoader>(operand, context, config, max_outstanding, wake_);
    }
  }
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
  if (context_.trace() != nullptr) declare_signals();
}

std::vector<NamedPort> RollingUnit::bus_ports() {
  if (!results.bus) return {};
  return {{"rolling_a", &static_cast<BusLoader&>(*loaders[0]).port.socket},
          {"rolling_b", &static_cast<BusLoader&>(*loaders[1]).port.socket},
          {"rolling_results", &results.bus->socket}};
}

void RollingUnit::bind_memories(Scratchpad& nram, Scratchpad& wram) {
  static_cast<ScratchpadLoader&>(*loaders[0]).port.bind(nram, 0);
  static_cast<ScratchpadLoader&>(*loaders[1]).port.bind(wram, 0);
  results.port->bind(nram, 1);
}

void RollingUnit::hold_scales(int most) {
  if (results.port) static_cast<ScratchpadLoader&>(*loaders[1]).most_scales = most;
}

void RollingUnit::inject_fault(const Fault& fault) {
  registers_have_faults_ = true;
  if (fault.at)
    upsets_.add(*fault.at, fault);
  else
    array_.inject_fault(fault);
  read_every_word();
}

void RollingUnit::read_every_word() {
  faulty_ = true;
  if (!results.port) return;
  for (auto& operand : loaders) static_cast<ScratchpadLoader&>(*operand).read_every_line();
}

void RollingUnit::take(const Instruction& instruction, Cycle) {
  queue_.push_back(instruction);
}

void RollingUnit::step() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  for (auto& operand : loaders) operand->take(now);
  results.take(now);
  end_loading(now);
  begin_next(now);
  results.drain(now, idle(now));
  if (granularity_ == Granularity::kClock)
    run_clock(now);
  else
    run_ahead();
  results.write(now, idle(now));
  for (auto& operand : loaders) operand->request(rounds_, now, loading_ ? Activity::kNoWork : blocker_);
  // Lines of padding are ready after their turn.
  if (granularity_ == Granularity::kTile) run_ahead();
  finish_jobs(now);
  schedule(now);
}

void RollingUnit::begin_next(Cycle now) {
  while (!loading_ && !queue_.empty()) {
    const Instruction& front = queue_.front();
    const auto* conv = front.operation.get_if<ConvSetup>();
    const auto* setup = front.operation.get_if<RollingSetup>();
    if (conv == nullptr && setup == nullptr) {
      begin_run(now);
      break;
    }
    // Register groups are divided differently only when they are empty.
    if (setup != nullptr && works(now)) break;
    if (conv != nullptr)
      conv_ = *conv;
    else
      setup_ = *setup;
    tell_complete(front);
    queue_.pop_front();
  }
  for (auto& operand : loaders) {
    if (!loading_ && operand->ledger.settled_at() <= now) operand->ledger.enter(blocker_, now);
  }
  if (!works(now) && ledger.settled_at() <= now) ledger.enter(blocker_, now);
}

void RollingUnit::begin_run(Cycle now) {
  const auto* run = queue_.front().operation.get_if<RollingRun>();
  if (run == nullptr)
    throw SimulationError(summary(queue_.front()) +
                          ": the matrix unit of this core is a rolling-register unit");
  check_fields(conv_, setup_, *run, config_);
  if (registers_have_faults_ && conv_.input_type == DType::kInt16)
    throw SimulationError("rolling.run: faults of its registers are those of bytes, the map is int16");
  if (run->transposes && !results.port)
    throw SimulationError("rolling.run: kernels are transposed in WRAM, a board has none");
  loading_ = std::make_shared<Job>(shape_of(config_), queue_.front(), conv_, setup_, *run, now);
  const RollingSchedule& schedule = loading_->schedule;
  if (schedule.blocks() > 1 && !(run->first && run->last))
    throw SimulationError(fmt::format(
        "rolling.run: sums of {} output blocks cannot stay in the result buffer", schedule.blocks()));
  check_sums(*run, schedule);
  if (run->packed) load_image(*run, now);
  last_kernels_ = loading_->kernels;
  hold_memories(*loading_, now);
  loading_->unwritten = run->last ? schedule.block_rows() : 0;
  jobs_.push_back(loading_);
  ++stats.runs;
  if (!works(now)) ledger.enter(Activity::kInputLoad, now);
  if (run->transposes) static_cast<ScratchpadLoader&>(*loaders[1]).transpose(*loading_, now);
  for (auto& operand : loaders) {
    operand->ledger.enter(Activity::kLineLoad, now);
    operand->begin(*loading_, now);
  }
  if (granularity_ == Granularity::kTile && results.port) results.port->open_direct();
  loaded_ = {};
  rounds_.begin(loading_);
}

void RollingUnit::load_image(const RollingRun& run, Cycle now) {
  if (!results.port)
    throw SimulationError("rolling.run: packed kernels are read from WRAM, a board has none");
  if (run.transposes) throw SimulationError("rolling.run: packed kernels cannot be transposed in WRAM");
  auto& loader = static_cast<ScratchpadLoader&>(*loaders[1]);
  if (run.same_image)
    loading_->kernels.keep(loader.port, run.weights, last_kernels_, "rolling.run");
  else
    loader.load_image(*loading_, now);
}

void RollingUnit::hold_memories(Job& job, Cycle now) {
  const RollingRun& run = job.run;
  const auto images = to_unsigned(job.setup.images);
  const auto kernels = to_unsigned(run.kernels);
  const std::uint64_t map = images * run.height * run.width * job.setup.pixel_bytes;
  const std::uint64_t weights = kernels * to_unsigned(job.schedule.product().n);
  const auto element = to_unsigned(dtype_size(job.conv.output_type));
  const BytePattern map_read{run.map, map},
      weights_read = job.kernels.held({run.weights, weights}),
      records{run.post, run.last && job.conv.post_parameters ? kernels * kPostParameterBytes : 0},
      result{run.result, kernels * element, run.result_pixel, run.last ? images * run.rows * run.columns : 0};
  if (context_.bytes != nullptr) {
    Footprint made;
    for (const BytePattern& read : {map_read, weights_read, records}) add(read, made.chip.reads);
    if (run.transposes) add(weights_read, made.chip.writes);
    add(result, made.chip.writes);
    context_.bytes->begin(job.instruction, std::move(made), now);
  }
  if (!results.port) return;  // a board has no memory but DRAM
  const std::string user = summary(job.instruction);
  ScratchpadPort& a = static_cast<ScratchpadLoader&>(*loaders[0]).port;
  ScratchpadPort& b = static_cast<ScratchpadLoader&>(*loaders[1]).port;
  a.hold(job.reads, user, Holds::Access::kRead, map_read, now);
  b.hold(job.reads, user, run.transposes ? Holds::Access::kWrite : Holds::Access::kRead, weights_read, now);
  if (records.run > 0) b.hold(job.reads, user, Holds::Access::kRead, records, now);
  if (result.count > 0) results.port->hold(job.writes, user, Holds::Access::kWrite, result, now);
}

// Runs of the same block add to sums that stay, until one run ends them.
void RollingUnit::check_sums(const RollingRun& run, const RollingSchedule& schedule) {
  const OpenSums shape{schedule.product().m, schedule.product().k, schedule.order().variant};
  if (run.first && open_sums_) throw SimulationError("rolling.run: begins sums while others have not ended");
  if (!run.first && !open_sums_) throw SimulationError("rolling.run: goes on with sums that nobody began");
  if (!run.first && !(*open_sums_ == shape))
    throw SimulationError(
        fmt::format("rolling.run: goes on with sums of {} x {} for {} x {}, or with another variant",
                    open_sums_->rows, open_sums_->columns, shape.rows, shape.columns));
  open_sums_.reset();
  if (!run.last) open_sums_ = shape;
}

// Releases operands that have been read: who overwrites them need not wait for the results.
void RollingUnit::end_loading(Cycle now) {
  if (!loading_ || !loaded_[0] || !loaded_[1] || std::max(*loaded_[0], *loaded_[1]) >= now) return;
  close_all(loading_->reads, now);
  tell(UnitMessage::Kind::kReleased, loading_->instruction.release_signals);
  queue_.pop_front();
  loading_.reset();
}

void RollingUnit::finish_jobs(Cycle now) {
  while (!jobs_.empty()) {
    Job& front = *jobs_.front();
    if (front.unwritten > 0 || front.written > now || &front == loading_.get()) return;
    if (!front.run.last && (!front.accumulated || *front.accumulated >= now)) return;
    show_work(context_, *this, front.instruction, front.began, now, {{}, front.macs});
    close_all(front.writes, now);
    tell(UnitMessage::Kind::kDone, front.instruction.done_signals);
    jobs_.pop_front();
  }
}

// ---- loading ----

// The first cycle in which a round's groups are free of the previous round; none: not known yet.
std::optional<Cycle> RollingUnit::groups_free_from(const Round& round) const {
  if (!round.after) return 0;
  if (*round.after >= rounds_ended_) return std::nullopt;
  return ended_[to_size(*round.after) % kMostGroups] + 1;
}

// The first cycle in which a line can enter: its groups are free or, for records, their slot is.
std::optional<Cycle> RollingUnit::place_free_from(const OperandLoader::Line& line) const {
  if (line.load.kind != Load::Kind::kRecord) return groups_free_from(*line.round);
  return line.load.number == 0 ? results.slot_free_from(*line.round->column) : 0;
}

bool RollingUnit::enter_lines(OperandName operand, Cycle last) {
  OperandLoader& from = loader(operand);
  bool entered = false;
  while (const OperandLoader::Line* line = from.front()) {
    Round& round = *line->round;
    const std::optional<Cycle> free = place_free_from(*line);
    if (!free) return entered;
    const Cycle at = std::max({line->ready, from.next_entry(), *free});
    if (at > last) return entered;
    load_line(*line, round, operand, at);
    const bool ends_round = line->ends_round, ends_operand = line->ends_operand;
    const Cycle in_place = at + line->clocks - 1;
    from.enter(at, operand == OperandName::kA ? Activity::kInputRelease : Activity::kWeightRelease);
    entered = true;
    if (ends_operand) nth(round.loaded, operand) = in_place;
    if (!ends_round) continue;
    nth(round.entered, operand) = true;
    if (!ends_operand) round.column->in_place = in_place;
    if (round.ends_job) {
      nth(loaded_, operand) = in_place;
      from.ledger.enter(Activity::kNoWork, in_place + 1);
    }
    rounds_.forget();
  }
  return entered;
}

void RollingUnit::load_line(const OperandLoader::Line& line, Round& round, OperandName operand, Cycle at) {
  if (line.load.kind == Load::Kind::kRecord) {
    if (line.load.number == 0) results.take_slot(*round.column);
    round.column->records.push_back(decode_post_parameter(line.bytes.data()));
    return;
  }
  if (from_images()) return;
  const Order& order = round.job->schedule.order();
  if (line.begins_round) {
    for (int part = 0; part < round.block.parts; ++part)
      for (int cut = 0; cut < round.cut_groups; ++cut) array_.clear(operand, group_at(round, part, cut));
  }
  const RollingSchedule& schedule = round.job->schedule;
  const int group = group_at(round, line.load.part, line.load.cut);
  const auto size = to_size(line.load.filled.size);
  const bool whole = line.pieces.size() == 1 && line.pieces.front().bytes == line.load.filled.size;
  if (whole)
    elements_.resize(size);
  else
    elements_.assign(size, 0);  // padding
  for (const Piece& piece : line.pieces)
    widen(line.bytes.data() + piece.at, piece.bytes, operand, round.job->conv, elements_.data() + piece.at,
          to_int((piece.address - round.job->run.map) % 2));  // pixels have even bytes where it matters
  const auto load = [&](const std::vector<std::int16_t>& elements) {
    array_.load(operand, order.variant, group, line.load,
                schedule.lines_of(round.block, operand, line.load.part).begin, elements.data());
  };
  const bool traced = context_.trace() != nullptr && granularity_ == Granularity::kClock;
  if (traced && line.begins_round) {
    // The registers of the round in the next cycle, with what goes over the port in this one.
    std::vector<std::int16_t> first = elements_;
    first.resize(std::min(size, to_size(config_.port_bytes)));
    first.resize(size);
    load(first);
    trace_registers(round, operand, at + 1);
  }
  load(elements_);
  if (traced) trace_load(line, round, operand, at);
}

// ---- rounds ----

Cycle RollingUnit::tree_clocks(const Round& round) const {
  if (round.job->setup.scheme == Scheme::kOutputStationary) return 1;
  return adder_tree_clocks(lines_are_rows(round.job->setup.variant) ? config_.columns : config_.rows,
                           config_.multipliers);
}

// Counts the losses of all rounds of the block that ends with `round` and has `macs` useful
// multiply-accumulates.
void RollingUnit::count_losses(const Round& round, std::int64_t macs) {
  const RollingSchedule& schedule = round.job->schedule;
  const std::int64_t beats = stats.beats - beats_counted_;
  const std::int64_t elements = std::int64_t{round.block.rows.size} * round.block.columns.size;
  // Output-stationary, a PE has an element in every beat; otherwise a line of PEs has one line for a cut of
  // n.
  const bool plain = round.job->setup.scheme == Scheme::kOutputStationary;
  const std::int64_t products = plain ? elements * beats : elements * schedule.cuts() * schedule.lanes();
  stats.losses =
      stats.losses + MacLosses{beats * peak_macs_per_clock(config_) - products, 0, products - macs};
  beats_counted_ = stats.beats;
}

// Ends the front round, whose last cycle is `last`.
void RollingUnit::end_round(Cycle last) {
  Round& round = rounds_.front();
  const RollingSchedule& schedule = round.job->schedule;
  ++stats.rounds;
  count_reloading(round);
  const Cycle added = last + tree_clocks(round);
  if (round.round + 1 == schedule.rounds_per_block()) {
    const std::int64_t macs = std::int64_t{round.block.rows.size} * round.block.columns.size *
                              round.job->setup.useful_taps * round.job->run.channels;
    stats.useful_macs += macs, round.job->macs += macs;
    count_losses(round, macs);
    work_.count(last + 1 - schedule.clocks(round.block, round.round).all, last + 1, macs);
  }
  if (round.ends_sums) {
    results.complete(sums_, round, added);
    if (granularity_ == Granularity::kTile) results.drain_ahead();
    ++sums_;
  }
  if (round.ends_job && !round.job->run.last) round.job->accumulated = added;
  ended_[to_size(round.number) % kMostGroups] = last;
  last_ended_ = last;
  ++rounds_ended_;
  rounds_.end_front();
}

// Counts the elements that would be loaded if every block pair of the round were loaded anew.
void RollingUnit::count_reloading(const Round& round) {
  const RollingSchedule& schedule = round.job->schedule;
  const Span cuts = schedule.cuts_of_round(round.round);
  const std::int64_t elements = schedule.elements_of(cuts);
  const OutputBlock& block = round.block;
  const int row_blocks = ceil_div(block.rows.size, schedule.lines());
  const int column_blocks = ceil_div(block.columns.size, schedule.lines());
  stats.elements_reloading += elements * (std::int64_t{block.rows.size} * column_blocks +
                                          std::int64_t{block.columns.size} * row_blocks);
}

void RollingUnit::schedule(Cycle now) {
  const bool clocked = loading_ || !rounds_.empty() || !trees_.empty() || results.realigning();
  if (granularity_ == Granularity::kClock && clocked) {
    wake_at(now + 1);
    return;
  }
  NextClock next(now);
  for (const auto& operand : loaders) operand->schedule(next);
  results.schedule(next);
  if (loading_ && loaded_[0] && loaded_[1]) next.at(std::max(*loaded_[0], *loaded_[1]) + 1);
  if (last_ended_) next.at(*last_ended_ + 1);
  for (const auto& job : jobs_) {
    if (job->accumulated) next.at(*job->accumulated + 1);
    next.at(job->written);
  }
  wake_at(next);
}

}  // namespace tilebeat::rolling
