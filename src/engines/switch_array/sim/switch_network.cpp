#include "engines/switch_array/sim/switch_network.h"

#include "base/copy_word.h"
#include "engines/switch_array/config.h"
#include "engines/switch_array/sim/input_arrangement.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include <fmt/format.h>

namespace tilebeat::switch_array {
namespace {

constexpr int kPixelBits = 16;

ChunkGeometry geometry_of(const ConvSetup& s, const ConvRun& r) {
  ChunkGeometry g;
  g.rows = r.rows, g.columns = r.columns;
  g.height = r.height, g.width = r.width;
  g.h_offset = r.h_offset, g.w_offset = r.w_offset;
  g.kernel_h = s.kernel_h, g.kernel_w = s.kernel_w;
  g.stride_h = s.stride_h, g.stride_w = s.stride_w;
  g.dilation_h = s.dilation_h, g.dilation_w = s.dilation_w;
  g.planes = r.planes;
  return g;
}

}  // namespace

SwitchNetwork::SwitchNetwork(sc_core::sc_module_name name, const SimContext& context,
                             const SwitchArrayConfig& config, Granularity granularity)
    : CommandedUnit(name, context, Unit::kMatrix),
      bank_read("bank_read", to_size(config.rows)),
      to_array("to_array"),
      config_(config),
      shape_(array_shape(config)),
      granularity_(granularity),
      work_(context, *this, {"", "utilization", "%", CounterInfo::Kind::kWork}),
      bank_read_at_(to_size(config.rows), -1),
      words_(to_size(config.rows), config.port_channels) {
  read_.lanes.resize(to_size(config.rows));
  read_.words.resize(to_size(config.rows * config.port_channels));
  switch_ = read_;
  adders_.assign(to_size(config.adder_stages), read_);
  for (int bank = 0; bank < config.rows; ++bank) {
    nth(bank_read, bank).register_invalidate_direct_mem_ptr(this, &SwitchNetwork::withdraw_memory, bank);
    for (auto& copy : bank_memory_) copy.emplace_back();
  }
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
  if (context_.trace() != nullptr) declare_signals();
}

void SwitchNetwork::declare_signals() {
  Trace& trace = *context_.observers.trace;
  beat_signal_ = trace.add_signal(name(), "beat", 32, Radix::kDecimal);
  row_block_signal_ = trace.add_signal(name(), "row_block", 16, Radix::kDecimal);
  column_block_signal_ = trace.add_signal(name(), "column_block", 16, Radix::kDecimal);
  for (int i = 0; i < config_.rows; ++i) {
    const std::string lane = fmt::format("sw{}", i);
    SignalGroup& signals = lane_signals_.emplace_back();
    signals.add(trace, {name(), lane, 8 * config_.port_channels});
    signals.add(trace, {name(), lane + "_h", kPixelBits, Radix::kDecimal});
    signals.add(trace, {name(), lane + "_w", kPixelBits, Radix::kDecimal});
    valid_.emplace_back(&trace, name(), lane + "_valid");
  }
}

void SwitchNetwork::take(const Instruction& instruction, Cycle) {
  const Operation& operation = instruction.operation;
  if (!operation.is<ConvSetup>() && !operation.is<ConvRun>())
    throw SimulationError(operation.summary() + ": the matrix unit of this core is a switch array");
  queue_.push_back(instruction);
}

void SwitchNetwork::step() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  switch (state_) {
    case State::kIdle:
    case State::kSetupWait:
      begin_next(now);
      return;
    case State::kFinishing:
      finish_chunk(now);
      return;
    case State::kRunning:
      if (mac_stage(now)) advance_pipeline(now);
      return;
    case State::kStalled:  // the shadow registers are free in this cycle and the waiting MAC is done
      state_ = State::kRunning;
      advance_pipeline(now);
      return;
  }
}

