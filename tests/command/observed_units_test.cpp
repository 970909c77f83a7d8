// What waveform and timeline show of every unit is what the report counts, for every engine (SPEC UI-7,
// CY-2).
#include "fst_reader.h"
#include "tilebeat_command.h"
#include "timeline_reader.h"
#include "vcd_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using Cycles = std::map<std::string, std::int64_t>;

struct Seen {
  const char* config;
  const char* model;
  std::vector<const char*> signals;  ///< strobes and operands that its engine must have, that change
};
void PrintTo(const Seen& seen, std::ostream* out) {
  *out << seen.config;
}

class ObservedUnits : public ::testing::TestWithParam<Seen> {
 protected:
  std::string config() const { return fmt::format("configs/{}.json", GetParam().config); }
  std::string model() const { return fmt::format("models/{}.json", GetParam().model); }
  CommandResult run(const std::vector<std::string>& more) const {
    return folder_.run_layer(config(), model(), more);
  }
  /// Busy and stalls of the modules, without what is zero.
  std::map<std::string, Cycles> counted() const {
    std::map<std::string, Cycles> modules;
    const nlohmann::json report = folder_.report();
    for (const auto& module : report.at("modules")) {
      Cycles& cycles = modules[module.at("name").get<std::string>()];
      if (module.at("busy") > 0) cycles["busy"] = module.at("busy");
      for (const auto& [cause, count] : module.at("stall_cycles").items()) {
        if (count > 0) cycles[cause] = count;
      }
    }
    return modules;
  }
  CommandFolder folder_;
};

/// Where the timeline shows a module: its process and track.
std::string track_of(const std::string& system, const std::string& module) {
  const std::size_t dot = module.find('.');
  if (module.rfind("cluster", 0) != 0) return system + "/" + module + " state";
  return module.substr(0, dot) + "/" + module.substr(dot + 1) + " state";
}

TEST_P(ObservedUnits, UI_7_the_timeline_has_the_reports_cycles_causes_and_bytes) {
  std::map<std::string, std::string> files;
  for (const char* granularity : {"clock", "tile"}) {
    const CommandResult result = run({"--timeline", "t.json", "--granularity", granularity});
    ASSERT_EQ(result.status, 0) << result.err;
    files[granularity] = read_bytes(folder_.path("t.json"));
  }
  EXPECT_EQ(files["clock"], files["tile"]);
  const ReadTimeline read = read_timeline(files["tile"]);
  const std::string system = read.tracks.count("chip/layers") != 0 ? "chip" : "soc";
  for (const auto& [module, cycles] : counted()) {
    const std::string track = track_of(system, module);
    ASSERT_EQ(read.tracks.count(track), 1U) << track;
    EXPECT_EQ(read.cycles(track), cycles) << track;
  }
  const nlohmann::json report = folder_.report();
  double bytes = 0, macs = 0;  // of a core's peak
  for (const auto& [name, samples] : read.counters) {
    const bool dram = name.find("/dram") != std::string::npos;
    if (dram && name.find(" read") != std::string::npos) bytes += read.sum(name);
    if (name.find(" utilization") != std::string::npos) macs += read.sum(name) / 100;
  }
  EXPECT_DOUBLE_EQ(bytes, report.at("total").at("dram_read_bytes").get<double>());
  const std::size_t cores = std::max<std::size_t>(report.at("cores").size(), 1);  // a board lists none
  const double peak = report.at("peak_macs_per_clock").get<double>() / static_cast<double>(cores);
  const double wanted = report.at("total").at("macs");
  EXPECT_NEAR(macs * peak, wanted, 1e-6 * wanted);
  std::int64_t shown = 0;
  for (const auto& [track, slices] : read.tracks) {
    for (const TimelineSlice& slice : slices) {
      if (!slice.args.contains("tile")) continue;
      EXPECT_TRUE(slice.args.contains("layer")) << track;
      EXPECT_EQ(slice.args.at("clocks"), slice.end - slice.begin) << track;
      EXPECT_TRUE(slice.args.contains("bytes") || slice.args.contains("macs")) << track;
      ++shown;
    }
  }
  EXPECT_GT(shown, 0);
}

TEST_P(ObservedUnits, UI_7_the_waveform_has_the_state_of_every_unit_in_every_cycle) {
  ASSERT_EQ(run({"--vcd", "w.vcd", "--vcd-signals", "*"}).status, 0);
  const Vcd vcd(read_bytes(folder_.path("w.vcd")));
  const nlohmann::json report = folder_.report();
  const std::int64_t period = std::llround(1e6 / report.at("configuration").at("clock_mhz").get<double>());
  const std::string system = vcd.paths().count("chip.host.state") != 0 ? "chip." : "soc.";
  const std::int64_t end = report.at("total").at("cycles").get<std::int64_t>() * period;
  for (const auto& [module, cycles] : counted()) {
    // A channel of a DRAM counts in cycles of its own.
    if (module.rfind("dram", 0) == 0) continue;
    Cycles seen = vcd.signal(system + module + ".state").times(end);
    for (auto& [state, time] : seen) time /= period;
    EXPECT_EQ(seen, cycles) << module;
  }
  for (const char* name : GetParam().signals)
    EXPECT_GT(vcd.signal(system + name).changes.size(), 1U) << name << " never changes";
}

