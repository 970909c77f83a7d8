// Figures 10a to 10d of document 003 read back from the waveform of a whole run, and models on the W-fold
// core of configs/wfold16x4.json (SPEC WF-4, WF-8, CY-3, CY-4, NU-5, UI-2).
#include "engines/wfold/config.h"
#include "tilebeat_command.h"
#include "vcd_reader.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kWfoldPeriod = 1000;  // ps, of configs/wfold16x4.json
constexpr const char* kWfoldConfig = "configs/wfold16x4.json";

/// A folder with the layer of example 1: Ci 16, Co 64, kernel 3x3, 16 columns of outputs in one row.
class Example1 {
 public:
  Example1() {
    folder.write("example1.json", R"({
      "name": "example1",
      "inputs": [{"name": "x", "shape": [1, 3, 18, 16], "dtype": "int8", "random": {"seed": 3}}],
      "layers": [{"name": "conv1", "op": "conv2d", "inputs": ["x"], "out_channels": 64, "kernel": [3, 3],
                  "weights": {"random": {"seed": 4}}}],
      "outputs": ["conv1"]})");
  }
  CommandResult run(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"run", "--config", source_path(kWfoldConfig), "--layer",
                                       "example1.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return folder.run(arguments);
  }
  CommandFolder folder;
};

