#pragma once

#include "engines/wfold/config.h"
#include "engines/wfold/sim/wfold_messages.h"
#include "fabric/burst_port.h"
#include "sim/context.h"

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat::wfold {

/// Counters of a line reader.
struct LineReaderStats {
  std::int64_t requests = 0;  ///< to the first storage
  std::int64_t bytes = 0;
  std::int64_t lines = 0;  ///< lines formed
};

/// The reading half of a W-fold master (document 003 [0100]-[0116]; SPEC WF-1, WF-2): fetches what a run's
/// lines need from the first storage and forms the lines, in the order in which they are broadcast.
///
/// A fetch is one line, or with the transit buffer the row window of a refill; lines that do not exist are
/// not fetched. Throughput: one request a cycle. Back-pressure: a fetch is begun while
/// fewer than `line_queue` lines, or two halves of the transit buffer, are in use; its place is free in the
/// cycle in which its last line leaves. A line can leave in the cycle after the last byte that it needs
/// arrived.
class LineReader {
 public:
  BurstPort port;

  /// `name` is that of its port, `master` the number of its master, `nram` the address of the first storage;
  /// `changed` is notified when the port's state changes.
  LineReader(const std::string& name, const SimContext& context, const WfoldConfig& config, int master,
             int max_outstanding, std::uint64_t nram, sc_core::sc_event& changed);

  /// Begins a run, when all lines of the previous run have left. The job outlives the run.
  void begin(const WfoldJob& job);
  /// Takes arrivals before cycle `now`.
  void take(Cycle now);
  /// Sends the next request, if there is room and the port takes it; books `idle` when nothing is left to
  /// read. Returns whether the cycle was used.
  bool request(Cycle now, Activity idle);

  /// Whether lines of the run have not left yet.
  bool more_lines() const { return job_ != nullptr && next_tile_ < job_->schedule.tiles(); }
  /// Whether the next line has no byte of the map: it is passed and not broadcast.
  bool next_is_absent() const { return more_lines() && !exists_; }
  void pass() { move_on(); }
  /// The first cycle in which the next line, which exists, can leave; -1: not known yet.
  Cycle line_ready() const;
  /// Forms the next line: M bytes, filled up with the zero point. `line_ready` is known.
  void form(std::uint8_t* line);
  /// The next line leaves in cycle `at`.
  void leave(Cycle at);
  /// The next cycle after `now` in which a fetch can begin that cannot begin now, or -1.
  Cycle next_room(Cycle now) const;

  /// Declares the signals below `scope`: the windows that have arrived or are on their way.
  void declare_signals(Trace& trace, const std::string& scope);
  /// Traces them in cycle `now`, which begins at `at`.
  void trace(Trace& trace, Picoseconds at, Cycle now) const;

  LineReaderStats stats;

 private:
  struct Window {
    WfoldFetch fetch;
    std::size_t issued = 0;
    std::vector<std::vector<std::uint8_t>> data;  // data of the requests that have arrived
    std::vector<Cycle> arrived;                   // the cycle after each arrival
    int lines_left = 0;
  };
  void forget_left(Cycle now);
  void move_on();

  WfoldConfig config_;
  int master_;
  std::uint64_t nram_;
  const WfoldJob* job_ = nullptr;
  std::optional<WfoldReader> reader_;
  std::size_t limit_ = 1;
  std::deque<Window> windows_;     // with lines that have not left, oldest first
  std::deque<std::size_t> order_;  // by burst in flight: number of its window
  std::size_t first_window_ = 0;   // number of the front one
  std::deque<Cycle> left_;         // when the last lines of windows leave, if that is not before the present
  // The line that leaves next.
  std::int64_t next_tile_ = 0;
  int next_refill_ = 0, next_line_ = 0;
  WfoldTile tile_;       // the tile that it belongs to
  bool exists_ = false;  // whether it has a byte of the map
  // Windows in use and the bytes that they hold; of the oldest one its row, its first byte and the byte after
  // its last one, and the lines that have not left; whether the next line can leave.
  struct Signals {
    SignalId windows, bytes, row, begin, end, lines, valid;
  };
  std::optional<Signals> signals_;
  mutable std::optional<std::size_t> needed_;  // requests of its window, once they are counted
};

}  // namespace tilebeat::wfold
