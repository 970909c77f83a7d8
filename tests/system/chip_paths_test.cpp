// Every way between two memories of a chip takes the cycles that the configuration gives, alone and in
// company (SPEC HI-2 to HI-5, CY-1).
#include "chip_paths.h"

#include "chip_run.h"
#include "recording_trace.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr int kBytes = 256;

/// Two clusters of two cores; every number differs from the others.
HardwareConfig path_chip() {
  HardwareConfig hardware = small_chip(2, 2);
  hardware.dram.refresh = false;
  hardware.interconnect = {16, 2, 3, 16};
  ChipConfig& chip = *hardware.chip;
  chip.core.bus = {64, 1, 2, 16};
  chip.cluster_bus = {32, 3, 1, 16};
  chip.cluster_link = {16, 5, 4, 16};
  chip.core.copy.burst_bytes = chip.copy.burst_bytes = kBytes;
  chip.sync_cycles = 6;
  check_hardware(hardware, "chip of the paths");
  return hardware;
}

/// The first span on a track.
const RecordingTimeline::Span& span_of(const RecordingTimeline& timeline, const std::string& track) {
  for (const auto& span : timeline.spans) {
    if (span.track == track) return span;
  }
  throw std::runtime_error("no span on " + track);
}

struct Path {
  std::string unit, engine;  // mnemonic and module
  int processor;
  std::uint64_t source, destination;
  // From the cycle of the read's request to the cycle in which the response of the write arrives.
  Cycle (*done)(const PathTimes&, Cycle);
};

constexpr int kMemory0 = 2, kMemory1 = 5;  // processors: two cores and a memory core a cluster
constexpr std::uint64_t kDram = 0x48000;   // in a DRAM bank without programs, whose row is closed

// The data of a read can be written in the cycle after it arrived.
const std::vector<Path> kPaths{
    {"iodma", "cluster0.core0.iodma", 0, kDram, nram_address(0),
     [](const PathTimes& t, Cycle at) {
       return t.write(t.read_dram(at, kBytes) + 1, t.chip().core.bus, t.chip().core.nram, kBytes);
     }},
    {"iodma", "cluster1.core1.iodma", 4, kDram, wram_address(3),
     [](const PathTimes& t, Cycle at) {
       return t.write(t.read_dram(at, kBytes) + 1, t.chip().core.bus, t.chip().core.wram, kBytes);
     }},
    {"iodma", "cluster0.core1.iodma", 1, nram_address(1), kDram,
     [](const PathTimes& t, Cycle at) {
       return t.write_dram(t.read(at, t.chip().core.bus, t.chip().core.nram, kBytes) + 1, kBytes);
     }},
    {"iodma", "cluster1.core0.iodma", 3, wram_address(2), kDram,
     [](const PathTimes& t, Cycle at) {
       return t.write_dram(t.read(at, t.chip().core.bus, t.chip().core.wram, kBytes) + 1, kBytes);
     }},
    {"gdma", "cluster0.memory.gdma", kMemory0, kDram, sram_address(0),
     [](const PathTimes& t, Cycle at) {
       return t.write(t.read_dram(at, kBytes) + 1, t.chip().cluster_bus, t.chip().sram, kBytes);
     }},
    {"gdma", "cluster1.memory.gdma", kMemory1, sram_address(1), kDram,
     [](const PathTimes& t, Cycle at) {
       return t.write_dram(t.read(at, t.chip().cluster_bus, t.chip().sram, kBytes) + 1, kBytes);
     }},
    {"mvdma", "cluster0.core0.mvdma", 0, sram_address(0), wram_address(0),
     [](const PathTimes& t, Cycle at) {
       return t.write(t.read(at, t.chip().cluster_bus, t.chip().sram, kBytes) + 1, t.chip().core.bus,
                      t.chip().core.wram, kBytes);
     }},
    {"mvdma", "cluster0.core1.mvdma", 1, nram_address(1), sram_address(0),
     [](const PathTimes& t, Cycle at) {
       return t.write(t.read(at, t.chip().core.bus, t.chip().core.nram, kBytes) + 1, t.chip().cluster_bus,
                      t.chip().sram, kBytes);
     }},
    {"mvdma", "cluster1.core1.mvdma", 4, sram_address(1), nram_address(3),
     [](const PathTimes& t, Cycle at) {
       return t.write(t.read(at, t.chip().cluster_bus, t.chip().sram, kBytes) + 1, t.chip().core.bus,
                      t.chip().core.nram, kBytes);
     }},
    {"mvdma", "cluster0.core0.mvdma", 0, wram_address(0), sram_address(0),
     [](const PathTimes& t, Cycle at) {
       return t.write(t.read(at, t.chip().core.bus, t.chip().core.wram, kBytes) + 1, t.chip().cluster_bus,
                      t.chip().sram, kBytes);
     }},
    {"mvdma", "cluster1.memory.mvdma", kMemory1, sram_address(1), multicast_address(3, false, 512),
     [](const PathTimes& t, Cycle at) {
       return t.broadcast(t.read(at, t.chip().cluster_bus, t.chip().sram, kBytes) + 1, kBytes);
     }},
    {"cdma", "cluster0.memory.cdma", kMemory0, sram_address(0), sram_address(1),
     [](const PathTimes& t, Cycle at) {
       return t.cdma(t.read(at, t.chip().cluster_bus, t.chip().sram, kBytes) + 1, kBytes);
     }},
};

