// The reference operators against values computed by hand after docs/workloads.md (SPEC UI-6): ties,
// saturation, zero points, padding.
#include "operator_run.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using Values = std::vector<int>;

Elements pixels(const Values& values, int zero_point = 0) {
  return {{1, 1, static_cast<std::int64_t>(values.size()), 1}, values, DType::kInt8, zero_point};
}
Elements unsigned_pixels(const Values& values, int zero_point) {
  return {{1, 1, static_cast<std::int64_t>(values.size()), 1}, values, DType::kUint8, zero_point};
}

TEST(ReferencePooling, UI_6_max_never_takes_the_padding) {
  const json pool{{"op", "max_pool"}, {"kernel", {2, 2}}, {"stride", {1, 1}}, {"pads", {1, 1, 1, 1}}};
  const Elements low{{1, 2, 2, 1}, {-100, -90, -80, -128}};
  EXPECT_EQ(computed(pool, {low}), (Values{-100, -90, -90, -80, -80, -90, -80, -80, -128}))
      << "0 in the padding is greater, but it is no tap";
  const Elements high{{1, 2, 2, 1}, {3, 0, 7, 255}, DType::kUint8, 200};
  EXPECT_EQ(computed(pool, {high}), (Values{3, 3, 0, 7, 255, 255, 7, 255, 255})) << "the zero point neither";
}

TEST(ReferencePooling, UI_6_max_strides_dilates_and_keeps_channels_apart) {
  EXPECT_EQ(computed({{"op", "max_pool"}, {"kernel", {1, 2}}}, {pixels({1, 5, -3, -4, 9})}), (Values{5, -3}))
      << "the stride is the kernel, the last column is left over";
  EXPECT_EQ(computed({{"op", "max_pool"}, {"kernel", {1, 2}}, {"stride", {1, 1}}, {"dilation", {1, 3}}},
                     {pixels({1, 5, -3, -4, 9})}),
            (Values{1, 9}));
  EXPECT_EQ(computed({{"op", "max_pool"}, {"kernel", {2, 1}}},
                     {{{2, 2, 1, 3}, {1, 2, 3, 3, 2, 1, -1, -2, -3, -4, 0, -2}}}),
            (Values{3, 2, 3, -1, 0, -2}));
}

TEST(ReferencePooling, UI_6_average_rounds_half_to_even) {
  const json pool{{"op", "average_pool"}, {"kernel", {1, 2}}};
  EXPECT_EQ(computed(pool, {pixels({1, 2, 2, 3, -1, -2, -2, -3, 0, 1, -1, 0})}),
            (Values{2, 2, -2, -2, 0, 0}));
  EXPECT_EQ(computed(pool, {pixels({8, 9, 9, 10}, 7)}), (Values{9, 9}))
      << "1.5 and 2.5 above the zero point: rounded before it is added";
  EXPECT_EQ(computed(pool, {unsigned_pixels({254, 255, 0, 1}, 128)}), (Values{254, 0}))
      << "126.5 and -127.5 steps from the zero point round to 126 and -128";
}

TEST(ReferencePooling, UI_6_average_counts_taps_on_the_map_or_all) {
  json pool{{"op", "average_pool"}, {"kernel", {2, 2}}, {"stride", {1, 1}}, {"pads", {1, 1, 0, 0}}};
  const Elements map{{1, 2, 2, 1}, {14, 24, 34, 54}, DType::kInt8, 4};
  EXPECT_EQ(computed(pool, {map}), (Values{14, 19, 24, 32})) << "31.5 = 27.5 + 4: 28 + 4";
  pool["count_include_pad"] = true;
  EXPECT_EQ(computed(pool, {map}), (Values{6, 12, 14, 32})) << "10/4 = 2.5, 30/4 = 7.5, 40/4 = 10";
}

