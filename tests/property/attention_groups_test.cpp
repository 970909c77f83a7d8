// Attention as a fusion group: products of two results with a softmax between them, on random chips of every
// engine. Outputs are the reference's in both granularities, and the scores never reach DRAM (SPEC AT-1,
// FU-14).
#include "../data/temporary_folder.h"
#include "budget.h"
#include "checked_run.h"
#include "random_engine.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;

json seeded(const char* name, const std::vector<int>& shape) {
  return {{"name", name}, {"shape", shape}, {"random", {{"seed", number(1, 100000)}}}};
}

// Scores, functions of them, probabilities and their product with V, of one to four heads; heads may share
// keys.
class RandomAttention {
 public:
  RandomAttention() {
    const int rows = number(1, 40), keys = skewed(90), inner = skewed(40), values = skewed(40);
    std::vector<int> of_queries, of_keys;
    if (!one_in(4)) of_queries = {number(1, 4)}, of_keys = of_queries;
    if (!of_queries.empty() && one_in(3)) of_queries.push_back(number(1, 3)), of_keys.push_back(1);
    const auto matrix = [](std::vector<int> axes, int height, int width) {
      axes.push_back(height), axes.push_back(width);
      return axes;
    };
    const bool keys_in_rows = !one_in(4), values_in_rows = !one_in(4);
    file_ = {{"name", "attention"}, {"outputs", json::array()}};
    file_["inputs"] = {
        seeded("q", matrix(of_queries, rows, inner)),
        seeded("k", keys_in_rows ? matrix(of_keys, keys, inner) : matrix(of_keys, inner, keys)),
        seeded("v", values_in_rows ? matrix(of_keys, keys, values) : matrix(of_keys, values, keys))};
    add({{"op", "matmul"},
         {"inputs", {"q", "k"}},
         {"transpose_b", keys_in_rows},
         {"requant", {{"scale", 0.002}}}});
    if (one_in(3)) add({{"op", "clamp"}, {"low", -100}, {"high", 90}});
    add({{"op", "softmax"}, {"input_scale", 0.05}, {"requant", {{"scale", 255.0}, {"zero_point", -128}}}});
    if (rows <= keys && one_in(2)) {
      json& causal = file_["layers"].back()["causal"] = json::object();
      if (one_in(3)) causal["past"] = number(0, keys - rows);
      if (one_in(2)) causal["window"] = skewed(keys);
    }
    add({{"op", "matmul"},
         {"inputs", {last(), "v"}},
         {"transpose_b", !values_in_rows},
         {"requant", {{"scale", 0.01}}}});
    if (one_in(3)) add({{"op", "relu"}});
    file_["outputs"] = {last()};
  }
  std::string text() const { return file_.dump(); }
  Workload load() const {
    const TemporaryFolder folder;
    return load_workload(folder.write("attention.json", text()));
  }
  std::vector<std::string> layers() const {
    std::vector<std::string> names;
    for (const json& layer : file_.at("layers")) names.push_back(layer.at("name"));
    return names;
  }
  bool causal() const { return text().find("causal") != std::string::npos; }

 private:
  std::string last() const { return file_.at("layers").back().at("name"); }
  void add(json layer) {
    if (!layer.contains("inputs")) layer["inputs"] = {last()};
    layer["name"] = fmt::format("y{}", file_["layers"].size());
    file_["layers"].push_back(std::move(layer));
  }
  json file_;
};

struct AttentionTally : Refusals {
  int run = 0, in_nram = 0, steps = 0, causal = 0;
};

void check_attention(Engine engine, AttentionTally& tally) {
  const RandomAttention attention;
  const Workload workload = attention.load();
  const HardwareConfig hardware = random_chip_with(engine);
  NetworkMapping asked;
  asked.file = "random";
  GroupRequest group;
  group.layers = attention.layers();
  if (one_in(2)) group.step_rows = skewed(6);
  if (one_in(3)) group.step_columns = skewed(10);
  if (one_in(3)) group.cores = number(1, hardware.chip->cores_per_cluster);
  group.holding = one_in(3) ? Holding::kNram : static_cast<Holding>(number(0, 2));
  asked.groups = {group};
  RC_LOG() << attention.text() << "\n" << hardware_to_json(hardware).dump() << "\n";
  check_hardware(hardware, "random hardware");
  ++tally.cases;
  std::optional<PlannedNetwork> planned;
  try {
    planned = plan_network(workload, hardware, asked);
  } catch (const UserError& error) {
    check_refusal(error.what(), {"chip.", "NRAM", "switch_array.", "wfold.", "rolling.", "offset.", "dram."});
    ++tally.refused;
    return;
  }
  ++tally.run;
  tally.causal += attention.causal() ? 1 : 0;
  tally.in_nram += group.holding == Holding::kNram ? 1 : 0;
  tally.steps += planned->groups.front().step_rows < 4 ? 1 : 0;
  const SimulatedRun run = check_both_granularities(workload, hardware, planned->plan, 20);
  check_planned_bytes(planned->plan, run);
  const Tensor& output = run.outputs.at(attention.layers().back());
  RC_ASSERT(run.report.at("total").at("bytes").at("dram").at("write").get<std::int64_t>() ==
            ssize(output.bytes));
}

class AttentionGroups : public ::testing::TestWithParam<Engine> {};

TEST_P(AttentionGroups, AT_1_FU_14_random_heads_keys_and_steps_are_exact_and_scores_stay_on_the_chip) {
  AttentionTally tally;
  check_cases_until(
      [&] {
        return tally.run >= budget(125, 12) && tally.causal > 0 && tally.in_nram > 0 && tally.steps > 0;
      },
      budget(250, kFewest), [&] { check_attention(GetParam(), tally); });
  EXPECT_GE(tally.run, budget(125, 12)) << tally.refused << " of " << tally.cases << " cannot fit";
  EXPECT_GT(tally.causal, 0) << "masks";
  EXPECT_GT(tally.in_nram, 0) << "scores stay in the NRAM of a core";
  EXPECT_GT(tally.steps, 0) << "groups in several steps";
}

INSTANTIATE_TEST_SUITE_P(Engines, AttentionGroups, ::testing::ValuesIn(kEngines), engine_name);

}  // namespace
}  // namespace tilebeat::testing
