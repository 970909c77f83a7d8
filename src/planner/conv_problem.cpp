#include "tilebeat/base/math.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "conv_plan.h"

namespace tilebeat {
namespace {

// A convolution's parameters without its weights, which can be large.
Conv2d without_weights(const Conv2d& conv) {
  Conv2d copy;
  copy.kernel = conv.kernel, copy.stride = conv.stride, copy.dilation = conv.dilation, copy.pads = conv.pads;
  copy.groups = conv.groups, copy.out_channels = conv.out_channels;
  copy.weight_zero_point = conv.weight_zero_point;
  copy.bias = conv.bias, copy.activation = conv.activation, copy.requant = conv.requant;
  return copy;
}

// Weights with zeros between the taps, for the dense kernel that equals `conv` at dilation 1: the baseline of
// SW-3.
Tensor insert_zeros(const Conv2d& conv, const std::array<int, 2>& dense_kernel) {
  const std::int64_t depth = conv.weights.shape[3];
  Tensor dense;
  dense.dtype = conv.weights.dtype;
  dense.shape = {conv.out_channels, dense_kernel[0], dense_kernel[1], depth};
  dense.bytes.assign(static_cast<std::size_t>(dense.elements()),
                     static_cast<std::uint8_t>(conv.weight_zero_point));
  for (int k = 0; k < conv.out_channels; ++k) {
    for (int r = 0; r < conv.kernel[0]; ++r) {
      for (int s = 0; s < conv.kernel[1]; ++s) {
        const auto from = ((std::int64_t{k} * conv.kernel[0] + r) * conv.kernel[1] + s) * depth;
        const auto to = ((std::int64_t{k} * dense_kernel[0] + r * conv.dilation[0]) * dense_kernel[1] +
                         s * conv.dilation[1]) *
                        depth;
        std::memcpy(dense.bytes.data() + to, conv.weights.bytes.data() + from,
                    static_cast<std::size_t>(depth));
      }
    }
  }
  return dense;
}

// One axis of a tile: the output pixels and the input pixels inside the map that they need.
struct Span {
  int out = 0, outs = 0, in = 0, ins = 0, offset = 0;
};
Span span_of(int out, int outs, int extent, int kernel, int stride, int dilation, int pad) {
  const int first = out * stride - pad;
  const int last = (out + outs - 1) * stride + (kernel - 1) * dilation - pad;
  const int begin = std::clamp(first, 0, extent);
  const int end = std::clamp(last + 1, begin, extent);
  return {out, outs, begin, end - begin, first - begin};
}

}  // namespace

ConvProblem make_problem(const Workload& workload, const Layer& layer, const PlannerConfig& planner,
                         int block_kernels) {
  ConvProblem p;
  p.name = layer.name;
  const auto& conv = std::get<Conv2d>(layer.operation);
  p.conv = without_weights(conv);
  p.weights = std::shared_ptr<const Tensor>(std::shared_ptr<const Tensor>(), &conv.weights);
  p.useful_taps = p.taps();
  p.block_kernels = block_kernels;
  p.end_block = ceil_div(conv.out_channels, block_kernels);
  if (planner.zero_inserted) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      p.conv.kernel[axis] = (conv.kernel[axis] - 1) * conv.dilation[axis] + 1;
      p.conv.dilation[axis] = 1;
    }
    p.weights = std::make_shared<const Tensor>(insert_zeros(conv, p.conv.kernel));
  }
  p.input = workload.tensor(layer.inputs.front());
  p.output = layer.output;
  const auto dim = [](std::int64_t d) { return static_cast<int>(d); };
  p.batch = dim(p.input.shape[0]), p.height = dim(p.input.shape[1]), p.width = dim(p.input.shape[2]);
  p.channels = dim(p.input.shape[3]);
  p.out_height = dim(p.output.shape[1]), p.out_width = dim(p.output.shape[2]);
  return p;
}

PlaneRange planes_of(const ConvProblem& p, const ArrayShape& array, int kernel_block) {
  const int kernels_per_group = p.conv.out_channels / p.conv.groups;
  const int channels_per_group = p.channels / p.conv.groups;
  const int first = kernel_block * array.columns;
  const int last = std::min(p.conv.out_channels, first + array.columns) - 1;
  const int begin = first / kernels_per_group * channels_per_group;
  const int end = (last / kernels_per_group + 1) * channels_per_group;
  return {begin / array.port_channels, ceil_div(end, array.port_channels)};
}

