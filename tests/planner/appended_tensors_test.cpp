// Which concats append to their first operand, where it lies (SPEC AT-2).
#include "planner/layer/appended_tensors.h"

#include "../data/temporary_folder.h"
#include "config/hardware_config.h"
#include "planner/program/planner.h"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

class AppendedTensors : public ::testing::Test {
 protected:
  AppendedTensors() { hardware_.chip.emplace(); }

  // Inputs `cache` [1, 2, 4, 32], `new` and `more` [1, 2, 1, 32], and these layers.
  Workload workload(const std::string& layers) const {
    return load_workload(folder_.write("w.json", R"({"name": "w", "inputs": [
      {"name": "cache", "shape": [1, 2, 4, 32], "random": {"seed": 1}},
      {"name": "new", "shape": [1, 2, 1, 32], "random": {"seed": 2}},
      {"name": "more", "shape": [1, 2, 1, 32], "random": {"seed": 3}},
      {"name": "q", "shape": [1, 2, 1, 32], "random": {"seed": 4}}], "layers": [)" +
                                                     layers + "]}"));
  }
  static std::string concat(const std::string& name, const std::string& a, const std::string& b,
                            int axis = 2) {
    return R"({"name": ")" + name + R"(", "op": "concat", "inputs": [")" + a + R"(", ")" + b +
           R"("], "axis": )" + std::to_string(axis) + "}";
  }
  std::set<std::string> appended(const std::string& layers, const std::set<std::string>& on_chip = {}) const {
    std::set<std::string> names;
    for (const auto& [name, place] : appended_tensors(workload(layers), hardware_, on_chip))
      names.insert(name);
    return names;
  }

  TemporaryFolder folder_;
  HardwareConfig hardware_;
};
using Names = std::set<std::string>;

TEST_F(AppendedTensors, AT_2_a_chain_of_concats_has_one_place_with_room_for_the_longest) {
  const Workload w = workload(concat("a", "cache", "new") + "," + concat("b", "a", "more"));
  const auto places = appended_tensors(w, hardware_, {});
  ASSERT_EQ(places.size(), 3U);
  for (const char* name : {"cache", "a", "b"}) {
    const AppendedPlace& place = places.at(name);
    EXPECT_EQ(place.first, "cache");
    EXPECT_EQ(place.images, 2);
    EXPECT_EQ(place.pixel_bytes, 32);
    EXPECT_EQ(place.image_stride, 6 * 32);
  }
  const Plan plan = make_plan(w, hardware_);
  EXPECT_EQ(plan.tensors.at("b").address, plan.tensors.at("cache").address);
  EXPECT_EQ(plan.tensors.at("b").stored, nullptr) << "the longest one has no room left";
  ASSERT_NE(plan.tensors.at("cache").stored, nullptr);
  EXPECT_EQ(plan.tensors.at("cache").size_bytes(), 6 * 32 + 4 * 32);
  EXPECT_EQ(plan.layers.at(0).output_bytes, 2 * 32);
  EXPECT_EQ(plan.layers.at(0).input_bytes, 2 * 32);
}

TEST_F(AppendedTensors, AT_2_a_reshape_between_two_concats_is_the_same_tensor) {
  const std::string reshape = R"({"name": "r", "op": "reshape", "inputs": ["a"], "shape": [2, 5, 32]},
    {"name": "m", "op": "reshape", "inputs": ["more"], "shape": [2, 1, 32]})";
  EXPECT_EQ(appended(concat("a", "cache", "new") + "," + reshape + "," + concat("b", "r", "m", 1)),
            (Names{"cache", "a", "b"}));
  // As one head it has other images.
  const std::string one = R"({"name": "r", "op": "reshape", "inputs": ["a"], "shape": [1, 1, 10, 32]},
    {"name": "m", "op": "reshape", "inputs": ["more"], "shape": [1, 1, 2, 32]})";
  EXPECT_EQ(appended(concat("a", "cache", "new") + "," + one + "," + concat("b", "r", "m")),
            (Names{"cache", "a"}));
}

TEST_F(AppendedTensors, AT_2_of_two_concats_with_one_first_operand_the_first_one_appends) {
  EXPECT_EQ(appended(concat("a", "cache", "new") + "," + concat("b", "cache", "more")),
            (Names{"cache", "a"}));
}

TEST_F(AppendedTensors, AT_2_others_copy) {
  EXPECT_EQ(appended(concat("a", "cache", "cache", 3)), Names{}) << "along the last axis";
  EXPECT_EQ(appended(concat("a", "cache", "cache")), Names{}) << "to itself";
  EXPECT_EQ(appended(concat("a", "cache", "new") + "," + concat("b", "a", "cache")), Names{})
      << "read beside an earlier length";
  EXPECT_EQ(appended(concat("a", "new", "cache")), (Names{})) << "to heads of 32 bytes";
  EXPECT_EQ(appended(concat("a", "cache", "new"), {"cache"}), Names{}) << "to what stays on the chip";
  hardware_.planner.append_in_place = false;
  EXPECT_EQ(appended(concat("a", "cache", "new")), Names{}) << "where the planner may not";
}

TEST_F(AppendedTensors, AT_2_readers_that_need_dense_images_keep_the_copy) {
  const std::string a = concat("a", "cache", "new") + ",";
  EXPECT_EQ(
      appended(a + R"({"name": "y", "op": "matmul", "inputs": ["q", "a"], "transpose_b": true})").size(), 2U)
      << "a matrix a head";
  const std::string matrix = R"({"name": "f", "op": "reshape", "inputs": ["a"], "shape": [10, 32]},
    {"name": "g", "op": "reshape", "inputs": ["q"], "shape": [2, 32]},)";
  EXPECT_EQ(
      appended(a + matrix + R"({"name": "y", "op": "matmul", "inputs": ["g", "f"], "transpose_b": true})"),
      Names{})
      << "one matrix of both heads";
  EXPECT_EQ(
      appended(
          a + R"({"name": "s", "op": "slice", "inputs": ["a"], "starts": [0, 0, 0, 0], "ends": [1, 2, 4, 32]},
    {"name": "y", "op": "add", "inputs": ["s", "cache"], "requant": {"scale": 1}})")
          .size(),
      2U)
      << "one length a layer";
}

}  // namespace
}  // namespace tilebeat::testing
