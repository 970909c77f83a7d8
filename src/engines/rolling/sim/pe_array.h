#pragma once

#include "base/numerics.h"
#include "engines/rolling/operand_lines.h"
#include "engines/rolling/schedule.h"
#include "observe/trace.h"
#include "units/matrix_unit.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat::rolling {

/// Lines of an operand, `stride` elements apart.
struct Lines {
  const std::int16_t* first = nullptr;
  std::size_t stride = 0;

  const std::int16_t* line(int number) const { return first + to_size(number) * stride; }
  Lines from(int number) const { return {line(number), stride}; }
};

/// sums[i * stride + j] += line i of A times line j of B, for all rows i and columns j: the whole result of
/// rolling at once. Lines have `length` elements, a multiple of 16; missing ones are 0. `wide`: what is added
/// may leave int32.
void multiply_block(const Lines& a, int rows, const Lines& b, int columns, int length, Sum* sums,
                    std::size_t stride, bool wide);

/// sums[i] = line i of A times line i of B, `lanes` elements each, a multiple of 16; lines lie side by side:
/// one beat of an array.
void multiply_lines(const std::int16_t* a, const std::int16_t* b, int lines, int lanes, std::int32_t* sums);

/// The registers of the PE array (document 002 [0030], [0069]; SPEC RO-1, RO-4): `groups` of each operand in
/// every PE, joined in rings. They are kept by line and lane: right-transposed a line is a row of PEs,
/// left-transposed a column. With a line goes the number that it has in its operand (its tag); a place
/// without a line has none and takes part in no product.
class PeArray {
 public:
  PeArray(const Shape& shape, Trace* trace, const std::string& scope);

  /// Registers that store some bits flipped: bank = operand * groups + group, address = row * columns +
  /// column.
  void inject_fault(const Fault& fault) { fault_ = fault; }

  /// Flips bits of a register once; the numbers are those of `inject_fault`, `variant` says how lines lie.
  void flip(Variant variant, const Fault& upset);

  /// Empties the registers of `group`.
  void clear(OperandName operand, int group);
  /// Loads elements after subtraction of their zero point; `first_tag` is the number of the block's first
  /// line.
  void load(OperandName operand, Variant variant, int group, const Load& load, int first_tag,
            const std::int16_t* elements);

  /// Line `line` of group `group`, `lanes()` elements; missing ones are 0.
  const std::int16_t* line(OperandName operand, int group, int line) const {
    return registers_.data() + offset(operand, group, line);
  }
  std::int16_t* line(OperandName operand, int group, int line) {
    return registers_.data() + offset(operand, group, line);
  }
  /// The tag of a line: its number in its operand; places without a line have no valid tag.
  struct Tag {
    int number = 0;
    bool valid = false;
  };
  /// The tags of a group's lines.
  const Tag* tags(OperandName operand, int group) const {
    return tags_.data() + tag_index(operand, group, 0);
  }
  int lanes() const { return lanes_; }

  /// Multiplies the registers of `group` in every PE; `sums` receives the sum of each line.
  void multiply(int group, int lines, std::vector<std::int32_t>& sums) const;
  /// Rolls the lines of a group by one place around a ring of `ring` lines; the first line moves to the last
  /// place, or vice versa.
  void roll(OperandName operand, int group, int ring, Direction direction);
  /// Swaps the register contents of two groups, or of one line of each.
  void swap_groups(OperandName operand, int a, int b);
  void swap_lines(OperandName operand, int group_a, int group_b, int line);

  /// Traces the contents of the spare registers from `at` on: of every ring the line that wrapped last.
  void trace_spare_lines(Picoseconds at);
  /// Traces the contents of a group's registers, and the tags of its lines, from `at` on.
  void trace(Variant variant, OperandName operand, int group, Picoseconds at);
  /// The cycles of a load: `elements` of its elements a cycle are in their registers from `first` on, the
  /// last ones `cycles` - 1 periods later.
  struct Entry {
    Picoseconds first = 0, period = 0;
    int elements = 1, cycles = 1;
  };
  /// Traces the elements that a load has brought, and the tags of its lines.
  void trace_load(Variant variant, OperandName operand, int group, const Load& load, const Entry& entry);

 private:
  std::size_t offset(OperandName operand, int group, int line) const {
    return to_size(((to_int(operand) * shape_.groups + group) * lines_ + line) * lanes_);
  }
  std::size_t tag_index(OperandName operand, int group, int line) const {
    return to_size((to_int(operand) * shape_.groups + group) * lines_ + line);
  }
  struct Pe {
    int row = 0, column = 0;
  };
  Pe pe_of(Variant variant, int line, int lane) const;
  std::string bank_of(int bank) const;
  void declare_signals(const std::string& scope);
  void trace_element(Variant variant, OperandName operand, int group, int line, int lane, Picoseconds at);
  void trace_all(Variant variant, OperandName operand, int group, Picoseconds at);
  bool trace_line(Variant variant, OperandName operand, int group, const Load& load, const Entry& entry);
  void trace_tag(OperandName operand, int group, int line, Picoseconds at);
  std::int16_t stored(OperandName operand, Variant variant, int group, int line, int lane,
                      std::int16_t element) const;

  Shape shape_;
  int lines_, lanes_;
  std::vector<std::int16_t> registers_;  // [operand][group][line][lane]
  std::vector<Tag> tags_;                // [operand][group][line]
  std::vector<std::int16_t> spare_;      // [ring][lane]: the line that wrapped
  std::optional<Fault> fault_;
  Trace* trace_;
  bool traces_ = false;                   // some signal of a register, a tag or a spare register is recorded
  std::vector<SignalGroup> signals_;      // by operand and group: [row][column]
  std::vector<SignalGroup> tag_signals_;  // likewise: [line]
  SignalGroup spare_signals_;             // [spare line][lane]
  // By operand and group, the signals of a row, or of a column, of PEs.
  std::vector<SignalGroup> row_signals_, column_signals_;
  std::vector<std::uint16_t> shown_, tags_shown_;  // values of one group
};

}  // namespace tilebeat::rolling
