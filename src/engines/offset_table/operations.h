#pragma once

#include "engines/offset_table/tables.h"
#include "isa/operation.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat {

constexpr FieldChoices choices_of(MapLayout) {
  return {"layout", kMapLayoutNames.data(), kMapLayoutNames.size()};
}

}  // namespace tilebeat

namespace tilebeat::offset_table {

constexpr FieldChoices choices_of(ThreadOrder) {
  return {"order of threads", kThreadOrderNames.data(), kThreadOrderNames.size()};
}
constexpr FieldChoices choices_of(MaskKind) {
  return {"kind of masks", kMaskKindNames.data(), kMaskKindNames.size()};
}

/// The setup of all runs of a layer, besides the registers of `conv.setup` (SPEC OT-1, OT-2): the order of
/// channels in the map, and the packing of kernels.
struct OffsetSetup {
  static constexpr OperationKind kKind{"offset.setup", 0x07, Unit::kMatrix};

  MapLayout layout = MapLayout::kNhwc;
  ThreadOrder order = ThreadOrder::kLinear;
  std::uint16_t block = 1;          ///< channels of a block of NCHWc
  std::uint16_t channels = 1;       ///< channels of the map
  std::uint16_t groups = 1;         ///< groups of channels and kernels
  std::uint16_t group_kernels = 1;  ///< kernels of one group
  std::uint16_t block_kernels = 1;  ///< kernels that lie in memory as one block
  std::uint8_t vector = 1;        ///< most elements of a thread and beat, and most bytes of a kernel and beat
  std::uint8_t bank_shift = 0;    ///< bank shift of the line cache (BankOrder)
  std::uint16_t part = 1;         ///< neighbouring channels that are worked on tap by tap (OffsetSchedule)
  std::uint32_t useful_taps = 1;  ///< useful multiply-accumulates of an output element, for each channel

  void describe(FieldVisitor& visit);
};

/// The place and size of the maps of the runs that follow.
struct OffsetMap {
  static constexpr OperationKind kKind{"offset.map", 0x08, Unit::kMatrix};

  std::uint64_t tables = 0;                 ///< address of their image in DRAM; 0: addresses are computed
  std::uint16_t rows = 0, columns = 0;      ///< output pixels
  std::uint16_t height = 0, width = 0;      ///< extents of the map; height 0: there is no map, all is padding
  std::int16_t h_offset = 0, w_offset = 0;  ///< pixel of the map under output (0,0), tap (0,0)

  void describe(FieldVisitor& visit);
};

/// A convolution of the map of the last `offset.map`: its output pixels are threads, each multiplied with
/// `kernels` kernels. Results lie without gaps between rows.
///
/// A block of kernels is stored slice by slice (kernels of one group), within a slice beat by beat
/// (OffsetSchedule), within a beat kernel by kernel.
struct OffsetRun {
  static constexpr OperationKind kKind{"offset.run", 0x09, Unit::kMatrix};

  std::uint64_t map = 0;      ///< address of the map's first element
  std::uint64_t weights = 0;  ///< address of the first block of kernels
  /// Address of the image that holds the kernels, from which `weights` counts decoded bytes; 0: they are
  /// int8.
  std::uint64_t image = 0;
  std::uint64_t post = 0;           ///< address of the first kernel's record of bias and scale
  std::uint64_t result = 0;         ///< address of output (0,0), first kernel
  std::uint32_t result_pixel = 0;   ///< bytes from an output pixel to the next
  std::uint16_t kernels = 0;        ///< kernels of the run
  std::uint16_t first_kernel = 0;   ///< number of the first one in the layer; begins a block
  std::uint16_t first_channel = 0;  ///< first of the summed channels
  std::uint16_t channels = 0;       ///< summed channels of each group
  bool first = true, last = true;   ///< begins, ends the sums
  bool same_map = false;            ///< the run before read the same map: lines of it are good
  bool same_image = false;          ///< the run before read the same image: its scales are still there

  void describe(FieldVisitor& visit);
  std::string subject() const;
};

/// The operations of the offset-table engine.
std::vector<const OperationType*> operations();

}  // namespace tilebeat::offset_table