TEST(WfoldWaveform, WF_4_WF_8_figures_10a_to_10d_beat_by_beat) {
  const Example1 example;
  const CommandResult result = example.run({"--vcd", "wave.vcd"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Vcd vcd(read_bytes(example.folder.path("wave.vcd")));
  const auto signal = [&](const std::string& name) -> const VcdSignal& {
    return vcd.signal("chip.cluster0.core0.engine.sl0." + name);
  };
  const std::int64_t start = signal("kh").first_known();
  // All 36 beats, without a gap: kh, then kw, then the slave's 4 kernels; two sets of 4 lines of the second
  // buffer take turns.
  for (int beat = 0; beat < 36; ++beat) {
    const int kh = beat / 12, kw = beat / 4 % 3, k = beat % 4, step = beat / 4;
    const std::int64_t time = start + beat * kWfoldPeriod;
    EXPECT_EQ(signal("kh").at(time), static_cast<std::uint64_t>(kh)) << "beat " << beat;
    EXPECT_EQ(signal("kw").at(time), static_cast<std::uint64_t>(kw)) << "beat " << beat;
    EXPECT_EQ(signal("k").at(time), static_cast<std::uint64_t>(k)) << "beat " << beat;
    EXPECT_EQ(signal("block").at(time), 0U) << "beat " << beat;
    EXPECT_EQ(signal("second_slot").at(time), static_cast<std::uint64_t>(step % 2 * 4 + k))
        << "beat " << beat << ": rows 0-3 and 4-7 in turn";
    for (int unit = 0; unit < 4; ++unit) {
      EXPECT_EQ(signal(fmt::format("cu{}_w", unit)).at(time), static_cast<std::uint64_t>(kw + 4 * unit))
          << "beat " << beat << ", unit " << unit;
    }
  }
}

TEST(WfoldWaveform, UI_3_all_slaves_show_the_same_and_the_run_is_the_same_without) {
  const Example1 traced, plain;
  ASSERT_EQ(traced.run({"--vcd", "wave.vcd"}).status, 0);
  ASSERT_EQ(plain.run({"--granularity", "tile"}).status, 0);
  EXPECT_EQ(traced.folder.files("tilebeat-out"), plain.folder.files("tilebeat-out"));
  EXPECT_EQ(plain.folder.report().at("layers").at(0).at("beats"), 36);
  const Vcd vcd(read_bytes(traced.folder.path("wave.vcd")));
  for (const char* name : {"kh", "kw", "k", "second_slot", "cu3_w"}) {
    const auto& first = vcd.signal(fmt::format("chip.cluster0.core0.engine.sl0.{}", name)).changes;
    for (const int slave : {1, 7, 15}) {
      EXPECT_EQ(vcd.signal(fmt::format("chip.cluster0.core0.engine.sl{}.{}", slave, name)).changes, first)
          << "slaves work in lockstep: " << slave << " " << name;
    }
  }
}

TEST(WfoldWaveform, UI_12_WF_7_figure_11_of_document_003_from_the_waveform) {
  const Example1 example;
  const CommandResult result = example.run({"--vcd", "wave.vcd", "--vcd-signals", "*"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Vcd vcd(read_bytes(example.folder.path("wave.vcd")));
  const auto signal = [&](const std::string& name) -> const VcdSignal& {
    return vcd.signal("chip.cluster0.core0.engine." + name);
  };
  constexpr int kColumnsOut = 16, kChannelsOut = 64, kSlavesOfCore = 16;
  const std::string file = read_bytes(example.folder.path("tilebeat-out/outputs/conv1.npy"));
  const std::string tensor = file.substr(file.size() - kColumnsOut * kChannelsOut * 4);  // [w][co]
  const auto output = [&](int w, int co) {
    return std::vector<std::uint8_t>(tensor.begin() + 4 * (w * kChannelsOut + co),
                                     tensor.begin() + 4 * (w * kChannelsOut + co + 1));
  };
  // Left: the units of a slave write the outputs of one kernel after the other, in the order of w.
  const std::int64_t last = signal("sl0.kh").first_known() + 35 * kWfoldPeriod, drained = last + kWfoldPeriod;
  for (int k = 0; k < 4; ++k)
    EXPECT_EQ(signal("sl0.third.write_k").at(last + (k - 3) * kWfoldPeriod), static_cast<std::uint64_t>(k));
  for (int slave = 0; slave < kSlavesOfCore; ++slave) {
    for (int k = 0; k < 4; ++k) {
      std::vector<std::uint8_t> line;
      for (int w = 0; w < kColumnsOut; ++w) {
        const std::vector<std::uint8_t> one = output(w, slave + kSlavesOfCore * k);
        line.insert(line.end(), one.begin(), one.end());
      }
      EXPECT_EQ(signal(fmt::format("sl{}.third.h0_k{}", slave, k)).bytes_at(drained, 4 * kColumnsOut), line)
          << "slave " << slave << ", co " << slave + kSlavesOfCore * k;
    }
  }
  for (int w = 0; w < kColumnsOut; ++w) {
    std::int32_t sum = 0;
    std::memcpy(&sum, output(w, 48).data(), sizeof sum);
    EXPECT_EQ(signal(fmt::format("sl0.cu{}.sum{}", w / 4, w % 4)).at(drained),
              static_cast<std::uint32_t>(sum))
        << "the last beat's partial sums are the results of co 48";
  }
  // Right: they are read in the order of co, slave by slave, then in that of w.
  constexpr int kOutputs = 64 / 8;  // of a unit: bytes of a line by the smallest channel granularity
  for (const char* results : {"out", "sum"}) {
    const std::string prefix = fmt::format("chip.cluster0.core0.engine.sl0.cu0.{}", results);
    const std::set<std::string> paths = vcd.paths();
    EXPECT_EQ(std::count_if(paths.begin(), paths.end(),
                            [&](const std::string& path) { return path.rfind(prefix, 0) == 0; }),
              kOutputs)
        << results;
  }
  int read = 0;
  for (std::int64_t at = drained; at < vcd.last_time(); at += kWfoldPeriod) {
    if (signal("writer.drain").at(at) != 1U) continue;
    const auto w = static_cast<std::uint64_t>(read / 4), k = static_cast<std::uint64_t>(read % 4);
    EXPECT_EQ(signal("writer.column").at(at), w) << read;
    EXPECT_EQ(signal("writer.channel").at(at), kSlavesOfCore * k) << read;
    for (int slave = 0; slave < kSlavesOfCore; ++slave) {
      EXPECT_EQ(signal(fmt::format("sl{}.third.read", slave)).at(at), 1U) << read;
      EXPECT_EQ(signal(fmt::format("sl{}.third.read_k", slave)).at(at), k) << read;
      EXPECT_EQ(signal(fmt::format("sl{}.third.read_w", slave)).at(at), w) << read;
    }
    ++read;
  }
  EXPECT_EQ(read, kColumnsOut * 4);
  // So the write port stores [w][co], without a step that puts channels together.
  std::map<std::uint64_t, std::uint8_t> stored;
  for (std::int64_t at = drained; at < vcd.last_time(); at += kWfoldPeriod) {
    if (signal("writer.write").at(at) != 1U) continue;
    const std::uint64_t address = signal("writer.write_addr").at(at).value();
    const auto bytes = static_cast<int>(signal("writer.write_bytes").at(at).value());
    const std::vector<std::uint8_t> data = signal("writer.write_data").bytes_at(at, bytes);
    for (std::size_t i = 0; i < data.size(); ++i) stored[address + i] = data[i];
  }
  ASSERT_EQ(stored.size(), tensor.size());
  EXPECT_EQ(stored.rbegin()->first - stored.begin()->first + 1, tensor.size()) << "without gaps";
  std::string bytes;
  for (const auto& [address, byte] : stored) bytes += static_cast<char>(byte);
  EXPECT_TRUE(bytes == tensor);
}

TEST(WfoldWaveform, UI_3_results_alone_are_those_of_the_whole_waveform) {
  const Example1 example;
  ASSERT_EQ(example.run({"--vcd", "all.vcd", "--vcd-signals", "*"}).status, 0);
  const Vcd all(read_bytes(example.folder.path("all.vcd")));
  for (const char* pattern : {"sl0.cu0.sum*", "sl0.cu0.out*", "sl0.third.h0_k*"}) {
    ASSERT_EQ(example.run({"--vcd", "some.vcd", "--vcd-signals", std::string("*") + pattern}).status, 0);
    const Vcd some(read_bytes(example.folder.path("some.vcd")));
    std::size_t changes = 0;
    for (const std::string& path : some.paths()) {
      EXPECT_EQ(some.signal(path).changes, all.signal(path).changes) << path;
      changes += path == "chip.clk" ? 0 : some.signal(path).changes.size();
    }
    EXPECT_GT(changes, 8U) << pattern;
  }
}

// One channel has 8 columns a line and so 24 a tile, five have 4 and 12: places 12 to 23 were the first
// layer's.
TEST(WfoldWaveform, UI_3_places_behind_the_last_column_of_a_tile_are_zero_with_kernels_in_the_first_buffers) {
  const CommandFolder folder;
  folder.write("hw.json", R"({
    "name": "first", "clock_mhz": 1000, "dataflow": "wfold",
    "wfold": {"slaves": 2, "compute_units": 3, "line_bytes": 32, "first_buffer": "kernels", "smallest_pci": 4,
              "tolerance_bytes": 4,
              "weight_port_bytes": 16, "first_buffer_lines": 7, "second_buffer_lines": 7},
    "chip": {"clusters": 1, "cores_per_cluster": 1,
             "core": {"wram": {"size_bytes": 2048, "banks": 2, "bank_bytes": 16}}}})");
  folder.write("layer.json", R"({
    "name": "two", "inputs": [{"name": "x", "shape": [1, 1, 24, 1], "dtype": "int8", "random": {"seed": 1}}],
    "layers": [
      {"name": "conv", "op": "conv2d", "inputs": ["x"], "out_channels": 5, "kernel": [1, 1],
       "weights": {"random": {"seed": 2}},
       "requant": {"input_scale": 0.5, "weight_scale": 1.0, "output_scale": 1.0}},
      {"name": "conv2", "op": "conv2d", "inputs": ["conv"], "out_channels": 1, "kernel": [1, 1],
       "weights": {"random": {"seed": 4}}}],
    "outputs": ["conv2"]})");
  const CommandResult run = folder.run(
      {"run", "--config", "hw.json", "--layer", "layer.json", "--vcd", "wave.vcd", "--vcd-signals", "*"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Vcd vcd(read_bytes(folder.path("wave.vcd")));
  const VcdSignal& results = vcd.signal("chip.cluster0.core0.engine.sl0.third.h0_k0");
  const auto behind = [&](std::int64_t at) {
    const std::vector<std::uint8_t> bytes = results.bytes_at(at, 24 * 4);
    return std::any_of(bytes.begin() + 12 * 4, bytes.end(), [](std::uint8_t byte) { return byte != 0; });
  };
  std::int64_t first = 0, last = 0;
  for (std::int64_t at = 0; at < vcd.last_time(); at += kWfoldPeriod)
    if (behind(at)) first = first == 0 ? at : first, last = at;
  const std::string third = "chip.cluster0.core0.engine.sl0.third.";
  const VcdSignal &write = vcd.signal(third + "write"), &half = vcd.signal(third + "write_half");
  std::vector<std::int64_t> writes;  // of half 0
  for (std::int64_t at = 0; at < vcd.last_time(); at += kWfoldPeriod)
    if (write.at(at) == 1U && half.at(at) == 0U) writes.push_back(at);
  EXPECT_GT(first, 0) << "the first layer has results there";
  const auto next = std::upper_bound(writes.begin(), writes.end(), first + 2 * kWfoldPeriod);
  ASSERT_NE(next, writes.end());
  EXPECT_EQ(last, *next) << "until the second layer writes there";
}

TEST(WfoldWaveform, UI_12_WF_2_lines_are_broadcast_at_full_width) {
  const Example1 example;
  ASSERT_EQ(example.run({"--vcd", "wave.vcd", "--vcd-signals", "*"}).status, 0);
  const Vcd vcd(read_bytes(example.folder.path("wave.vcd")));
  const auto signal = [&](const std::string& name) -> const VcdSignal& {
    return vcd.signal("chip.cluster0.core0.engine." + name);
  };
  // The lines of a kernel row are the bytes of NRAM's requests, four pixels of 16 channels each.
  constexpr int kLineBytes = 64;
  std::vector<std::vector<std::uint8_t>> lines;
  for (std::int64_t at = 0; at < vcd.last_time(); at += kWfoldPeriod) {
    if (signal("master.broadcast").at(at) != 1U) continue;
    EXPECT_EQ(signal("master.line_slot").at(at), lines.size() % 8) << "a circular buffer of eight lines";
    EXPECT_EQ(signal("master.transit.valid").at(at), 1U);
    lines.push_back(signal("master.line").bytes_at(at, kLineBytes));
  }
  ASSERT_EQ(lines.size(), 15U) << "five lines for each of three rows";
  // The units take four of them, as bytes that are signed and have no zero point.
  const std::int64_t first = signal("sl0.kh").first_known();
  for (int unit = 0; unit < 4; ++unit) {
    for (int lane = 0; lane < kLineBytes; ++lane) {
      const auto value =
          static_cast<std::uint8_t>(signal(fmt::format("sl0.cu{}.x{}", unit, lane)).at(first).value());
      EXPECT_EQ(value, lines[static_cast<std::size_t>(unit)][static_cast<std::size_t>(lane)]);
    }
  }
}

// ---- models ----

class WfoldModel : public ::testing::TestWithParam<std::string> {};

TEST_P(WfoldModel, CY_3_NU_5_granularities_agree_and_the_check_passes) {
  std::map<std::string, std::map<std::string, std::string>> files;
  for (const std::string granularity : {"clock", "tile"}) {
    const CommandFolder folder;
    const CommandResult result = folder.run_layer(
        kWfoldConfig, GetParam(), {"--granularity", granularity, "--timeline", "t.json", "--check", "on"});
    ASSERT_EQ(result.status, 0) << granularity << ": " << result.err;
    const nlohmann::json report = folder.report();
    EXPECT_TRUE(report.at("passed"));
    for (const auto& layer : report.at("layers")) EXPECT_EQ(layer.at("check"), "passed") << layer.at("name");
    files[granularity] = folder.files("tilebeat-out");
    files[granularity]["timeline"] = read_bytes(folder.path("t.json"));
  }
  EXPECT_TRUE(files["clock"] == files["tile"]) << GetParam();
}
INSTANTIATE_TEST_SUITE_P(Models, WfoldModel,
                         ::testing::Values("models/alexnet_small.json", "models/small_chain.json",
                                           "models/worked_dense.json", "models/worked_dilated.json",
                                           "models/worked_scenes.json", "models/matting_block.json",
                                           "models/resnet50_3x3_s2.json", "models/resnet50_1x1.json",
                                           "models/alexnet_conv1.json", "models/mobilenet_depthwise.json",
                                           "models/resnet50_conv1.json"),
                         [](const auto& test) { return test_name(test.param); });

class BothGranularities : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Wfold, BothGranularities, ::testing::Values("clock", "tile"),
                         [](const auto& test) { return test.param; });

TEST_P(BothGranularities, CY_3_a_corrupted_byte_of_nram_fails_the_check) {
  const Example1 example;
  const CommandResult result = example.run({"--granularity", GetParam(), "--fault", "0:0:0x80"});
  EXPECT_EQ(result.status, 1) << result.out;
  EXPECT_THAT(result.out + result.err, HasSubstr("CHECK FAILED: layer 'conv1'"));
  EXPECT_FALSE(example.folder.report().at("passed"));
}

TEST_P(BothGranularities, CY_3_a_corrupted_byte_that_nothing_reads_does_not) {
  const Example1 example;
  // The last byte of a bank of 32 KiB: the map and the results do not get so far.
  const CommandResult result = example.run({"--granularity", GetParam(), "--fault", "15:32767:0x80"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
}

TEST_P(BothGranularities, CY_4_the_same_bytes_whatever_the_order) {
  for (const char* model : {"models/alexnet_small.json", "models/resnet50_3x3_s2.json"}) {
    const auto run = [&](std::vector<std::string> more) {
      const CommandFolder folder;
      more.insert(more.end(), {"--granularity", GetParam(), "--timeline", "t.json"});
      const CommandResult result = folder.run_layer(kWfoldConfig, model, more);
      EXPECT_EQ(result.status, 0) << result.err;
      return folder.files();
    };
    const auto plain = run({});
    EXPECT_TRUE(run({}) == plain) << "second run";
    for (const char* seed : {"1", "2", "77"}) {
      EXPECT_TRUE(run({"--jitter-seed", seed}) == plain) << model << ", jitter seed " << seed;
      EXPECT_TRUE(run({"--build-order-seed", seed}) == plain) << model << ", build order seed " << seed;
    }
    EXPECT_TRUE(run({"--jitter-seed", "5", "--build-order-seed", "6"}) == plain) << model;
  }
}

// ---- plan and configuration ----

TEST(WfoldPlan, UI_1_WF_1_the_granularity_and_its_rejected_candidates) {
  // 28 channels: 64 pads 36 bytes, 32 pads 4, which is the least. 49: 64 pads 15, the least is 7 with 8.
  const std::map<int, std::vector<std::string>> said{
      {28,
       {"32 of 28 channel bytes in 1 blocks", "64 (fold 1, 36 bytes of padding): too much padding",
        "32 (fold 2, 4 bytes of padding): taken", "16 (fold 4, 4 bytes of padding): smaller than needed",
        "8 (fold 8, 4 bytes of padding): smaller than needed"}},
      {48,
       {"16 of 48 channel bytes in 3 blocks", "64 (fold 1, 16 bytes of padding): too much padding",
        "32 (fold 2, 16 bytes of padding): too much padding", "16 (fold 4, 0 bytes of padding): taken"}},
      {49, {"64 of 49 channel bytes in 1 blocks", "64 (fold 1, 15 bytes of padding): taken"}}};
  for (const auto& [channels, lines] : said) {
    const CommandFolder folder;
    folder.write("w.json", fmt::format(R"({{"name": "w", "inputs": [{{"name": "x", "shape": [1, 4, 20, {}],
        "dtype": "int8", "random": {{"seed": 1}}}}], "layers": [{{"name": "conv1", "op": "conv2d", "inputs": ["x"],
        "out_channels": 16, "kernel": [3, 3], "weights": {{"random": {{"seed": 2}}}}}}], "outputs": ["conv1"]}})",
                                       channels));
    const CommandResult result =
        folder.run({"plan", "--config", source_path(kWfoldConfig), "--layer", "w.json"});
    ASSERT_EQ(result.status, 0) << result.err;
    for (const std::string& line : lines) EXPECT_THAT(result.out, HasSubstr(line));
  }
}

