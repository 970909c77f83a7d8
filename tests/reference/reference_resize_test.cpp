// The reference of resize against values computed by hand after docs/workloads.md (SPEC OP-2). The examples
// of two by two pixels are those of ONNX.
#include "operator_run.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using Values = std::vector<int>;

json resize(int height, int width, const char* mode, const char* coordinates = "half_pixel") {
  return {{"op", "resize"}, {"size", {height, width}}, {"mode", mode}, {"coordinate_mode", coordinates}};
}
Elements row(const Values& values, int zero_point = 0) {
  return {{1, 1, static_cast<std::int64_t>(values.size()), 1}, values, DType::kInt8, zero_point};
}

TEST(ReferenceResize, OP_2_nearest_doubles_pixels_with_their_channels) {
  const Elements map{{1, 2, 2, 2}, {1, -1, 2, -2, 3, -3, 4, -4}};
  const json fields{{"op", "resize"}, {"size", {2, 4}}};
  EXPECT_EQ(computed(fields, {map}), (Values{1, -1, 1, -1, 2, -2, 2, -2, 3, -3, 3, -3, 4, -4, 4, -4}));
}

TEST(ReferenceResize, OP_2_bilinear_half_pixel) {
  const Elements map{{1, 2, 2, 1}, {20, 40, 60, 80}};
  EXPECT_EQ(computed(resize(4, 4, "bilinear"), {map}),
            (Values{20, 25, 35, 40, 30, 35, 45, 50, 50, 55, 65, 70, 60, 65, 75, 80}));
  EXPECT_EQ(computed(resize(1, 1, "bilinear"), {map}), (Values{50})) << "the middle of the map";
  EXPECT_EQ(computed(resize(1, 1, "bilinear", "pytorch_half_pixel"), {map}), (Values{20}))
      << "a single output lies at the first pixel";
}

TEST(ReferenceResize, OP_2_bilinear_align_corners_and_asymmetric) {
  const Elements map{{1, 2, 2, 1}, {30, 60, -30, 0}};
  EXPECT_EQ(computed(resize(2, 4, "bilinear", "align_corners"), {map}),
            (Values{30, 40, 50, 60, -30, -20, -10, 0}));
  EXPECT_EQ(computed(resize(2, 4, "bilinear", "asymmetric"), {map}), (Values{30, 45, 60, 60, -30, -15, 0, 0}))
      << "beyond the last pixel lie copies of it";
}

TEST(ReferenceResize, OP_2_means_round_half_to_even_from_the_zero_point) {
  EXPECT_EQ(computed(resize(1, 5, "bilinear", "align_corners"), {row({1, 2, 5})}), (Values{1, 2, 2, 4, 5}))
      << "1.5 -> 2, 3.5 -> 4";
  EXPECT_EQ(computed(resize(1, 5, "bilinear", "align_corners"), {row({1, 2, 5}, 1)}), (Values{1, 1, 2, 3, 5}))
      << "0.5 and 2.5 above the zero point round to 0 and 2";
  const Elements bytes{{1, 1, 2, 1}, {255, 0}, DType::kUint8, 0};
  EXPECT_EQ(computed(resize(1, 3, "bilinear", "align_corners"), {bytes}), (Values{255, 128, 0})) << "127.5";
}

