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

/// Gets a line of standard error, without its end, or null ten times a second; true ends the process.
using Watch = std::function<bool(const char* line)>;

/// The command `tilebeat`: what TILEBEAT_COMMAND names, or the file of that name beside this library or in
/// the bin folder of its installation, or the one that PATH leads to.
std::string command_path();

/// Runs a program with these arguments, the first one its name, in a folder, empty: the current one, and
/// waits for its end. A process that is cancelled gets SIGTERM, so that it clears up.
ProcessEnd run_process(const std::string& program, const std::vector<std::string>& arguments,
                       const std::string& folder, const Watch& watch);

}  // namespace tilebeat
