// Mapping files: written by plan, read by run, refused with the reason (SPEC MA-1).
#include "tilebeat_command.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kMappedConfig = "configs/cluster4x4.json";
constexpr const char* kLayer = "models/resnet50_1x1.json";

std::string one_mapping(const std::string& fields) {
  return R"({"tilebeat_mapping": 1, "layers": [{"layer": "conv", )" + fields + "}]}";
}

TEST(MappingFile, MA_1_what_plan_writes_gives_the_same_run) {
  const CommandFolder folder;
  const std::string mapping = folder.path("m.json");
  ASSERT_EQ(folder
                .run({"plan", "--config", source_path(kMappedConfig), "--layer", source_path(kLayer),
                      "--mapping", mapping})
                .status,
            0);
  for (const std::string& out : {std::string("chosen"), std::string("given")}) {
    std::vector<std::string> options{"--out", folder.path(out), "--check", "on"};
    if (out == "given") options.insert(options.end(), {"--mapping", mapping});
    ASSERT_EQ(folder.run_layer(kMappedConfig, kLayer, options).status, 0);
  }
  EXPECT_EQ(folder.results("chosen"), folder.results("given"));
}

TEST(MappingFile, MA_1_a_field_that_is_changed_is_obeyed_and_outputs_stay) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kMappedConfig, kLayer, {"--out", folder.path("chosen")}).status, 0);
  for (const char* fields :
       {R"("row_parts": 1, "column_parts": 1, "kernel_parts": 1)", R"("row_parts": 2, "column_parts": 2)",
        R"("order": "kernel_outer")", R"("maps": "sram", "kernels": "direct")", R"("results": "sram")",
        R"("tile_rows": 2, "tile_columns": 8, "map_buffers": 3)",
        R"("channel_parts": 2, "blocks_per_load": 1)"}) {
    SCOPED_TRACE(fields);
    const std::string mapping = folder.write("m.json", one_mapping(fields));
    const CommandResult run = folder.run_layer(
        kMappedConfig, kLayer, {"--mapping", mapping, "--out", folder.path("given"), "--check", "on"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(read_bytes(folder.path("chosen/outputs/conv.npy")),
              read_bytes(folder.path("given/outputs/conv.npy")));
  }
  const nlohmann::json one = folder.report("given");
  EXPECT_GT(one.at("total").at("cycles"), 0);
}

TEST(MappingFile, MA_1_OP_1_choices_of_the_rolling_unit_by_layer) {
  const char* config = "configs/rolling16.json";
  const char* layer = "models/matmul_256.json";
  const CommandFolder folder;
  const std::string written = folder.path("written.json");
  ASSERT_EQ(
      folder
          .run({"plan", "--config", source_path(config), "--layer", source_path(layer), "--mapping", written})
          .status,
      0);
  const std::string asked = folder.write("asked.json",
                                         R"({"tilebeat_mapping": 1, "layers": [{"layer": "product",
          "rolling": {"variant": "left_b_right", "realign": "tags", "wrap": "buffer"}}]})");
  ASSERT_EQ(folder.run_layer(config, layer, {"--out", folder.path("chosen")}).status, 0);
  ASSERT_EQ(folder.run_layer(config, layer, {"--out", folder.path("written"), "--mapping", written}).status,
            0);
  ASSERT_EQ(
      folder.run_layer(config, layer, {"--out", folder.path("asked"), "--mapping", asked, "--check", "on"})
          .status,
      0);
  EXPECT_EQ(folder.results("chosen"), folder.results("written"));
  // 16 x 16 x 16 block pairs of 16 beats; a roll through the buffer takes 2 cycles, and two cuts roll at
  // once.
  EXPECT_GE(folder.report("asked").at("total").at("cycles"), 4096 * 16 + 4096 / 2 * 15 * 2);
  EXPECT_EQ(nlohmann::json::parse(read_bytes(written)).at("layers").at(0).at("rolling").at("variant"),
            "right_b_up");
}

