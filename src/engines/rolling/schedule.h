#pragma once

#include "base/types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

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
  return nth(kVariantNames, v);
}

/// Whether lines are rows of the array, with sums formed along rows.
constexpr bool lines_are_rows(Variant v) {
  return v <= Variant::kRightADown;
}
constexpr OperandName rolling_operand(Variant v) {
  return v == Variant::kRightBUp || v == Variant::kRightBDown || v == Variant::kLeftBLeft ||
                 v == Variant::kLeftBRight
             ? OperandName::kB
             : OperandName::kA;
}
/// The direction in which lines roll. Up or left, to the front: line p takes the contents of line p + 1. Down
/// or right, to the back: those of line p - 1.
enum class Direction : std::uint8_t { kFront, kBack };
constexpr Direction direction_of(Variant v) {
  return to_int(v) % 2 == 0 ? Direction::kFront : Direction::kBack;
}
constexpr bool rolls_to_front(Variant v) {
  return direction_of(v) == Direction::kFront;
}
/// The scheme for blocks of operands larger than the array (SPEC RO-3 to RO-5).
enum class Scheme : std::uint8_t {
  kPlain,            ///< one block pair after the other
  kGroupRolling,     ///< stacked; whole blocks are exchanged between register groups (tables 1-3)
  kWholeRolling,     ///< stacked; all blocks roll as one ring, with correction (tables 4-5)
  kOutputStationary  ///< nothing rolls: operands are streamed, sums stay in their PEs
};
constexpr std::array<std::string_view, 4> kSchemeNames{"plain", "group_rolling", "whole_rolling",
                                                       "output_stationary"};

/// The way of B into its lines (document 002 [0052]): B is stored transposed, line after line; or as it is,
/// and each column of it is loaded into a row of the array.
enum class Transposition : std::uint8_t { kInMemory, kWhileLoading };
constexpr std::array<std::string_view, 2> kTranspositionNames{"in_memory", "while_loading"};

/// The way in which sums get to their final places (document 002 [0061-0065], [0125]).
enum class Realignment : std::uint8_t { kRolling, kTags };
constexpr std::array<std::string_view, 2> kRealignmentNames{"rolling", "tags"};

/// The place where the line that leaves the ring at one end waits to enter at the other (document 002
/// [0117-0118]).
enum class Wrap : std::uint8_t { kRegister, kBuffer };
constexpr std::array<std::string_view, 2> kWrapNames{"register", "buffer"};

/// The spare registers that lines wrap through (SPEC RO-7): a line of them for each ring, with its own wire
/// from one end of the ring to the other; one line that all rings share, which then roll one after the other;
/// or none, and lines wrap through the buffer.
enum class SpareLines : std::uint8_t { kPerRing, kShared, kNone };
constexpr std::array<std::string_view, 3> kSpareLinesNames{"ring", "shared", "none"};

/// Sizes of the array that its schedules depend on.
struct Shape {
  int rows = 16, columns = 16;          ///< PEs
  int groups = 4;                       ///< registers per PE for each operand
  int start_row = 0, start_column = 0;  ///< the PE where matrices begin (document 002 [0104])
  SpareLines spare_lines = SpareLines::kPerRing;
  int multipliers = 1;  ///< of a PE: groups that are multiplied in one beat (document 002 [0034])

  /// The most lines of an operand's block, and the most elements of a line.
  int lines(Variant v) const { return lines_are_rows(v) ? rows - start_row : columns - start_column; }
  int lanes(Variant v) const { return lines_are_rows(v) ? columns - start_column : rows - start_row; }
};

/// Lines of spare registers, as long as the longer side of the array.
constexpr int spare_lines_of(const Shape& shape) {
  return shape.spare_lines == SpareLines::kPerRing ? shape.groups : shape.spare_lines == SpareLines::kShared;
}

/// The order of work on a product.
struct Order {
  Variant variant = Variant::kRightBUp;
  Scheme scheme = Scheme::kPlain;
  int stacked_blocks = 1;  ///< blocks of an operand's lines that are in register groups at a time
  int stacked_cuts = 1;    ///< cuts of n that are in register groups at a time
  Wrap wrap = Wrap::kRegister;

  int groups() const { return stacked_blocks * stacked_cuts; }
};

/// A product of m rows of A with k columns of B over n elements. Columns `first_column` + j with equal
/// (first_column + j) div `group_columns` use the same A, others another one (the groups of a convolution).
struct Product {
  int m = 1, n = 1, k = 1;
  int first_column = 0;
  int group_columns = 1;
  int run = std::numeric_limits<int>::max();  ///< elements of a row of A that lie side by side in memory
  double inside = 1;                          ///< share of A that is in memory; the rest is padding
};

