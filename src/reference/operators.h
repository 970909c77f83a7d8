#pragma once

#include "reference/reference.h"
#include "workload/operators.h"

#include <cstddef>
#include <cstdint>

namespace tilebeat {

// The operators but for the convolution, one function a family. `output` describes the result.

/// A product of matrices (SPEC OP-1); one operand when B are the weights of `conv`.
Tensor reference_matmul(const std::vector<Operand>& inputs, const Conv2d& conv, const TensorInfo& output);
Tensor reference_pool(const Operand& x, const Pooling& pool, const TensorInfo& output);
Tensor reference_elementwise(const Operand& a, const Operand& b, const Elementwise& operation,
                             const TensorInfo& output);
Tensor reference_function(const Operand& x, const ByteFunction& function, const TensorInfo& output);
Tensor reference_scale(const Operand& x, const ChannelScale& operation, const TensorInfo& output);
Tensor reference_requantize(const Operand& x, const Requantize& operation, const TensorInfo& output);
Tensor reference_softmax(const Operand& x, const Softmax& operation, const TensorInfo& output);
Tensor reference_conv_transpose(const Operand& x, const Conv2d& conv, const TensorInfo& output);
Tensor reference_pad(const Operand& x, const Pad& pad, const TensorInfo& output);
Tensor reference_resize(const Operand& x, const Resize& resize, const TensorInfo& output);
Tensor reference_concat(const std::vector<Operand>& inputs, const Concat& concat, const TensorInfo& output);

/// Means over neighbouring axes.
Tensor reference_reduce(const Operand& x, const Reduce& reduce, const TensorInfo& output);
Tensor reference_quantize(const Operand& x, const Quantize& quantize, const TensorInfo& output);
Tensor reference_dequantize(const Operand& x, const Dequantize& dequantize, const TensorInfo& output);
Tensor reference_dynamic_quantize(const Operand& x, const DynamicQuantize& operation,
                                  const TensorInfo& output);

Tensor reference_norm(const Operand& x, const RowNorm& norm, const TensorInfo& output);
Tensor reference_lrn(const Operand& x, const Lrn& lrn, const TensorInfo& output);
Tensor reference_argmax(const Operand& x, const ArgMax& operation, const TensorInfo& output);
Tensor reference_gather(const Operand& x, const Gather& gather, const TensorInfo& output);
Tensor reference_move(const Operand& x, const Move& move, const TensorInfo& output);

/// The result of a sum of products: bias, activation and requantisation of output channel `channel` (SPEC
/// NU-2).
std::int32_t post_process(const Conv2d& conv, std::size_t channel, std::int32_t sum);

}  // namespace tilebeat
