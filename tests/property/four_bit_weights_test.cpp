// Random networks whose weights have four bits, on random chips of every engine: the bytes of every output
// are the reference's with the decoded weights, in both granularities, fused and not, and DRAM moves what was
// planned (SPEC DT-1, DT-4).
#include "budget.h"
#include "checked_run.h"
#include "four_bits.h"
#include "random_engine.h"
#include "random_network.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

struct FourBitTally : Refusals {
  int layers = 0, decoded = 0, grouped = 0, shared = 0, packed = 0;
};

/// Plans for hardware that decodes weights; nothing: it refuses the workload. Where layers are fused, only
/// the last outputs are written.
std::optional<PlannedNetwork> plan_with_decoder(bool fused, Workload& workload, HardwareConfig& hardware,
                                                FourBitTally& tally) {
  hardware.fused = fused;
  if (fused) {
    keep_last_outputs(workload);
    hardware.fusion.keep_where_slower = true, hardware.fusion.least_main_layers = 1;
  }
  hardware.chip->decode_bytes_per_clock = number(1, 40);
  if (one_in(2)) hardware.chip->decompress = Decompress::kRead;
  if (hardware.chip->decompress == Decompress::kRead) {
    hardware.chip->core.weight_scales = one_in(3) ? number(16, 200) : 4096;
  }
  return plan_or_refusal(workload, hardware,
                         {"chip.", "NRAM", "switch_array.", "wfold.", "rolling.", "offset.", "dram."}, tally);
}

/// The weights that were decoded by modules whose names have `part` in them.
std::int64_t decoded_weights(const nlohmann::json& report, const std::string& part) {
  std::int64_t decoded = 0;
  for (const auto& counter : report.at("counters")) {
    const bool counts = counter.at("module").get<std::string>().find(part) != std::string::npos;
    if (counts && counter.at("name") == "decoded") decoded += counter.at("value").get<std::int64_t>();
  }
  return decoded;
}

void check_four_bits(Engine engine, bool fused, FourBitTally& tally) {
  const RandomNetwork network(number(1, 4));
  RC_LOG() << network.text() << "\n";
  Workload workload = network.load();
  const int given = give_four_bits(workload);
  if (given == 0) return;
  HardwareConfig hardware = random_chip_with(engine);
  const auto planned = plan_with_decoder(fused, workload, hardware, tally);
  if (!planned) return;
  const SimulatedRun run = check_both_granularities(workload, hardware, planned->plan, 30);
  check_planned_bytes(planned->plan, run);
  if (one_in(4)) check_any_order(hardware, planned->plan, run);
  tally.layers += given;
  for (const LayerPlan& layer : planned->plan.layers) tally.grouped += layer.layers.size() > 1 ? 1 : 0;
  const std::int64_t copies = decoded_weights(run.report, "dma");
  const std::int64_t reads = decoded_weights(run.report, "") - copies;
  RC_ASSERT(copies + reads > 0);
  RC_ASSERT(reads == 0 || hardware.chip->decompress == Decompress::kRead);
  tally.packed += reads > 0 ? 1 : 0;
}

class FourBitWeights : public ::testing::TestWithParam<Engine> {};

TEST_P(FourBitWeights, DT_1_DT_4_random_networks_layer_by_layer) {
  FourBitTally tally;
  check_cases_until([&] { return tally.layers >= budget(100, 20); }, budget(60, 12),
                    [&] { check_four_bits(GetParam(), false, tally); });
  EXPECT_GE(tally.layers, budget(100, 20)) << "layers with weights of four bits";
}

TEST_P(FourBitWeights, DT_1_DT_4_random_networks_fused) {
  FourBitTally tally;
  check_cases_until([&] { return tally.layers >= budget(60, 12) && tally.grouped > 0; }, budget(40, 10),
                    [&] { check_four_bits(GetParam(), true, tally); });
  EXPECT_GE(tally.layers, budget(60, 12)) << "layers with weights of four bits";
  EXPECT_GT(tally.grouped, 0) << "fusion groups";
}

