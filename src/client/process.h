#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tilebeat {

/// How another process ended, and what it printed.
struct ProcessEnd {
  enum class How : unsigned char { kExited, kSignalled, kCancelled, kNotStarted, kLost };
  How how = How::kNotStarted;
  int status = 0;  ///< exit status, signal, or errno of the start or of the wait for its end
  std::string out, err;
};

/// How far a process says that it is.
struct Advance {
  double share = 0;  ///< 0 to 1
  std::string text;
};

/// Gets a line of standard error, without its end, or null ten times a second, and how far the process is;
/// true ends the process.
using Watch = std::function<bool(const char* line, const Advance& advance)>;

/// The command `tilebeat`: what TILEBEAT_COMMAND names, or the file of that name beside this library or in
/// the bin folder of its installation, or the one that PATH leads to.
std::string command_path();

/// Runs a program with these arguments, the first one its name, in a folder, empty: the current one, and
/// waits for its end. A process that is cancelled gets SIGTERM, so that it clears up. One that is watched
/// tells how far it is through the descriptor that its variable TILEBEAT_PROGRESS_FD names.
ProcessEnd run_process(const std::string& program, const std::vector<std::string>& arguments,
                       const std::string& folder, const Watch& watch);

}  // namespace tilebeat
