// Caches that concats append to, on random chips of every engine: outputs are the reference's in both
// granularities, whatever reads the cache of each length, and DRAM takes the planned bytes (SPEC AT-2).
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

// A cache [1, heads, tokens, width], or with its axes in another order, to which one to four concats append;
// some of its lengths are read by layers of several kinds.
class RandomCache {
 public:
  RandomCache() : heads_(number(1, 4)), width_(skewed(40)), tokens_(skewed(30)), tokens_first_(one_in(4)) {
    file_ = {{"name", "cache"}, {"inputs", json::array()}, {"layers", json::array()}};
    std::string cache = root();
    for (int step = number(1, 4); step > 0; --step) {
      json inputs{cache};
      const int operands = one_in(4) ? 2 : 1;
      for (int i = 0; i < operands; ++i) {
        const int rows = number(1, 3);
        inputs.push_back(input(shape(rows)));
        tokens_ += rows;
      }
      cache = add({{"op", "concat"}, {"inputs", inputs}, {"axis", tokens_first_ ? 1 : 2}});
      if (!one_in(3)) read(cache);
    }
    read(cache);
    if (one_in(2)) add({{"op", "relu"}, {"inputs", {cache}}});
  }
  std::string text() const { return file_.dump(); }
  Workload load() const {
    const TemporaryFolder folder;
    return load_workload(folder.write("cache.json", text()));
  }

 private:
  json shape(int tokens) const {
    return tokens_first_ ? json{1, tokens, heads_, width_} : json{1, heads_, tokens, width_};
  }
  std::string input(const json& shape) {
    const std::string name = fmt::format("x{}", file_["inputs"].size());
    file_["inputs"].push_back({{"name", name}, {"shape", shape}, {"random", {{"seed", number(1, 100000)}}}});
    return name;
  }
  std::string add(json layer) {
    layer["name"] = fmt::format("y{}", file_["layers"].size());
    file_["layers"].push_back(layer);
    return layer["name"];
  }
  // The first cache: an input, or the result of a layer of some kind.
  std::string root() {
    if (one_in(4)) return input(shape(tokens_));
    if (one_in(3)) {
      const json other = tokens_first_ ? json{1, heads_, tokens_, width_} : json{1, tokens_, heads_, width_};
      return add({{"op", "transpose"}, {"inputs", {input(other)}}, {"perm", {0, 2, 1, 3}}});
    }
    if (one_in(2))
      return add({{"op", "matmul"},
                  {"inputs", {input(shape(tokens_))}},
                  {"out_features", width_},
                  {"weights", {{"random", {{"seed", 3}}}}},
                  {"requant", {{"scale", 0.01}}}});
    return add({{"op", "add"},
                {"inputs", {input(shape(tokens_)), input(shape(tokens_))}},
                {"requant", {{"scale", 0.5}}}});
  }
  void read(const std::string& cache) {
    switch (number(0, 5)) {
      case 0:
        return read_as_matrices(cache);
      case 1:
        add({{"op", "relu"}, {"inputs", {cache}}});
        return;
      case 2:
        add({{"op", "slice"},
             {"inputs", {cache}},
             {"starts", {0, 0, 0, 0}},
             {"ends", shape(tokens_)},
             {"steps", {1, number(1, 2), number(1, 2), 1}}});
        return;
      case 3:
        add({{"op", "transpose"}, {"inputs", {cache}}, {"perm", {0, 2, 1, 3}}});
        return;
      case 4:
        add({{"op", "matmul"},
             {"inputs", {cache}},
             {"out_features", number(1, 20)},
             {"weights", {{"random", {{"seed", 3}}}}},
             {"requant", {{"scale", 0.01}}}});
        return;
      default:
        add({{"op", "reshape"}, {"inputs", {cache}}, {"shape", {1, heads_ * tokens_, 1, width_}}});
    }
  }
  // As keys or as values of queries, in groups of heads or not.
  void read_as_matrices(const std::string& cache) {
    const int matrices = tokens_first_ ? tokens_ : heads_, rows = tokens_first_ ? heads_ : tokens_;
    std::string b = cache;
    json axes{1, matrices};
    if (one_in(2)) {
      b = add({{"op", "reshape"}, {"inputs", {cache}}, {"shape", {1, matrices, 1, rows, width_}}});
      axes.push_back(number(1, 3));
    }
    const bool keys = one_in(2);
    axes.push_back(number(1, 5)), axes.push_back(keys ? width_ : rows);
    add({{"op", "matmul"},
         {"inputs", {input(axes), b}},
         {"transpose_b", keys},
         {"requant", {{"scale", 0.01}}}});
  }

  int heads_, width_, tokens_;
  bool tokens_first_;
  json file_;
};

struct CacheTally : Refusals {
  int run = 0, appended = 0, spaced = 0, copied = 0;
};

// Counts the concats that append, and those that copy.
void count_concats(const Workload& workload, const Plan& plan, CacheTally& tally) {
  for (const Layer& layer : workload.layers) {
    if (layer.op != "concat") continue;
    const Placement& made = plan.tensors.at(layer.name);
    const Placement& first = plan.tensors.at(layer.inputs.front());
    ++(made.address == first.address ? tally.appended : tally.copied);
    tally.spaced += first.stored != nullptr ? 1 : 0;
  }
}

void check_cache(Engine engine, CacheTally& tally) {
  const RandomCache cache;
  const Workload workload = cache.load();
  HardwareConfig hardware = random_chip_with(engine);
  hardware.planner.append_in_place = !one_in(6);
  RC_LOG() << cache.text() << "\n" << hardware_to_json(hardware).dump() << "\n";
  check_hardware(hardware, "random hardware");
  ++tally.cases;
  std::optional<PlannedNetwork> planned;
  try {
    planned = plan_network(workload, hardware);
  } catch (const UserError& error) {
    check_refusal(error.what(), {"chip.", "NRAM", "switch_array.", "wfold.", "rolling.", "offset.", "dram."});
    ++tally.refused;
    return;
  }
  ++tally.run;
  count_concats(workload, planned->plan, tally);
  const SimulatedRun run = check_both_granularities(workload, hardware, planned->plan, 20);
  check_planned_bytes(planned->plan, run);
}

class AppendedCaches : public ::testing::TestWithParam<Engine> {};

TEST_P(AppendedCaches, AT_2_random_caches_are_appended_to_and_read_at_every_length) {
  CacheTally tally;
  check_cases_until(
      [&] {
        return tally.run >= budget(100, 12) && tally.appended > 0 && tally.spaced > 0 && tally.copied > 0;
      },
      budget(250, kFewest), [&] { check_cache(GetParam(), tally); });
  EXPECT_GE(tally.run, budget(100, 12)) << tally.refused << " of " << tally.cases << " cannot fit";
  EXPECT_GT(tally.appended, 0) << "concats that append";
  EXPECT_GT(tally.spaced, 0) << "heads with room between them";
  EXPECT_GT(tally.copied, 0) << "concats that copy";
}

INSTANTIATE_TEST_SUITE_P(Engines, AppendedCaches, ::testing::ValuesIn(kEngines), engine_name);

}  // namespace
}  // namespace tilebeat::testing
