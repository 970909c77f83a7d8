// `tilebeat run` as a user meets it: exit status, files, messages (SPEC UI-1, UI-3, UI-5).
#include "report_schema.h"
#include "tilebeat_command.h"
#include "timeline_reader.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using ::testing::TestWithParam;

constexpr const char* kRunConfig = "configs/switch16.json";
constexpr const char* kRunLayer = "models/worked_dilated.json";

std::set<std::string> names_of(const std::map<std::string, std::string>& files) {
  std::set<std::string> names;
  for (const auto& [name, bytes] : files) names.insert(name);
  return names;
}

std::vector<std::string> run_arguments() {
  return {"run", "--config", source_path(kRunConfig), "--layer", source_path(kRunLayer)};
}

TEST(RunCommand, UI_1_UI_3_writes_report_and_outputs) {
  const CommandFolder folder;
  const CommandResult result = folder.run_layer(kRunConfig, kRunLayer);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(names_of(folder.files()),
            (std::set<std::string>{"tilebeat-out/", "tilebeat-out/report.json", "tilebeat-out/outputs/",
                                   "tilebeat-out/outputs/conv1.npy", "tilebeat-out/outputs/.report.json"}));
  EXPECT_NE(result.out.find("conv1"), std::string::npos) << "a table on the terminal: " << result.out;
  const nlohmann::json report = folder.report();
  EXPECT_EQ(report.at("layers").at(0).at("beats"), 36) << "SPEC SW-3";
  EXPECT_EQ(report.at("layers").at(0).at("check"), "passed");
  EXPECT_TRUE(report.at("passed").get<bool>());
}

TEST(RunCommand, UI_1_writes_where_it_is_told_and_nowhere_else) {
  const CommandFolder folder;
  const CommandResult result =
      folder.run_layer(kRunConfig, kRunLayer, {"--out", "a/b", "--vcd", "w.vcd", "--timeline", "t.json"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(
      names_of(folder.files()),
      (std::set<std::string>{"a/", "a/b/", "a/b/report.json", "a/b/outputs/", "a/b/outputs/.report.json",
                             "a/b/outputs/conv1.npy", "w.vcd", "w.gtkw", "t.json"}));
}

TEST(RunCommand, UI_5_a_later_run_replaces_the_outputs_and_keeps_other_files) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kRunConfig, "models/small_chain.json").status, 0);
  std::ofstream(folder.path("tilebeat-out/notes.txt")) << "mine";
  ASSERT_EQ(folder.run_layer(kRunConfig, kRunLayer).status, 0);
  EXPECT_EQ(names_of(folder.files("tilebeat-out")),
            (std::set<std::string>{"notes.txt", "report.json", "outputs/", "outputs/conv1.npy",
                                   "outputs/.report.json"}));
}

TEST(RunCommand, UI_4_the_report_passes_its_schema) {
  const CommandFolder folder;
  const CommandResult schema = folder.run({"schema", "report"});
  ASSERT_EQ(schema.status, 0) << schema.err;
  const nlohmann::json schema_json = nlohmann::json::parse(schema.out);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--fault", "0:0:1"}, {"--check", "off"}}) {
    folder.run_layer(kRunConfig, "models/worked_scenes.json", more);
    EXPECT_EQ(schema_violations(schema_json, folder.report()), std::vector<std::string>{});
  }
  nlohmann::json broken = folder.report();
  broken["total"]["cycles"] = "many";
  EXPECT_FALSE(schema_violations(schema_json, broken).empty()) << "the schema refuses what is no report";
}

TEST(RunCommand, UI_4_cycles_and_stalls_add_up) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kRunConfig, "models/small_chain.json").status, 0);
  const nlohmann::json report = folder.report();
  const auto stalls_of = [](const nlohmann::json& owner) {
    std::int64_t sum = 0;
    for (const auto& [cause, count] : owner.at("stall_cycles").items()) sum += count.get<std::int64_t>();
    return sum;
  };
  std::int64_t cycles = 0, macs = 0, read = 0;
  for (const auto& layer : report.at("layers")) {
    cycles += layer.at("cycles").get<std::int64_t>();
    macs += layer.at("macs").get<std::int64_t>();
    read += layer.at("bytes").at("dram").at("read").get<std::int64_t>();
    EXPECT_EQ(layer.at("cycles"), layer.at("beats").get<std::int64_t>() + stalls_of(layer))
        << layer.at("name");
    EXPECT_GE(layer.at("cycles").get<std::int64_t>(),
              layer.at("bound_cycles").at("compute").get<std::int64_t>());
    EXPECT_GE(layer.at("cycles").get<std::int64_t>(),
              layer.at("bound_cycles").at("dram").get<std::int64_t>());
    EXPECT_EQ(layer.at("bound_cycles").at("beats"), layer.at("beats")) << "of one engine";
  }
  const auto& total = report.at("total");
  EXPECT_EQ(total.at("cycles"), cycles) << "the layers' cycles sum to the total";
  EXPECT_EQ(total.at("macs"), macs);
  EXPECT_EQ(total.at("dram_read_bytes"), read);
  EXPECT_EQ(total.at("dram_read_bytes"), total.at("bytes").at("dram").at("read"));
  EXPECT_EQ(total.at("dram_write_bytes"), total.at("bytes").at("dram").at("write"));
  EXPECT_DOUBLE_EQ(total.at("utilization").get<double>(),
                   static_cast<double>(macs) / (static_cast<double>(cycles) * 16 * 16 * 4));
  for (const auto& module : report.at("modules")) {
    EXPECT_EQ(module.at("cycles"), module.at("busy").get<std::int64_t>() + stalls_of(module))
        << module.at("name");
  }
}

