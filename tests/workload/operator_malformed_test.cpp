// Every way to get a layer wrong that its operator forbids (SPEC UI-6): one line with file, place, value and
// what is allowed.
#include "../data/malformed_file.h"
#include "../data/sample_layers.h"

#include <utility>
#include <vector>

namespace tilebeat {
namespace {

struct SpoiltLayer {
  const char* op;
  Spoilt spoilt;  ///< pointers below /layers/0
};

const SpoiltLayer kSpoiltLayers[] = {
    // Inputs.
    {"relu", {"/inputs", "[]", "/layers/0/inputs: [] is not allowed, allowed is a list of 1 entries"}},
    {"relu", {"/inputs", R"(["a", "b"])", R"(/layers/0/inputs: ["a","b"] is not allowed)"}},
    {"add",
     {"/inputs", R"(["a"])", R"(/layers/0/inputs: ["a"] is not allowed, allowed is a list of 2 entries)"}},
    {"add", {"/inputs", R"(["a", "b", "a"])", "allowed is a list of 2 entries"}},
    {"concat", {"/inputs", R"(["a"])", "allowed is a list of 2 to 16 entries"}},
    {"concat",
     {"/inputs", R"(["a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a"])",
      "allowed is a list of 2 to 16 entries"}},
    {"add",
     {"/inputs", R"(["a", "c"])",
      R"(/layers/0/inputs/1: "c" is not allowed, allowed is a workload input or a layer, the nearest name is "a")"}},
    {"add", {"/inputs", R"(["a", "y"])", R"(layers read each other in a cycle: "y" reads "y")"}},
    {"add",
     {"/inputs", R"(["a", "narrow"])",
      R"(/layers/0/inputs/1: "narrow" with shape [1, 4, 3, 2] is not allowed, allowed is [1, 4, 4, 2], the shape of "a")"}},
    {"scale",
     {"/inputs", R"(["flat"])",
      R"(/layers/0/inputs/0: "flat" with shape [32] is not allowed, allowed is a map [N, H, W, C])"}},
    {"sub", {"/inputs", R"(["a", "sums"])", R"(/layers/0/inputs/1: "sums" with int32 accumulators)"}},
    {"max_pool",
     {"/inputs", R"(["sums"])",
      R"(/layers/0/inputs/0: "sums" with int32 accumulators is not allowed, allowed is an int8, uint8 or int16 tensor)"}},
    {"fully_connected", {"/inputs", R"(["flat"])", R"(/layers/0/inputs/0: "flat" with shape [32])"}},
    {"reshape", {"/inputs", R"(["sums"])", R"(/layers/0/inputs/0: "sums" with int32 accumulators)"}},
    {"concat",
     {"/inputs", R"(["a", "b", "narrow"])",
      R"(/layers/0/inputs/2: "narrow" with shape [1, 4, 3, 2] is not allowed, allowed is a map [1, 4, 4, C], as "a")"}},
    {"concat",
     {"/inputs", R"(["a", "shifted"])",
      R"(/layers/0/inputs/1: "shifted" of int8 with zero point 7 is not allowed, allowed is int8 with zero point 0, as "a")"}},
    {"concat",
     {"/inputs", R"(["a", "unsigned"])", R"("unsigned" of uint8 with zero point 0 is not allowed)"}},
    // Keys of other operators, and of none.
    {"relu",
     {"/kernel", "[2, 2]",
      R"(/layers/0/kernel: key "kernel" of op relu is not allowed, allowed is one of "name", "op", "scene", "arithmetic", "inputs")"}},
    {"max_pool", {"/count_include_pad", "true", R"(key "count_include_pad" of op max_pool is not allowed)"}},
    {"max_pool", {"/requant", R"({"scale": 1})", R"(/layers/0/requant: key "requant" of op max_pool)"}},
    {"average_pool", {"/dilation", "[2, 2]", R"(/layers/0/dilation: key "dilation" of op average_pool)"}},
    {"average_pool", {"/ceil_mode", "true", R"(/layers/0/ceil_mode: unknown key "ceil_mode")"}},
    {"fully_connected", {"/out_channels", "3", R"(key "out_channels" of op fully_connected is not allowed)"}},
    {"conv2d", {"/out_features", "3", R"(/layers/0/out_features: key "out_features" of op conv2d)"}},
    {"global_max_pool", {"/kernel", "[4, 4]", R"(key "kernel" of op global_max_pool)"}},
    {"sigmoid", {"/slope", "0.1", R"(/layers/0/slope: key "slope" of op sigmoid)"}},
    {"flatten", {"/shape", "[32]", R"(/layers/0/shape: key "shape" of op flatten)"}},
    {"add", {"/input_scale", "1", R"(/layers/0/input_scale: key "input_scale" of op add)"}},
    {"gelu", {"/input_scal", "1", R"(unknown key "input_scal", the nearest known name is "input_scale")"}},
    {"relu", {"/op", "\"relu6\"", R"(/layers/0/op: "relu6" is not allowed, allowed is one of "conv2d", )"}},
    {"relu", {"/op", "\"argmin\"", R"(/layers/0/op: "argmin" is not allowed, allowed is one of "conv2d", )"}},
    // Fully connected.
    {"fully_connected", {"/out_features", "0", "/layers/0/out_features: 0 is not allowed"}},
    {"fully_connected", {"/out_features", nullptr, "/layers/0/out_features: is missing"}},
    {"fully_connected", {"/weights", nullptr, "/layers/0/weights: is missing"}},
    {"fully_connected",
     {"/requant/scale", "[1, 2]",
      "/layers/0/requant/scale: a list of 2 entries is not allowed, allowed is a number or a list of 3 "
      "entries, "
      "the out_features"}},
    {"fully_connected",
     {"/bias", R"({"random": {"seed": 1, "min": 2147483647, "max": 2147483647}})",
      R"(/layers/0: layer "y" with accumulators of up to)"}},
    // Products.
    {"matmul",
     {"/inputs", R"(["flat"])",
      R"(/layers/0/inputs/0: "flat" with shape [32] is not allowed, allowed is rows [..., K] with two axes)"}},
    {"matmul", {"/inputs", R"(["sums"])", R"(/layers/0/inputs/0: "sums" with int32 accumulators)"}},
    {"matmul", {"/out_features", nullptr, "/layers/0/out_features: is missing"}},
    {"matmul", {"/weights", nullptr, "/layers/0/weights: is missing"}},
    {"matmul",
     {"/bias", R"({"random": {"seed": 1, "min": 2147483647, "max": 2147483647}})",
      R"(/layers/0: layer "y" with accumulators of up to)"}},
    // Windows.
    {"max_pool", {"/kernel", nullptr, "/layers/0/kernel: is missing"}},
    {"max_pool",
     {"/kernel", "[2, 6]",
      "/layers/0/kernel/1: 6 with dilation 1, a window of 6, is not allowed, allowed is a "
      "window that fits the padded map of 5"}},
    {"max_pool", {"/stride", "[0, 1]", "/layers/0/stride/0: 0"}},
    {"average_pool",
     {"/pads", "[3, 0, 0, 0]",
      "/layers/0/pads: top and bottom 3 and 0 with a window of 3 on a map of 4, where output 0 lies in the "
      "padding "
      "alone, is not allowed, allowed is pads that leave every window a tap on the map"}},
    {"average_pool",
     {"/pads", "[0, 0, 0, 2]", "left and right 0 and 2 with a window of 2 on a map of 4, where output 4"}},
    {"max_pool", {"/dilation", "[5, 1]", "/layers/0/kernel/0: 2 with dilation 5, a window of 6,"}},
    {"average_pool",
     {"/count_include_pad", "1", "/layers/0/count_include_pad: 1 is not allowed, allowed is true or"}},
    // Two tensors.
    {"add", {"/requant", nullptr, "/layers/0/requant: is missing, it has no default"}},
    {"add",
     {"/requant/scale", "-1",
      "/layers/0/requant/scale: -1 is not allowed, allowed is a number from 1e-30 to"}},
    {"add",
     {"/requant/scale", "[1, 1]", "/layers/0/requant/scale: [1,1] is not allowed, allowed is a number"}},
    {"add",
     {"/requant/zero_point", "-1", "/layers/0/requant/zero_point: -1 is not allowed, allowed is 0 to 255"}},
    {"add",
     {"/input_scales", "[1]", "/layers/0/input_scales: [1] is not allowed, allowed is a list of 2 entries"}},
    {"mul", {"/input_scales", "[1, -1]", "/layers/0/input_scales/1: -1 is not allowed"}},
    {"sub", {"/input_scales", "[0, 1]", "/layers/0/input_scales/0: 0 is not allowed"}},
    {"add", {"/activation", R"({"clamp": [0, 1]})", "is not allowed, allowed is one of \"none\", \"relu\""}},
    // Functions.
    {"clamp", {"/low", "71", "/layers/0/low: 71 is not allowed, allowed is at most high, 70"}},
    {"clamp", {"/high", nullptr, "/layers/0/high: is missing"}},
    {"clamp", {"/low", "0.5", "/layers/0/low: 0.5"}},
    {"tanh", {"/input_scale", nullptr, "/layers/0/input_scale: is missing"}},
    {"tanh",
     {"/input_scale", "-0.5",
      "/layers/0/input_scale: -0.5 is not allowed, allowed is a number from 1e-30 to"}},
    {"gelu", {"/requant", nullptr, "/layers/0/requant: is missing"}},
    {"sigmoid", {"/requant/dtype", "\"int32\"", "/layers/0/requant/dtype: \"int32\""}},
    {"hard_swish",
     {"/requant/zero_point", "128", "/layers/0/requant/zero_point: 128 is not allowed, allowed is -128 to"}},
    {"leaky_relu", {"/slope", "\"small\"", "/layers/0/slope: \"small\""}},
    // Channels.
    {"scale", {"/scale", nullptr, "/layers/0/scale: is missing"}},
    {"scale",
     {"/scale", "[1, 2, 3]",
      "/layers/0/scale: a list of 3 entries is not allowed, allowed is a number or a list of 2 entries, the "
      "channels"}},
    {"scale", {"/offset", "[1, 1e300]", "/layers/0/offset/1: 1e+300"}},
    {"scale", {"/requant", nullptr, "/layers/0/requant: is missing"}},
    {"batchnorm", {"/mean", nullptr, "/layers/0/mean: is missing"}},
    {"batchnorm",
     {"/variance", "-1", "/layers/0/variance: -1 is not allowed, allowed is a number from 0 to"}},
    {"batchnorm", {"/gamma", "[]", "/layers/0/gamma: []"}},
    {"batchnorm", {"/beta", "[1, 2, 3]", "/layers/0/beta: a list of 3 entries"}},
    {"batchnorm", {"/epsilon", "0", "/layers/0/epsilon: 0 is not allowed"}},
    {"batchnorm", {"/input_scale", nullptr, "/layers/0/input_scale: is missing"}},
    {"requantize", {"/requant", nullptr, "/layers/0/requant: is missing"}},
    {"softmax", {"/input_scale", nullptr, "/layers/0/input_scale: is missing"}},
    {"softmax", {"/requant", "{}", "/layers/0/requant/scale: is missing"}},
    {"softmax",
     {"/causal", R"({"window": 0})",
      "/layers/0/causal/window: 0 is not allowed, allowed is a whole number from 1 to 65535"}},
    {"softmax",
     {"/causal", "{}", "/layers/0/causal: 4 queries and 2 keys is not allowed, allowed is no more queries"}},
    {"softmax",
     {"/requant/zero_point", "-128",
      "/layers/0/requant/zero_point: -128 is not allowed, allowed is 0 to 255"}},
    // Shapes.
    {"reshape",
     {"/shape", "[1, 4, 4, 3]",
      "/layers/0/shape: [1, 4, 4, 3] is not allowed, allowed is a shape of 32 elements, as many as \"a\" "
      "has"}},
    {"reshape", {"/shape", "[-1, 32]", "/layers/0/shape/0: -1"}},
    {"reshape", {"/shape", "[]", "/layers/0/shape: []"}},
    {"reshape", {"/shape", nullptr, "/layers/0/shape: is missing"}},
    // Transposed convolutions.
    {"conv_transpose", {"/kernel", nullptr, "/layers/0/kernel: is missing"}},
    {"conv_transpose",
     {"/pads", "[3, 0, 0, 0]",
      "/layers/0/pads/0: 3 is not allowed, allowed is 0 to 2, less than the kernel of 3"}},
    {"conv_transpose",
     {"/pads", "[0, 0, 0, 4]",
      "/layers/0/pads/3: 4 is not allowed, allowed is 0 to 3, less than the kernel of 4"}},
    {"conv_transpose",
     {"/output_padding", "[2, 0]",
      "/layers/0/output_padding/0: 2 is not allowed, allowed is 0 to 1, less than the stride of 2"}},
    {"conv_transpose", {"/output_padding", "[0, -1]", "/layers/0/output_padding/1: -1 is not allowed"}},
    {"conv_transpose", {"/stride", "[0, 1]", "/layers/0/stride/0: 0"}},
    {"conv_transpose", {"/groups", "2", R"(key "groups" of op conv_transpose is not allowed)"}},
    {"conv_transpose",
     {"/requant/scale", "[1, 2]", "allowed is a number or a list of 3 entries, the out_channels"}},
    {"conv_transpose",
     {"/bias", R"({"random": {"seed": 1, "min": 2147483647, "max": 2147483647}})",
      R"(/layers/0: layer "y" with accumulators of up to)"}},
    {"conv_transpose",
     {"/inputs", R"(["flat"])", R"("flat" with shape [32] is not allowed, allowed is a map)"}},
    // BarrierNeeds.
    {"pad", {"/pads", nullptr, "/layers/0/pads: is missing"}},
    {"pad", {"/pads", "[1, 2]", "/layers/0/pads: [1,2] is not allowed, allowed is a list of 4 entries"}},
    {"pad", {"/pads", "[0, -1, 0, 0]", "/layers/0/pads/1: -1 is not allowed"}},
    {"pad", {"/channel_pads", "[0, 40000]", "/layers/0/channel_pads/1: 40000 is not allowed"}},
    {"pad",
     {"/value", "128", "/layers/0/value: 128 is not allowed, allowed is -128 to 127, the range of int8"}},
    {"pad", {"/value", "0.5", "/layers/0/value: 0.5"}},
    {"pad", {"/mode", "\"edge\"", R"(key "mode" of op pad is not allowed)"}},
    {"pad", {"/inputs", R"(["flat"])", R"("flat" with shape [32] is not allowed, allowed is a map)"}},
    // Resized maps.
    {"resize", {"/size", nullptr, "/layers/0/size: is missing"}},
    {"resize",
     {"/size", "[0, 7]", "/layers/0/size/0: 0 is not allowed, allowed is a whole number from 1 to 65535"}},
    {"resize", {"/size", "[3, 65536]", "/layers/0/size/1: 65536 is not allowed"}},
    {"resize", {"/size", "[3]", "/layers/0/size: [3] is not allowed, allowed is a list of 2 entries"}},
    {"resize",
     {"/mode", "\"cubic\"",
      R"(/layers/0/mode: "cubic" is not allowed, allowed is one of "nearest", "bilinear")"}},
    {"resize",
     {"/mode", "\"bilinear\"",
      R"(/layers/0/nearest_mode: a nearest_mode with mode "bilinear" is not allowed, allowed is mode "nearest")"}},
    {"resize", {"/coordinate_mode", "\"tf_crop_and_resize\"", R"(allowed is one of "half_pixel", )"}},
    {"resize", {"/nearest_mode", "\"round\"", R"(allowed is one of "round_prefer_floor", )"}},
    {"resize", {"/scales", "[2, 2]", R"(/layers/0/scales: unknown key "scales")"}},
    {"resize", {"/inputs", R"(["flat"])", R"("flat" with shape [32] is not allowed, allowed is a map)"}},
    {"resize", {"/inputs", R"(["sums"])", R"("sums" with int32 accumulators)"}},
};

TEST_F(Malformed, UI_6_operators) {
  const auto samples = sample_layers();
  for (const auto& [op, layer] : samples) {
    const std::string path = folder_.write("good.json", sample_workload(layer).dump());
    EXPECT_EQ(refusal([&] { load_workload(path); }), "") << op;
  }
  for (const SpoiltLayer& spoilt : kSpoiltLayers) {
    const std::string pointer = std::string("/layers/0") + spoilt.spoilt.pointer;
    expect_spoilt_refused(sample_workload(samples.at(spoilt.op)),
                          {pointer.c_str(), spoilt.spoilt.value, spoilt.spoilt.wanted});
  }
}

TEST_F(Malformed, UI_6_every_operator_refuses_the_keys_of_all_others) {
  const auto samples = sample_layers();
  for (const auto& [op, layer] : samples) {
    for (const auto& [other, other_layer] : samples) {
      for (const auto& [key, value] : other_layer.items()) {
        if (layer.contains(key)) continue;
        nlohmann::json spoilt = layer;
        spoilt[key] = value;
        const std::string path = folder_.write("w.json", sample_workload(spoilt).dump());
        expect_refused(op, path, "/layers/0/" + key + ": key \"" + key + "\" of op " + op + " is not allowed",
                       load_file);
      }
    }
  }
}

}  // namespace
}  // namespace tilebeat
