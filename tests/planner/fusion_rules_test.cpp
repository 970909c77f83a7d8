// The rules that decide which layers are fused (SPEC FU-2, FU-3, FU-6, FU-10): the examples of document 001,
// and each rule at its boundary.

#include "planner/fusion/fusion_rules.h"

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

FusionConfig all_rules() {
  FusionConfig config;
  config.rules_off.clear();
  return config;
}

bool holds(int rule, const GroupFacts& facts, const FusionConfig& rules = all_rules()) {
  return !violation(rule, facts, rules);
}

// Document 001 figure 6: AlexNet in 23 layers, numbered from 1.
enum class Kind { kConv, kRelu, kLrn, kPool, kFullyConnected, kDropout, kSoftmax };
const std::vector<Kind>& alexnet() {
  static const std::vector<Kind> layers{Kind::kConv,
                                        Kind::kRelu,
                                        Kind::kLrn,
                                        Kind::kPool,
                                        Kind::kConv,
                                        Kind::kRelu,
                                        Kind::kLrn,
                                        Kind::kPool,
                                        Kind::kConv,
                                        Kind::kRelu,
                                        Kind::kConv,
                                        Kind::kRelu,
                                        Kind::kConv,
                                        Kind::kRelu,
                                        Kind::kPool,
                                        Kind::kFullyConnected,
                                        Kind::kRelu,
                                        Kind::kDropout,
                                        Kind::kFullyConnected,
                                        Kind::kRelu,
                                        Kind::kDropout,
                                        Kind::kFullyConnected,
                                        Kind::kSoftmax};
  return layers;
}
// The number of the start layer when layers 1 to `fused` are in groups; 0: none.
std::size_t start_behind(std::size_t fused, StartRule rule) {
  std::vector<StartCandidate> candidates;
  for (std::size_t i = 0; i < alexnet().size(); ++i) {
    const Kind kind = alexnet()[i];
    candidates.push_back({kind == Kind::kConv || kind == Kind::kPool, i < fused});
  }
  const auto start = start_layer(candidates, rule);
  return start ? *start + 1 : 0;
}

TEST(FusionRules, FU_3_FU_6_start_rules_on_the_AlexNet_of_figure_6) {
  ASSERT_EQ(alexnet().size(), 23U);
  EXPECT_EQ(start_behind(5, StartRule::kFirstLayer), 6U);
  EXPECT_EQ(start_behind(9, StartRule::kFirstConvOrPool), 11U);
  EXPECT_EQ(start_behind(11, StartRule::kFirstConvOrPool), 13U);
  EXPECT_EQ(start_behind(13, StartRule::kFirstConvOrPool), 15U);
  EXPECT_EQ(start_behind(15, StartRule::kFirstConvOrPool), 0U) << "no convolution or pooling is left";
  EXPECT_EQ(start_behind(23, StartRule::kFirstLayer), 0U);
}

TEST(FusionRules, FU_2_FU_6_a_map_of_100k_into_40k) {
  constexpr int kParts = 8;
  constexpr std::int64_t kPart = 12500, kLimit = 40000;
  EXPECT_EQ(cut_by_ratios(kParts, kPart, kLimit, {50}) * kPart, 25000);
  EXPECT_EQ(cut_by_ratios(kParts, kPart, kLimit, {50, 75}) * kPart, 37500);
  EXPECT_EQ(cut_by_ratios(kParts, kPart, kLimit, {50, 75, 80}) * kPart, 37500);
}
TEST(FusionRules, FU_2_what_just_fits_is_not_cut) {
  EXPECT_EQ(cut_by_ratios(8, 5000, 40000, {50}), 8);
  EXPECT_EQ(cut_by_ratios(8, 5000, 39999, {50}), 4);
  EXPECT_EQ(cut_by_ratios(1, 5000, 4999, {50}), 0);
}

