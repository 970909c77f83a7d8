#pragma once

#include "tilebeat/observe/trace.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// What of a trace is kept (SPEC UI-3).
struct TraceFilter {
  std::vector<std::string> patterns;  ///< shell patterns for `scope.name` or `name`; none: everything
  Picoseconds begin = 0;              ///< first instant that is shown
  Picoseconds end = INT64_MAX;        ///< first instant that is not shown any more
  std::int64_t max_bytes = std::int64_t{1}
                           << 30;  ///< the trace ends, valid and with a comment, before it grows beyond this
};

/// Writes a Value Change Dump (IEEE 1364) with a timescale of 1 ps, a cycle of its own, and no date: the same
/// run gives the same bytes, in whatever order modules declare signals and record changes.
class VcdWriter : public Trace {
 public:
  /// `clock_period` draws `clk`; `now` tells the simulated time, before which nothing is recorded any more;
  /// `sink` takes the text piece by piece.
  VcdWriter(TraceFilter filter, Picoseconds clock_period, std::function<Picoseconds()> now,
            std::function<void(const std::string&)> sink);

  SignalId add_signal(const std::string& scope, const std::string& name, int width_bits) override;
  void change(SignalId signal, Picoseconds at, std::uint64_t value) override {
    record(signal, at, value, true);
  }
  void unknown(SignalId signal, Picoseconds at) override { record(signal, at, 0, false); }

  /// Writes everything up to `end` and closes the dump.
  void finish(Picoseconds end);
  /// The size cap ended the trace.
  bool truncated() const { return truncated_; }
  std::int64_t bytes() const { return bytes_; }
  /// The patterns of the filter that no signal declared so far matches.
  std::vector<std::string> unmatched_patterns() const;

 private:
  struct Signal {
    std::string scope, name, code;
    int width = 1;
    bool known = false;  // value at the time that has been written
    std::uint64_t value = 0;
  };
  struct Change {
    Picoseconds at = 0;
    int rank = 0;  // of the signal in the order of the header
    std::uint64_t sequence = 0;
    std::uint64_t value = 0;
    bool known = false;
  };
  void record(SignalId signal, Picoseconds at, std::uint64_t value, bool known);
  void write_header();
  void flush_before(Picoseconds limit);
  void advance_to(Picoseconds at);
  void write_clock_until(Picoseconds at);
  void open_window();
  void write_value(const Signal& signal);
  void put(const std::string& text);

  bool wanted(const std::string& path, const std::string& name);

  TraceFilter filter_;
  std::vector<bool> matched_;  // by pattern of the filter
  Picoseconds clock_period_;
  std::function<Picoseconds()> now_;
  std::function<void(const std::string&)> sink_;
  std::vector<Signal> signals_;  // by SignalId until the header is written
  std::vector<int> order_;       // rank -> SignalId
  std::vector<int> rank_;        // SignalId -> rank
  std::vector<Change> pending_;
  std::uint64_t sequence_ = 0;
  bool header_written_ = false, window_open_ = false, truncated_ = false, closed_ = false;
  Picoseconds written_time_ = -1;  // of the latest #time line
  Picoseconds clock_edge_ = 0;     // next edge of clk to be drawn
  std::int64_t bytes_ = 0;
};

}  // namespace tilebeat
