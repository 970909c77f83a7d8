#pragma once

#include "engines/rolling/schedule.h"
#include "isa/operation.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat::rolling {

constexpr FieldChoices choices_of(Variant) {
  return {"variant", kVariantNames.data(), kVariantNames.size()};
}
constexpr FieldChoices choices_of(Scheme) {
  return {"scheme", kSchemeNames.data(), kSchemeNames.size()};
}
constexpr FieldChoices choices_of(Transposition) {
  return {"transposition", kTranspositionNames.data(), kTranspositionNames.size()};
}
constexpr FieldChoices choices_of(Realignment) {
  return {"realignment", kRealignmentNames.data(), kRealignmentNames.size()};
}
constexpr FieldChoices choices_of(Wrap) {
  return {"wrap", kWrapNames.data(), kWrapNames.size()};
}

/// The setup of all products of a layer, besides the registers of `conv.setup`: the mode of the
/// rolling-register unit, and the layout of its operands (SPEC RO-2 to RO-5).
struct RollingSetup {
  static constexpr OperationKind kKind{"rolling.setup", 0x05, Unit::kMatrix};

  Variant variant = Variant::kRightBUp;
  Scheme scheme = Scheme::kPlain;
  Realignment realignment = Realignment::kRolling;
  Wrap wrap = Wrap::kRegister;
  Transposition transposition = Transposition::kInMemory;
  std::uint8_t stacked_blocks = 1, stacked_cuts = 1;
  std::uint16_t pixel_bytes = 1;     ///< bytes of a map pixel: the channels of all groups
  std::uint16_t group_channels = 1;  ///< channels of one group
  std::uint16_t group_kernels = 1;   ///< kernels of one group
  std::uint16_t block_kernels = 1;   ///< kernels that lie in memory as one block
  std::uint16_t images = 1;          ///< images of every run, one after the other
  std::uint32_t useful_taps = 1;     ///< useful multiply-accumulates of an output element, for each channel

  void describe(FieldVisitor& visit);
};

/// A product of a map's pixels and kernels. Rows of A are output pixels `rows` x `columns` of every image;
/// their elements run over blocks of channels (RollingSchedule::channel_block), taps, and the channels of the
/// block. Columns of B are `kernels` kernels. Map and results lie without gaps between rows and images.
///
/// A block of kernels is stored as cuts of n as long as a line: in each cut the kernels one after the other
/// or, if transposed while loading, the elements of n, with all kernels for each.
struct RollingRun {
  static constexpr OperationKind kKind{"rolling.run", 0x06, Unit::kMatrix};

  std::uint64_t map = 0;                    ///< address of the map's first pixel
  std::uint64_t weights = 0;                ///< address of the first block of kernels
  std::uint64_t post = 0;                   ///< address of the first kernel's record of bias and scale
  std::uint64_t result = 0;                 ///< address of output (0,0), first kernel
  std::uint32_t result_pixel = 0;           ///< bytes from an output pixel to the next
  std::uint16_t rows = 0, columns = 0;      ///< output pixels
  std::uint16_t kernels = 0;                ///< columns of B
  std::uint16_t height = 0, width = 0;      ///< extents of the map; height 0: there is no map, all is padding
  std::int16_t h_offset = 0, w_offset = 0;  ///< pixel of the map under output (0,0), tap (0,0)
  std::uint16_t first_kernel = 0;           ///< number of the first kernel in the layer
  std::uint16_t first_channel = 0;          ///< first of the summed channels
  std::uint16_t channels = 0;               ///< summed channels of each group
  bool first = true, last = true;           ///< begins, ends the sums
  /// The kernels lie in memory as for transposition while loading, and are transposed there first, cut by
  /// cut.
  bool transposes = false;
  bool packed = false;  ///< an image at `weights` holds the kernels (isa/weight_image.h); they are not int8
  bool same_image = false;  ///< the run before read the same image: its scales are still there

  void describe(FieldVisitor& visit);
  std::string subject() const;
};

/// The operations of the rolling-register unit.
std::vector<const OperationType*> operations();

}  // namespace tilebeat::rolling
