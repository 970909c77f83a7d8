#pragma once

#include "tilebeat/schema/fields.h"
#include "tilebeat/workload/npy.h"
#include "tilebeat/workload/workload.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workload_values.h"

namespace tilebeat {

// A workload file as it is written (SPEC UI-6), before tensors are loaded and names resolved. Every field is
// declared once, in `describe`.

constexpr std::array<std::string_view, 2> kByteTypeNames{"int8", "uint8"};

/// The operators that layers can have, in the order of the alternatives of Layer::operation.
enum class Operator : std::uint8_t { kConv2d };
constexpr std::array<std::string_view, 1> kOperatorNames{"conv2d"};

struct RandomSpec {
  std::int64_t seed = 0;
  std::optional<std::int64_t> min;
  std::optional<std::int64_t> max;
};

/// Where the elements of a tensor come from; exactly one of the two is there.
struct SourceSpec {
  std::optional<std::string> file;
  std::optional<RandomSpec> random;
};

struct InputSpec {
  std::string name;
  TensorInfo info;
  SourceSpec source;
};

struct WeightsSpec {
  SourceSpec source;
  std::optional<DType> dtype;
  std::int32_t zero_point = 0;
};

struct LayerSpec {
  std::string name;
  Operator op = Operator::kConv2d;
  std::string scene = "main";
  std::vector<std::string> inputs;
  Conv2d conv;  ///< without tensors
  WeightsSpec weights;
  std::optional<SourceSpec> bias;
};

struct WorkloadSpec {
  std::string name = "workload";
  std::vector<InputSpec> inputs;
  std::vector<LayerSpec> layers;
  std::optional<std::vector<std::string>> outputs;
  std::map<std::string, std::string> expected;
};

constexpr Range kExtent{1, kMaxDimension};
// What an instruction holds (docs/isa.md): kernels, strides and dilations in 16 bits, offsets in 16 signed
// ones.
constexpr Range kTapExtent{1, UINT16_MAX};
constexpr Range kPadding{0, INT16_MAX};
constexpr Range kElement{INT32_MIN, INT32_MAX};
constexpr Range kZeroPoint{-128, 255};
constexpr Count kTensorNames{1, 65536};

template <class V>
void describe(V& v, RandomSpec& s) {
  v.required().integer("seed", s.seed, {0, INT64_MAX}, "start of the SplitMix64 sequence");
  v.optional_integer("min", s.min, kElement,
                     "least element; without it the type's least, -127 for int8 weights, -1000 for biases");
  v.optional_integer("max", s.max, kElement,
                     "greatest element; without it the type's greatest, 1000 for biases");
}

template <class V>
void describe_source(V& v, SourceSpec& s) {
  v.optional_text("file", s.file, ".npy file; a relative path starts at the workload file");
  v.optional_object("random", s.random, "uniformly distributed elements instead of a file");
  v.exactly_one({"file", "random"});
}

template <class V>
void describe(V& v, SourceSpec& s) {
  describe_source(v, s);
}

template <class V>
void describe(V& v, InputSpec& s) {
  v.required().name("name", s.name, "name that layers refer to");
  v.required().integers("shape", s.info.shape, kExtent, {1, 8}, "extents, [N, H, W, C] for maps");
  v.choice("dtype", s.info.dtype, kByteTypeNames, "type of the elements");
  v.integer("zero_point", s.info.zero_point, kZeroPoint,
            "element that stands for 0, within the type's range");
  describe_source(v, s.source);
}

template <class V>
void describe(V& v, WeightsSpec& s) {
  v.optional_choice("dtype", s.dtype, kByteTypeNames,
                    "type of the elements; without it the file's, int8 for random");
  v.integer("zero_point", s.zero_point, kZeroPoint, "element that stands for 0, within the type's range");
  describe_source(v, s.source);
}

template <class V>
void describe(V& v, Requant& r) {
  v.required().special("scale", ScaleValue{r.scale},
                       "factor from accumulator to output, or one an output channel");
  v.integer("zero_point", r.zero_point, kZeroPoint, "added after scaling, within the type's range");
  v.choice("dtype", r.dtype, kByteTypeNames, "type of the output");
}

template <class V>
void describe(V& v, LayerSpec& s) {
  v.required().name("name", s.name, "name of the layer and of its output");
  v.required().choice("op", s.op, kOperatorNames, "operator");
  v.name("scene", s.scene,
         "label of the program that the layer belongs to; scenes run in the order of first mention");
  v.required().names("inputs", s.inputs, {1, 1}, "workload input or layer that is read");
  v.required().integer("out_channels", s.conv.out_channels, kExtent, "kernels");
  v.required().integers("kernel", s.conv.kernel, kTapExtent, "[height, width] in taps");
  v.integers("stride", s.conv.stride, kTapExtent, "[height, width] in pixels");
  v.integers("dilation", s.conv.dilation, kTapExtent,
             "[height, width] in pixels from tap to tap, 1 is dense");
  v.integers("pads", s.conv.pads, kPadding, "[top, left, bottom, right] in pixels");
  v.integer("groups", s.conv.groups, kExtent, "groups; divides the channels and the kernels");
  v.required().object("weights", s.weights, "kernels [out_channels, height, width, channels / groups]");
  v.optional_object("bias", s.bias, "int32 [out_channels]");
  v.special("activation", ActivationValue{s.conv.activation}, "applied to the accumulator, bias added");
  v.optional_object(
      "requant", s.conv.requant,
      "saturate(round_half_even(accumulator * scale) + zero_point); without it int32 is the output");
}

template <class V>
void describe(V& v, WorkloadSpec& s) {
  v.name("name", s.name, "name of the workload, shown in reports");
  v.required().objects("inputs", s.inputs, kTensorNames, "tensors that are there before the run");
  v.required().objects("layers", s.layers, kTensorNames, "layers, in any order");
  v.optional_names("outputs", s.outputs, kTensorNames,
                   "layers whose outputs are written; without it those that no layer reads");
  v.special("expected", FilesByLayerValue{s.expected},
            ".npy file by layer that the layer's output must equal");
}

}  // namespace tilebeat