// Convolutions one by one on random boards of the switch array, whose parameter channel decodes.
TEST(FourBitBoards, DT_1_DT_4_random_layers) {
  FourBitTally tally;
  check_cases_until(
      [&] { return tally.layers >= budget(100, 25); }, budget(100, 25),
      [&] {
        HardwareConfig hardware = random_array_shape();
        if (one_in(2)) tighten_buffers(hardware);
        if (one_in(2)) vary_memory(hardware);
        vary_decoder(hardware);
        check_hardware(hardware, "random hardware");
        const ConvShape shape = random_layer(spec_array(hardware));
        RC_LOG() << to_text(shape) << "\n";
        Workload workload = conv_workload(shape);
        if (give_four_bits(workload) == 0) return;
        const auto planned = plan_or_refusal(workload, hardware, {"switch_array.", "dram."}, tally);
        if (!planned) return;
        const SimulatedRun run = check_both_granularities(workload, hardware, planned->plan);
        check_planned_bytes(planned->plan, run);
        ++tally.layers;
        RC_ASSERT(decoded_weights(run.report, "parameter") > 0);
      });
  EXPECT_GE(tally.layers, budget(100, 25)) << "layers with weights of four bits";
}

// Convolutions with kernels of hundreds of weights, whose images are smaller than their int8 weights: blocks
// of fewer kernels, parts of the channels, biases, zero points, groups that no frame fits.
void check_packed(Engine engine, bool fused, FourBitTally& tally) {
  using nlohmann::json;
  json file{{"name", "packed"}, {"layers", json::array()}, {"outputs", json::array()}};
  const int side = number(3, 8);
  file["inputs"] = {
      {{"name", "x"}, {"shape", {1, side, side, 16 * number(1, 5)}}, {"random", {{"seed", 2}}}}};
  std::string input = "x";
  for (int i = 0, layers = number(1, 3); i < layers; ++i) {
    const std::string name = "l" + std::to_string(i);
    const int kernel = number(1, 3);
    json weights{{"random", {{"seed", number(1, 1000)}}}, {"dtype", one_in(2) ? "int4" : "uint4"}};
    if (!one_in(5)) {
      weights.update(
          {{"group", 16 << number(0, 3)}, {"shift", number(0, 4)}, {"scales", {{"random", {{"seed", 3}}}}}});
      if (one_in(3)) weights["zero_points"] = {{"random", {{"seed", 4}}}};
    }
    const int kernels = one_in(2) ? 16 * number(1, 5) : number(8, 80);
    json layer{{"name", name},
               {"op", "conv2d"},
               {"inputs", {input}},
               {"out_channels", kernels},
               {"kernel", {kernel, kernel}},
               {"stride", {1, number(1, 2)}},
               {"pads", {1, 1, 1, 1}},
               {"weights", weights},
               {"requant", {{"scale", 0.002}}}};
    if (one_in(2)) layer["bias"] = {{"random", {{"seed", number(1, 9)}}}};
    file["layers"].push_back(layer);
    input = name;
  }
  file["outputs"].push_back(input);
  RC_LOG() << file.dump() << "\n";
  const TemporaryFolder folder;
  Workload workload = load_workload(folder.write("packed.json", file.dump()));
  HardwareConfig hardware = random_chip_with(engine);
  hardware.chip->decompress = Decompress::kRead;
  const auto planned = plan_with_decoder(fused, workload, hardware, tally);
  if (!planned) return;
  const SimulatedRun run = check_both_granularities(workload, hardware, planned->plan, 30);
  check_planned_bytes(planned->plan, run);
  tally.packed += decoded_weights(run.report, "") > decoded_weights(run.report, "dma") ? 1 : 0;
}

