#pragma once

#include "engines/rolling/operand_lines.h"
#include "engines/rolling/sim/kernel_view.h"
#include "engines/rolling/sim/pe_array.h"
#include "engines/rolling/sim/scratchpad_port.h"
#include "isa/operations.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilebeat::rolling {

/// Subtracts the zero point from `count` bytes of an operand, or makes them what they are worth as halves of
/// int16; byte `first` of a pixel is the first of them.
void widen(const std::uint8_t* bytes, int count, OperandName operand, const ConvSetup& conv,
           std::int16_t* elements, int first = 0);

/// A run whose operands are read, and the means to read them.
struct ImageSource {
  const RollingSchedule& schedule;
  const OperandLines& lines;
  const ConvSetup& conv;
  const RollingSetup& setup;
  const RollingRun& run;
  const ScratchpadPort& port;
  const KernelView& kernels;
  Cycle from;  ///< the cycle from which on the operands are read
};

/// All rows or columns of one operand of a run in the form that they have in registers, one cut after the
/// other; tile granularity multiplies them from here. Each line (one cut of a row or column) comes with the
/// port accesses that read it. The storage is reused for other operands.
class OperandImage {
 public:
  /// Whether nothing valid has been read.
  bool empty() const { return !valid_; }
  void invalidate() { valid_ = false; }

  /// Reads the elements of a run's map, with all groups of the convolution, in memory order.
  static void read_map(const ImageSource& source, std::vector<std::int16_t>& map);
  /// Reads A for kernels of convolution group `group`; `map` is the result of read_map.
  void read_pixels(const ImageSource& source, int group, const std::vector<std::int16_t>& map);
  /// Reads B through the port's direct memory access.
  void read_kernels(const ImageSource& source);

  /// The rows or columns from `line` on, `length` elements each; missing ones are 0.
  Lines lines(int line) const { return {elements_.data() + to_size(line) * length_, length_}; }
  int length() const { return to_int(length_); }

  /// Whether each line takes at most one access and no more bytes than the port has.
  bool short_lines() const { return accesses_.empty(); }
  /// Port accesses and bytes that read a line.
  struct Access {
    std::int32_t count = 0, bytes = 0;
  };
  /// The accesses of lines `lines` of cuts `cuts`, if lines are short.
  struct Sum {
    std::int64_t accesses = 0, bytes = 0;
  };
  Sum short_accesses(Span cuts, Span lines) const;
  /// The accesses of one line, if lines are not short.
  const Access& access(int cut, int line) const {
    return accesses_[to_size(line) * cuts_.size() + to_size(cut)];
  }

 private:
  struct Cut {
    int bytes = 0;
    int tap = 0;  // tap of all its elements, if lines are short
  };
  void begin(const ImageSource& source, int lines);
  void gather(const ImageSource& source, int group, const std::vector<std::int16_t>& map);
  void count_inside(const ImageSource& source);
  void count_accesses(const ImageSource& source, OperandName operand, int group);
  void transpose(const ImageSource& source);

  bool valid_ = false;
  std::size_t length_ = 0;              // elements of a row or column
  std::vector<std::int16_t> elements_;  // [line][length]
  std::vector<std::uint8_t> bytes_;     // bytes in memory order
  std::vector<std::int16_t> wide_;      // the same as elements
  std::vector<Cut> cuts_;
  std::size_t lines_ = 0;
  std::vector<std::uint32_t> inside_;  // [tap][line]: lines before it whose pixel is in the map; empty: all
  std::vector<Access> accesses_;       // [line][cut], if lines are not short
};

}  // namespace tilebeat::rolling
