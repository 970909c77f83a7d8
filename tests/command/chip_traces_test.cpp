// Waveform, timeline and Konata log of a chip: every unit of every core and cluster (SPEC HI_1 to HI_5,
// UI_3).
#include "tilebeat_command.h"
#include "timeline_reader.h"
#include "vcd_reader.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

constexpr std::int64_t kPeriod = 1000;  // picoseconds of a cycle of cluster4
constexpr int kCores = 4;

/// Spreads a layer over cores that get their kernels by broadcast.
std::string spread(const CommandFolder& folder, const std::string& layer, int rows, int columns) {
  return folder.write("mapping.json",
                      fmt::format(R"({{"tilebeat_mapping": 1, "layers": [{{"layer": "{}", "row_parts": {},
                                      "column_parts": {}, "kernel_parts": 1, "kernels": "broadcast"}}]}})",
                                  layer, rows, columns));
}

/// worked_dilated on two cores of cluster4, cycle by cycle.
std::unique_ptr<Vcd> trace(std::vector<std::string> more) {
  const CommandFolder folder;
  more.insert(more.end(), {"--vcd", "w.vcd", "--mapping", spread(folder, "conv1", 2, 1)});
  const CommandResult result = folder.run_layer("configs/cluster4.json", "models/worked_dilated.json", more);
  EXPECT_EQ(result.status, 0) << result.err;
  return std::make_unique<Vcd>(read_bytes(folder.path("w.vcd")));
}

