#include "observe/trace.h"
#include "observe/waveform_writer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

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
// A window, the tree of scopes in it, what frames and bars take, and the unit in which a view is measured.
constexpr int kWindowPixels = 1600, kWindowRows = 1000, kTreePixels = 233, kBarPixels = 84,
              kFramePixels = 200;

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

// A row of the view: the number of a signal, or of the first signal of a scope, and how much happens there.
struct Row {
  std::size_t first = 0, end = 0;
  std::int64_t activity = 0;
};

// What is busiest comes first; rows of equal activity stay in their order.
void sort_rows(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.activity > b.activity; });
}

bool is_text(const SignalInfo& signal) {
  return signal.radix == Radix::kText;
}

// The states of all units.
std::vector<Row> states_of(const std::vector<SignalInfo>& signals,
                           const std::vector<std::int64_t>& activity) {
  std::vector<Row> states;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    if (is_text(signals[i])) states.push_back({i, i + 1, activity[i]});
  }
  sort_rows(states);
  return states;
}

// The scopes that have signals besides states and the clock.
std::vector<Row> scopes_of(const std::vector<SignalInfo>& signals,
                           const std::vector<std::int64_t>& activity) {
  std::vector<Row> scopes;
  for (std::size_t i = 1; i < signals.size(); ++i) {
    if (is_text(signals[i])) continue;
    if (scopes.empty() || signals[scopes.back().first].scope != signals[i].scope) scopes.push_back({i, i, 0});
    scopes.back().end = i + 1;
    scopes.back().activity += activity[i];
  }
  sort_rows(scopes);
  return scopes;
}

}  // namespace

std::string gtkwave_view(const std::vector<SignalInfo>& signals, const std::vector<std::int64_t>& activity,
                         const std::string& dump, Picoseconds begin, Picoseconds end) {
  std::size_t longest = 0;
  for (const SignalInfo& signal : signals) {
    if (is_text(signal)) longest = std::max(longest, signal.scope.size());
  }
  const auto names = to_int(std::clamp<std::size_t>(kLetterPixels * longest + kValuePixels, 330, 600));
  const double span = static_cast<double>(std::max<Picoseconds>(end - begin, 1));
  const double frames = static_cast<double>(kWindowPixels - kTreePixels - names - kBarPixels) / kFramePixels;
  std::string text = fmt::format("[dumpfile] \"{}\"\n[timestart] {}\n[size] {} {}\n[pos] -1 -1\n", dump,
                                 begin, kWindowPixels, kWindowRows);
  // Two to the power of minus the first number is the time of a frame.
  text += fmt::format("*{:.6f} {}", -std::log2(span / frames), begin);
  for (int marker = 0; marker < 26; ++marker) text += " -1";
  text += fmt::format("\n[sst_width] {}\n[signals_width] {}\n[sst_expanded] 1\n[sst_vpaned_height] 400\n",
                      kTreePixels, names);
  if (!signals.empty()) text += trace(signals.front());  // the clock
  if (const std::vector<Row> states = states_of(signals, activity); !states.empty()) {
    text += group_begin("states", true);
    for (const Row& state : states) text += trace(signals[state.first]);
    text += group_end("states", true);
  }
  for (const Row& scope : scopes_of(signals, activity)) {
    const std::string name = short_scope(signals[scope.first].scope);
    const auto shown =
        std::count_if(signals.begin() + to_signed(scope.first), signals.begin() + to_signed(scope.end),
                      [](const SignalInfo& signal) { return !is_text(signal); });
    const bool open = scope.activity > 0 && to_size(shown) <= kMostOpen;
    text += group_begin(name, open);
    for (std::size_t i = scope.first; i < scope.end; ++i) {
      if (!is_text(signals[i])) text += trace(signals[i]);
    }
    text += group_end(name, open);
  }
  return text + "[pattern_trace] 1\n[pattern_trace] 0\n";
}

}  // namespace tilebeat
