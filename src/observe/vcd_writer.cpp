#include "observe/vcd_writer.h"

#include "observe/change_spool.h"
#include "observe/trace.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include <fmt/compile.h>
#include <fmt/format.h>
#include <fnmatch.h>

namespace tilebeat {
namespace {

constexpr std::size_t kFlushAt = 1 << 14;   // pending changes
constexpr std::size_t kPassOnAt = 1 << 16;  // bytes of text
constexpr std::size_t kSlack = 8;           // bytes that may be written behind a text
constexpr const char* kClockCode = "!";     // signals count on from the next code
// Room for the last line of a truncated dump.
constexpr std::int64_t kReserve = 128;
// Bytes of a text change besides the text: its code, and possibly a time of its own.
constexpr std::int64_t kLateOverhead = 24;
constexpr int kWordBits = 64;

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

std::size_t words_of(int width_bits) {
  return to_size(ceil_div(width_bits, kWordBits));
}

// Number of binary digits of a value; 0 has one.
int digits_of(const std::uint64_t* value, std::size_t words) {
  for (std::size_t i = words; i-- > 0;) {
    if (value[i] != 0) return to_int(i) * kWordBits + (kWordBits - __builtin_clzll(value[i]));
  }
  return 1;
}

// Whether a name is an identifier of IEEE 1364 (3.7).
bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto further = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '$'; };
  return !name.empty() && letter(name.front()) && std::all_of(name.begin(), name.end(), further);
}

void check_identifiers(const SignalInfo& info) {
  std::vector<std::string> names = split(info.scope);
  names.push_back(info.name);
  for (const std::string& name : names) {
    if (!is_identifier(name))
      throw std::logic_error(fmt::format("{}.{}: no identifier of IEEE 1364", info.scope, info.name));
  }
}

// The scopes of these signals, and all around them.
template <class Signals>
std::unordered_set<std::string> scopes_of(const Signals& signals) {
  std::unordered_set<std::string> scopes;
  for (const auto& signal : signals) {
    std::string scope = signal.scope;
    while (scopes.insert(scope).second && scope.find('.') != std::string::npos)
      scope.resize(scope.rfind('.'));
  }
  return scopes;
}

// Writes the lowest `digits` binary digits of a value, and up to seven bytes of rubbish behind them. Returns
// the end of the digits.
char* write_digits(char* to, const std::uint64_t* value, int digits) {
  static const auto digits_of_byte = [] {
    std::array<std::array<char, 8>, 256> all{};
    for (std::size_t byte = 0; byte < all.size(); ++byte) {
      for (std::size_t bit = 0; bit < 8; ++bit) all[byte][7 - bit] = (byte >> bit & 1) != 0 ? '1' : '0';
    }
    return all;
  }();
  for (std::size_t i = to_size((digits - 1) / kWordBits) + 1; i-- > 0;) {
    const int of_word = digits - to_int(i) * kWordBits;
    std::uint64_t word = value[i] << (kWordBits - of_word);
    char* const end = to + of_word;
    for (; to < end; to += 8, word <<= 8) std::memcpy(to, digits_of_byte[word >> 56].data(), 8);
    to = end;
    digits -= of_word;
  }
  return to;
}

// Bytes of a line #TIME.
std::int64_t time_bytes(Picoseconds at) {
  std::int64_t bytes = 3;  // '#', a digit and the end of the line
  for (; at >= 10; at /= 10) ++bytes;
  return bytes;
}

}  // namespace

VcdWriter::VcdWriter(TraceFilter filter, Picoseconds clock_period, std::function<Picoseconds()> now,
                     std::function<void(std::string_view)> sink)
    : filter_(std::move(filter)),
      clock_period_(clock_period),
      now_(std::move(now)),
      sink_(std::move(sink)),
      flush_at_(kFlushAt),
      spool_(std::make_unique<ChangeSpool>()) {
  matched_.resize(filter_.patterns.size(), false);
  wanted("soc.clk", "clk", Shown::kAlways);  // is always there
}
VcdWriter::~VcdWriter() = default;

