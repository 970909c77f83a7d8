// Kernels that stay packed in WRAM with the real program (SPEC DT-1, DT-4; `chip.decompress`: read): how many
// fit, what is decoded, and what files may say.
#include "tilebeat_command.h"

#include <cmath>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// A convolution of 64 to 64 channels with weights of four bits in groups of 32.
json packed_layer(int kernel, int channels = 64) {
  const json weights = {{"random", {{"seed", 2}}},
                        {"dtype", "int4"},
                        {"group", 32},
                        {"shift", 3},
                        {"scales", {{"random", {{"seed", 3}}}}}};
  const json x = {{"name", "x"}, {"shape", {1, 6, 6, channels}}, {"random", {{"seed", 1}}}};
  const json layer = {{"name", "y"},
                      {"op", "conv2d"},
                      {"inputs", {"x"}},
                      {"out_channels", 64},
                      {"kernel", {kernel, kernel}},
                      {"pads", {1, 1, 1, 1}},
                      {"weights", weights},
                      {"requant", {{"scale", 0.0005}}}};
  return {{"inputs", {x}}, {"layers", {layer}}};
}

json config_with(const std::string& config, const json& chip) {
  std::ifstream file(source_path(config));
  json made = json::parse(file);
  made["chip"].merge_patch(chip);
  return made;
}

/// A mapping that loads all kernels of the layer together, once.
json all_kernels(const std::string& engine, int blocks) {
  return {{"tilebeat_mapping", 1},
          {"layers",
           {{{"layer", "y"},
             {"engine", engine},
             {"blocks_per_load", blocks},
             {"kernel_buffers", 1},
             {"channel_parts", 1}}}}};
}

struct PackedOn {
  const char *config, *engine;
  int blocks;        ///< of the layer
  double most_more;  ///< bytes that records and headers may take of a ratio of 32 / 17
};

class PackedKernelsOn : public ::testing::TestWithParam<PackedOn> {
 protected:
  /// Runs the layer with all kernels in a WRAM of so many bytes.
  CommandResult run_in(const std::string& decompress, std::int64_t wram) {
    const json config = config_with(
        GetParam().config, {{"decompress", decompress}, {"core", {{"wram", {{"size_bytes", wram}}}}}});
    folder_.write("hw.json", config.dump());
    folder_.write("m.json", all_kernels(GetParam().engine, GetParam().blocks).dump());
    folder_.write("w.json", packed_layer(3).dump());
    return folder_.run({"run", "--config", folder_.path("hw.json"), "--layer", folder_.path("w.json"),
                        "--mapping", folder_.path("m.json"), "--check", "on"});
  }
  /// The bytes that the kernels need, as the refusal of a smaller WRAM says, or the first one that has room.
  std::int64_t needed(const std::string& decompress) {
    for (std::int64_t wram = 4096; wram <= 65536; wram += 4096) {
      const CommandResult run = run_in(decompress, wram);
      std::smatch found;
      if (std::regex_search(run.err, found, std::regex(R"(1 buffers of (\d+) bytes)")))
        return std::stoll(found[1]);
      if (run.status == 0) return wram;
      EXPECT_EQ(run.status, 2) << run.out;
    }
    return 0;
  }
  CommandFolder folder_;
};

TEST_P(PackedKernelsOn, DT_1_wram_holds_1_88_times_as_many_weights) {
  const std::int64_t packed = needed("read"), whole = needed("load");
  const double records = 64 * 16, weights = 64.0 * 64 * 9;
  EXPECT_GE(static_cast<double>(whole), weights);
  EXPECT_LE(static_cast<double>(packed), weights * 17 / 32 + records + GetParam().most_more);
  // Rows of banks are 4,096 bytes.
  const std::int64_t fits = (packed + 4095) / 4096 * 4096;
  ASSERT_LT(fits, whole);
  EXPECT_EQ(run_in("read", fits - 4096).status, 2) << "one row of banks less";
  EXPECT_EQ(run_in("load", fits).status, 2);
  const CommandResult run = run_in("read", fits);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(folder_.report().at("layers").at(0).at("check"), "passed");
}

