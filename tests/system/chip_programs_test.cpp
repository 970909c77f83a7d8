// Hand-written programs on whole chips: document 001 figure 5, barriers, signals, faults (SPEC HI-2 to HI-5,
// CY-4).
#include "chip_paths.h"
#include "chip_run.h"
#include "conv_workload.h"
#include "recording_trace.h"
#include "simulated_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

std::vector<std::uint8_t> pattern(std::size_t bytes) {
  std::vector<std::uint8_t> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(i * 7 + i / 256 + 3);
  return data;
}

std::string copy(const std::string& unit, std::uint64_t from, std::uint64_t to, int bytes,
                 const std::string& rest = "") {
  return fmt::format("{}.copy source={:#x} destination={:#x} run_bytes={} {}", unit, from, to, bytes, rest);
}

constexpr std::uint64_t kSource = 0x44000, kTarget = 0x84000;

/// What a chip says of one processor's program.
std::string error_of(const std::vector<HandProgram>& programs, int clusters = 1, int cores = 2) {
  ChipRun run(small_chip(clusters, cores), plan_of(programs));
  run.run();
  return run.error;
}

// Document 001 figure 5 [0051-0052]: core 0 of cluster 0 sends to core 1 of cluster 1.
class FigureFive : public ::testing::Test {
 protected:
  static constexpr int kBytes = 256;
  FigureFive() {
    hardware_.chip->copy.burst_bytes = hardware_.chip->core.copy.burst_bytes = kBytes;
    SimulationOptions options;
    options.observers = {&trace_, &timeline_};
    // Processors: 0 and 1 cores, 2 memory core; 3 and 4 cores, 5 memory core.
    const std::vector<HandProgram> programs{
        {0,
         {copy("iodma", kSource, nram_address(0), kBytes, "completes map_full[0]"),
          copy("mvdma", nram_address(0), sram_address(0) + 512, kBytes,
               "waits map_full[0] completes map_full[1]"),
          "signal processors=4 semaphore=200 waits map_full[1]", "halt"}},
        {2,
         {copy("cdma", sram_address(0) + 512, sram_address(1) + 1024, kBytes,
               "waits peer[0] completes map_full[0]"),
          "barrier id=1 participants=2 waits map_full[0]", "halt"}},
        {4,
         {"barrier id=1 participants=2",
          copy("mvdma", sram_address(1) + 1024, nram_address(3), kBytes, "completes map_full[0]"),
          copy("iodma", nram_address(3), kTarget, kBytes, "waits map_full[0]"), "halt"}}};
    run_ = std::make_unique<ChipRun>(hardware_, plan_of(programs), options);
    run_->write(kSource, pattern(kBytes));
    run_->run();
  }
  /// The cycle in which a signal rises for the first time.
  Cycle rise(const std::string& signal) const {
    for (const auto& [at, value] : trace_.of("chip." + signal)) {
      if (value != 0) return at / hardware_.clock_ps();
    }
    return -1;
  }
  /// Begin and end of the first instruction on an engine.
  std::pair<Cycle, Cycle> span(const std::string& engine) const {
    for (const auto& span : timeline_.spans) {
      if (span.track == engine) return {span.begin / hardware_.clock_ps(), span.end / hardware_.clock_ps()};
    }
    return {-1, -1};
  }

  HardwareConfig hardware_ = small_chip(2, 2);
  RecordingTrace trace_;
  RecordingTimeline timeline_;
  std::unique_ptr<ChipRun> run_;
};

TEST_F(FigureFive, HI_3_data_goes_from_core_to_core_through_both_memory_cores) {
  ASSERT_EQ(run_->error, "");
  EXPECT_EQ(run_->read(kTarget, kBytes), pattern(kBytes));
  const auto [push_begin, push_end] = span("cluster0.core0.mvdma");
  const auto [cdma_begin, cdma_end] = span("cluster0.memory.cdma");
  const auto [pull_begin, pull_end] = span("cluster1.core1.mvdma");
  EXPECT_GE(push_begin, 0);
  // Done in t; the signal is decoded in t, the memory core hears of it sync_cycles later and CDMA acts a
  // cycle after.
  EXPECT_EQ(cdma_begin, push_end + hardware_.chip->sync_cycles + 1);
  EXPECT_EQ(pull_begin, cdma_end + hardware_.chip->sync_cycles + 2)
      << "the barrier of the two is released sync_cycles after CDMA was done; then the copy is decoded";
  EXPECT_GT(pull_end, pull_begin);
}

