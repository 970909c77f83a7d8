#pragma once

#include "workload/operators.h"
#include "workload/tensor.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tilebeat {

/// Lower bounds of a layer's cycles (SPEC UI-4).
struct BoundCycles {
  std::int64_t compute = 0;  ///< its multiply-accumulates at peak
  std::int64_t beats = 0;    ///< its runs by the engine's schedule, spread evenly over all engines
  std::int64_t dram = 0;     ///< its tensors over DRAM once, at peak bandwidth
  std::int64_t cycles() const { return std::max({compute, beats, dram}); }
  /// Of both together.
  BoundCycles& operator+=(const BoundCycles& more) {
    compute += more.compute, beats += more.beats, dram += more.dram;
    return *this;
  }
};

/// What a layer of a float network computes, for the inputs that a workload file names, and what the elements
/// of the layer that stands for it mean: (element - zero_point) * scale (SPEC RN-3).
struct FloatReference {
  Tensor values;  ///< float32, in the layer's shape
  double scale = 1;
  std::int32_t zero_point = 0;
};

/// How well elements stand for the numbers of the float network.
struct Quality {
  double sqnr_db = 0;  ///< signal to quantisation noise; within 200 and -200, 200 where there is no noise
  double cosine = 0;   ///< of the angle between the two
};

/// Compares a layer's output, bytes, int32 or float32, with the numbers that it stands for.
Quality quality_of(const Tensor& made, const FloatReference& reference);

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

/// The JSON Schema (draft-07) of workload files (SPEC UI-6); `schema_markdown` makes a table of it.
nlohmann::ordered_json workload_schema();

}  // namespace tilebeat
