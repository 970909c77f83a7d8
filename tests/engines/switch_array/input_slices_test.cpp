// Maps that are loaded in slices of their channels: the cycles of a stream into the banks, counted one by one
// (SPEC SW-1, SW-7, CY-1).
#include "chip_run.h"
#include "recording_trace.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {

using switch_array::SwitchArrayConfig;

namespace {

constexpr int kHeight = 2, kMapWidth = 8;  // a pixel a bank
constexpr int kBeat = 64, kWord = 4;       // bytes

/// Cycles from the first beat to the last one that is taken: beats come one a cycle, all their words for one
/// bank, which writes a word a cycle behind a queue.
Cycle cycles_of_stream(int channels, int slice, int queue_words) {
  std::array<int, kHeight * kMapWidth> waiting{};
  Cycle cycles = 0;
  for (int begin = 0; begin < channels; begin += slice) {
    for (int& bank : waiting) {
      for (int beat = 0; beat < slice / kBeat; ++beat) {
        do {
          ++cycles;
          for (int& words : waiting) words = std::max(0, words - 1);
        } while (bank + kBeat / kWord > queue_words);
        bank += kBeat / kWord;
      }
    }
  }
  return cycles;
}

HardwareConfig core_of(int queue_words) {
  HardwareConfig hardware;
  hardware.dram = dram_preset(DramPreset::kDdr4_2400);
  hardware.engine<SwitchArrayConfig>().arrangement_queue_words = queue_words;
  ChipConfig& chip = hardware.chip.emplace();
  chip.clusters = chip.cores_per_cluster = 1;
  chip.core.copy.max_outstanding = chip.core.bus.max_outstanding = 16;
  check_hardware(hardware, "one core");
  return hardware;
}

/// Cycles from the first beat that the load channel streams to the last one, as text, or what went wrong.
std::string streamed(const HardwareConfig& hardware, int channels, int slice, Granularity granularity) {
  const std::string load = fmt::format(
      "load.input address={:#x} row_stride={} pixel_stride={} height={} width={} channels={} slice={}",
      nram_address(0), kMapWidth * channels, channels, kHeight, kMapWidth, channels, slice);
  return in_child([&] {
    RecordingTrace trace;
    SimulationOptions options;
    options.granularity = granularity;
    options.observers = {&trace, nullptr};
    ChipRun run(hardware, plan_of({{0, {load, "halt"}}}), options);
    run.run();
    if (!run.error.empty() || !run.unbalanced().empty()) return run.error + run.unbalanced();
    const std::string streaming = "chip.cluster0.core0.load.streaming";
    const std::int64_t beats = std::int64_t{kHeight} * kMapWidth * channels / kBeat;
    if (const auto seen = trace.busy(streaming, hardware.clock_ps()); seen != beats)
      return fmt::format("{} beats, {} are shown", beats, seen);
    const auto changes = trace.of(streaming);
    const auto begin =
        std::find_if(changes.begin(), changes.end(), [](const auto& c) { return c.second != 0; });
    return std::to_string((changes.back().first - begin->first) / hardware.clock_ps());
  });
}

TEST(InputSlices, SW_7_CY_1_slices_keep_all_banks_writing) {
  struct Case {
    int channels, slice, queue_words;
    Cycle cycles;
  };
  for (const Case& c : {Case{1024, 64, 128, 256},  // a beat a cycle
                        Case{1024, 64, 65, 256},  // a bank has written a beat's words when the next one comes
                        Case{1024, 256, 128, 256}, Case{512, 512, 128, 128}}) {
    ASSERT_EQ(cycles_of_stream(c.channels, c.slice, c.queue_words), c.cycles);
    EXPECT_EQ(streamed(core_of(c.queue_words), c.channels, c.slice, Granularity::kClock),
              std::to_string(c.cycles))
        << c.channels << " channels in slices of " << c.slice << ", queues of " << c.queue_words;
  }
}

TEST(InputSlices, SW_7_CY_1_CY_3_streams_that_banks_hold_back) {
  for (const int channels : {512, 1024}) {
    for (const int slice : {64, 128, 256, channels}) {
      for (const int queue_words : {65, 66, 79, 80, 96, 128, 256}) {
        const Cycle expected = cycles_of_stream(channels, slice, queue_words);
        const HardwareConfig hardware = core_of(queue_words);
        for (const Granularity granularity : {Granularity::kTile, Granularity::kClock}) {
          EXPECT_EQ(streamed(hardware, channels, slice == channels ? 0 : slice, granularity),
                    std::to_string(expected))
              << channels << " channels in slices of " << slice << ", queues of " << queue_words;
        }
      }
    }
  }
}

TEST(InputSlices, SW_7_slices_are_whole_words) {
  EXPECT_EQ(streamed(core_of(128), 512, 6, Granularity::kClock),
            "load.input: slice 6 is no multiple of the 4 channels of a word");
}

}  // namespace
}  // namespace tilebeat::testing