TEST(FusionRules, FU_3_rule_4_one_output) {
  GroupFacts facts;
  EXPECT_TRUE(holds(4, facts));
  facts.outputs = 2;  // figure 7: group 703, whose layers 3 and 5 are both read outside
  EXPECT_FALSE(holds(4, facts));
}
TEST(FusionRules, FU_3_rule_5_main_layers) {
  GroupFacts facts;
  facts.roles = {LayerRole::kMain, LayerRole::kVector};
  EXPECT_FALSE(holds(5, facts));
  facts.roles.push_back(LayerRole::kMain);
  EXPECT_TRUE(holds(5, facts));
}
TEST(FusionRules, FU_3_FU_6_rule_6_layers_4_5_6_of_figure_6) {
  GroupFacts facts;
  facts.roles = {LayerRole::kMain, LayerRole::kMain, LayerRole::kVector};  // pooling, convolution, relu
  EXPECT_TRUE(holds(6, facts));
  facts.roles = {LayerRole::kMain, LayerRole::kVector, LayerRole::kMain, LayerRole::kVector};
  EXPECT_FALSE(holds(6, facts));
  facts.roles = {LayerRole::kMain, LayerRole::kMain};
  EXPECT_FALSE(holds(6, facts));
}
TEST(FusionRules, FU_3_rule_7_scalar_then_vector) {
  GroupFacts facts;
  facts.roles = {LayerRole::kVector, LayerRole::kScalar};
  EXPECT_FALSE(holds(7, facts));
  facts.roles = {LayerRole::kMain, LayerRole::kScalar, LayerRole::kVector};
  EXPECT_TRUE(holds(7, facts));
}
TEST(FusionRules, FU_3_rules_8_and_9_weights) {
  GroupFacts facts;
  EXPECT_TRUE(holds(8, facts) && holds(9, facts));
  facts.weights_are_output = true;
  EXPECT_FALSE(holds(8, facts));
  EXPECT_TRUE(holds(9, facts));
  facts.weights_are_shared = true;
  EXPECT_FALSE(holds(9, facts));
}
TEST(FusionRules, FU_3_rule_10_weights_fit_WRAM) {
  GroupFacts facts;
  facts.wram = facts.weights = 4096;
  EXPECT_TRUE(holds(10, facts));
  ++facts.weights;
  EXPECT_FALSE(holds(10, facts));
}
TEST(FusionRules, FU_3_rule_11_redundancy_of_large_maps) {
  FusionConfig rules = all_rules();
  GroupFacts facts;
  facts.large_map = true;
  for (const int percent : {50, 75, 100, 125, 150}) {
    rules.redundancy_percent = percent;
    facts.loaded_once = 1000, facts.loaded = 1000 + 10 * percent;
    EXPECT_TRUE(holds(11, facts, rules)) << percent;
    ++facts.loaded;
    EXPECT_FALSE(holds(11, facts, rules)) << percent;
  }
  facts.large_map = false;
  EXPECT_TRUE(holds(11, facts, rules)) << "whole maps overlap nowhere";
}
TEST(FusionRules, FU_3_rule_12_unit_map_and_result_fit_SRAM) {
  FusionConfig rules = all_rules();
  GroupFacts facts;
  facts.in = 600, facts.out = 400, facts.sram = 1001;
  EXPECT_TRUE(holds(12, facts, rules));
  facts.sram = 1000;
  EXPECT_FALSE(holds(12, facts, rules));
  rules.share_in_and_out = true;
  facts.sram = 601;
  EXPECT_TRUE(holds(12, facts, rules));
  facts.sram = 600;
  EXPECT_FALSE(holds(12, facts, rules));
}
/// Two steps of a group of whole maps.
GroupFacts small_maps() {
  GroupFacts facts;
  facts.in = 100, facts.cache = 40;
  facts.sub_in = {10, 30}, facts.sub_out = {50, 5}, facts.step_weights = {20, 60};
  facts.step_wram = {25, 55};
  facts.sram = 1'000'000, facts.wram = 1'000'000;
  return facts;
}
TEST(FusionRules, FU_3_rules_13_to_15_what_is_in_the_SRAM_at_a_time) {
  const struct {
    int rule;
    std::int64_t bytes;
  } kCases[] = {{13, 60 + 100 + 40}, {14, 30 + 60 + 40}, {15, 50 + 60 + 40}};
  for (const auto& c : kCases) {
    GroupFacts facts = small_maps();
    facts.sram = c.bytes;
    EXPECT_TRUE(holds(c.rule, facts)) << c.rule;
    --facts.sram;
    EXPECT_FALSE(holds(c.rule, facts)) << c.rule;
    facts.large_map = true;
    EXPECT_TRUE(holds(c.rule, facts)) << c.rule << " is a rule of small maps";
  }
}
TEST(FusionRules, FU_3_rule_16_weights_of_neighbouring_steps) {
  GroupFacts facts = small_maps();
  facts.wram = 80;
  EXPECT_TRUE(holds(16, facts));
  facts.wram = 79;
  EXPECT_FALSE(holds(16, facts));
  facts.large_map = true;
  EXPECT_TRUE(holds(16, facts));
}
TEST(FusionRules, FU_3_rule_17_a_sub_map_fits_NRAM) {
  GroupFacts facts;
  facts.nram = facts.sub_map = 512;
  EXPECT_TRUE(holds(17, facts));
  ++facts.sub_map;
  EXPECT_FALSE(holds(17, facts));
  facts.sram_is_all_nram = true;
  EXPECT_FALSE(holds(17, facts)) << "waived for large maps only";
  facts.large_map = true;
  EXPECT_TRUE(holds(17, facts));
  facts.sram_is_all_nram = false;
  EXPECT_FALSE(holds(17, facts));
}
TEST(FusionRules, FU_3_rule_18_maps_at_a_time) {
  GroupFacts facts;
  facts.maps = 8;
  EXPECT_TRUE(holds(18, facts));
  facts.maps = 9;
  EXPECT_FALSE(holds(18, facts));
}
TEST(FusionRules, FU_3_rule_19_stride_redundancy_in_each_direction) {
  FusionConfig rules = all_rules();
  for (const int threshold : {3, 4, 5, 6}) {
    rules.stride_redundancy = threshold;
    for (const std::size_t axis : {0U, 1U}) {
      GroupFacts facts;
      facts.stride_redundancy[axis] = threshold;
      EXPECT_TRUE(holds(19, facts, rules));
      ++facts.stride_redundancy[axis];
      EXPECT_FALSE(holds(19, facts, rules));
    }
  }
}
TEST(FusionRules, FU_3_stride_redundancy_of_a_layer) {
  EXPECT_EQ(stride_redundancy({56, 3, 1, 1, 1}), 2);
  EXPECT_EQ(stride_redundancy({56, 3, 1, 4, 4}), 8) << "dilated";
  EXPECT_EQ(stride_redundancy({56, 3, 2, 1, 1}), 1);
  EXPECT_EQ(stride_redundancy({56, 1, 2, 1, 0}), 0) << "never less than nothing";
}

