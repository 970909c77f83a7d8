// Convolutions, products of matrices and poolings of float32 with the order of sums of ONNX Runtime's kernels
// for x86-64 with AVX2 and FMA.
#include "base/types.h"
#include "host/host.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace tilebeat::host {
namespace {

using Reals = std::vector<float>;

/// A matrix in place: element (i, j) is at first + i * row + j * column.
struct Matrix {
  const float* first = nullptr;
  std::int64_t row = 0, column = 1;
  float at(std::int64_t i, std::int64_t j) const { return first[i * row + j * column]; }
};

/// A product of m x k by k x n.
struct Sizes {
  std::int64_t m = 1, k = 1, n = 1;
};

constexpr std::int64_t kPackedBlock = 256;

/// Elements of k that are summed before they are added to the result, for operands that are not packed
/// ahead.
std::int64_t block_of(std::int64_t columns, std::int64_t k, bool a_transposed) {
  std::int64_t stride_n = 128, stride_k = 128;
  if (columns >= k) {
    while (stride_k / 2 >= k && stride_k > 1) stride_k /= 2;
  } else if (!a_transposed) {
    while (stride_n > 16 && stride_n / 2 >= columns) stride_n /= 2, stride_k *= 2;
  }
  return stride_k;
}

/// Adds alpha * A * B to c, or sets it where `fresh`: sums by fma over blocks of k.
void multiply_by_blocks(const Matrix& a, const Matrix& b, Sizes size, std::int64_t block, float alpha,
                        bool fresh, float* c) {
  Reals sums(to_size(size.n));
  for (std::int64_t i = 0; i < size.m; ++i) {
    float* row = c + i * size.n;
    bool first = fresh;
    for (std::int64_t begin = 0; begin < size.k; begin += block) {
      std::fill(sums.begin(), sums.end(), 0.0F);
      for (std::int64_t q = begin; q < std::min(size.k, begin + block); ++q) {
        const float x = a.at(i, q);
        for (std::int64_t j = 0; j < size.n; ++j) nth(sums, j) = std::fma(x, b.at(q, j), nth(sums, j));
      }
      for (std::int64_t j = 0; j < size.n; ++j)
        row[j] = first ? nth(sums, j) * alpha : std::fma(nth(sums, j), alpha, row[j]);
      first = false;
    }
  }
}

/// The kernel for one row of A: four products at a time, then two, then one, without fma.
void multiply_row(const Matrix& a, const Matrix& b, Sizes size, bool fresh, float* c) {
  std::int64_t q = 0;
  bool first = fresh;
  for (const std::int64_t step : {4, 2, 1}) {
    for (; q + step <= size.k; q += step) {
      for (std::int64_t j = 0; j < size.n; ++j) {
        float sum = a.at(0, q) * b.at(q, j);
        for (std::int64_t u = 1; u < step; ++u) {
          const float product = a.at(0, q + u) * b.at(q + u, j);
          sum += product;
        }
        c[j] = first ? sum : sum + c[j];
      }
      first = false;
    }
  }
}

/// The kernel for rows of B with neighbouring elements: eight lanes along k, which are added in an order that
/// depends on the place among four outputs.
void multiply_lanes(const Matrix& a, const Matrix& b, Sizes size, bool fresh, float* c) {
  const std::int64_t fours = size.n / 4 * 4, twos = fours + size.n % 4 / 2 * 2;
  for (std::int64_t j = 0; j < size.n; ++j) {
    std::array<float, 8> l{};
    for (std::int64_t q = 0; q < size.k; ++q) {
      const float product = a.at(0, q) * b.at(q, j);
      nth(l, q % 8) += product;
    }
    float sum = 0;
    if (j < fours) {
      sum = ((l[0] + l[1]) + l[2] + l[3]) + ((l[4] + l[5]) + l[6] + l[7]);
    } else if (j < twos) {
      sum = ((l[2] + l[0]) + (l[6] + l[4])) + ((l[3] + l[1]) + (l[7] + l[5]));
    } else {
      sum = ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]));
    }
    c[j] = fresh ? sum : sum + c[j];
  }
}