// A kernel of a depthwise layer has one channel: 16 of them in a block of 16 channels, of which a beat
// takes 4. SW-3: (256 pixels / 16) x (64 kernels / 16) x 4 x 9 taps = 2304 beats, where 144 would do for the
// products.
TEST(RunCommand, UI_4_SW_3_the_bound_by_beats_is_that_of_all_engines) {
  const CommandFolder folder;
  const std::string layer = folder.write("depthwise.json", R"({
    "inputs": [{"name": "x", "shape": [1, 16, 16, 64], "dtype": "int8", "random": {"seed": 1}}],
    "layers": [{"name": "conv", "op": "conv2d", "inputs": ["x"], "out_channels": 64, "groups": 64,
                "kernel": [3, 3], "pads": [1, 1, 1, 1], "weights": {"random": {"seed": 2}},
                "requant": {"scale": 0.01, "zero_point": 0, "dtype": "int8"}}],
    "outputs": ["conv"]})");
  for (const auto& [config, engines] : {std::pair{kRunConfig, 1}, {"configs/cluster4.json", 4}}) {
    const CommandResult result = folder.run({"run", "--config", source_path(config), "--layer", layer});
    ASSERT_EQ(result.status, 0) << result.err;
    const nlohmann::json ran = folder.report().at("layers").at(0);
    EXPECT_EQ(ran.at("beats"), 2304);
    EXPECT_EQ(ran.at("bound_cycles").at("beats"), 2304 / engines);
    EXPECT_EQ(ran.at("bound_cycles").at("compute"), 144 / engines) << "147456 products, 1024 an engine";
    if (engines == 1) {
      EXPECT_NE(result.out.find("2,304 beat"), std::string::npos) << result.out;
    }
  }
}

// More kernels, and more channels in a group, than a field of 16 bits counts.
TEST(RunCommand, SW_7_SW_8_wide_layers_with_groups_run) {
  const CommandFolder folder;
  for (const char* layer : {R"("shape": [1, 1, 2, 70000], "random": {"seed": 1}}],
           "layers": [{"name": "conv", "op": "conv2d", "inputs": ["x"], "out_channels": 70000, "groups": 70000)",
                            R"("shape": [1, 1, 2, 140000], "random": {"seed": 1}}],
           "layers": [{"name": "conv", "op": "conv2d", "inputs": ["x"], "out_channels": 16, "groups": 2)"}) {
    const std::string file = folder.write(
        "wide.json", std::string(R"({"inputs": [{"name": "x", )") + layer +
                         R"(, "kernel": [1, 1], "weights": {"random": {"seed": 2}}}], "outputs": ["conv"]})");
    const CommandResult result =
        folder.run({"run", "--config", source_path(kRunConfig), "--layer", file, "--check", "on"});
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(folder.report().at("layers").at(0).at("check"), "passed");
  }
}

TEST(RunCommand, UI_3_the_timeline_shows_loads_and_computation_at_the_same_time) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kRunConfig, "models/resnet50_3x3_s2.json", {"--timeline", "t.json"}).status, 0);
  const ReadTimeline timeline = read_timeline(read_bytes(folder.path("t.json")));
  int overlaps = 0;
  for (const TimelineSlice& load : timeline.tracks.at("soc/dma_load")) {
    for (const TimelineSlice& run : timeline.tracks.at("soc/engine.switch"))
      overlaps += load.begin < run.end && run.begin < load.end ? 1 : 0;
  }
  EXPECT_GT(overlaps, 0) << "the next tile is loaded while this one is computed";
}

