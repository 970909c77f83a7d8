#pragma once

#include "base/types.h"
#include "config/hardware_config.h"
#include "isa/instruction.h"
#include "planner/language/transfer.h"
#include "workload/operators.h"
#include "workload/workload.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// Positions [begin, end) of a dimension.
struct Interval {
  int begin = 0, end = 0;
  int size() const { return end - begin; }
  bool empty() const { return end <= begin; }
};
inline bool operator==(const Interval& a, const Interval& b) {
  return a.begin == b.begin && a.end == b.end;
}

/// Part `index` of `parts` of [0, extent): sizes are multiples of `granule` but for the last, and as even as
/// that allows. A part may be empty.
inline Interval part_of(int extent, int parts, int index, int granule) {
  const std::int64_t units = ceil_div(extent, granule);
  const auto at = [&](int i) { return to_int(std::min<std::int64_t>(extent, units * i / parts * granule)); };
  return {at(index), at(index + 1)};
}
/// An upper bound of the size of the largest of these parts, less than one granule above it.
inline int largest_part_of(int extent, int parts, int granule) {
  return std::min(extent, to_int(ceil_div(ceil_div(extent, granule), parts)) * granule);
}

/// Outputs of a part along one axis, the inputs inside the map that they need, and the position of tap 0 of
/// the first output relative to the first of these inputs (negative: in the padding).
struct Window {
  int out = 0, outs = 0, in = 0, ins = 0, offset = 0;
};

/// One axis of an operator that reads a map of `extent` pixels through a sliding window: the receptive field
/// of convolutions and poolings.
struct WindowAxis {
  int extent = 0, kernel = 1, stride = 1, dilation = 1, pad = 0;

  /// The window of outputs `outs`.
  Window window(Interval outs) const {
    const int first = outs.begin * stride - pad;
    const int last = (outs.end - 1) * stride + (kernel - 1) * dilation - pad;
    const int begin = std::clamp(first, 0, extent);
    const int end = std::clamp(last + 1, begin, extent);
    return {outs.begin, outs.size(), begin, end - begin, first - begin};
  }
  /// Inputs that `outs` neighbouring outputs need away from the map's edges, at most the map's extent.
  int span(int outs) const {
    const std::int64_t ins = (outs - std::int64_t{1}) * stride + (kernel - std::int64_t{1}) * dilation + 1;
    return to_int(std::min<std::int64_t>(ins, extent));
  }
  /// `outs` outputs away from the map's edges.
  Window inner(int outs) const { return {0, outs, 0, span(outs), 0}; }
  /// The fraction of the taps of the first `outs` outputs that lies inside the map; the others are padding.
  double share_inside(int outs) const {
    std::int64_t inside = 0;
    for (int o = 0; o < outs; ++o) {
      for (int k = 0; k < kernel; ++k) {
        const int at = o * stride + k * dilation - pad;
        inside += at >= 0 && at < extent ? 1 : 0;
      }
    }
    return static_cast<double>(inside) / (static_cast<double>(outs) * kernel);
  }
  /// Number of inputs that any tap of the first `outs` outputs reads.
  std::int64_t touched(int outs) const {
    std::vector<bool> used(to_size(extent), false);
    for (int o = 0; o < outs; ++o) {
      for (int k = 0; k < kernel; ++k) {
        const int at = o * stride + k * dilation - pad;
        if (at >= 0 && at < extent) nth(used, at) = true;
      }
    }
    return std::count(used.begin(), used.end(), true);
  }
};

/// One axis of a transposed convolution as a convolution of stride 1 (a sub-pixel convolution). Its output q
/// holds `stride` neighbouring outputs of the layer, one per phase: output q * stride + phase - lead of the
/// layer. Each phase has its own kernels, with every stride-th tap of the layer's kernel: tap j of phase r is
/// tap r + (taps - 1 - j) * stride; where the kernel has no such tap, the weight is its zero point.
struct SubpixelAxis {
  int stride = 1;
  int taps = 1;  ///< taps of every phase
  int pad = 0;   ///< padding in front of the map
  int outs = 1;
  int lead = 0;  ///< phases of the first output that precede the layer's output

  /// The tap of the layer's kernel for tap `tap` of phase `phase`; may lie beyond the end of the kernel.
  int kernel_tap(int phase, int tap) const { return phase + (taps - 1 - tap) * stride; }
};

/// Axis 0 (height) or 1 (width) of the transposed convolution `conv` with `out` output pixels along it.
SubpixelAxis subpixel_axis(const Conv2d& conv, std::size_t axis, std::int64_t out);

/// The place of a sub-pixel convolution's results in the layer's output: the channels of a result pixel are
/// those of stride[0] rows x stride[1] columns of output pixels. The first lead[0] rows and lead[1] columns
/// of the map, and all beyond `height` and `width`, are dropped.
struct Interleaving {
  std::array<int, 2> stride{1, 1}, lead{0, 0};
  int height = 1, width = 1, channels = 1;  ///< extents of the layer's output
};

