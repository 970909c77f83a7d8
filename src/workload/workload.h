#pragma once

#include "workload/operators.h"
#include "workload/tensor.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
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
  /// Adds the bounds of another layer.
  BoundCycles& operator+=(const BoundCycles& more) {
    compute += more.compute, beats += more.beats, dram += more.dram;
    return *this;
  }
};

/// The output of a layer of the float network for the inputs that a workload file names, and the meaning of
/// the elements of the quantised layer: (element - zero_point) * scale (SPEC RN-3).
struct FloatReference {
  Tensor values;  ///< float32, in the layer's shape
  double scale = 1;
  std::int32_t zero_point = 0;
};

/// The quality of quantised values against those of the float network.
struct Quality {
  /// signal to quantisation noise in dB, limited to -200 to 200; 200 where there is no noise
  double sqnr_db = 0;
  double cosine = 0;  ///< cosine of the angle between the two, as vectors
};

/// Compares a layer's output (bytes, int32 or float32) with the float values that it stands for.
Quality quality_of(const Tensor& made, const FloatReference& reference);

/// One layer; its output tensor carries the layer's name.
struct Layer {
  std::string name;
  std::string op;  ///< as written in the file, for example "conv2d"
  /// label of the program that the layer belongs to (SPEC SW-6); programs behind layers on the host have a
  /// number behind it
  std::string scene;
  std::vector<std::string> inputs;  ///< names of workload inputs or of other layers, in the operator's order
  LayerOperation operation;
  TensorInfo output;
};

/// Whether the host computes the layer, in no cycles of the chip (SPEC RN-7).
inline bool on_host(const Layer& layer) {
  return std::holds_alternative<HostOperation>(layer.operation);
}

/// Cycles that something is expected to take, and by how much it may differ, up or down.
struct CycleTarget {
  std::int64_t cycles = 0;
  double tolerance_percent = 0;  ///< of `cycles`
};

/// Cycles that a workload file expects.
struct ExpectedCycles {
  std::map<std::string, CycleTarget> layers;
  std::optional<CycleTarget> total;  ///< of the whole run
};

/// A workload: checked, shapes inferred, layers in an order in which every input is there before it is read.
struct Workload {
  std::string name;
  std::map<std::string, TensorInfo> inputs;
  std::map<std::string, Tensor> input_data;
  std::vector<Layer> layers;
  std::vector<std::string> outputs;        ///< names of the tensors that a run writes
  std::map<std::string, Tensor> expected;  ///< by layer name
  ExpectedCycles expected_cycles;
  std::map<std::string, FloatReference>
      float_references;  ///< by layer name; of the inputs that the file names

  /// The description of a workload input or of a layer's output. Throws SimulationError when there is none.
  const TensorInfo& tensor(const std::string& name) const;
  /// Cache of `tensor`: by layer name, its index when it was last found.
  mutable std::unordered_map<std::string, std::size_t> place_of = {};
};

/// Paths of .npy files, by the name of the workload input whose elements they have.
using InputFiles = std::map<std::string, std::string>;

/// Reads and checks a workload file (SPEC UI-6, NU-1 to NU-4); `given` replaces the sources of its inputs
/// (RN-1). Throws UserError naming file, JSON path, value and allowed range; for a model file one that names
/// the command that imports it.
Workload load_workload(const std::string& path, const InputFiles& given = {});

/// Useful taps of an output: those of the kernel; of a transposed convolution the mean over its outputs, taps
/// / (stride[0] * stride[1]) rounded down, at least 1.
std::int64_t useful_taps(const Conv2d& conv);
/// Useful multiply-accumulates: N*Ho*Wo*Co*Ci/groups times the useful taps, including taps on padding; for a
/// product its output elements times k; 0 for operators other than convolutions. The outputs of a transposed
/// convolution are whole strides, including pixels that `pads` cuts off.
std::int64_t useful_macs(const Workload& workload, const Layer& layer);

/// The JSON Schema (draft-07) of workload files (SPEC UI-6); `schema_markdown` makes a table of it.
nlohmann::ordered_json workload_schema();

}  // namespace tilebeat
