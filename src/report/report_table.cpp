#include "base/types.h"
#include "report/report.h"
#include "report/scenes.h"
#include "report/text_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// The relative error of the planner's estimate. Layers that neither compute nor store anything have a few
// cycles of a fence at most, of which a share says nothing.
std::string estimate_text(const LayerResult& layer) {
  const bool nothing = layer.macs == 0 && layer.results == 0 && layer.bytes.dram_write == 0;
  if (layer.estimated_cycles == 0 || layer.cycles == 0 || nothing) return "";
  const double error = ratio_of(layer.estimated_cycles - layer.cycles, layer.cycles);
  return fmt::format("{:+.1f} %", 100 * error);
}

// The bound that limits a layer, as short as a column has room for.
std::string bound_text(const LayerResult& layer) {
  const std::string limit = limit_of(layer);
  return limit == "compute" ? "mac" : limit == "beats" ? "beat" : limit;
}

// Adds two columns where layers stand for those of a float network.
void add_qualities(const RunResult& run, std::vector<std::vector<std::string>>& rows) {
  if (std::none_of(run.layers.begin(), run.layers.end(), [](const LayerResult& l) { return l.quality; }))
    return;
  rows[0].insert(rows[0].end(), {"SQNR", "cosine"});
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    const std::optional<Quality>& quality = run.layers[i].quality;
    rows[i + 1].push_back(quality ? fmt::format("{:.1f} dB", quality->sqnr_db) : "");
    rows[i + 1].push_back(quality ? fmt::format("{:.5f}", quality->cosine) : "");
  }
}

// Converts cycles to time, and counts to rates per second.
struct Clock {
  double mhz;

  std::string microseconds(Cycle cycles) const {
    const double us = static_cast<double>(cycles) / mhz;
    return us < 100 ? fmt::format("{:.3f}", us) : grouped(std::llround(us));
  }
  // In units of 10^`exponent` a second.
  std::string rate(std::int64_t count, Cycle cycles, int exponent) const {
    const double seconds = static_cast<double>(cycles) / (mhz * 1e6);
    const double value = seconds > 0 ? static_cast<double>(count) / seconds / std::pow(10, exponent) : 0;
    return fmt::format("{:.{}f}", value, value < 10 ? 2 : 1);
  }
  // A multiply-accumulate counts as two operations.
  std::string tops(std::int64_t macs, Cycle cycles) const { return rate(2 * macs, cycles, 12); }
  std::string gigabytes(const MemoryBytes& bytes, Cycle cycles) const {
    return rate(bytes.dram_read + bytes.dram_write, cycles, 9);
  }
};

std::string layers_table(const RunResult& run) {
  const Clock clock{run.clock_mhz};
  std::vector<std::vector<std::string>> rows{{"layer", "cycles", "us", "bound", "estimate", "beats", "stalls",
                                              "MACs", "util", "TOPS", "DRAM read", "DRAM write", "GB/s",
                                              "busiest", "check"}};
  for (const LayerResult& l : run.layers) {
    rows.push_back(
        {l.scene == "main" ? l.name : fmt::format("{}/{}", l.scene, l.name), grouped(l.cycles),
         clock.microseconds(l.cycles), fmt::format("{} {}", grouped(l.bound_cycles()), bound_text(l)),
         estimate_text(l), grouped(l.beats), grouped(l.array_cycles() - l.beats), grouped(l.macs),
         fmt::format("{:.1f} %", 100 * l.utilization), clock.tops(l.macs, l.cycles),
         grouped(l.bytes.dram_read), grouped(l.bytes.dram_write), clock.gigabytes(l.bytes, l.cycles),
         fmt::format("{} {:.0f} %", l.busiest, 100 * l.busiest_share), l.check});
  }
  add_qualities(run, rows);
  rows.push_back({"total", grouped(run.cycles), clock.microseconds(run.cycles), "", "", "", "",
                  grouped(run.macs), fmt::format("{:.1f} %", 100 * run.utilization),
                  clock.tops(run.macs, run.cycles), grouped(run.bytes.dram_read),
                  grouped(run.bytes.dram_write), clock.gigabytes(run.bytes, run.cycles), "",
                  run.passed() ? "" : "FAILED"});
  return format_rows(rows);
}