TEST_P(ObservedUnits, UI_7_the_view_names_every_signal_of_the_waveform) {
  ASSERT_EQ(run({"--vcd", "w.vcd", "--vcd-signals", "*"}).status, 0);
  const Vcd vcd(read_bytes(folder_.path("w.vcd")));
  const std::set<std::string> paths = vcd.paths();
  std::istringstream lines(read_bytes(folder_.path("w.gtkw")));
  std::set<std::string> named;
  int depth = 0;
  std::string flags;
  for (std::string line; std::getline(lines, line);) {
    if (line.front() == '@') flags = line.substr(1);
    if (line.front() == '-') {
      depth += (std::stoul(flags, nullptr, 16) & 0x800000) != 0 ? 1 : -1;
      EXPECT_GE(depth, 0) << line;
    }
    if (line.front() == '[' || line.front() == '*' || line.front() == '@' || line.front() == '-') continue;
    std::string name = line.substr(line.front() == '+' ? line.find("} ") + 2 : 0);
    name = name.substr(0, name.find('['));
    named.insert(name);
    ASSERT_EQ(paths.count(name), 1U) << name << " is not in the waveform";
    const bool operand =
        name.find(".pe.pe") != std::string::npos || name.find(".kernel.w") != std::string::npos;
    if (operand) {
      EXPECT_NE(std::stoul(flags, nullptr, 16) & 0x400, 0U) << name << " is signed";
    }
  }
  EXPECT_EQ(depth, 0);
  EXPECT_EQ(named, paths);
}

INSTANTIATE_TEST_SUITE_P(
    Engines, ObservedUnits,
    ::testing::Values(Seen{"switch16",
                           "worked_dilated",
                           {"engine.banks.b0_valid", "engine.banks.b0", "engine.parameters.w0_valid",
                            "engine.switch.sw0_valid", "engine.switch.sw0", "engine.pe.valid",
                            "engine.pe.pe000", "engine.out0_valid"}},
                      Seen{"cluster4",
                           "small_chain",
                           {"cluster0.core0.engine.pe.valid", "cluster0.core0.bus.load.rbeat",
                            "noc.cluster0.core0.iodma.req"}},
                      Seen{"wfold16x4",
                           "worked_dense",
                           {"cluster0.core0.engine.sl0.valid", "cluster0.core0.engine.sl0.kernel.w0",
                            "cluster0.core0.engine.sl15.kernel.w2", "cluster0.core0.engine.sl0.cu0.x0",
                            "cluster0.core0.engine.sl0.cu3.x1"}},
                      Seen{"rolling16",
                           "worked_dense",
                           {"cluster0.core0.rolling.array.valid", "cluster0.core0.rolling.array.pe0_0.a0",
                            "cluster0.core0.rolling.array.load_a"}},
                      Seen{"offset16",
                           "worked_dense",
                           {"cluster0.core0.offset.lanes.valid", "cluster0.core0.offset.lanes.row0.c0",
                            "cluster0.core0.offset.lanes.column3.c1"}}),
    [](const auto& test) { return std::string(test.param.config); });

TEST(ObservedRun, UI_7_a_limit_ends_the_timeline_valid_and_says_so) {
  const CommandFolder folder;
  const CommandResult result =
      folder.run_layer("configs/cluster4.json", "models/mobilenet_v1.json",
                       {"--timeline", "t.json", "--timeline-max-mb", "1", "--check", "off"});
  ASSERT_EQ(result.status, 0) << result.err;
  const std::string text = read_bytes(folder.path("t.json"));
  EXPECT_LE(text.size(), std::size_t{1} << 20);
  const ReadTimeline read = read_timeline(text);
  EXPECT_FALSE(read.complete);
  EXPECT_NE(result.err.find("t.json ends at clock"), std::string::npos) << result.err;
}

TEST(ObservedRun, UI_7_observers_change_no_byte_of_the_report) {
  const CommandFolder folder;
  const auto report = [&](const std::vector<std::string>& more) {
    std::vector<std::string> options{"--granularity", "clock"};
    options.insert(options.end(), more.begin(), more.end());
    EXPECT_EQ(folder.run_layer("configs/cluster4.json", "models/small_chain.json", options).status, 0);
    return read_bytes(folder.path("tilebeat-out/report.json"));
  };
  EXPECT_EQ(report({}), report({"--vcd", "w.vcd", "--timeline", "t.json", "--konata", "k.log"}));
}

TEST(ObservedRun, UI_12_fst_shows_what_the_dump_shows_and_has_the_same_bytes_each_time) {
  const CommandFolder folder;
  const std::vector<std::string> arguments{"run",
                                           "--config",
                                           source_path("configs/switch16.json"),
                                           "--layer",
                                           source_path("models/worked_dilated.json"),
                                           "--fst",
                                           "w.fst"};
  ASSERT_EQ(folder.run(arguments).status, 0);
  const std::string first = read_bytes(folder.path("w.fst"));
  ASSERT_EQ(folder.run(arguments).status, 0);
  EXPECT_EQ(read_bytes(folder.path("w.fst")), first);
  EXPECT_NE(read_bytes(folder.path("w.gtkw")).find("[dumpfile] \"w.fst\""), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path("w.vcd"))) << "no dump is written on the way";
  std::vector<std::string> both = arguments;
  both.insert(both.end(), {"--vcd", "w.vcd"});
  ASSERT_EQ(folder.run(both).status, 0);
  EXPECT_EQ(read_bytes(folder.path("w.fst")), first);
  EXPECT_EQ(Fst(first).signals(), Vcd(read_bytes(folder.path("w.vcd"))).changes_by_path());
}

}  // namespace
}  // namespace tilebeat::testing