/// A product whose operands are both results of the network.
void multiply(const Matrix& a, const Matrix& b, Sizes size, float alpha, bool fresh, float* c) {
  const bool a_transposed = a.column != 1 && size.m > 1, b_transposed = b.column != 1 && size.n > 1;
  if (alpha == 1 && size.m == 1)
    return b_transposed ? multiply_lanes(a, b, size, fresh, c) : multiply_row(a, b, size, fresh, c);
  if (alpha == 1 && size.n == 1 && !a_transposed) {
    // The same kernel with the operands exchanged: rows of A take the place of columns of B.
    const Matrix row{b.first, 0, b.row}, rows{a.first, a.column, a.row};
    return multiply_lanes(row, rows, {1, size.k, size.m}, fresh, c);
  }
  multiply_by_blocks(a, b, size, block_of(size.n, size.k, a_transposed), alpha, fresh, c);
}

void multiply(const HostProduct& product, const Matrix& a, const Matrix& b, Sizes size, bool fresh,
              float* c) {
  if (product.weights == HostWeights::kResult) return multiply(a, b, size, product.alpha, fresh, c);
  multiply_by_blocks(a, b, size, kPackedBlock, product.alpha, fresh, c);
}

std::int64_t product_of(const std::vector<std::int64_t>& shape, std::size_t begin, std::size_t end) {
  return std::accumulate(shape.begin() + to_signed(begin), shape.begin() + to_signed(end), std::int64_t{1},
                         std::multiplies<>());
}

/// The matrix of a tensor of several that belongs to matrix `number` of the output.
std::int64_t matrix_of(std::int64_t number, const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& output) {
  std::int64_t found = 0, step = 1;
  for (std::size_t i = 3; i <= output.size(); ++i) {
    const std::int64_t extent = output[output.size() - i], at = number % extent;
    number /= extent;
    if (i > shape.size()) continue;
    const std::int64_t own = shape[shape.size() - i];
    if (own > 1) found += at * step;
    step *= own;
  }
  return found;
}

Tensor gemm(const HostProduct& product, const std::vector<Operand>& inputs, const TensorInfo& output) {
  const Reals a = reals_of(inputs[0].tensor), b = reals_of(inputs[1].tensor);
  const std::int64_t columns_a = inputs[0].info.shape[1], columns_b = inputs[1].info.shape[1];
  const Sizes size{output.shape[0], product.a_transposed ? inputs[0].info.shape[0] : columns_a,
                   output.shape[1]};
  Reals made(to_size(size.m * size.n));
  const bool adds = inputs.size() > 2 && product.beta != 0;
  if (adds) {
    const Reals c = reals_of(inputs[2].tensor);
    std::vector<std::int64_t> shape = inputs[2].info.shape;
    while (shape.size() < 2) shape.insert(shape.begin(), 1);
    for (std::int64_t i = 0; i < size.m; ++i) {
      for (std::int64_t j = 0; j < size.n; ++j)
        nth(made, i * size.n + j) =
            product.beta * nth(c, (shape[0] == 1 ? 0 : i) * shape[1] + (shape[1] == 1 ? 0 : j));
    }
  }
  const Matrix left = product.a_transposed ? Matrix{a.data(), 1, columns_a} : Matrix{a.data(), columns_a, 1};
  const Matrix right = product.b_transposed ? Matrix{b.data(), 1, columns_b} : Matrix{b.data(), columns_b, 1};
  multiply(product, left, right, size, !adds, made.data());
  return tensor_of(made, output);
}

Tensor matmul(const HostProduct& product, const std::vector<Operand>& inputs, const TensorInfo& output) {
  const Reals a = reals_of(inputs[0].tensor), b = reals_of(inputs[1].tensor);
  const std::vector<std::int64_t>&as = inputs[0].info.shape, &bs = inputs[1].info.shape, &os = output.shape;
  Sizes size{os[os.size() - 2], as.back(), os.back()};
  std::int64_t matrices = product_of(os, 0, os.size() - 2);
  // Matrices that are multiplied by the same one are one matrix.
  if (product_of(bs, 0, bs.size() - 2) == 1 && as.size() >= bs.size()) size.m *= matrices, matrices = 1;
  Reals made(to_size(matrices * size.m * size.n));
  for (std::int64_t i = 0; i < matrices; ++i) {
    const std::int64_t from_a = matrices == 1 ? 0 : matrix_of(i, as, os);
    const std::int64_t from_b = matrices == 1 ? 0 : matrix_of(i, bs, os);
    multiply(product, {&a[to_size(from_a * size.m * size.k)], size.k, 1},
             {&b[to_size(from_b * size.k * size.n)], size.n, 1}, size, true,
             &made[to_size(i * size.m * size.n)]);
  }
  return tensor_of(made, output);
}

}  // namespace