void SwitchNetwork::begin_next(Cycle now) {
  while (!queue_.empty()) {
    if (const auto* setup = queue_.front().operation.get_if<ConvSetup>()) {
      if (config_.records == RecordsKind::kHeld && now < drained_) {
        state_ = State::kSetupWait;
        ledger.enter(Activity::kSetupWait, now);
        wake_at(drained_);
        return;
      }
      setup_ = *setup;
      to_array.send({NewSetup{*setup}});
      tell_complete(queue_.front());
      queue_.pop_front();
      continue;
    }
    begin_run();
    hold_buffers(now);
    begin_chunk(now);
    return;
  }
  state_ = State::kIdle;
  ledger.enter(blocker_, now);
  tell_array(blocker_);
}

// Tells the modules behind the switch their stall cause from now on.
void SwitchNetwork::tell_array(Activity waits_for) {
  if (waits_for == told_) return;
  told_ = waits_for;
  to_array.send({WaitsFor{waits_for}});
}

// Checks the places that a run reads and writes at its beginning, so that both granularities find an error in
// the same cycle. Reads of the banks are checked chunk by chunk.
void SwitchNetwork::check_places() const {
  const int last_slot = run_.slot + run_.blocks - 1;
  if (last_slot >= config_.parameter_slots || run_.kernels > config_.columns)
    throw SimulationError(
        fmt::format("conv.run: slot {} or {} kernels do not exist", last_slot, run_.kernels));
  const std::int64_t words = std::int64_t{run_.blocks} * run_.planes * setup_.kernel_h * setup_.kernel_w;
  if (run_.parameter_word + words > config_.parameter_depth_words) {
    throw SimulationError(fmt::format("conv.run: reads words {} to {} of the {} of the parameter buffer",
                                      run_.parameter_word, run_.parameter_word + words - 1,
                                      config_.parameter_depth_words));
  }
  if (!run_.last) return;
  // Computes with real numbers: fields may describe more bytes than 64 bits can count.
  const double pixels = static_cast<double>(run_.rows) * run_.columns;
  const double bytes = static_cast<double>(run_.blocks) * run_.kernels * dtype_size(setup_.output_type);
  if (run_.output_base + (pixels - 1) * run_.output_stride + bytes >
      static_cast<double>(config_.output_buffer_bytes)) {
    throw SimulationError(fmt::format(
        "conv.run: {} x {} outputs of {} bytes, {} apart from {} on, leave the output buffer of {} bytes",
        run_.rows, run_.columns, bytes, run_.output_stride, run_.output_base, config_.output_buffer_bytes));
  }
}

void SwitchNetwork::hold_buffers(Cycle now) {
  const std::string user = summary(queue_.front());
  Footprint used;
  const auto use = [&](const char* buffer, Holds::Access access, const BytePattern& pattern) {
    if (context_.bytes != nullptr) {
      AccessedBytes& accessed = used.buffers[buffer];
      (access == Holds::Access::kRead ? accessed.reads : accessed.writes).add(pattern);
    }
    if (context_.races != nullptr) context_.races->memory(buffer).open(user, access, pattern, now);
  };
  const auto blocks = to_unsigned(run_.blocks);
  const std::uint64_t planes = (blocks - 1) * run_.plane_step + run_.planes;
  const std::uint64_t copy = std::uint64_t{run_.copy} * to_unsigned(config_.bank_depth_words);
  const std::uint64_t words = blocks * run_.planes * setup_.kernel_h * setup_.kernel_w;
  use(kInputBanks, Holds::Access::kRead,
      {copy + std::uint64_t{run_.first_plane} * run_.plane_words, planes * run_.plane_words});
  use(kParameterBuffer, Holds::Access::kRead, {run_.parameter_word, words});
  if (run_.last) {
    const auto columns = to_unsigned(config_.columns);
    // The last block's surplus columns have no records.
    if (setup_.post_parameters)
      use(kPostRecords, Holds::Access::kRead, {run_.slot * columns, (blocks - 1) * columns + run_.kernels});
    const auto element = to_unsigned(dtype_size(setup_.output_type));
    use(kOutputBuffer, Holds::Access::kWrite,
        {run_.output_base, blocks * run_.kernels * element, run_.output_stride,
         std::uint64_t{run_.rows} * run_.columns});
  }
  if (context_.bytes != nullptr) context_.bytes->begin(queue_.front(), std::move(used), now);
}

