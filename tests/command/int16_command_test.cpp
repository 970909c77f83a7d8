// int16 maps from the command line: the beats and bytes that they take, sums of 48 bits, wide biases, and
// what is refused (SPEC DT-2).
#include "tilebeat_command.h"
#include "workload/npy.h"
#include "workload/tensor.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using nlohmann::json;

json one_layer(const std::string& type, std::vector<int> shape, json layer) {
  layer.update({{"name", "y"}, {"inputs", {"x"}}});
  return {
      {"name", "one"},
      {"inputs", {{{"name", "x"}, {"shape", std::move(shape)}, {"dtype", type}, {"random", {{"seed", 1}}}}}},
      {"layers", {std::move(layer)}}};
}

json connected(const std::string& type) {
  return one_layer(type, {1, 1, 1, 2048},
                   {{"op", "fully_connected"},
                    {"out_features", 1024},
                    {"weights", {{"random", {{"seed", 2}}}}},
                    {"requant", {{"scale", 1e-4}, {"dtype", type}}}});
}

/// The report of a workload on a hardware of configs/.
json report_of(const json& workload, const std::string& config) {
  const CommandFolder folder;
  folder.write("one.json", workload.dump());
  const CommandResult run = folder.run(
      {"run", "--config", source_path("configs/" + config + ".json"), "--layer", "one.json", "--out", "out"});
  EXPECT_EQ(run.status, 0) << run.err;
  return json::parse(read_bytes(folder.path("out/report.json")));
}

std::int64_t beats_of(const json& report) {
  return report.at("layers").at(0).at("beats");
}
std::int64_t read_of(const json& report) {
  return report.at("layers").at(0).at("bytes").at("dram").at("read");
}

class Int16On : public ::testing::TestWithParam<const char*> {};

TEST_P(Int16On, DT_2_a_layer_takes_twice_the_beats_of_its_bytes) {
  const json layer{{"op", "conv2d"},
                   {"out_channels", 32},
                   {"kernel", {3, 3}},
                   {"pads", {1, 1, 1, 1}},
                   {"weights", {{"random", {{"seed", 2}}}}}};
  const json bytes = report_of(one_layer("int8", {1, 16, 16, 64}, layer), GetParam());
  const json wide = report_of(one_layer("int16", {1, 16, 16, 64}, layer), GetParam());
  EXPECT_EQ(beats_of(wide), 2 * beats_of(bytes));
}

TEST_P(Int16On, DT_2_dram_holds_the_weights_once) {
  const std::int64_t bytes = read_of(report_of(connected("int8"), GetParam()));
  const std::int64_t wide = read_of(report_of(connected("int16"), GetParam()));
  constexpr std::int64_t kMap = 2048, kWeights = 2048 * 1024;
  EXPECT_LE(wide, bytes + kMap + kWeights / 100) << "instructions and headers of streams are more";
}

INSTANTIATE_TEST_SUITE_P(Chips, Int16On,
                         ::testing::Values("core1", "wfold_cluster4x4", "rolling_cluster4x4",
                                           "offset_cluster4x4"),
                         [](const auto& one) { return std::string(one.param); });

