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

/// The part of a trace that is recorded (SPEC UI-3).
struct TraceFilter {
  std::vector<std::string>
      patterns;                 ///< shell patterns for `scope.name` or `name`; none: what is `Shown::kAlways`
  Picoseconds begin = 0;        ///< first instant that is shown
  Picoseconds end = INT64_MAX;  ///< first instant that is not shown any more
  std::int64_t max_bytes = std::int64_t{1}
                           << 30;  ///< the trace ends, valid and with a comment, before it grows beyond this
};

/// Writes a Value Change Dump (IEEE 1364) with a timescale of 1 ps, a cycle of its own, and no date: the same
/// run gives the same bytes, in whatever order modules declare signals and record changes. A path that is a
/// scope and a variable, or two variables, is a std::logic_error when the first change is recorded.
///
/// Texts are variables of type `string`, which GTKWave shows as they are. They are recorded late, when a wait
/// has ended, so changes are collected, a few bytes each, in an unnamed file; `finish` writes the dump.
class VcdWriter : public Trace {
 public:
  /// `clock_period` is that of `clk`; `now` returns the simulated time, before which nothing is recorded any
  /// more; `sink` takes the text piece by piece.
  VcdWriter(TraceFilter filter, Picoseconds clock_period, std::function<Picoseconds()> now,
            std::function<void(std::string_view)> sink);
  ~VcdWriter() override;

  SignalId declare(const SignalInfo& info) override;
  void change(SignalId signal, Picoseconds at, std::uint64_t value) override {
    record(signal, at, value, true);
  }
  void change(SignalId signal, Picoseconds at, const std::uint8_t* bytes, std::size_t count) override;
  void unknown(SignalId signal, Picoseconds at) override { record(signal, at, 0, false); }
  void text(SignalId signal, Picoseconds at, std::string_view text) override;

  /// Writes the dump up to `end`, and nothing after that. Throws UserError when the unnamed file could not be
  /// written.
  void finish(Picoseconds end);
  /// Whether the size limit ended the trace.
  bool truncated() const { return truncated_; }
  std::int64_t bytes() const { return bytes_; }
  /// The patterns of the filter that no signal declared so far matches.
  std::vector<std::string> unmatched_patterns() const;
  /// The signals of the dump in the order of its header, `clk` first. Complete when the dump is complete.
  std::vector<SignalInfo> signals() const;
  /// How much happens in each of them: the changes of its value, of a text the time in which it is `busy`.
  /// Complete when the dump is.
  std::vector<std::int64_t> activity() const;
  Picoseconds window_begin() const { return filter_.begin; }

 private:
  // A signal of the dump, with the value that has been collected, later that has been written.
  struct Track {
    std::size_t first = 0;  // of its words in values_, the lowest 64 bits first
    int width_bits = 1;
    bool known = false;
    std::string code;
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
  Instant& instant(Picoseconds at);
  void record(SignalId signal, Picoseconds at, std::uint64_t value, bool known);
  void flush_when_many();
  bool records(SignalId signal, Picoseconds at);
  void order_signals();
  void check_names() const;
  std::string header() const;
  void flush_before(Picoseconds limit);
  void collect_values_before();
  void collect(Picoseconds at, const Instant& instant);
  void collect(Picoseconds at, int rank, const Change& change, const std::uint64_t* words);
  void forget_values();
  int digits(const Track& signal) const;
  std::int64_t line_bytes(const Track& signal) const;
  void advance_to(Picoseconds at);
  void write_clock_until(Picoseconds at);
  void open_window();
  void write_value(const Track& signal);
  void write_text(const Late& late);
  void add_busy_times(Picoseconds last);
  void write_dump(Picoseconds last);
  bool fits(std::int64_t bytes);
  void put(std::string_view text);
  void append(std::string_view text);
  void pass_on();
  void end_early();
  std::string top() const;

  bool wanted(const std::string& path, const std::string& name, Shown shown);

  TraceFilter filter_;
  std::vector<bool> matched_;  // by pattern of the filter
  Picoseconds clock_period_;
  std::function<Picoseconds()> now_;
  std::function<void(std::string_view)> sink_;
  std::vector<SignalInfo> signals_;  // by SignalId
  std::vector<int> order_;           // rank -> SignalId; empty until the first change
  std::vector<int> rank_;            // SignalId -> rank
  std::vector<Track> tracks_;        // by rank
  std::vector<std::uint64_t> values_;
  std::map<Picoseconds, Instant> pending_;
  std::vector<Instant> spare_;                                // instants that are done, for their memory
  std::array<std::pair<Picoseconds, Instant*>, 2> latest_{};  // those of pending_ that were asked for last
  std::size_t pending_changes_ = 0,
              flush_at_;                // number of pending changes, and that at which they are collected
  std::vector<int> last_of_rank_;       // of an instant: the last change by rank
  std::vector<std::uint64_t> touched_;  // of an instant: a bit a rank that changes
  std::unique_ptr<ChangeSpool> spool_;
  std::set<std::string, std::less<>> texts_;  // all texts that there are
  std::vector<Late> late_;
  std::optional<Picoseconds> cut_at_;  // time at which the size limit was reached
  bool ordered_ = false, values_before_ = false, window_open_ = false, truncated_ = false, closed_ = false;
  Picoseconds counted_time_ = -1;  // time of the latest change that has been counted
  std::int64_t collected_ = 0;     // bytes that the collected changes will have in the dump
  Picoseconds written_time_ = -1;  // time of the latest #time line
  Picoseconds clock_edge_ = 0;     // next edge of clk to be drawn
  std::vector<char> waiting_;      // room for text that the sink has not got
  std::size_t filled_ = 0;         // how much of it there is
  std::int64_t bytes_ = 0;
};

/// The save file (.gtkw) with which GTKWave opens a dump ready to read (SPEC UI-7, UI-12): the states of all
/// units first, then a group a scope, each signal with its radix and a colour by kind; the whole time is in
/// view. What is busiest comes first, what is idle last: `activity` says how much happens in each signal, and
/// a group has that of all its signals. `dump` is the name of the dump as seen from the save file.
std::string gtkwave_view(const std::vector<SignalInfo>& signals, const std::vector<std::int64_t>& activity,
                         const std::string& dump, Picoseconds begin, Picoseconds end);

}  // namespace tilebeat
