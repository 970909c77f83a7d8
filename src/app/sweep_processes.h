#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "sweep_folder.h"

namespace tilebeat {

/// Runs of points as processes of their own.
struct SweepProcesses {
  int jobs = 1;                                                          ///< at most so many at the same time
  std::function<void(std::size_t ended, std::size_t running)> progress;  ///< at least once a second
};

/// Runs all `points` and records how each ended; processes keep `lock`. Processes end with this one, however
/// it ends. Returns 0, or SIGINT, SIGTERM or SIGHUP when that came: then processes have been ended, and what
/// they were about is not recorded. Throws UserError when there is no process, or a status cannot be written.
int run_points(const std::vector<const PointFolder*>& points, const SweepLock& lock,
               const SweepProcesses& how);

}  // namespace tilebeat