/// The transposed convolution `conv`, with an output of shape `output`, as a sub-pixel convolution with its
/// weights.
struct SubpixelConv {
  Conv2d conv;
  Interleaving interleaving;
  std::array<int, 2> outs{1, 1};
};
SubpixelConv subpixel_conv(const Conv2d& conv, const std::vector<std::int64_t>& output);

/// Kernels that are a tensor, such as B of a matrix product: bytes from one set, kernel and channel to the
/// next. kernel_stride or channel_stride is 1.
struct KernelTensor {
  TensorInfo info;
  std::int64_t set_stride = 0, kernel_stride = 1, channel_stride = 1;
};

/// A convolution as planner and engines see it: loop extents and shapes resolved, zeros inserted for the
/// zero-inserted baseline, output channels in kernel blocks of the engine.
struct Problem {
  std::string name;  ///< name of the layer
  TensorInfo input, output;
  Conv2d conv;  ///< without weights; dense when the zero-inserted baseline is asked for
  /// [sets, Co, Kh, Kw, Ci/groups], with inserted zeros for the baseline; none when kernels are a tensor.
  Weights weights;
  std::optional<KernelTensor> kernel_tensor;
  /// For a transposed convolution: each result pixel holds several output pixels.
  std::optional<Interleaving> interleaving;
  /// For a matrix product, by output image: the image of the map and the set of kernels that it uses. Empty:
  /// image i uses map image i and the only set.
  std::vector<int> map_images, kernel_sets;
  int sets = 1;  ///< sets of kernels
  /// The layer's input is int16: `input`, `channels` and `weights` are those of the map's bytes, whose
  /// channels are the low and the high half of each channel in turn, with the same weight for both (SPEC
  /// DT-2).
  bool of_halves = false;
  /// DMA engines decode the kernels: weights of four bits, and those of halves, which come twice.
  bool in_streams = false;
  MatrixOrder map_order = MatrixOrder::kPlain;  ///< kTransposed: the pixels of a channel are neighbours
  std::int64_t useful_taps = 0;  ///< taps of an output that are useful work: all but inserted zeros
  int batch = 1, height = 0, width = 0, channels = 0, out_height = 0, out_width = 0;
  int block_kernels = 1;  ///< kernels of a kernel block

  int taps() const { return conv.kernel[0] * conv.kernel[1]; }
  int kernel_blocks() const { return ceil_div(conv.out_channels, block_kernels); }  ///< per set
  int map_image(int image) const { return map_images.empty() ? image : nth(map_images, image); }
  int kernel_set(int image) const { return kernel_sets.empty() ? 0 : nth(kernel_sets, image); }
  /// The layout of the map whose first element has the address `address`.
  TensorLayout map_layout(std::uint64_t address) const;
  /// The number of kernels in blocks `blocks`, without those behind the last kernel.
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

/// Extents of a tensor that is seen as a map.
struct MapExtents {
  int images = 1, height = 1, width = 1, channels = 1;
  friend bool operator==(const MapExtents& a, const MapExtents& b) {
    return a.images == b.images && a.height == b.height && a.width == b.width && a.channels == b.channels;
  }
};
/// Rows [..., K] as pixels of `maps` maps of equally many pixels with K channels, with a width that suits the
/// arrays. `maps` divides the number of rows.
MapExtents rows_as_map(const TensorInfo& tensor, int maps = 1);
/// The map of a product of two results, with an image for each set of kernels, as make_problem sees it;
/// nothing where an image of the product is not made of the matrix of A with its number, as it lies.
std::optional<MapExtents> map_of_product(const Layer& layer);

/// The problem of a whole layer, in blocks of `block_kernels` kernels. `workload` outlives it. Where nothing
/// is fused, eight and more maps of one pixel under kernels of one tap are rows: fewer, and maps inside
/// fusion groups, divide better over cores as they are.
Problem make_problem(const Workload& workload, const Layer& layer, const HardwareConfig& hardware,
                     int block_kernels);

/// Channels [begin, end) that kernels `kernels` read: those of their convolution groups.
Interval channels_of_kernels(const Problem& problem, Interval kernels);

/// The register values of the convolution. Throws UserError for values that the registers cannot hold.
ConvSetup conv_setup(const Problem& problem);
/// `value` as an unsigned 16-bit field. Throws UserError naming `what` when it is out of range.
std::uint16_t narrow(const Problem& problem, std::int64_t value, const char* what);
/// `value` as a signed 16-bit field, for offsets that padding makes negative. Throws UserError when it is out
/// of range.
std::int16_t narrow_offset(const Problem& problem, std::int64_t value);
/// The post-parameters of kernel `kernel`; neutral ones when the layer has none or there is no such kernel.
PostParameter post_parameter(const Problem& problem, int kernel);

/// Output pixels of one image that are computed together: a tile, or one core's part.
struct OutputTile {
  int image = 0;
  Window h, w;
  bool padding_only() const { return h.ins == 0 || w.ins == 0; }
};
/// A tile as a problem of its own, whose map holds only the tile's inputs.
Problem tile_problem(const Problem& problem, const OutputTile& tile);

}  // namespace tilebeat