TEST_P(FourBitWeights, DT_1_DT_4_kernels_stay_packed_layer_by_layer) {
  FourBitTally tally;
  check_cases_until([&] { return tally.packed >= budget(60, 8); }, budget(60, 12),
                    [&] { check_packed(GetParam(), false, tally); });
  EXPECT_GE(tally.packed, budget(60, 8)) << "networks whose kernels stayed packed";
}

TEST_P(FourBitWeights, DT_1_DT_4_kernels_stay_packed_in_fusion_groups) {
  FourBitTally tally;
  check_cases_until([&] { return tally.packed >= budget(30, 5); }, budget(40, 10),
                    [&] { check_packed(GetParam(), true, tally); });
  EXPECT_GE(tally.packed, budget(30, 5)) << "networks whose kernels stayed packed";
}

// A kernel of a transposed convolution is cut by phases: weights 0 to 25 have groups of 16 and 10, those
// behind them of 6, 16 and 4.
TEST(SharedWeights, OP_2_packed_kernels_of_a_transposed_convolution) {
  using nlohmann::json;
  const json file = {{"name", "up"},
                     {"inputs", {{{"name", "x"}, {"shape", {1, 4, 4, 26}}, {"random", {{"seed", 2}}}}}},
                     {"layers",
                      {{{"name", "y"},
                        {"op", "conv_transpose"},
                        {"inputs", {"x"}},
                        {"out_channels", 12},
                        {"kernel", {1, 2}},
                        {"stride", {1, 2}},
                        {"weights",
                         {{"random", {{"seed", 1}}},
                          {"dtype", "uint4"},
                          {"group", 16},
                          {"shift", 1},
                          {"scales", {{"random", {{"seed", 3}}}}}}},
                        {"requant", {{"scale", 0.002}}}}}}};
  const TemporaryFolder folder;
  const Workload workload = load_workload(folder.write("up.json", file.dump()));
  const json one_kernel{{"rows", 1}, {"columns", 1}};
  const json chip{{"clusters", 1}, {"cores_per_cluster", 1}, {"decompress", "read"}};
  for (const json& engine :
       {json{{"dataflow", "dilated"}, {"switch_array", {{"rows", 1}, {"columns", 1}, {"groups", 1}}}},
        json{{"dataflow", "rolling"}, {"rolling", one_kernel}},
        json{{"dataflow", "offset"}, {"offset", one_kernel}}}) {
    json hardware = engine;
    hardware["chip"] = chip;
    const HardwareConfig loaded = load_hardware(folder.write("hw.json", hardware.dump()));
    check_both_granularities(workload, loaded, plan_network(workload, loaded).plan);
  }
}

// The regions of the W-fold engine hold biases within the images.
TEST(SharedWeights, MA_2_packed_kernels_with_other_biases_are_other_images) {
  using nlohmann::json;
  const json weights{{"random", {{"seed", 1}}},
                     {"dtype", "int4"},
                     {"group", 16},
                     {"shift", 1},
                     {"scales", {{"random", {{"seed", 3}}}}}};
  json file{{"name", "pair"}, {"layers", json::array()}, {"outputs", {"a", "b"}}};
  file["inputs"] = {{{"name", "x"}, {"shape", {1, 6, 6, 64}}, {"random", {{"seed", 2}}}}};
  for (const char* name : {"a", "b"}) {
    file["layers"].push_back({{"name", name},
                              {"op", "conv2d"},
                              {"inputs", {"x"}},
                              {"out_channels", 64},
                              {"kernel", {3, 3}},
                              {"pads", {1, 1, 1, 1}},
                              {"weights", weights},
                              {"bias", {{"random", {{"seed", *name}}}}},
                              {"requant", {{"scale", 0.002}}}});
  }
  const TemporaryFolder folder;
  const Workload workload = load_workload(folder.write("pair.json", file.dump()));
  for (const char* config : {"core1.json", "wfold16x4.json", "rolling16.json", "offset16.json"}) {
    HardwareConfig hardware = load_hardware(std::string(TILEBEAT_SOURCE_DIR) + "/configs/" + config);
    hardware.chip->decompress = Decompress::kRead;
    check_both_granularities(workload, hardware, plan_network(workload, hardware).plan);
  }
}