// Twelve entries and more are three bursts of four: the third waits for the first.
TEST(ChipWaveform, HI_5_two_bursts_of_a_start_table_are_under_way_at_a_time) {
  const CommandFolder folder;
  nlohmann::json hardware =
      nlohmann::json::parse(read_bytes(source_path("configs/cluster4x4.json")), nullptr, true, true);
  hardware["host"]["start"] = "table";
  const CommandResult result = folder.run({"run", "--config", folder.write("table.json", hardware.dump()),
                                           "--layer", source_path("models/resnet18_block.json"), "--vcd",
                                           "w.vcd", "--vcd-signals", "chip.noc.start.*"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Vcd vcd(read_bytes(folder.path("w.vcd")));
  std::int64_t requests = 0, most = 0;
  for (const auto& [time, value] : vcd.signal("chip.noc.start.req").changes)
    requests += value.value_or(0) != 0;
  for (const auto& [time, value] : vcd.signal("chip.noc.start.outstanding").changes)
    most = std::max<std::int64_t>(most, static_cast<std::int64_t>(value.value_or(0)));
  EXPECT_GE(requests, 3);
  EXPECT_EQ(most, 2);
}

TEST(ChipWaveform, UI_3_every_unit_of_every_core_and_cluster) {
  const std::unique_ptr<Vcd> vcd = trace({});
  std::vector<std::string> expected{"chip.sync.barrier_waiting"};
  for (int i = 0; i < kCores; ++i) {
    const std::string core = fmt::format("chip.cluster0.core{}.", i);
    for (const char* signal :
         {"control.decode_addr", "control.matrix_held", "control.vector_held", "control.iodma_held",
          "control.mvdma_held", "iodma.read_beat", "iodma.write_beat", "mvdma.read_beat", "mvdma.write_beat",
          "vector.busy", "load.streaming", "parameter.streaming", "store.reading", "engine.switch.beat",
          "engine.pe.valid", "bus.broadcast.wbeat", "bus.iodma.rbeat", "bus.vector_a.req"})
      expected.push_back(core + signal);
    expected.push_back(fmt::format("chip.noc.cluster0.core{}.iodma.req", i));
    expected.push_back(fmt::format("chip.cluster0.memory.bus.core{}.req", i));
  }
  for (const char* signal : {"gdma.read_beat", "gdma.write_beat", "cdma.read_beat", "cdma.write_beat",
                             "mvdma.read_beat", "mvdma.write_beat", "broadcast.aw", "broadcast.w",
                             "broadcast.b", "cdma_in.aw", "cdma_in.w", "cdma_in.b", "control.decode_addr"})
    expected.push_back(std::string("chip.cluster0.memory.") + signal);
  for (const char* signal : {"chip.link.cluster0.req", "chip.noc.cluster0.memory.gdma.req",
                             "chip.dram0.ch0.cmd", "chip.dram1.ch0.cmd"})
    expected.emplace_back(signal);
  const std::set<std::string> names = vcd->paths();
  for (const std::string& signal : expected) EXPECT_EQ(names.count(signal), 1U) << signal;
  // The kernels go through the SRAM to both cores that compute.
  for (const char* active :
       {"chip.cluster0.memory.gdma.write_beat", "chip.cluster0.memory.broadcast.aw",
        "chip.cluster0.core0.bus.broadcast.wbeat", "chip.cluster0.core1.bus.broadcast.wbeat",
        "chip.cluster0.core1.engine.switch.beat"})
    EXPECT_GT(vcd->signal(active).changes.size(), 1U) << active;
  EXPECT_EQ(vcd->signal("chip.sync.barrier_waiting").changes.size(), 1U) << "no layer follows";
}

TEST(ChipWaveform, UI_3_processors_wait_at_the_barrier_between_two_layers) {
  const CommandFolder folder;
  const CommandResult result =
      folder.run_layer("configs/cluster4.json", "models/small_chain.json",
                       {"--vcd", "w.vcd", "--vcd-signals", "chip.sync.*", "--check", "off"});
  EXPECT_EQ(result.status, 0) << result.err;
  const Vcd vcd(read_bytes(folder.path("w.vcd")));
  EXPECT_GT(vcd.signal("chip.sync.barrier_waiting").changes.size(), 1U);
}

TEST(ChipWaveform, UI_3_a_window_shows_what_the_whole_trace_shows_there) {
  const std::vector<std::string> signals{"--vcd-signals",
                                         "chip.cluster0.memory.*",
                                         "chip.sync.*",
                                         "chip.cluster0.core1.control.*",
                                         "chip.cluster0.core1.iodma.*",
                                         "chip.cluster0.core1.bus.*"};
  const std::unique_ptr<Vcd> whole = trace(signals);
  const std::int64_t begin = 150, end = 190;
  std::vector<std::string> limited = signals;
  limited.insert(limited.end(), {"--vcd-from", std::to_string(begin), "--vcd-to", std::to_string(end)});
  const std::unique_ptr<Vcd> window = trace(limited);
  EXPECT_GT(whole->paths().size(), 50U);
  EXPECT_GE(window->first_time(), begin * kPeriod);
  EXPECT_LT(window->last_time(), end * kPeriod);
  EXPECT_EQ(window->paths(), whole->paths());
  for (const std::string& name : whole->paths()) {
    if (name == "soc.clk") continue;
    for (std::int64_t clock = begin; clock < end; ++clock) {
      ASSERT_EQ(window->signal(name).at(clock * kPeriod), whole->signal(name).at(clock * kPeriod))
          << name << " in cycle " << clock;
    }
  }
}

TEST(ChipTimeline, UI_3_a_track_for_every_unit_that_works) {
  const CommandFolder folder;
  const CommandResult result = folder.run_layer(
      "configs/cluster4.json", "models/alexnet_small.json",
      {"--timeline", "t.json", "--check", "off", "--mapping", spread(folder, "conv1", 4, 1)});
  ASSERT_EQ(result.status, 0) << result.err;
  const ReadTimeline timeline = read_timeline(read_bytes(folder.path("t.json")));
  std::vector<std::string> expected{"chip/layers",
                                    "cluster0/memory.gdma",
                                    "cluster0/memory.mvdma",
                                    "cluster0/memory.bus.broadcast.write state",
                                    "chip/noc.cluster0.memory.gdma.read state",
                                    "chip/dram0.ch0 state"};
  for (int i = 0; i < kCores; ++i) {
    for (const char* unit : {"iodma", "vector", "load", "parameter", "store", "engine.switch", "engine.post",
                             "iodma.read state", "vector state", "engine.array state", "bus.iodma.read state",
                             "bus.vector_a.read state", "control.decode state"})
      expected.push_back(fmt::format("cluster0/core{}.{}", i, unit));
  }
  for (const std::string& track : expected) {
    ASSERT_EQ(timeline.tracks.count(track), 1U) << track;
    EXPECT_FALSE(timeline.tracks.at(track).empty()) << track;
  }
  // What a unit does is work of a layer, and so many bytes or products, whichever unit it is.
  for (const char* unit : {"core0.iodma", "core0.vector", "core0.load", "core0.parameter", "core0.store",
                           "core0.engine.switch", "memory.gdma"}) {
    for (const TimelineSlice& slice : timeline.tracks.at(std::string("cluster0/") + unit)) {
      EXPECT_TRUE(slice.args.contains("layer")) << unit << " " << slice.name;
      EXPECT_TRUE(slice.args.contains("bytes") || slice.args.contains("macs")) << unit << " " << slice.name;
    }
  }
  EXPECT_EQ(folder.report().at("workload"), "alexnet_small");
  const nlohmann::json layers = folder.report().at("layers");
  const std::vector<TimelineSlice>& shown = timeline.tracks.at("chip/layers");
  ASSERT_EQ(shown.size(), layers.size());
  for (std::size_t i = 0; i < shown.size(); ++i) {
    EXPECT_EQ(shown[i].name, layers[i].at("name"));
    EXPECT_EQ(shown[i].args.at("bytes"),
              layers[i].at("bytes").at("dram").at("read").get<std::int64_t>() +
                  layers[i].at("bytes").at("dram").at("write").get<std::int64_t>());
    if (layers[i].at("macs") != 0) {
      EXPECT_EQ(shown[i].args.at("macs"), layers[i].at("macs"));
    }
  }
  for (const char* counter : {"cluster0/core0.iodma buffer", "cluster0/core0.load landing buffer",
                              "cluster0/core0.engine.switch utilization", "chip/dram0 read"})
    EXPECT_GT(timeline.counters.at(counter).size(), 1U) << counter;
}

TEST(ChipKonata, HI_2_every_instruction_of_the_programs_is_in_the_konata_log_once) {
  const CommandFolder folder;
  ASSERT_EQ(
      folder.run_layer("configs/cluster4.json", "models/small_chain.json", {"--konata", "k.log"}).status, 0);
  std::istringstream lines(read_bytes(folder.path("k.log")));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(line, "Kanata\t0004");
  std::map<std::string, std::string> stage;  // of what has not retired, by id
  std::set<std::string> fetched;
  std::int64_t retired = 0, flushed = 0, cycle = 0;
  while (std::getline(lines, line)) {
    std::vector<std::string> words;
    std::istringstream parts(line);
    for (std::string word; std::getline(parts, word, '\t');) words.push_back(word);
    const std::string& kind = words.at(0);
    if (kind == "C=") cycle = std::stoll(words.at(1));
    if (kind == "C") {
      ASSERT_GT(std::stoll(words.at(1)), 0);
      cycle += std::stoll(words.at(1));
    }
    if (kind == "I") {
      ASSERT_TRUE(stage.emplace(words.at(1), "").second);
    }
    if (kind == "S") {
      const std::string order = "FDWX";
      EXPECT_EQ(stage.at(words.at(1)), "") << "the stage before has ended";
      stage[words.at(1)] = words.at(3);
      EXPECT_EQ(fetched.insert(words.at(1)).second, words.at(3) == "F") << "fetched first, and once";
      EXPECT_NE(order.find(words.at(3)), std::string::npos);
    }
    if (kind == "E") {
      EXPECT_EQ(stage.at(words.at(1)), words.at(3));
      stage[words.at(1)] = "";
    }
    if (kind != "R") continue;
    ++(words.at(3) == "0" ? retired : flushed);
    stage.erase(words.at(1));
  }
  EXPECT_TRUE(stage.empty()) << "all have come to an end";
  // "# program main of core 0.0 at 0xc000: 76 instructions of 64 bytes"
  const CommandResult plan = folder.run({"plan", "--config", source_path("configs/cluster4.json"), "--layer",
                                         source_path("models/small_chain.json"), "--disassemble"});
  std::istringstream programs(plan.out);
  std::int64_t instructions = 0;
  while (std::getline(programs, line)) {
    if (line.rfind("# program ", 0) == 0) instructions += std::stoll(line.substr(line.find(": ") + 2));
  }
  EXPECT_EQ(retired, instructions);
  EXPECT_NEAR(static_cast<double>(cycle), folder.report().at("total").at("cycles").get<double>(), 100);
}

}  // namespace
}  // namespace tilebeat::testing