std::string copy_line(const Path& path) {
  return fmt::format("{}.copy source={:#x} destination={:#x} run_bytes={}", path.unit, path.source,
                     path.destination, kBytes);
}

TEST(ChipControl, CY_6_a_unit_holds_the_next_instruction_while_it_works) {
  const HardwareConfig hardware = path_chip();
  Path first = kPaths[0], second = kPaths[0];
  second.source += 4 * kBytes, second.destination += kBytes;
  RecordingTimeline timeline;
  SimulationOptions options;
  options.observers.timeline = &timeline;
  ChipRun run(hardware, plan_of({{0, {copy_line(first), copy_line(second), "halt"}}}), options);
  run.run();
  ASSERT_EQ(run.error, "");
  std::vector<Cycle> reads;
  for (const auto& span : timeline.spans) {
    if (span.track.find("noc.") != std::string::npos && span.what.rfind("read 256 B @0x48", 0) == 0)
      reads.push_back(span.begin / hardware.clock_ps());
  }
  ASSERT_EQ(reads.size(), 2U);
  // It was sent when the first one's request was under way, and is requested behind that one's grant.
  EXPECT_EQ(reads[1], reads[0] + 1);
}

TEST(ChipControl, CY_6_controllers_take_turns_every_4096_bytes) {
  HardwareConfig hardware = path_chip();
  const auto read = [&](std::uint64_t address, std::vector<std::string> more) {
    const std::string text = in_child([&] {
      Path path = kPaths[0];
      path.source = address;
      more.insert(more.begin(), copy_line(path));
      ChipRun run(hardware, plan_of({{0, more}}));
      run.run();
      return run.error +
             fmt::format("{} {}", run.counter("dram0.ch0", "read"), run.counter("dram1.ch0", "read"));
    });
    return text;
  };
  // What the programs take is the same in both: only the 256 bytes change sides.
  const std::string even = read(0x48000 + 4096 - kBytes, {"halt"}), odd = read(0x48000 + 4096, {"halt"});
  const auto bytes = [](const std::string& text) {
    return std::pair(std::stoi(text), std::stoi(text.substr(text.find(' '))));
  };
  EXPECT_EQ(bytes(even).first, bytes(odd).first + kBytes);
  EXPECT_EQ(bytes(odd).second, bytes(even).second + kBytes);
  EXPECT_EQ(read(0x48000, {"halt"}), even) << "the same granule";
}

TEST(ChipControl, CY_6_the_host_waits_whole_cycles_between_its_writes) {
  for (const int cycles : {1, 10, 11}) {
    const std::string gaps = in_child([&] {
      HardwareConfig hardware = path_chip();
      hardware.host.register_write_cycles = cycles;
      RecordingTimeline timeline;
      SimulationOptions options;
      options.observers.timeline = &timeline;
      ChipRun run(hardware, plan_of({{0, {"halt"}}, {1, {"halt"}}}), options);
      run.run();
      std::string text = run.error;
      Cycle before = -1;
      for (const auto& span : timeline.spans) {
        if (span.track.find("noc.host") == std::string::npos) continue;
        if (before >= 0) text += fmt::format("{} ", span.begin / hardware.clock_ps() - before);
        before = span.end / hardware.clock_ps();
      }
      return text;
    });
    // Acted upon in the cycle after the response, then as many cycles more.
    const std::string gap = fmt::format("{} ", 1 + cycles);
    EXPECT_EQ(gaps, gap + gap + gap + gap + gap) << "six writes for two programs";
  }
}

