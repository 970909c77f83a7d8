#pragma once

#include "engines/rolling/config.h"
#include "engines/rolling/operand_lines.h"
#include "engines/rolling/schedule.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat::rolling {

/// Estimated busy cycles of the parts of the unit for a product.
struct Estimate {
  double array = 0;        ///< beats, exchanges, corrections
  std::int64_t beats = 0;  ///< beats among them; exact
  double loads = 0;        ///< lines of the operand that takes longer, records included
  double drain = 0;        ///< realignment and draining
  bool overlaps = true;    ///< lines enter free groups while others are multiplied
  double last_drain = 0;   ///< drain of the last output block
  int first_load = 0;      ///< lines of further stacked blocks that the first beat waits for
  std::int64_t reads = 0;  ///< elements of both operands that are loaded; exact
  double clocks() const;
};
Estimate estimate(const RollingSchedule& schedule, const RollingConfig& config, Records records);

/// A candidate order of a layer and its estimate.
struct Candidate {
  Order order;
  Estimate estimate;
};
/// The chosen order, of those that the configuration allows: of the fastest ones, whose estimates are about
/// equal, the one that loads the fewest elements. Candidates are in the order in which they were estimated;
/// of equal ones the first is taken (SPEC RO-1, RO-6: the longer operand rolls, of equals B, upward).
/// `product` is the product of a layer.
struct Choice {
  Order order;
  std::vector<Candidate> candidates;
};
Choice choose_order(const Product& product, const RollingConfig& config, Records records);

}  // namespace tilebeat::rolling