// Whether a pattern matches, or there is none and the signal is always shown.
bool VcdWriter::wanted(const std::string& path, const std::string& name, Shown shown) {
  bool any = filter_.patterns.empty() && shown == Shown::kAlways;
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
  check_identifiers(info);
  if (!wanted(info.scope + "." + info.name, info.name, info.shown)) return -1;
  signals_.push_back(info);
  return static_cast<SignalId>(signals_.size()) - 1;
}

std::vector<SignalInfo> VcdWriter::signals() const {
  std::vector<SignalInfo> all{{order_.empty() ? "soc" : top(), "clk", 1, Radix::kHexadecimal}};
  for (const int id : order_) all.push_back(nth(signals_, id));
  return all;
}

std::vector<std::int64_t> VcdWriter::activity() const {
  std::vector<std::int64_t> all{0};
  for (const int id : order_) all.push_back(nth(tracks_, nth(rank_, id)).activity);
  return all;
}

// Adds the times up to `last` in which texts are `busy`; they are sorted by time.
void VcdWriter::add_busy_times(Picoseconds last) {
  std::map<SignalId, Picoseconds> busy;  // since when
  const auto end = [&](SignalId signal, Picoseconds at) {
    const auto found = busy.find(signal);
    if (found == busy.end()) return;
    const Picoseconds from = std::max(found->second, filter_.begin);
    nth(tracks_, nth(rank_, signal)).activity += std::max<Picoseconds>(0, std::min(at, last) - from);
    busy.erase(found);
  };
  for (const Late& late : late_) {
    end(late.signal, late.at);
    if (late.text == "busy") busy.emplace(late.signal, late.at);
  }
  while (!busy.empty()) end(busy.begin()->first, last);
}

// The outermost scope.
std::string VcdWriter::top() const {
  return split(nth(signals_, order_.front()).scope).front();
}

void VcdWriter::text(SignalId signal, Picoseconds at, std::string_view text) {
  if (!records(signal, at)) return;
  auto known = texts_.find(text);
  if (known == texts_.end()) known = texts_.emplace(text).first;
  late_.push_back({at, signal, *known});
  collected_ += ssize(text) + kLateOverhead;
}

// Whether a change at `at` is recorded.
bool VcdWriter::records(SignalId signal, Picoseconds at) {
  if (signal < 0 || closed_ || over_) return false;
  if (at >= filter_.end) {
    over_ = now_() >= filter_.end;
    return false;
  }
  if (collected_ <= filter_.max_bytes) return true;
  // The dump will exceed its limit.
  over_ = true;
  cut_at_ = now_();
  return false;
}

// The pending instant `at`.
VcdWriter::Instant& VcdWriter::instant(Picoseconds at) {
  for (const auto& [time, known] : latest_) {
    if (known != nullptr && time == at) return *known;
  }
  const auto [place, is_new] = pending_.try_emplace(at);
  if (is_new && !spare_.empty()) {
    std::swap(place->second, spare_.back());
    spare_.pop_back();
  }
  latest_ = {std::pair{at, &place->second}, latest_[0]};  // strobes rise now and fall in the next cycle
  return place->second;
}

void VcdWriter::record(SignalId signal, Picoseconds at, std::uint64_t value, bool known) {
  if (!records(signal, at)) return;
  if (!ordered_) order_signals();
  instant(at).changes.push_back({nth(rank_, signal), known, value});
  flush_when_many();
}

void VcdWriter::change(SignalId signal, Picoseconds at, const std::uint8_t* bytes, std::size_t count) {
  if (!records(signal, at)) return;
  const std::size_t words = words_of(nth(signals_, signal).width_bits);
  count = std::min(count, words * sizeof(std::uint64_t));
  if (words == 1) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes, count);
    return record(signal, at, value, true);
  }
  if (!ordered_) order_signals();
  Instant& to = instant(at);
  const std::size_t first = to.words.size();
  to.changes.push_back({nth(rank_, signal), true, first});
  to.words.resize(first + words);
  std::memcpy(&to.words[first], bytes, std::min(count, words * sizeof(std::uint64_t)));
  flush_when_many();
}