TEST(ReferencePooling, UI_6_global_pools_take_the_whole_map) {
  const Elements maps{{2, 1, 2, 2}, {1, -8, 4, -5, 10, 20, 11, 23}};
  EXPECT_EQ(computed({{"op", "global_max_pool"}}, {maps}), (Values{4, -5, 11, 23}));
  EXPECT_EQ(computed({{"op", "global_average_pool"}}, {maps}), (Values{2, -6, 10, 22}));
  EXPECT_EQ(run_layer({{"op", "global_max_pool"}}, {maps}).shape, (std::vector<std::int64_t>{2, 1, 1, 2}));
}

RC_GTEST_PROP(ReferencePooling, UI_6_follows_the_definition, ()) {
  const auto number = [](int low, int high) { return *rc::gen::inRange(low, high + 1); };
  const int kh = number(1, 3), kw = number(1, 3), sh = number(1, 3), sw = number(1, 3);
  const int top = number(0, kh - 1), left = number(0, kw - 1);
  const int bottom = number(0, kh - 1), right = number(0, kw - 1), zero_point = number(-128, 127);
  const int height = kh + number(0, 4), width = kw + number(0, 4), channels = number(1, 3);
  const bool all = number(0, 1) == 1;
  Elements map{{1, height, width, channels}, {}, DType::kInt8, zero_point};
  for (int i = 0; i < height * width * channels; ++i) map.values.push_back(number(-128, 127));
  json fields{
      {"op", "max_pool"}, {"kernel", {kh, kw}}, {"stride", {sh, sw}}, {"pads", {top, left, bottom, right}}};
  const Values greatest = computed(fields, {map});
  fields["op"] = "average_pool", fields["count_include_pad"] = all;
  const Values means = computed(fields, {map});
  std::size_t i = 0;
  for (int h = -top; h + kh <= height + bottom; h += sh) {
    for (int w = -left; w + kw <= width + right; w += sw) {
      for (int c = 0; c < channels; ++c, ++i) {
        int most = -1000, sum = 0, taps = 0;
        for (int y = std::max(h, 0); y < std::min(h + kh, height); ++y) {
          for (int x = std::max(w, 0); x < std::min(w + kw, width); ++x, ++taps) {
            const int element = map.values[static_cast<std::size_t>((y * width + x) * channels + c)];
            most = std::max(most, element);
            sum += element - zero_point;
          }
        }
        RC_ASSERT(greatest.at(i) == most);
        // y - zx is the whole number next to sum / count, the even one of two.
        const int count = all ? kh * kw : taps, twice = 2 * (means.at(i) - zero_point) * count;
        RC_ASSERT(std::abs(twice - 2 * sum) <= count);
        if (std::abs(twice - 2 * sum) == count) RC_ASSERT((means[i] - zero_point) % 2 == 0);
      }
    }
  }
  RC_ASSERT(i == greatest.size());
}

TEST(ReferenceElementwise, UI_6_adds_subtracts_multiplies) {
  const auto fields = [](const char* op) { return json{{"op", op}, {"requant", {{"scale", 0.5}}}}; };
  const Elements a = pixels({3, 100, -100, 1, -128, 7}), b = pixels({2, 100, -27, 2, -128, -7});
  EXPECT_EQ(computed(fields("add"), {a, b}), (Values{2, 100, -64, 2, -128, 0}))
      << "2.5 -> 2, 1.5 -> 2, -63.5 -> -64";
  EXPECT_EQ(computed(fields("sub"), {a, b}), (Values{0, 0, -36, 0, 0, 7})) << "0.5 -> 0, -36.5 -> -36";
  EXPECT_EQ(computed(fields("mul"), {a, b}), (Values{3, 127, 127, 1, 127, -24})) << "saturated; -24.5 -> -24";
}