TEST(ChipControl, CY_6_a_command_queue_holds_what_it_is_said_to) {
  for (const int depth : {1, 2, 5}) {
    const std::string most = in_child([&] {
      HardwareConfig hardware = path_chip();
      hardware.dma.command_queue = depth;
      RecordingTrace trace;
      SimulationOptions options;
      options.observers.trace = &trace;
      std::vector<std::string> lines(20, copy_line(kPaths[0]));
      lines.emplace_back("halt");
      ChipRun run(hardware, plan_of({{0, lines}}), options);
      run.run();
      std::uint64_t largest = 0;
      for (const auto& [at, value] : trace.of("chip.cluster0.core0.control.iodma_queue"))
        largest = std::max(largest, value);
      return run.error + std::to_string(largest);
    });
    EXPECT_EQ(most, std::to_string(depth));
  }
}

class ChipPath : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ChipPath, CY_6_HI_2_HI_3_HI_4_idle_burst) {
  const Path& path = kPaths[GetParam()];
  const HardwareConfig hardware = path_chip();
  RecordingTimeline timeline;
  SimulationOptions options;
  options.observers.timeline = &timeline;
  ChipRun run(hardware, plan_of({{path.processor, {copy_line(path), "halt"}}}), options);
  run.run();
  ASSERT_EQ(run.error, "");
  const auto& span = span_of(timeline, path.engine);
  const Cycle begin = span.begin / hardware.clock_ps();
  EXPECT_EQ(span.end / hardware.clock_ps() - begin, path.done({hardware}, begin) + 1 - begin)
      << "done in the cycle after the response";
  EXPECT_EQ(run.unbalanced(), "");
}
INSTANTIATE_TEST_SUITE_P(All, ChipPath, ::testing::Range(std::size_t{0}, kPaths.size()));

/// Two engines that begin in the same cycle: the cycles in which each is done, less the one in which they
/// began.
std::pair<Cycle, Cycle> race(const HardwareConfig& hardware, const Path& a, const Path& b) {
  RecordingTimeline timeline;
  SimulationOptions options;
  options.observers.timeline = &timeline;
  const std::string barrier = "barrier id=1 participants=2";  // lines both up, their copies fetched
  ChipRun run(hardware,
              plan_of({{a.processor, {barrier, copy_line(a), "halt"}},
                       {b.processor, {barrier, copy_line(b), "halt"}}}),
              options);
  run.run();
  EXPECT_EQ(run.error, "");
  const auto& first = span_of(timeline, a.engine);
  const auto& second = span_of(timeline, b.engine);
  EXPECT_EQ(first.begin, second.begin);
  return {(first.end - first.begin) / hardware.clock_ps(), (second.end - second.begin) / hardware.clock_ps()};
}

Path sram_read(int core, std::uint64_t offset) {
  return {
      "mvdma", fmt::format("cluster0.core{}.mvdma", core), core, sram_address(0) + offset, nram_address(core),
      nullptr};
}

TEST(ChipContention, HI_6_two_cores_read_different_banks_of_one_sram) {
  HardwareConfig hardware = path_chip();
  hardware.chip->sram = {32768, 16, 16, 3};  // eight rounds of two banks for the 32 bytes a cycle of the port
  const auto [a, b] = race(hardware, sram_read(0, 0), sram_read(1, 1024));
  const PathTimes times{hardware};
  const ChipConfig& chip = *hardware.chip;
  const Cycle alone = times.write(times.read(0, chip.cluster_bus, chip.sram, kBytes) + 1, chip.core.bus,
                                  chip.core.nram, kBytes) +
                      1;
  EXPECT_EQ(a, alone);
  EXPECT_EQ(b, alone + kBytes / 32) << "the port of the SRAM is as wide as the bus of one reader";
}

TEST(ChipContention, HI_3_two_cores_read_the_same_banks_of_one_sram) {
  HardwareConfig hardware = path_chip();
  hardware.chip->sram = {32768, 2, 16, 3};  // two banks: no more than the bus of one reader
  const auto [a, b] = race(hardware, sram_read(0, 0), sram_read(1, 1024));
  const PathTimes times{hardware};
  const ChipConfig& chip = *hardware.chip;
  const Cycle alone = times.write(times.read(0, chip.cluster_bus, chip.sram, kBytes) + 1, chip.core.bus,
                                  chip.core.nram, kBytes) +
                      1;
  EXPECT_EQ(a, alone);
  EXPECT_EQ(b, alone + kBytes / 32) << "the banks serve the older request first";
}