Tensor computed(const HostProduct& product, const std::vector<Operand>& inputs, const TensorInfo& output) {
  return product.is_gemm ? gemm(product, inputs, output) : matmul(product, inputs, output);
}

namespace {

/// A convolution of one group of one image.
struct GroupConv {
  const HostConv& conv;
  std::array<std::int64_t, 2> map, kernel, out;
  std::int64_t channels = 1, kernels = 1;
  const float* x = nullptr;
  const float* w = nullptr;

  std::int64_t taps() const { return kernel[0] * kernel[1]; }
  std::int64_t pixels() const { return out[0] * out[1]; }
  /// The elements under tap `tap` of channel `c`, 0 on pads, by output pixel.
  void gather(std::int64_t c, std::int64_t tap, float* to) const {
    const std::int64_t top = tap / kernel[1] * conv.dilation[0] - conv.pads[0];
    const std::int64_t left = tap % kernel[1] * conv.dilation[1] - conv.pads[1];
    for (std::int64_t row = 0; row < out[0]; ++row) {
      const std::int64_t h = row * conv.stride[0] + top;
      for (std::int64_t column = 0; column < out[1]; ++column, ++to) {
        const std::int64_t v = column * conv.stride[1] + left;
        const bool inside = h >= 0 && h < map[0] && v >= 0 && v < map[1];
        *to = inside ? x[(c * map[0] + h) * map[1] + v] : 0;
      }
    }
  }
};

/// Channels that the runtime's kernels for blocks of channels sum together, taps outside; none: it multiplies
/// matrices of gathered columns instead.
std::optional<std::int64_t> channel_block(const GroupConv& g) {
  constexpr std::int64_t kBlock = 8, kAligned = 4, kPointwise = 128;
  const HostConv& conv = g.conv;
  if (conv.weights == HostWeights::kResult) return std::nullopt;
  const std::int64_t all_kernels = g.kernels * conv.groups, all_channels = g.channels * conv.groups;
  if (conv.groups > 1) {
    if (all_kernels % kAligned != 0) return std::nullopt;
    if (g.channels == 1 && g.kernels == 1) return kBlock;  // depthwise
    if (all_channels % kBlock != 0 || g.kernels % kBlock != 0) return std::nullopt;
    return kBlock;
  }
  if (g.channels < kBlock) return 1;
  if (g.channels % kAligned != 0) return std::nullopt;
  const bool pads = std::any_of(conv.pads.begin(), conv.pads.end(), [](int pad) { return pad != 0; });
  return g.taps() == 1 && !pads ? kPointwise : kBlock;
}

void convolve_by_channels(const GroupConv& g, std::int64_t block, Reals& made) {
  Reals line(to_size(g.pixels())), sums(made.size());
  for (std::int64_t begin = 0; begin < g.channels; begin += block) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (std::int64_t tap = 0; tap < g.taps(); ++tap) {
      for (std::int64_t c = begin; c < std::min(g.channels, begin + block); ++c) {
        g.gather(c, tap, line.data());
        for (std::int64_t k = 0; k < g.kernels; ++k) {
          const float weight = g.w[(k * g.channels + c) * g.taps() + tap];
          float* to = &sums[to_size(k * g.pixels())];
          for (std::size_t i = 0; i < line.size(); ++i) to[i] = std::fma(weight, line[i], to[i]);
        }
      }
    }
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = begin == 0 ? sums[i] : made[i] + sums[i];
  }
}

void convolve_columns(const GroupConv& g, Reals& made) {
  const std::int64_t k = g.channels * g.taps();
  Reals columns(to_size(k * g.pixels()));
  for (std::int64_t i = 0; i < k; ++i)
    g.gather(i / g.taps(), i % g.taps(), &columns[to_size(i * g.pixels())]);
  const Sizes size{g.kernels, k, g.pixels()};
  const Matrix kernels{g.w, k, 1}, pixels{columns.data(), g.pixels(), 1};
  if (g.kernels == 1) return multiply_row(kernels, pixels, size, true, made.data());
  multiply_by_blocks(kernels, pixels, size, block_of(size.n, k, false), 1, true, made.data());
}

}  // namespace

