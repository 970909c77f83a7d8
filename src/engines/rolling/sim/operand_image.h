#pragma once

#include "engines/rolling/operand_lines.h"
#include "engines/rolling/sim/pe_array.h"
#include "engines/rolling/sim/scratchpad_port.h"
#include "isa/operations.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilebeat::rolling {

/// Takes the zero point off `count` bytes of an operand.
void widen(const std::uint8_t* bytes, int count, OperandName operand, const ConvSetup& conv,
           std::int16_t* elements);

/// A run whose operands are read, and how.
struct ImageSource {
  const RollingSchedule& schedule;
  const OperandLines& lines;
  const ConvSetup& conv;
  const RollingSetup& setup;
  const RollingRun& run;
  const ScratchpadPort& port;
};

/// All rows or columns of one operand of a run, as they would lie in registers, one cut after the other: tile
/// granularity multiplies them from here. With each line, a cut of one of them, goes what the port needs to
/// read it. Reading another operand uses the same storage.
class OperandImage {
 public:
  /// Nothing has been read, or what was read is not valid any more.
  bool empty() const { return !valid_; }
  void invalidate() { valid_ = false; }

  /// The elements of a run's map, of all groups of the convolution, as they lie in memory.
  static void read_map(const ImageSource& source, std::vector<std::int16_t>& map);
  /// Reads A for kernels of the convolution's group `group`; `map` is that of read_map.
  void read_pixels(const ImageSource& source, int group, const std::vector<std::int16_t>& map);
  /// Reads B through the port's direct memory access.
  void read_kernels(const ImageSource& source);

  /// The rows or columns from `line` on, `length` elements each; those that do not exist are 0.
  Lines lines(int line) const { return {elements_.data() + to_size(line) * length_, length_}; }
  int length() const { return to_int(length_); }

  /// No line takes more than one access, or has more bytes than the port.
  bool short_lines() const { return accesses_.empty(); }
  /// What the port does to read a line.
  struct Access {
    std::int32_t count = 0, bytes = 0;
  };
  /// Of lines `lines` of cuts `cuts`, if lines are short.
  struct Sum {
    std::int64_t accesses = 0, bytes = 0;
  };
  Sum short_accesses(Span cuts, Span lines) const;
  /// Of one line, if they are not.
  const Access& access(int cut, int line) const {
    return accesses_[to_size(line) * cuts_.size() + to_size(cut)];
  }

 private:
  struct Cut {
    int bytes = 0;
    int tap = 0;  // that all its elements are of, if lines are short
  };
  void begin(const ImageSource& source, int lines);
  void gather(const ImageSource& source, int group, const std::vector<std::int16_t>& map);
  void count_inside(const ImageSource& source);
  void count_accesses(const ImageSource& source, OperandName operand, int group);
  void transpose(const ImageSource& source);

  bool valid_ = false;
  std::size_t length_ = 0;              // of a row or column
  std::vector<std::int16_t> elements_;  // [line][length]
  std::vector<std::uint8_t> bytes_;     // as they lie in memory
  std::vector<std::int16_t> wide_;      // the same as elements
  std::vector<Cut> cuts_;
  std::size_t lines_ = 0;
  std::vector<std::uint32_t> inside_;  // [tap][line]: lines before it whose pixel is in the map; empty: all
  std::vector<Access> accesses_;       // [line][cut], if lines are not short
};

}  // namespace tilebeat::rolling