// More changes come before the next look than stay, so that the work for one does not grow with their number.
void VcdWriter::flush_when_many() {
  if (++pending_changes_ < flush_at_) return;
  flush_before(now_());
  flush_at_ = std::max(kFlushAt, 2 * pending_changes_);
}

// Whether `bytes` more are within the limit; otherwise the dump ends here.
bool VcdWriter::fits(std::int64_t bytes) {
  if (truncated_) return false;
  if (bytes_ + bytes + kReserve > filter_.max_bytes) {
    end_early();
    return false;
  }
  bytes_ += bytes;
  if (waiting_.size() < filled_ + to_size(bytes) + kSlack) {
    pass_on();
    waiting_.resize(std::max(waiting_.size(), kPassOnAt + to_size(bytes) + kSlack));
  }
  return true;
}

void VcdWriter::put(std::string_view text) {
  if (fits(ssize(text))) append(text);
}

// Adds a text for which there is room.
void VcdWriter::append(std::string_view text) {
  std::memcpy(waiting_.data() + filled_, text.data(), text.size());
  filled_ += text.size();
}

void VcdWriter::pass_on() {
  sink_({waiting_.data(), filled_});
  filled_ = 0;
}

void VcdWriter::end_early() {
  truncated_ = over_ = true;
  const std::string end =
      fmt::format("$comment trace ended: size cap of {} bytes reached $end\n", filter_.max_bytes);
  bytes_ += ssize(end);
  pass_on();
  sink_(end);
}

void VcdWriter::order_signals() {
  ordered_ = true;
  order_.resize(signals_.size());
  rank_.resize(signals_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(), [&](int a, int b) {
    const SignalInfo& x = nth(signals_, a);
    const SignalInfo& y = nth(signals_, b);
    return x.scope != y.scope ? split(x.scope) < split(y.scope) : natural_less(x.name, y.name);
  });
  for (std::size_t rank = 0; rank < order_.size(); ++rank) {
    nth(rank_, order_[rank]) = to_int(rank);
    const int width = nth(signals_, order_[rank]).width_bits;
    tracks_.push_back({values_.size(), width, false, code_of(to_int(rank))});
    values_.resize(values_.size() + words_of(width));
  }
  check_names();
  forget_values();
  last_of_rank_.resize(order_.size());
  touched_.resize(words_of(to_int(order_.size())));
  clock_edge_ = filter_.begin / clock_period_ * clock_period_;
}

// A strobe is low until it is heard of, anything else unknown.
void VcdWriter::forget_values() {
  for (Track& signal : tracks_) signal.known = signal.width_bits == 1;
  std::fill(values_.begin(), values_.end(), 0);
}

// A path names one signal, or a scope: viewers and converters disagree about what is both.
void VcdWriter::check_names() const {
  const std::unordered_set<std::string> scopes = scopes_of(signals_);
  const SignalInfo* before = nullptr;
  for (const int id : order_) {
    const SignalInfo& info = nth(signals_, id);
    const std::string path = info.scope + "." + info.name;
    if (scopes.count(path) > 0) throw std::logic_error(path + ": a scope and a variable");
    if (before != nullptr && before->name == info.name && before->scope == info.scope)
      throw std::logic_error(path + ": two variables");
    before = &info;
  }
}

std::string VcdWriter::header() const {
  std::string text = "$version tilebeat $end\n$timescale 1ps $end\n";
  std::vector<std::string> open{order_.empty() ? "soc" : top()};
  text += fmt::format("$scope module {} $end\n$var wire 1 {} clk $end\n", open.front(), kClockCode);
  for (const int id : order_) {
    const SignalInfo& info = nth(signals_, id);
    const std::vector<std::string> scope = split(info.scope);
    std::size_t common = 0;
    while (common < open.size() && common < scope.size() && open[common] == scope[common]) ++common;
    for (std::size_t i = open.size(); i > common; --i) text += "$upscope $end\n";
    for (std::size_t i = common; i < scope.size(); ++i)
      text += fmt::format("$scope module {} $end\n", scope[i]);
    open = scope;
    const int width = info.width_bits;
    const std::string range = width > 1 ? fmt::format(" [{}:0]", width - 1) : "";
    text += fmt::format("$var {} {} {} {}{} $end\n", info.radix == Radix::kText ? "string" : "wire", width,
                        nth(tracks_, nth(rank_, id)).code, info.name, range);
  }
  for (std::size_t i = open.size(); i > 0; --i) text += "$upscope $end\n";
  return text + "$enddefinitions $end\n";
}

