// The offset-table engine's beats and results read back from the waveform of a whole run (SPEC OT-1, OT-4,
// UI-3).
#include "tilebeat_command.h"
#include "vcd_reader.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

void write_layer(const CommandFolder& folder) {
  folder.write("layer.json", R"({
    "name": "layer",
    "inputs": [{"name": "x", "shape": [1, 6, 6, 8], "dtype": "int8", "random": {"seed": 3}}],
    "layers": [{"name": "conv1", "op": "conv2d", "inputs": ["x"], "out_channels": 16, "kernel": [3, 3],
                "weights": {"random": {"seed": 4}}}],
    "outputs": ["conv1"]})");
}

TEST(OffsetWaveform, OT_1_OT_4_UI_3_taps_channels_hits_and_misses_beat_by_beat) {
  const CommandFolder folder;
  write_layer(folder);
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

// An offset takes the generator 16 cycles of division, which the products of the one before overlap with.
// With one place each begins when the beat of the one before is through.
TEST(OffsetAddresses, OT_4_places_for_computed_offsets_decide_how_long_a_run_takes) {
  const CommandFolder folder;
  write_layer(folder);
  nlohmann::json hardware = nlohmann::json::parse(read_bytes(source_path(kOffsetConfig)));
  hardware["offset"]["addresses"] = "computed";
  std::map<int, std::int64_t> cycles;
  for (const int places : {1, 2, 4, 64}) {
    hardware["offset"]["address_queue"] = places;
    folder.write("hw.json", hardware.dump());
    const std::string out = "out" + std::to_string(places);
    const CommandResult run =
        folder.run({"run", "--config", "hw.json", "--layer", "layer.json", "--out", out});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(folder.report(out).at("layers").at(0).at("check"), "passed");
    cycles[places] = folder.report(out).at("total").at("cycles");
  }
  EXPECT_EQ(cycles[1] - cycles[2], 17 * (4 + 1)) << "products and the lookup, of all 18 offsets but one";
  EXPECT_EQ(cycles[2], cycles[4]);
  EXPECT_EQ(cycles[4], cycles[64]) << "the divider is the limit";
}

}  // namespace
}  // namespace tilebeat::testing
