#pragma once

#include "isa/operation.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat::dot {

/// A convolution on the dot-product engine, with the registers of the last `conv.setup`: `rows` x `columns` x
/// `kernels` outputs. The map lies without gaps. A kernel is a record of post-parameters and its weights by
/// tap and channel; kernels lie one behind the other. Results lie without gaps between rows.
struct DotRun {
  static constexpr OperationKind kKind{"dot.run", 0x0D, Unit::kMatrix};

  std::uint64_t map = 0;                    ///< address of the map's first pixel
  std::uint64_t weights = 0;                ///< address of the first kernel
  std::uint64_t result = 0;                 ///< address of output (0,0), first kernel
  std::uint32_t result_pixel = 0;           ///< bytes from an output pixel to the next
  std::uint32_t macs_per_output = 0;        ///< useful multiply-accumulates of one output element
  std::uint16_t rows = 0, columns = 0;      ///< output pixels
  std::uint16_t kernels = 0;                ///< output channels
  std::uint16_t height = 0, width = 0;      ///< of the map; height 0: there is none, all is padding
  std::int16_t h_offset = 0, w_offset = 0;  ///< pixel of the map under output (0,0), tap (0,0)
  std::uint16_t pixel_bytes = 0;            ///< of the map: the channels of all groups
  std::uint16_t channels = 0;               ///< of one group
  std::uint16_t first_kernel = 0;           ///< number of the first kernel in the layer
  std::uint16_t group_kernels = 0;          ///< kernels of one group

  void describe(FieldVisitor& visit);
  std::string subject() const;
};

/// The operations of the dot-product engine.
std::vector<const OperationType*> operations();

}  // namespace tilebeat::dot