// Trials simulate the same layer by itself: for one layer the fastest of them is the run's.
TEST(MappingFile, MA_3_a_search_finds_a_mapping_that_is_no_slower_and_the_same_every_time) {
  const CommandFolder folder;
  nlohmann::json searching =
      nlohmann::json::parse(read_bytes(source_path(kMappedConfig)), nullptr, true, true);
  searching["planner"]["search"] = 4;
  const std::string config = folder.write("search.json", searching.dump());
  ASSERT_EQ(folder.run_layer(kMappedConfig, kLayer, {"--out", folder.path("estimated")}).status, 0);
  for (const char* out : {"first", "second"}) {
    const CommandResult run = folder.run({"run", "--config", config, "--layer", source_path(kLayer), "--out",
                                          folder.path(out), "--check", "on"});
    ASSERT_EQ(run.status, 0) << run.err;
  }
  EXPECT_LE(folder.report("first").at("total").at("cycles"),
            folder.report("estimated").at("total").at("cycles"));
  EXPECT_EQ(folder.results("first"), folder.results("second"));
  EXPECT_EQ(read_bytes(folder.path("first/outputs/conv.npy")),
            read_bytes(folder.path("estimated/outputs/conv.npy")));
}

// By the estimates alone kernels are broadcast, which looks better than it is.
TEST(MappingFile, MA_3_MA_4_a_short_layer_by_itself_is_searched) {
  const CommandFolder folder;
  nlohmann::json hardware =
      nlohmann::json::parse(R"({"dataflow": "wfold", "interconnect": {"bytes_per_clock": 16},
      "chip": {"clusters": 4, "cores_per_cluster": 2, "memory_controllers": 2, "cluster_bus": {"bytes_per_clock": 64},
               "sram": {"size_bytes": 131072}, "core": {"nram": {"size_bytes": 131072}, "wram": {"size_bytes": 524288}}}})");
  const std::string layer = folder.write(
      "layer.json",
      R"({"name": "short", "inputs": [{"name": "x", "shape": [1, 7, 14, 32], "dtype": "int8", "random": {"seed": 1}}],
          "layers": [{"name": "conv", "op": "conv2d", "inputs": ["x"], "out_channels": 16, "kernel": [1, 1],
                      "weights": {"random": {"seed": 2}}, "requant": {"scale": 0.001}}]})");
  const auto cycles = [&](const std::string& out) {
    const std::string config = folder.write("hardware.json", hardware.dump());
    const CommandResult run =
        folder.run({"run", "--config", config, "--layer", layer, "--out", folder.path(out), "--check", "on"});
    EXPECT_EQ(run.status, 0) << run.err;
    return folder.report(out).at("total").at("cycles").get<std::int64_t>();
  };
  const std::int64_t searched = cycles("searched");
  EXPECT_THAT(folder.run({"plan", "--config", folder.path("hardware.json"), "--layer", layer}).out,
              HasSubstr("8 simulated, this one took"));
  hardware["planner"]["search"] = 0;
  EXPECT_LT(searched, cycles("estimated"));
  EXPECT_EQ(read_bytes(folder.path("searched/outputs/conv.npy")),
            read_bytes(folder.path("estimated/outputs/conv.npy")));
}

// It is expected to take more than 20,000 cycles.
TEST(MappingFile, MA_3_a_longer_layer_is_mapped_by_estimates_alone) {
  const CommandFolder folder;
  const CommandResult plan =
      folder.run({"plan", "--config", source_path(kMappedConfig), "--layer", source_path(kLayer)});
  EXPECT_EQ(plan.status, 0);
  EXPECT_THAT(plan.out, Not(HasSubstr("simulated, this one took")));
}

// Parts go to the first cores of each cluster, one cluster after the other.
TEST(MappingFile, MA_1_MA_6_so_many_cores_of_each_cluster_work) {
  const CommandFolder folder;
  const auto working = [&](const std::string& fields) {
    const std::string mapping = folder.write("m.json", one_mapping(fields));
    const CommandResult run = folder.run_layer(
        kMappedConfig, kLayer, {"--mapping", mapping, "--out", folder.path("out"), "--check", "on"});
    EXPECT_EQ(run.status, 0) << run.err;
    std::vector<std::string> cores;
    const nlohmann::json report = folder.report("out");
    for (const nlohmann::json& core : report.at("cores")) {
      if (core.at("macs") > 0) cores.push_back(core.at("name"));
    }
    return cores;
  };
  EXPECT_THAT(working(R"("cores_per_cluster": 3, "row_parts": 4, "column_parts": 1, "kernel_parts": 1)"),
              ElementsAre("cluster0.core0", "cluster0.core1", "cluster0.core2", "cluster1.core0"));
  EXPECT_THAT(working(R"("cores_per_cluster": 2, "reduction_parts": 2, "row_parts": 2, "column_parts": 1,
                         "kernel_parts": 1)"),
              ElementsAre("cluster0.core0", "cluster0.core1", "cluster1.core0", "cluster1.core1"));
}

struct Refused {
  const char* name;
  const char* fields;
  const char* message;
};
void PrintTo(const Refused& parameter, std::ostream* out) {
  *out << parameter.name;
}
class MappingRefused : public ::testing::TestWithParam<Refused> {};

