#pragma once

#include <csignal>
#include <string>

namespace tilebeat {

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
