// The speed of single layers, whole networks and chips beside its targets (docs/performance.md), in one run.
// Every measurement is a process of its own, the processor time of all its threads counts; rounds are
// interleaved, ratios are formed inside a round, and medians are shown.
//
//   speed_table [ROUNDS]
#include "measurement.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <unistd.h>

namespace tilebeat {
namespace {

const std::string kRoot = TILEBEAT_SOURCE_DIR;

// 64-byte bursts a second of a sequential stream of reads from DDR4-2400 in Ramulator 2.1
// (docs/performance.md says how it was measured).
constexpr double kRamulatorBursts = 0.33e6;
constexpr double kBurstBytes = 64;

// A figure of a row, round by round.
struct Row {
  std::string what;
  double least = 0, most = 0;  // the target; 0: none
  std::vector<double> values;
};

class Table {
 public:
  void add(const std::string& what, double value) { row(what).values.push_back(value); }
  void at_least(const std::string& what, double limit) { row(what).least = limit; }
  void at_most(const std::string& what, double limit) { row(what).most = limit; }

  void print() const {
    fmt::print("{:<66} {:>9} {:>9}\n", "", "now", "target");
    for (const Row& row : rows_) {
      const double now = median(row.values);
      const bool met = now >= row.least && (row.most == 0 || now <= row.most);
      const std::string target = row.least > 0  ? fmt::format("{:.3g}", row.least)
                                 : row.most > 0 ? fmt::format("{:.3g}", row.most)
                                                : "";
      fmt::print("{:<66} {:>9} {:>9}{}\n", row.what, fmt::format("{:.3g}", now), target,
                 target.empty() ? "" : (met ? "  met" : "  missed"));
    }
  }

 private:
  Row& row(const std::string& what) {
    const auto known = std::find_if(rows_.begin(), rows_.end(), [&](const Row& r) { return r.what == what; });
    if (known != rows_.end()) return *known;
    rows_.push_back({what, 0, 0, {}});
    return rows_.back();
  }
  std::vector<Row> rows_;
};

// A layer on some hardware, planned once.
struct Case {
  HardwareConfig hardware;
  Workload workload;
  Plan plan;
  double macs = 0;

