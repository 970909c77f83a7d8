#include "planner/fusion/fusion_rules.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

using Why = std::optional<std::string>;

std::size_t main_layers(const GroupFacts& f) {
  return to_size(std::count(f.roles.begin(), f.roles.end(), LayerRole::kMain));
}

bool has_in_a_row(const std::vector<LayerRole>& roles, const std::vector<bool (*)(LayerRole)>& wanted) {
  for (std::size_t at = 0; at + wanted.size() <= roles.size(); ++at) {
    std::size_t i = 0;
    while (i < wanted.size() && wanted[i](roles[at + i])) ++i;
    if (i == wanted.size()) return true;
  }
  return false;
}
bool is_main(LayerRole role) {
  return role == LayerRole::kMain;
}
bool is_no_main(LayerRole role) {
  return role != LayerRole::kMain;
}
bool is_scalar(LayerRole role) {
  return role == LayerRole::kScalar;
}
bool is_vector(LayerRole role) {
  return role == LayerRole::kVector;
}

Why unless(bool holds, const std::string& why) {
  return holds ? Why() : Why(why);
}

// ---- the layers of a fusion group ----

Why one_output(const GroupFacts& f, const FusionConfig&) {
  return unless(f.outputs == 1, fmt::format("{} outputs", f.outputs));
}
Why enough_main_layers(const GroupFacts& f, const FusionConfig& r) {
  return unless(main_layers(f) >= to_size(r.least_main_layers),
                fmt::format("{} main layers, not {}", main_layers(f), r.least_main_layers));
}
Why main_main_other(const GroupFacts& f, const FusionConfig&) {
  return unless(has_in_a_row(f.roles, {is_main, is_main, is_no_main}),
                "no main, main and non-main layer in a row");
}
Why scalar_vector(const GroupFacts& f, const FusionConfig&) {
  return unless(has_in_a_row(f.roles, {is_scalar, is_vector}), "no scalar layer before a vector layer");
}
Why weights_are_constants(const GroupFacts& f, const FusionConfig&) {
  return unless(!f.weights_are_output, "kernels are the output of a layer");
}
Why weights_are_its_own(const GroupFacts& f, const FusionConfig&) {
  return unless(!f.weights_are_shared, "kernels are shared with another layer");
}

// ---- what fits ----

Why weights_fit(const GroupFacts& f, const FusionConfig&) {
  return unless(f.weights <= f.wram, fmt::format("{} bytes of kernels, WRAM has {}", f.weights, f.wram));
}
Why little_redundancy(const GroupFacts& f, const FusionConfig& r) {
  if (!f.large_map) return {};
  return unless((f.loaded - f.loaded_once) * 100 <= f.loaded_once * r.redundancy_percent,
                fmt::format("{} bytes loaded instead of {}, {} % are allowed on top", f.loaded, f.loaded_once,
                            r.redundancy_percent));
}
Why in_and_out_fit(const GroupFacts& f, const FusionConfig& r) {
  const std::int64_t bytes = r.share_in_and_out ? std::max(f.in, f.out) : f.in + f.out;
  return unless(bytes < f.sram, fmt::format("{} bytes of unit map and result, SRAM has {}", bytes, f.sram));
}
// The violation of the first step whose `bytes` exceed `limit`.
template <class Bytes>
Why every_step(std::size_t steps, std::int64_t limit, const char* memory, Bytes bytes) {
  for (std::size_t i = 0; i < steps; ++i) {
    if (bytes(i) > limit) return fmt::format("step {}: {} bytes, {} has {}", i + 1, bytes(i), memory, limit);
  }
  return {};
}
Why weights_and_map_fit(const GroupFacts& f, const FusionConfig&) {
  if (f.large_map) return {};
  return every_step(f.step_weights.size(), f.sram, "SRAM",
                    [&](std::size_t i) { return f.step_weights[i] + f.in + f.cache; });
}
Why sub_map_and_weights_fit(const GroupFacts& f, const FusionConfig&) {
  if (f.large_map) return {};
  return every_step(f.step_weights.size(), f.sram, "SRAM",
                    [&](std::size_t i) { return f.sub_in[i] + f.step_weights[i] + f.cache; });
}
Why result_and_next_weights_fit(const GroupFacts& f, const FusionConfig&) {
  if (f.large_map || f.step_weights.empty()) return {};
  return every_step(f.step_weights.size() - 1, f.sram, "SRAM",
                    [&](std::size_t i) { return f.sub_out[i] + f.step_weights[i + 1] + f.cache; });
}
Why neighbouring_weights_fit(const GroupFacts& f, const FusionConfig&) {
  if (f.large_map || f.step_wram.empty()) return {};
  return every_step(f.step_wram.size() - 1, f.wram, "WRAM",
                    [&](std::size_t i) { return f.step_wram[i] + f.step_wram[i + 1]; });
}
Why sub_map_fits(const GroupFacts& f, const FusionConfig&) {
  if (f.large_map && f.sram_is_all_nram) return {};
  return unless(f.sub_map <= f.nram, fmt::format("a sub-map of {} bytes, NRAM has {}", f.sub_map, f.nram));
}
Why few_maps(const GroupFacts& f, const FusionConfig& r) {
  if (f.large_map) return {};
  return unless(f.maps <= r.most_maps, fmt::format("{} maps at a time, {} are allowed", f.maps, r.most_maps));
}
Why little_stride_redundancy(const GroupFacts& f, const FusionConfig& r) {
  const std::int64_t most = std::max(f.stride_redundancy[0], f.stride_redundancy[1]);
  return unless(
      most <= r.stride_redundancy,
      fmt::format("kernels reach {} pixels beyond strides, {} are allowed", most, r.stride_redundancy));
}