void SwitchNetwork::begin_run() {
  run_ = queue_.front().operation.get<ConvRun>();
  check_places();
  check_quotients();
  if (run_.blocks == 1 && run_.plane_step != 0)
    throw SimulationError(fmt::format("conv.run: plane_step {} of a single kernel block", run_.plane_step));
  if (run_.blocks > 1 && !(run_.first && run_.last && run_.kernels == config_.columns)) {
    throw SimulationError(fmt::format("conv.run: {} kernel blocks of {} kernels, which {} their sums",
                                      run_.blocks, run_.kernels,
                                      run_.first && run_.last ? "begin and end" : "do not begin and end"));
  }
  check_sums();
  const std::int64_t most =
      std::int64_t{run_.planes} * config_.port_channels * run_.kernels * setup_.kernel_h * setup_.kernel_w;
  if (run_.macs_per_pixel > most) {
    throw SimulationError(fmt::format(
        "conv.run: {} useful multiply-accumulates an output pixel, {} channels of {} kernels {} x {} have {}",
        run_.macs_per_pixel, run_.planes * config_.port_channels, run_.kernels, setup_.kernel_h,
        setup_.kernel_w, most));
  }
}

// A run is set up in no cycle: what would have to be divided for that is in the instruction.
void SwitchNetwork::check_quotients() const {
  ConvRun right = run_;
  set_quotients(config_, setup_, right);
  const auto all = [](const ConvRun& r) {
    return std::tie(r.plane_words, r.phase_columns, r.h_quotient, r.w_quotient);
  };
  if (all(run_) == all(right)) return;
  const auto text = [](const ConvRun& r) {
    return fmt::format("plane_words {}, phase_columns {}, h_quotient {}, w_quotient {}", r.plane_words,
                       r.phase_columns, r.h_quotient, r.w_quotient);
  };
  throw SimulationError(
      fmt::format("conv.run: {}; its map, offsets and strides have {}", text(run_), text(right)));
}

// A PE has one accumulator: only the sums of a single operation cycle can stay there for the next run.
void SwitchNetwork::check_sums() {
  if (run_.first == open_sums_.has_value()) {
    throw SimulationError(run_.first ? "conv.run: begins sums while others have not ended"
                                     : "conv.run: goes on with sums that nobody began");
  }
  const std::pair<int, int> pixels{run_.rows, run_.columns};
  if (!run_.first && *open_sums_ != pixels) {
    throw SimulationError(fmt::format("conv.run: goes on with the sums of {} x {} pixels for {} x {}",
                                      open_sums_->first, open_sums_->second, run_.rows, run_.columns));
  }
  if (!run_.last && (run_.rows > shape_.groups || run_.columns > shape_.lanes())) {
    throw SimulationError(fmt::format("conv.run: {} x {} pixels leave sums, an operation cycle has {} x {}",
                                      run_.rows, run_.columns, shape_.groups, shape_.lanes()));
  }
  open_sums_.reset();
  if (!run_.last) open_sums_ = pixels;
}

// Moves on to the next kernel block; `run_` describes the rest of the run.
void SwitchNetwork::next_block() {
  --run_.blocks;
  ++run_.slot;
  run_.parameter_word += static_cast<std::uint32_t>(run_.planes * setup_.kernel_h * setup_.kernel_w);
  run_.output_base += static_cast<std::uint32_t>(run_.kernels * dtype_size(setup_.output_type));
  run_.first_plane = static_cast<std::uint16_t>(run_.first_plane + run_.plane_step);
}

