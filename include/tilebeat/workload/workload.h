#pragma once

#include "tilebeat/workload/operators.h"
#include "tilebeat/workload/quality.h"
#include "tilebeat/workload/tensor.h"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilebeat {

/// One layer; its output tensor carries the layer's name.
struct Layer {
  std::string name;
  std::string op;                   ///< as written in the file, for example "conv2d"
  std::string scene;                ///< label of the program that the layer belongs to (SPEC SW-6)
  std::vector<std::string> inputs;  ///< names of workload inputs or of other layers, in the operator's order
  LayerOperation operation;
  TensorInfo output;
};

/// A workload: checked, shapes inferred, layers in an order in which every input is there before it is read.
struct Workload {
  std::string name;
  std::map<std::string, TensorInfo> inputs;
  std::map<std::string, Tensor> input_data;
  std::vector<Layer> layers;
  std::vector<std::string> outputs;        ///< names of the tensors that a run writes
  std::map<std::string, Tensor> expected;  ///< by layer name
  std::map<std::string, FloatReference>
      float_references;  ///< by layer name; of the inputs that the file names

  /// The description of a workload input or of a layer's output. Throws SimulationError when there is none.
  const TensorInfo& tensor(const std::string& name) const;
  /// What `tensor` remembers: the place of each layer when it last looked.
  mutable std::unordered_map<std::string, std::size_t> place_of = {};
};

/// .npy files by the name of the workload input that they are the elements of.
using InputFiles = std::map<std::string, std::string>;

/// Reads and checks a workload file (SPEC UI-6, NU-1 to NU-4); `given` replaces what it says of its inputs'
/// elements (RN-1). Throws UserError naming file, JSON path, value and allowed range; for a model file one
/// that names the command that imports it.
Workload load_workload(const std::string& path, const InputFiles& given = {});

/// Taps of an output that are useful work: the kernel's; of a transposed convolution the mean over the
/// outputs, taps / (stride[0] * stride[1]) rounded down, at least 1.
std::int64_t useful_taps(const Conv2d& conv);
/// Useful multiply-accumulates: N*Ho*Wo*Co*Ci/groups times the useful taps, taps on padding included; of a
/// product its elements times k; 0 for operators that are no convolution. The outputs of a transposed
/// convolution are whole strides: pixels that `pads` cuts off beside existing ones are made, too.
std::int64_t useful_macs(const Workload& workload, const Layer& layer);

}  // namespace tilebeat