// Collects the pending changes before `limit`, which come in the order of the dump.
void VcdWriter::flush_before(Picoseconds limit) {
  for (; !pending_.empty() && pending_.begin()->first < limit; pending_.erase(pending_.begin())) {
    auto& [at, instant] = *pending_.begin();
    collect(at, instant);
    pending_changes_ -= instant.changes.size();
    instant.changes.clear(), instant.words.clear();
    spare_.push_back(std::move(instant));
  }
  latest_ = {};
}

// Collects what an instant changes: of a signal's changes the last one counts.
void VcdWriter::collect(Picoseconds at, const Instant& instant) {
  if (at >= filter_.begin && !values_before_) collect_values_before();
  std::size_t first = touched_.size(), last = 0;  // words of touched_
  for (std::size_t i = 0; i < instant.changes.size(); ++i) {
    const auto rank = to_unsigned(std::int64_t{instant.changes[i].rank});
    last_of_rank_[rank] = to_int(i);
    touched_[rank / kWordBits] |= std::uint64_t{1} << rank % kWordBits;
    first = std::min<std::size_t>(first, rank / kWordBits),
    last = std::max<std::size_t>(last, rank / kWordBits);
  }
  for (std::size_t i = first; i <= last; ++i) {
    for (std::uint64_t left = std::exchange(touched_[i], 0); left != 0; left &= left - 1) {
      const int rank = to_int(i) * kWordBits + __builtin_ctzll(left);
      collect(at, rank, nth(instant.changes, nth(last_of_rank_, rank)), instant.words.data());
    }
  }
}

// Collects a change, where it is one. `words` are those of the wide signals of its instant.
void VcdWriter::collect(Picoseconds at, int rank, const Change& change, const std::uint64_t* words) {
  Track& signal = nth(tracks_, rank);
  bool differs = std::exchange(signal.known, change.known) != change.known;
  if (change.known) {
    const std::size_t count = words_of(signal.width_bits);
    const std::uint64_t* const value = count > 1 ? words + change.value : &change.value;
    const std::uint64_t top = ~std::uint64_t{0} >> (count * kWordBits - to_size(signal.width_bits));
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t word = i + 1 == count ? value[i] & top : value[i];
      differs |= std::exchange(values_[signal.first + i], word) != word;
    }
  }
  if (!differs || at < filter_.begin) return;
  ++signal.activity;
  spool_->add(at, rank, signal.known, &values_[signal.first], signal.bytes());
  // The bytes that it will have in the dump, and the edges of clk before it.
  if (at != counted_time_) {
    const Picoseconds since = at - std::max(counted_time_, filter_.begin);
    collected_ += time_bytes(at) + since / (clock_period_ / 2) * (time_bytes(at) + 3);
    counted_time_ = at;
  }
  collected_ += line_bytes(signal);
}

// Collects the values that hold before the window.
void VcdWriter::collect_values_before() {
  values_before_ = true;
  if (filter_.begin == 0) return;
  for (std::size_t rank = 0; rank < tracks_.size(); ++rank)
    spool_->add(filter_.begin - 1, to_int(rank), tracks_[rank].known, &values_[tracks_[rank].first],
                tracks_[rank].bytes());
}

int VcdWriter::digits(const Track& signal) const {
  return signal.known ? digits_of(&values_[signal.first], words_of(signal.width_bits)) : 1;
}

// Bytes of a line with the value of a signal.
std::int64_t VcdWriter::line_bytes(const Track& signal) const {
  return (signal.width_bits > 1 ? digits(signal) + 2 : 1) + ssize(signal.code) + 1;
}

