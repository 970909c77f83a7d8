#pragma once

#include "program/plan.h"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

namespace tilebeat {

/// The simulated fraction of a run, by the estimates of its layers.
class SimulatedShare {
 public:
  /// `layers`: in the order in which they end.
  explicit SimulatedShare(const std::vector<LayerPlan>& layers);
  /// The fraction, 0 to 1, in cycle `now` with `layers_done` layers complete; it never decreases. 0 where a
  /// layer has no estimate, as in hand-written programs.
  double at(Cycle now, std::size_t layers_done);

 private:
  std::vector<double> expected_;  // estimated cycles up to the end of each layer
  std::size_t done_ = 0;
  Cycle began_ = 0;  // cycle in which the layer in progress began, as far as known
  double share_ = 0;
};

/// "8 s", "4 min", "2 h 5 min".
std::string duration_text(double seconds);

/// Tells the process that has started this one how far it is, through the descriptor that the variable
/// TILEBEAT_PROGRESS_FD names, a line at a time: a share, 0 to 1, a blank and words. Without the variable it
/// does nothing. Processes that this one starts inherit neither.
void tell_starter(double share, const std::string& text);

/// A progress line on standard error, if that is a terminal (SPEC UI-1), and to the process that has started
/// this one.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Begins a part without progress; shows `text` at once.
  void announce(const std::string& text);
  /// Begins a part with progress.
  void begin();
  /// Shows `text`, at most once a second and not in the first second of the part, with the expected remaining
  /// time of the part: `share`, 0 to 1, is the fraction that is done.
  void tell(const std::string& text, double share);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void show(const std::string& text);

  bool terminal_, printed_ = false;
  Clock::time_point began_ = Clock::now(), told_ = began_, told_starter_ = began_;
};

/// While one exists, SIGINT, SIGTERM and SIGHUP remove the paths that `hold` names before they end the
/// process as they always do, so that its parent sees the signal (SPEC UI-5). What the process was told to
/// ignore stays ignored. Writing to a pipe that nobody reads, or beyond a limit of size, is an error instead
/// of a signal. At most one exists at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  /// Sets the line, of at most 255 bytes with its line end, that the process prints on standard error when
  /// SIGINT ends it.
  static void say(const std::string& line);
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
};

/// Blocks the signals of Interruption, so that actions while one exists are done completely or not at all.
/// Paths are held and released while one exists.
class Uninterrupted {
 public:
  Uninterrupted();
  ~Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

  /// Holds a file or an empty folder, which is removed when the process is ended; the last one first.
  void hold(const std::string& path);
  /// Releases all held paths; they stay.
  void let_go();
  /// Drops the signals that have arrived while it exists: what they would have ended is done.
  void ignore_arrived();

 private:
  sigset_t before_;
};

/// A line on standard error that tells how many of many runs are done, on a terminal and after a second; told
/// to the process that has started this one as well.
class PointProgress {
 public:
  /// `what` is the runs' name in the line, such as "points"; `before` of all `points` were there already.
  PointProgress(std::string what, std::size_t points, std::size_t before);
  ~PointProgress();
  PointProgress(const PointProgress&) = delete;
  PointProgress& operator=(const PointProgress&) = delete;

  void operator()(std::size_t ended, std::size_t running);

 private:
  void show(const std::string& text);

  std::string what_;
  std::size_t points_, before_;
  bool terminal_, printed_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// As many runs at the same time as were asked for; 0: one a processor.
int jobs_of(int asked);

}  // namespace tilebeat