TEST_P(MappingRefused, MA_1_with_the_reason_and_status_2) {
  const CommandFolder folder;
  const std::string mapping = folder.write("m.json", one_mapping(GetParam().fields));
  const CommandResult run =
      folder.run_layer(kMappedConfig, kLayer, {"--mapping", mapping, "--out", folder.path("out")});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr(GetParam().message));
  EXPECT_EQ(folder.files().size(), 1U) << "nothing is written";
}

INSTANTIATE_TEST_SUITE_P(
    Files, MappingRefused,
    ::testing::Values(
        Refused{"parts", R"("kernel_parts": 900)", "mapping: kernel_parts 900 is more than"},
        Refused{"cores", R"("cores_per_cluster": 5)",
                "mapping: cores_per_cluster 5 is more than 4, chip.cores_per_cluster"},
        Refused{"cores_of_reduction", R"("cores_per_cluster": 2, "reduction_parts": 4)",
                "mapping: reduction_parts 4 is more than 2, cores_per_cluster"},
        Refused{"cores_of_parts", R"("cores_per_cluster": 1, "row_parts": 5)",
                "mapping: row_parts 5 is more than 4, the parts that layer and cores allow"},
        Refused{"tile", R"("tile_rows": 56, "tile_columns": 56, "map_buffers": 60)",
                "chip.core.nram.size_bytes is 524288"},
        Refused{"kernels", R"("blocks_per_load": 16, "kernel_buffers": 64)",
                "chip.core.wram.size_bytes is 1048576"},
        Refused{"parts_of_channels", R"("channel_parts": 2, "blocks_per_load": 1, "tile_rows": 4)",
                "parts of the channels are added up for 2 x 8 outputs at a time"},
        Refused{"engine", R"("engine": "wfold")",
                "asks for the engine \"wfold\", the cores have \"dilated\""},
        Refused{"choices", R"("rolling": {"variant": "auto"})",
                "/layers/0/rolling: the cores have the engine \"dilated\""},
        Refused{"size", R"("rolling": {"rows": 8})", "'rows' is not a choice of a layer, those are variant"},
        Refused{"choice", R"("rolling": {"realign": "tag"})", "/layers/0/rolling/realign"},
        Refused{"path", R"("results": "broadcast")", "direct or sram"},
        Refused{"range", R"("tile_rows": 0)", "/layers/0/tile_rows"},
        Refused{"unknown", R"("tile_row": 4)", "tile_rows"},
        Refused{"ahead", R"("weight_prefetch": 1)",
                "weight_prefetch 1 is not possible: there is no layer before"},
        Refused{"ahead_of_range", R"("weight_prefetch": -1)", "/layers/0/weight_prefetch"},
        Refused{"name", R"("tile_rows": 4}, {"layer": "nobody")", "layer 'nobody' is not in the workload"}),
    [](const auto& refused) { return refused.param.name; });

// Weight prefetch: the planner's choice, the same from a file, and none.
TEST(MappingFile, MA_1_FU_4_kernels_are_loaded_while_an_earlier_layer_runs) {
  const char* config = "configs/cluster4.json";
  const char* network = "models/alexnet_small.json";
  const CommandFolder folder;
  const std::string mapping = folder.path("m.json");
  const CommandResult plan = folder.run(
      {"plan", "--config", source_path(config), "--layer", source_path(network), "--mapping", mapping});
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("of the kernels are loaded while"));
  nlohmann::json none = nlohmann::json::parse(read_bytes(mapping));
  int ahead = 0;
  for (auto& layer : none.at("layers")) {
    ahead += layer.at("weight_prefetch").get<int>() > 0 ? 1 : 0;
    layer["weight_prefetch"] = 0;
  }
  EXPECT_GT(ahead, 0);
  const std::string without = folder.write("none.json", none.dump());
  ASSERT_EQ(folder.run_layer(config, network, {"--out", folder.path("chosen")}).status, 0);
  ASSERT_EQ(folder.run_layer(config, network, {"--out", folder.path("given"), "--mapping", mapping}).status,
            0);
  ASSERT_EQ(
      folder.run_layer(config, network, {"--out", folder.path("none"), "--mapping", without, "--check", "on"})
          .status,
      0);
  EXPECT_EQ(folder.results("chosen"), folder.results("given"));
  const nlohmann::json chosen = folder.report("chosen").at("total"), own = folder.report("none").at("total");
  EXPECT_LT(chosen.at("cycles"), own.at("cycles"));
  EXPECT_EQ(chosen.at("dram_write_bytes"), own.at("dram_write_bytes"));

  nlohmann::json switched = nlohmann::json::parse(read_bytes(source_path(config)), nullptr, true, true);
  switched["planner"]["weight_prefetch"] = false;
  ASSERT_EQ(folder
                .run({"run", "--config", folder.write("off.json", switched.dump()), "--layer",
                      source_path(network), "--out", folder.path("off")})
                .status,
            0);
  // Without weight prefetch other mappings are the best: those, and nothing else, make the difference.
  ASSERT_EQ(folder
                .run({"plan", "--config", folder.path("off.json"), "--layer", source_path(network),
                      "--mapping", folder.path("off_mapping.json")})
                .status,
            0);
  ASSERT_EQ(folder
                .run_layer(config, network,
                           {"--out", folder.path("off_given"), "--mapping", folder.path("off_mapping.json")})
                .status,
            0);
  EXPECT_EQ(folder.report("off").at("total"), folder.report("off_given").at("total"));
  EXPECT_LT(chosen.at("cycles"), folder.report("off").at("total").at("cycles"));
}