struct Rule {
  Why (*check)(const GroupFacts&, const FusionConfig&);
  Remedy remedy;
};
// The rules from kFirstRule on.
constexpr std::array<Rule, 16> kRules{{{one_output, Remedy::kAdjust},
                                       {enough_main_layers, Remedy::kAdjust},
                                       {main_main_other, Remedy::kAdjust},
                                       {scalar_vector, Remedy::kAdjust},
                                       {weights_are_constants, Remedy::kRemove},
                                       {weights_are_its_own, Remedy::kRemove},
                                       {weights_fit, Remedy::kReduceMap},
                                       {little_redundancy, Remedy::kStop},
                                       {in_and_out_fit, Remedy::kStop},
                                       {weights_and_map_fit, Remedy::kFewerMaps},
                                       {sub_map_and_weights_fit, Remedy::kFewerMaps},
                                       {result_and_next_weights_fit, Remedy::kFewerMaps},
                                       {neighbouring_weights_fit, Remedy::kFewerMaps},
                                       {sub_map_fits, Remedy::kCutFiner},
                                       {few_maps, Remedy::kFewerMaps},
                                       {little_stride_redundancy, Remedy::kFewerLayers}}};
static_assert(kFirstRule + kRules.size() == kLastRule + 1);

const Rule& rule_of(int rule) {
  return kRules.at(to_size(rule - kFirstRule));
}

}  // namespace

std::optional<std::size_t> start_layer(const std::vector<StartCandidate>& layers, StartRule rule) {
  const auto found = std::find_if(layers.begin(), layers.end(), [&](const StartCandidate& layer) {
    return !layer.fused && (rule == StartRule::kFirstLayer || layer.conv_or_pool);
  });
  if (found == layers.end()) return std::nullopt;
  return to_size(found - layers.begin());
}

std::optional<std::string> violation(int rule, const GroupFacts& facts, const FusionConfig& config) {
  if (std::count(config.rules_off.begin(), config.rules_off.end(), rule) > 0) return {};
  return rule_of(rule).check(facts, config);
}

std::vector<std::pair<int, std::string>> rules_that_always_hold(const FusionConfig& config) {
  std::vector<std::pair<int, std::string>> rules{
      {16, "kernels that do not stay in WRAM come in portions of at most half of it"},
      {17, "a core cuts its part of a unit map into tiles that fit its NRAM"}};
  const auto off = [&](const auto& rule) {
    return std::count(config.rules_off.begin(), config.rules_off.end(), rule.first) > 0;
  };
  rules.erase(std::remove_if(rules.begin(), rules.end(), off), rules.end());
  return rules;
}

Remedy remedy_of(int rule) {
  return rule_of(rule).remedy;
}

std::int64_t stride_redundancy(const WindowAxis& axis) {
  return std::max<std::int64_t>(0, (axis.kernel - std::int64_t{1}) * axis.dilation + 1 - axis.stride);
}

int cut_by_ratios(int parts, std::int64_t part_bytes, std::int64_t limit, const std::vector<int>& ratios) {
  for (std::size_t i = 0; parts > 0 && parts * part_bytes > limit; ++i)
    parts = parts * ratios.at(std::min(i, ratios.size() - 1)) / 100;
  return parts;
}

}  // namespace tilebeat