TEST(ReferenceElementwise, UI_6_zero_points_scales_and_types_of_each_input) {
  json fields{{"op", "sub"},
              {"input_scales", {0.5, 2.0}},
              {"requant", {{"scale", 4}, {"zero_point", 100}, {"dtype", "uint8"}}}};
  const Elements a = pixels({-10, 10, 90, -10}, -10), b = unsigned_pixels({200, 203, 200, 210}, 200);
  EXPECT_EQ(computed(fields, {a, b}), (Values{100, 116, 255, 20}))
      << "(10 - 6) * 4 + 100, 200 + 100, -80 + 100";
  fields["activation"] = "relu";
  EXPECT_EQ(computed(fields, {a, b}), (Values{100, 116, 255, 100})) << "relu comes before requantisation";
  fields["op"] = "mul";
  EXPECT_EQ(computed(fields, {a, b}), (Values{100, 255, 100, 100})) << "10 * 6 * 4 + 100 saturates";
}

TEST(ReferenceElementwise, UI_6_computes_in_doubles_in_the_order_that_is_written) {
  const json fields{{"op", "add"}, {"input_scales", {0.1, 0.1}}, {"requant", {{"scale", 5}}}};
  EXPECT_EQ(computed(fields, {pixels({3}), pixels({6})}), (Values{5}))
      << "3 * 0.1 + 6 * 0.1 is 0.9000000000000001; (3 + 6) * 0.1 would be 0.9 and 4.5 a tie";
}

TEST(ReferenceElementwise, UI_6_one_tensor_may_be_both_inputs) {
  const TemporaryFolder folder;
  write_npy(folder.path("a.npy"), byte_tensor(pixels({1, -3, 100})));
  const json file{
      {"inputs", {{{"name", "a"}, {"shape", {1, 1, 3, 1}}, {"file", "a.npy"}}}},
      {"layers",
       {{{"name", "y"}, {"op", "mul"}, {"inputs", {"twice", "twice"}}, {"requant", {{"scale", 1}}}},
        {{"name", "twice"}, {"op", "add"}, {"inputs", {"a", "a"}}, {"requant", {{"scale", 1}}}}}}};
  const auto outputs = run_reference(load_workload(folder.write("w.json", file.dump())));
  EXPECT_EQ(elements_of(outputs.at("twice")), (Values{2, -6, 127}));
  EXPECT_EQ(elements_of(outputs.at("y")), (Values{4, 36, 127}));
}

TEST(ReferenceFunctions, UI_6_relu_and_clamp_count_from_the_zero_point) {
  EXPECT_EQ(computed({{"op", "relu"}}, {pixels({-128, -1, 0, 1, 127})}), (Values{0, 0, 0, 1, 127}));
  EXPECT_EQ(computed({{"op", "relu"}}, {pixels({-128, -6, -5, -4, 127}, -5)}), (Values{-5, -5, -5, -4, 127}));
  EXPECT_EQ(computed({{"op", "relu"}}, {unsigned_pixels({0, 127, 128, 129, 255}, 128)}),
            (Values{128, 128, 128, 129, 255}));
  const json clamp{{"op", "clamp"}, {"low", -10}, {"high", 20}};
  EXPECT_EQ(computed(clamp, {pixels({-128, -7, 0, 23, 24}, 3)}), (Values{-7, -7, 0, 23, 23}));
  EXPECT_EQ(computed({{"op", "clamp"}, {"low", 100}, {"high", 300}}, {unsigned_pixels({0, 190, 255}, 100)}),
            (Values{200, 200, 255}));
  EXPECT_EQ(computed({{"op", "clamp"}, {"low", 250}, {"high", 300}}, {unsigned_pixels({0, 255}, 100)}),
            (Values{255, 255}))
      << "a bound beyond the type saturates";
}

TEST(ReferenceFunctions, UI_6_leaky_relu_rounds_half_to_even) {
  const json fields{{"op", "leaky_relu"},
                    {"slope", 0.5},
                    {"input_scale", 0.5},
                    {"requant", {{"scale", 2}, {"zero_point", 1}}}};
  EXPECT_EQ(computed(fields, {pixels({-1, -3, -5, 0, 1, 127, -128})}), (Values{1, -1, -1, 1, 2, 127, -63}))
      << "-0.5 -> 0, -1.5 -> -2, -2.5 -> -2";
  EXPECT_EQ(computed(fields, {pixels({9, 10, 12}, 10)}), (Values{1, 1, 3}));
}

