#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/isa/instruction.h"
#include "tilebeat/mapping/subpixel.h"
#include "tilebeat/mapping/tensor_layout.h"
#include "tilebeat/mapping/window.h"
#include "tilebeat/workload/workload.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// Kernels that are a tensor, B of a product: bytes from one set, kernel and channel to the next. One of the
/// last two is 1.
struct KernelTensor {
  TensorInfo info;
  std::int64_t set_stride = 0, kernel_stride = 1, channel_stride = 1;
};

/// A convolution as planner and engines see it: the loops of the operator, shapes resolved, the zero-inserted
/// baseline applied, output channels in the engine's kernel blocks.
struct Problem {
  std::string name;  ///< of the layer
  TensorInfo input, output;
  Conv2d conv;  ///< without weights; dense when the zero-inserted baseline is asked for
  /// [sets, Co, Kh, Kw, Ci/groups], zeros inserted likewise; empty when there is a kernel tensor.
  std::shared_ptr<const Tensor> weights;
  std::optional<KernelTensor> kernel_tensor;
  /// Of a transposed convolution: its results are pixels of several pixels of the output.
  std::optional<Interleaving> interleaving;
  /// Of a product, by image of the output: the image of the map and the set of kernels that it is made of.
  /// Empty: every image of its own map, with the only set.
  std::vector<int> map_images, kernel_sets;
  int sets = 1;                                 ///< of kernels
  MatrixOrder map_order = MatrixOrder::kPlain;  ///< kTransposed: the pixels of a channel are neighbours
  std::int64_t useful_taps = 0;                 ///< of an output that are useful work: all but inserted zeros
  int batch = 1, height = 0, width = 0, channels = 0, out_height = 0, out_width = 0;
  int block_kernels = 1;  ///< kernels of a kernel block

  int taps() const { return conv.kernel[0] * conv.kernel[1]; }
  int kernel_blocks() const { return ceil_div(conv.out_channels, block_kernels); }  ///< of a set
  int map_image(int image) const {
    return map_images.empty() ? image : map_images[static_cast<std::size_t>(image)];
  }
  int kernel_set(int image) const {
    return kernel_sets.empty() ? 0 : kernel_sets[static_cast<std::size_t>(image)];
  }
  /// Where the map lies when its first element has the address `address`.
  TensorLayout map_layout(std::uint64_t address) const;
  /// Kernels of blocks `blocks` that exist.
  int kernels_of(Interval blocks) const {
    return std::min(blocks.size() * block_kernels, conv.out_channels - blocks.begin * block_kernels);
  }
  /// Whether results need biases or scales.
  bool has_post_parameters() const { return !conv.bias.empty() || conv.requant; }
  int element_bytes() const { return dtype_size(output.dtype); }
  WindowAxis axis_h() const {
    return {height, conv.kernel[0], conv.stride[0], conv.dilation[0], conv.pads[0]};
  }
  WindowAxis axis_w() const {
    return {width, conv.kernel[1], conv.stride[1], conv.dilation[1], conv.pads[1]};
  }
};

/// Extents of a tensor that is looked at as a map.
struct MapExtents {
  int images = 1, height = 1, width = 1, channels = 1;
  friend bool operator==(const MapExtents& a, const MapExtents& b) {
    return a.images == b.images && a.height == b.height && a.width == b.width && a.channels == b.channels;
  }
};
/// Rows [..., K] as pixels of one map with K channels, whose width suits the arrays.
MapExtents rows_as_map(const TensorInfo& tensor);

/// The problem of a whole layer, in blocks of `block_kernels` kernels. `workload` outlives it.
Problem make_problem(const Workload& workload, const Layer& layer, const PlannerConfig& planner,
                     int block_kernels);

/// Channels [begin, end) that kernels [kernels.begin, kernels.end) touch: those of their groups.
Interval channels_of_kernels(const Problem& problem, Interval kernels);

/// The registers of the convolution. Throws UserError for what they cannot hold.
ConvSetup conv_setup(const Problem& problem);
/// `value` as a field of 16 bits. Throws UserError that the layer cannot fit when it is not.
std::uint16_t narrow(const Problem& problem, std::int64_t value, const char* what);
/// `value`, an offset that padding makes negative, as a signed field of 16 bits. Throws UserError likewise.
std::int16_t narrow_offset(const Problem& problem, std::int64_t value);
/// The post-parameters of kernel `kernel`; neutral ones when the layer has none or there is no such kernel.
PostParameter post_parameter(const Problem& problem, int kernel);

/// Output pixels of one image that are computed together: a tile, or the part of a core.
struct OutputTile {
  int image = 0;
  Window h, w;
  bool padding_only() const { return h.ins == 0 || w.ins == 0; }
};
/// A tile as a problem of its own, whose map is the tile's inputs alone.
Problem tile_problem(const Problem& problem, const OutputTile& tile);

}  // namespace tilebeat
