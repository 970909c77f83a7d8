#pragma once

#include "tilebeat/engines/rolling/operand_lines.h"
#include "tilebeat/engines/rolling/sim/block_product.h"
#include "tilebeat/engines/rolling/sim/scratchpad_port.h"
#include "tilebeat/isa/operations.h"

#include <cstdint>
#include <vector>

namespace tilebeat::rolling {

/// Takes the zero point off `count` bytes of an operand.
void widen(const std::uint8_t* bytes, int count, OperandName operand, const ConvSetup& conv,
           std::int16_t* elements);

/// All lines of one operand of a run, as they would lie in registers: tile granularity multiplies them from
/// here. With each line goes what the port needs to read it.
class OperandImage {
 public:
  bool empty() const { return elements_.empty(); }
  /// Reads the lines of `operand` through the port's direct memory access; of A those of the convolution's
  /// group `group`. A line takes up `stride` elements, those that do not exist are 0.
  void read(OperandName operand, int group, const RollingSchedule& schedule, const OperandLines& lines,
            const ConvSetup& conv, Transposition transposition, const ScratchpadPort& port, int stride);

  /// The lines of the operand from `line` on, each from cut `cut` on: cut after cut, `stride` elements each.
  Lines lines(int cut, int line) const {
    return {elements_.data() + index(cut, line) * stride_, static_cast<std::size_t>(cuts_) * stride_};
  }
  /// What the port does to read a line of a cut; the next cut follows.
  struct Access {
    std::uint16_t count = 0, bytes = 0;
  };
  const Access* access(int cut, int line) const { return accesses_.data() + index(cut, line); }
  std::size_t cuts() const { return cuts_; }
  /// Every line has all its elements and takes one access of the port.
  bool short_lines() const { return short_lines_; }

 private:
  std::size_t index(int cut, int line) const {
    return static_cast<std::size_t>(line) * cuts_ + static_cast<std::size_t>(cut);
  }
  void read_line(const std::vector<Piece>& pieces, std::size_t at, OperandName operand, const ConvSetup& conv,
                 const ScratchpadPort& port);

  bool short_lines_ = false;
  std::size_t cuts_ = 0, stride_ = 0;
  std::vector<std::int16_t> elements_;  // [line][cut][lane]
  std::vector<Access> accesses_;        // [line][cut]
};

}  // namespace tilebeat::rolling
