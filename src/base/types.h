#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <type_traits>

namespace tilebeat {

/// Cycles of one clock domain, counted from reset.
using Cycle = std::int64_t;

/// Simulated time in picoseconds, counted from reset. One NPU clock is `ClockDomain::period_ps` of these.
using Picoseconds = std::int64_t;

/// `value` as what counts elements and bytes of memory, or as an address: it is not negative.
template <class Integer>
constexpr std::size_t to_size(Integer value) {
  static_assert(!std::is_floating_point_v<Integer>, "of real numbers round first");
  return static_cast<std::size_t>(value);
}
template <class Integer>
constexpr std::uint64_t to_unsigned(Integer value) {
  static_assert(!std::is_floating_point_v<Integer>, "of real numbers round first");
  return static_cast<std::uint64_t>(value);
}

/// `value` as what is subtracted and compared: it is in the range of the result.
template <class Integer>
constexpr std::int64_t to_signed(Integer value) {
  static_assert(!std::is_floating_point_v<Integer>, "of real numbers round first");
  return static_cast<std::int64_t>(value);
}
template <class Integer>
constexpr int to_int(Integer value) {
  static_assert(!std::is_floating_point_v<Integer>, "of real numbers round first");
  return static_cast<int>(value);
}

/// a / b of whole numbers that a double holds exactly.
template <class A, class B>
constexpr double ratio_of(A a, B b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

/// Sets a field of an instruction to the bits of `value`, which must be enough for it: std::logic_error where
/// bits are lost. What a user can ask for is refused before. A zero point of -5 is 251 in a field of eight
/// bits without a sign.
template <class Field, class Value>
constexpr void set_field(Field& field, Value value) {
  static_assert(sizeof(Field) < sizeof(std::int64_t));
  constexpr std::int64_t kPatterns = std::int64_t{1} << (8 * sizeof(Field));
  const std::int64_t number = to_signed(value);
  if (number < -kPatterns / 2 || number >= kPatterns)
    throw std::logic_error("a field of an instruction is too small");
  field = static_cast<Field>(value);
}

/// Element `index` of a container, whatever number or enumerator says which.
template <class Container, class Index>
constexpr decltype(auto) nth(Container&& container, Index index) {
  return container[to_size(index)];
}
/// How many elements a container has, as what loops count with.
template <class Container>
constexpr int count_of(const Container& container) {
  return to_int(container.size());
}
template <class Container>
constexpr std::int64_t ssize(const Container& container) {
  return to_signed(container.size());
}

/// ceil(a / b) for a >= 0, b > 0.
template <class T>
constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}

/// The smallest multiple of `b` that is not below `a`, for a >= 0, b > 0.
template <class T>
constexpr T align_up(T a, T b) {
  return ceil_div(a, b) * b;
}

/// Calls `visit` with the number of each bit that is set in `word`, the lowest first. `word` is read anew
/// after every visit: bits that are set meanwhile are visited where they are higher, those that are cleared
/// are not.
template <class Visit>
void for_each_bit(const std::uint64_t& word, const Visit& visit) {
  std::uint64_t above = ~std::uint64_t{0};  // the last one visited
  while (const std::uint64_t left = word & above) {
    const int bit = __builtin_ctzll(left);
    above = ~std::uint64_t{1} << bit;
    visit(bit);
  }
}

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