// The programs of the run, where there are several.
std::string scenes_table(const RunResult& run) {
  const std::vector<SceneResult> scenes = scenes_of(run);
  if (scenes.empty()) return "";
  const Clock clock{run.clock_mhz};
  std::vector<std::vector<std::string>> rows{
      {"scene", "cycles", "us", "MACs", "TOPS", "DRAM read", "DRAM write", "uJ", "most cycles limited by"}};
  for (const SceneResult& s : scenes)
    rows.push_back({s.scene, grouped(s.cycles), clock.microseconds(s.cycles), grouped(s.macs),
                    clock.tops(s.macs, s.cycles), grouped(s.dram_read), grouped(s.dram_write),
                    fmt::format("{:.4g}", s.picojoules * 1e-6),
                    fmt::format("{}, {:.0f} %", s.limit,
                                100 * static_cast<double>(s.limited) /
                                    static_cast<double>(std::max<Cycle>(1, s.cycles)))});
  return "\nScene by scene, one program after the other:\n" + format_rows(rows);
}

std::string extrapolated_text(const RunResult& run) {
  if (!run.extrapolated) return "";
  const Extrapolated& all = *run.extrapolated;
  return fmt::format(
      "\nNOT SIMULATED: {} of {} steps. Extrapolated by the line that fits the first {} best, all take {} "
      "cycles ({} us), read {} and write {} bytes of DRAM and take {:.4g} uJ; extrapolated, the last one "
      "takes {} "
      "cycles. Simulated steps are up to {:.1f} % away from the line.\n",
      all.steps - all.simulated, all.steps, all.simulated, grouped(all.cycles),
      Clock{run.clock_mhz}.microseconds(all.cycles), grouped(all.dram_read), grouped(all.dram_write),
      all.picojoules * 1e-6, grouped(all.last_step_cycles), 100 * all.deviation);
}

// The layers of the host, apart from those of the chip.
std::string host_table(const RunResult& run) {
  if (run.host_layers.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"layer", "operator", "DRAM read", "DRAM write", "check"}};
  for (const HostLayerResult& l : run.host_layers)
    rows.push_back({l.name, l.op, grouped(l.bytes.read), grouped(l.bytes.written), l.check});
  return "\nOn the host, in no cycles of the chip and none of the bytes above:\n" + format_rows(rows);
}

std::string activity_table(const RunResult& run) {
  ActivityCycles sums{};
  for (const LayerResult& layer : run.layers) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += layer.activity[i];
  }
  const Cycle total = std::max<Cycle>(1, std::accumulate(sums.begin(), sums.end(), Cycle{0}));
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] == 0) continue;
    const auto activity = static_cast<Activity>(i);
    rows.push_back(
        {std::string(activity_name(activity)), grouped(sums[i]),
         fmt::format("{:.1f} %", 100.0 * static_cast<double>(sums[i]) / static_cast<double>(total)),
         std::string(activity_meaning(activity))});
  }
  std::stable_sort(rows.begin() + (rows.empty() ? 0 : 1), rows.end(), [](const auto& a, const auto& b) {
    return a[1].size() != b[1].size() ? a[1].size() > b[1].size() : a[1] > b[1];
  });
  std::string text;
  for (const auto& row : rows)
    text += fmt::format("  {:<18}{:>14}  {:>7}   {}\n", row[0], row[1], row[2], row[3]);
  return text;
}

