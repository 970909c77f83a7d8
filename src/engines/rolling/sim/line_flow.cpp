#include "tilebeat/engines/rolling/sim/line_flow.h"

#include "tilebeat/base/math.h"

#include <algorithm>

namespace tilebeat::rolling {

// The first line of some; `before` is when the line in whose place it comes is in place.
void LineFlow::enter(Cycle before, int accesses) {
  const Cycle begins = std::max(turn_, before);
  landing_ += begins - turn_;
  turn_ = begins + accesses;
  const Cycle ready = std::max(turn_ + port_.latency, entry_);
  memory_ += ready - entry_;
  const Cycle at = std::max(ready, free_);
  waited_ += at - ready;
  entry_ = at + 1;
}

void LineFlow::pass(int accesses, int bytes) {
  enter(departures_.oldest().first, std::max(1, accesses));
  if (bytes > port_.bytes) entry_ += ceil_div(bytes, port_.bytes) - 1;
  departures_.replace(1, entry_ - 1);
  ++lines_;
}

// Behind the first of a stretch the others follow one a cycle, for none of the three can keep them: the lines
// that make place for them are in place in neighbouring cycles, they are requested in neighbouring cycles,
// and so they enter.
void LineFlow::pass_short(int lines) {
  lines_ += lines;
  while (lines > 0) {
    const Departures::Stretch& oldest = departures_.oldest();
    const int together = std::min(lines, oldest.lines);
    enter(oldest.first, 1);
    departures_.replace(together, entry_ - 1);
    turn_ += together - 1, entry_ += together - 1;
    lines -= together;
  }
}

}  // namespace tilebeat::rolling