TEST(ReferenceFunctions, UI_6_sigmoid_tanh_hard_swish_gelu) {
  const auto fields = [](const char* op, double scale, int zero_point, const char* dtype) {
    return json{{"op", op},
                {"input_scale", 0.1},
                {"requant", {{"scale", scale}, {"zero_point", zero_point}, {"dtype", dtype}}}};
  };
  // sigmoid(0) = 0.5, sigmoid(1) = 0.731059, sigmoid(12.7) = 0.999997.
  EXPECT_EQ(computed(fields("sigmoid", 256, 0, "uint8"), {pixels({0, 10, -10, 127, -128})}),
            (Values{128, 187, 69, 255, 0}));
  // tanh(0.5) = 0.462117.
  EXPECT_EQ(computed(fields("tanh", 128, 0, "int8"), {pixels({5, 0, -5, 127, -128})}),
            (Values{59, 0, -59, 127, -128}));
  EXPECT_EQ(computed(fields("tanh", 100, 50, "uint8"), {unsigned_pixels({105, 100, 95}, 100)}),
            (Values{96, 50, 4}));
  // hard_swish: 0 up to -3, v from 3, and v * (v + 3) / 6 between: 1 -> 0.666667, -1 -> -0.333333.
  EXPECT_EQ(computed(fields("hard_swish", 30, 2, "int8"), {pixels({-128, -30, -10, 0, 10, 30, 127})}),
            (Values{2, 2, -8, 2, 22, 92, 127}));
  // gelu(1) = 0.841345, gelu(-1) = -0.158655, gelu(2) = 1.954500.
  EXPECT_EQ(computed(fields("gelu", 60, 0, "int8"), {pixels({0, 10, -10, 20, -128, 127})}),
            (Values{0, 50, -10, 117, 0, 127}));
}

TEST(ReferenceChannels, UI_6_scale_is_one_a_channel) {
  const json fields{{"op", "scale"},
                    {"scale", {0.5, -2}},
                    {"offset", {0, 1.5}},
                    {"requant", {{"scale", 1}, {"zero_point", -1}}}};
  const Elements map{{1, 1, 3, 2}, {13, 11, 15, 10, 127, -100}, DType::kInt8, 10};
  EXPECT_EQ(computed(fields, {map}), (Values{1, -1, 1, 1, 57, 127}))
      << "1.5 -> 2, -0.5 -> 0; 2.5 -> 2, 1.5 -> 2; 58.5 -> 58, 221.5 saturates";
}

TEST(ReferenceChannels, UI_6_batchnorm_folds_into_a_scale) {
  // s = 2 / sqrt(3 + 1) = 1 and -6 / sqrt(8 + 1) = -2.
  const json fields{{"op", "batchnorm"},  {"mean", {1, -0.25}},
                    {"variance", {3, 8}}, {"gamma", {2, -6}},
                    {"beta", 0.5},        {"epsilon", 1},
                    {"input_scale", 0.5}, {"requant", {{"scale", 2}, {"zero_point", 1}}}};
  const Elements map{{1, 1, 2, 2}, {8, 4, 1, 9}, DType::kInt8, 4};
  EXPECT_EQ(computed(fields, {map}), (Values{4, 1, -3, -9}))
      << "twice: (2 - 1) * 1 + 0.5, (0 + 0.25) * -2 + 0.5, (-1.5 - 1) * 1 + 0.5, (2.5 + 0.25) * -2 + 0.5; "
         "plus 1";
  const Workload workload = load_one_layer(fields, {map});
  const auto& folded = std::get<ChannelScale>(workload.layers[0].operation);
  EXPECT_EQ(folded.scale, (std::vector<double>{0.5, -1}));
  EXPECT_EQ(folded.offset, (std::vector<double>{-0.5, 0}));
}

