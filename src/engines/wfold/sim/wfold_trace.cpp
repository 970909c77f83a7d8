// What the W-fold engine shows in a waveform: lines on their way, beats, results and their way out.
#include "base/types.h"
#include "engines/wfold/config.h"
#include "engines/wfold/sim/wfold_engine.h"

#include <algorithm>
#include <numeric>
#include <string>

#include <fmt/format.h>

namespace tilebeat::wfold {
namespace {

constexpr int kOperandBits = 9;
constexpr unsigned kOperandMask = (1U << kOperandBits) - 1;
constexpr int kResultBits = 32;

bool any_shown(const std::vector<SignalId>& signals) {
  return std::any_of(signals.begin(), signals.end(), [](SignalId signal) { return signal >= 0; });
}

}  // namespace

// ---- slaves ----

void WfoldSlave::declare_signals() {
  Trace& trace = *context_.observers.trace;
  kernel_row_signal_ = trace.add_signal(name(), "kh", 16, Radix::kDecimal);
  kernel_column_signal_ = trace.add_signal(name(), "kw", 16, Radix::kDecimal);
  block_signal_ = trace.add_signal(name(), "block", 16, Radix::kDecimal);
  const bool kernels_first = config_.first_buffer == FirstBuffer::kKernels;
  channel_signal_ = trace.add_signal(name(), kernels_first ? "window" : "k", 16, Radix::kDecimal);
  slot_signal_ = trace.add_signal(name(), kernels_first ? "first_slot" : "second_slot", 8, Radix::kDecimal);
  for (int unit = 0; unit < config_.compute_units; ++unit)
    unit_signals_.push_back(trace.add_signal(name(), fmt::format("cu{}_w", unit), 16, Radix::kSigned));
  valid_ = Strobe(&trace, name(), "valid");
  // The multipliers' operands: nine bits signed (SPEC NU-1).
  const auto operands = [&](const std::string& scope, const char* operand) {
    SignalGroup group;
    for (int lane = 0; lane < config_.line_bytes; ++lane)
      group.add(trace, {fmt::format("{}.{}", name(), scope), fmt::format("{}{}", operand, lane), kOperandBits,
                        Radix::kSigned, Shown::kWhenNamed});
    return group;
  };
  shared_operands_ = operands(kernels_first ? "map" : "kernel", kernels_first ? "x" : "w");
  for (int unit = 0; unit < config_.compute_units; ++unit)
    unit_operands_.push_back(operands(fmt::format("cu{}", unit), kernels_first ? "w" : "x"));
  declare_third();
}

void WfoldSlave::declare_third() {
  Trace& trace = *context_.observers.trace;
  third_signals_ = ThirdSignals{};
  ThirdSignals& signals = *third_signals_;
  signals.outputs = config_.line_bytes / config_.smallest_pci;
  const int units = config_.compute_units;
  const std::string scope = fmt::format("{}.third", name());
  for (int i = 0; i < units * signals.outputs; ++i) {
    const std::string unit = fmt::format("{}.cu{}", name(), i / signals.outputs);
    const int output = i % signals.outputs;
    signals.out.push_back(
        trace.add_signal(unit, fmt::format("out{}", output), kResultBits, Radix::kSigned, Shown::kWhenNamed));
    signals.sum.push_back(
        trace.add_signal(unit, fmt::format("sum{}", output), kResultBits, Radix::kSigned, Shown::kWhenNamed));
  }
  for (int i = 0; i < 2 * kernels_; ++i)
    signals.lines.push_back(trace.add_signal(scope, fmt::format("h{}_k{}", i / kernels_, i % kernels_),
                                             kResultBits * units * signals.outputs, Radix::kHexadecimal,
                                             Shown::kWhenNamed));
  signals.shown = any_shown(signals.out) || any_shown(signals.sum) || any_shown(signals.lines);
  const auto declare = [&](const char* signal, int width) {
    return trace.declare(
        {scope, signal, width, width == 1 ? Radix::kHexadecimal : Radix::kDecimal, Shown::kWhenNamed});
  };
  signals.write_half = declare("write_half", 1);
  signals.write_kernel = declare("write_k", 16);
  signals.read_half = declare("read_half", 1);
  signals.read_kernel = declare("read_k", 16);
  signals.read_column = declare("read_w", 16);
  signals.write = Strobe(&trace, scope, "write", Shown::kWhenNamed);
  signals.read = Strobe(&trace, scope, "read", Shown::kWhenNamed);
}

void WfoldSlave::trace_beat(const SlaveClock::Beat& beat, const WfoldSchedule& schedule) {
  Trace& trace = *context_.observers.trace;
  const Picoseconds at = now_ps();
  const WfoldRefill refill = schedule.refill(beat.at.refill);
  valid_.high(&trace, at, at + context_.clock.period_ps());
  const auto line = to_size(config_.line_bytes);
  shown_.resize(line);
  const auto show = [&](const SignalGroup& signals, const std::int16_t* operands) {
    for (std::size_t i = 0; i < line; ++i)
      shown_[i] = static_cast<std::uint16_t>(static_cast<std::uint16_t>(operands[i]) & kOperandMask);
    trace.change(signals, at, reinterpret_cast<const std::uint8_t*>(shown_.data()));
  };
  const bool kernels_first = schedule.shape().kernels_first();
  show(shared_operands_, kernels_first ? window_.data() : kernel_line(beat.slot));
  for (std::size_t unit = 0; beat.selects && unit < unit_operands_.size(); ++unit)
    show(unit_operands_[unit], latched_.data() + unit * line);
  trace.change(kernel_row_signal_, at, to_unsigned(refill.kernel_row));
  trace.change(kernel_column_signal_, at, to_unsigned(nth(schedule.steps(refill.part), beat.at.step)));
  trace.change(block_signal_, at, to_unsigned(refill.block));
  trace.change(channel_signal_, at, to_unsigned(kernels_first ? beat.at.window : beat.at.kernel));
  trace.change(slot_signal_, at, to_unsigned(beat.slot));
  for (std::size_t unit = 0; unit < unit_signals_.size(); ++unit) {
    trace.change(
        unit_signals_[unit], at,
        static_cast<std::uint16_t>(beat.map_column + (kernels_first ? 0 : to_int(unit)) * schedule.fold()));
  }
}

// Traces the outputs of a unit in the cycle in which they leave its adder trees, and the partial sums, which
// the third buffer holds from the next cycle on.
void WfoldSlave::trace_results(const SlaveClock::Beat& beat, int unit, int granularity,
                               const std::int32_t* pairs, const std::int32_t* sums) {
  Trace& trace = *context_.observers.trace;
  const ThirdSignals& signals = *third_signals_;
  const Picoseconds period = context_.clock.period_ps();
  const Picoseconds at = now_ps() + (config_.adder_stages - 1) * period;
  signals.write.high(&trace, at, at + period);
  const bool kernels_first = config_.first_buffer == FirstBuffer::kKernels;
  trace.change(signals.write_half, at, to_unsigned(beat.half));
  trace.change(signals.write_kernel, at, to_unsigned(kernels_first ? 0 : beat.at.kernel));
  if (!signals.shown) return;
  const int of_result = granularity / 2, outputs = config_.line_bytes / granularity;
  for (int i = 0; i < std::min(outputs, signals.outputs); ++i) {
    const std::int32_t out = std::accumulate(pairs + i * of_result, pairs + (i + 1) * of_result, 0);
    const int signal = unit * signals.outputs + i;
    trace.change(nth(signals.out, signal), at, static_cast<std::uint32_t>(out));
    trace.change(nth(signals.sum, signal), at + period, static_cast<std::uint32_t>(sums[i]));
  }
}

// Traces the results of a kernel in the third buffer, from the cycle on in which it holds them.
void WfoldSlave::trace_third(int half, int kernel) {
  const SignalId signal = nth(third_signals_->lines, half * kernels_ + kernel);
  if (signal < 0) return;
  const std::int32_t* const sums = results_of(half, kernel);
  const int count = std::min(most_results_, config_.compute_units * third_signals_->outputs);
  context_.observers.trace->change(signal, now_ps() + config_.adder_stages * context_.clock.period_ps(),
                                   reinterpret_cast<const std::uint8_t*>(sums),
                                   to_size(count) * sizeof(std::int32_t));
}

// Traces what leaves the third buffer at `at`.
void WfoldSlave::trace_read(const ResultRead& read, Picoseconds at) {
  if (!third_signals_) return;
  Trace& trace = *context_.observers.trace;
  const ThirdSignals& signals = *third_signals_;
  signals.read.high(&trace, at, at + context_.clock.period_ps());
  trace.change(signals.read_half, at, to_unsigned(read.half));
  trace.change(signals.read_kernel, at, to_unsigned(read.first_kernel));
  trace.change(signals.read_column, at, to_unsigned(read.first_column));
}

// ---- writer ----

void WfoldWriter::declare_signals(Trace& trace) {
  drain_signal_ = trace.add_signal(name(), "drain", 1);
  column_signal_ = trace.add_signal(name(), "column", 16, Radix::kDecimal);
  channel_signal_ = trace.add_signal(name(), "channel", 16, Radix::kDecimal);
  write_ = Strobe(&trace, name(), "write");
  address_signal_ = trace.add_signal(name(), "write_addr", 48);
  bytes_signal_ = trace.add_signal(name(), "write_bytes", 16, Radix::kDecimal);
  data_signal_ =
      trace.add_signal(name(), "write_data", 8 * config_.line_bytes, Radix::kHexadecimal, Shown::kWhenNamed);
}

// Traces a slice that leaves the third buffers: channels from `kernel` on of a column.
void WfoldWriter::trace_slice(int column, int kernel, Picoseconds at) {
  Trace* const trace = context_.trace();
  if (trace == nullptr) return;
  trace->change(column_signal_, at, to_unsigned(column));
  trace->change(channel_signal_, at, to_unsigned(kernel));
}

// Traces a request of the write port.
void WfoldWriter::trace_request(const Staged& staged, Cycle now) {
  Trace* const trace = context_.trace();
  if (trace == nullptr) return;
  const Picoseconds at = context_.clock.at(now);
  write_.high(trace, at, context_.clock.at(now + 1));
  trace->change(address_signal_, at, staged.address);
  trace->change(bytes_signal_, at, staged.data.size());
  trace->change(data_signal_, at, staged.data.data(), staged.data.size());
}

// ---- master ----

void WfoldMaster::declare_signals(Trace& trace) {
  const auto number = [&](const std::string& signal, int width) {
    return trace.add_signal(name(), signal, width, width == 1 ? Radix::kHexadecimal : Radix::kDecimal);
  };
  signals_.beat = trace.add_signal(name(), "beat", 1);
  for (int master = 0; master < config_.masters; ++master) {
    Signals::Bus bus;
    bus.broadcast = number(numbered("broadcast", master), 1);
    bus.slot = number(numbered("line_slot", master), 8);
    bus.group = number(numbered("line_group", master), 8);
    bus.line = trace.add_signal(name(), numbered("line", master), 8 * config_.line_bytes, Radix::kHexadecimal,
                                Shown::kWhenNamed);
    signals_.buses.push_back(bus);
  }
  signals_.weights = trace.add_signal(name(), "weights", 1);
  signals_.tile = number("tile", 32), signals_.refill = number("refill", 16);
  for (int master = 0; master < config_.masters; ++master)
    nth(readers, master)->declare_signals(trace, fmt::format("{}.{}", name(), numbered("transit", master)));
}

void WfoldMaster::trace_clock(const SlaveClock& clock, const std::vector<SlaveClock::Lines>& lines,
                              Cycle now) {
  Trace& trace = *context_.observers.trace;
  const Picoseconds at = context_.clock.at(now);
  trace.change(signals_.beat, at, clock.beat ? 1 : 0);
  trace.change(signals_.weights, at, clock.port_read ? 1 : 0);
  for (std::size_t master = 0; master < signals_.buses.size(); ++master) {
    const Signals::Bus& bus = signals_.buses[master];
    const auto line = master < lines.size() ? lines[master].line : std::nullopt;
    trace.change(bus.broadcast, at, line ? 1 : 0);
    if (!line) continue;
    trace.change(bus.slot, at, to_unsigned(line->slot));
    trace.change(bus.group, at, to_unsigned(line->group));
    trace.change(bus.line, at, line->bytes, to_size(config_.line_bytes));
  }
  if (!clock.beat) return;
  trace.change(signals_.tile, at, to_unsigned(clock.beat->at.tile));
  trace.change(signals_.refill, at, to_unsigned(clock.beat->at.refill));
}

void LineReader::declare_signals(Trace& trace, const std::string& scope) {
  signals_.emplace();
  const auto number = [&](const char* signal, int width) {
    return trace.add_signal(scope, signal, width, Radix::kDecimal);
  };
  signals_->windows = number("windows", 8), signals_->bytes = number("bytes", 32);
  signals_->row = number("row", 16), signals_->begin = number("begin", 32), signals_->end = number("end", 32);
  signals_->lines = number("lines", 16);
  signals_->valid = trace.add_signal(scope, "valid", 1);
}

void LineReader::trace(Trace& trace, Picoseconds at, Cycle now) const {
  trace.change(signals_->windows, at, windows_.size());
  std::uint64_t bytes = 0;
  for (const Window& window : windows_) {
    for (const auto& data : window.data) bytes += data.size();
  }
  trace.change(signals_->bytes, at, bytes);
  const Cycle ready = more_lines() && exists_ ? line_ready() : -1;
  trace.change(signals_->valid, at, ready >= 0 && ready <= now ? 1 : 0);
  if (windows_.empty() || windows_.front().fetch.requests.empty()) return;
  const Window& front = windows_.front();
  const auto& requests = front.fetch.requests;
  trace.change(signals_->row, at, to_unsigned(requests.front().row));
  trace.change(signals_->begin, at, to_unsigned(requests.front().bytes.begin));
  trace.change(signals_->end, at, to_unsigned(requests.back().bytes.end));
  trace.change(signals_->lines, at, to_unsigned(front.lines_left));
}

}  // namespace tilebeat::wfold
