#pragma once

#include <stdexcept>
#include <string>

namespace tilebeat {

/// An error in a file, command or call of the user. `what()` is one line that names the file, the JSON path,
/// the value and the allowed range where these apply. The command line turns it into exit status 2, and
/// nothing is written.
class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message) : std::runtime_error(message) {}
};

/// The simulated hardware reached a state that it cannot leave or that violates an invariant: a deadlock, a
/// faulting instruction, a broken sum. Exit status 1; all results so far are written, marked as failed.
class SimulationError : public std::runtime_error {
 public:
  explicit SimulationError(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace tilebeat
