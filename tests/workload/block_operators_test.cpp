// depth_to_space and space_to_depth (SPEC OP-2): form, shapes, errors, and the reference against the loops of
// ONNX' text, written out here.
#include "../data/temporary_folder.h"
#include "operator_run.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using Shape = std::vector<std::int64_t>;
using Values = std::vector<int>;

/// A map whose elements are all different, as far as bytes go.
Elements counted(const Shape& shape) {
  Elements map{shape, {}, DType::kUint8, 9};
  map.values.resize(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
  for (std::size_t i = 0; i < map.values.size(); ++i) map.values[i] = static_cast<int>(i * 37 % 251);
  return map;
}

std::size_t at(const Shape& shape, std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c) {
  return static_cast<std::size_t>(((n * shape[1] + h) * shape[2] + w) * shape[3] + c);
}

/// `channel(pixel, c)` is the channel of the deep map for pixel number `pixel` of a block and channel c.
template <class Channel>
void expect_blocks(const Elements& map, std::int64_t b, const json& fields, bool to_space, Channel channel) {
  const Shape& in = map.shape;
  const Shape out = to_space ? Shape{in[0], in[1] * b, in[2] * b, in[3] / (b * b)}
                             : Shape{in[0], in[1] / b, in[2] / b, in[3] * b * b};
  const Shape &wide = to_space ? out : in, &deep = to_space ? in : out;
  Values expected(map.values.size());
  for (std::int64_t n = 0; n < wide[0]; ++n) {
    for (std::int64_t h = 0; h < wide[1]; ++h) {
      for (std::int64_t w = 0; w < wide[2]; ++w) {
        for (std::int64_t c = 0; c < wide[3]; ++c) {
          const std::size_t shallow = at(wide, n, h, w, c),
                            packed = at(deep, n, h / b, w / b, channel(h % b * b + w % b, c));
          expected[to_space ? shallow : packed] = map.values[to_space ? packed : shallow];
        }
      }
    }
  }
  const Workload workload = load_one_layer(fields, {map});
  EXPECT_EQ(workload.tensor("y").shape, out) << fields;
  EXPECT_EQ(workload.tensor("y").zero_point, map.zero_point) << fields;
  EXPECT_EQ(workload.layers.front().op, fields["op"]);
  EXPECT_EQ(elements_of(run_reference(workload).at("y")), expected) << fields;
}

TEST(BlockOperators, OP_2_channels_become_blocks_of_pixels_in_both_orders) {
  for (const std::int64_t b : {1, 2, 3}) {
    for (const std::int64_t depth : {1, 2, 5}) {
      const Elements map = counted({2, 3, 4, depth * b * b});
      const json fields{{"op", "depth_to_space"}, {"block_size", b}};
      const auto pixel_first = [&](std::int64_t pixel, std::int64_t c) { return pixel * depth + c; };
      expect_blocks(map, b, fields, true, pixel_first);
      json named = fields;
      named["mode"] = "dcr";
      expect_blocks(map, b, named, true, pixel_first);
      named["mode"] = "crd";
      expect_blocks(map, b, named, true,
                    [&](std::int64_t pixel, std::int64_t c) { return c * b * b + pixel; });
    }
  }
}

TEST(BlockOperators, OP_2_blocks_of_pixels_become_channels) {
  for (const std::int64_t b : {1, 2, 3}) {
    const Elements map = counted({2, 6, 12, 3});
    expect_blocks(map, b, {{"op", "space_to_depth"}, {"block_size", b}}, false,
                  [](std::int64_t pixel, std::int64_t c) { return pixel * 3 + c; });
  }
}

TEST(BlockOperators, UI_6_what_does_not_fit_is_refused) {
  const auto complaint = [](const json& fields, const Shape& shape) {
    return refusal([&] { load_one_layer(fields, {counted(shape)}); });
  };
  const auto expect = [&](const json& fields, const Shape& shape, const char* text) {
    EXPECT_THAT(complaint(fields, shape), ::testing::HasSubstr(text)) << fields;
  };
  const json to_space{{"op", "depth_to_space"}, {"block_size", 2}},
      to_depth{{"op", "space_to_depth"}, {"block_size", 3}};
  expect(to_space, {1, 2, 2, 6},
         "/layers/0/block_size: 2 is not allowed, allowed is a number whose square divides the 6 channels");
  expect(to_depth, {1, 6, 4, 1},
         "/layers/0/block_size: 3 is not allowed, allowed is a divisor of the height 6 and of the width 4");
  expect({{"op", "space_to_depth"}, {"block_size", 0}}, {1, 2, 2, 1},
         "/layers/0/block_size: 0 is not allowed, allowed is a whole number from 1 to 65535");
  expect({{"op", "depth_to_space"}}, {1, 2, 2, 4}, "/layers/0/block_size: is missing, it has no default");
  json wrong = to_space;
  wrong["mode"] = "rcd";
  expect(wrong, {1, 2, 2, 4}, R"(/layers/0/mode: "rcd" is not allowed, allowed is one of "dcr", "crd")");
  wrong = to_depth;
  wrong["mode"] = "dcr";
  expect(wrong, {1, 3, 3, 1}, R"(key "mode" of op space_to_depth is not allowed)");
}

}  // namespace
}  // namespace tilebeat::testing