TEST(Int16Maps, DT_2_boards_without_a_decoder_read_the_weights_twice) {
  constexpr std::int64_t kMap = 2048, kWeights = 2048 * 1024;
  const std::int64_t bytes = read_of(report_of(connected("int8"), "switch16"));
  EXPECT_LE(read_of(report_of(connected("int16"), "switch16")), bytes + kMap + kWeights / 100);
  const CommandFolder folder;
  folder.write("one.json", connected("int16").dump());
  folder.write("hardware.json", R"({"switch_array": {"decode_bytes_per_clock": 0}})");
  const CommandResult run = folder.run({"run", "--config", "hardware.json", "--layer", "one.json"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_GE(read_of(folder.report()), bytes + kWeights - kWeights / 100);
}

template <class T>
std::string elements_file(std::vector<std::int64_t> shape, DType dtype, const std::vector<T>& values) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
  return npy_bytes({std::move(shape), dtype, {first, first + values.size() * sizeof(T)}});
}
std::string bias_file(std::int64_t bias) {
  return elements_file({1}, DType::kInt64, std::vector<std::int64_t>{bias});
}

/// A pixel of `channels` elements under one kernel of weights, with a bias.
struct WideSum {
  std::int16_t element = 0;
  std::int8_t weight = 0;
  int channels = 1;
  std::int64_t bias = 0;
};

/// The raw result.
std::int64_t computed(const WideSum& sum, const char* config) {
  const CommandFolder folder;
  const auto channels = static_cast<std::size_t>(sum.channels);
  const std::vector<std::int64_t> shape{1, 1, 1, sum.channels};
  folder.write("x.npy",
               elements_file(shape, DType::kInt16, std::vector<std::int16_t>(channels, sum.element)));
  folder.write("w.npy", elements_file(shape, DType::kInt8, std::vector<std::int8_t>(channels, sum.weight)));
  folder.write("b.npy", bias_file(sum.bias));
  json workload = one_layer("int16", {1, 1, 1, sum.channels},
                            {{"op", "conv2d"},
                             {"out_channels", 1},
                             {"kernel", {1, 1}},
                             {"weights", {{"file", "w.npy"}}},
                             {"bias", {{"file", "b.npy"}}}});
  workload["inputs"][0].erase("random");
  workload["inputs"][0]["file"] = "x.npy";
  folder.write("one.json", workload.dump());
  const CommandResult run =
      folder.run({"run", "--config", source_path(std::string("configs/") + config + ".json"), "--layer",
                  "one.json", "--out", "out"});
  EXPECT_EQ(run.status, 0) << run.err;
  const Tensor made = read_npy(folder.path("out/outputs/y.npy"));
  EXPECT_EQ(made.dtype, DType::kInt64);
  return made.wide_at(0);
}

TEST(Int16Maps, DT_2_sums_have_48_bits_on_every_engine) {
  const WideSum sum{-32768, -128, 4096, (std::int64_t{1} << 40) + 5};
  for (const char* config : {"core1", "wfold16x4", "rolling16", "offset16", "switch16"}) {
    SCOPED_TRACE(config);
    EXPECT_EQ(computed(sum, config), std::int64_t{32768} * 128 * 4096 + sum.bias);
  }
}

TEST(Int16Maps, NU_3_DT_2_sums_beyond_48_bits_are_refused) {
  const CommandFolder folder;
  json workload = one_layer("int16", {1, 1, 1, 1},
                            {{"op", "conv2d"},
                             {"out_channels", 1},
                             {"kernel", {1, 1}},
                             {"weights", {{"random", {{"seed", 1}, {"min", 1}, {"max", 1}}}}},
                             {"bias", {{"file", "b.npy"}}}});
  const auto refusal = [&](std::int64_t bias) {
    folder.write("b.npy", bias_file(bias));
    folder.write("one.json", workload.dump());
    return folder.run({"run", "--config", source_path("configs/core1.json"), "--layer", "one.json"});
  };
  constexpr std::int64_t kMost = (std::int64_t{1} << 47) - 1 - 32768;
  EXPECT_EQ(refusal(kMost).status, 0);
  const CommandResult beyond = refusal(kMost + 1);
  EXPECT_EQ(beyond.status, 2);
  EXPECT_NE(beyond.err.find("at most 140737488355327"), std::string::npos) << beyond.err;
}

TEST(Int16Maps, NU_3_DT_2_biases_at_the_ends_of_int64_are_refused) {
  for (const std::int64_t bias : {INT64_MIN, INT64_MAX}) {
    const CommandFolder folder;
    folder.write("b.npy", bias_file(bias));
    folder.write("one.json", one_layer("int16", {1, 1, 1, 1},
                                       {{"op", "conv2d"},
                                        {"out_channels", 1},
                                        {"kernel", {1, 1}},
                                        {"weights", {{"random", {{"seed", 1}}}}},
                                        {"bias", {{"file", "b.npy"}}}})
                                 .dump());
    const CommandResult run =
        folder.run({"run", "--config", source_path("configs/core1.json"), "--layer", "one.json"});
    EXPECT_EQ(run.status, 2);
    EXPECT_NE(run.err.find("at most 140737488355327"), std::string::npos) << run.err;
  }
}

// Partial sums of two cores end as int16 within bounds that take more than a byte.
TEST(Int16Maps, DT_2_FU_1_sums_of_several_cores_end_within_wide_bounds) {
  const CommandFolder folder;
  folder.write("one.json", one_layer("int8", {1, 4, 4, 256},
                                     {{"op", "conv2d"},
                                      {"out_channels", 8},
                                      {"kernel", {3, 3}},
                                      {"weights", {{"random", {{"seed", 2}}}}},
                                      {"requant", {{"scale", 1e-2}, {"dtype", "int16"}}},
                                      {"output_range", {-300, 300}}})
                               .dump());
  folder.write("m.json", R"({"tilebeat_mapping": 1, "layers": [{"layer": "y", "reduction_parts": 2}]})");
  const CommandResult run = folder.run({"run", "--config", source_path("configs/cluster4.json"), "--layer",
                                        "one.json", "--mapping", "m.json", "--out", "out"});
  ASSERT_EQ(run.status, 0) << run.out << run.err;
  const Tensor made = read_npy(folder.path("out/outputs/y.npy"));
  std::int64_t least = 0, most = 0;
  for (std::int64_t i = 0; i < made.elements(); ++i)
    least = std::min<std::int64_t>(least, made.at(i)), most = std::max<std::int64_t>(most, made.at(i));
  EXPECT_EQ(least, -300);
  EXPECT_EQ(most, 300);
}

TEST(Int16Maps, DT_2_HI_2_exported_programs_keep_the_types_of_results) {
  for (const bool raw : {false, true}) {
    const CommandFolder folder;
    json workload = connected("int16");
    if (raw) workload["layers"][0].erase("requant");
    folder.write("one.json", workload.dump());
    const std::string config = source_path("configs/core1.json");
    ASSERT_EQ(folder.run({"plan", "--config", config, "--layer", "one.json", "--export", "p.program"}).status,
              0);
    ASSERT_EQ(folder.run({"run", "--config", config, "--layer", "one.json", "--out", "planned"}).status, 0);
    const CommandResult run =
        folder.run({"run", "--config", config, "--program", "p.program", "--out", "exported"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(read_bytes(folder.path("exported/outputs/y.npy")),
              read_bytes(folder.path("planned/outputs/y.npy")));
  }
}

struct RefusedWide {
  const char* name;
  json change;  // of the layer; of the workload's only input where it begins with "input"
  const char* says;
};

TEST(Int16Maps, DT_2_NU_1_what_is_refused) {
  const json layer{
      {"op", "conv2d"}, {"out_channels", 4}, {"kernel", {1, 1}}, {"weights", {{"random", {{"seed", 2}}}}}};
  const json scales{{"input_scale", 0.1}, {"weight_scale", 0.1}, {"output_scale", 0.1}, {"dtype", "int16"}};
  const std::vector<RefusedWide> cases{
      {"a zero point",
       {{"requant", {{"scale", 1}, {"zero_point", 3}, {"dtype", "int16"}}}},
       "/layers/0/requant/zero_point: 3 is not allowed, allowed is 0"},
      {"XNNPACK", {{"requant", scales}, {"arithmetic", "float32"}}, "allowed is \"exact\" or \"fixed\""},
      {"sums without fixed", {{"requant", scales}, {"sums", "int32"}}, "/layers/0/sums"},
      {"XNNPACK with a result of int16",
       {{"requant", scales}, {"arithmetic", "tflm"}},
       "allowed is \"exact\" or \"fixed\""},
      {"a factor beyond the shift",
       {{"requant", {{"input_scale", 1}, {"weight_scale", 16384}, {"output_scale", 1}, {"dtype", "int16"}}},
        {"arithmetic", "fixed"}},
       "a factor of 16384"},
  };
  for (const RefusedWide& one : cases) {
    SCOPED_TRACE(one.name);
    const CommandFolder folder;
    json changed = layer;
    changed.update(one.change);
    folder.write("one.json", one_layer("int16", {1, 4, 4, 8}, changed).dump());
    const CommandResult run = folder.run(
        {"run", "--config", source_path("configs/core1.json"), "--layer", "one.json", "--out", "out"});
    EXPECT_EQ(run.status, 2);
    EXPECT_NE(run.err.find(one.says), std::string::npos) << run.err;
    EXPECT_EQ(folder.files().count("out/"), 0U);
  }
}

TEST(Int16Maps, DT_2_words_of_an_odd_number_of_channels_are_refused) {
  const CommandFolder folder;
  json hardware = json::parse(read_bytes(source_path("configs/core1.json")));
  hardware["switch_array"]["port_channels"] = 3;
  folder.write("odd.json", hardware.dump());
  folder.write("one.json", connected("int16").dump());
  const CommandResult run = folder.run({"run", "--config", "odd.json", "--layer", "one.json"});
  EXPECT_EQ(run.status, 2);
  EXPECT_NE(run.err.find("switch_array.port_channels is 3, words of int16 maps need an even number"),
            std::string::npos)
      << run.err;
}

}  // namespace
}  // namespace tilebeat::testing
