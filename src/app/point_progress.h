#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace tilebeat {

/// A line on standard error that tells how many of many runs are done, on a terminal and after a second.
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
