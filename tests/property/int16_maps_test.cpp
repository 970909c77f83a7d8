// Random layers of int16 maps on random chips of every engine and on boards: the bytes of every output are
// the reference's, in both granularities, fused and not, in exact arithmetic and in TensorFlow Lite's, with
// weights of int8 and of four bits, and DRAM moves what was planned (SPEC DT-2, DT-4).
#include "budget.h"
#include "checked_run.h"
#include "four_bits.h"
#include "random_engine.h"
#include "random_network.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;

/// A chain of matrix layers, all of whose maps but the last one are int16.
class Int16Chain {
 public:
  /// With `transposes` some are transposed convolutions, which boards do not have.
  Int16Chain(int layers, bool transposes) : transposes_(transposes) {
    shape_ = {one_in(4) ? 2 : 1, number(1, 12), number(1, 12), skewed(40)};
    file_ = {{"name", "chain"}, {"layers", json::array()}, {"outputs", json::array()}};
    file_["inputs"] = {
        {{"name", "x"}, {"shape", shape_}, {"dtype", "int16"}, {"random", {{"seed", number(1, 1000)}}}}};
    for (int i = 0; i < layers; ++i) add(i == layers - 1);
  }
  std::string text() const { return file_.dump(); }
  Workload load() const {
    const TemporaryFolder folder;
    return load_workload(folder.write("chain.json", text()));
  }

 private:
  void add(bool last) {
    json layer{{"name", "l" + std::to_string(file_["layers"].size())}, {"inputs", {input_}}};
    layer["weights"] = {{"random", {{"seed", number(1, 1000)}}}};
    if (one_in(2))
      layer["bias"] = {{"random", {{"seed", number(1, 1000)}, {"min", INT32_MIN}, {"max", INT32_MAX}}}};
    switch (last ? number(0, 4) : number(0, 3)) {
      case 0:
        transposed(layer);
        break;
      case 4:
        layer["op"] = "fully_connected", layer["out_features"] = skewed(40);
        break;
      default:
        convolution(layer);
    }
    const bool fixed = one_in(2);
    if (one_in(2))
      layer["activation"] = fixed || one_in(2) ? json("relu") : json({{"clamp", {-2000000, INT32_MAX}}});
    if (!last || !one_in(4)) requantise(layer, fixed, last);
    if (fixed) layer["arithmetic"] = "fixed";
    input_ = layer["name"];
    file_["outputs"].push_back(layer["name"]);
    file_["layers"].push_back(std::move(layer));
  }
  static void requantise(json& layer, bool fixed, bool last) {
    constexpr std::array<const char*, 3> kTypes{"int16", "int8", "uint8"};
    json& requant =
        layer["requant"] = {{"dtype", last ? kTypes.at(static_cast<std::size_t>(number(0, 2))) : "int16"}};
    const double scale = number(1, 4000) * 1e-7;
    if (fixed)
      requant.update({{"input_scale", 0.01}, {"weight_scale", scale}, {"output_scale", 0.01}});
    else
      requant["scale"] = scale;
    if (last && requant["dtype"] != "int16" && one_in(2)) requant["zero_point"] = number(0, 100);
    if (last && one_in(3))
      layer["output_range"] = {-number(0, 100) * (requant["dtype"] == "uint8" ? 0 : 1), 120};
  }
  void convolution(json& layer) {
    layer["op"] = "conv2d";
    std::vector<int> kernel, stride, dilation, before, after;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const int k = skewed(3), d = skewed(3), s = skewed(2), window = (k - 1) * d + 1;
      const int missing = std::max(0, window - shape_[1 + axis]);
      const int b = std::max(missing, number(0, 2)), a = number(0, 2);
      shape_[1 + axis] = (shape_[1 + axis] + a + b - window) / s + 1;
      kernel.push_back(k), stride.push_back(s), dilation.push_back(d), before.push_back(b),
          after.push_back(a);
    }
    layer["kernel"] = kernel, layer["stride"] = stride, layer["dilation"] = dilation;
    layer["pads"] = {before[0], before[1], after[0], after[1]};
    if (one_in(3)) {
      layer["groups"] = shape_[3];
      shape_[3] *= one_in(4) ? 2 : 1;
    } else {
      shape_[3] = skewed(40);
    }
    layer["out_channels"] = shape_[3];
  }
  void transposed(json& layer) {
    if (!transposes_ || shape_[1] > 12 || shape_[2] > 12) return convolution(layer);
    layer["op"] = "conv_transpose";
    std::vector<int> kernel, stride;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      kernel.push_back(skewed(4)), stride.push_back(skewed(3));
      shape_[1 + axis] = (shape_[1 + axis] - 1) * stride.back() + kernel.back();
    }
    layer["kernel"] = kernel, layer["stride"] = stride;
    layer["out_channels"] = shape_[3] = skewed(30);
  }

  bool transposes_;
  json file_;
  std::vector<int> shape_;
  std::string input_ = "x";
};

