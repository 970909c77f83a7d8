#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilebeat::rolling {

/// The operands of C = A x B: A is m x n, B is n x k (SPEC RO-1).
enum class OperandName : std::uint8_t { kA, kB };
constexpr std::size_t kOperands = 2;
constexpr std::array<std::string_view, kOperands> kOperandNames{"a", "b"};
constexpr OperandName other(OperandName name) {
  return name == OperandName::kA ? OperandName::kB : OperandName::kA;
}

/// The eight ways to multiply by rolling (SPEC RO-2; document 002 [0056-0065], [0130], [0157]): which operand
/// is transposed, which one rolls, and where to. Right-transposed, a line of an operand is a row of the array
/// and rolls up or down; left-transposed, it is a column and rolls left or right.
enum class Variant : std::uint8_t {
  kRightBUp,
  kRightBDown,
  kRightAUp,
  kRightADown,
  kLeftALeft,
  kLeftARight,
  kLeftBLeft,
  kLeftBRight
};
constexpr std::array<std::string_view, 8> kVariantNames{"right_b_up",   "right_b_down", "right_a_up",
                                                        "right_a_down", "left_a_left",  "left_a_right",
                                                        "left_b_left",  "left_b_right"};
constexpr std::string_view variant_name(Variant v) {
  return kVariantNames[static_cast<std::size_t>(v)];
}

/// Lines are rows of the array, sums are formed along rows.
constexpr bool lines_are_rows(Variant v) {
  return v <= Variant::kRightADown;
}
constexpr OperandName rolling_operand(Variant v) {
  return v == Variant::kRightBUp || v == Variant::kRightBDown || v == Variant::kLeftBLeft ||
                 v == Variant::kLeftBRight
             ? OperandName::kB
             : OperandName::kA;
}
/// Where lines roll to. Up or left, to the front: line p takes what line p + 1 held. Down or right, to the
/// back: what line p - 1 held.
enum class Direction : std::uint8_t { kFront, kBack };
constexpr Direction direction_of(Variant v) {
  return static_cast<int>(v) % 2 == 0 ? Direction::kFront : Direction::kBack;
}
constexpr bool rolls_to_front(Variant v) {
  return direction_of(v) == Direction::kFront;
}
/// How blocks of operands larger than the array are worked on (SPEC RO-3 to RO-5).
enum class Scheme : std::uint8_t {
  kPlain,            ///< one block pair after the other
  kGroupRolling,     ///< stacked; whole blocks are exchanged between register groups (tables 1-3)
  kWholeRolling,     ///< stacked; all blocks roll as one ring, with correction (tables 4-5)
  kOutputStationary  ///< nothing rolls: operands are streamed, sums stay in their PEs
};
constexpr std::array<std::string_view, 4> kSchemeNames{"plain", "group_rolling", "whole_rolling",
                                                       "output_stationary"};

/// How an element of B gets from memory to where its line is (document 002 [0052]): B lies there transposed,
/// a line after the other; or as it is, and a column of it enters a row of the array while it is loaded.
enum class Transposition : std::uint8_t { kInMemory, kWhileLoading };
constexpr std::array<std::string_view, 2> kTranspositionNames{"in_memory", "while_loading"};

/// How sums come to their places (document 002 [0061-0065], [0125]).
enum class Realignment : std::uint8_t { kRolling, kTags };
constexpr std::array<std::string_view, 2> kRealignmentNames{"rolling", "tags"};

/// Where the line that leaves the ring at one end waits to enter at the other (document 002 [0117-0118]).
enum class Wrap : std::uint8_t { kRegister, kBuffer };
constexpr std::array<std::string_view, 2> kWrapNames{"register", "buffer"};

}  // namespace tilebeat::rolling