// The energy and its three largest parts.
std::string energy_line(const EnergyResult& energy) {
  const double total = energy.parts.total();
  if (total <= 0) return "";
  std::vector<EnergyPart> parts(kEnergyParts.begin(), kEnergyParts.end());
  std::stable_sort(parts.begin(), parts.end(), [&](const EnergyPart& a, const EnergyPart& b) {
    return energy.parts.*a.value > energy.parts.*b.value;
  });
  std::vector<std::string> largest;
  for (std::size_t i = 0; i < 3; ++i)
    largest.push_back(fmt::format("{} {:.0f} %", parts[i].name, 100 * energy.parts.*parts[i].value / total));
  return fmt::format("\nEnergy ({}): {:.4g} uJ ({}), {:.3g} W, {:.3g} J s; {:.2f} mm2.\n", energy.technology,
                     total * 1e-6, fmt::join(largest, ", "), energy.watts(), energy.edp(),
                     energy.area.total());
}

// The multiply-accumulates of the beats, useful and lost: why "busy" is not "util".
std::string beats_table(const RunResult& run) {
  constexpr std::array<const char*, kMacLossNames.size()> kMeanings{
      "lanes, threads or lines without an output element", "columns without a kernel",
      "fill of channels, other groups, inserted zeros"};
  const std::int64_t all = std::accumulate(run.losses->begin(), run.losses->end(), run.macs);
  if (all == 0) return "";
  std::int64_t beats = 0;
  for (const LayerResult& layer : run.layers) beats += layer.beats;
  std::string text =
      fmt::format("\nWhat the multipliers did in {} beats, {} multiply-accumulates at the peak:\n",
                  grouped(beats), grouped(all));
  const auto add = [&](std::string_view name, std::int64_t count, const char* meaning) {
    text += fmt::format("  {:<14}{:>18}  {:>5.1f} %   {}\n", name, grouped(count),
                        100.0 * static_cast<double>(count) / static_cast<double>(all), meaning);
  };
  add("useful", run.macs, "the layers' own");
  for (std::size_t i = 0; i < run.losses->size(); ++i) {
    if ((*run.losses)[i] != 0) add(kMacLossNames[i], (*run.losses)[i], kMeanings[i]);
  }
  return text;
}

}  // namespace

std::string report_table(const RunResult& run) {
  std::string text =
      fmt::format("{} on {} ({} dataflow, {} granularity, peak {} MACs a cycle)\n\n", run.workload,
                  run.hardware, run.dataflow, run.granularity, grouped(run.peak_macs_per_clock));
  text += layers_table(run) + scenes_table(run) + extrapolated_text(run) + host_table(run);
  const std::string arrays = run.cores == 1 ? fmt::format("array's {}", grouped(run.cycles))
                                            : fmt::format("arrays' {} x {}", run.cores, grouped(run.cycles));
  text += fmt::format("\nWhere the PE {} cycles went:\n", arrays) + activity_table(run);
  if (run.losses) text += beats_table(run);
  if (run.core_results.size() > 1) {
    const auto by = [](double (*value)(const CoreResult&)) {
      return [value](const CoreResult& a, const CoreResult& b) { return value(a) < value(b); };
    };
    const auto [least, most] = std::minmax_element(run.core_results.begin(), run.core_results.end(),
                                                   by([](const CoreResult& c) { return c.utilization; }));
    const auto wait =
        std::max_element(run.core_results.begin(), run.core_results.end(),
                         by([](const CoreResult& c) { return static_cast<double>(c.barrier); }));
    text += fmt::format(
        "\nUtilization by core: {:.1f} % ({}) to {:.1f} % ({}); {} waited longest at barriers, {} cycles.\n",
        100 * least->utilization, least->name, 100 * most->utilization, most->name, wait->name,
        grouped(wait->barrier));
  }
  text += energy_line(run.energy);
  for (const CheckDifference& d : run.differences) {
    text += fmt::format("\nCHECK FAILED: layer '{}', element [{}]: {} says {}, simulated {}", d.layer,
                        fmt::join(d.index, ", "), d.against, d.wanted, d.got);
  }
  for (const std::string& failure : run.failures) text += "\nFAILED: " + failure;
  if (!run.passed()) text += "\n";
  return text;
}

}  // namespace tilebeat
