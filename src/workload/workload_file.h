#pragma once

#include "workload/layer_spec.h"
#include "workload/tensor.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

// A workload file as it is written (SPEC UI-6), before tensors are loaded and names resolved. Every field is
// declared once, in `describe`.

enum class InputType : std::uint8_t { kInt8, kUint8, kFloat32 };
constexpr std::array<std::string_view, 3> kInputTypeNames{"int8", "uint8", "float32"};

struct InputSpec {
  std::string name;
  TensorInfo info;
  std::vector<int> file_axes;
  SourceSpec source;
};

struct FloatReferenceSpec {
  std::string layer;
  std::optional<std::string> file;
  double scale = 1;
};

struct WorkloadSpec {
  std::string name = "workload";
  Arithmetic arithmetic = Arithmetic::kExact;
  std::vector<InputSpec> inputs;
  std::vector<LayerSpec> layers;
  std::optional<std::vector<std::string>> outputs;
  std::map<std::string, std::string> expected;
  std::vector<FloatReferenceSpec> float_references;
};

constexpr Count kTensorNames{1, 65536};

template <class V>
void describe(V& v, InputSpec& s) {
  v.required().name("name", s.name, "name that layers refer to");
  v.required().integers("shape", s.info.shape, kExtent, {1, 8}, "extents, [N, H, W, C] for maps");
  InputType type = InputType::kInt8;
  v.choice("dtype", type, kInputTypeNames, "type of the elements; float32 comes from a file");
  constexpr std::array<DType, 3> kTypes{DType::kInt8, DType::kUint8, DType::kFloat32};
  if (v.reading()) s.info.dtype = kTypes.at(static_cast<std::size_t>(type));
  v.integer("zero_point", s.info.zero_point, kZeroPoint,
            "element that stands for 0, within the type's range");
  v.integers(
      "file_axes", s.file_axes, {0, 7}, {0, 8},
      "the axis of the tensor that each axis of its file is, such as [0, 3, 1, 2] for files of [N, C, H, "
      "W]; without it the same axes");
  describe_source(v, s.source);
}

template <class V>
void describe(V& v, FloatReferenceSpec& s) {
  v.required().name("layer", s.layer, "layer whose output stands for these numbers");
  v.required().optional_text("file", s.file, ".npy file of float32 in the layer's shape");
  v.number("scale", s.scale, kPositiveScale, "real value of one step of the layer's output");
}

template <class V>
void describe(V& v, WorkloadSpec& s) {
  v.name("name", s.name, "name of the workload, shown in reports");
  v.choice("arithmetic", s.arithmetic, kArithmeticNames,
           "whose arithmetic makes the results of layers that do not name their own");
  v.required().objects("inputs", s.inputs, kTensorNames, "tensors that are there before the run");
  v.required().objects_by_kind("layers", s.layers, kTensorNames, "layers, in any order");
  v.optional_names("outputs", s.outputs, kTensorNames,
                   "layers whose outputs are written; without it those that no layer reads");
  v.special("expected", FilesByLayerValue{s.expected},
            ".npy file by layer that the layer's output must equal");
  v.objects(
      "float_references", s.float_references, {0, kTensorNames.high},
      "what a float network computes of the inputs named here: the report says how well the layers' outputs "
      "stand for it");
}

}  // namespace tilebeat
