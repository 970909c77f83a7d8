// Weights of four bits with the real program (SPEC DT-1, DT-4): bytes of the formula, fewer bytes and cycles,
// their energy, what files may say and what is refused.
#include "npy_file.h"
#include "tilebeat_command.h"
#include "vcd_reader.h"

#include <cmath>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json random_of(int seed) {
  return {{"random", {{"seed", seed}}}};
}

/// A fully connected layer; `weights`: its weights.
json layer_of(int k, int features, const json& weights) {
  const json x = {{"name", "x"}, {"shape", {1, 1, 1, k}}, {"random", {{"seed", 1}}}};
  const json layer = {{"name", "y"},        {"op", "fully_connected"},
                      {"inputs", {"x"}},    {"out_features", features},
                      {"weights", weights}, {"requant", {{"scale", 0.0005}}}};
  return {{"inputs", {x}}, {"layers", {layer}}};
}
json grouped(const char* type, int group) {
  json weights = random_of(2);
  weights.update({{"dtype", type}, {"group", group}, {"shift", 3}, {"scales", random_of(3)}});
  return weights;
}

struct Bytes {
  std::int64_t planned = 0, cycles = 0;
};
/// Plans and runs the layer on `config`; DRAM moves as many bytes as were planned.
Bytes run(const json& workload, const std::string& config) {
  const CommandFolder folder;
  const std::string file = folder.write("workload.json", workload.dump());
  const std::string plan = folder.run({"plan", "--config", source_path(config), "--layer", file}).out;
  std::smatch found;
  EXPECT_TRUE(std::regex_search(plan, found, std::regex(R"((\d+) of maps, (\d+) of kernels)"))) << plan;
  const std::regex program(R"((\d+) instructions of 64 bytes)");
  std::int64_t instructions = 0;
  for (std::sregex_iterator at(plan.begin(), plan.end(), program), end; at != end; ++at)
    instructions += std::stoll((*at)[1]);
  EXPECT_GT(instructions, 0) << plan;
  const CommandResult result =
      folder.run({"run", "--config", source_path(config), "--layer", file, "--check", "on"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  const json layer = folder.report().at("layers").at(0);
  EXPECT_EQ(layer.at("check"), "passed");
  const std::int64_t maps = std::stoll(found[1]), kernels = std::stoll(found[2]);
  // Starting the processors of several clusters reads their entries of a table, and the offset engine its
  // tables.
  if (config == "configs/core1.json" || config == "configs/switch16.json") {
    EXPECT_EQ(folder.report().at("total").at("dram_read_bytes").get<std::int64_t>(),
              maps + kernels + 64 * instructions);
  }
  return {kernels, layer.at("cycles").get<std::int64_t>()};
}

class FourBitWeightsOn : public ::testing::TestWithParam<const char*> {};

TEST_P(FourBitWeightsOn, DT_1_dram_moves_packed_bytes) {
  constexpr int kK = 2048, kOutFeatures = 512;
  const std::string config = GetParam();
  const std::int64_t records = 16 * kOutFeatures;
  const auto whole =
      static_cast<double>(run(layer_of(kK, kOutFeatures, random_of(2)), config).planned - records);
  const auto share = [&](const json& weights) {
    return static_cast<double>(run(layer_of(kK, kOutFeatures, weights), config).planned - records) / whole;
  };
  EXPECT_LE(share(grouped("int4", 32)), 0.54);
  EXPECT_LE(share(grouped("int4", 64)), 0.52);
  json zeros = grouped("uint4", 64);
  zeros["zero_points"] = random_of(4);
  EXPECT_LE(share(zeros), 0.53);
  json plain = random_of(2);
  plain["dtype"] = "uint4";
  EXPECT_LE(share(plain), 0.505);
}
INSTANTIATE_TEST_SUITE_P(Configs, FourBitWeightsOn,
                         ::testing::Values("configs/switch16.json", "configs/core1.json",
                                           "configs/cluster4x4.json", "configs/wfold_cluster4x4.json",
                                           "configs/rolling_cluster4x4.json",
                                           "configs/offset_cluster4x4.json"),
                         [](const auto& config) { return test_name(config.param); });

TEST(FourBitWeights, DT_1_a_layer_that_its_weights_bound_is_faster) {
  const std::int64_t eight = run(layer_of(2048, 1024, random_of(2)), "configs/core1.json").cycles;
  const std::int64_t four = run(layer_of(2048, 1024, grouped("int4", 32)), "configs/core1.json").cycles;
  EXPECT_GE(static_cast<double>(eight), 1.7 * static_cast<double>(four));
}

TEST(FourBitWeights, DT_1_CY_2_a_slow_decoder_is_waited_for_by_its_name) {
  json hardware = json::parse(read_bytes(source_path("configs/core1.json")));
  std::map<int, std::int64_t> cycles, waited;
  for (const int bytes : {2, 4, 32}) {
    hardware["chip"]["decode_bytes_per_clock"] = bytes;
    const CommandFolder folder;
    const std::string layer = folder.write("layer.json", layer_of(1024, 256, grouped("int4", 32)).dump());
    const std::string config = folder.write("hardware.json", hardware.dump());
    const CommandResult result = folder.run({"run", "--config", config, "--layer", layer});
    ASSERT_EQ(result.status, 0) << result.out << result.err;
    const json report = folder.report();
    cycles[bytes] = report.at("total").at("cycles");
    for (const json& module : report.at("modules")) {
      if (module.at("name") != "cluster0.core0.iodma.write") continue;
      waited[bytes] = module.at("stall_cycles").value("decode", std::int64_t{0});
    }
  }
  constexpr std::int64_t kStream = 1024 * 256 * (16 + 1) / 32;
  EXPECT_GE(cycles[2], kStream / 2) << "two bytes a clock";
  EXPECT_LE(cycles[2], kStream / 2 + 6000);
  EXPECT_GE(cycles[4], kStream / 4);
  EXPECT_GT(waited[2], kStream / 3);
  EXPECT_LT(waited[32], waited[2] / 10);
}

TEST(FourBitWeights, DT_1_UI_3_waveforms_show_when_a_decoder_works) {
  json hardware = json::parse(read_bytes(source_path("configs/core1.json")));
  hardware["chip"]["decode_bytes_per_clock"] = 2;
  const CommandFolder folder;
  const std::string layer = folder.write("layer.json", layer_of(1024, 64, grouped("int4", 32)).dump());
  const CommandResult result = folder.run({"run", "--config", folder.write("hardware.json", hardware.dump()),
                                           "--layer", layer, "--vcd", folder.path("w.vcd")});
  ASSERT_EQ(result.status, 0) << result.out << result.err;
  const Vcd vcd(read_bytes(folder.path("w.vcd")));
  std::int64_t ps = 0, began = 0;
  for (const auto& [at, value] : vcd.signal("iodma.decoding").changes) {
    if (value == 1) began = at;
    if (value == 0 && began > 0) ps += at - began, began = 0;
  }
  constexpr std::int64_t kStream = 1024 * 64 * (16 + 1) / 32, kClock = 1000;
  EXPECT_GE(ps, kStream / 2 * kClock) << "two bytes a clock";
  EXPECT_LE(ps, kStream / 2 * kClock + 200 * kClock) << "headers, and bursts that end with half a clock";
}

TEST(FourBitWeights, DT_1_UI_10_every_decoded_weight_has_its_energy) {
  const CommandFolder folder;
  const std::string layer = folder.write("layer.json", layer_of(256, 64, grouped("int4", 16)).dump());
  ASSERT_EQ(folder.run({"run", "--config", source_path("configs/core1.json"), "--layer", layer}).status, 0);
  EXPECT_NEAR(folder.report().at("energy").at("pj").at("decoding").get<double>(), 0.13 * 256 * 64, 1e-6);
}

// w4, scale and zero point of two kernels in two groups of 16; x is 1 in one place after the other.
TEST(FourBitWeights, DT_1_files_hold_codes_scales_and_zero_points) {
  const CommandFolder folder;
  std::vector<std::int8_t> codes(64);
  for (int i = 0; i < 64; ++i) codes[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i * 5 % 16 - 8);
  const std::vector<int> scales{3, 40, 100, 127}, zeros{0, -8, 7, 2};
  folder.write("codes.npy", npy_of(2, 32, codes));
  std::string scale_file = npy_of(2, 2, {3, 40, 100, 127});
  scale_file.replace(scale_file.find("|i1"), 3, "|u1");
  folder.write("scales.npy", scale_file);
  folder.write("zeros.npy", npy_of(2, 2, {0, -8, 7, 2}));
  std::vector<std::int8_t> identity(32 * 32);
  for (std::size_t i = 0; i < 32; ++i) identity[33 * i] = 1;
  folder.write("x.npy", npy_of(32, 32, identity));
  const json workload = {{"inputs", {{{"name", "x"}, {"shape", {32, 32}}, {"file", "x.npy"}}}},
                         {"layers",
                          {{{"name", "y"},
                            {"op", "matmul"},
                            {"inputs", {"x"}},
                            {"out_features", 2},
                            {"transpose_b", true},
                            {"weights",
                             {{"file", "codes.npy"},
                              {"dtype", "int4"},
                              {"group", 16},
                              {"shift", 5},
                              {"scales", {{"file", "scales.npy"}}},
                              {"zero_points", {{"file", "zeros.npy"}}}}}}}}};
  const CommandResult result = folder.run({"run", "--config", source_path("configs/core1.json"), "--layer",
                                           folder.write("workload.json", workload.dump())});
  ASSERT_EQ(result.status, 0) << result.out << result.err;
  const std::string written = read_bytes(folder.path("tilebeat-out/outputs/y.npy"));
  const std::string elements = written.substr(written.size() - 64 * 4);
  for (std::size_t row = 0; row < 32; ++row) {
    for (std::size_t kernel = 0; kernel < 2; ++kernel) {
      const std::size_t group = 2 * kernel + row / 16;
      const double exact = (codes[kernel * 32 + row] - zeros[group]) * scales[group] / 32.0;
      const int expected = static_cast<int>(std::clamp(std::floor(exact + 0.5), -128.0, 127.0));
      std::int32_t actual = 0;
      std::memcpy(&actual, elements.data() + 4 * (2 * row + kernel), 4);
      EXPECT_EQ(actual, expected) << "row " << row << ", kernel " << kernel;
    }
  }
}

TEST(FourBitWeights, DT_1_DT_3_what_is_refused) {
  const CommandFolder folder;
  const auto refused = [&](const json& weights, const std::string& config = "configs/core1.json") {
    const std::string layer = folder.write("layer.json", layer_of(64, 16, weights).dump());
    const CommandResult result = folder.run({"run", "--config", source_path(config), "--layer", layer});
    EXPECT_EQ(result.status, 2) << weights.dump() << result.out;
    return result.err;
  };
  const auto with = [](const char* type, const json& more) {
    json weights = grouped(type, 32);
    weights.update(more);
    return weights;
  };
  EXPECT_THAT(
      refused(with("int4", {{"group", 24}})),
      HasSubstr("layer.json: /layers/0/weights/group: 24 is not allowed, allowed is 16, 32, 64 or 128"));
  EXPECT_THAT(refused(with("int4", {{"shift", 8}})), HasSubstr("/layers/0/weights/shift: 8"));
  EXPECT_THAT(refused(with("int4", {{"zero_point", 1}})), HasSubstr("/layers/0/weights/zero_point"));
  EXPECT_THAT(refused(with("int8", json::object())), HasSubstr("/layers/0/weights/group: 32"));
  json no_scales = with("int4", json::object());
  no_scales.erase("scales");
  EXPECT_THAT(refused(no_scales), HasSubstr("/layers/0/weights/scales: is missing"));
  json no_group = with("int4", json::object());
  no_group.erase("group");
  EXPECT_THAT(refused(no_group), HasSubstr("/layers/0/weights/shift: 3"));
  EXPECT_THAT(refused(with("int4", {{"random", {{"seed", 1}, {"max", 9}}}})),
              HasSubstr("-8 to 7, the range of int4"));
  folder.write("codes.npy", npy_of(16, 64, std::vector<std::int8_t>(1024, 8)));
  json of_file = with("int4", {{"file", "codes.npy"}});
  of_file.erase("random");
  EXPECT_THAT(refused(of_file),
              HasSubstr("/layers/0/weights/file: element 0 with value 8 is not allowed, allowed is "
                        "-8 to 7, the range of int4"));
  for (const char* type : {"fp8", "mxfp4", "bf16"})
    EXPECT_THAT(refused(with(type, json::object())),
                HasSubstr("/layers/0/weights/dtype: \"" + std::string(type)));
  json hardware = json::parse(read_bytes(source_path("configs/core1.json")));
  hardware["chip"]["decode_bytes_per_clock"] = 0;
  const std::string without = folder.write("hardware.json", hardware.dump());
  const std::string layer = folder.write("layer.json", layer_of(64, 16, grouped("int4", 32)).dump());
  const CommandResult result = folder.run({"run", "--config", without, "--layer", layer});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("chip.decode_bytes_per_clock is 0"));
}

// Clusters whose shares of the rows differ have different room in their SRAM, but one fetch is for both.
TEST(FourBitWeights, FU_11_DT_1_clusters_of_uneven_shares_get_the_same_streams) {
  for (const int sram : {8192, 10240, 12288}) {
    const CommandFolder folder;
    const json hardware = {{"fused", true},
                           {"fusion", {{"keep_where_slower", true}, {"least_main_layers", 1}}},
                           {"chip",
                            {{"clusters", 2},
                             {"cores_per_cluster", 1},
                             {"sram", {{"size_bytes", sram}}},
                             {"decode_bytes_per_clock", 16}}}};
    const auto layer = [](const char* name, const char* input, int kernels) {
      return json{{"name", name},
                  {"op", "conv2d"},
                  {"inputs", {input}},
                  {"kernel", {3, 3}},
                  {"pads", {1, 1, 1, 1}},
                  {"out_channels", kernels},
                  {"weights", grouped("int4", 16)},
                  {"requant", {{"scale", 0.01}}}};
    };
    const json x = {{"name", "x"}, {"shape", {1, 5, 8, 24}}, {"random", {{"seed", 1}}}};
    const json workload = {
        {"inputs", {x}}, {"layers", {layer("a", "x", 16), layer("b", "a", 24)}}, {"outputs", {"b"}}};
    const CommandResult result =
        folder.run({"run", "--config", folder.write("hw.json", hardware.dump()), "--layer",
                    folder.write("pair.json", workload.dump()), "--check", "on"});
    ASSERT_EQ(result.status, 0) << sram << result.out << result.err;
    EXPECT_EQ(folder.report().at("layers").size(), 1U) << "one group";
  }
}

}  // namespace
}  // namespace tilebeat::testing
