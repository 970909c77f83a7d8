#pragma once

#include "reference/reference.h"
#include "workload/operators.h"

#include <cstddef>
#include <cstdint>

namespace tilebeat {

// The operators, one function each. `output` describes the result.

using Operands = std::vector<Operand>;

Tensor reference_of(const Conv2d& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const Pooling& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const Elementwise& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const PlainElementwise& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const ByteFunction& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const ChannelScale& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const Requantize& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const Softmax& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const Reshape& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const Concat& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const Resize& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const Pad& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const Reduce& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const Quantize& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const Dequantize& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const DynamicQuantize& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const RowNorm& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const Lrn& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const ArgMax& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const Move& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const Gather& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const Lookup& operation, const Operands& inputs, const TensorInfo& output);
Tensor reference_of(const HostOperation& operation, const Operands& inputs, const TensorInfo& output);

/// The form of Conv2d that is a product of matrices (SPEC OP-1), with a single operand when B is its weights;
/// and the one that is a transposed convolution.
Tensor reference_matmul(const Operands& inputs, const Conv2d& conv, const TensorInfo& output);
Tensor reference_conv_transpose(const Operand& x, const Conv2d& conv, const TensorInfo& output);

/// The result of a sum of products: bias, activation and requantisation of output channel `channel` (SPEC
/// NU-2).
std::int64_t post_process(const Conv2d& conv, std::size_t channel, std::int64_t sum);

}  // namespace tilebeat