TEST_F(FigureFive, HI_3_phases_of_cdma) {
  ASSERT_EQ(run_->error, "");
  const PathTimes times{hardware_};
  const ChipConfig& chip = *hardware_.chip;
  const InterconnectConfig& link = chip.cluster_link;
  const Cycle begin = span("cluster0.memory.cdma").first;
  const Cycle beats = PathTimes::beats(link, kBytes);
  // The master reads its SRAM, then pushes AW and W; the slave writes its SRAM and returns B.
  EXPECT_EQ(rise("cluster0.memory.bus.cdma.req"), begin);
  const Cycle aw = times.read(begin, chip.cluster_bus, chip.sram, kBytes) + 1;
  EXPECT_EQ(rise("link.cluster0.req"), aw) << "AW at the master";
  EXPECT_EQ(rise("link.cluster0.wbeat"), aw + 1) << "W at the master";
  const Cycle slave_aw = aw + beats + link.request_cycles + 1;
  EXPECT_EQ(rise("cluster1.memory.cdma_in.aw"), slave_aw);
  EXPECT_EQ(rise("cluster1.memory.cdma_in.w"), slave_aw);
  EXPECT_EQ(trace_.busy("chip.cluster1.memory.cdma_in.w", hardware_.clock_ps()), beats);
  const Cycle write = slave_aw + beats;
  EXPECT_EQ(rise("cluster1.memory.bus.cdma_in.req"), write) << "the SRAM is written behind the last beat";
  const Cycle b = times.write(write, chip.cluster_bus, chip.sram, kBytes) + 1;
  EXPECT_EQ(rise("cluster1.memory.cdma_in.b"), b) << "B at the slave";
  EXPECT_EQ(span("cluster0.memory.cdma").second, b + link.response_cycles + 1) << "B at the master";
  EXPECT_EQ(rise("cluster0.memory.cdma_in.aw"), -1) << "nobody writes to cluster 0";
}

TEST_F(FigureFive, HI_3_bytes_of_every_level) {
  ASSERT_EQ(run_->error, "");
  for (const char* sram : {"cluster0.memory.sram", "cluster1.memory.sram"}) {
    EXPECT_EQ(run_->counter(sram, "written"), kBytes);
    EXPECT_EQ(run_->counter(sram, "read"), kBytes);
  }
  EXPECT_EQ(run_->counter("cluster0.memory.cdma", "written"), kBytes);
  EXPECT_EQ(run_->counter("cluster1.memory.cdma_in", "taken"), kBytes);
  EXPECT_EQ(run_->counter("link.cluster0", "written"), kBytes);
  EXPECT_EQ(run_->counter("sync", "barriers"), 1);
  EXPECT_EQ(run_->counter("sync", "signals"), 1);
  EXPECT_EQ(run_->unbalanced(), "");
}

TEST(Broadcast, HI_3_one_read_of_the_sram_feeds_every_core) {
  const HardwareConfig hardware = small_chip(1, 4);
  std::vector<HandProgram> programs{{4,
                                     {copy("gdma", kSource, sram_address(0), 4096, "completes map_full[0]"),
                                      copy("mvdma", sram_address(0), multicast_address(0b1111, true, 1024),
                                           4096, "waits map_full[0] completes map_full[1]"),
                                      "signal processors=15 semaphore=203 waits map_full[1]", "halt"}}};
  for (int core = 0; core < 4; ++core) {
    programs.push_back({core,
                        {copy("iodma", wram_address(core) + 1024,
                              kTarget + 0x10000 * static_cast<std::uint64_t>(core), 4096, "waits peer[3]"),
                         "halt"}});
  }
  ChipRun run(hardware, plan_of(programs));
  run.write(kSource, pattern(4096));
  run.run();
  ASSERT_EQ(run.error, "");
  for (std::uint64_t core = 0; core < 4; ++core)
    EXPECT_EQ(run.read(kTarget + 0x10000 * core, 4096), pattern(4096)) << "core " << core;
  EXPECT_EQ(run.counter("cluster0.memory.sram", "read"), 4096);
  EXPECT_EQ(run.counter("cluster0.memory.broadcast", "taken"), 4096);
  EXPECT_EQ(run.counter("cluster0.memory.broadcast", "delivered"), 4 * 4096);
  EXPECT_EQ(run.snapshot.bytes.wram_write, 4 * 4096);
}

