// What the rolling-register unit shows in a waveform: the loads, the steps, the registers and the sums.
#include "engines/rolling/sim/rolling_unit.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat::rolling {

void RollingUnit::declare_signals() {
  Trace& trace = *context_.observers.trace;
  const std::string scope = std::string(name()) + ".array";
  signals_.emplace();
  signals_->group = trace.add_signal(scope, "group", 8, Radix::kDecimal);
  signals_->computation = trace.add_signal(scope, "computation", 16, Radix::kDecimal);
  signals_->phase = trace.add_signal(scope, "phase", 8, Radix::kDecimal);
  signals_->step = trace.add_signal(scope, "step", 3, Radix::kDecimal);
  for (const OperandName operand : {OperandName::kA, OperandName::kB}) {
    const auto index = to_size(operand);
    const std::string load = fmt::format("load_{}", kOperandNames[index]);
    signals_->load[index] = {trace.add_signal(scope, load, 1),
                             trace.add_signal(scope, load + "_group", 8, Radix::kDecimal),
                             trace.add_signal(scope, load + "_line", 16, Radix::kDecimal),
                             trace.add_signal(scope, load + "_across", 1)};
    loader(operand).declare_signals(fmt::format("{}.{}", name(), kOperandNames[index]));
  }
  signals_->valid_sums = Strobe(&trace, scope, "sums");
  signals_->beat = Strobe(&trace, scope, "valid");
  for (int multiplier = 0; multiplier < config_.multipliers; ++multiplier) {
    const std::string suffix = multiplier == 0 ? "" : fmt::format("_{}", multiplier);
    for (int line = 0; line < std::max(config_.rows, config_.columns); ++line)
      signals_->sums.add(
          trace, {scope, fmt::format("sum{}{}", line, suffix), 32, Radix::kSigned, Shown::kWhenNamed});
  }
  results.declare_signals(context_, std::string(name()) + ".results");
}

// Traces whether a line of the operand enters in this cycle.
void RollingUnit::trace_entry(OperandName operand, bool entered, Cycle now) {
  context_.observers.trace->change(nth(signals_->load, operand).valid, context_.clock.at(now),
                                   entered ? 1 : 0);
}

// Traces a line that enters registers from cycle `at` on: each element is there in the cycle after its own.
void RollingUnit::trace_load(const OperandLoader::Line& line, const Round& round, OperandName operand,
                             Cycle at) {
  Trace& trace = *context_.observers.trace;
  const Signals::Load& signals = nth(signals_->load, operand);
  const int group = group_at(round, line.load.part, line.load.cut);
  trace.change(signals.group, context_.clock.at(at), to_unsigned(group));
  trace.change(signals.line, context_.clock.at(at), to_unsigned(line.load.number));
  trace.change(signals.across, context_.clock.at(at), line.load.kind == Load::Kind::kAcross ? 1 : 0);
  const Variant variant = round.job->schedule.order().variant;
  const Picoseconds first = context_.clock.at(at + 1);
  array_.trace_load(variant, operand, group, line.load,
                    {first, context_.clock.period_ps(), config_.port_bytes, line.clocks});
}

// Traces where the sums of a beat are added; those of multiplier `multiplier`.
void RollingUnit::trace_landing(const Sums& sums, int multiplier, Cycle now) {
  const int lines = std::max(config_.rows, config_.columns), first = multiplier * lines;
  places_shown_.clear();
  for (std::size_t i = 0; i < sums.count; ++i)
    places_shown_.push_back({sums.values[i].place.line, sums.values[i].place.index});
  results.trace->added(results.half(sums.number), first, lines, places_shown_, now);
}

void RollingUnit::trace_step(Cycle now) {
  if (context_.trace() == nullptr) return;
  Trace& trace = *context_.observers.trace;
  const Picoseconds at = context_.clock.at(now);
  const auto value = [](int number) { return to_unsigned(number); };
  trace.change(signals_->group, at, value(group_at(rounds_.front(), step_->part, step_->cut)));
  trace.change(signals_->computation, at, value(step_->computation));
  if (step_->kind == Step::Kind::kBeat) signals_->beat.high(&trace, at, context_.clock.at(now + 1));
  trace.change(signals_->phase, at, value(step_->phase));
  trace.change(signals_->step, at, value(to_int(step_->kind)));
}

// Traces the sums that are added in the result buffer in this cycle.
void RollingUnit::trace_clock(Cycle now) {
  Trace& trace = *context_.observers.trace;
  if (!trees_.empty() && trees_.back().due > now) {
    const Picoseconds due = context_.clock.at(trees_.back().due),
                      end = context_.clock.at(trees_.back().due + 1);
    if (line_sums_.size() == 1 && line_sums_[0].size() == signals_->sums.signals.size()) {
      signals_->valid_sums.high(&trace, due, end, signals_->sums,
                                reinterpret_cast<const std::uint8_t*>(line_sums_[0].data()));
      return;
    }
    signals_->valid_sums.high(&trace, due, end);
    const auto lines = to_size(std::max(config_.rows, config_.columns));
    for (std::size_t multiplier = 0; multiplier < line_sums_.size(); ++multiplier) {
      const auto& sums = line_sums_[multiplier];
      for (std::size_t line = 0; line < std::min(sums.size(), lines); ++line)
        trace.change(signals_->sums.signals[multiplier * lines + line], due,
                     to_unsigned(static_cast<std::uint32_t>(sums[line])));
    }
  }
}

void RollingUnit::trace_registers(const Round& round, OperandName operand, Cycle at) {
  const Order& order = round.job->schedule.order();
  for (int part = 0; part < round.block.parts; ++part) {
    for (int cut = 0; cut < round.cut_groups; ++cut)
      array_.trace(order.variant, operand, group_at(round, part, cut), context_.clock.at(at));
  }
  array_.trace_spare_lines(context_.clock.at(at));
}

}  // namespace tilebeat::rolling
