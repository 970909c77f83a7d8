#pragma once

#include "base/types.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tilebeat {

/// A simulation in a process of its own, which ends with this one.
class Trial {
 public:
  /// Starts it; `what` is tried. Throws UserError when no process can be made.
  Trial(std::string what, const std::function<Cycle()>& simulate);
  /// Ends the process if it still runs.
  ~Trial();
  Trial(Trial&& other) noexcept;
  Trial& operator=(Trial&& other) noexcept;
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// Waits for it and returns its cycles; nothing when `simulate` has thrown UserError. Throws
  /// SimulationError when it has failed otherwise. Call once.
  std::optional<Cycle> finish();
  /// Waits until one of `trials`, which are some, ends; returns its number.
  static std::size_t first_ended(const std::vector<Trial>& trials);

 private:
  std::string what_;
  pid_t child_ = -1;
  int from_ = -1;  // its results
};

}  // namespace tilebeat
