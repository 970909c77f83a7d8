// The reference of conv_transpose against values computed by hand, ONNX's examples and the definition
// (SPEC OP-2).
#include "operator_run.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using Values = std::vector<int>;

/// The layer with those kernels [Co, Kh, Kw, Ci].
Tensor transposed(json fields, const Elements& map, const Elements& kernels, int weight_zero_point = 0) {
  const TemporaryFolder folder;
  write_npy(folder.path("x.npy"), byte_tensor(map));
  write_npy(folder.path("w.npy"), byte_tensor(kernels));
  fields["name"] = "y", fields["op"] = "conv_transpose", fields["inputs"] = {"x"};
  fields["out_channels"] = kernels.shape[0], fields["kernel"] = {kernels.shape[1], kernels.shape[2]};
  fields["weights"] = {{"file", "w.npy"}, {"zero_point", weight_zero_point}};
  const json file{
      {"inputs", {{{"name", "x"}, {"shape", map.shape}, {"file", "x.npy"}, {"zero_point", map.zero_point}}}},
      {"layers", {fields}}};
  const Workload workload = load_workload(folder.write("w.json", file.dump()));
  Tensor y = run_reference(workload).at("y");
  EXPECT_EQ(y.shape, workload.tensor("y").shape);
  return y;
}
Values values(json fields, const Elements& map, const Elements& kernels, int weight_zero_point = 0) {
  return elements_of(transposed(std::move(fields), map, kernels, weight_zero_point));
}

const Elements kNine{{1, 3, 3, 1}, {0, 1, 2, 3, 4, 5, 6, 7, 8}};
const Elements kOnes{{1, 3, 3, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}};

TEST(ReferenceConvTranspose, OP_2_examples_of_onnx) {
  EXPECT_EQ(values({}, kNine, kOnes),
            (Values{0, 1, 3, 3, 2, 3, 8, 15, 12, 7, 9, 21, 36, 27, 15, 9, 20, 33, 24, 13, 6, 13, 21, 15, 8}));
  const Tensor y = transposed({{"stride", {3, 2}}, {"output_padding", {1, 1}}}, kNine, kOnes);
  EXPECT_EQ(y.shape, (std::vector<std::int64_t>{1, 10, 8, 1}));
  Values expected;
  for (const Values& row :
       {Values{0, 0, 1, 1, 3, 2, 2, 0}, Values{3, 3, 7, 4, 9, 5, 5, 0}, Values{6, 6, 13, 7, 15, 8, 8, 0}}) {
    for (int i = 0; i < 3; ++i) expected.insert(expected.end(), row.begin(), row.end());
  }
  expected.insert(expected.end(), 8, 0);
  EXPECT_EQ(elements_of(y), expected);
}

TEST(ReferenceConvTranspose, OP_2_kernels_are_not_turned_and_pads_are_cut_off) {
  const Elements map{{1, 1, 2, 1}, {1, 2}}, kernel{{1, 1, 3, 1}, {1, 10, 100}};
  EXPECT_EQ(values({{"stride", {1, 2}}}, map, kernel), (Values{1, 10, 102, 20, 200}));
  EXPECT_EQ(values({{"stride", {1, 2}}, {"pads", {0, 1, 0, 0}}}, map, kernel), (Values{10, 102, 20, 200}));
  EXPECT_EQ(values({{"stride", {1, 2}}, {"pads", {0, 1, 0, 2}}}, map, kernel), (Values{10, 102}));
  EXPECT_EQ(values({{"stride", {1, 5}}}, map, kernel), (Values{1, 10, 100, 0, 0, 2, 20, 200}))
      << "no tap between the kernels";
}

TEST(ReferenceConvTranspose, OP_2_channels_zero_points_bias_and_requantisation) {
  // Two channels less 1: (2, -1); kernels less 3: (1, 2), (-1, 0).
  const Elements map{{1, 1, 1, 2}, {3, 0}, DType::kInt8, 1}, kernels{{2, 1, 1, 2}, {4, 5, 2, 3}};
  EXPECT_EQ(values({}, map, kernels, 3), (Values{0, -2}));
  const json fields{{"stride", {1, 2}},
                    {"output_padding", {0, 1}},
                    {"bias", {{"random", {{"seed", 1}, {"min", 7}, {"max", 7}}}}},
                    {"activation", {{"clamp", {6, 100}}}},
                    {"requant", {{"scale", {0.5, 1}}, {"zero_point", -1}}}};
  EXPECT_EQ(values(fields, map, kernels, 3), (Values{3, 5, 3, 6}))
      << "3.5 -> 4 and 5 -> 6, where no tap is 7 alone; less 1";
}

// An output adds up the taps that a whole number of strides separates from a pixel.
RC_GTEST_PROP(ReferenceConvTranspose, OP_2_follows_the_definition, ()) {
  const auto number = [](int low, int high) { return *rc::gen::inRange(low, high + 1); };
  const int kernel[] = {number(1, 5), number(1, 5)}, stride[] = {number(1, 4), number(1, 4)};
  const int extent[] = {number(1, 5), number(1, 5)}, channels = number(1, 3), kernels = number(1, 3);
  const int zero = number(-9, 9), weight_zero = number(-9, 9);
  int before[2], after[2], more[2], out[2];
  for (int i : {0, 1}) {
    before[i] = number(0, kernel[i] - 1), after[i] = number(0, kernel[i] - 1),
    more[i] = number(0, stride[i] - 1);
    out[i] = (extent[i] - 1) * stride[i] + kernel[i] + more[i] - before[i] - after[i];
    RC_PRE(out[i] > 0);
  }
  Elements map{{1, extent[0], extent[1], channels}, {}, DType::kInt8, zero};
  Elements weights{{kernels, kernel[0], kernel[1], channels}, {}};
  for (int i = 0; i < extent[0] * extent[1] * channels; ++i) map.values.push_back(number(-128, 127));
  for (int i = 0; i < kernels * kernel[0] * kernel[1] * channels; ++i)
    weights.values.push_back(number(-128, 127));
  const Values y = values(
      {{"stride", stride}, {"pads", {before[0], before[1], after[0], after[1]}}, {"output_padding", more}},
      map, weights, weight_zero);
  std::size_t at = 0;
  for (int r = 0; r < out[0]; ++r) {
    for (int s = 0; s < out[1]; ++s) {
      for (int k = 0; k < kernels; ++k, ++at) {
        int sum = 0;
        for (int i = 0; i < kernel[0]; ++i) {
          for (int j = 0; j < kernel[1]; ++j) {
            const int h = r + before[0] - i, w = s + before[1] - j;
            if (h < 0 || w < 0 || h % stride[0] != 0 || w % stride[1] != 0) continue;
            if (h / stride[0] >= extent[0] || w / stride[1] >= extent[1]) continue;
            for (int c = 0; c < channels; ++c) {
              const int x = map.values[static_cast<std::size_t>(
                  (h / stride[0] * extent[1] + w / stride[1]) * channels + c)];
              const int weight =
                  weights
                      .values[static_cast<std::size_t>(((k * kernel[0] + i) * kernel[1] + j) * channels + c)];
              sum += (x - zero) * (weight - weight_zero);
            }
          }
        }
        RC_ASSERT(y.at(at) == sum);
      }
    }
  }
  RC_ASSERT(at == y.size());
}

}  // namespace
}  // namespace tilebeat::testing
