// Kernels that stay packed in WRAM with the real program (SPEC DT-1, DT-4; `chip.decompress`: read): how many
// fit, what is decoded, and what files may say.
#include "tilebeat_command.h"

#include <array>
#include <fstream>
#include <functional>
#include <iterator>
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

constexpr std::array<const char*, 4> kConfigs{"configs/core1.json", "configs/rolling16.json",
                                              "configs/offset16.json", "configs/wfold16x4.json"};

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

/// Weights that DMA engines decode in the last run in a folder, and that the matrix engine does.
struct Decoded {
  std::int64_t copies = 0, engine = 0;
};
Decoded decoded_in(const CommandFolder& folder) {
  Decoded made;
  const json report = folder.report();
  for (const json& counter : report.at("counters")) {
    if (counter.at("name") != "decoded") continue;
    const bool copies = counter.at("module").get<std::string>().find("dma") != std::string::npos;
    (copies ? made.copies : made.engine) += counter.at("value").get<std::int64_t>();
  }
  return made;
}

TEST(PackedKernels, DT_1_the_engine_decodes_what_it_reads_each_time) {
  for (const int kernels : {64, 40}) {  // 40: the last block of 16 has 8
    for (const char* name : kConfigs) {
      const CommandFolder folder;
      json work = packed_layer(3);
      work["layers"][0]["out_channels"] = kernels;
      const std::string layer = folder.write("w.json", work.dump());
      std::map<std::string, json> energy;
      for (const std::string decompress : {"load", "read"}) {
        const std::string config =
            folder.write("hw.json", config_with(name, {{"decompress", decompress}}).dump());
        const CommandResult run = folder.run({"run", "--config", config, "--layer", layer, "--check", "on"});
        ASSERT_EQ(run.status, 0) << run.err;
        const Decoded decoded = decoded_in(folder);
        const std::int64_t weights = std::int64_t{64} * 9 * kernels;
        EXPECT_EQ(decoded.copies, decompress == "load" ? weights : 0) << name << ", " << kernels;
        if (decompress == "load")
          EXPECT_EQ(decoded.engine, 0) << name;
        else
          EXPECT_GE(decoded.engine, weights) << name;
        energy[decompress] = folder.report().at("energy");
        const double pj = energy[decompress].at("pj").at("decoding").get<double>();
        EXPECT_NEAR(pj, 0.13 * static_cast<double>(decoded.copies + decoded.engine), 1) << name;
      }
      EXPECT_GT(energy["read"].at("area_mm2").at("dma"), energy["load"].at("area_mm2").at("dma")) << name;
    }
  }
}

/// Runs the exported program of the layer, planned for `read`, on a chip with `chip` after `change` changed
/// its text.
CommandResult run_changed(const char* name, const json& chip,
                          const std::function<void(std::string&)>& change) {
  const CommandFolder folder;
  const std::string work = folder.write("w.json", packed_layer(3).dump());
  const std::string config = folder.write("hw.json", config_with(name, {{"decompress", "read"}}).dump());
  EXPECT_EQ(
      folder.run({"plan", "--config", config, "--layer", work, "--export", folder.path("p.prog")}).status, 0);
  std::ifstream file(folder.path("p.prog"));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  change(text);
  const std::string program = folder.write("p.prog", text);
  const std::string other = folder.write("hw.json", config_with(name, chip).dump());
  return folder.run({"run", "--config", other, "--program", program});
}

TEST(PackedKernels, DT_1_programs_that_cannot_be_are_named) {
  const json read{{"decompress", "read"}};
  const auto none = [](std::string&) {};
  const auto with = [](const char* pattern, const char* text) {
    return [=](std::string& program) {
      const std::string changed =
          std::regex_replace(program, std::regex(pattern), text, std::regex_constants::format_first_only);
      EXPECT_NE(changed, program) << pattern;
      program = changed;
    };
  };
  const auto said = [](const CommandResult& run) {
    EXPECT_EQ(run.status, 1) << run.out;
    return run.out + run.err;
  };
  for (const char* name : kConfigs) {
    EXPECT_EQ(run_changed(name, read, none).status, 0) << name;
    EXPECT_THAT(said(run_changed(name, {{"decompress", "load"}}, none)),
                HasSubstr("no decoder is at the port"));
    const json few{{"decompress", "read"}, {"core", {{"weight_scales", 16}}}};
    EXPECT_THAT(said(run_changed(name, few, none)), HasSubstr("scales, the port has room for 16"));
  }
  EXPECT_THAT(said(run_changed("configs/core1.json", read, with("front_bytes=\\d+", "front_bytes=16"))),
              HasSubstr("16 of them in front of the codes, where a header alone has 32"));
  EXPECT_THAT(said(run_changed("configs/core1.json", read, with("front_bytes=\\d+", "front_bytes=64"))),
              HasSubstr("64 of them in front of the codes; the image has"));
  EXPECT_THAT(said(run_changed("configs/rolling16.json", read, with("packed=1", "packed=1 same_image=1"))),
              HasSubstr("rolling.run: same_image, but the run before read another one"));
  EXPECT_THAT(said(run_changed("configs/offset16.json", read, with("image=", "same_image=1 image="))),
              HasSubstr("offset.run: same_image, but the run before read another one"));
  EXPECT_THAT(said(run_changed("configs/wfold16x4.json", read, with("packed=1", "packed=1 folded=1"))),
              HasSubstr("wfold.kernels: packed kernels cannot be folded in place"));
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
