#pragma once

#include "tilebeat/observe/trace.h"

#include <string>
#include <vector>

namespace tilebeat {

/// Collects spans and writes them in the Chrome trace-event format, which Perfetto opens: one row a track,
/// and further rows `track (2)`, ... for spans that overlap; times in microseconds of simulated time. Sorted,
/// so that the same run gives the same bytes.
class ChromeTimeline : public Timeline {
 public:
  void span(const std::string& track, const std::string& what, Picoseconds begin, Picoseconds end) override {
    spans_.push_back({track, what, begin, end});
  }
  /// The whole file.
  std::string json();

 private:
  struct Span {
    std::string track, what;
    Picoseconds begin, end;
  };
  std::vector<Span> spans_;
};

}  // namespace tilebeat