INSTANTIATE_TEST_SUITE_P(Engines, PackedKernelsOn,
                         ::testing::Values(PackedOn{"configs/core1.json", "dilated", 4, 512},
                                           PackedOn{"configs/rolling16.json", "rolling", 4, 512},
                                           PackedOn{"configs/offset16.json", "offset", 4, 512},
                                           PackedOn{"configs/wfold16x4.json", "wfold", 4, 8192}),
                         [](const auto& given) { return std::string(given.param.engine); });

TEST(PackedKernels, DT_1_weights_count_as_decoded_each_time_that_they_are_read) {
  for (const char* name :
       {"configs/core1.json", "configs/rolling16.json", "configs/offset16.json", "configs/wfold16x4.json"}) {
    const CommandFolder folder;
    const std::string work = folder.write("w.json", packed_layer(3).dump());
    std::vector<json> reports;
    for (const char* decompress : {"load", "read"}) {
      const std::string config =
          folder.write("hw.json", config_with(name, {{"decompress", decompress}}).dump());
      const CommandResult run = folder.run({"run", "--config", config, "--layer", work, "--check", "on"});
      ASSERT_EQ(run.status, 0) << run.err;
      reports.push_back(folder.report());
    }
    const auto decoding = [](const json& report) {
      return report.at("energy").at("pj").at("decoding").get<double>();
    };
    EXPECT_GE(decoding(reports[1]), 0.999 * decoding(reports[0])) << name;
    EXPECT_GT(reports[1].at("energy").at("area_mm2").at("dma"),
              reports[0].at("energy").at("area_mm2").at("dma"))
        << name;
    const auto bytes = [](const json& report) {
      return report.at("total").at("dram_read_bytes").get<double>();
    };
    EXPECT_NEAR(bytes(reports[1]) / bytes(reports[0]), 1, 0.05) << name;
  }
}

TEST(PackedKernels, DT_1_groups_without_a_pattern_and_too_many_scales_stay_int8) {
  const CommandFolder folder;
  const auto image_loads = [&](int channels, int scales) {
    const std::string work = folder.write("w.json", packed_layer(3, channels).dump());
    const json chip{{"decompress", "read"}, {"core", {{"weight_scales", scales}}}};
    const std::string config = folder.write("hw.json", config_with("configs/core1.json", chip).dump());
    const std::string program =
        folder.run({"plan", "--config", config, "--layer", work, "--disassemble"}).out;
    EXPECT_THAT(program, HasSubstr("load.kernels"));
    return program.find("load.image") != std::string::npos;
  };
  EXPECT_TRUE(image_loads(64, 4096));
  EXPECT_TRUE(image_loads(64, 288)) << "16 kernels of 18 groups";
  EXPECT_FALSE(image_loads(64, 287));
  EXPECT_FALSE(image_loads(33, 4096)) << "no two weights that lie together share a scale throughout";
}

TEST(PackedKernels, DT_1_files_are_refused_in_one_line) {
  const CommandFolder folder;
  const std::string work = folder.write("w.json", packed_layer(1).dump());
  const auto refused = [&](const json& chip) {
    const std::string config = folder.write("hw.json", config_with("configs/core1.json", chip).dump());
    const CommandResult run = folder.run({"run", "--config", config, "--layer", work});
    EXPECT_EQ(run.status, 2);
    return run.err;
  };
  EXPECT_THAT(refused({{"decompress", "write"}}),
              HasSubstr(R"(/chip/decompress: "write" is not allowed, allowed is one of "load", "read")"));
  EXPECT_THAT(refused({{"core", {{"weight_scales", 8}}}}), HasSubstr("/chip/core/weight_scales: 8"));
}

}  // namespace
}  // namespace tilebeat::testing
