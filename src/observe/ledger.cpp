#include "tilebeat/observe/ledger.h"

#include "tilebeat/base/error.h"

#include <fmt/format.h>

namespace tilebeat {

void CycleLedger::settle(Cycle at) {
  if (at < since_) {
    throw SimulationError(
        fmt::format("cycle ledger: cycle {} is accounted for twice (up to {} already, {} now)", at, since_,
                    activity_name(current_)));
  }
  cycles_[static_cast<int>(current_)] += at - since_;
  since_ = at;
}

}  // namespace tilebeat