TEST(MappingFile, MA_1_weight_prefetch_that_cannot_be_are_refused) {
  const CommandFolder folder;
  const struct {
    const char *fields, *message;
  } cases[] = {
      {R"("weight_prefetch": 64)", "weight_prefetch 64 is not possible: there are "},
      {R"("weight_prefetch": 1, "weight_prefetch_during": "softmax")",
       "there is no earlier layer 'softmax' from which on WRAM has room for them"},
      {R"("weight_prefetch": 1, "weight_prefetch_during": "nobody")", "there is no earlier layer 'nobody'"},
  };
  for (const auto& refused : cases) {
    const std::string mapping = folder.write(
        "m.json",
        fmt::format(R"({{"tilebeat_mapping": 1, "layers": [{{"layer": "conv2", {}}}]}})", refused.fields));
    const CommandResult run = folder.run_layer("configs/cluster4.json", "models/alexnet_small.json",
                                               {"--mapping", mapping, "--out", folder.path("out")});
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.err, HasSubstr(refused.message));
  }
}

TEST(MappingFile, MA_1_plan_does_not_write_over_what_it_reads) {
  const CommandFolder folder;
  const std::string layer = folder.write("l.json", read_bytes(source_path("models/worked_dense.json")));
  const std::string before = read_bytes(layer);
  const CommandResult plan =
      folder.run({"plan", "--config", source_path(kMappedConfig), "--layer", layer, "--mapping", layer});
  EXPECT_EQ(plan.status, 2);
  EXPECT_EQ(read_bytes(layer), before);
}

class ChannelsCut : public ::testing::TestWithParam<const char*> {};

TEST_P(ChannelsCut, MA_1_where_kernels_do_not_fit) {
  const CommandFolder folder;
  const std::string config = folder.write(
      "small.json", fmt::format(R"({{"dataflow": "{}", "chip": {{"cores_per_cluster": 1, "core": {{"wram": )"
                                R"({{"size_bytes": 262144}}}}}}}})",
                                GetParam()));
  const std::string layer = folder.write(
      "fc.json",
      R"({"name": "fc", "inputs": [{"name": "x", "shape": [1, 1, 1, 18816], "random": {"seed": 1}}],
        "layers": [{"name": "fc", "op": "fully_connected", "inputs": ["x"], "out_features": 40,
                    "weights": {"random": {"seed": 2, "min": -20, "max": 20}},
                    "bias": {"random": {"seed": 3}}}], "outputs": ["fc"]})");
  const CommandResult plan = folder.run({"plan", "--config", config, "--layer", layer});
  EXPECT_THAT(plan.out, HasSubstr("channels in"));
  for (const char* granularity : {"tile", "clock"}) {
    const CommandResult run = folder.run({"run", "--config", config, "--layer", layer, "--check", "on",
                                          "--granularity", granularity, "--out", folder.path(granularity)});
    EXPECT_EQ(run.status, 0) << run.err;
  }
  EXPECT_EQ(folder.report("tile").at("total").at("cycles"), folder.report("clock").at("total").at("cycles"));
}
INSTANTIATE_TEST_SUITE_P(Engines, ChannelsCut, ::testing::Values("dilated", "wfold"),
                         [](const auto& engine) { return std::string(engine.param); });