TEST(Signals, HI_3_what_a_peer_signals_before_the_start_counts) {
  HardwareConfig hardware = small_chip(1, 1);
  hardware.host.register_write_cycles = 2000;  // the core signals long before the memory core is started
  ChipRun run(hardware, plan_of({{0, {"signal processors=2 semaphore=205", "halt"}},
                                 {1, {"barrier id=1 participants=1 waits peer[5]", "halt"}}}));
  run.run();
  EXPECT_EQ(run.error, "");
}

TEST(Barriers, HI_5_waiting_clocks_are_counted_by_processor) {
  HardwareConfig hardware = small_chip(1, 2);
  ChipRun run(hardware, plan_of({{0, {"barrier id=1 participants=2", "halt"}},
                                 {1,
                                  {copy("iodma", kSource, nram_address(1), 8192, "completes map_full[0]"),
                                   "barrier id=1 participants=2 waits map_full[0]", "halt"}}}));
  run.run();
  ASSERT_EQ(run.error, "");
  const auto waited = [&](const char* module) {
    return cycles_of(run.module(module).activity, Activity::kBarrier);
  };
  EXPECT_EQ(waited("cluster0.core1.control.decode"), hardware.chip->sync_cycles) << "the last to arrive";
  EXPECT_GT(waited("cluster0.core0.control.decode"), 8192 / 16) << "at least the beats of the copy";
  EXPECT_GT(cycles_of(run.module("cluster0.core1.control.decode").activity, Activity::kMapLoad), 8192 / 16);
}

/// Core 0 loads `bytes`, when `waits` allow it, and stores behind that what gives its vector unit space; core
/// 1 signals to it when it has loaded 4096 bytes. The activity of the vector unit.
ActivityCycles behind_a_load(int bytes, const std::string& waits) {
  const std::vector<HandProgram> programs{
      {0,
       {copy("iodma", kSource, nram_address(0) + 4096, bytes, waits),
        copy("iodma", nram_address(0) + 1024, kTarget, 64, "completes result_free[0]"),
        "vector.run kind=maxpool rows=1 columns=1 height=1 width=1 channels=32 a=2048 destination=1024 waits "
        "result_free[0]",
        "halt"}},
      {1,
       {copy("iodma", kSource, nram_address(1), 4096, "completes map_full[0]"),
        "signal processors=1 semaphore=200 waits map_full[0]", "halt"}}};
  ChipRun run(small_chip(1, 2), plan_of(programs));
  run.run();
  EXPECT_EQ(run.error, "");
  return run.module("cluster0.core0.vector").activity;
}
TEST(NamedWaits, CY_2_a_store_behind_a_load_that_waits_for_a_peer_is_the_store_queues) {
  const ActivityCycles vector = behind_a_load(64, "waits peer[0]");
  EXPECT_GT(cycles_of(vector, Activity::kStoreQueue), 4096 / 16) << "while core 1 loads";
  EXPECT_LT(cycles_of(vector, Activity::kOutputSpace), 100) << "while the store is under way";
}
TEST(NamedWaits, CY_2_a_store_behind_a_load_under_way_is_the_store_queues) {
  const ActivityCycles vector = behind_a_load(8192, "");
  EXPECT_GT(cycles_of(vector, Activity::kStoreQueue), 8192 / 16 * 3 / 4) << "while the load is under way";
  EXPECT_LT(cycles_of(vector, Activity::kOutputSpace), 100) << "while the store is under way";
}