  Case(const std::string& config, const std::string& layer)
      : hardware(load_hardware(kRoot + config)),
        workload(load_workload(kRoot + layer)),
        plan(make_plan(workload, hardware)) {
    for (const LayerPlan& l : plan.layers) macs += static_cast<double>(l.macs);
  }
  Measurement run(Granularity granularity) const {
    return in_child([&] { return simulation(hardware, plan, granularity); });
  }
};

double rate(const Measurement& m) {
  return m.amount / m.seconds;
}

// Bursts of fully connected layers through the whole chain.
void measure_streams(Table& table) {
  for (const char* config : {"/configs/core1.json", "/configs/switch16.json"}) {
    static std::map<std::string, Case> cases;
    const Case& c = cases.try_emplace(config, config, "/tests/bench/fully_connected.json").first->second;
    const Measurement m = c.run(Granularity::kTile);
    const std::string what =
        fmt::format("{}: 64-byte bursts/s of a fully connected layer / Ramulator 2", c.hardware.name);
    table.add(what, m.dram_bytes / kBurstBytes / m.seconds / kRamulatorBursts);
    table.at_least(what, 15);
  }
}

// One layer on each engine, in tile granularity.
void measure_layers(Table& table) {
  struct Target {
    const char *config, *layer;
    double of_onednn;
  };
  const std::string conv = "/models/vgg16_conv3_2.json", product = "/tests/bench/matmul_1024.json";
  static std::map<std::string, Case> cases;
  const auto planned = [&](const std::string& config, const std::string& layer) -> const Case& {
    return cases.try_emplace(config + layer, config, layer).first->second;
  };
  const Case& first = planned("/configs/switch16.json", conv);
  const double ticks = rate(in_child(empty_clock));
  const double dnn = rate(in_child([&] { return onednn(first.workload, first.workload.layers.front()); }));
  const auto macs = [&](const Case& c) { return c.macs / c.run(Granularity::kTile).seconds; };
  const double of_switch = macs(first);
  const auto against_onednn = [&](const std::string& name, double value, double target) {
    const std::string what = name + ": tile / oneDNN int8, AVX2";
    table.add(what, value / dnn);
    table.at_least(what, target);
  };
  against_onednn("switch16", of_switch, 0.35);
  against_onednn("wfold16x4", macs(planned("/configs/wfold16x4.json", conv)), 0.12);
  against_onednn("cluster4x4", macs(planned("/configs/cluster4x4.json", conv)), 0.08);
  const std::string clock = "switch16: clock / empty sc_clock";
  table.add(clock, rate(first.run(Granularity::kClock)) / ticks);
  table.at_least(clock, 0.25);
  const auto against_switch = [&](const std::string& name, double value) {
    const std::string what = name + ": tile MAC/s / that of switch16";
    table.add(what, value / of_switch);
    table.at_least(what, 0.5);
  };
  against_switch("rolling16, 1024 x 1024 x 1024", macs(planned("/configs/rolling16.json", product)));
  against_switch("rolling16", macs(planned("/configs/rolling16.json", conv)));
  against_switch("offset16", macs(planned("/configs/offset16.json", conv)));
  against_switch("fused4x4, ResNet-18", macs(planned("/tests/bench/fused4x4.json", "/models/resnet18.json")));
}

// Processes from start to exit, planning and writing included, the check left out.
void measure_runs(Table& table, const std::string& folder) {
  const auto run = [&](const std::string& name, const std::string& config, const std::string& workload,
                       double seconds, double megabytes) {
    const Measurement m = process({TILEBEAT_BINARY, "run", "--config", kRoot + config, "--layer",
                                   kRoot + workload, "--check", "off", "--out", folder});
    table.add(name + ", s", m.seconds);
    if (seconds > 0) table.at_most(name + ", s", seconds);
    table.add(name + ", MB", m.megabytes);
    if (megabytes > 0) table.at_most(name + ", MB", megabytes);
  };
  run("VGG-16 on core1", "/configs/core1.json", "/models/vgg16.json", 0.8, 0);
  run("VGG-16 on cluster16x4", "/configs/cluster16x4.json", "/models/vgg16.json", 2, 300);
  run("AlexNet on core1", "/configs/core1.json", "/models/alexnet.json", 0, 0);
  run("ResNet-50, fused, on cluster4x4", "/tests/bench/fused4x4.json", "/models/resnet50.json", 2, 0);
  run("64 x 16 cores, tiny layer", "/tests/bench/chip64x16.json", "/models/worked_dense.json", 0.5, 300);
}

// What a waveform of the default signals costs, against the same run without one.
void measure_waveforms(Table& table, const std::string& folder) {
  const auto seconds = [&](std::vector<std::string> options) {
    std::vector<std::string> command{TILEBEAT_BINARY, "run",
                                     "--config",      kRoot + "/configs/switch16.json",
                                     "--layer",       kRoot + "/models/alexnet_conv1.json",
                                     "--granularity", "clock",
                                     "--out",         folder};
    command.insert(command.end(), options.begin(), options.end());
    return process(command).seconds;
  };
  const double without = seconds({});
  const auto against = [&](const std::string& option, const std::string& file, double most) {
    const std::string what = fmt::format("AlexNet's first layer on switch16: run with {} / without", option);
    table.add(what, seconds({option, folder + file}) / without);
    table.at_most(what, most);
  };
  against("--vcd", "/w.vcd", 15);
  against("--fst", "/w.fst", 10);
  const std::string size = "AlexNet's first layer on switch16: FST file, MB";
  table.add(size, static_cast<double>(std::filesystem::file_size(folder + "/w.fst")) / 1e6);
  table.at_most(size, 30);
}

void measure(int rounds) {
  Table table;
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("speed_table.{}", getpid());
  for (int round = 0; round < rounds; ++round) {
    measure_streams(table);
    measure_layers(table);
    measure_runs(table, folder.string());
    measure_waveforms(table, folder.string() + "/waveforms");
  }
  std::filesystem::remove_all(folder);
  table.print();
}

}  // namespace
}  // namespace tilebeat

int main(int argc, char** argv) {
  tilebeat::one_thread(argv);
  tilebeat::measure(argc > 1 ? std::max(1, std::atoi(argv[1])) : 3);
}
