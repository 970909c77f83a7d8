#pragma once

#include "base/types.h"
#include "observe/trace.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

class ChangeSpool;
class WaveformOutput;

/// What the size of a trace is counted in: bytes of a Value Change Dump, or of the changes as they are
/// collected, which other forms hardly exceed.
enum class TraceSize : std::uint8_t { kText, kChanges };

/// The part of a trace that is recorded (SPEC UI-3).
struct TraceFilter {
  std::vector<std::string>
      patterns;                 ///< shell patterns for `scope.name` or `name`; none: what is `Shown::kAlways`
  Picoseconds begin = 0;        ///< first instant that is shown
  Picoseconds end = INT64_MAX;  ///< first instant that is not shown any more
  std::int64_t max_bytes = std::int64_t{1} << 30;  ///< recording ends where the trace grows beyond this size
  TraceSize counted = TraceSize::kText;
};

/// Collects the changes of all signals, a few bytes each, in an unnamed file, and gives them to outputs when
/// the run has ended: texts are recorded late, when a wait has ended. The same run gives the same bytes, in
/// whatever order modules declare signals and record changes. The waveform has a clock of its own, `clk`. A
/// path that is a scope and a variable, or two variables, is a std::logic_error when the first change is
/// recorded.
class WaveformWriter : public Trace {
 public:
  /// `clock_period` is that of `clk`; `now` returns the simulated time, before which nothing is recorded any
  /// more.
  WaveformWriter(TraceFilter filter, Picoseconds clock_period, std::function<Picoseconds()> now);
  ~WaveformWriter() override;

  SignalId declare(const SignalInfo& info) override;
  using Trace::change;
  void change(SignalId signal, Picoseconds at, std::uint64_t value) override {
    record(signal, at, value, true);
  }
  void change(SignalId signal, Picoseconds at, const std::uint8_t* bytes, std::size_t count) override;
  void unknown(SignalId signal, Picoseconds at) override { record(signal, at, 0, false); }
  void pulse(SignalId signal, Picoseconds begin, Picoseconds end) override;
  void text(SignalId signal, Picoseconds at, std::string_view text) override;

  /// Gives the waveform up to `end` to the outputs, and nothing after that. Throws UserError when the unnamed
  /// file could not be written.
  void finish(Picoseconds end, const std::vector<WaveformOutput*>& outputs);
  /// Whether the size limit ended the trace.
  bool truncated() const { return cut_at_.has_value(); }
  /// The patterns of the filter that no signal declared so far matches.
  std::vector<std::string> unmatched_patterns() const;
  /// The signals in the order of their ranks, `clk` first. Complete when the dump is complete.
  std::vector<SignalInfo> signals() const;
  /// How much happens in each of them: the changes of its value, of a text the time in which it is `busy`.
  /// Complete when the dump is.
  std::vector<std::int64_t> activity() const;
  Picoseconds window_begin() const { return filter_.begin; }

 private:
  // A signal, with the value that has been collected, later that has been written.
  struct Track {
    std::size_t first = 0;  // of its words in values_, the lowest 64 bits first
    int width_bits = 1;
    std::int64_t line_bytes = 0;  // of a line of text, but for digits
    bool known = false;
    std::int64_t activity = 0;
    std::size_t bytes() const { return (to_size(width_bits) + 7) / 8; }
  };
  struct Change {
    int rank = 0;  // position of the signal in the header
    bool known = false;
    std::uint64_t value = 0;  // of a signal of more than 64 bits: the place of its words in the instant's
  };
  // The changes of an instant in the order in which they were recorded.
  struct Instant {
    std::vector<Change> changes;
    std::vector<std::uint64_t> words;
  };
  // A change of a text signal.
  struct Late {
    Picoseconds at = 0;
    SignalId signal = 0;
    std::string_view text;  // points into words_
  };
  // A time in which a signal of one bit is high. Pulses that meet are one.
  struct Pulse {
    Picoseconds begin = 0, end = -1;  // none: the end lies before the beginning
    bool risen = false;               // its beginning is recorded
    bool listed = false;              // in pulses_under_way_
  };
  void draw_pulse(SignalId signal, Picoseconds limit);
  void draw_pulses(Picoseconds limit);
  void add(SignalId signal, Picoseconds at, std::uint64_t value, bool known);
  Instant& instant(Picoseconds at);
  void record(SignalId signal, Picoseconds at, std::uint64_t value, bool known);
  void flush_when_many();
  bool records(SignalId signal, Picoseconds at);
  void order_signals();
  void flush_before(Picoseconds limit);
  void collect_values_before();
  void collect(Picoseconds at, const Instant& instant);
  void collect(Picoseconds at, int rank, const Change& change, const std::uint64_t* words);
  void count(const Track& signal, Picoseconds at);
  void forget_values();
  void add_busy_times(Picoseconds last);
  void write_changes(Picoseconds last, const std::vector<WaveformOutput*>& outputs);

  bool wanted(const std::string& path, const std::string& name, Shown shown);

  TraceFilter filter_;
  std::vector<bool> matched_;  // by pattern of the filter
  Picoseconds clock_period_;
  std::function<Picoseconds()> now_;
  std::vector<SignalInfo> signals_;  // by SignalId
  std::vector<int> order_;           // rank -> SignalId; empty until the first change
  std::vector<int> rank_;            // SignalId -> rank
  std::vector<Track> tracks_;        // by rank
  std::vector<std::uint64_t> values_;
  std::map<Picoseconds, Instant> pending_;
  std::vector<Instant> spare_;                                // instants that are done, for their memory
  std::array<std::pair<Picoseconds, Instant*>, 2> latest_{};  // those of pending_ that were asked for last
  std::vector<Pulse> pulses_;                                 // by SignalId
  std::vector<SignalId> pulses_under_way_;
  std::size_t pending_changes_ = 0,
              flush_at_;                // number of pending changes, and that at which they are collected
  std::vector<int> last_of_rank_;       // of an instant: the last change by rank
  std::vector<std::uint64_t> touched_;  // of an instant: a bit a rank that changes
  std::unique_ptr<ChangeSpool> spool_;
  std::set<std::string, std::less<>> texts_;  // all texts that there are
  std::vector<Late> late_;
  std::optional<Picoseconds> cut_at_;  // time at which the size limit was reached
  bool ordered_ = false, values_before_ = false, closed_ = false;
  Picoseconds counted_time_ = -1;  // time of the latest change that has been counted
  std::int64_t collected_ = 0;     // bytes of texts, and those that collected changes will have as text
};

/// The save file (.gtkw) with which GTKWave opens a dump ready to read (SPEC UI-7, UI-12): the states of all
/// units first, then a group a scope, each signal with its radix and a colour by kind; the whole time is in
/// view. What is busiest comes first, what is idle last: `activity` says how much happens in each signal, and
/// a group has that of all its signals. `dump` is the name of the dump as seen from the save file.
std::string gtkwave_view(const std::vector<SignalInfo>& signals, const std::vector<std::int64_t>& activity,
                         const std::string& dump, Picoseconds begin, Picoseconds end);

}  // namespace tilebeat