struct RunRefusal {
  const char* name;
  std::vector<std::string> arguments;
  const char* message;  ///< part of the one line that is printed
};
void PrintTo(const RunRefusal& refusal, std::ostream* out) {
  *out << refusal.name;
}
class RefusedCommand : public TestWithParam<RunRefusal> {};

TEST_P(RefusedCommand, UI_5_exit_2_one_line_and_nothing_written) {
  const CommandFolder folder;
  folder.write("truncated.json", R"({"name": "t", )");
  folder.write("taken", "a file");
  const auto before = folder.files();
  const CommandResult result = folder.run(GetParam().arguments);
  EXPECT_EQ(result.status, 2) << result.out << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << "one line: " << result.err;
  EXPECT_NE(result.err.find(GetParam().message), std::string::npos) << result.err;
  EXPECT_EQ(folder.files(), before) << "nothing is written";
}

std::vector<std::string> with(std::vector<std::string> more) {
  std::vector<std::string> arguments = run_arguments();
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

INSTANTIATE_TEST_SUITE_P(
    Command, RefusedCommand,
    ::testing::Values(
        RunRefusal{"no_command", {}, "subcommand"},
        RunRefusal{"unknown_command", {"walk"}, "'walk' is no subcommand"},
        RunRefusal{"misspelt_command", {"rnu"}, "the nearest one is run"},
        RunRefusal{
            "misspelt_option",
            {"run", "--confg", "x.json"},
            "--confg is no option of tilebeat run, the nearest one is --config ('tilebeat run --help'"},
        RunRefusal{"option_of_a_group", with({"--laier=x.json"}), "the nearest one is --layer"},
        RunRefusal{"workload_as_hardware",
                   {"run", "--config", source_path(kRunLayer), "--layer", source_path(kRunLayer)},
                   "is a workload, a hardware file is expected here; it is the value of --layer"},
        RunRefusal{"hardware_as_workload",
                   {"run", "--config", source_path("configs/core1.json"), "--layer",
                    source_path("configs/core1.json")},
                   "is a hardware file, a workload is expected here; it is the value of --config"},
        RunRefusal{"no_files", {"run"}, "--config"},
        RunRefusal{"unknown_option", with({"--speed", "9"}), "--speed"},
        RunRefusal{"granularity", with({"--granularity", "beat"}), "beat"},
        RunRefusal{"tile_and_vcd", with({"--granularity", "tile", "--vcd", "w.vcd"}), "--vcd"},
        RunRefusal{"check", with({"--check", "maybe"}), "maybe"},
        RunRefusal{"fault_bank", with({"--fault", "16:0:1"}), "bank 0 to 15"},
        RunRefusal{"fault_text", with({"--fault", "one"}), "BANK:BYTE:MASK"},
        RunRefusal{"fault_mask", with({"--fault", "0:0:0"}), "mask 1 to 255"},
        RunRefusal{"fault_place_of_a_board", with({"--fault", "nram:0:0:1"}),
                   "in front of BANK:BYTE:MASK engine, pe, dram"},
        RunRefusal{"fault_core",
                   {"run", "--config", source_path("configs/cluster4.json"), "--layer",
                    source_path(kRunLayer), "--fault", "cluster0.core4.nram:0:0:1"},
                   "clusterK.coreI.engine, .nram, .wram or .pe, clusterK.sram, K 0 to 0, I 0 to 3"},
        RunRefusal{"fault_core_of_a_cluster",
                   {"run", "--config", source_path("configs/cluster4.json"), "--layer",
                    source_path(kRunLayer), "--fault", "core1.sram:0:0:1"},
                   "clusterK.sram"},
        RunRefusal{"fault_byte_of_a_memory",
                   {"run", "--config", source_path("configs/cluster4.json"), "--layer",
                    source_path(kRunLayer), "--fault", "core1.wram:0:65536:1"},
                   "bank 0 to 15, byte 0 to 65535, mask 1 to 255"},
        RunRefusal{"vcd_from_negative", with({"--vcd", "w.vcd", "--vcd-from", "-1"}),
                   "--vcd-from: Value -1 not in range 0 to 1000000000000 "},
        RunRefusal{"vcd_from_text", with({"--vcd", "w.vcd", "--vcd-from", "abc"}),
                   "--vcd-from: Value abc not in range 0 to 1000000000000 "},
        RunRefusal{"vcd_to_beyond_time", with({"--vcd", "w.vcd", "--vcd-to", "1000000000001"}), "--vcd-to"},
        RunRefusal{"vcd_window_backwards", with({"--vcd", "w.vcd", "--vcd-from", "100", "--vcd-to", "50"}),
                   "--vcd-to 50: more than --vcd-from (100)"},
        RunRefusal{"vcd_signals_of_nothing", with({"--vcd", "w.vcd", "--vcd-signals", "sw1", "nothing*"}),
                   "nothing*"},
        RunRefusal{"vcd_from_alone", with({"--vcd-from", "1"}), "--vcd-from requires --vcd"},
        RunRefusal{"vcd_to_alone", with({"--vcd-to", "1"}), "--vcd-to requires --vcd"},
        RunRefusal{"vcd_signals_alone", with({"--vcd-signals", "sw1"}), "--vcd-signals requires --vcd"},
        RunRefusal{"vcd_max_mb_alone", with({"--vcd-max-mb", "1"}), "--vcd-max-mb requires --vcd"},
        RunRefusal{"vcd_accumulators_of_an_engine_without",
                   {"run", "--config", source_path("configs/wfold16x4.json"), "--layer",
                    source_path(kRunLayer), "--vcd", "w.vcd", "--vcd-accumulators"},
                   "--vcd-accumulators: the PEs of"},
        RunRefusal{"vcd_accumulators_alone", with({"--vcd-accumulators"}),
                   "--vcd-accumulators requires --vcd"},
        RunRefusal{"missing_config",
                   {"run", "--config", "none.json", "--layer", source_path(kRunLayer)},
                   "none.json"},
        RunRefusal{"missing_layer",
                   {"run", "--config", source_path(kRunConfig), "--layer", "none.json"},
                   "none.json"},
        RunRefusal{"truncated_layer",
                   {"run", "--config", source_path(kRunConfig), "--layer", "truncated.json"},
                   "truncated.json"},
        RunRefusal{"layer_as_config",
                   {"run", "--config", source_path(kRunLayer), "--layer", source_path(kRunLayer)},
                   kRunLayer},
        RunRefusal{"out_is_a_file", with({"--out", "taken"}), "taken"},
        RunRefusal{"out_below_a_file", with({"--out", "taken/o"}), "taken/o"},
        RunRefusal{"out_not_writable", with({"--out", "/proc/o"}), "/proc/o"},
        RunRefusal{"vcd_folder_missing", with({"--vcd", "none/w.vcd"}), "none/w.vcd"},
        RunRefusal{"timeline_folder_missing", with({"--timeline", "none/t.json"}), "none/t.json"},
        RunRefusal{"timeline_is_a_folder", with({"--timeline", "/tmp"}), "/tmp"},
        RunRefusal{
            "compare_no_report", {"compare", source_path(kRunConfig), source_path(kRunConfig)}, "report"},
        RunRefusal{"schema_kind", {"schema", "software"}, "software"}),
    [](const auto& test) { return test.param.name; });

TEST(RunCommand, UI_5_a_layer_that_cannot_fit_is_exit_2) {
  const CommandFolder folder;
  const std::string config = folder.write("small.json", R"({"switch_array": {"parameter_depth_words": 16}})");
  const CommandResult result =
      folder.run({"run", "--config", config, "--layer", source_path("models/resnet50_conv1.json")});
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_NE(result.err.find(source_path("models/resnet50_conv1.json") + ": /layers/0: layer 'conv'"),
            std::string::npos)
      << "file, path and layer are named: " << result.err;
  EXPECT_NE(result.err.find("parameter_depth_words"), std::string::npos)
      << "what is too small is named: " << result.err;
  EXPECT_EQ(names_of(folder.files()), std::set<std::string>{"small.json"});
}

TEST(RunCommand, UI_2_a_layer_that_cannot_fit_is_found_in_its_file) {
  const CommandFolder folder;
  nlohmann::json model =
      nlohmann::json::parse(read_bytes(source_path("models/small_chain.json")), nullptr, true, true);
  nlohmann::json& layers = model.at("layers");
  std::reverse(layers.begin(), layers.end());  // read in another order than they are computed
  nlohmann::json large = layers.back();
  large["name"] = "large", large["pads"] = {40, 40, 40, 40}, large["kernel"] = {60, 60};
  layers.insert(layers.begin() + 1, large);
  const std::string file = folder.write("chain.json", model.dump());
  const std::string config = folder.write("small.json", R"({"switch_array": {"parameter_depth_words": 64}})");
  for (const char* command : {"run", "plan"}) {
    const CommandResult result = folder.run({command, "--config", config, "--layer", file});
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_NE(result.err.find("chain.json: /layers/1: layer 'large' cannot fit"), std::string::npos)
        << result.err;
  }
  const std::string tiny = folder.write("tiny.json", R"({"dram": {"size_bytes": 1048576}})");
  const CommandResult result =
      folder.run({"plan", "--config", tiny, "--layer", source_path("models/vgg16_conv3_2.json")});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("vgg16_conv3_2.json: /: workload"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("dram.size_bytes"), std::string::npos) << result.err;
}

TEST(RunCommand, UI_5_output_that_cannot_be_printed_is_no_success) {
  const CommandFolder folder;
  CommandSetting full;
  full.out = "/dev/full";
  std::vector<std::vector<std::string>> commands{
      run_arguments(), run_arguments(), {"schema", "hardware"}, {"--help"}};
  commands[1][0] = "plan";
  for (const auto& arguments : commands) {
    const CommandResult result = folder.run(arguments, full);
    EXPECT_EQ(result.status, 1) << arguments[0];
    EXPECT_NE(result.err.find("No space left"), std::string::npos) << arguments[0] << ": " << result.err;
  }
}

TEST(RunCommand, UI_5_a_wrong_expected_tensor_is_exit_1_and_everything_is_written) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kRunConfig, kRunLayer).status, 0);
  nlohmann::json model = nlohmann::json::parse(read_bytes(source_path(kRunLayer)), nullptr, true, true);
  model["expected"] = {{"conv1", "wanted.npy"}};
  const std::string file = folder.write("expected.json", model.dump());
  std::string wanted = read_bytes(folder.path("tilebeat-out/outputs/conv1.npy"));
  folder.write("wanted.npy", wanted);
  EXPECT_EQ(folder.run({"run", "--config", source_path(kRunConfig), "--layer", file}).status, 0)
      << "the right tensor passes";
  wanted.back() = static_cast<char>(wanted.back() ^ 1);
  folder.write("wanted.npy", wanted);
  const CommandResult result = folder.run(
      {"run", "--config", source_path(kRunConfig), "--layer", file, "--out", "failed", "--vcd", "w.vcd"});
  EXPECT_EQ(result.status, 1) << result.err;
  EXPECT_EQ(names_of(folder.files("failed")),
            (std::set<std::string>{"report.json", "outputs/", "outputs/conv1.npy", "outputs/.report.json"}));
  EXPECT_TRUE(folder.files().count("w.vcd")) << "the trace is written as well";
  const nlohmann::json report = folder.report("failed");
  EXPECT_FALSE(report.at("passed").get<bool>());
  EXPECT_EQ(report.at("layers").at(0).at("check"), "failed");
  const auto& difference = report.at("differences").at(0);
  EXPECT_EQ(difference.at("layer"), "conv1");
  EXPECT_EQ(difference.at("against"), "expected");
  EXPECT_EQ(difference.at("index"), (std::vector<int>{0, 3, 9, 15})) << "the last element";
  EXPECT_EQ(difference.at("got").get<int>() ^ 1, difference.at("wanted").get<int>());
}

