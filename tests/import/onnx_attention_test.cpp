// Attention, rotations by position and norms of language models, as ONNX and its runtime name them, quantised
// by samples (SPEC AT-1, RN-3). What they compute in float32 is compared with loops that are written out
// here.
#include "onnx_import.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using Reals = std::vector<double>;

/// The shape of an attention: `heads` heads share the keys of `shared`, which are `past` older.
struct Heads {
  int heads = 4, shared = 2, queries = 6, past = 0, size = 4, window = 0;
  bool causal = true;
  int keys() const { return queries + past; }
};

/// q is [queries, heads * size], k and v are [keys, shared * size], as is the result.
Reals attention_by_hand(const Heads& h, const Reals& q, const Reals& k, const Reals& v) {
  Reals made;
  const auto at = [&](const Reals& x, int heads, int row, int head, int i) {
    return x[static_cast<std::size_t>((row * heads + head) * h.size + i)];
  };
  for (int row = 0; row < h.queries; ++row) {
    for (int head = 0; head < h.heads; ++head) {
      const int of = head / (h.heads / h.shared);
      Reals shares;
      double sum = 0;
      for (int key = 0; key < h.keys(); ++key) {
        double score = 0;
        for (int i = 0; i < h.size; ++i) score += at(q, h.heads, row, head, i) * at(k, h.shared, key, of, i);
        const int last = row + h.past;
        const bool seen = !h.causal || (key <= last && (h.window == 0 || key > last - h.window));
        shares.push_back(seen ? std::exp(score / std::sqrt(h.size)) : 0);
        sum += shares.back();
      }
      for (int i = 0; i < h.size; ++i) {
        double y = 0;
        for (int key = 0; key < h.keys(); ++key)
          y += shares[static_cast<std::size_t>(key)] / sum * at(v, h.shared, key, of, i);
        made.push_back(y);
      }
    }
  }
  return made;
}

/// Rotates rows of heads by the angles 0.3 * position / (pair + 1).
Reals turned_by_hand(const Reals& x, int heads, int size, int first, bool interleaved) {
  Reals made = x;
  for (std::size_t head = 0; head < x.size() / static_cast<std::size_t>(size); ++head) {
    const int position = first + static_cast<int>(head) / heads;
    for (int pair = 0; pair < size / 2; ++pair) {
      const auto a =
          head * static_cast<std::size_t>(size) + static_cast<std::size_t>(interleaved ? 2 * pair : pair);
      const auto b = a + static_cast<std::size_t>(interleaved ? 1 : size / 2);
      const double angle = 0.3 * position / (pair + 1);
      made[a] = x[a] * std::cos(angle) - x[b] * std::sin(angle);
      made[b] = x[b] * std::cos(angle) + x[a] * std::sin(angle);
    }
  }
  return made;
}

class OnnxAttention : public OnnxImport {
 protected:
  static constexpr int kRows = 6, kWidth = 16;

  OnnxAttention() { model_.input("x", kFloat, {1, kRows, kWidth}).output("y"); }

  /// x times a matrix: [1, 6, columns].
  void project(const std::string& name, int columns, double step) {
    std::vector<float> weights = wave(static_cast<std::size_t>(kWidth * columns), step);
    model_.floats("w_" + name, {kWidth, columns}, weights);
    model_.node("MatMul", {"x", "w_" + name}, {name});
  }
  /// Cosines and sines of `positions` positions for `pairs` pairs of elements.
  void angles(int positions, int pairs, const Extents& shape) {
    std::vector<float> cosines, sines;
    for (int p = 0; p < positions; ++p) {
      for (int pair = 0; pair < pairs; ++pair) {
        cosines.push_back(static_cast<float>(std::cos(0.3 * p / (pair + 1))));
        sines.push_back(static_cast<float>(std::sin(0.3 * p / (pair + 1))));
      }
    }
    model_.floats("cos", shape, cosines).floats("sin", shape, sines);
  }
  void import() {
    network_ = imported(model_, samples({1, kRows, kWidth}, 4));
    workload_ = loaded(network_);
  }
  /// What the float network computes for the first sample.
  Reals real(const std::string& tensor) {
    for (const SourceTensor& source : network_.tensors) {
      if (source.name != tensor || !source.holder) continue;
      const Tensor& values = workload_.float_references.at(*source.holder).values;
      std::vector<float> reals(static_cast<std::size_t>(values.elements()));
      std::memcpy(reals.data(), values.bytes.data(), values.bytes.size());
      return {reals.begin(), reals.end()};
    }
    ADD_FAILURE() << tensor << " has no float values";
    return {};
  }
  void expect_near(const Reals& found, const Reals& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 1e-4) << i;
  }
  json layers(const std::string& op) const {
    json made = json::array();
    const json all = workload_of(network_).at("layers");
    std::copy_if(all.begin(), all.end(), std::back_inserter(made),
                 [&](const json& l) { return l.at("op") == op; });
    return made;
  }

  OnnxModel model_{23};
  ImportedNetwork network_;
  Workload workload_;
};