// Writes the values at the opening of the window.
void VcdWriter::open_window() {
  if (window_open_) return;
  window_open_ = true;
  put(fmt::format("#{}\n$dumpvars\n", filter_.begin));
  written_time_ = filter_.begin;
  put(fmt::format("0{}\n", kClockCode));
  for (const int id : order_) {
    if (nth(signals_, id).radix != Radix::kText)
      write_value(nth(tracks_, nth(rank_, id)));  // a text comes late
  }
}

void VcdWriter::advance_to(Picoseconds at) {
  write_clock_until(at);
  if (at == written_time_) return;
  written_time_ = at;
  put(fmt::format(FMT_COMPILE("#{}\n"), at));
}

// Draws the edges of clk up to and including `at`.
void VcdWriter::write_clock_until(Picoseconds at) {
  while (clock_edge_ <= at && !truncated_) {
    if (clock_edge_ >= filter_.begin) {
      if (clock_edge_ != written_time_) put(fmt::format(FMT_COMPILE("#{}\n"), clock_edge_));
      written_time_ = clock_edge_;
      put(fmt::format(FMT_COMPILE("{}{}\n"), clock_edge_ % clock_period_ == 0 ? 1 : 0, kClockCode));
    }
    const Picoseconds half = clock_period_ / 2;
    clock_edge_ = clock_edge_ % clock_period_ == 0 ? clock_edge_ + half : clock_edge_ - half + clock_period_;
  }
}

void VcdWriter::write_value(const Track& signal) {
  if (!fits(line_bytes(signal))) return;
  char* to = waiting_.data() + filled_;
  if (signal.width_bits > 1) *to++ = 'b';
  if (signal.known)
    to = write_digits(to, &values_[signal.first], digits(signal));
  else
    *to++ = 'x';
  if (signal.width_bits > 1) *to++ = ' ';
  for (const char c : signal.code) *to++ = c;
  *to++ = '\n';
  filled_ = to_size(to - waiting_.data());
}

void VcdWriter::write_text(const Late& late) {
  put(fmt::format(FMT_COMPILE("s{} {}\n"), late.text, nth(tracks_, nth(rank_, late.signal)).code));
}

void VcdWriter::finish(Picoseconds end) {
  if (closed_) return;
  if (!ordered_) order_signals();
  const Picoseconds last = std::min({end, filter_.end - 1, cut_at_.value_or(end)});
  flush_before(last + 1);
  if (!values_before_) collect_values_before();
  closed_ = true;
  forget_values();
  std::stable_sort(late_.begin(), late_.end(), [this](const Late& a, const Late& b) {
    return a.at != b.at ? a.at < b.at : nth(rank_, a.signal) < nth(rank_, b.signal);
  });
  add_busy_times(last);
  write_dump(last);
  if (cut_at_ && !truncated_) end_early();
  pass_on();
  spool_.reset();
}

// Writes the collected changes and the texts up to `last`, at one instant the texts first.
void VcdWriter::write_dump(Picoseconds last) {
  put(header());
  spool_->rewind();
  const auto take = [this](int rank) -> const Track& {
    Track& signal = nth(tracks_, rank);
    signal.known = spool_->take(&values_[signal.first], signal.bytes());
    return signal;
  };
  if (last < filter_.begin) return;  // the window lies behind the end
  std::pair<Picoseconds, int> next{last + 1, 0};
  const auto look = [&] { next = spool_->empty() ? std::pair{last + 1, 0} : spool_->next(); };
  for (look(); next.first < filter_.begin; look()) take(next.second);
  open_window();
  auto late = late_.cbegin();
  std::map<int, const Late*> held;  // by rank: what holds when the window opens
  for (; late != late_.cend() && late->at <= filter_.begin; ++late) held[nth(rank_, late->signal)] = &*late;
  for (const auto& [unused, text] : held) write_text(*text);
  put("$end\n");
  while (!truncated_) {
    const Picoseconds at = std::min(next.first, late != late_.cend() ? late->at : last + 1);
    if (at > last) break;
    advance_to(at);
    for (; late != late_.cend() && late->at == at; ++late) write_text(*late);
    for (; next.first == at; look()) write_value(take(next.second));
  }
  if (!truncated_) advance_to(last);
}

}  // namespace tilebeat
