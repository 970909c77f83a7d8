#pragma once

#include "base/types.h"
#include "observe/trace.h"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilebeat {

/// The part of a trace that is recorded (SPEC UI-3).
struct TraceFilter {
  std::vector<std::string> patterns;  ///< shell patterns for `scope.name` or `name`; none: everything
  Picoseconds begin = 0;              ///< first instant that is shown
  Picoseconds end = INT64_MAX;        ///< first instant that is not shown any more
  std::int64_t max_bytes = std::int64_t{1}
                           << 30;  ///< the trace ends, valid and with a comment, before it grows beyond this
};

/// Writes a Value Change Dump (IEEE 1364) with a timescale of 1 ps, a cycle of its own, and no date: the same
/// run gives the same bytes, in whatever order modules declare signals and record changes.
///
/// Texts are variables of type `string`, which GTKWave shows as they are. They are recorded late: if there
/// are any, the rest is stored in an unnamed file and joined with them by `finish`.
class VcdWriter : public Trace {
 public:
  /// `clock_period` is that of `clk`; `now` returns the simulated time, before which nothing is recorded any
  /// more; `sink` takes the text piece by piece.
  VcdWriter(TraceFilter filter, Picoseconds clock_period, std::function<Picoseconds()> now,
            std::function<void(std::string_view)> sink);

  SignalId declare(const SignalInfo& info) override;
  void change(SignalId signal, Picoseconds at, std::uint64_t value) override {
    record(signal, at, value, true);
  }
  void unknown(SignalId signal, Picoseconds at) override { record(signal, at, 0, false); }
  void text(SignalId signal, Picoseconds at, std::string_view text) override;

  /// Writes everything up to `end` and closes the dump.
  void finish(Picoseconds end);
  /// Whether the size limit ended the trace.
  bool truncated() const { return truncated_; }
  std::int64_t bytes() const { return bytes_; }
  /// The patterns of the filter that no signal declared so far matches.
  std::vector<std::string> unmatched_patterns() const;
  /// The signals of the dump in the order of its header, `clk` first. Complete when the dump is complete.
  std::vector<SignalInfo> signals() const;
  Picoseconds window_begin() const { return filter_.begin; }

 private:
  struct Signal {
    SignalInfo info;
    std::string code;
    bool known = false;  // value at the time that has been written
    std::uint64_t value = 0;
  };
  struct Change {
    Picoseconds at = 0;
    int rank = 0;  // position of the signal in the header
    std::uint64_t sequence = 0;
    std::uint64_t value = 0;
    bool known = false;
  };
  // A change of a text signal.
  struct Late {
    Picoseconds at = 0;
    SignalId signal = 0;
    std::string_view text;  // points into words_
  };
  void record(SignalId signal, Picoseconds at, std::uint64_t value, bool known);
  void write_header();
  void flush_before(Picoseconds limit);
  void advance_to(Picoseconds at);
  void write_clock_until(Picoseconds at);
  void open_window();
  void write_value(const Signal& signal);
  void put(std::string_view text);
  void put_out(std::string_view text);
  void stop_when_full();
  void end_early();
  void join();
  std::string top() const;

  bool wanted(const std::string& path, const std::string& name);

  TraceFilter filter_;
  std::vector<bool> matched_;  // by pattern of the filter
  Picoseconds clock_period_;
  std::function<Picoseconds()> now_;
  std::function<void(std::string_view)> sink_;
  std::vector<Signal> signals_;  // by SignalId until the header is written
  std::vector<int> order_;       // rank -> SignalId
  std::vector<int> rank_;        // SignalId -> rank
  std::vector<Change> pending_;
  std::set<std::string, std::less<>> words_;  // all texts that there are
  std::vector<Late> late_;
  std::int64_t late_bytes_ = 0;
  int spool_error_ = 0;                // errno of the first write that failed
  std::optional<Picoseconds> cut_at_;  // time at which the size limit was reached, before texts are merged in
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> spool_{nullptr, std::fclose};  // null: nothing comes late
  std::uint64_t sequence_ = 0;
  bool header_written_ = false, window_open_ = false, truncated_ = false, closed_ = false;
  Picoseconds written_time_ = -1;  // time of the latest #time line
  Picoseconds clock_edge_ = 0;     // next edge of clk to be drawn
  std::int64_t bytes_ = 0;
};

/// The save file (.gtkw) with which GTKWave opens a dump ready to read (SPEC UI-7): the states of all units
/// first, then a group a scope, each signal with its radix and a colour by kind; the whole time is in view.
/// `dump` is the name of the dump as seen from the save file.
std::string gtkwave_view(const std::vector<SignalInfo>& signals, const std::string& dump, Picoseconds begin,
                         Picoseconds end);

}  // namespace tilebeat