TEST(ReferenceChannels, UI_6_requantize_bytes_and_accumulators) {
  const json fields{{"op", "requantize"},
                    {"input_scale", 0.5},
                    {"requant", {{"scale", 0.5}, {"zero_point", 10}, {"dtype", "uint8"}}}};
  EXPECT_EQ(computed(fields, {pixels({-6, -4, -2, 0, 100, -128}, -4)}), (Values{10, 10, 10, 11, 36, 0}))
      << "-0.5 -> 0, 0.5 -> 0, 1 -> 1, -31 + 10 saturates";
  const TemporaryFolder folder;
  write_npy(folder.path("x.npy"), byte_tensor(pixels({100, -100, 3, -128}, 5)));
  write_npy(folder.path("w.npy"), byte_tensor({{1, 1, 1, 1}, {101}}));
  json layer = fields;
  layer["name"] = "y", layer["inputs"] = {"sums"}, layer["requant"] = {{"scale", 0.02}, {"zero_point", -3}};
  const json file{
      {"inputs", {{{"name", "x"}, {"shape", {1, 1, 4, 1}}, {"file", "x.npy"}, {"zero_point", 5}}}},
      {"layers",
       {layer,
        {{"name", "sums"},
         {"op", "conv2d"},
         {"inputs", {"x"}},
         {"out_channels", 1},
         {"kernel", {1, 1}},
         {"weights", {{"file", "w.npy"}}}}}}};
  const auto outputs = run_reference(load_workload(folder.write("w.json", file.dump())));
  EXPECT_EQ(elements_of(outputs.at("sums")), (Values{9595, -10605, -202, -13433}));
  EXPECT_EQ(elements_of(outputs.at("y")), (Values{93, -109, -5, -128}))
      << "95.95, -106.05, -2.02, -134.33, less 3";
}

TEST(ReferenceSoftmax, UI_6_probabilities_of_each_pixel) {
  const Elements map{{1, 1, 3, 2}, {7, 7, 20, 10, -128, 127}, DType::kInt8, 3};
  EXPECT_EQ(computed({{"op", "softmax"}, {"input_scale", 0.1}}, {map}), (Values{0, 0, 59, -59, -128, 127}))
      << "1/2; 1/(1 + 1/e) = 0.731059; exp(-25.5) * 2^24 rounds to 0, and 256 - 128 saturates";
  EXPECT_EQ(computed({{"op", "softmax"},
                      {"input_scale", 0.1},
                      {"requant", {{"scale", 100}, {"zero_point", 5}, {"dtype", "uint8"}}}},
                     {map}),
            (Values{55, 55, 78, 32, 5, 105}));
  const Elements four{{1, 1, 1, 4}, {0, 0, 0, 0}, DType::kUint8, 9};
  EXPECT_EQ(computed({{"op", "softmax"}, {"input_scale", 5}, {"requant", {{"scale", 10}}}}, {four}),
            (Values{2, 2, 2, 2}))
      << "2.5 rounds to even";
}

TEST(ReferenceShapes, UI_6_flatten_reshape_dropout_keep_the_bytes) {
  const Elements map{{2, 1, 2, 2}, {1, 2, 3, 4, 5, 6, 7, -8}, DType::kInt8, 4};
  for (const auto& [fields, shape] :
       {std::pair<json, std::vector<std::int64_t>>{{{"op", "flatten"}}, {2, 1, 1, 4}},
        {{{"op", "dropout"}}, {2, 1, 2, 2}},
        {{{"op", "reshape"}, {"shape", {4, 2}}}, {4, 2}}}) {
    const Workload workload = load_one_layer(fields, {map});
    EXPECT_EQ(workload.tensor("y").zero_point, 4);
    const Tensor y = run_reference(workload).at("y");
    EXPECT_EQ(elements_of(y), map.values);
    EXPECT_EQ(y.shape, shape);
  }
}

