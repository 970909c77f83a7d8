// Operators of ONNX in forms that no layer has: each gives what the float network gives (SPEC RN-3, OP-2).
#include "onnx_import.h"

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

/// One operator, or two, on samples of [2, 3, 4, 5] (or `b`, a second result), that layers are made of though
/// none is like it.
struct Spelling {
  const char* name;
  void (*build)(OnnxModel&);
};
std::ostream& operator<<(std::ostream& out, const Spelling& spelling) {
  return out << spelling.name;
}
class SpelledOtherwise : public OnnxImport, public ::testing::WithParamInterface<Spelling> {};

std::vector<float> ripples(std::size_t count, double step) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(std::sin(step * static_cast<double>(i)));
  return values;
}

TEST_P(SpelledOtherwise, RN_3_OP_2_gives_what_the_float_network_gives) {
  OnnxModel model;
  model.input("x", kFloat, {2, 3, 4, 5}).output("y");
  model.node("Sigmoid", {"x"}, {"s"});
  model.node("Neg", {"x"}, {"n"});
  GetParam().build(model);
  EXPECT_GT(cosine(model, "y", samples({2, 3, 4, 5}, 2)), 0.999);
}
INSTANTIATE_TEST_SUITE_P(
    Operators, SpelledOtherwise,
    ::testing::Values(
        Spelling{"sum_of_three",
                 [](OnnxModel& m) {
                   m.node("Sum", {"x", "s", "n"}, {"y"});
                 }},
        Spelling{"mean_of_three",
                 [](OnnxModel& m) {
                   m.node("Mean", {"x", "s", "x"}, {"y"});
                 }},
        Spelling{"max_of_three",
                 [](OnnxModel& m) {
                   m.node("Max", {"x", "s", "n"}, {"y"});
                 }},
        Spelling{"min_of_two",
                 [](OnnxModel& m) {
                   m.node("Min", {"x", "n"}, {"y"});
                 }},
        Spelling{"max_of_a_number",
                 [](OnnxModel& m) {
                   m.floats("c", {}, {0.3F}).node("Max", {"c", "x"}, {"y"});
                 }},
        Spelling{"min_of_a_number",
                 [](OnnxModel& m) {
                   m.floats("c", {1}, {0.3F}).node("Min", {"x", "c"}, {"y"});
                 }},
        Spelling{"square",
                 [](OnnxModel& m) {
                   m.floats("c", {}, {2}).node("Pow", {"x", "c"}, {"y"});
                 }},
        Spelling{"cube",
                 [](OnnxModel& m) {
                   m.floats("c", {}, {3}).node("Pow", {"x", "c"}, {"y"});
                 }},
        Spelling{"root",
                 [](OnnxModel& m) {
                   m.floats("c", {}, {0.5F}).node("Pow", {"s", "c"}, {"y"});
                 }},
        Spelling{"magnitude", [](OnnxModel& m) { m.node("Abs", {"x"}, {"y"}); }},
        Spelling{"softsign", [](OnnxModel& m) { m.node("Softsign", {"x"}, {"y"}); }},
        Spelling{"slopes",
                 [](OnnxModel& m) {
                   m.floats("c", {3, 1, 1}, {0.1F, 0.5F, -0.25F}).node("PRelu", {"x", "c"}, {"y"});
                 }},
        Spelling{"one_slope",
                 [](OnnxModel& m) {
                   m.floats("c", {1}, {0.3F}).node("PRelu", {"x", "c"}, {"y"});
                 }},
        Spelling{"quotient_of_a_number",
                 [](OnnxModel& m) {
                   m.floats("c", {}, {0.7F}).node("Div", {"c", "s"}, {"y"});
                 }},
        Spelling{"least",
                 [](OnnxModel& m) {
                   m.attribute(m.node("ReduceMin", {"x"}, {"y"}), "axes", {1, 2});
                 }},
        Spelling{"magnitudes",
                 [](OnnxModel& m) {
                   m.attribute(m.node("ReduceL1", {"x"}, {"y"}), "axes", {1, 3});
                 }},
        Spelling{"length",
                 [](OnnxModel& m) {
                   m.attribute(m.node("ReduceL2", {"x"}, {"y"}), "axes", {2, 3});
                 }},
        Spelling{"squares", [](OnnxModel& m) { m.node("ReduceSumSquare", {"x"}, {"y"}); }},
        Spelling{"mean_of_axes_apart",
                 [](OnnxModel& m) {
                   m.attribute(m.node("ReduceMean", {"s"}, {"y"}), "axes", {1, 3});
                 }},
        Spelling{"greatest_of_axes_apart",
                 [](OnnxModel& m) {
                   m.attribute(m.node("ReduceMax", {"x"}, {"y"}), "axes", {0, 2});
                 }},
        Spelling{"reversed",
                 [](OnnxModel& m) {
                   m.longs("from", {2}, {-1, 3}).longs("to", {2}, {-9, 0}).longs("on", {2}, {3, 2});
                   m.longs("by", {2}, {-2, -1}).node("Slice", {"x", "from", "to", "on", "by"}, {"y"});
                 }},
        Spelling{"reflected",
                 [](OnnxModel& m) {
                   m.longs("pads", {8}, {0, 0, 2, 1, 0, 1, 3, 4});
                   add_text(m.node("Pad", {"x", "pads"}, {"y"}), "mode", "reflect");
                 }},
        Spelling{"edges",
                 [](OnnxModel& m) {
                   m.longs("pads", {8}, {1, 0, 2, 1, 0, 1, 3, 4});
                   add_text(m.node("Pad", {"x", "pads"}, {"y"}), "mode", "edge");
                 }},
        Spelling{"blocks_there_and_back",
                 [](OnnxModel& m) {
                   m.longs("shape", {4}, {2, 12, 5, 1}).node("Reshape", {"x", "shape"}, {"a"});
                   m.attribute(m.node("DepthToSpace", {"a"}, {"b"}), "blocksize", {2});
                   m.attribute(m.node("SpaceToDepth", {"b"}, {"y"}), "blocksize", {2});
                 }},
        Spelling{"blocks_channel_first",
                 [](OnnxModel& m) {
                   m.longs("shape", {4}, {2, 12, 5, 1}).node("Reshape", {"x", "shape"}, {"a"});
                   onnx::Node& node = m.node("DepthToSpace", {"a"}, {"y"});
                   m.attribute(node, "blocksize", {2}), add_text(node, "mode", "CRD");
                 }},
        Spelling{"transposed_groups",
                 [](OnnxModel& m) {
                   std::vector<float> weights(3 * 2 * 2 * 3);
                   for (std::size_t i = 0; i < weights.size(); ++i)
                     weights[i] = static_cast<float>(i % 7) * 0.2F - 0.5F;
                   m.floats("w", {3, 2, 2, 3}, weights);
                   onnx::Node& node = m.node("ConvTranspose", {"x", "w"}, {"y"});
                   m.attribute(node, "group", {3}), m.attribute(node, "strides", {2, 1});
                 }},
        Spelling{"transposed_dilation",
                 [](OnnxModel& m) {
                   std::vector<float> weights(3 * 2 * 2 * 3);
                   for (std::size_t i = 0; i < weights.size(); ++i)
                     weights[i] = static_cast<float>(i % 5) * 0.3F - 0.5F;
                   m.floats("w", {3, 2, 2, 3}, weights);
                   onnx::Node& node = m.node("ConvTranspose", {"x", "w"}, {"y"});
                   m.attribute(node, "dilations", {3, 2}), m.attribute(node, "strides", {2, 1});
                 }},
        Spelling{"product_of_results",
                 [](OnnxModel& m) {
                   m.longs("shape", {2}, {6, 20});
                   m.node("Reshape", {"x", "shape"}, {"a"}), m.node("Reshape", {"s", "shape"}, {"b"});
                   m.floats("c", {6, 6}, ripples(36, 0.7));
                   onnx::Node& node = m.node("Gemm", {"a", "b", "c"}, {"y"});
                   m.attribute(node, "transB", {1});
                   add_float(add_float(node, "alpha", 0.5F), "beta", 2);
                 }},
        Spelling{"a_matrix_is_added",
                 [](OnnxModel& m) {
                   m.longs("shape", {2}, {6, 20}).node("Reshape", {"x", "shape"}, {"a"});
                   m.floats("b", {20, 4}, ripples(80, 0.3)).floats("c", {6, 4}, ripples(24, 0.7));
                   add_float(m.node("Gemm", {"a", "b", "c"}, {"y"}), "beta", 0.5F);
                 }},
        Spelling{"a_bound_that_comes_later",
                 [](OnnxModel& m) {
                   m.floats("c", {}, {0.25F}).node("Add", {"x", "c"}, {"a"});
                   add_float(m.node("Constant", {}, {"low"}), "value_float", 0.5F);
                   m.node("Clip", {"a", "low"}, {"y"});
                 }}),
    [](const auto& spelling) { return std::string(spelling.param.name); });

}  // namespace
}  // namespace tilebeat::testing
