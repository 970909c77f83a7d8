#pragma once

#include "engines/wfold/schedule.h"
#include "isa/operation.h"
#include "isa/operations.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat::wfold {

constexpr FieldChoices choices_of(WfoldReadMode) {
  return {"way to read", kWfoldReadModeNames.data(), kWfoldReadModeNames.size()};
}

/// A convolution on the W-fold engine (SPEC section 4): `rows` x `columns` x `kernels` outputs from a map in
/// NRAM whose rows lie there without gaps, with kernels in the regions of WRAM, to NRAM. A folded pixel is
/// `pixel_bytes` = stride x channels bytes; folded column f of a row begins at its byte f * pixel_bytes -
/// lead_bytes, and what lies outside the row is the input's zero point. Every region holds kernels and
/// post-parameters as WfoldSchedule says.
///
/// Sums over many channels are added up by several runs, one behind the other: `begins_sums` starts them from
/// zero, `ends_sums` finishes and stores them. Until then they stay in the third buffers; such runs have one
/// tile, and all of them have the same one.
struct WfoldRun {
  static constexpr OperationKind kKind{"wfold.run", 0x03, Unit::kMatrix};

  std::uint32_t map = 0;                  ///< byte offset in NRAM of the map's first row
  std::uint32_t row_bytes = 0;            ///< bytes of a row of the map
  std::int32_t lead_bytes = 0;            ///< see above; more than 0 for padding on the left
  std::uint32_t weights = 0;              ///< byte offset in every region of WRAM
  std::uint32_t result = 0;               ///< byte offset in NRAM of output (0,0), kernel 0
  std::uint32_t result_pixel = 0;         ///< bytes from an output pixel to the next, rows without gaps
  std::uint32_t macs_per_output = 0;      ///< useful multiply-accumulates of an output that this run ends
  std::uint16_t rows = 0, columns = 0;    ///< output pixels
  std::uint16_t kernels = 0;              ///< output channels
  std::uint16_t height = 0;               ///< rows of the map
  std::int16_t h_offset = 0;              ///< row of the map of output row 0, tap row 0
  std::uint16_t pixel_bytes = 0;          ///< bytes of a folded pixel
  std::uint16_t first_channel = 0;        ///< byte of the folded pixel where the kernels' channels begin
  std::uint16_t channels = 0;             ///< bytes of the folded pixel that the kernels touch
  std::uint16_t granularity = 64;         ///< Pci
  std::uint16_t result_granularity = 64;  ///< Pco, in bytes
  WfoldReadMode read_mode = WfoldReadMode::kContinuous;
  bool block_outer = false;  ///< channel blocks are the outer loop, kernel rows the inner one
  bool begins_sums = true;   ///< the third buffers start from zero; false: from the run before
  bool ends_sums = true;     ///< results are finished and stored; false: a later run adds to them

  void describe(FieldVisitor& visit);
  std::string subject() const;
};

/// The bytes of kernels in the regions of WRAM for the following `wfold.run` (SPEC WF-9): the kernels' own
/// ones, which the regions' ports put to their places in a line, or with `folded` what `wfold.align` makes of
/// them. `conv.setup` goes back to folded lines that DRAM holds.
struct WfoldKernels {
  static constexpr OperationKind kKind{"wfold.kernels", 0x04, Unit::kMatrix};

  std::uint16_t channels = 1;        ///< of a kernel: those of its convolution group
  std::uint16_t group_kernels = 0;   ///< kernels of a convolution group; 0: there is one group
  std::uint16_t first_in_group = 0;  ///< number of a run's first kernel in its group
  bool folded = false;
  std::uint8_t slave_groups = 1;  ///< groups of slaves, each with neighbouring kernels and lines of its own
  /// The regions hold the kernels packed, in images at byte `image` of each (isa/weight_image.h), from which
  /// `weights` of the runs counts decoded bytes. The regions' ports read header and scales first.
  bool packed = false;
  std::uint32_t image = 0;

  void describe(FieldVisitor& visit);
  std::string subject() const;
  /// The layout that it sets.
  WfoldKernelLayout layout() const {
    return {folded ? KernelBytesAre::kFolded : KernelBytesAre::kOwn, channels, group_kernels, first_in_group,
            slave_groups};
  }
};

/// Folds the kernels of a tile in place in every region of WRAM, through the regions' ports (SPEC WF-9;
/// document 003 [0212]): the own bytes lie at the tail of the folded kernels' place, and folded lines grow
/// from its head over what has been read. The registers are those of the following `wfold.run`.
struct WfoldAlign {
  static constexpr OperationKind kKind{"wfold.align", 0x0A, Unit::kMatrix};

  std::uint32_t weights = 0;        ///< byte offset in every region of WRAM of the folded kernels
  std::uint16_t kernels = 0;        ///< output channels, at most a tile's
  std::uint16_t pixel_bytes = 0;    ///< bytes of a folded pixel
  std::uint16_t first_channel = 0;  ///< byte of the folded pixel where the kernels' channels begin
  std::uint16_t channels = 0;       ///< bytes of the folded pixel that the kernels touch

  void describe(FieldVisitor& visit);
  std::string subject() const;
};

/// The geometry of a run, with the registers of the convolution and the place of the kernels.
WfoldGeometry geometry_of(const ConvSetup& setup, const WfoldKernelLayout& kernels, const WfoldRun& run);

/// The operations of the W-fold engine.
std::vector<const OperationType*> operations();

}  // namespace tilebeat::wfold