/// Number of lines of one pixel that are contiguous in memory: n runs over this many times a line's channels
/// before the next tap.
constexpr int kNeighbouringLines = 4;

/// Positions [begin, begin + size).
struct Span {
  int begin = 0, size = 0;
  int end() const { return begin + size; }
  bool empty() const { return size <= 0; }
};
inline bool operator==(const Span& a, const Span& b) {
  return a.begin == b.begin && a.size == b.size;
}

/// The sums that are accumulated in one half of the result buffer: rows of C x columns of C. Its operands are
/// cut into `parts` blocks of `lines` lines that are in register groups together.
struct OutputBlock {
  Span rows, columns;
  int parts = 1;
  int lines = 1;
};

/// One cycle of the array in a round.
struct Step {
  enum class Kind : std::uint8_t {
    kBeat,        ///< every PE multiplies the registers of one group, or of one for each multiplier
    kWrap,        ///< a ring rolls after others, or its line passes through the buffer
    kExchange,    ///< whole blocks move between groups
    kCorrection,  ///< lines move between blocks that have rolled within themselves
    kSums         ///< output-stationary: a line of sums leaves the PEs
  };
  Kind kind = Kind::kBeat;
  int phase = 0;        ///< exchanges so far
  int computation = 0;  ///< number within the phase; output-stationary: element of n, or line of sums
  int part = 0;         ///< block of the stationary operand, ...
  int cut = 0;          ///< ... and cut of the round, of the first group of a beat
  int groups = 1;       ///< groups of a beat that have work: this one and the next ones that have
  int clock = 0;        ///< cycle of the wraps after a computation
  bool ends_computation = false;  ///< the last beat of it: the ring rolls at the end of the cycle
};

/// Element (row, column) of an output block.
struct Element {
  int row = 0, column = 0;
};
inline bool operator==(const Element& a, const Element& b) {
  return a.row == b.row && a.column == b.column;
}

/// The place of a sum in a half of the result buffer.
struct SumPlace {
  int line = 0, index = 0;
};
inline bool operator==(const SumPlace& a, const SumPlace& b) {
  return a.line == b.line && a.index == b.index;
}

/// The elements that meet in each computation, and the places of the sums (SPEC RO-1 to RO-4). An output
/// block is computed in rounds; a round covers the blocks and cuts that are in register groups together, and
/// all cuts of n follow one another. Pure arithmetic; parts, lines, rows and columns count from 0 within
/// their output block.
class RollingSchedule {
 public:
  RollingSchedule(const Shape& shape, const Order& order, const Product& product);

  const Shape& shape() const { return shape_; }
  const Order& order() const { return order_; }
  const Product& product() const { return product_; }
  int lines() const { return lines_; }  ///< of a block, at most
  int lanes() const { return lanes_; }  ///< elements of a line, at most
  /// Channels that n runs over before the next tap.
  int channel_block() const { return kNeighbouringLines * lanes_; }

  // ---- blocking ----

  std::int64_t blocks() const { return blocks_of_rows_ * blocks_of_columns_; }
  OutputBlock block(std::int64_t index) const;
  /// Output blocks of one shape, and their number.
  struct Alike {
    OutputBlock block;
    std::int64_t count = 0;
  };
  std::vector<Alike> block_shapes() const;
  /// Rows of all output blocks.
  std::int64_t block_rows() const { return blocks_of_columns_ * product_.m; }
  int cuts() const { return cuts_; }
  Span cut(int index) const;
  int rounds_per_block() const { return rounds_per_block_; }
  Span cuts_of_round(int round) const;
  /// Elements of a line in the cuts `cuts`, which must exist.
  std::int64_t elements_of(Span cuts) const {
    return std::min(std::int64_t{cuts.end()} * lanes_, std::int64_t{product_.n}) -
           std::int64_t{cuts.begin} * lanes_;
  }
  /// Lines of an operand's block `part`.
  Span lines_of(const OutputBlock& block, OperandName operand, int part) const;
  /// The register group of a block pair, counted from the first of the round (tables 1 and 2).
  int group_of(int part, int cut) const { return part * order_.stacked_cuts + cut; }

  // ---- computations ----

