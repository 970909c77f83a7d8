#include "engines/rolling/sim/result_trace.h"

#include "base/types.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat::rolling {
namespace {

constexpr int kSumBits = 32, kPlaceBits = 16;

// Lines of the largest stack of blocks that a half has room for.
int most_lines(const RollingConfig& config) {
  int blocks = 1;
  while ((blocks + 1) * (blocks + 1) <= config.result_blocks) ++blocks;
  return blocks * std::max(config.rows, config.columns);
}

const std::uint8_t* bytes_of(const std::int32_t* sums) {
  return reinterpret_cast<const std::uint8_t*>(sums);
}

// Signals have 32 bits: the lower ones of the sums.
const std::uint8_t* lower_bits(const Sum* sums, std::size_t count, std::vector<std::int32_t>& shown) {
  shown.resize(count);
  std::transform(sums, sums + count, shown.begin(), [](Sum sum) { return static_cast<std::int32_t>(sum); });
  return bytes_of(shown.data());
}

}  // namespace

ResultTrace::ResultTrace(const SimContext& context, const std::string& scope, const RollingConfig& config)
    : context_(context),
      drain_sums_(std::max(1, config.drain_bytes / (kSumBits / 8))),
      half_(trace().add_signal(scope, "half", 1)),
      shift_(trace().add_signal(scope, "shift", 16, Radix::kDecimal)),
      drain_half_(trace().add_signal(scope, "drain_half", 1)),
      row_(trace().add_signal(scope, "row", 16, Radix::kDecimal)),
      out_(trace().add_signal(scope, "out", kSumBits * drain_sums_, Radix::kHexadecimal, Shown::kWhenNamed)),
      add_(&trace(), scope, "add"),
      realign_(&trace(), scope, "realign"),
      drain_(&trace(), scope, "drain") {
  const int lines = most_lines(config), lanes = config.multipliers * std::max(config.rows, config.columns);
  one_block_ = lines == std::max(config.rows, config.columns);
  for (int lane = 0; lane < lanes; ++lane) {
    for (const char* part : {"index", "line"})
      places_.add(trace(),
                  {scope, fmt::format("w{}_{}", lane, part), kPlaceBits, Radix::kDecimal, Shown::kWhenNamed});
  }
  for (int half = 0; half < 2; ++half) {
    for (int line = 0; line < lines; ++line)
      nth(contents_, half)
          .add(trace(),
               {fmt::format("{}.half{}", scope, half), fmt::format("line{}", line), kSumBits * lines,
                Radix::kHexadecimal, Shown::kWhenNamed, one_block_ ? fmt::format("half{}", half) : ""});
  }
  const auto shown = [](SignalId signal) { return signal >= 0; };
  const auto any = [&](const SignalGroup& group) {
    return std::any_of(group.signals.begin(), group.signals.end(), shown);
  };
  shows_sums_ = shown(out_) || any(contents_[0]) || any(contents_[1]);
}

void ResultTrace::trace_line(const Half& half, int line, Cycle at) {
  const auto& lines = nth(contents_, half.number % 2).signals;
  if (!shows_sums_ || line >= count_of(lines)) return;
  const std::size_t stride = to_size(half.side);
  trace().change(nth(lines, line), time_of(at),
                 lower_bits(half.sums + to_size(line) * stride, stride, sums_shown_),
                 stride * sizeof(std::int32_t));
}

// Traces all lines, whose sums lie one behind the other.
void ResultTrace::trace_lines(const Half& half, Cycle at) {
  const SignalGroup& lines = nth(contents_, half.number % 2);
  if (half.side == count_of(lines.signals)) {
    const auto side = to_size(half.side);
    if (shows_sums_) trace().change(lines, time_of(at), lower_bits(half.sums, side * side, sums_shown_));
    return;
  }
  for (int line = 0; line < half.side; ++line) trace_line(half, line, at);
}

void ResultTrace::begin(const Half& half, Cycle at) {
  trace_lines(half, at);
}

void ResultTrace::added(const Half& half, int first, int count, const std::vector<Place>& places, Cycle at) {
  trace().change(half_, time_of(at), to_unsigned(half.number % 2));
  if (one_block_)
    trace_lines(half, at + 1);
  else
    for (const Place& place : places) trace_line(half, place.line, at + 1);
  // A strobe is told of before the signals that it does not carry.
  const bool of_all = 2 * count == count_of(places_.signals) && count == count_of(places);
  if (!of_all && !places.empty()) add_.high(&trace(), time_of(at), time_of(at + 1));
  shown_.clear();
  for (int lane = 0; lane < count; ++lane) {
    const bool has_sum = lane < count_of(places);
    const Place place = has_sum ? nth(places, lane) : Place{};
    for (const int number : {place.index, place.line}) {
      const int signal = 2 * (first + lane) + (count_of(shown_) & 1);
      shown_.push_back(static_cast<std::uint16_t>(number));
      if (of_all || signal >= count_of(places_.signals)) continue;
      if (has_sum)
        trace().change(nth(places_.signals, signal), time_of(at), to_unsigned(number));
      else
        trace().unknown(nth(places_.signals, signal), time_of(at));
    }
  }
  if (of_all)
    add_.high(&trace(), time_of(at), time_of(at + 1), places_,
              reinterpret_cast<const std::uint8_t*>(shown_.data()));
}

void ResultTrace::realigns(const Half& half, Cycle first, int cycles) {
  trace().change(drain_half_, time_of(first), to_unsigned(half.number % 2));
  if (cycles > 0) realign_.high(&trace(), time_of(first), time_of(first + cycles));
}

void ResultTrace::shifted(const Half& half, int shifts, Cycle at) {
  trace().change(shift_, time_of(at), to_unsigned(shifts));
  trace_lines(half, at);
}

void ResultTrace::drained(const Half& half, int row, const std::vector<std::int32_t>& sums, Cycle first) {
  const Cycle cycles = ceil_div(count_of(sums), drain_sums_);
  trace().change(drain_half_, time_of(first), to_unsigned(half.number % 2));
  trace().change(row_, time_of(first), to_unsigned(row));
  drain_.high(&trace(), time_of(first), time_of(first + cycles));
  if (out_ < 0) return;
  for (Cycle cycle = 0; cycle < cycles; ++cycle) {
    const Cycle begin = cycle * drain_sums_;
    trace().change(out_, time_of(first + cycle), bytes_of(&nth(sums, begin)),
                   to_size(std::min<Cycle>(drain_sums_, count_of(sums) - begin)) * sizeof(std::int32_t));
  }
}

}  // namespace tilebeat::rolling
