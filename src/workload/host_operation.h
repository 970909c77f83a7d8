#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

namespace tilebeat {

// Layers that the host computes in float32, as ONNX Runtime does on x86-64 with FMA (SPEC RN-7,
// docs/arithmetic.md). Shapes are those of ONNX: maps are [N, C, H, W]. Every operation rounds to float32;
// `fma` rounds once.

/// host_add, host_sub, host_mul, host_div, host_max, host_min, host_pow: of tensors a and b, whose axes are
/// aligned at their ends and repeated where an extent is 1. max and min with what is no number are that. pow
/// multiplies where b is one number, 2 or 3; otherwise it is powf.
struct HostElementwise {
  enum class Kind : std::uint8_t { kAdd, kSub, kMul, kDiv, kMax, kMin, kPow };
  Kind kind = Kind::kAdd;
};

/// Functions of single elements. What is no number stays that. relu: max(x, 0); clip: min(max(x, a), b);
/// leaky_relu: a * x below 0; hard_sigmoid: min(max(a * x + b, 0), 1); hard_swish: x * hard_sigmoid(x) with
/// 1/6 and 1/2. sigmoid, tanh, exp and erf are the runtime's polynomials. log is that of the C library.
struct HostFunction {
  enum class Kind : std::uint8_t {
    kRelu,
    kClip,
    kLeakyRelu,
    kHardSigmoid,
    kHardSwish,
    kSigmoid,
    kTanh,
    kExp,
    kErf,
    kLog,
    kSqrt,
    kAbs,
    kNeg
  };
  Kind kind = Kind::kRelu;
  float a = 0, b = 0;
};

/// host_softmax along `axis`: exponentials of the distances from the greatest element, times 1 / their sum in
/// eight lanes.
struct HostSoftmax {
  int axis = 0;
};

/// host_reduce_mean, host_reduce_sum over `axes`, which stay with an extent of 1: in double, rounded once.
struct HostReduce {
  enum class Kind : std::uint8_t { kMean, kSum };
  Kind kind = Kind::kMean;
  std::vector<int> axes;
};

/// The constants of a product, which the runtime brings into another order ahead, or a result of the network.
/// The order of its sums depends on it.
enum class HostWeights : std::uint8_t { kConstant, kResult };

/// host_conv of x [N, C, H, W], kernels [Co, C / groups, Kh, Kw] and, with a third input, biases [Co].
struct HostConv {
  std::array<int, 2> stride{1, 1}, dilation{1, 1};
  std::array<int, 4> pads{0, 0, 0, 0};
  int groups = 1;
  HostWeights weights = HostWeights::kConstant;
};

/// host_max_pool, host_average_pool, host_global_average_pool of maps [N, C, H, W].
struct HostPool {
  enum class Kind : std::uint8_t { kMax, kAverage, kGlobalAverage };
  Kind kind = Kind::kMax;
  std::array<int, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  std::array<int, 4> pads{0, 0, 0, 0};
  bool count_include_pad = false;
};

/// host_matmul of A [..., m, k] and B [..., k, n], leading axes repeated as in NumPy; host_gemm of matrices:
/// alpha * A * B + beta * C, where C is a third input, if any, that is repeated to [m, n].
struct HostProduct {
  bool is_gemm = false;
  bool a_transposed = false, b_transposed = false;
  float alpha = 1, beta = 1;
  HostWeights weights = HostWeights::kConstant;
};

/// host_transpose, host_slice: the elements of the output in C order are those of the input at `offset` + the
/// sum over the output's axes of index * strides[axis].
struct HostMove {
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
};

/// host_reshape: the same elements.
struct HostReshape {};

/// host_concat along `axis`.
struct HostConcat {
  int axis = 0;
};

/// host_quantize: sat(rint(f32(x / scale)) + zero_point), with dtype and zero point of the output.
struct HostQuantize {
  float scale = 1;
};

/// host_dequantize of bytes or int32: f32(f32(x - zero_point) * scale), with one scale, or one an index of
/// `axis`.
struct HostDequantize {
  std::vector<float> scales;
  int axis = 0;
};

/// A layer on the host. It takes no cycles of the chip; chip layers that read it start when it is complete.
struct HostOperation {
  std::variant<HostElementwise, HostFunction, HostSoftmax, HostReduce, HostConv, HostPool, HostProduct,
               HostMove, HostReshape, HostConcat, HostQuantize, HostDequantize>
      step;
};

/// Bytes of DRAM that the host reads and writes for a layer: they are none of the chip's transfers.
struct HostBytes {
  std::int64_t read = 0, written = 0;
};

}  // namespace tilebeat
