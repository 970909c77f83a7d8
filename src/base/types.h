#pragma once

#include <cstdint>
#include <functional>

namespace tilebeat {

/// Cycles of one clock domain, counted from reset.
using Cycle = std::int64_t;

/// Simulated time in picoseconds, counted from reset. One NPU clock is `ClockDomain::period_ps` of these.
using Picoseconds = std::int64_t;

/// An index that cannot be mixed up with an index of another kind: a bank is not a lane.
template <class Tag>
class StrongIndex {
 public:
  constexpr StrongIndex() = default;
  constexpr explicit StrongIndex(int value) : value_(value) {}
  constexpr int value() const { return value_; }
  friend constexpr bool operator==(StrongIndex a, StrongIndex b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(StrongIndex a, StrongIndex b) { return a.value_ != b.value_; }
  friend constexpr bool operator<(StrongIndex a, StrongIndex b) { return a.value_ < b.value_; }

 private:
  int value_ = 0;
};

using BankId = StrongIndex<struct BankTag>;      ///< A bank of the input buffer, b0..b15 of document 000.
using LaneId = StrongIndex<struct LaneTag>;      ///< A lane: one sub-switch and one row of PEs, sw0..sw15.
using ColumnId = StrongIndex<struct ColumnTag>;  ///< A column of PEs: one kernel of a kernel block.
using PortId = StrongIndex<struct PortTag>;      ///< A port of the interconnect.

/// One function object from several, for std::visit: `std::visit(Overloaded{[](int) {}, [](bool) {}}, v)`.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace tilebeat
