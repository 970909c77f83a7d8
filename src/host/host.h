#pragma once

#include "workload/operators.h"
#include "workload/tensor.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// A tensor that a layer reads: elements and description.
struct Operand {
  const Tensor& tensor;
  const TensorInfo& info;
};

/// The output of a layer that the host computes (workload/host_operation.h). `inputs` are those that the
/// layer names; `output` describes the result. It serves the simulated host and the reference alike: there is
/// no second implementation.
Tensor compute_on_host(const HostOperation& operation, const std::vector<Operand>& inputs,
                       const TensorInfo& output);

namespace host {

/// The elements of a float32 tensor, and back.
std::vector<float> reals_of(const Tensor& tensor);
Tensor tensor_of(const std::vector<float>& values, const TensorInfo& info);

/// x within a bound, as the runtime's comparisons have it: what is no number stays that.
inline float at_least(float low, float x) {
  return x < low ? low : x;
}
inline float at_most(float high, float x) {
  return high < x ? high : x;
}

/// The runtime's polynomials, in its order of operations.
float sigmoid(float x);
float tangent(float x);
float exponential(float x);
float error_function(float x);

Tensor computed(const HostOperation& operation, const std::vector<Operand>& inputs, const TensorInfo& output);
Tensor computed(const HostFunction& function, const std::vector<Operand>& inputs, const TensorInfo& output);
Tensor computed(const HostSoftmax& softmax, const std::vector<Operand>& inputs, const TensorInfo& output);
Tensor computed(const HostReduce& reduce, const std::vector<Operand>& inputs, const TensorInfo& output);
Tensor computed(const HostConv& conv, const std::vector<Operand>& inputs, const TensorInfo& output);
Tensor computed(const HostPool& pool, const std::vector<Operand>& inputs, const TensorInfo& output);
Tensor computed(const HostProduct& product, const std::vector<Operand>& inputs, const TensorInfo& output);

}  // namespace host
}  // namespace tilebeat