// What is kept of a layer, and the search for places in DRAM, once grew with all layers before it.
TEST(RunCommand, UI_5_thousands_of_layers_take_their_share_of_memory) {
  const CommandFolder folder;
  nlohmann::json workload{{"name", "chain"}, {"outputs", {"l16383"}}, {"layers", nlohmann::json::array()}};
  workload["inputs"] = {{{"name", "x"}, {"shape", {1, 1, 1, 4}}, {"random", {{"seed", 1}}}}};
  for (int i = 0; i < 16384; ++i) {
    workload["layers"].push_back({{"name", fmt::format("l{}", i)},
                                  {"op", "relu"},
                                  {"inputs", {i == 0 ? "x" : fmt::format("l{}", i - 1)}}});
  }
  CommandSetting setting;
  setting.max_memory_bytes = rlim_t{1} << 30;
  const CommandResult result = folder.run({"run", "--config", source_path("configs/core1.json"), "--layer",
                                           folder.write("w.json", workload.dump())},
                                          setting);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(folder.report().at("layers").size(), 16384U);
}

TEST(RunCommand, UI_1_help_everywhere_with_examples) {
  const CommandFolder folder;
  for (const std::vector<std::string>& command : {std::vector<std::string>{"--help"},
                                                  {"run", "--help"},
                                                  {"plan", "--help"},
                                                  {"schema", "--help"},
                                                  {"compare", "--help"},
                                                  {"sweep", "--help"}}) {
    const CommandResult result = folder.run(command);
    EXPECT_EQ(result.status, 0);
    const std::string example = "tilebeat " + (command.size() == 2 ? command[0] : "COMMAND") + " ";
    EXPECT_NE(result.out.find(example), std::string::npos) << "an example or how to get one: " << result.out;
  }
}

}  // namespace
}  // namespace tilebeat::testing