TEST(ChipContention, HI_3_two_cores_write_the_same_banks_of_one_sram) {
  HardwareConfig hardware = path_chip();
  hardware.chip->sram = {32768, 2, 16, 3};
  const auto put = [](int core) {
    return Path{"mvdma",
                fmt::format("cluster0.core{}.mvdma", core),
                core,
                nram_address(core),
                sram_address(0) + 1024U * static_cast<unsigned>(core),
                nullptr};
  };
  const auto [a, b] = race(hardware, put(0), put(1));
  const PathTimes times{hardware};
  const ChipConfig& chip = *hardware.chip;
  const Cycle alone = times.write(times.read(0, chip.core.bus, chip.core.nram, kBytes) + 1, chip.cluster_bus,
                                  chip.sram, kBytes) +
                      1;
  EXPECT_EQ(a, alone);
  EXPECT_EQ(b, alone + kBytes / 32) << "the banks serve the older request first";
}

TEST(ChipContention, HI_2_two_engines_read_the_same_banks_of_one_nram_or_wram) {
  HardwareConfig hardware = path_chip();
  ChipConfig& chip = *hardware.chip;
  chip.core.bus = {32, 1, 2, 16};
  // Four banks serve two words a cycle to each of two ports, two banks no more than one port.
  for (const int banks : {4, 2}) {
    for (const bool wram : {false, true}) {
      (wram ? chip.core.wram : chip.core.nram) = {8192, banks, 16, 1};
      const std::uint64_t memory = wram ? wram_address(0) : nram_address(0);
      const Path to_dram{"iodma", "cluster0.core0.iodma", 0, memory, kDram, nullptr};
      const Path to_sram{"mvdma", "cluster0.core0.mvdma", 0, memory + 1024, sram_address(0), nullptr};
      const std::string times_text = in_child([&] {
        RecordingTimeline timeline;
        SimulationOptions options;
        options.observers.timeline = &timeline;
        // Tokens of one copy from DRAM start both in one cycle.
        const std::string gate = fmt::format("iodma.copy source={:#x} destination={:#x} run_bytes={}", kDram,
                                             nram_address(0) + 4096, kBytes);
        ChipRun run(
            hardware,
            plan_of({{0,
                      {gate + " completes map_full[0],map_full[1]", copy_line(to_dram) + " waits map_full[0]",
                       copy_line(to_sram) + " waits map_full[1]", "halt"}}}),
            options);
        run.run();
        std::vector<RecordingTimeline::Span> spans;
        for (const auto& span : timeline.spans) {
          if (span.track == to_dram.engine || span.track == to_sram.engine) spans.push_back(span);
        }
        if (!run.error.empty() || spans.size() != 3) return run.error + " not three copies";
        const PathTimes times{hardware};
        const auto second = std::find_if(spans.begin(), spans.end(),
                                         [&](const auto& span) { return span.track == to_sram.engine; });
        const auto first = std::find_if(spans.rbegin(), spans.rend(),
                                        [&](const auto& span) { return span.track == to_dram.engine; });
        const Picoseconds period = hardware.clock_ps();
        if (first->begin != second->begin) return std::string("not in one cycle");
        const MemoryConfig& both = wram ? chip.core.wram : chip.core.nram;
        const Cycle alone =
            times.write(times.read(0, chip.core.bus, both, kBytes) + 1, chip.cluster_bus, chip.sram, kBytes) +
            1;
        return std::to_string((second->end - second->begin) / period - alone);
      });
      // The port is as wide as the bus: the older request first, whatever the banks could do.
      EXPECT_EQ(times_text, std::to_string(kBytes / 32)) << banks << " banks of " << (wram ? "WRAM" : "NRAM");
    }
  }
}

TEST(ChipContention, HI_3_two_clusters_write_to_the_sram_of_a_third) {
  HardwareConfig hardware = path_chip();
  hardware.chip->clusters = 3;
  check_hardware(hardware, "chip of three clusters");
  const auto send = [](int cluster) {
    return Path{"cdma",
                fmt::format("cluster{}.memory.cdma", cluster),
                3 * cluster + 2,
                sram_address(cluster),
                sram_address(2) + 1024U * static_cast<unsigned>(cluster),
                nullptr};
  };
  const auto [a, b] = race(hardware, send(0), send(1));
  const PathTimes times{hardware};
  const ChipConfig& chip = *hardware.chip;
  const Cycle alone = times.cdma(times.read(0, chip.cluster_bus, chip.sram, kBytes) + 1, kBytes) + 1;
  EXPECT_EQ(a, alone);
  EXPECT_EQ(b, alone + PathTimes::beats(chip.cluster_link, kBytes))
      << "W of the second behind W of the first";
}