struct BadConfig {
  const char* name;
  const char* text;
  std::vector<const char*> messages;
};
void PrintTo(const BadConfig& bad, std::ostream* out) {
  *out << bad.name;
}
class WfoldConfigError : public ::testing::TestWithParam<BadConfig> {};

TEST_P(WfoldConfigError, UI_2_UI_5_exit_2_with_path_value_and_range) {
  const CommandFolder folder;
  folder.write("hw.json", GetParam().text);
  const CommandResult result =
      folder.run({"run", "--config", "hw.json", "--layer", source_path("models/worked_dense.json")});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("hw.json"));
  for (const char* message : GetParam().messages) EXPECT_THAT(result.err, HasSubstr(message));
  EXPECT_EQ(folder.files().count("tilebeat-out/"), 0U) << "nothing is written";
}
INSTANTIATE_TEST_SUITE_P(
    Wfold, WfoldConfigError,
    ::testing::Values(
        BadConfig{"no_chip", R"({"dataflow": "wfold"})", {"/dataflow: ", "wfold", "a file with `chip`"}},
        BadConfig{"regions",
                  R"({"dataflow": "wfold", "chip": {"core": {"wram": {"size_bytes": 65536, "banks": 8}}}})",
                  {"/chip/core/wram/banks: 8 is not allowed", "wfold.slaves (16)"}},
        BadConfig{"pci", R"({"wfold": {"pci": 24}})", {"/wfold/pci: 24 is not allowed", "power of two"}},
        BadConfig{"pci_1", R"({"wfold": {"pci": 1}})", {"/wfold/pci: 1 is not allowed", "at least 2"}},
        BadConfig{"pci_beyond_a_line",
                  R"({"wfold": {"pci": 128}})",
                  {"/wfold/pci: 128 is not allowed", "at most line_bytes (64)"}},
        BadConfig{"first_buffer",
                  R"({"wfold": {"first_buffer_lines": 4}})",
                  {"/wfold/first_buffer_lines: 4 is not allowed", "more than compute_units (4)"}},
        BadConfig{
            "masters", R"({"wfold": {"masters": 3}})", {"/wfold/masters: 3 is not allowed", "from 1 to 2"}},
        BadConfig{"storage",
                  R"({"wfold": {"storage": "one"}})",
                  {"/wfold/storage: \"one\" is not allowed", "separate", "shared"}},
        BadConfig{"shared_storage",
                  R"({"dataflow": "wfold", "wfold": {"storage": "shared"}, "chip": {"core": {
                        "nram": {"size_bytes": 65536, "bank_bytes": 64}, "wram": {"size_bytes": 65536}}}})",
                  {"/chip/core/wram/bank_bytes: 16 is not allowed", "that of nram (64)", "storage shared"}},
        BadConfig{"smallest_pci",
                  R"({"wfold": {"smallest_pci": 64, "line_bytes": 32}})",
                  {"/wfold/smallest_pci: 64 is not allowed", "at most line_bytes (32)"}}),
    [](const auto& test) { return test.param.name; });