struct Int16Tally : Refusals {
  int layers = 0, grouped = 0, four_bits = 0;
};

void check_chain(HardwareConfig hardware, bool fused, Int16Tally& tally) {
  const int layers = number(1, fused ? 4 : 2);
  const Int16Chain chain(layers, hardware.chip.has_value());
  RC_LOG() << chain.text() << "\n";
  Workload workload = chain.load();
  if (one_in(3) && hardware.decodes()) {
    if (hardware.chip) hardware.chip->decode_bytes_per_clock = number(1, 40);
    tally.four_bits += give_four_bits(workload);
  }
  hardware.fused = fused;
  if (fused) {
    keep_last_outputs(workload);
    hardware.fusion.keep_where_slower = true, hardware.fusion.least_main_layers = 1;
  }
  const auto planned =
      plan_or_refusal(workload, hardware,
                      {"chip.", "NRAM", "switch_array.", "wfold.", "rolling.", "offset.", "dram."}, tally);
  if (!planned) return;
  const SimulatedRun run = check_both_granularities(workload, hardware, planned->plan, 30);
  check_planned_bytes(planned->plan, run);
  tally.layers += layers;
  for (const LayerPlan& layer : planned->plan.layers) tally.grouped += layer.layers.size() > 1 ? 1 : 0;
}

class Int16Maps : public ::testing::TestWithParam<Engine> {};

TEST_P(Int16Maps, DT_2_DT_4_random_layers_one_by_one) {
  Int16Tally tally;
  check_cases_until([&] { return tally.layers >= budget(80, 20) && tally.four_bits > 0; }, budget(60, 15),
                    [&] { check_chain(random_chip_with(GetParam()), false, tally); });
  EXPECT_GE(tally.layers, budget(80, 20));
  EXPECT_GT(tally.four_bits, 0) << "layers with weights of four bits";
}

TEST_P(Int16Maps, DT_2_DT_4_random_chains_fused) {
  Int16Tally tally;
  check_cases_until([&] { return tally.layers >= budget(60, 12) && tally.grouped > 0; }, budget(40, 10),
                    [&] { check_chain(random_chip_with(GetParam()), true, tally); });
  EXPECT_GE(tally.layers, budget(60, 12));
  EXPECT_GT(tally.grouped, 0) << "fusion groups";
}

TEST(Int16Boards, DT_2_DT_4_random_layers_on_boards_of_the_switch_array) {
  Int16Tally tally;
  const auto done = [&] { return tally.layers >= budget(80, 20) && tally.four_bits > 0; };
  check_cases_until(done, budget(100, 30), [&] {
    HardwareConfig hardware = random_array_shape();
    if (one_in(2)) vary_memory(hardware);
    vary_decoder(hardware);
    if (one_in(4)) hardware.engine<switch_array::SwitchArrayConfig>().decode_bytes_per_clock = 0;
    check_chain(std::move(hardware), false, tally);
  });
  EXPECT_GE(tally.layers, budget(80, 20));
  EXPECT_GT(tally.four_bits, 0) << "layers with weights of four bits";
}

INSTANTIATE_TEST_SUITE_P(Engines, Int16Maps, ::testing::ValuesIn(kEngines), engine_name);

}  // namespace
}  // namespace tilebeat::testing
