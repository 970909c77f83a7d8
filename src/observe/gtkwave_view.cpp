#include "observe/trace.h"
#include "observe/vcd_writer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace tilebeat {

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  const auto number = [](std::string_view s, std::size_t& at) {
    std::uint64_t n = 0;
    while (at < s.size() && s[at] >= '0' && s[at] <= '9') n = n * 10 + to_unsigned(s[at++] - '0');
    return n;
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      const std::uint64_t x = number(a, i), y = number(b, j);
      if (x != y) return x < y;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

namespace {

// Flags of a trace in a save file.
constexpr unsigned kHexadecimal = 0x2, kDecimal = 0x4, kBinary = 0x8, kRight = 0x20, kBlank = 0x200,
                   kSigned = 0x400, kCollapsed = 0x1000, kClosed = 0x400000, kGroupBegin = 0x800000,
                   kGroupEnd = 0x1000000;
enum Colour { kOrange = 2, kYellow = 3, kGreen = 4, kBlue = 5 };
constexpr std::size_t kMostOpen = 9;  // signals of a group that is open at first
constexpr std::size_t kLetterPixels = 9, kValuePixels = 110;
constexpr double kViewFrames = 1000.0 / 200;  // frames of 200 pixels in a window of 1600

struct Look {
  unsigned flags;
  Colour colour;
};

Look look_of(const SignalInfo& signal) {
  switch (signal.radix) {
    case Radix::kText:
      return {kRight | kHexadecimal, kYellow};
    case Radix::kSigned:
      return {kRight | kDecimal | kSigned, kOrange};
    case Radix::kDecimal:
      return {kRight | kDecimal, kBlue};
    case Radix::kHexadecimal:
      break;
  }
  return {kRight | (signal.width_bits == 1 ? kBinary : kHexadecimal),
          signal.width_bits == 1 ? kGreen : kBlue};
}

std::string group_begin(const std::string& name, bool open) {
  return fmt::format("@{:x}\n-{}\n", kGroupBegin | kBlank | (open ? 0 : kClosed), name);
}

std::string group_end(const std::string& name, bool open) {
  return fmt::format("@{:x}\n-{}\n", kGroupEnd | kBlank | (open ? 0 : kClosed | kCollapsed), name);
}

// The scope without its outermost part.
std::string short_scope(const std::string& scope) {
  const std::size_t dot = scope.find('.');
  return dot == std::string::npos ? scope : scope.substr(dot + 1);
}

// The name of a module below the outermost one. GTKWave shows only the part of a name behind its last dot.
std::string unit_name(const std::string& scope) {
  std::string name = short_scope(scope);
  std::replace(name.begin(), name.end(), '.', '/');
  return name;
}

std::string trace(const SignalInfo& signal) {
  const Look look = look_of(signal);
  const std::string range = signal.width_bits > 1 ? fmt::format("[{}:0]", signal.width_bits - 1) : "";
  // All states have the same name: their units name them.
  const std::string alias =
      signal.radix == Radix::kText ? fmt::format("+{{{}}} ", unit_name(signal.scope)) : "";
  return fmt::format("@{:x}\n[color] {}\n{}{}.{}{}\n", look.flags, to_int(look.colour), alias, signal.scope,
                     signal.name, range);
}

}  // namespace

std::string gtkwave_view(const std::vector<SignalInfo>& signals, const std::string& dump, Picoseconds begin,
                         Picoseconds end) {
  const double span = static_cast<double>(std::max<Picoseconds>(end - begin, 1));
  std::string text =
      fmt::format("[dumpfile] \"{}\"\n[timestart] {}\n[size] 1600 900\n[pos] -1 -1\n", dump, begin);
  // Two to the power of minus the first number is the time span of a view.
  text += fmt::format("*{:.6f} {}", -std::log2(span / kViewFrames), begin);
  for (int marker = 0; marker < 26; ++marker) text += " -1";
  std::size_t longest = 0;
  for (const SignalInfo& signal : signals) {
    if (signal.radix == Radix::kText) longest = std::max(longest, signal.scope.size());
  }
  text += fmt::format("\n[sst_width] 233\n[signals_width] {}\n[sst_expanded] 1\n[sst_vpaned_height] 400\n",
                      std::clamp<std::size_t>(kLetterPixels * longest + kValuePixels, 330, 600));
  const auto is_text = [](const SignalInfo& signal) { return signal.radix == Radix::kText; };
  if (!signals.empty()) text += trace(signals.front());  // the clock
  if (std::any_of(signals.begin(), signals.end(), is_text)) {
    text += group_begin("states", true);
    for (const SignalInfo& signal : signals) {
      if (is_text(signal)) text += trace(signal);
    }
    text += group_end("states", true);
  }
  for (auto first = signals.empty() ? signals.end() : signals.begin() + 1; first != signals.end();) {
    const auto last =
        std::find_if(first, signals.end(), [&](const SignalInfo& s) { return s.scope != first->scope; });
    const auto shown = to_size(std::count_if(first, last, [&](const auto& s) { return !is_text(s); }));
    if (shown > 0) {
      const std::string name = short_scope(first->scope);
      text += group_begin(name, shown <= kMostOpen);
      for (; first != last; ++first) {
        if (!is_text(*first)) text += trace(*first);
      }
      text += group_end(name, shown <= kMostOpen);
    }
    first = last;
  }
  return text + "[pattern_trace] 1\n[pattern_trace] 0\n";
}

}  // namespace tilebeat