TEST(Deadlocks, HI_5_a_barrier_with_a_missing_participant) {
  const std::string error = error_of({{1, {"barrier id=4 participants=3", "halt"}},
                                      {2, {"barrier id=4 participants=3", "halt"}},
                                      {0, {"halt"}}});
  EXPECT_THAT(error, HasSubstr("barrier 4: 2 of 3 arrived: cluster0.core1, cluster0.memory"));
  EXPECT_THAT(error, HasSubstr("chip.cluster0.core1.control:\n  decoder at 0x1010000: waits for barrier"));
  EXPECT_THAT(error, ::testing::Not(HasSubstr("core0.control"))) << "it has ended";
}

TEST(Deadlocks, HI_2_a_token_that_nobody_gives) {
  const std::string error =
      error_of({{0, {copy("iodma", kSource, nram_address(0), 64, "waits map_full[3]"), "halt"}}});
  EXPECT_THAT(error, HasSubstr("instruction at 0x1000000 waits for map_full[3]"));
}

TEST(Faults, HI_2_each_names_the_instruction) {
  struct Fault {
    int processor;
    std::string line, error;
  };
  const std::vector<Fault> faults{
      {0, copy("gdma", kSource, sram_address(0), 64), "this processor has no gdma unit"},
      {2, copy("iodma", kSource, nram_address(0), 64), "this processor has no iodma unit"},
      {2, "vector.run kind=table rows=1 columns=1 channels=1", "this processor has no vector unit"},
      {0, copy("iodma", kSource, nram_address(0), 0), "iodma.copy: nothing to copy"},
      {0, copy("iodma", kSource, kTarget, 64), "lie on the same side"},
      {0, copy("iodma", kSource, nram_address(0) + 16384 - 32, 64), "leaves the memory at 0x40000000000"},
      {0, "signal processors=16 semaphore=200", "signal: the cluster has no processor 4, there are 3"},
      {0, "signal processors=1 semaphore=200 cluster_distance=-1",
       "signal: there is no cluster -1, the chip has"},
  };
  for (const Fault& fault : faults) {
    const std::string error = in_child([&] {
      return error_of({{fault.processor, {"layer.end layer=0", fault.line, "halt"}}});
    });
    EXPECT_THAT(error, HasSubstr(fault.error)) << fault.line;
    EXPECT_THAT(error, HasSubstr(fmt::format(
                           "instruction at {:#x}",
                           kProgramBase + 64 + kProgramRoom * static_cast<std::uint64_t>(fault.processor))))
        << fault.line;
  }
}

TEST(Faults, HI_2_a_program_without_halt) {
  EXPECT_THAT(in_child([] {
                return error_of({{0, {"layer.end layer=0"}}});
              }),
              HasSubstr("the program ends without halt"));
}

TEST(Faults, HI_4_addresses_without_memory) {
  const auto error = [](int processor, const std::string& line) {
    return in_child([&] { return error_of({{processor, {line, "halt"}}}); });
  };
  EXPECT_THAT(error(0, copy("iodma", kDramEnd - 64, nram_address(0), 64)),
              HasSubstr("iodma.outer: no memory at address 0x1ffffffffc0 (64 bytes)"));
  EXPECT_THAT(error(0, copy("mvdma", nram_address(0), sram_address(1), 64)),
              HasSubstr("mvdma.outer: no memory at address"));
  EXPECT_THAT(error(0, copy("mvdma", sram_address(0) + 32768 - 32, nram_address(0), 64)),
              HasSubstr("no memory at address 0x20000008000"))
      << "the part behind the SRAM's end";
  EXPECT_THAT(error(2, copy("mvdma", sram_address(0), multicast_address(0b100, false, 0), 64)),
              HasSubstr("no memory at address"))
      << "there is no third core";
  EXPECT_THAT(error(2, copy("mvdma", sram_address(0), multicast_address(0b11, false, 16384 - 32), 64)),
              HasSubstr("no memory at address"))
      << "a broadcast beyond the end of the NRAMs";
  EXPECT_THAT(error(2, copy("cdma", sram_address(0), sram_address(1), 64)), HasSubstr("no memory at address"))
      << "there is no second cluster";
  EXPECT_THAT(error(2, copy("mvdma", multicast_address(1, false, 0), sram_address(0), 64)),
              HasSubstr("nothing can be read at address"));
  EXPECT_THAT(error(0, "vector.run kind=maxpool rows=1 columns=1 height=1 width=1 channels=32 a=16376"),
              HasSubstr("vector.a: no memory at address"));
}