  OperandName rolling() const { return rolling_operand(order_.variant); }
  OperandName stationary() const { return other(rolling()); }
  /// Block of the rolling operand that lies with part `part` of the stationary one after `phase` exchanges.
  int rolling_part(const OutputBlock& block, int phase, int part) const;
  /// Whether both operands have lines in the pair.
  bool pair_exists(const OutputBlock& block, int phase, int part) const;
  /// L: the ring of lines around which the rolling operand of this pair rolls. Whole rolling: the lines of
  /// all blocks.
  int ring(const OutputBlock& block, int phase, int part) const;
  int phases(const OutputBlock& block) const {
    return order_.scheme == Scheme::kGroupRolling ? block.parts : 1;
  }
  int computations(const OutputBlock& block, int phase) const;
  /// Moves the step's part and cut to the next group of the round that has work in its computation, from
  /// these on; false when there is none.
  bool seek_group(const OutputBlock& block, Step& step) const;
  /// Moves them by one group.
  void next_group(int round, Step& step) const;
  /// The line of the rolling operand (counted over all its blocks) at line `line` of part `part` in a
  /// computation; none: the place in the ring is empty.
  std::optional<int> rolled_line(const OutputBlock& block, const Step& step, int line) const;
  /// The element of the output block that line `line` of a beat adds to.
  std::optional<Element> sum_of(const OutputBlock& block, const Step& step, int line) const;

  // ---- sums ----

  /// The place where a beat's sum of `line` is stored; computations follow one another.
  SumPlace stored_at(const OutputBlock& block, const Step& step, int line) const;
  /// The final place of an element's sum, from which it is read.
  SumPlace aligned_at(const OutputBlock& block, const Element& element) const;
  /// Cycles of realignment by rolling: L - 1.
  int realignment(const OutputBlock& block) const;
  /// A line of one ring in the result buffer that moves in cycle `cycle` of realignment.
  struct Shift {
    int line = 0;  ///< line of the half
    Span indices;  ///< indices that move around the ring
    bool right = true;
  };
  std::vector<Shift> shifts(const OutputBlock& block, int clock) const;

  // ---- cycles ----

  /// The first step of a round; every round has one.
  Step first_step(const OutputBlock& block, int round) const;
  /// Advances by one cycle; false after the last one.
  bool advance(const OutputBlock& block, int round, Step& step) const;
  /// Cycles of a round without stalls, and the beats among them.
  struct Clocks {
    std::int64_t all = 0, beats = 0;
  };
  Clocks clocks(const OutputBlock& block, int round) const;
  /// Moves in a round: of rings by a line, all of a computation counted once; of blocks; of lines between
  /// blocks.
  struct Rolls {
    std::int64_t rings = 0, exchanges = 0, corrections = 0;
  };
  Rolls rolls(const OutputBlock& block) const;
  /// Rings that roll at once in cycle `clock` of the wraps after a computation; -1: at the end of its last
  /// beat. Rings are counted as their groups follow one another.
  Span rings_at(const OutputBlock& block, int round, const Step& step, int clock) const;

 private:
  struct Segment {
    Span columns;            // columns of one group
    std::int64_t first = 0;  // number of its first block of columns
  };
  bool plain_array() const { return order_.scheme == Scheme::kOutputStationary; }
  /// Computations of a phase in which equally many parts have work.
  struct Stretch {
    int computations = 0, parts = 0;
  };
  std::vector<Stretch> stretches(const OutputBlock& block, int phase) const;
  int rolling_rings(const OutputBlock& block, int round, const Step& step) const;
  int wrap_clocks(int rings) const;
  bool works(const OutputBlock& block, const Step& step) const;
  bool seek_beat(const OutputBlock& block, int round, Step& step) const;
  bool advance_streamed(const OutputBlock& block, int round, Step& step) const;
  bool after_beats(const OutputBlock& block, int round, Step& step) const;
  bool after_wrap(const OutputBlock& block, int round, Step& step) const;
  bool begin_computation(const OutputBlock& block, int round, Step& step) const;
  bool last_computation(const OutputBlock& block, const Step& step) const {
    return step.computation == computations(block, step.phase) - 1;
  }

  Shape shape_;
  Order order_;
  Product product_;
  int lines_, lanes_;                     // most lines of an operand's block, most elements of a line
  int rows_step_ = 1, columns_step_ = 1;  // most rows and columns of an output block
  int cuts_ = 0, rounds_per_block_ = 0;
  std::int64_t blocks_of_rows_ = 0, blocks_of_columns_ = 0;
  std::vector<Segment> segments_;
};

/// Cycles of the adder trees over `lanes` products (SPEC RO-6), and one for every level that adds up the sums
/// of `multipliers` groups.
int adder_tree_clocks(int lanes, int multipliers);

}  // namespace tilebeat::rolling
