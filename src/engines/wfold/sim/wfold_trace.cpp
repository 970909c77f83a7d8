// What the W-fold engine shows in a waveform: lines on their way, beats, results and their way out.
#include "base/types.h"
#include "engines/wfold/config.h"
#include "engines/wfold/sim/wfold_engine.h"
#include "kernels/mac.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string>

#include <fmt/format.h>

namespace tilebeat::wfold {
namespace {

constexpr int kOperandBits = 9;
constexpr int kResultBits = 32, kNumberBits = 16, kSlotBits = 8;
// Signals of a beat, by what the first buffer holds.
constexpr std::array kMapsFirst{"k", "kh", "kw", "second_slot"};
constexpr std::array kKernelsFirst{"first_slot", "kh", "kw", "window"};

bool any_shown(const std::vector<SignalId>& signals) {
  return std::any_of(signals.begin(), signals.end(), [](SignalId signal) { return signal >= 0; });
}

}  // namespace

// ---- slaves ----

void WfoldSlave::declare_signals() {
  Trace& trace = *context_.observers.trace;
  const bool kernels_first = config_.first_buffer == FirstBuffer::kKernels;
  const auto number = [&](const std::string& signal, Radix radix = Radix::kDecimal) {
    const bool is_slot = signal.find("slot") != std::string::npos;
    beat_.add(trace, {name(), signal, is_slot ? kSlotBits : kNumberBits, radix});
  };
  number("block");
  for (int unit = 0; unit < config_.compute_units; ++unit)
    number(fmt::format("cu{}_w", unit), Radix::kSigned);
  for (const char* signal : kernels_first ? kKernelsFirst : kMapsFirst) number(signal);
  valid_ = Strobe(&trace, name(), "valid");
  // The multipliers' operands: nine bits signed (SPEC NU-1).
  SignalGroup operands;
  const auto line = [&](const std::string& scope, const char* operand) {
    for (int lane = 0; lane < config_.line_bytes; ++lane)
      operands.add(trace, {fmt::format("{}.{}", name(), scope), fmt::format("{}{}", operand, lane),
                           kOperandBits, Radix::kSigned, Shown::kWhenNamed});
  };
  for (int unit = 0; unit < config_.compute_units; ++unit)
    line(fmt::format("cu{}", unit), kernels_first ? "w" : "x");
  line(kernels_first ? "map" : "kernel", kernels_first ? "x" : "w");
  shows_operands_ = any_shown(operands.signals);
  for (const SignalId signal : shows_operands_ ? operands.signals : std::vector<SignalId>())
    beat_.add(signal, kOperandBits);
  shown_.resize(beat_.total_bytes);
  declare_third();
}

void WfoldSlave::declare_third() {
  Trace& trace = *context_.observers.trace;
  third_signals_ = ThirdSignals{};
  ThirdSignals& signals = *third_signals_;
  signals.outputs = config_.line_bytes / config_.smallest_pci;
  signals.held = wfold_shape(config_).windows() * signals.outputs;
  const int units = config_.compute_units;
  const std::string scope = fmt::format("{}.third", name());
  for (const bool sums : {false, true}) {
    for (int i = 0; i < units * signals.outputs; ++i) {
      const std::string unit = fmt::format("{}.cu{}", name(), i % units);
      const std::string output = fmt::format("{}{}", sums ? "sum" : "out", i / units);
      (sums ? signals.sum : signals.out)
          .push_back(
              trace.declare({unit, output, kResultBits, Radix::kSigned, Shown::kWhenNamed, "results"}));
    }
  }
  signals.out_values.resize(signals.out.size()), signals.sum_values.resize(signals.sum.size());
  for (int i = 0; i < 2 * kernels_; ++i)
    signals.lines.push_back(trace.add_signal(scope, fmt::format("h{}_k{}", i / kernels_, i % kernels_),
                                             kResultBits * signals.held, Radix::kHexadecimal,
                                             Shown::kWhenNamed));
  signals.shown = any_shown(signals.out) || any_shown(signals.sum) || any_shown(signals.lines);
  const auto declare = [&](SignalGroup& group, const char* signal, int width) {
    group.add(trace,
              {scope, signal, width, width == 1 ? Radix::kHexadecimal : Radix::kDecimal, Shown::kWhenNamed});
  };
  declare(signals.added, "write_half", 1), declare(signals.added, "write_k", kNumberBits);
  declare(signals.taken, "read_half", 1), declare(signals.taken, "read_k", kNumberBits);
  declare(signals.taken, "read_w", kNumberBits);
  signals.write = Strobe(&trace, scope, "write", Shown::kWhenNamed);
  signals.read = Strobe(&trace, scope, "read", Shown::kWhenNamed);
}

void WfoldSlave::trace_beat(const SlaveClock::Beat& beat, const WfoldSchedule& schedule) {
  Trace& trace = *context_.observers.trace;
  if (valid_.is_ignored(trace, beat_)) return;
  const Picoseconds at = now_ps(), end = at + context_.clock.period_ps();
  std::uint8_t* const place = valid_.record(trace, at, end, beat_);
  const WfoldRefill refill = schedule.refill(beat.at.refill);
  const bool kernels_first = schedule.shape().kernels_first();
  const int units = config_.compute_units;
  std::uint8_t* to = place != nullptr ? place : shown_.data();
  const auto show = [&to](int number, int bits = kNumberBits) {
    std::memcpy(to, &number, to_size(bits) / 8);
    to += bits / 8;
  };
  show(refill.block);
  for (int unit = 0; unit < units; ++unit)
    show(beat.map_column + (kernels_first ? 0 : unit) * schedule.fold());
  const int kernel_column = nth(schedule.steps(refill.part), beat.at.step);
  if (kernels_first)
    show(beat.slot, kSlotBits), show(refill.kernel_row), show(kernel_column), show(beat.at.window);
  else
    show(beat.at.kernel), show(refill.kernel_row), show(kernel_column), show(beat.slot, kSlotBits);
  const auto show_line = [&](const std::int16_t* operands, int lines) {
    const int count = lines * config_.line_bytes;
    std::uint8_t* const first = to;
    for (int i = 0; i < count; ++i) {
      const std::uint16_t operand = shown_operand(operands[i]);
      std::memcpy(first + i * to_signed(sizeof operand), &operand, sizeof operand);
    }
    to += count * to_signed(sizeof(std::uint16_t));
  };
  if (shows_operands_) {
    show_line(latched_.data(), units);
    show_line(kernels_first ? window_.data() : kernel_line(beat.slot), 1);
  }
  if (place == nullptr) valid_.high(&trace, at, end, beat_, shown_.data());
}

// Notes the outputs of a unit, of whose products `pairs` are the sums by twos, and its results behind them.
void WfoldSlave::note_results(int unit, int granularity, const std::int32_t* pairs, const Sum* sums) {
  ThirdSignals& signals = *third_signals_;
  if (!signals.shown) return;
  const int of_result = granularity / 2, units = config_.compute_units;
  for (int i = 0; i < std::min(config_.line_bytes / granularity, signals.outputs); ++i) {
    nth(signals.out_values, i * units + unit) =
        std::accumulate(pairs + i * of_result, pairs + (i + 1) * of_result, 0);
    nth(signals.sum_values, i * units + unit) = static_cast<std::int32_t>(sums[i]);
  }
}

// Traces what has been noted of the first `units` units: outputs in the cycle in which they leave the adder
// trees, and partial sums, which the third buffer holds from the next cycle on.
void WfoldSlave::trace_results(const SlaveClock::Beat& beat, int units, int granularity) {
  Trace& trace = *context_.observers.trace;
  ThirdSignals& signals = *third_signals_;
  const Picoseconds period = context_.clock.period_ps();
  const Picoseconds at = now_ps() + (config_.adder_stages - 1) * period;
  const auto half = static_cast<std::uint8_t>(beat.half);
  const auto kernel =
      static_cast<std::uint16_t>(config_.first_buffer == FirstBuffer::kKernels ? 0 : beat.at.kernel);
  const std::array<std::uint8_t, 3> added{half, static_cast<std::uint8_t>(kernel & 0xFF),
                                          static_cast<std::uint8_t>(kernel >> 8)};
  signals.write.high(&trace, at, at + period, signals.added, added.data());
  if (!signals.shown) return;
  const int all = config_.compute_units;
  const int outputs = std::min(config_.line_bytes / granularity, signals.outputs);
  ThirdSignals::Results& group = signals.results[{outputs, units}];
  const bool is_new = group.out.signals.empty();
  // In front, one behind the other, are those of the units that work.
  for (int i = 0; i < outputs * units; ++i) {
    const int from = i / units * all + i % units;
    if (is_new) {
      group.out.add(nth(signals.out, from), kResultBits);
      group.sum.add(nth(signals.sum, from), kResultBits);
    }
    nth(signals.out_values, i) = nth(signals.out_values, from);
    nth(signals.sum_values, i) = nth(signals.sum_values, from);
  }
  const auto bytes = [](const std::vector<std::int32_t>& values) {
    return reinterpret_cast<const std::uint8_t*>(values.data());
  };
  trace.change(group.out, at, bytes(signals.out_values));
  trace.change(group.sum, at + period, bytes(signals.sum_values));
}

// Traces the results of a kernel in the third buffer, from the cycle on in which it holds them.
void WfoldSlave::trace_third(int half, int kernel) {
  const SignalId signal = nth(third_signals_->lines, half * kernels_ + kernel);
  if (signal < 0) return;
  const Sum* const sums = results_of(half, kernel);
  std::vector<std::int32_t>& shown = third_signals_->held_values;  // the lower bits
  shown.assign(to_size(third_signals_->held), 0);
  std::transform(sums, sums + third_signals_->held, shown.begin(),
                 [](Sum sum) { return static_cast<std::int32_t>(sum); });
  context_.observers.trace->change(signal, now_ps() + config_.adder_stages * context_.clock.period_ps(),
                                   reinterpret_cast<const std::uint8_t*>(shown.data()),
                                   shown.size() * sizeof(std::int32_t));
}

// Traces what leaves the third buffer at `at`.
void WfoldSlave::trace_read(const ResultRead& read, Picoseconds at) {
  if (!third_signals_) return;
  const auto kernel = static_cast<std::uint16_t>(read.first_kernel);
  const auto column = static_cast<std::uint16_t>(read.first_column);
  const std::array<std::uint8_t, 5> taken{
      static_cast<std::uint8_t>(read.half), static_cast<std::uint8_t>(kernel & 0xFF),
      static_cast<std::uint8_t>(kernel >> 8), static_cast<std::uint8_t>(column & 0xFF),
      static_cast<std::uint8_t>(column >> 8)};
  third_signals_->read.high(context_.observers.trace, at, at + context_.clock.period_ps(),
                            third_signals_->taken, taken.data());
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
