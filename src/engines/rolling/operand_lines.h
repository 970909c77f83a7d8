#pragma once

#include "engines/rolling/operations.h"
#include "engines/rolling/schedule.h"
#include "isa/operations.h"

#include <cstdint>
#include <vector>

namespace tilebeat::rolling {

/// The schedule of a run on an array of `shape`.
RollingSchedule schedule_of(const Shape& shape, const ConvSetup& conv, const RollingSetup& setup,
                            const RollingRun& run);
Order order_of(const RollingSetup& setup);

/// A load into the registers of one operand in one cycle (SPEC RO-6): a line of the array; while B is being
/// transposed, the same element of all lines of a block; or a record of bias and scale.
struct Load {
  enum class Kind : std::uint8_t { kLine, kAcross, kRecord };
  Kind kind = Kind::kLine;
  int part = 0, cut = 0;  ///< block of the operand, and cut of the round
  int number = 0;         ///< number of the line, element or record
  Span filled;            ///< elements that exist
};

/// Whether biases and scales are loaded with the kernels.
enum class Records : std::uint8_t { kNone, kLoaded };

/// Neighbouring bytes of a memory, and their offset in the loaded line.
struct Piece {
  std::uint64_t address = 0;
  int bytes = 0;
  int at = 0;
};

/// The order in which the lines of a round are loaded, and the places of their elements in memory: the
/// address of an element of A is found from its pixel, tap and channel while its line is loaded (implicit
/// im2col). Elements on padding have no piece.
class OperandLines {
 public:
  /// `schedule`, `conv`, `setup` and `run` outlive it.
  OperandLines(const RollingSchedule& schedule, const ConvSetup& conv, const RollingSetup& setup,
               const RollingRun& run)
      : schedule_(schedule), conv_(conv), setup_(setup), run_(run) {}

  /// The loads of a round, in order: of A line by line, in each its cuts, which are neighbours in memory; of
  /// B block by block, and at the end of the last round `records` of bias and scale.
  void loads(OperandName operand, const OutputBlock& block, int round, Records records,
             std::vector<Load>& made) const;
  /// Finds the pieces of a load in memory.
  void find(OperandName operand, const OutputBlock& block, int round, const Load& load,
            std::vector<Piece>& pieces) const;
  /// Adds the pieces of elements `elements` (along n) of row `pixel` of A, for kernels of group `group`, ...
  void find_pixel(int pixel, int group, Span elements, std::vector<Piece>& pieces) const;
  /// ... of column `kernel` of B, ...
  void find_kernel(int kernel, Span elements, std::vector<Piece>& pieces) const;
  /// ... and, to be transposed while they are loaded, element `element` of several columns.
  void find_across(Span kernels, int element, std::vector<Piece>& pieces) const;
  /// The group of the convolution that an output block's columns belong to.
  int group_of(const OutputBlock& block) const {
    return (run_.first_kernel + block.columns.begin) / setup_.group_kernels;
  }
  /// Bytes of a record.
  static constexpr int kRecordBytes = 16;

 private:
  const RollingSchedule& schedule_;
  const ConvSetup& conv_;
  const RollingSetup& setup_;
  const RollingRun& run_;
};

}  // namespace tilebeat::rolling
