// Transposed convolutions on every matrix engine of random chips: outputs against the reference, everything
// of one granularity against the other (SPEC OP-2, CY-3).
#include "../data/temporary_folder.h"
#include "budget.h"
#include "checked_run.h"
#include "random_engine.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;

json seed() {
  return {{"random", {{"seed", number(1, 100000)}}}};
}

/// One layer on an input of its own.
class RandomTransposed {
 public:
  RandomTransposed() {
    std::vector<int> kernel, stride, pads(4), more, shape{one_in(3) ? 2 : 1};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      kernel.push_back(skewed(7)), stride.push_back(skewed(4)), more.push_back(number(0, stride.back() - 1));
      // An output is left, however much is cut off.
      const int least = 1 + (kernel.back() - 1) / stride.back();
      shape.push_back(least + skewed(10));
      pads[axis] = number(0, kernel.back() - 1), pads[axis + 2] = number(0, kernel.back() - 1);
    }
    shape.push_back(skewed(50));
    const bool is_uint8 = one_in(2);
    json layer{{"name", "y"},       {"op", "conv_transpose"}, {"inputs", {"x"}},
               {"kernel", kernel},  {"stride", stride},       {"pads", pads},
               {"weights", seed()}, {"output_padding", more}, {"out_channels", skewed(45)}};
    layer["weights"]["zero_point"] = number(-128, 127);
    if (one_in(2)) layer["bias"] = seed();
    if (one_in(2)) layer["activation"] = "relu";
    if (!one_in(3)) {
      layer["requant"] = {{"scale", number(1, 4000) * 1e-6}, {"zero_point", number(0, 127)}};
      if (one_in(2)) layer["requant"]["scale"] = std::vector<double>(layer["out_channels"], 0.0005);
    }
    file_ = {{"name", "transposed"},
             {"inputs",
              {{{"name", "x"},
                {"shape", shape},
                {"dtype", is_uint8 ? "uint8" : "int8"},
                {"zero_point", number(0, 127)},
                {"random", {{"seed", number(1, 100000)}}}}}},
             {"layers", {layer}}};
  }
  std::string text() const { return file_.dump(); }
  Workload load() const {
    const TemporaryFolder folder;
    return load_workload(folder.write("w.json", text()));
  }

 private:
  json file_;
};

class RandomTransposedOn : public ::testing::TestWithParam<Engine> {
 protected:
  static HardwareConfig random_hardware() { return random_chip_with(GetParam()); }
};

TEST_P(RandomTransposedOn, OP_2_CY_3_outputs_of_every_phase_are_where_they_belong) {
  Refusals tally;
  check_cases(budget(80, kFewest), [&] {
    const RandomTransposed layer;
    const HardwareConfig hardware = random_hardware();
    RC_LOG() << layer.text() << "\n" << hardware_to_json(hardware).dump() << "\n";
    const Workload workload = layer.load();
    const auto plan =
        plan_or_refusal(workload, hardware, {"chip.", "wfold.", "dram.", "switch_array."}, tally);
    if (plan) check_both_granularities(workload, hardware, plan->plan, 60);
  });
  EXPECT_LE(tally.refused * 2, tally.cases) << "layers that cannot fit are the exception";
}

INSTANTIATE_TEST_SUITE_P(Engines, RandomTransposedOn,
                         ::testing::Values(Engine::kSwitchArray, Engine::kWfold, Engine::kRolling),
                         engine_name);

}  // namespace
}  // namespace tilebeat::testing