// Convolutions of other strides, dilations and maps with the same weights, of four bits or int8: whatever
// layers share, in DRAM or on their way there, every byte is right.
void check_shared_weights(Engine engine, bool fused, FourBitTally& tally) {
  using nlohmann::json;
  const int channels = skewed(40), kernel = number(1, 3), layers = number(2, 4);
  json weights{{"random", {{"seed", number(1, 1000)}}}};
  const bool four_bits = !one_in(3);
  if (four_bits)
    weights.update(
        {{"dtype", "int4"}, {"group", 16}, {"shift", number(0, 4)}, {"scales", {{"random", {{"seed", 3}}}}}});
  json file{{"name", "shared"}, {"layers", json::array()}, {"outputs", json::array()}};
  file["inputs"] = {
      {{"name", "x"}, {"shape", {1, number(6, 14), number(6, 14), channels}}, {"random", {{"seed", 2}}}}};
  std::string input = "x";
  for (int i = 0; i < layers; ++i) {
    const std::string name = "l" + std::to_string(i);
    json layer{{"name", name},
               {"op", "conv2d"},
               {"inputs", {input}},
               {"out_channels", channels},
               {"kernel", {kernel, kernel}},
               {"stride", {number(1, 2), number(1, 2)}},
               {"pads", {2, 2, 2, 2}},
               {"dilation", {number(1, 2), number(1, 2)}},
               {"weights", weights},
               {"requant", {{"scale", 0.01}}}};
    if (one_in(2)) layer["bias"] = {{"random", {{"seed", number(1, 9)}}}};
    file["layers"].push_back(layer), file["outputs"].push_back(name);
    if (one_in(2)) input = name;
  }
  RC_LOG() << file.dump() << "\n";
  const TemporaryFolder folder;
  Workload workload = load_workload(folder.write("shared.json", file.dump()));
  HardwareConfig hardware = random_chip_with(engine);
  const auto planned = plan_with_decoder(fused, workload, hardware, tally);
  if (!planned) return;
  check_planned_bytes(planned->plan, check_both_granularities(workload, hardware, planned->plan, 30));
  std::int64_t placed = 0;  // bytes of kernels
  for (const MemorySegment& segment : planned->plan.image)
    placed += segment.what.rfind(four_bits ? "constants" : "kernels", 0) == 0 ? ssize(segment.bytes) : 0;
  if (placed <= 3 * workload.layers.front().output.shape.back() * channels * kernel * kernel / 2)
    ++tally.shared;
  ++tally.layers;
}

TEST_P(FourBitWeights, MA_2_layers_with_the_same_weights_share_what_is_the_same) {
  FourBitTally tally;
  check_cases_until([&] { return tally.layers >= budget(60, 12) && tally.shared > 0; }, budget(40, 12),
                    [&] { check_shared_weights(GetParam(), one_in(4), tally); });
  EXPECT_GE(tally.layers, budget(60, 12)) << "networks";
  EXPECT_GT(tally.shared, 0) << "networks whose kernels lie in DRAM once";
}