TEST(ChipContention, HI_6_two_cores_read_rows_of_one_dram_bank) {
  HardwareConfig hardware = path_chip();
  hardware.dram.mapping = AddressMapping::kRowBankColumnChannel;
  const DramConfig& dram = hardware.dram;
  Path a = kPaths[0], b = kPaths[0];
  b.engine = "cluster0.core1.iodma", b.processor = 1, b.destination = nram_address(1);
  // The next row of the same bank of the same controller: each controller has every second granule.
  b.source = a.source + static_cast<std::uint64_t>(2 * dram.row_bytes * dram.banks);
  RecordingTimeline timeline;
  SimulationOptions options;
  options.observers.timeline = &timeline;
  const std::string barrier = "barrier id=1 participants=2";
  ChipRun run(hardware, plan_of({{0, {barrier, copy_line(a), "halt"}}, {1, {barrier, copy_line(b), "halt"}}}),
              options);
  run.run();
  ASSERT_EQ(run.error, "");
  const Picoseconds period = hardware.clock_ps();
  const Cycle begin = span_of(timeline, a.engine).begin / period;
  ASSERT_EQ(span_of(timeline, b.engine).begin / period, begin);
  const PathTimes times{hardware};
  const auto clocks = [&](Picoseconds time) { return ceil_div(time, dram.clock_ps); };
  // ACT and four RD of the first row, then PRE (tRAS after its ACT), ACT and four RD of the second.
  const Cycle arrival = begin + hardware.interconnect.request_cycles;
  const Cycle activate = ClockDomain(period).at(arrival, Phase::kGrant) / dram.clock_ps + 1;
  const Cycle spacing = std::max<Cycle>(clocks(dram.tCCD_L_ps), dram.burst_length / 2);
  const Cycle last_read = activate + clocks(dram.tRCD_ps) + 3 * spacing;
  const Cycle precharge = std::max(activate + clocks(dram.tRAS_ps), last_read + clocks(dram.tRTP_ps));
  const Cycle second = precharge + clocks(dram.tRP_ps) + clocks(dram.tRCD_ps) + 3 * spacing;
  const Cycle answer =
      ceil_div((second + clocks(dram.tCL_ps) + dram.burst_length / 2) * dram.clock_ps, period);
  const ChipConfig& chip = *hardware.chip;
  const Cycle delivered = answer + hardware.interconnect.response_cycles + kBytes / 16 - 1;
  EXPECT_EQ(span_of(timeline, b.engine).end / period,
            times.write(delivered + 1, chip.core.bus, chip.core.nram, kBytes) + 1);
  EXPECT_EQ(span_of(timeline, a.engine).end / period,
            times.write(times.read_dram(begin, kBytes) + 1, chip.core.bus, chip.core.nram, kBytes) + 1);
}

TEST(ChipThroughput, HI_3_a_long_copy_runs_at_the_width_of_its_bus) {
  HardwareConfig hardware = path_chip();
  hardware.chip->sram = {32768, 16, 16, 3};
  RecordingTimeline timeline;
  SimulationOptions options;
  options.observers.timeline = &timeline;
  constexpr int kBursts = 32;
  ChipRun run(hardware,
              plan_of({{0,
                        {fmt::format("mvdma.copy source={:#x} destination={:#x} run_bytes={}",
                                     sram_address(0), nram_address(0), kBursts * kBytes),
                         "halt"}}}),
              options);
  run.run();
  ASSERT_EQ(run.error, "");
  const PathTimes times{hardware};
  const ChipConfig& chip = *hardware.chip;
  const auto& span = span_of(timeline, "cluster0.core0.mvdma");
  const Cycle one = times.write(times.read(0, chip.cluster_bus, chip.sram, kBytes) + 1, chip.core.bus,
                                chip.core.nram, kBytes) +
                    1;
  EXPECT_EQ((span.end - span.begin) / hardware.clock_ps(), one + (kBursts - 1) * kBytes / 32)
      << "a burst every 8 cycles on the 32 bytes of the cluster's bus";
}

}  // namespace
}  // namespace tilebeat::testing
