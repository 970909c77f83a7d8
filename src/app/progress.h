#pragma once

#include "program/plan.h"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

namespace tilebeat {

/// How much of a run is simulated, by what its layers are expected to take.
class SimulatedShare {
 public:
  /// In the order in which the layers end.
  explicit SimulatedShare(const std::vector<LayerPlan>& layers);
  /// From 0 to 1 in cycle `now`, with so many layers complete; it never falls. 0 where nothing is expected of
  /// a layer, as of programs by hand.
  double at(Cycle now, std::size_t layers_done);

 private:
  std::vector<double> expected_;  // cycles up to the end of each layer
  std::size_t done_ = 0;
  Cycle began_ = 0;  // the layer under way, as far as is known
  double share_ = 0;
};

/// "8 s", "4 min", "2 h 5 min".
std::string duration_text(double seconds);

/// A line on standard error, if that is a terminal, that tells how far a part of a run is (SPEC UI-1).
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A part begins of which nothing is told while it lasts; it is shown at once.
  void announce(const std::string& text);
  /// A part begins of which is told how far it is.
  void begin();
  /// Shows `text`, once a second and not before the first second of the part is over, with the time that the
  /// rest of the part will take when `share` of it, from 0 to 1, took the time up to now.
  void tell(const std::string& text, double share);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void show(const std::string& text);

  bool terminal_, printed_ = false;
  Clock::time_point began_ = Clock::now(), told_ = began_;
};

/// While one exists, SIGINT, SIGTERM and SIGHUP remove the paths that `hold` names before they end the
/// process as they always do, so that its parent sees the signal (SPEC UI-5). What the process was told to
/// ignore stays ignored. Writing to a pipe that nobody reads, or beyond a limit of size, is an error instead
/// of a signal. At most one exists at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  /// What the process says on standard error when SIGINT ends it, a line with its end; of at most 255 bytes.
  static void say(const std::string& line);
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
};

/// Holds the signals of Interruption back: what is done while one exists is done as a whole. Paths are held
/// and let go within.
class Uninterrupted {
 public:
  Uninterrupted();
  ~Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

  /// A file or an empty folder that goes when the process is ended; the last one goes first.
  void hold(const std::string& path);
  /// Everything that is held stays from now on.
  void let_go();

 private:
  sigset_t before_;
};

}  // namespace tilebeat