std::vector<Tile> tiles_of(const ConvProblem& p, const ConvTiling& tiling) {
  std::vector<Tile> tiles;
  const Conv2d& c = p.conv;
  for (int n = 0; n < p.batch; ++n) {
    for (int row = 0; row < p.out_height; row += tiling.tile_rows) {
      const Span h = span_of(row, std::min(tiling.tile_rows, p.out_height - row), p.height, c.kernel[0],
                             c.stride[0], c.dilation[0], c.pads[0]);
      for (int column = 0; column < p.out_width; column += tiling.tile_columns) {
        const Span w = span_of(column, std::min(tiling.tile_columns, p.out_width - column), p.width,
                               c.kernel[1], c.stride[1], c.dilation[1], c.pads[1]);
        Tile tile{n, h.out, w.out, h.outs, w.outs, h.in, w.in, h.ins, w.ins, h.offset, w.offset};
        if (tile.height == 0 || tile.width == 0) tile.height = tile.width = 0;  // padding alone
        tiles.push_back(tile);
      }
    }
  }
  return tiles;
}

std::int64_t macs_per_pixel(const ConvProblem& p, const ArrayShape& array, int kernel_block,
                            PlaneRange planes) {
  const int kernels_per_group = p.conv.out_channels / p.conv.groups;
  const int channels_per_group = p.channels / p.conv.groups;
  const int first = kernel_block * array.columns;
  const int last = std::min(p.conv.out_channels, first + array.columns);
  std::int64_t pairs = 0;
  for (int k = first; k < last; ++k) {
    const int group = k / kernels_per_group;
    const int begin = std::max(group * channels_per_group, planes.begin * array.port_channels);
    const int end = std::min((group + 1) * channels_per_group, planes.end * array.port_channels);
    pairs += std::max(0, end - begin);
  }
  return pairs * p.useful_taps;
}

PackedKernels pack_kernels(const ConvProblem& p, const ArrayShape& array, const ConvTiling& tiling) {
  PackedKernels packed;
  const int kernels_per_group = p.conv.out_channels / p.conv.groups;
  const int channels_per_group = p.channels / p.conv.groups;
  const auto fill = static_cast<std::uint8_t>(p.conv.weight_zero_point);
  const auto word_bytes = static_cast<std::size_t>(array.port_channels);
  packed.blocks.push_back(0);
  for (int kb = 0; kb < tiling.kernel_blocks; ++kb) {
    const PlaneRange all = planes_of(p, array, kb);
    std::vector<std::uint8_t> bytes;
    bytes.reserve(static_cast<std::size_t>(all.size() * p.taps() * array.columns) * word_bytes);
    for (int begin = all.begin; begin < all.end; begin += tiling.planes_per_chunk) {
      packed.offsets[{kb, begin}] = packed.blocks.back() + bytes.size();
      const int end = std::min(all.end, begin + tiling.planes_per_chunk);
      for (int plane = begin; plane < end; ++plane) {
        for (int tap = 0; tap < p.taps(); ++tap) {
          for (int column = 0; column < array.columns; ++column) {
            const int k = kb * array.columns + column;
            const int group_begin = k / kernels_per_group * channels_per_group;
            const int first = plane * array.port_channels - group_begin;
            if (k < p.conv.out_channels && first >= 0 && first + array.port_channels <= channels_per_group) {
              const std::int64_t from = (std::int64_t{k} * p.taps() + tap) * channels_per_group + first;
              const std::uint8_t* word = p.weights->bytes.data() + from;
              bytes.insert(bytes.end(), word, word + word_bytes);
              continue;
            }
            for (int i = 0; i < array.port_channels; ++i) {
              const int channel = plane * array.port_channels + i - group_begin;
              const bool exists = k < p.conv.out_channels && channel >= 0 && channel < channels_per_group;
              const std::int64_t at = (std::int64_t{k} * p.taps() + tap) * channels_per_group + channel;
              bytes.push_back(exists ? p.weights->bytes[static_cast<std::size_t>(at)] : fill);
            }
          }
        }
      }
    }
    packed.blocks.push_back(packed.blocks.back() + bytes.size());
    packed.bytes.push_back(std::move(bytes));
  }
  return packed;
}

PostParameter post_parameter(const ConvProblem& p, int kernel) {
  PostParameter parameter;
  if (kernel >= p.conv.out_channels) return parameter;
  const auto index = static_cast<std::size_t>(kernel);
  if (!p.conv.bias.empty()) parameter.bias = p.conv.bias[index];
  if (p.conv.requant)
    parameter.scale =
        p.conv.requant->scale.size() == 1 ? p.conv.requant->scale[0] : p.conv.requant->scale[index];
  return parameter;
}

std::vector<std::uint8_t> pack_post_parameters(const ConvProblem& p, const ArrayShape& array) {
  std::vector<std::uint8_t> bytes;
  if (p.conv.bias.empty() && !p.conv.requant) return bytes;
  const int records = align_up(p.conv.out_channels, array.columns);
  for (int k = 0; k < records; ++k) {
    const auto record = encode(post_parameter(p, k));
    bytes.insert(bytes.end(), record.begin(), record.end());
  }
  return bytes;
}

}  // namespace tilebeat
