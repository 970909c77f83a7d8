#include "observe/vcd_writer.h"

#include "observe/natural_order.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fnmatch.h>

namespace tilebeat {
namespace {

constexpr std::size_t kFlushAt = 1 << 16;  // pending changes
constexpr const char* kClockCode = "!";    // signals count on from the next code
// Room for the last line of a truncated dump.
constexpr std::int64_t kReserve = 128;
// Bytes of a text change besides the text: its code, and possibly a time of its own.
constexpr std::int64_t kLateOverhead = 24;
constexpr std::size_t kLineBytes = 1024;  // more than a line of a dump has

std::string code_of(int number) {
  std::string code;
  for (int n = number + 1;; n = n / 94 - 1) {
    code += static_cast<char>('!' + n % 94);
    if (n < 94) return code;
  }
}

std::vector<std::string> split(const std::string& scope) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= scope.size();) {
    const std::size_t end = std::min(scope.find('.', begin), scope.size());
    parts.push_back(scope.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

VcdWriter::VcdWriter(TraceFilter filter, Picoseconds clock_period, std::function<Picoseconds()> now,
                     std::function<void(std::string_view)> sink)
    : filter_(std::move(filter)), clock_period_(clock_period), now_(std::move(now)), sink_(std::move(sink)) {
  matched_.resize(filter_.patterns.size(), false);
  wanted("soc.clk", "clk");  // is always there
}

// Whether a pattern matches; no patterns match everything.
bool VcdWriter::wanted(const std::string& path, const std::string& name) {
  bool any = filter_.patterns.empty();
  for (std::size_t i = 0; i < filter_.patterns.size(); ++i) {
    const char* pattern = filter_.patterns[i].c_str();
    if (fnmatch(pattern, path.c_str(), 0) != 0 && fnmatch(pattern, name.c_str(), 0) != 0) continue;
    matched_[i] = true;
    any = true;
  }
  return any;
}

std::vector<std::string> VcdWriter::unmatched_patterns() const {
  std::vector<std::string> unmatched;
  for (std::size_t i = 0; i < matched_.size(); ++i) {
    if (!matched_[i]) unmatched.push_back(filter_.patterns[i]);
  }
  return unmatched;
}

SignalId VcdWriter::declare(const SignalInfo& info) {
  if (!wanted(info.scope + "." + info.name, info.name)) return -1;
  Signal signal;
  signal.info = info;
  signal.known = info.width_bits == 1;  // a strobe is low until it is heard of
  signals_.push_back(signal);
  if (info.radix == Radix::kText && spool_ == nullptr) {
    spool_.reset(std::tmpfile());
    if (spool_ == nullptr)
      throw UserError(fmt::format("the waveform: a temporary file cannot be made: {}", std::strerror(errno)));
  }
  return static_cast<SignalId>(signals_.size()) - 1;
}

std::vector<SignalInfo> VcdWriter::signals() const {
  std::vector<SignalInfo> all{{order_.empty() ? "soc" : top(), "clk", 1, Radix::kHexadecimal}};
  for (const int id : order_) all.push_back(nth(signals_, id).info);
  return all;
}

// The outermost scope.
std::string VcdWriter::top() const {
  return split(nth(signals_, order_.front()).info.scope).front();
}

void VcdWriter::text(SignalId signal, Picoseconds at, std::string_view text) {
  if (signal < 0 || closed_ || over_ || at >= filter_.end) return;
  late_.push_back({at, signal, *words_.emplace(text).first});
  late_bytes_ += ssize(text) + kLateOverhead;
  stop_when_full();
}

// Stops recording when the dump, together with the texts, would exceed the limit.
void VcdWriter::stop_when_full() {
  if (over_ || bytes_ + late_bytes_ <= filter_.max_bytes) return;
  over_ = true;
  cut_at_ = now_();
}

void VcdWriter::record(SignalId signal, Picoseconds at, std::uint64_t value, bool known) {
  if (signal < 0 || closed_ || over_) return;
  if (at >= filter_.end) {
    over_ = now_() >= filter_.end;
    return;
  }
  if (!header_written_) write_header();
  pending_.push_back({at, nth(rank_, signal), sequence_++, value, known});
  if (pending_.size() >= kFlushAt) flush_before(now_());
}

// Writes a part of the dump without texts.
void VcdWriter::put(std::string_view text) {
  if (spool_ == nullptr) {
    put_out(text);
    return;
  }
  bytes_ += ssize(text);
  stop_when_full();
  errno = 0;
  if (spool_error_ == 0 && std::fwrite(text.data(), 1, text.size(), spool_.get()) != text.size())
    spool_error_ = errno != 0 ? errno : EIO;
}

void VcdWriter::put_out(std::string_view text) {
  if (truncated_) return;
  if (bytes_ + ssize(text) + kReserve > filter_.max_bytes) {
    end_early();
    return;
  }
  bytes_ += ssize(text);
  sink_(text);
}

void VcdWriter::end_early() {
  truncated_ = over_ = true;
  const std::string end =
      fmt::format("$comment trace ended: size cap of {} bytes reached $end\n", filter_.max_bytes);
  bytes_ += ssize(end);
  sink_(end);
}

void VcdWriter::write_header() {
  header_written_ = true;
  order_.resize(signals_.size());
  rank_.resize(signals_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(), [&](int a, int b) {
    const SignalInfo& x = nth(signals_, a).info;
    const SignalInfo& y = nth(signals_, b).info;
    return x.scope != y.scope ? split(x.scope) < split(y.scope) : natural_less(x.name, y.name);
  });
  std::string text = "$version tilebeat $end\n$timescale 1ps $end\n";
  std::vector<std::string> open{order_.empty() ? "soc" : top()};
  text += fmt::format("$scope module {} $end\n$var wire 1 {} clk $end\n", open.front(), kClockCode);
  for (std::size_t rank = 0; rank < order_.size(); ++rank) {
    Signal& signal = nth(signals_, order_[rank]);
    nth(rank_, order_[rank]) = to_int(rank);
    signal.code = code_of(to_int(rank));
    const std::vector<std::string> scope = split(signal.info.scope);
    std::size_t common = 0;
    while (common < open.size() && common < scope.size() && open[common] == scope[common]) ++common;
    for (std::size_t i = open.size(); i > common; --i) text += "$upscope $end\n";
    for (std::size_t i = common; i < scope.size(); ++i)
      text += fmt::format("$scope module {} $end\n", scope[i]);
    open = scope;
    const int width = signal.info.width_bits;
    const std::string range = width > 1 ? fmt::format(" [{}:0]", width - 1) : "";
    text += fmt::format("$var {} {} {} {}{} $end\n", signal.info.radix == Radix::kText ? "string" : "wire",
                        width, signal.code, signal.info.name, range);
  }
  for (std::size_t i = open.size(); i > 0; --i) text += "$upscope $end\n";
  put(text + "$enddefinitions $end\n");
  clock_edge_ = filter_.begin / clock_period_ * clock_period_;
}

void VcdWriter::flush_before(Picoseconds limit) {
  std::sort(pending_.begin(), pending_.end(), [](const Change& a, const Change& b) {
    return std::tie(a.at, a.rank, a.sequence) < std::tie(b.at, b.rank, b.sequence);
  });
  std::size_t done = 0;
  for (; done < pending_.size() && pending_[done].at < limit; ++done) {
    const Change& c = pending_[done];
    const bool overtaken =
        done + 1 < pending_.size() && pending_[done + 1].at == c.at && pending_[done + 1].rank == c.rank;
    Signal& signal = nth(signals_, nth(order_, c.rank));
    if (overtaken || (signal.known == c.known && signal.value == c.value)) continue;
    if (c.at >= filter_.begin) {
      open_window();
      advance_to(c.at);
    }
    signal.known = c.known;
    signal.value = c.value;
    if (c.at >= filter_.begin) write_value(signal);
  }
  pending_.erase(pending_.begin(), pending_.begin() + to_signed(done));
}

// Writes the values at the opening of the window.
void VcdWriter::open_window() {
  if (window_open_) return;
  window_open_ = true;
  put(fmt::format("#{}\n$dumpvars\n", filter_.begin));
  written_time_ = filter_.begin;
  put(fmt::format("0{}\n", kClockCode));
  for (const int id : order_) write_value(nth(signals_, id));
  put("$end\n");
}

void VcdWriter::advance_to(Picoseconds at) {
  write_clock_until(at);
  if (at == written_time_) return;
  written_time_ = at;
  put(fmt::format("#{}\n", at));
}

// Draws the edges of clk up to and including `at`.
void VcdWriter::write_clock_until(Picoseconds at) {
  while (clock_edge_ <= at && !truncated_) {
    if (clock_edge_ >= filter_.begin) {
      if (clock_edge_ != written_time_) put(fmt::format("#{}\n", clock_edge_));
      written_time_ = clock_edge_;
      put(fmt::format("{}{}\n", clock_edge_ % clock_period_ == 0 ? 1 : 0, kClockCode));
    }
    const Picoseconds half = clock_period_ / 2;
    clock_edge_ = clock_edge_ % clock_period_ == 0 ? clock_edge_ + half : clock_edge_ - half + clock_period_;
  }
}

void VcdWriter::write_value(const Signal& signal) {
  const int width = signal.info.width_bits;
  if (signal.info.radix == Radix::kText) return;  // comes late
  if (width == 1) {
    put(fmt::format("{}{}\n", signal.known ? (signal.value & 1 ? "1" : "0") : "x", signal.code));
  } else if (!signal.known) {
    put(fmt::format("bx {}\n", signal.code));
  } else {
    const std::uint64_t mask = width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    put(fmt::format("b{:b} {}\n", signal.value & mask, signal.code));
  }
}

void VcdWriter::finish(Picoseconds end) {
  if (closed_) return;
  if (!header_written_) write_header();
  const Picoseconds last = std::min({end, filter_.end - 1, cut_at_.value_or(end)});
  flush_before(last + 1);
  if (last >= filter_.begin) {
    open_window();
    advance_to(last);
  }
  closed_ = true;
  if (spool_ != nullptr) join();
}

// Joins the stored dump with the texts.
void VcdWriter::join() {
  errno = 0;
  if (spool_error_ == 0 && std::fflush(spool_.get()) != 0) spool_error_ = errno;
  if (spool_error_ != 0)
    throw UserError(
        fmt::format("a temporary file of the waveform cannot be written: {}", std::strerror(spool_error_)));
  const auto rank = [this](const Late& late) { return nth(rank_, late.signal); };
  std::stable_sort(late_.begin(), late_.end(), [&](const Late& a, const Late& b) {
    return a.at != b.at ? a.at < b.at : rank(a) < rank(b);
  });
  bytes_ = 0;
  auto next = late_.cbegin();
  const auto put_text = [this](const Late& late) {
    put_out(fmt::format("s{} {}\n", late.text, nth(signals_, late.signal).code));
  };
  // Writes the texts before `limit` at times without other changes.
  const auto put_before = [&](Picoseconds limit) {
    for (Picoseconds shown = -1; next != late_.cend() && next->at < limit; ++next) {
      if (next->at != shown) put_out(fmt::format("#{}\n", next->at));
      shown = next->at;
      put_text(*next);
    }
  };
  std::rewind(spool_.get());
  std::array<char, kLineBytes> buffer{};
  bool window = false;
  while (!truncated_ && std::fgets(buffer.data(), count_of(buffer), spool_.get()) != nullptr) {
    const std::string_view line(buffer.data());
    if (line.front() == '#' && window) {
      const Picoseconds at = std::strtoll(line.data() + 1, nullptr, 10);
      put_before(at);
      put_out(line);
      for (; next != late_.cend() && next->at == at; ++next) put_text(*next);
      continue;
    }
    put_out(line);
    if (line != "$dumpvars\n") continue;
    window = true;
    std::map<int, const Late*> held;  // by rank: what holds when the window opens
    for (; next != late_.cend() && next->at <= filter_.begin; ++next) held[rank(*next)] = &*next;
    for (const auto& [unused, late] : held) put_text(*late);
  }
  if (cut_at_ && !truncated_) end_early();
  spool_.reset();
}

}  // namespace tilebeat
