#include "fabric/port_use.h"

#include "tilebeat/error.h"

#include <fmt/format.h>

namespace tilebeat {

// Accesses of successive cycles may lie less than a period apart, in different phases of theirs.
void PortUse::check_cycle(Picoseconds at, std::uint64_t address) const {
  const Cycle last = (free_at_ - period_) / period_;
  if (at / period_ <= last) refuse(last * period_, address_, address);
}

// Whether a run that begins before the end of the last one lies between its accesses, and not behind it.
bool PortUse::lies_between(const PortRun& run) const {
  if (stride_ != run.stride || run.first < before_) {
    check_cycle(run.first, run.from);
    return false;
  }
  if ((run.first - first_) % stride_ != 0) return true;
  const Picoseconds met = std::max(run.first, first_), last = free_at_ - period_;
  refuse(met, address_ - to_unsigned((last - met) / stride_ * run.bytes),
         run.from + to_unsigned((met - run.first) / stride_ * run.bytes));
}

void PortUse::refuse(Picoseconds at, std::uint64_t first, std::uint64_t second) const {
  throw SimulationError(fmt::format(
      "{}: port {} makes one access a cycle, but in cycle {} it was asked for bytes {:#x} and {:#x}", bank_,
      port_, at / period_, first, second));
}

}  // namespace tilebeat
