#include "observe/waveform_writer.h"

#include "observe/change_spool.h"
#include "observe/signal_order.h"
#include "observe/trace.h"
#include "observe/waveform_output.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fnmatch.h>

namespace tilebeat {
namespace {

constexpr std::size_t kFlushAt = 1 << 14;  // pending changes
// Bytes of a text change besides the text: its code, and possibly a time of its own.
constexpr std::int64_t kLateOverhead = 24;

std::size_t words_of(int width_bits) {
  return to_size(ceil_div(width_bits, kSignalWordBits));
}

// Bytes of a line #TIME.
std::int64_t time_bytes(Picoseconds at) {
  std::int64_t bytes = 3;  // '#', a digit and the end of the line
  for (; at >= 10; at /= 10) ++bytes;
  return bytes;
}

}  // namespace

WaveformWriter::WaveformWriter(TraceFilter filter, Picoseconds clock_period, std::function<Picoseconds()> now)
    : filter_(std::move(filter)),
      clock_period_(clock_period),
      now_(std::move(now)),
      flush_at_(kFlushAt),
      spool_(std::make_unique<ChangeSpool>()) {
  matched_.resize(filter_.patterns.size(), false);
  wanted("soc.clk", "clk", Shown::kAlways);  // is always there
}
WaveformWriter::~WaveformWriter() = default;

// Whether a pattern matches, or there is none and the signal is always shown.
bool WaveformWriter::wanted(const std::string& path, const std::string& name, Shown shown) {
  bool any = filter_.patterns.empty() && shown == Shown::kAlways;
  for (std::size_t i = 0; i < filter_.patterns.size(); ++i) {
    const char* pattern = filter_.patterns[i].c_str();
    if (fnmatch(pattern, path.c_str(), 0) != 0 && fnmatch(pattern, name.c_str(), 0) != 0) continue;
    matched_[i] = true;
    any = true;
  }
  return any;
}

std::vector<std::string> WaveformWriter::unmatched_patterns() const {
  std::vector<std::string> unmatched;
  for (std::size_t i = 0; i < matched_.size(); ++i) {
    if (!matched_[i]) unmatched.push_back(filter_.patterns[i]);
  }
  return unmatched;
}

SignalId WaveformWriter::declare(const SignalInfo& info) {
  check_identifiers(info);
  if (!wanted(info.scope + "." + info.name, info.name, info.shown)) return -1;
  signals_.push_back(info);
  return static_cast<SignalId>(signals_.size()) - 1;
}

std::vector<SignalInfo> WaveformWriter::signals() const {
  std::vector<SignalInfo> all{{order_.empty() ? "soc" : outermost_scope(nth(signals_, order_.front())), "clk",
                               1, Radix::kHexadecimal}};
  for (const int id : order_) all.push_back(nth(signals_, id));
  return all;
}

std::vector<std::int64_t> WaveformWriter::activity() const {
  std::vector<std::int64_t> all{0};
  for (const int id : order_) all.push_back(nth(tracks_, nth(rank_, id)).activity);
  return all;
}

// Adds the times up to `last` in which texts are `busy`; they are sorted by time.
void WaveformWriter::add_busy_times(Picoseconds last) {
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

void WaveformWriter::text(SignalId signal, Picoseconds at, std::string_view text) {
  if (!records(signal, at)) return;
  auto known = texts_.find(text);
  if (known == texts_.end()) known = texts_.emplace(text).first;
  late_.push_back({at, signal, *known});
  collected_ += ssize(text) + kLateOverhead;
}

// Whether a change at `at` is recorded.
bool WaveformWriter::records(SignalId signal, Picoseconds at) {
  if (signal < 0 || closed_ || over_) return false;
  if (at >= filter_.end) {
    over_ = now_() >= filter_.end;
    return false;
  }
  const std::int64_t changes = filter_.counted == TraceSize::kChanges ? spool_->bytes() : 0;
  if (collected_ + changes <= filter_.max_bytes) return true;
  // The dump will exceed its limit.
  over_ = true;
  cut_at_ = now_();
  return false;
}

// The pending instant `at`.
WaveformWriter::Instant& WaveformWriter::instant(Picoseconds at) {
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

void WaveformWriter::add(SignalId signal, Picoseconds at, std::uint64_t value, bool known) {
  instant(at).changes.push_back({nth(rank_, signal), known, value});
  ++pending_changes_;
}

void WaveformWriter::record(SignalId signal, Picoseconds at, std::uint64_t value, bool known) {
  if (!records(signal, at)) return;
  if (!ordered_) order_signals();
  add(signal, at, value, known);
  flush_when_many();
}

void WaveformWriter::pulse(SignalId signal, Picoseconds begin, Picoseconds end) {
  if (!records(signal, begin)) return;
  if (!ordered_) order_signals();
  Pulse& pulse = nth(pulses_, signal);
  if (pulse.begin <= begin && begin <= pulse.end) {
    pulse.end = std::max(pulse.end, end);
    return;
  }
  draw_pulse(signal, INT64_MAX);
  if (!pulse.listed) pulses_under_way_.push_back(signal);
  pulse = {begin, end, false, true};
  flush_when_many();
}

// Records what the pulse of a signal does before `limit`.
void WaveformWriter::draw_pulse(SignalId signal, Picoseconds limit) {
  Pulse& pulse = nth(pulses_, signal);
  if (pulse.end < pulse.begin) return;
  if (pulse.begin < limit && !std::exchange(pulse.risen, true)) add(signal, pulse.begin, 1, true);
  if (pulse.end >= limit) return;
  if (pulse.end < filter_.end) add(signal, pulse.end, 0, true);
  pulse.end = pulse.begin - 1;
}

// Records what all pulses do before `limit`.
void WaveformWriter::draw_pulses(Picoseconds limit) {
  std::size_t left = 0;
  for (const SignalId signal : pulses_under_way_) {
    draw_pulse(signal, limit);
    Pulse& pulse = nth(pulses_, signal);
    pulse.listed = pulse.begin <= pulse.end;
    if (pulse.listed) pulses_under_way_[left++] = signal;
  }
  pulses_under_way_.resize(left);
}

void WaveformWriter::change(SignalId signal, Picoseconds at, const std::uint8_t* bytes, std::size_t count) {
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
  ++pending_changes_;
  flush_when_many();
}

// More changes come before the next look than stay, so that the work for one does not grow with their number.
void WaveformWriter::flush_when_many() {
  if (pending_changes_ < flush_at_) return;
  flush_before(now_());
  flush_at_ = std::max(kFlushAt, 2 * pending_changes_);
}

void WaveformWriter::order_signals() {
  ordered_ = true;
  order_ = ordered_by_path(signals_);
  rank_.resize(signals_.size());
  pulses_.resize(signals_.size());
  for (std::size_t rank = 0; rank < order_.size(); ++rank) {
    nth(rank_, order_[rank]) = to_int(rank);
    const int width = nth(signals_, order_[rank]).width_bits;
    tracks_.push_back({values_.size(), width, vcd_line_bytes(width, 0, to_int(rank) + 1)});
    values_.resize(values_.size() + words_of(width));
  }
  forget_values();
  last_of_rank_.resize(order_.size());
  touched_.resize(words_of(to_int(order_.size())));
}

// A strobe is low until it is heard of, anything else unknown.
void WaveformWriter::forget_values() {
  for (Track& signal : tracks_) signal.known = signal.width_bits == 1;
  std::fill(values_.begin(), values_.end(), 0);
}

// Collects the pending changes before `limit`, which come in the order of the dump.
void WaveformWriter::flush_before(Picoseconds limit) {
  draw_pulses(limit);
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
void WaveformWriter::collect(Picoseconds at, const Instant& instant) {
  if (at >= filter_.begin && !values_before_) collect_values_before();
  std::size_t first = touched_.size(), last = 0;  // words of touched_
  for (std::size_t i = 0; i < instant.changes.size(); ++i) {
    const auto rank = to_unsigned(std::int64_t{instant.changes[i].rank});
    last_of_rank_[rank] = to_int(i);
    touched_[rank / kSignalWordBits] |= std::uint64_t{1} << rank % kSignalWordBits;
    first = std::min<std::size_t>(first, rank / kSignalWordBits),
    last = std::max<std::size_t>(last, rank / kSignalWordBits);
  }
  for (std::size_t i = first; i <= last; ++i) {
    for (std::uint64_t left = std::exchange(touched_[i], 0); left != 0; left &= left - 1) {
      const int rank = to_int(i) * kSignalWordBits + __builtin_ctzll(left);
      collect(at, rank, nth(instant.changes, nth(last_of_rank_, rank)), instant.words.data());
    }
  }
}

// Collects a change, where it is one. `words` are those of the wide signals of its instant.
void WaveformWriter::collect(Picoseconds at, int rank, const Change& change, const std::uint64_t* words) {
  Track& signal = nth(tracks_, rank);
  bool differs = std::exchange(signal.known, change.known) != change.known;
  if (change.known) {
    const std::size_t count = words_of(signal.width_bits);
    const std::uint64_t* const value = count > 1 ? words + change.value : &change.value;
    const std::uint64_t top = ~std::uint64_t{0} >> (count * kSignalWordBits - to_size(signal.width_bits));
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t word = i + 1 == count ? value[i] & top : value[i];
      differs |= std::exchange(values_[signal.first + i], word) != word;
    }
  }
  if (!differs || at < filter_.begin) return;
  ++signal.activity;
  spool_->add(at, rank, signal.known, &values_[signal.first], signal.bytes());
  count(signal, at);
}

// Counts the bytes that a change will have, and in a text the edges of clk before it.
void WaveformWriter::count(const Track& signal, Picoseconds at) {
  if (filter_.counted == TraceSize::kChanges) return;  // the unnamed file counts them
  if (at != counted_time_) {
    const Picoseconds since = at - std::max(counted_time_, filter_.begin);
    collected_ += time_bytes(at) + since / (clock_period_ / 2) * (time_bytes(at) + 3);
    counted_time_ = at;
  }
  collected_ += signal.line_bytes;
  if (signal.known && signal.width_bits > 1)
    collected_ += binary_digits(&values_[signal.first], words_of(signal.width_bits));
}

// Collects the values that hold before the window.
void WaveformWriter::collect_values_before() {
  values_before_ = true;
  if (filter_.begin == 0) return;
  for (std::size_t rank = 0; rank < tracks_.size(); ++rank)
    spool_->add(filter_.begin - 1, to_int(rank), tracks_[rank].known, &values_[tracks_[rank].first],
                tracks_[rank].bytes());
}

void WaveformWriter::finish(Picoseconds end, const std::vector<WaveformOutput*>& outputs) {
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
  spool_->rewind();
  for (WaveformOutput* output : outputs)
    output->open(signals(), filter_.begin, std::max(last, filter_.begin));
  if (last >= filter_.begin) write_changes(last, outputs);  // else the window lies behind the end
  const std::string remark =
      cut_at_ ? fmt::format("size cap of {} bytes reached", filter_.max_bytes) : std::string();
  for (WaveformOutput* output : outputs) output->close(std::max(last, filter_.begin), remark);
  spool_.reset();
}

// Gives the collected changes and the texts up to `last` to the outputs, at one instant the edge of clk
// first, then the texts.
void WaveformWriter::write_changes(Picoseconds last, const std::vector<WaveformOutput*>& outputs) {
  constexpr int kClockRank = 0;  // the signals follow
  const auto give = [&](Picoseconds at, int rank, const std::uint64_t* words) {
    for (WaveformOutput* output : outputs) output->value(at, rank, words);
  };
  const auto give_text = [&](Picoseconds at, const Late& late) {
    for (WaveformOutput* output : outputs) output->text(at, nth(rank_, late.signal) + 1, late.text);
  };
  const auto value_of = [this](const Track& track) { return track.known ? &values_[track.first] : nullptr; };
  const auto take = [this](int rank) -> const Track& {
    Track& track = nth(tracks_, rank);
    track.known = spool_->take(&values_[track.first], track.bytes());
    return track;
  };
  std::pair<Picoseconds, int> next{last + 1, 0};
  const auto look = [&] { next = spool_->empty() ? std::pair{last + 1, 0} : spool_->next(); };
  for (look(); next.first < filter_.begin; look()) take(next.second);
  const std::uint64_t low = 0, high = 1;
  give(filter_.begin, kClockRank, &low);
  for (std::size_t rank = 0; rank < tracks_.size(); ++rank) {
    if (nth(signals_, order_[rank]).radix != Radix::kText)  // a text comes late
      give(filter_.begin, to_int(rank) + 1, value_of(tracks_[rank]));
  }
  auto late = late_.cbegin();
  std::map<int, const Late*> held;  // by rank: what holds when the window opens
  for (; late != late_.cend() && late->at <= filter_.begin; ++late) held[nth(rank_, late->signal)] = &*late;
  for (const auto& [unused, text] : held) give_text(filter_.begin, *text);
  for (WaveformOutput* output : outputs) output->opened();
  Picoseconds edge = filter_.begin / clock_period_ * clock_period_;  // of clk
  const auto draw_clock_until = [&](Picoseconds at) {
    while (edge <= at) {
      const bool rises = edge % clock_period_ == 0;
      if (edge >= filter_.begin) give(edge, kClockRank, rises ? &high : &low);
      const Picoseconds half = clock_period_ / 2;
      edge = rises ? edge + half : edge - half + clock_period_;
    }
  };
  for (;;) {
    const Picoseconds at = std::min(next.first, late != late_.cend() ? late->at : last + 1);
    if (at > last) break;
    draw_clock_until(at);
    for (; late != late_.cend() && late->at == at; ++late) give_text(at, *late);
    for (; next.first == at; look()) {
      const Track& track = take(next.second);
      give(at, next.second + 1, value_of(track));
    }
  }
  draw_clock_until(last);
}

}  // namespace tilebeat