Tensor computed(const HostConv& conv, const std::vector<Operand>& inputs, const TensorInfo& output) {
  const Reals x = reals_of(inputs[0].tensor), w = reals_of(inputs[1].tensor);
  const std::vector<std::int64_t>&in = inputs[0].info.shape, &ks = inputs[1].info.shape, &os = output.shape;
  const Reals bias = inputs.size() > 2 ? reals_of(inputs[2].tensor) : Reals{};
  Reals made;
  for (std::int64_t image = 0; image < in[0]; ++image) {
    for (std::int64_t group = 0; group < conv.groups; ++group) {
      GroupConv g{conv, {in[2], in[3]}, {ks[2], ks[3]}, {os[2], os[3]}};
      g.channels = ks[1], g.kernels = ks[0] / conv.groups;
      g.x = &x[to_size((image * in[1] + group * g.channels) * in[2] * in[3])];
      g.w = &w[to_size(group * g.kernels * g.channels * g.taps())];
      Reals part(to_size(g.kernels * g.pixels()));
      const auto block = channel_block(g);
      block ? convolve_by_channels(g, *block, part) : convolve_columns(g, part);
      for (std::size_t i = 0; i < part.size() && !bias.empty(); ++i)
        part[i] += nth(bias, group * g.kernels + to_signed(i) / g.pixels());
      made.insert(made.end(), part.begin(), part.end());
    }
  }
  return tensor_of(made, output);
}

namespace {

/// The sum over a window of a channel: whole blocks of channels are summed pixel by pixel, others column by
/// column.
float window_sum(const float* plane, std::int64_t width, const std::array<std::array<std::int64_t, 2>, 2>& at,
                 bool by_pixel) {
  float sum = 0;
  if (by_pixel) {
    for (std::int64_t h = at[0][0]; h < at[0][1]; ++h) {
      for (std::int64_t v = at[1][0]; v < at[1][1]; ++v) sum += plane[h * width + v];
    }
    return sum;
  }
  for (std::int64_t v = at[1][0]; v < at[1][1]; ++v) {
    float column = 0;
    for (std::int64_t h = at[0][0]; h < at[0][1]; ++h) column += plane[h * width + v];
    sum += column;
  }
  return sum;
}

/// The sum of a whole plane in four lanes.
float plane_sum(const float* plane, std::int64_t count) {
  std::array<float, 4> lanes{};
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) lanes[lane] += plane[to_size(i) + lane];
  }
  float sum = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
  for (; i < count; ++i) sum += plane[i];
  return sum;
}

}  // namespace

Tensor computed(const HostPool& pool, const std::vector<Operand>& inputs, const TensorInfo& output) {
  const Reals x = reals_of(inputs[0].tensor);
  const std::vector<std::int64_t>&in = inputs[0].info.shape, &os = output.shape;
  const bool by_pixel = in[1] % 8 == 0;
  Reals made;
  for (std::int64_t plane = 0; plane < in[0] * in[1]; ++plane) {
    const float* first = &x[to_size(plane * in[2] * in[3])];
    for (std::int64_t i = 0; i < os[2] * os[3]; ++i) {
      std::array<std::array<std::int64_t, 2>, 2> at{};  // begin and end of rows and columns
      std::int64_t cells = 1;
      float greatest = std::numeric_limits<float>::lowest();
      for (std::size_t axis = 0; axis < 2; ++axis) {
        const std::int64_t o = axis == 0 ? i / os[3] : i % os[3];
        const std::int64_t begin = o * pool.stride[axis] - pool.pads[axis], extent = in[2 + axis];
        const std::int64_t end = std::min(begin + pool.kernel[axis], extent + pool.pads[axis + 2]);
        at[axis] = {std::max<std::int64_t>(0, begin), std::min(end, extent)};
        cells *= pool.count_include_pad ? end - begin : at[axis][1] - at[axis][0];
      }
      for (std::int64_t u = 0; u < pool.kernel[0] && pool.kind == HostPool::Kind::kMax; ++u) {
        const std::int64_t h = i / os[3] * pool.stride[0] + u * pool.dilation[0] - pool.pads[0];
        for (std::int64_t v = 0; v < pool.kernel[1]; ++v) {
          const std::int64_t c = i % os[3] * pool.stride[1] + v * pool.dilation[1] - pool.pads[1];
          if (h >= 0 && h < in[2] && c >= 0 && c < in[3]) greatest = std::max(greatest, first[h * in[3] + c]);
        }
      }
      if (pool.kind == HostPool::Kind::kMax) {
        made.push_back(greatest);
      } else {
        const float sum = pool.kind == HostPool::Kind::kGlobalAverage
                              ? plane_sum(first, in[2] * in[3])
                              : window_sum(first, in[3], at, by_pixel);
        made.push_back(sum / static_cast<float>(cells));
      }
    }
  }
  return tensor_of(made, output);
}

}  // namespace tilebeat::host
