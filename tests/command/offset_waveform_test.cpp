// The offset-table engine's beats, and the results of it and of the rolling-register unit, read back from the
// waveform of a whole run (SPEC OT-1, OT-4, RO-6, UI-3).
#include "tilebeat_command.h"
#include "vcd_reader.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr std::int64_t kOffsetPeriod = 1000;  // ps, of configs/offset16.json
constexpr const char* kOffsetConfig = "configs/offset16.json";
constexpr int kSide = 6, kOutputs = 4, kChannels = 8, kVector = 4, kLine = 64;

struct BeatSeen {
  std::uint64_t kernel_row, kernel_column, channel, hits, misses;
  friend bool operator==(const BeatSeen& a, const BeatSeen& b) {
    return std::tie(a.kernel_row, a.kernel_column, a.channel, a.hits, a.misses) ==
           std::tie(b.kernel_row, b.kernel_column, b.channel, b.hits, b.misses);
  }
};

// One group of 16 threads, 4 x 4 outputs of a 6 x 6 map with 8 channels: taps, and in each of them 4 channels
// at a time. A line of 64 bytes has 8 pixels; it misses when it is needed first.
std::vector<BeatSeen> expected() {
  std::vector<BeatSeen> beats;
  std::set<int> cached;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      for (int channel = 0; channel < kChannels; channel += kVector) {
        std::set<int> lines;
        for (int thread = 0; thread < kOutputs * kOutputs; ++thread) {
          const int h = thread / kOutputs + row, w = thread % kOutputs + column;
          lines.insert(((h * kSide + w) * kChannels + channel) / kLine);
        }
        std::uint64_t misses = 0;
        for (const int line : lines) misses += cached.insert(line).second ? 1 : 0;
        beats.push_back({static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column),
                         static_cast<std::uint64_t>(channel), lines.size() - misses, misses});
      }
    }
  }
  return beats;
}

TEST(OffsetWaveform, OT_1_OT_4_UI_3_taps_channels_hits_and_misses_beat_by_beat) {
  const CommandFolder folder;
  folder.write("layer.json", R"({
    "name": "layer",
    "inputs": [{"name": "x", "shape": [1, 6, 6, 8], "dtype": "int8", "random": {"seed": 3}}],
    "layers": [{"name": "conv1", "op": "conv2d", "inputs": ["x"], "out_channels": 16, "kernel": [3, 3],
                "weights": {"random": {"seed": 4}}}],
    "outputs": ["conv1"]})");
  const CommandResult result =
      folder.run({"run", "--config", source_path(kOffsetConfig), "--layer", "layer.json", "--granularity",
                  "clock", "--vcd", "wave.vcd", "--vcd-signals", "*"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Vcd vcd(read_bytes(folder.path("wave.vcd")));
  const auto signal = [&](const char* name) -> const VcdSignal& {
    return vcd.signal(std::string("chip.cluster0.core0.offset.lanes.") + name);
  };
  std::vector<BeatSeen> beats, multiplied;
  const VcdSignal& beat = signal("beat");
  const std::int64_t end = beat.changes.back().first;
  for (std::int64_t time = beat.first_known(); time < end; time += kOffsetPeriod) {
    if (beat.at(time) != 1U) continue;
    const auto value = [&](const char* name) { return signal(name).at(time).value(); };
    EXPECT_EQ(value("group"), 0U);
    EXPECT_EQ(value("slice"), 0U);
    const BeatSeen seen{value("kernel_row"), value("kernel_column"), value("channel"), value("hits"),
                        value("misses")};
    const bool same_place = !beats.empty() && beats.back().kernel_row == seen.kernel_row &&
                            beats.back().kernel_column == seen.kernel_column &&
                            beats.back().channel == seen.channel;
    if (!same_place) beats.push_back(seen);  // a beat with bank conflicts takes several cycles
    if (value("valid") != 1) continue;
    multiplied.push_back(seen);
    const bool is_last = beat.at(time + kOffsetPeriod) != 1U ||
                         signal("channel").at(time + kOffsetPeriod) != seen.channel ||
                         signal("kernel_column").at(time + kOffsetPeriod) != seen.kernel_column;
    EXPECT_TRUE(is_last) << "operands are multiplied in a beat's last cycle";
  }
  EXPECT_EQ(beats, expected());
  EXPECT_EQ(multiplied, expected());
  // Sums are complete ceil(log2 4) + 1 cycles behind the last beat, a row of 16 leaves in the next cycle and
  // is written `post_latency_cycles` + 1 later.
  const std::int64_t written =
      signal("valid").changes.back().first - kOffsetPeriod + (3 + 1 + 4 + 1) * kOffsetPeriod;
  std::int64_t first = INT64_MAX;
  for (int bank = 0; bank < 16; ++bank) {
    for (const auto& [time, value] :
         vcd.signal("chip.cluster0.core0.nram.engine.p1b" + std::to_string(bank) + "_valid").changes) {
      if (value == 1U) first = std::min(first, time);
    }
  }
  EXPECT_EQ(first, written);
  EXPECT_EQ(folder.report().at("layers").at(0).at("beats"), 18);
}

// The rolling-register unit says when its write port is busy; NRAM has an access in each of these cycles.
TEST(RollingResults, RO_6_UI_3_results_reach_nram_in_the_cycles_in_which_the_write_port_is_busy) {
  const CommandFolder folder;
  folder.write("layer.json", R"({
    "name": "layer",
    "inputs": [{"name": "x", "shape": [1, 4, 4, 8], "dtype": "int8", "random": {"seed": 3}}],
    "layers": [{"name": "conv1", "op": "conv2d", "inputs": ["x"], "out_channels": 16, "kernel": [1, 1],
                "weights": {"random": {"seed": 4}}}],
    "outputs": ["conv1"]})");
  const CommandResult result =
      folder.run({"run", "--config", source_path("configs/rolling16.json"), "--layer", "layer.json",
                  "--granularity", "clock", "--vcd", "wave.vcd", "--vcd-signals", "*"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Vcd vcd(read_bytes(folder.path("wave.vcd")));
  std::set<std::int64_t> accesses, busy;
  for (int bank = 0; bank < 16; ++bank) {
    const std::string name = "chip.cluster0.core0.nram.engine.p1b" + std::to_string(bank) + "_valid";
    const auto& changes = vcd.signal(name).changes;
    for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
      for (std::int64_t at = changes[i].first; changes[i].second == 1U && at < changes[i + 1].first;
           at += kOffsetPeriod)
        accesses.insert(at);
    }
  }
  const auto& states = vcd.signal("chip.cluster0.core0.rolling.write.state").texts;
  for (std::size_t i = 0; i + 1 < states.size(); ++i) {
    for (std::int64_t at = states[i].first; states[i].second == "busy" && at < states[i + 1].first;
         at += kOffsetPeriod)
      busy.insert(at);
  }
  EXPECT_EQ(accesses.size(), 64U) << "16 pixels of 64 bytes in banks of 16";
  EXPECT_EQ(accesses, busy);
}

}  // namespace
}  // namespace tilebeat::testing