TEST_F(OnnxAttention, AT_1_attention_of_grouped_heads_is_products_and_a_causal_softmax) {
  project("q", 16, 0.31), project("k", 8, 0.47), project("v", 8, 0.73);
  auto& node = model_.node("Attention", {"q", "k", "v"}, {"y"});
  OnnxModel::attribute(node, "q_num_heads", {4});
  OnnxModel::attribute(node, "kv_num_heads", {2});
  OnnxModel::attribute(node, "is_causal", {1});
  import();
  expect_near(real("y"), attention_by_hand({}, real("q"), real("k"), real("v")));
  ASSERT_EQ(layers("softmax").size(), 1U);
  EXPECT_EQ(layers("softmax")[0].at("causal").at("past"), 0);
  EXPECT_GT(cosine(model_, "y", samples({1, kRows, kWidth}, 4)), 0.98);
}

TEST_F(OnnxAttention, AT_1_a_mask_of_flags_is_recognised_as_causal_with_a_window) {
  project("q", 16, 0.31), project("k", 16, 0.47), project("v", 16, 0.73);
  std::vector<int> flags;
  for (int row = 0; row < kRows; ++row) {
    for (int key = 0; key < kRows; ++key) flags.push_back(key <= row && key > row - 3 ? 1 : 0);
  }
  model_.integers("mask", 9, {kRows, kRows}, flags);
  auto& node = model_.node("Attention", {"q", "k", "v", "mask"}, {"y"});
  OnnxModel::attribute(node, "q_num_heads", {4});
  OnnxModel::attribute(node, "kv_num_heads", {4});
  import();
  Heads heads;
  heads.shared = 4, heads.window = 3;
  expect_near(real("y"), attention_by_hand(heads, real("q"), real("k"), real("v")));
  EXPECT_EQ(layers("softmax")[0].at("causal"), (json{{"past", 0}, {"window", 3}}));
}

TEST_F(OnnxAttention, AT_1_other_masks_are_added) {
  project("q", 16, 0.31), project("k", 16, 0.47), project("v", 16, 0.73);
  std::vector<int> flags;
  for (int row = 0; row < kRows; ++row) {
    for (int key = 0; key < kRows; ++key) flags.push_back((row + key) % 3 == 1 ? 0 : 1);
  }
  model_.integers("mask", 9, {kRows, kRows}, flags);
  auto& node = model_.node("Attention", {"q", "k", "v", "mask"}, {"y"});
  OnnxModel::attribute(node, "q_num_heads", {4});
  OnnxModel::attribute(node, "kv_num_heads", {4});
  import();
  EXPECT_FALSE(layers("softmax")[0].contains("causal"));
  EXPECT_EQ(layers("add").size(), 1U);
  EXPECT_GT(cosine(model_, "y", samples({1, kRows, kWidth}, 4)), 0.95);
}

// Four heads, of which each sees the keys up to its own number.
TEST_F(OnnxAttention, AT_1_a_mask_by_head_is_not_taken_for_one_by_query) {
  project("q", 16, 0.31), project("k", 16, 0.47), project("v", 16, 0.73);
  std::vector<int> flags;
  for (int head = 0; head < 4; ++head) {
    for (int key = 0; key < kRows; ++key) flags.push_back(key <= head ? 1 : 0);
  }
  model_.integers("mask", 9, {4, 1, kRows}, flags);
  auto& node = model_.node("Attention", {"q", "k", "v", "mask"}, {"y"});
  OnnxModel::attribute(node, "q_num_heads", {4});
  OnnxModel::attribute(node, "kv_num_heads", {4});
  import();
  EXPECT_FALSE(layers("softmax")[0].contains("causal"));
  // The first head sees the first key alone.
  const Reals y = real("y"), v = real("v");
  for (int row = 0; row < kRows; ++row) {
    for (int i = 0; i < 4; ++i)
      EXPECT_NEAR(y[static_cast<std::size_t>(row * 16 + i)], v[static_cast<std::size_t>(i)], 1e-4);
  }
}

