#pragma once

#include "host/host.h"
#include "workload/workload.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

// Plain operators to check every run against. They share no code with the simulated data path (SPEC NU-5);
// tables that a layer carries are shared as data. Layers on the host have no second implementation: the same
// functions compute them in a run, and tests compare their bytes with recordings of the runtime.

/// A convolution after SPEC NU-1 and NU-2: sums of (x - zx)(w - zw) in int32, bias, activation,
/// requantisation. `input` is NHWC and described by `info`; the result is [N, Ho, Wo, Co], int32 without
/// requantisation.
Tensor reference_conv2d(const Tensor& input, const TensorInfo& info, const Conv2d& conv);

/// The output of any layer, after the formulas of workload/operators.h. `inputs` are those that the layer
/// names, in their order.
Tensor reference_layer(const Layer& layer, const std::vector<Operand>& inputs);

/// The outputs of all layers, by layer name. `progress`, if any, is called after each layer with the number
/// of layers done.
std::map<std::string, Tensor> run_reference(const Workload& workload,
                                            const std::function<void(std::size_t done)>& progress = {});

/// The first element, in C order, in which a layer's output is wrong.
struct Mismatch {
  std::string layer;
  std::vector<std::int64_t> index;
  std::int64_t expected = 0;
  std::int64_t actual = 0;
};

/// Compares two tensors of one layer. Throws SimulationError if their shapes or types differ.
std::optional<Mismatch> first_mismatch(const std::string& layer, const Tensor& expected,
                                       const Tensor& actual);

}  // namespace tilebeat