void SwitchNetwork::begin_chunk(Cycle now) {
  const bool aware = config_.arrangement == ArrangementKind::kStrideAware;
  arrangement_.emplace(shape_, run_.height, run_.width, aware ? setup_.stride_h : 1,
                       aware ? setup_.stride_w : 1);
  const int last_plane = run_.first_plane + run_.planes;
  if (last_plane * arrangement_->words_per_plane() > config_.bank_depth_words) {
    throw SimulationError(
        fmt::format("conv.run: reads beyond the {} words of a bank", config_.bank_depth_words));
  }
  schedule_.emplace(shape_, geometry_of(setup_, run_));
  ++stats.chunks;
  chunk_begin_ = now;
  macs_before_ = stats.useful_macs;
  ledger.enter(Activity::kPipelineFill, now);
  tell_array(Activity::kOutputReady);
  if (granularity_ == Granularity::kTile) {
    run_tile(now);
    return;
  }
  state_ = State::kRunning;
  next_beat_ = schedule_->first();
  more_beats_ = true;
  switch_.bubble = Activity::kPipelineFill;
  for (Stage& stage : adders_) stage.bubble = Activity::kPipelineFill;
  load_read_stage();
  if (mac_stage(now)) advance_pipeline(now);
}

void SwitchNetwork::finish_chunk(Cycle now) {
  const Instruction& instruction = queue_.front();
  const std::int64_t macs = stats.useful_macs - macs_before_;
  show_work(context_, *this, instruction, chunk_begin_, now, {{}, macs});
  work_.count(chunk_begin_, now, macs);
  if (run_.blocks > 1) {
    next_block();
    begin_chunk(now);
    return;
  }
  if (Races* const races = context_.races; races != nullptr) {
    races->memory(kInputBanks).close_oldest(now);
    races->memory(kParameterBuffer).close_oldest(now);
    races->memory(kPostRecords).close_oldest(now);
  }
  if (run_.last) {
    tell(UnitMessage::Kind::kReleased, instruction.release_signals);
  } else {
    tell_complete(instruction);
  }
  queue_.pop_front();
  begin_next(now);
}

// ---- clock granularity ----

void SwitchNetwork::count_losses(std::int64_t operation_cycles, std::int64_t active_lanes) {
  const std::int64_t products = std::int64_t{schedule_->beats_per_cycle()} * config_.port_channels;
  const std::int64_t idle = operation_cycles * config_.rows - active_lanes;
  stats.losses = stats.losses + MacLosses{idle * config_.columns * products,
                                          active_lanes * (config_.columns - run_.kernels) * products,
                                          active_lanes * (run_.kernels * products - run_.macs_per_pixel)};
}

// One cycle of the MAC stage. False: the array cannot copy its accumulators yet, and all stages stall.
bool SwitchNetwork::mac_stage(Cycle now) {
  Stage& mac = adders_.back();
  if (!mac.valid) {
    ledger.spend(mac.bubble, 1, CycleOrder::kMixed);
    return true;
  }
  const ArrayChunk chunk{run_, queue_.front(), *schedule_};
  ArrayOperands operands{ArrayOperands::OneBeat{chunk, mac.beat, mac.words.data()}};
  to_array.send(operands);
  drained_ = operands.drained;
  ++stats.beats;
  if (mac.beat.last_of_cycle) {
    ++stats.operation_cycles;
    const int lanes = schedule_->active_lanes(mac.beat.row_block, mac.beat.column_block);
    stats.useful_macs += std::int64_t{run_.macs_per_pixel} * lanes;
    count_losses(1, lanes);
  }
  mac.valid = false;
  ledger.spend(Activity::kOutputDrain, operands.stalled, CycleOrder::kMixed);
  ledger.spend(Activity::kBusy, 1, CycleOrder::kMixed);
  if (operands.stalled == 0) return true;
  state_ = State::kStalled;
  wake_at(now + operands.stalled);
  return false;
}

void SwitchNetwork::advance_pipeline(Cycle now) {
  if (switch_.valid) {
    if (!lane_signals_.empty() && context_.trace() != nullptr) trace_switch(now);
    const std::uint32_t word = run_.parameter_word + static_cast<std::uint32_t>(switch_.beat.index);
    to_array.send({ArrayOperands::Kernels{word}});
  }
  for (std::size_t i = adders_.size(); i-- > 0;) {
    Stage& from = i == 0 ? switch_ : adders_[i - 1];
    if (from.valid) {
      std::swap(adders_[i], from);
      from.valid = false;
    } else {
      adders_[i].bubble = from.bubble;
    }
  }
  if (read_.valid) {
    read_lanes(now);
    if (!pending_.empty()) switch_.bubble = Activity::kBankConflict;
    if (pending_.empty()) {
      std::swap(switch_, read_);
      read_.valid = false;
      if (more_beats_) load_read_stage();
    }
  }
  const bool adding =
      std::any_of(adders_.begin(), adders_.end(), [](const Stage& stage) { return stage.valid; });
  if (!adding && !switch_.valid && !read_.valid) state_ = State::kFinishing;
  wake_at(now + 1);
}