TEST(FusionRules, FU_3_every_rule_can_be_switched_off) {
  GroupFacts facts = small_maps();
  facts.outputs = 2, facts.weights_are_output = facts.weights_are_shared = true;
  facts.sram = facts.wram = facts.nram = 0;
  facts.weights = facts.sub_map = 1, facts.maps = 100, facts.stride_redundancy = {100, 100};
  for (int rule = kFirstRule; rule <= kLastRule; ++rule) {
    if (rule == 11) continue;  // a rule of large maps
    FusionConfig rules = all_rules();
    EXPECT_FALSE(holds(rule, facts, rules)) << rule;
    rules.rules_off = {rule};
    EXPECT_TRUE(holds(rule, facts, rules)) << rule;
  }
}

TEST(FusionRules, FU_10_what_is_done_about_a_violation) {
  EXPECT_EQ(remedy_of(4), Remedy::kAdjust);
  EXPECT_EQ(remedy_of(8), Remedy::kRemove);
  EXPECT_EQ(remedy_of(10), Remedy::kReduceMap);
  EXPECT_EQ(remedy_of(11), Remedy::kStop);
  EXPECT_EQ(remedy_of(12), Remedy::kStop);
  for (const int rule : {13, 14, 15, 16, 18}) EXPECT_EQ(remedy_of(rule), Remedy::kFewerMaps);
  EXPECT_EQ(remedy_of(17), Remedy::kCutFiner);
  EXPECT_EQ(remedy_of(19), Remedy::kFewerLayers);
}

}  // namespace
}  // namespace tilebeat::testing
