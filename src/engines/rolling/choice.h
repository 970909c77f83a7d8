#pragma once

#include "engines/rolling/config.h"
#include "engines/rolling/operand_lines.h"
#include "engines/rolling/schedule.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat::rolling {

/// Cycles that a product is expected to keep the parts of the unit busy.
struct Estimate {
  double array = 0;        ///< beats, exchanges, corrections
  std::int64_t beats = 0;  ///< of these; exact
  double loads = 0;        ///< lines of the operand that takes longer, records included
  double drain = 0;        ///< realignment and draining
  bool overlaps = true;    ///< lines enter free groups while others are multiplied
  double last_drain = 0;   ///< of the last output block
  double clocks() const;
};
Estimate estimate(const RollingSchedule& schedule, const RollingConfig& config, Records records);

/// What was looked at for a layer.
struct Candidate {
  Order order;
  Estimate estimate;
};
/// The order that takes the fewest cycles among those that the configuration allows; candidates in the order
/// in which they were looked at, the first one of equals is taken (SPEC RO-1, RO-6: the longer operand rolls,
/// of equals B, upward). `product` is what a layer multiplies.
struct Choice {
  Order order;
  std::vector<Candidate> candidates;
};
Choice choose_order(const Product& product, const RollingConfig& config, Records records);

}  // namespace tilebeat::rolling