TEST(ReferenceShapes, OP_2_pad_puts_a_border_around_pixels_and_channels) {
  const Elements map{{2, 1, 2, 1}, {1, 2, 3, 4}, DType::kInt8, 7};
  EXPECT_EQ(computed({{"op", "pad"}, {"pads", {1, 0, 0, 1}}}, {map}),
            (Values{7, 7, 7, 1, 2, 7, 7, 7, 7, 3, 4, 7}))
      << "a row above, a column to the right, of the zero point";
  EXPECT_EQ(
      computed({{"op", "pad"}, {"pads", {0, 1, 0, 0}}, {"channel_pads", {1, 2}}, {"value", -128}}, {map}),
      (Values{-128, -128, -128, -128, -128, 1, -128, -128, -128, 2, -128, -128,
              -128, -128, -128, -128, -128, 3, -128, -128, -128, 4, -128, -128}));
  const Elements bytes{{1, 1, 1, 1}, {5}, DType::kUint8, 200};
  EXPECT_EQ(computed({{"op", "pad"}, {"pads", {0, 0, 0, 1}}}, {bytes}), (Values{5, 200}));
}

TEST(ReferenceShapes, UI_6_concat_joins_channels) {
  const Elements a{{1, 1, 2, 1}, {1, 2}, DType::kUint8, 7},
      b{{1, 1, 2, 2}, {10, 11, 12, 13}, DType::kUint8, 7};
  const Workload workload = load_one_layer({{"op", "concat"}}, {a, b, a});
  EXPECT_EQ(workload.tensor("y").zero_point, 7);
  const Tensor y = run_reference(workload).at("y");
  EXPECT_EQ(y.shape, (std::vector<std::int64_t>{1, 1, 2, 4}));
  EXPECT_EQ(elements_of(y), (Values{1, 10, 11, 1, 2, 12, 13, 2}));
}

TEST(ReferenceFullyConnected, UI_6_takes_the_map_in_its_order) {
  // Powers of ten tell which element met which weight.
  const TemporaryFolder folder;
  write_npy(folder.path("x.npy"), byte_tensor({{2, 1, 2, 2}, {3, 4, 5, 6, 2, 2, 2, 3}}));
  write_npy(folder.path("w.npy"), byte_tensor({{2, 4}, {1, 10, 100, 0, -1, -1, -1, 120}}));
  write_npy(folder.path("b.npy"), Tensor{{2}, DType::kInt32, {7, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}});
  json fields{{"name", "y"},       {"op", "fully_connected"},        {"inputs", {"x"}},
              {"out_features", 2}, {"weights", {{"file", "w.npy"}}}, {"bias", {{"file", "b.npy"}}}};
  json file{{"inputs", {{{"name", "x"}, {"shape", {2, 1, 2, 2}}, {"file", "x.npy"}, {"zero_point", 2}}}},
            {"layers", {fields}}};
  const auto run = [&] { return run_reference(load_workload(folder.write("w.json", file.dump()))).at("y"); };
  EXPECT_EQ(elements_of(run()), (Values{1 + 20 + 300 + 7, -1 - 2 - 3 + 480 - 1, 7, 119}));
  EXPECT_EQ(run().shape, (std::vector<std::int64_t>{2, 1, 1, 2}));
  file["layers"][0]["activation"] = {{"clamp", {10, 300}}};
  file["layers"][0]["requant"] = {{"scale", {0.5, 0.1}}, {"zero_point", 1}, {"dtype", "uint8"}};
  EXPECT_EQ(elements_of(run()), (Values{151, 31, 6, 13}))
      << "300 / 2 + 1, 300 / 10 + 1, 10 / 2 + 1, 11.9 + 1";
}

}  // namespace
}  // namespace tilebeat::testing