TEST(ReferenceResize, OP_2_which_pixel_is_the_nearest) {
  const auto nearest = [](int width, const char* coordinates, const char* rounding) {
    json fields = resize(1, width, "nearest", coordinates);
    fields["nearest_mode"] = rounding;
    return computed(fields, {row({0, 1, 2, 3})});
  };
  // Places of 4 -> 8 pixels, asymmetric: 0, 0.5, 1, 1.5, ...
  EXPECT_EQ(nearest(8, "asymmetric", "floor"), (Values{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(nearest(8, "asymmetric", "ceil"), (Values{0, 1, 1, 2, 2, 3, 3, 3}));
  EXPECT_EQ(nearest(8, "asymmetric", "round_prefer_floor"), (Values{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(nearest(8, "asymmetric", "round_prefer_ceil"), (Values{0, 1, 1, 2, 2, 3, 3, 3}));
  // Half a pixel: -0.25, 0.25, 0.75, 1.25, ...; 4 -> 2: 0.5, 2.5; 4 -> 3: 1/6, 1.5, 2 5/6.
  EXPECT_EQ(nearest(8, "half_pixel", "floor"), (Values{0, 0, 0, 1, 1, 2, 2, 3}));
  EXPECT_EQ(nearest(8, "half_pixel", "ceil"), (Values{0, 1, 1, 2, 2, 3, 3, 3}));
  EXPECT_EQ(nearest(2, "half_pixel", "round_prefer_floor"), (Values{0, 2}));
  EXPECT_EQ(nearest(2, "half_pixel", "round_prefer_ceil"), (Values{1, 3}));
  EXPECT_EQ(nearest(3, "half_pixel", "round_prefer_floor"), (Values{0, 1, 3}));
  // 4 -> 7, corners aligned: 0, 0.5, 1, ...
  EXPECT_EQ(nearest(7, "align_corners", "round_prefer_floor"), (Values{0, 0, 1, 1, 2, 2, 3}));
}

// Against the formula in real numbers, which is wrong by far less than a half of the last place.
RC_GTEST_PROP(ReferenceResize, OP_2_follows_the_definition, ()) {
  const auto number = [](int low, int high) { return *rc::gen::inRange(low, high + 1); };
  const int height = number(1, 6), width = number(1, 6), channels = number(1, 3),
            zero_point = number(-128, 127);
  const int out_height = number(1, 14), out_width = number(1, 14);
  Elements map{{1, height, width, channels}, {}, DType::kInt8, zero_point};
  for (int i = 0; i < height * width * channels; ++i) map.values.push_back(number(-128, 127));
  const Values y = computed(resize(out_height, out_width, "bilinear"), {map});
  const auto at = [&](int r, int s, int c) {
    r = std::min(std::max(r, 0), height - 1), s = std::min(std::max(s, 0), width - 1);
    return map.values[static_cast<std::size_t>((r * width + s) * channels + c)] - zero_point;
  };
  std::size_t i = 0;
  for (int r = 0; r < out_height; ++r) {
    const double h = (r + 0.5) * height / out_height - 0.5, rest_h = h - std::floor(h);
    for (int s = 0; s < out_width; ++s) {
      const double w = (s + 0.5) * width / out_width - 0.5, rest_w = w - std::floor(w);
      const int above = static_cast<int>(std::floor(h)), left = static_cast<int>(std::floor(w));
      for (int c = 0; c < channels; ++c, ++i) {
        const double mean =
            (1 - rest_h) * ((1 - rest_w) * at(above, left, c) + rest_w * at(above, left + 1, c)) +
            rest_h * ((1 - rest_w) * at(above + 1, left, c) + rest_w * at(above + 1, left + 1, c));
        RC_ASSERT(std::abs(y.at(i) - zero_point - mean) <= 0.5 + 1e-9);
      }
    }
  }
  RC_ASSERT(i == y.size());
}

TEST(ReferenceResize, OP_2_keeps_type_zero_point_and_images) {
  const Elements maps{{2, 1, 1, 1}, {7, 9}, DType::kUint8, 5};
  const Workload workload = load_one_layer(resize(2, 1, "bilinear"), {maps});
  EXPECT_EQ(workload.tensor("y").shape, (std::vector<std::int64_t>{2, 2, 1, 1}));
  EXPECT_EQ(workload.tensor("y").zero_point, 5);
  EXPECT_EQ(elements_of(run_reference(workload).at("y")), (Values{7, 7, 9, 9}));
}

}  // namespace
}  // namespace tilebeat::testing