// Plan, report and waveform name a second master and a divided memory.
TEST(WfoldWaveform, WF_9_two_masters_and_one_memory_are_shown) {
  const Example1 example;
  nlohmann::json config = nlohmann::json::parse(read_bytes(source_path(kWfoldConfig)));
  config["wfold"]["masters"] = 2, config["wfold"]["storage"] = "shared";
  config["chip"]["core"]["nram"]["bank_bytes"] = 64;
  example.folder.write("both.json", config.dump());
  const CommandResult plan =
      example.folder.run({"plan", "--config", "both.json", "--layer", "example1.json"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("2, each reads and broadcasts the lines of 8 slaves"));
  EXPECT_THAT(plan.out, HasSubstr("NRAM and WRAM are one memory"));
  const CommandResult run = example.folder.run({"run", "--config", "both.json", "--layer", "example1.json",
                                                "--vcd", "wave.vcd", "--vcd-signals", "*"});
  ASSERT_EQ(run.status, 0) << run.err;
  const nlohmann::json wfold = example.folder.report().at("configuration").at("wfold");
  EXPECT_EQ(wfold.at("masters"), 2);
  EXPECT_EQ(wfold.at("storage"), "shared");
  const Vcd vcd(read_bytes(example.folder.path("wave.vcd")));
  for (const char* shown : {"engine.master.broadcast", "engine.master.broadcast1",
                            "engine.master.transit1.lines", "nram.engine_banks", "nram.bank_conflict"})
    EXPECT_TRUE(vcd.signal(fmt::format("chip.cluster0.core0.{}", shown)).ever_set()) << shown;
}

}  // namespace
}  // namespace tilebeat::testing