TEST(MappingFile, MA_1_w_fold_adds_up_parts_of_one_tile) {
  const CommandFolder folder;
  const std::string layer = folder.write(
      "conv.json",
      R"({"name": "conv", "inputs": [{"name": "x", "shape": [1, 6, 6, 128], "random": {"seed": 1}}],
        "layers": [{"name": "conv", "op": "conv2d", "inputs": ["x"], "out_channels": 32, "kernel": [3, 3],
                    "weights": {"random": {"seed": 2}}}], "outputs": ["conv"]})");
  const auto run = [&](const std::string& fields) {
    const std::string mapping = folder.write("m.json", one_mapping(fields));
    return folder.run({"run", "--config", source_path("configs/wfold16x4.json"), "--layer", layer,
                       "--mapping", mapping, "--out", folder.path("given"), "--check", "on"});
  };
  const CommandResult parts = run(R"("channel_parts": 2, "blocks_per_load": 1)");
  EXPECT_EQ(parts.status, 0) << parts.err;
  const CommandResult larger = run(R"("channel_parts": 2, "blocks_per_load": 1, "tile_rows": 2)");
  EXPECT_EQ(larger.status, 2);
  EXPECT_THAT(larger.err, HasSubstr("parts of the channels are added up for 1 x"));
}

// One core has two tiles, the other one: they do not load the same kernels at a time.
TEST(MappingFile, HI_4_MA_1_cores_that_are_not_in_step_share_no_kernels) {
  const CommandFolder folder;
  const std::string config =
      folder.write("two.json", R"({"chip": {"cores_per_cluster": 2, "dram_path": "sram"}})");
  const std::string layer = folder.write(
      "conv.json",
      R"({"name": "conv", "inputs": [{"name": "x", "shape": [1, 3, 8, 16], "random": {"seed": 1}}],
        "layers": [{"name": "conv", "op": "conv2d", "inputs": ["x"], "out_channels": 64, "kernel": [1, 1],
                    "weights": {"random": {"seed": 2}}}], "outputs": ["conv"]})");
  for (const char* parts : {R"("kernel_buffers": 2)", R"("kernel_buffers": 2, "channel_parts": 3)"}) {
    const std::string mapping = folder.write(
        "m.json", one_mapping(std::string(R"("row_parts": 2, "column_parts": 1, "kernel_parts": 1, )"
                                          R"("tile_rows": 1, "tile_columns": 8, "blocks_per_load": 1, )"
                                          R"("order": "kernel_outer", )") +
                              parts));
    const CommandResult run = folder.run({"run", "--config", config, "--layer", layer, "--mapping", mapping,
                                          "--check", "on", "--out", folder.path("out")});
    EXPECT_EQ(run.status, 0) << run.err;
  }
}

// Images have kernels of their own, or share them: three on two cores.
TEST(MappingFile, MA_1_OP_1_images_are_split_over_cores) {
  const CommandFolder folder;
  const std::string inputs = R"("inputs": [{"name": "x", "shape": [3, 4, 8, 16], "random": {"seed": 1}},
                                           {"name": "y", "shape": [3, 1, 16, 24], "random": {"seed": 2}}])";
  const std::string convolution = folder.write(
      "conv.json", "{" + inputs + R"(, "layers": [{"name": "conv", "op": "conv2d", "inputs": ["x"],
          "out_channels": 20, "kernel": [1, 1], "weights": {"random": {"seed": 2}}}]})");
  const std::string product =
      folder.write("product.json",
                   "{" + inputs + R"(, "layers": [{"name": "conv", "op": "matmul", "inputs": ["x", "y"]}]})");
  for (const std::string& layer : {convolution, product}) {
    for (const char* kernels : {"direct", "sram"}) {
      const std::string mapping = folder.write(
          "m.json",
          one_mapping(std::string(R"("image_parts": 2, "row_parts": 2, "kernels": ")") + kernels + "\""));
      const CommandResult run =
          folder.run({"run", "--config", source_path("configs/cluster4.json"), "--layer", layer, "--mapping",
                      mapping, "--check", "on", "--out", folder.path("out")});
      EXPECT_EQ(run.status, 0) << run.err;
    }
    const CommandResult more =
        folder.run({"run", "--config", source_path("configs/cluster4.json"), "--layer", layer, "--mapping",
                    folder.write("more.json", one_mapping(R"("image_parts": 4)"))});
    EXPECT_EQ(more.status, 2);
    EXPECT_THAT(more.err, HasSubstr("mapping: image_parts 4 is more than 3"));
    EXPECT_EQ(more.err.rfind("tilebeat: " + folder.path("more.json") + ": /layers/0: ", 0), 0U) << more.err;
  }
}

}  // namespace
}  // namespace tilebeat::testing
