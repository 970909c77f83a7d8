// Waveforms that show all that moves: names of every shipped configuration, full words, and the state of a
// stream under back-pressure (SPEC UI-12).
#include "tilebeat_command.h"
#include "vcd_reader.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

/// Whether a name is an identifier of IEEE 1364 (3.7), which the writer's own check is compared with.
bool is_verilog_identifier(const std::string& name) {
  const auto first = static_cast<unsigned char>(name.empty() ? '0' : name.front());
  if (std::isalpha(first) == 0 && first != '_') return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '$'; });
}

class EveryConfiguration : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryConfiguration, UI_12_names_are_identifiers_and_none_is_a_scope_and_a_variable) {
  const CommandFolder folder;
  const CommandResult result =
      folder.run_layer(GetParam(), "models/worked_dense.json",
                       {"--vcd", "w.vcd", "--vcd-signals", "*", "--vcd-to", "40", "--check", "off"});
  ASSERT_EQ(result.status, 0) << result.err;
  std::set<std::string> scopes, variables;
  std::vector<std::string> open;
  std::istringstream words(read_bytes(folder.path("w.vcd")));
  for (std::string word; words >> word && word != "$enddefinitions";) {
    if (word == "$upscope") open.pop_back();
    if (word != "$scope" && word != "$var") continue;
    std::string skipped, name;
    words >> skipped;
    if (word == "$var") words >> skipped >> skipped;
    words >> name;
    ASSERT_TRUE(is_verilog_identifier(name)) << name;
    std::string path;
    for (const std::string& scope : open) path += scope + ".";
    path += name;
    if (word == "$scope") {
      open.push_back(name);
      scopes.insert(path);
    } else {
      EXPECT_TRUE(variables.insert(path).second) << path << " is there twice";
    }
  }
  EXPECT_GT(variables.size(), 100U);
  for (const std::string& path : variables) EXPECT_EQ(scopes.count(path), 0U) << path;
}
INSTANTIATE_TEST_SUITE_P(Shipped, EveryConfiguration, ::testing::ValuesIn(json_files("configs")),
                         [](const auto& test) { return test_name(test.param); });

/// A small array whose banks cannot take the words of a beat as fast as they come.
class BackPressure : public ::testing::Test {
 protected:
  static constexpr std::int64_t kPeriod = 1000;
  BackPressure() {
    folder_.write("hw.json",
                  R"({"name": "s4", "dataflow": "dilated", "switch_array": {"rows": 4, "columns": 4,
        "groups": 2, "port_channels": 2, "bank_depth_words": 512, "parameter_depth_words": 512,
        "output_buffer_bytes": 2048}})");
    folder_.write("layer.json", R"({"name": "r", "inputs": [{"name": "x", "shape": [1, 20, 21, 12],
        "dtype": "int8", "random": {"seed": 705531}, "zero_point": 86}], "layers": [{"name": "c",
        "op": "conv2d", "inputs": ["x"], "out_channels": 6, "kernel": [5, 5], "stride": [2, 2],
        "dilation": [3, 3], "groups": 3, "weights": {"random": {"seed": 676318}, "zero_point": -7},
        "bias": {"random": {"seed": 12171, "min": -1000, "max": 1000}}}], "outputs": ["c"]})");
  }
  CommandResult run(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"run", "--config", "hw.json", "--layer", "layer.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return folder_.run(arguments);
  }
  CommandFolder folder_;
};

TEST_F(BackPressure, UI_12_CY_2_a_stream_is_high_in_the_cycles_of_its_beats_alone) {
  const CommandResult result = run({"--vcd", "w.vcd"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Vcd vcd(read_bytes(folder_.path("w.vcd")));
  const VcdSignal& streaming = vcd.signal("soc.dma_load.streaming");
  const VcdSignal& stream = vcd.signal("soc.dma_load.stream.state");
  const VcdSignal& arrangement = vcd.signal("soc.engine.arrangement.state");
  const auto text_at = [](const VcdSignal& signal, std::int64_t time) {
    std::string value;
    for (const auto& [when, text] : signal.texts) {
      if (when > time) break;
      value = text;
    }
    return value;
  };
  const std::int64_t cycles = folder_.report().at("total").at("cycles");
  std::int64_t beats = 0, waits = 0;
  for (std::int64_t cycle = 0; cycle < cycles; ++cycle) {
    const std::int64_t time = cycle * kPeriod;
    const std::string state = text_at(stream, time);
    EXPECT_EQ(text_at(arrangement, time), state) << "cycle " << cycle;
    EXPECT_EQ(streaming.at(time) == 1U, state == "busy") << "cycle " << cycle;
    beats += streaming.at(time) == 1U ? 1 : 0;
    waits += state == "bank_write" ? 1 : 0;
  }
  EXPECT_EQ(beats, vcd.signal("soc.dma_load.stream.state").times(cycles * kPeriod).at("busy") / kPeriod);
  EXPECT_GT(waits, 100) << "the case has back-pressure";
}

TEST_F(BackPressure, UI_12_kernels_records_and_results_are_written_where_they_are_read) {
  const CommandResult result = run({"--vcd", "w.vcd", "--vcd-signals", "*"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Vcd vcd(read_bytes(folder_.path("w.vcd")));
  const auto written = [&](const std::string& data, const std::string& valid, std::int64_t time) {
    return vcd.signal(valid).at(time) == 1U ? vcd.signal(data).at(time) : std::nullopt;
  };
  const std::int64_t end = vcd.last_time();
  int words = 0, records = 0;
  std::map<std::uint64_t, std::uint64_t> bank;
  for (std::int64_t time = 0; time < end; time += kPeriod) {
    const auto word = written("soc.engine.parameters.w0_write", "soc.engine.parameters.w0_write_valid", time);
    // A word is read at the latest from the cycle on in which another one is written to its place.
    if (vcd.signal("soc.engine.parameters.w0_valid").at(time) == 1U) {
      const std::uint64_t address = vcd.signal("soc.engine.parameters.w0_addr").at(time).value();
      ASSERT_EQ(bank.count(address), 1U) << "read before it is written, at " << time;
      EXPECT_EQ(vcd.signal("soc.engine.parameters.w0").at(time), bank.at(address)) << time;
    }
    if (word) {
      bank[vcd.signal("soc.engine.parameters.w0_write_addr").at(time).value()] = *word;
      ++words;
    }
    records += vcd.signal("soc.engine.post.record_write").at(time) == 1U ? 1 : 0;
  }
  EXPECT_GT(words, 0);
  EXPECT_GE(records, 6) << "a record a kernel";
}

TEST(FullWords, UI_12_words_of_32_channels_are_32_bytes) {
  const CommandFolder folder;
  const CommandResult result = folder.run_layer("configs/switch16_p32.json", "models/resnet50_1x1.json",
                                                {"--vcd", "w.vcd", "--vcd-to", "4000", "--vcd-signals", "sw0",
                                                 "b0", "b0_write", "w0", "w0_write", "out0", "out0_addr"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Vcd vcd(read_bytes(folder.path("w.vcd")));
  for (const char* name : {"sw0", "b0", "b0_write", "w0", "w0_write"}) {
    const VcdSignal& word = vcd.signal(name);
    EXPECT_EQ(word.width, 256) << name;
    EXPECT_TRUE(std::any_of(word.digits.begin(), word.digits.end(),
                            [](const auto& change) { return change.second.size() > 200; }))
        << name << " has bytes behind the first 8";
  }
  EXPECT_EQ(vcd.signal("out0").width, 16 * 32) << "int32 of 16 kernels";
}

}  // namespace
}  // namespace tilebeat::testing
