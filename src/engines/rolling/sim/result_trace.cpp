#include "engines/rolling/sim/result_trace.h"

#include "base/types.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat::rolling {
namespace {

constexpr int kSumBits = 32;

// Lines of the largest stack of blocks that a half has room for.
int most_lines(const RollingConfig& config) {
  int blocks = 1;
  while ((blocks + 1) * (blocks + 1) <= config.result_blocks) ++blocks;
  return blocks * std::max(config.rows, config.columns);
}

const std::uint8_t* bytes_of(const std::int32_t* sums) {
  return reinterpret_cast<const std::uint8_t*>(sums);
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
  for (int lane = 0; lane < lanes; ++lane) {
    for (const char* part : {"line", "index"})
      places_.push_back(trace().add_signal(scope, fmt::format("w{}_{}", lane, part), 16, Radix::kDecimal,
                                           Shown::kWhenNamed));
  }
  for (std::size_t half = 0; half < contents_.size(); ++half) {
    for (int line = 0; line < lines; ++line)
      contents_[half].push_back(trace().add_signal(fmt::format("{}.half{}", scope, half),
                                                   fmt::format("line{}", line), kSumBits * lines,
                                                   Radix::kHexadecimal, Shown::kWhenNamed));
  }
  const auto shown = [](SignalId signal) { return signal >= 0; };
  shows_sums_ = shown(out_) || std::any_of(contents_[0].begin(), contents_[0].end(), shown) ||
                std::any_of(contents_[1].begin(), contents_[1].end(), shown);
}

void ResultTrace::trace_line(const Half& half, int line, Cycle at) {
  const auto& lines = nth(contents_, half.number % 2);
  if (!shows_sums_ || line >= count_of(lines)) return;
  const std::size_t stride = to_size(half.side);
  trace().change(nth(lines, line), time_of(at), bytes_of(half.sums + to_size(line) * stride),
                 stride * sizeof(std::int32_t));
}

void ResultTrace::begin(const Half& half, Cycle at) {
  for (int line = 0; line < half.side; ++line) trace_line(half, line, at);
}

void ResultTrace::added(const Half& half, int lane, int line, int index, Cycle at) {
  add_.high(&trace(), time_of(at), time_of(at + 1));
  trace().change(half_, time_of(at), to_unsigned(half.number % 2));
  trace_line(half, line, at + 1);
  if (2 * lane + 1 >= count_of(places_)) return;
  trace().change(nth(places_, 2 * lane), time_of(at), to_unsigned(line));
  trace().change(nth(places_, 2 * lane + 1), time_of(at), to_unsigned(index));
}

void ResultTrace::skipped(int lane, Cycle at) {
  for (const int signal : {2 * lane, 2 * lane + 1}) {
    if (signal < count_of(places_)) trace().unknown(nth(places_, signal), time_of(at));
  }
}

void ResultTrace::realigns(const Half& half, Cycle first, int cycles) {
  trace().change(drain_half_, time_of(first), to_unsigned(half.number % 2));
  if (cycles > 0) realign_.high(&trace(), time_of(first), time_of(first + cycles));
}

void ResultTrace::shifted(const Half& half, int shifts, Cycle at) {
  trace().change(shift_, time_of(at), to_unsigned(shifts));
  for (int line = 0; line < half.side; ++line) trace_line(half, line, at);
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