// The next beat enters the read stage: every lane gets its bank and address; lanes without a pixel get the
// zero point.
void SwitchNetwork::load_read_stage() {
  const int p = config_.port_channels;
  const std::uint64_t plane_base =
      to_unsigned(run_.copy) * to_unsigned(config_.bank_depth_words) +
      to_unsigned((run_.first_plane + next_beat_.plane) * arrangement_->words_per_plane());
  pending_.clear();
  const Arrangement& arrangement = *arrangement_;
  Lane* const lanes = read_.lanes.data();
  std::uint8_t* const words = read_.words.data();
  const auto zero = static_cast<std::uint8_t>(setup_.input_zero_point);
  schedule_->select_all(next_beat_, [&](int lane, const Selection& selection) {
    Lane& l = lanes[lane];
    l.selection = selection;
    if (!selection.valid) {
      std::memset(words + lane * p, zero, to_size(p));
      return;
    }
    const BankSlot slot = arrangement.place(selection.h, selection.w);
    l.bank = slot.bank.value();
    l.address = (plane_base + to_unsigned(slot.address)) * to_unsigned(p);
    pending_.push_back(lane);
  });
  read_.beat = next_beat_;
  read_.valid = true;
  more_beats_ = schedule_->advance(next_beat_);
}

// One cycle of the read stage: the crossbar lets one lane read each bank, lowest lane first.
void SwitchNetwork::read_lanes(Cycle now) {
  std::size_t kept = 0;
  const Picoseconds at = context_.clock.at(now);
  for (const int lane : pending_) {
    Lane& l = nth(read_.lanes, lane);
    Cycle& last = nth(bank_read_at_, l.bank);
    if (last == now) {
      pending_[kept++] = lane;
      continue;
    }
    last = now;
    ++stats.bank_read_words;
    words_.read(bank_read, to_size(l.bank), l.address, read_.words.data() + lane * config_.port_channels, at);
  }
  pending_.resize(kept);
}

void SwitchNetwork::trace_switch(Cycle now) {
  Trace& trace = *context_.observers.trace;
  const Picoseconds at = context_.clock.at(now), end = context_.clock.at(now + 1);
  trace.change(beat_signal_, at, to_unsigned(switch_.beat.index));
  trace.change(row_block_signal_, at, to_unsigned(switch_.beat.row_block));
  trace.change(column_block_signal_, at, to_unsigned(switch_.beat.column_block));
  const auto p = to_size(config_.port_channels);
  for (std::size_t i = 0; i < switch_.lanes.size(); ++i) {
    const SignalGroup& signals = lane_signals_[i];
    if (valid_[i].is_ignored(trace, signals)) continue;
    const std::uint8_t* const word = switch_.words.data() + i * p;
    const Selection& selection = switch_.lanes[i].selection;
    if (selection.valid) {
      const std::array<std::uint16_t, 2> pixel{static_cast<std::uint16_t>(selection.h),
                                               static_cast<std::uint16_t>(selection.w)};
      std::uint8_t* place = valid_[i].record(trace, at, end, signals);
      const bool is_told = place == nullptr;
      if (is_told) shown_.resize(signals.total_bytes), place = shown_.data();
      copy_word(place, word, p);
      std::memcpy(place + p, pixel.data(), sizeof pixel);
      if (is_told) valid_[i].high(&trace, at, end, signals, place);
    } else {
      trace.change(signals.signals[0], at, word, p);
      trace.unknown(signals.signals[1], at);
      trace.unknown(signals.signals[2], at);
    }
  }
}

}  // namespace tilebeat::switch_array