TEST_F(OnnxAttention, AT_1_late_queries_of_a_causal_attention_see_all_of_fewer_keys) {
  project("q", 16, 0.31), project("k", 16, 0.47), project("v", 16, 0.73);
  for (const char* name : {"k", "v"}) {
    auto& slice = model_.node("Slice", {name, "first", "third", "axis"}, {std::string(name) + "3"});
    static_cast<void>(slice);
  }
  model_.longs("first", {1}, {0}).longs("third", {1}, {3}).longs("axis", {1}, {1});
  auto& node = model_.node("Attention", {"q", "k3", "v3"}, {"y"});
  OnnxModel::attribute(node, "q_num_heads", {4});
  OnnxModel::attribute(node, "kv_num_heads", {4});
  OnnxModel::attribute(node, "is_causal", {1});
  import();
  // Of the first query the first key is all it sees.
  const Reals y = real("y"), v = real("v");
  for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(y[i], v[i], 1e-4);
  EXPECT_EQ(layers("add").size(), 1U);
}

TEST_F(OnnxAttention, RN_1_a_mask_with_fewer_keys_is_refused_by_its_shape) {
  project("q", 16, 0.31);
  model_.integers("mask", 9, {kRows, 1}, std::vector<int>(kRows, 1));
  auto& node = model_.node("Attention", {"q", "q", "q", "mask"}, {"y"});
  OnnxModel::attribute(node, "q_num_heads", {4});
  OnnxModel::attribute(node, "kv_num_heads", {4});
  const std::vector<std::string> lines = reasons(model_, samples({1, kRows, kWidth}, 4));
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines.at(0), HasSubstr("a mask of shape [6, 1] for scores of shape [1, 4, 6, 6]"));
}

TEST_F(OnnxAttention, AT_1_AT_2_grouped_queries_turn_and_see_the_keys_of_earlier_steps) {
  constexpr int kPast = 5;
  project("qkv", 16 + 8 + 8, 0.29);
  angles(kPast + kRows, 2, {kPast + kRows, 2});
  const std::vector<float> old_keys = wave(2 * kPast * 4, 0.9), old_values = wave(2 * kPast * 4, 1.7);
  model_.floats("old_k", {1, 2, kPast, 4}, old_keys).floats("old_v", {1, 2, kPast, 4}, old_values);
  model_.integers("lengths", kInt32, {1}, {kPast + kRows - 1}).integers("all", kInt32, {}, {kPast + kRows});
  auto& node =
      model_.node("GroupQueryAttention", {"qkv", "", "", "old_k", "old_v", "lengths", "all", "cos", "sin"},
                  {"y", "new_k", "new_v"}, "com.microsoft");
  OnnxModel::attribute(node, "num_heads", {4});
  OnnxModel::attribute(node, "kv_num_heads", {2});
  OnnxModel::attribute(node, "do_rotary", {1});
  OnnxModel::attribute(node, "local_window_size", {7});
  import();
  Reals q, k, v;
  const auto append = [](Reals& to, const Reals& row, int from, int end) {
    to.insert(to.end(), row.begin() + from, row.begin() + end);
  };
  for (const auto* part : {&old_keys, &old_values}) {
    for (int p = 0; p < kPast; ++p) {
      for (int head = 0; head < 2; ++head) {
        for (int i = 0; i < 4; ++i)
          (part == &old_keys ? k : v)
              .push_back((*part)[static_cast<std::size_t>((head * kPast + p) * 4 + i)]);
      }
    }
  }
  const Reals all = real("qkv");
  Reals new_keys;
  for (int row = 0; row < kRows; ++row) {
    append(q, all, row * 32, row * 32 + 16), append(new_keys, all, row * 32 + 16, row * 32 + 24);
    append(v, all, row * 32 + 24, row * 32 + 32);
  }
  append(k, turned_by_hand(new_keys, 2, 4, kPast, false), 0, kRows * 8);
  Heads heads;
  heads.past = kPast, heads.window = 7;
  expect_near(real("y"), attention_by_hand(heads, turned_by_hand(q, 4, 4, kPast, false), k, v));
  EXPECT_EQ(layers("softmax")[0].at("causal"), (json{{"past", kPast}, {"window", 7}}));
}