// Pairs of layers whose weights say the same and that an engine packs in two orders: by the granularity of
// the map's width, by whether maps are rows, by the phases of the output.
TEST(SharedWeights, MA_2_layers_whose_kernels_are_packed_otherwise_do_not_share) {
  using nlohmann::json;
  const json weights{{"dtype", "int4"},
                     {"group", 16},
                     {"shift", 1},
                     {"random", {{"seed", 1}}},
                     {"scales", {{"random", {{"seed", 3}}}}}};
  const auto layer = [&](const char* name, const char* op, const char* input, json fields) {
    fields.update({{"name", name},
                   {"op", op},
                   {"inputs", {input}},
                   {"weights", weights},
                   {"requant", {{"scale", 0.01}}}});
    return fields;
  };
  const auto check = [&](const char* config, const json& section, std::vector<std::vector<int>> inputs,
                         json layers) {
    json file{
        {"name", "pair"}, {"inputs", json::array()}, {"layers", std::move(layers)}, {"outputs", {"a", "b"}}};
    for (std::size_t i = 0; i < inputs.size(); ++i)
      file["inputs"].push_back(
          {{"name", i == 0 ? "x" : "y"}, {"shape", inputs[i]}, {"random", {{"seed", 2}}}});
    const TemporaryFolder folder;
    json hardware = json::parse(read_bytes(std::string(TILEBEAT_SOURCE_DIR) + "/configs/" + config));
    for (const auto& [part, fields] : section.items()) hardware[part].update(fields);
    const HardwareConfig loaded = load_hardware(folder.write("hardware.json", hardware.dump()));
    const Workload workload = load_workload(folder.write("pair.json", file.dump()));
    check_both_granularities(workload, loaded, plan_network(workload, loaded).plan);
  };
  const json square{{"out_channels", 40}, {"kernel", {3, 3}}, {"pads", {1, 1, 1, 1}}};
  check("wfold16x4.json", {{"wfold", {{"kernel_place", "offline"}}}}, {{1, 14, 14, 40}, {1, 1, 1, 40}},
        {layer("a", "conv2d", "x", square), layer("b", "conv2d", "y", square)});
  check("offset16.json", {{"offset", {{"layout", "nchw"}}}}, {{1, 1, 1, 64}, {8, 1, 1, 64}},
        {layer("a", "fully_connected", "x", {{"out_features", 32}}),
         layer("b", "fully_connected", "y", {{"out_features", 32}})});
  const auto transposed = [&](const char* name, std::vector<int> stride) {
    return layer(name, "conv_transpose", "x", {{"out_channels", 8}, {"kernel", {4, 4}}, {"stride", stride}});
  };
  for (const char* config : {"core1.json", "wfold16x4.json", "rolling16.json", "offset16.json"})
    check(config, json::object(), {{1, 6, 6, 16}}, {transposed("a", {2, 3}), transposed("b", {3, 2})});
}

// The first stream of one layer has all channels of eight kernels, that of the other one half of the channels
// of sixteen: as many weights from the same one on.
TEST(SharedWeights, MA_2_loads_of_parts_of_the_channels_are_other_streams) {
  const TemporaryFolder folder;
  const auto layer = [](const std::string& name) {
    return R"({"name": ")" + name +
           R"(", "op": "matmul", "inputs": ["x"], "out_features": 64, "requant": {"scale": 0.01}, "weights":
           {"dtype": "int4", "group": 16, "shift": 1, "random": {"seed": 1}, "scales": {"random": {"seed": 3}}}})";
  };
  const Workload workload = load_workload(folder.write(
      "pair.json", R"({"name": "pair", "inputs": [{"name": "x", "shape": [4, 4096], "random": {"seed": 2}}],
                       "layers": [)" +
                       layer("a") + "," + layer("b") + R"(], "outputs": ["a", "b"]})"));
  const HardwareConfig hardware = load_hardware(TILEBEAT_SOURCE_DIR "/configs/wfold16x4.json");
  NetworkMapping asked;
  for (const int parts : {1, 2}) {
    MappingRequest request;
    request.layer = parts == 1 ? "a" : "b", request.channel_parts = parts;
    asked.layers.push_back(request);
  }
  const PlannedNetwork planned = plan_network(workload, hardware, asked);
  ASSERT_EQ(planned.mappings.size(), 2U);
  EXPECT_EQ(planned.mappings[0].channel_parts, 1);
  EXPECT_EQ(planned.mappings[1].channel_parts, 2);
  check_both_granularities(workload, hardware, planned.plan);
}

INSTANTIATE_TEST_SUITE_P(Engines, FourBitWeights, ::testing::ValuesIn(kEngines), engine_name);

}  // namespace
}  // namespace tilebeat::testing