TEST(Chips, HI_2_every_core_pools_its_part_of_a_map) {
  // A map of 8 rows of 16 pixels of 32 channels; each core pools 2 x 2 on its rows, which a border completes.
  for (const auto& [clusters, cores] : {std::pair(1, 1), std::pair(2, 2)}) {
    constexpr int kRow = 16 * 32, kRows = 8;
    const auto body = [&, n = clusters, m = cores](const SimulationOptions& options) {
      std::vector<HandProgram> programs;
      const int parts = n * m, rows = kRows / parts;
      for (int i = 0; i < parts; ++i) {
        const auto first = static_cast<std::uint64_t>(i * rows);
        programs.push_back(
            {i / m * (m + 1) + i % m,
             {copy("iodma", kSource + first * kRow, nram_address(i), kRow * rows, "completes map_full[0]"),
              fmt::format("vector.run kind=maxpool rows={} columns=8 channels=32 height={} width=16 "
                          "kernel_h=2 kernel_w=2 stride_h=2 stride_w=2 destination=8192 "
                          "waits map_full[0] completes result_full[0]",
                          rows / 2, rows),
              copy("iodma", nram_address(i) + 8192, kTarget + first / 2 * 8 * 32, rows / 2 * 8 * 32,
                   "waits result_full[0]"),
              "layer.end layer=0", "halt"}});
      }
      ChipRun run(small_chip(n, m), plan_of(programs), options);
      run.write(kSource, pattern(kRow * kRows));
      run.run();
      const auto result = run.read(kTarget, 4 * 8 * 32);
      return run.statistics() + run.unbalanced() + std::string(result.begin(), result.end());
    };
    const std::string plain = in_child([&] { return body({}); });
    const std::vector<std::uint8_t> map = pattern(kRow * kRows);
    std::string expected;
    for (std::size_t h = 0; h < 4; ++h) {
      for (std::size_t i = 0; i < 8 * 32; ++i) {
        const std::size_t at = 2 * h * kRow + i / 32 * 64 + i % 32;
        std::int8_t greatest = INT8_MIN;
        for (const std::size_t tap : {at, at + 32, at + kRow, at + kRow + 32})
          greatest = std::max(greatest, static_cast<std::int8_t>(map[tap]));
        expected += static_cast<char>(greatest);
      }
    }
    EXPECT_EQ(plain.substr(plain.size() - expected.size()), expected);
    SimulationOptions shaken;
    shaken.jitter_seed = 11, shaken.build_order_seed = 12;
    EXPECT_EQ(in_child([&] { return body(shaken); }), plain) << "CY-4";
  }
}

// In tile granularity an array tells what it does ahead of time. A run that is stopped meanwhile counts up to
// there: no ledger is cut off.
TEST(StoppedRuns, CY_2_statistics_end_with_the_unit_that_is_furthest_ahead) {
  ConvShape shape;
  shape.height = shape.width = 24, shape.channels = 16, shape.out_channels = 32, shape.kernel = {3, 3};
  SimulationOptions options;
  options.granularity = Granularity::kTile;
  const HardwareConfig hardware = small_chip(1, 2);
  ChipRun run(hardware, make_plan(conv_workload(shape), hardware), options);
  run.run(10'000);
  EXPECT_FALSE(run.system().finished());
  EXPECT_GT(run.snapshot.at, run.system().now());
  EXPECT_EQ(run.module("host").cycles, run.snapshot.at);
}

}  // namespace
}  // namespace tilebeat::testing
