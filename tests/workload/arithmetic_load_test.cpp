// What a workload file has to say for an arithmetic of SPEC NU-6, and how it is refused when it does not.
#include "operator_run.h"
#include "tilebeat/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// A fully connected layer of two inputs and one output in `arithmetic`.
json product(const std::string& arithmetic, const json& requant) {
  return {{"op", "fully_connected"},
          {"out_features", 1},
          {"weights", {{"random", {{"seed", 1}}}}},
          {"arithmetic", arithmetic},
          {"requant", requant}};
}
const json kScales{{"input_scale", 0.5}, {"weight_scale", 0.25}, {"output_scale", 2}};

std::string refusal_of(const json& layer, int inputs = 1) {
  try {
    load_one_layer(layer, std::vector<Elements>(static_cast<std::size_t>(inputs), {{1, 1, 1, 2}, {3, 4}}));
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

TEST(ArithmeticLoad, NU_6_the_combined_scale_follows_from_the_three) {
  const Workload workload = load_one_layer(product("exact", kScales), {{{1, 1, 1, 2}, {3, 4}}});
  const auto& conv = std::get<Conv2d>(workload.layers.front().operation);
  EXPECT_EQ(conv.requant->scale, std::vector<double>{0.0625});
  EXPECT_EQ(conv.requant->arithmetic, Arithmetic::kExact);
}

TEST(ArithmeticLoad, NU_6_scales_that_are_missing_are_named) {
  for (const char* key : {"input_scale", "weight_scale", "output_scale"}) {
    json scales = kScales;
    scales.erase(key), scales["scale"] = 1;
    EXPECT_THAT(refusal_of(product("fixed", scales)), HasSubstr(std::string("/layers/0/requant/") + key +
                                                                ": is missing, arithmetic fixed needs it"));
  }
  EXPECT_THAT(refusal_of(product("exact", json::object())), HasSubstr("/layers/0/requant/scale: is missing"));
  const json sum{{"op", "add"}, {"arithmetic", "float32"}, {"requant", {{"scale", 2}}}};
  EXPECT_THAT(refusal_of(sum, 2), HasSubstr("/layers/0/requant/output_scale: is missing"));
}

TEST(ArithmeticLoad, NU_6_what_has_no_rule_is_refused_by_name) {
  json clamped = product("float32", kScales);
  clamped["activation"] = {{"clamp", {0, 9}}};
  EXPECT_THAT(refusal_of(clamped), HasSubstr("/layers/0/activation: another activation than \"relu\""));
  const json gelu{
      {"op", "gelu"}, {"arithmetic", "fixed"}, {"input_scale", 1}, {"requant", {{"output_scale", 1}}}};
  EXPECT_THAT(refusal_of(gelu), HasSubstr("/layers/0/arithmetic: \"fixed\" for op gelu"));
  EXPECT_THAT(refusal_of(product("float16", kScales)), HasSubstr("/layers/0/arithmetic: \"float16\""));
}

TEST(ArithmeticLoad, NU_6_bounds_lie_within_the_type) {
  json bounded = product("exact", kScales);
  bounded["output_range"] = {-10, 128};
  EXPECT_THAT(refusal_of(bounded), HasSubstr("/layers/0/output_range: [-10, 128]"));
  bounded["output_range"] = {5, 4};
  EXPECT_THAT(refusal_of(bounded), HasSubstr("/layers/0/output_range: [5, 4]"));
  bounded["output_range"] = {-10, 127};
  EXPECT_EQ(refusal_of(bounded), "");
}

}  // namespace
}  // namespace tilebeat::testing