TEST_F(OnnxAttention, AT_1_rotary_embeddings_of_halves_and_of_neighbours) {
  for (const bool interleaved : {false, true}) {
    OnnxModel model(23);
    model_ = model.input("x", kFloat, {1, kRows, kWidth}).output("y");
    angles(kRows, 2, {1, kRows, 2});
    auto& node = model_.node("RotaryEmbedding", {"x", "cos", "sin"}, {"y"});
    OnnxModel::attribute(node, "num_heads", {4});
    OnnxModel::attribute(node, "interleaved", {interleaved ? 1 : 0});
    import();
    expect_near(real("y"), turned_by_hand(real("x"), 4, 4, 0, interleaved));
  }
}

TEST_F(OnnxAttention, AT_1_rotary_embeddings_of_the_runtime_have_positions_first) {
  angles(20, 2, {20, 2});
  model_.longs("places", {1}, {9});
  model_.node("RotaryEmbedding", {"x", "places", "cos", "sin"}, {"y"}, "com.microsoft");
  import();
  expect_near(real("y"), turned_by_hand(real("x"), 4, 4, 9, false));
}

TEST_F(OnnxAttention, AT_1_skipped_and_simplified_norms) {
  project("skip", kWidth, 0.21);
  model_.floats("gamma", {kWidth}, wave(kWidth, 0.8));
  model_.node("SkipSimplifiedLayerNormalization", {"x", "skip", "gamma"}, {"n", "", "", "sum"},
              "com.microsoft");
  model_.node("SimplifiedLayerNormalization", {"sum", "gamma"}, {"m"});
  model_.node("Add", {"n", "m"}, {"y"});
  import();
  const Reals x = real("x"), skip = real("skip");
  const std::vector<float> factors = wave(kWidth, 0.8);
  Reals wanted;
  for (std::size_t row = 0; row < kRows; ++row) {
    double squares = 0;
    for (std::size_t i = 0; i < kWidth; ++i)
      squares += std::pow(x[row * kWidth + i] + skip[row * kWidth + i], 2) / kWidth;
    for (std::size_t i = 0; i < kWidth; ++i)
      wanted.push_back((x[row * kWidth + i] + skip[row * kWidth + i]) *
                       (1 / std::sqrt(squares + 1e-12) + 1 / std::sqrt(squares + 1e-5)) *
                       static_cast<double>(factors[i]));
  }
  expect_near(real("y"), wanted);
  EXPECT_EQ(layers("rmsnorm").size(), 2U);
}

TEST_F(OnnxAttention, AT_1_a_constant_triangle_before_a_softmax_becomes_its_mask) {
  std::vector<float> triangle;
  for (int row = 0; row < kRows; ++row) {
    for (int key = 0; key < kRows; ++key) triangle.push_back(key <= row ? 0.0F : -3.4e38F);
  }
  project("q", 16, 0.31), project("k", 16, 0.47);
  OnnxModel::attribute(model_.node("Transpose", {"k"}, {"kt"}), "perm", {0, 2, 1});
  model_.floats("mask", {1, kRows, kRows}, triangle);
  model_.node("MatMul", {"q", "kt"}, {"scores"});
  model_.node("Add", {"scores", "mask"}, {"masked"});
  model_.node("Softmax", {"masked"}, {"y"});
  import();
  EXPECT_EQ(layers("softmax")[0].at("causal"), (json{{"past", 0}}));
  EXPECT_TRUE(layers("add").empty());
  EXPECT_GT(cosine(model_, "y", samples({1, kRows, kWidth}, 4)), 0.99);
}

TEST_F(OnnxAttention, RN_1_what_depends_on_computed_lengths_is_refused) {
  project("qkv", 32, 0.29);
  model_.integers("lengths", kInt32, {1}, {3}).integers("all", kInt32, {}, {kRows});
  auto& node =
      model_.node("GroupQueryAttention", {"qkv", "", "", "", "", "lengths", "all"}, {"y"}, "com.microsoft");
  OnnxModel::attribute(node, "num_heads", {4});
  OnnxModel::attribute(node, "kv_num_heads", {2});
  const std::vector<std::string> lines = reasons(model_, samples({1, kRows, kWidth}, 4));
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines.at(0), HasSubstr("lengths of sequences (seqlens_k) that are not 5, of all 6 keys"));
}

}  // namespace
}  // namespace tilebeat::testing
