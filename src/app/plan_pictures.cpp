
#include "app/plan_cache.h"
#include "app/planning.h"
#include "config/hardware_config.h"
#include "report/text_table.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Pixels.
constexpr int kRow = 18, kTop = 64, kNames = 14, kOperations = 210, kBars = 360, kBar = 260, kNotes = 730,
              kWidth = 1360, kText = 12;

// Colours that red-green colour-blind people can tell apart: by Holding, and for DRAM.
constexpr std::array<const char*, 4> kHoldingColours{"#e69f00", "#0072b2", "#009e73", "#cc79a7"};
constexpr const char* kDramColour = "#8c8c8c";

std::string escaped(const std::string& text) {
  std::string made;
  for (const char c : text) {
    if (c == '<')
      made += "&lt;";
    else if (c == '&')
      made += "&amp;";
    else
      made += c;
  }
  return made;
}
std::string text_at(int x, int y, const std::string& text, const char* more = "") {
  return fmt::format("<text x=\"{}\" y=\"{}\" {}>{}</text>\n", x, y, more, escaped(text));
}
std::string bar_at(int x, int y, int width, const char* colour) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", x, y, width,
                     kRow - 7, colour);
}

std::string legend() {
  std::string svg;
  int x = kBars;
  const auto entry = [&](const char* colour, const std::string& text) {
    svg += bar_at(x, kTop - 28, 12, colour) + text_at(x + 18, kTop - 18, text);
    x += 40 + 7 * count_of(text);
  };
  entry(kDramColour, "DRAM");
  for (std::size_t i = 0; i < kHoldingNames.size(); ++i)
    entry(kHoldingColours[i],
          static_cast<Holding>(i) == Holding::kNram ? "NRAM" : fmt::format("SRAM, {}", kHoldingNames[i]));
  return svg;
}

// A frame around rows [begin, end).
std::string frame(int begin, int end) {
  return fmt::format(
      "<rect x=\"6\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\" fill=\"none\" stroke=\"#333\"/>\n",
      kTop + begin * kRow + 1, kNotes - 20, (end - begin) * kRow - 2);
}

// Notes on the planned cost of a fusion group, beside its first rows [begin, end).
std::string notes(const GroupMapping& group, const LayerPlan& plan, int begin, int end) {
  const int y = kTop + begin * kRow;
  std::string svg;
  const std::int64_t bytes = plan.input_bytes + plan.kernel_bytes + plan.output_bytes;
  svg += text_at(kNotes, y + 14,
                 fmt::format("{} clusters, {} rows a step: {} cycles, {} bytes over DRAM", group.clusters,
                             group.step_rows, grouped(plan.estimated_cycles), grouped(bytes)));
  int line = 1;
  for (const char* wanted : {"one by one", "ends"}) {
    for (const auto& [name, text] : plan.choices) {
      if (name == wanted && line < end - begin)
        svg += text_at(kNotes, y + 14 + kRow * line++,
                       fmt::format("{}: {}", name, text.substr(0, text.find(", both"))), "fill=\"#555\"");
    }
  }
  return svg;
}

}  // namespace

std::string fusion_picture(const Workload& workload, const PlannedNetwork& planned) {
  std::map<std::string, int> rows;
  std::map<std::string, Holding> held;
  std::int64_t most = 1;
  for (const Layer& layer : workload.layers) {
    rows.emplace(layer.name, count_of(rows));
    most = std::max(most, layer.output.size_bytes());
  }
  for (const GroupMapping& group : planned.groups) {
    for (const std::string& layer : group.layers) {
      const auto found = group.holdings.find(layer);
      if (found != group.holdings.end()) held[layer] = found->second;
    }
  }
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"{2}\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n",
      kWidth, kTop + count_of(rows) * kRow + 10, kText);
  svg += text_at(kNames, 22, fmt::format("Fusion groups of {}", workload.name), "font-size=\"16\"");
  svg += text_at(kNames, kTop - 18, "layer") + text_at(kOperations, kTop - 18, "operator") +
         text_at(kBars, 22, "bytes of the output, where it lies:") + legend();
  for (const Layer& layer : workload.layers) {
    const int y = kTop + rows.at(layer.name) * kRow;
    const std::int64_t bytes = layer.output.size_bytes();
    const int width = std::max<int>(1, to_int(bytes * kBar / most));
    const auto found = held.find(layer.name);
    const char* colour = found == held.end() ? kDramColour : nth(kHoldingColours, found->second);
    svg += text_at(kNames, y + 13, layer.name) + text_at(kOperations, y + 13, layer.op);
    svg += bar_at(kBars, y + 4, width, colour) + text_at(kBars + width + 6, y + 13, grouped(bytes));
  }
  for (const GroupMapping& group : planned.groups) {
    const auto plan = std::find_if(planned.plan.layers.begin(), planned.plan.layers.end(),
                                   [&](const LayerPlan& l) { return l.name == group.layers.back(); });
    // Layers named by a mapping file may not be neighbours.
    for (std::size_t l = 0, next = 0; l < group.layers.size(); l = next) {
      const int begin = rows.at(group.layers[l]);
      next = l + 1;
      while (next < group.layers.size() && rows.at(group.layers[next]) == begin + to_int(next - l)) ++next;
      const int end = begin + to_int(next - l);
      svg += frame(begin, end);
      if (l == 0) svg += notes(group, *plan, begin, end);
    }
  }
  return svg + "</svg>\n";
}

namespace {

constexpr std::int64_t kKibibyte = 1024;
constexpr std::int64_t kLongestBar = 40;  // characters of the longest bar

HardwareConfig with_sram(const HardwareConfig& hardware, int kibibytes) {
  HardwareConfig made = hardware;
  made.chip->sram.size_bytes = kibibytes * kKibibyte;
  return made;
}

}  // namespace

FusionSummaries fusion_summaries(const Workload& workload, const HardwareConfig& hardware,
                                 const std::string& file, const PlannedNetwork* planned, PlanCache& cache) {
  const auto plan_by = [&](FusionPlanner planner) {
    HardwareConfig asked = hardware;
    asked.fusion.planner = planner;
    return cache.plan(workload, asked, file);
  };
  const bool by_rules = planned != nullptr && hardware.fusion.planner == FusionPlanner::kRules;
  const bool by_cost = planned != nullptr && !by_rules;
  const PlannedNetwork other = by_cost ? PlannedNetwork{} : plan_by(FusionPlanner::kOptimal);
  const PlannedNetwork& optimal = by_cost ? *planned : other;
  // Simulated mappings of layers (`planner.search`) are chosen for the network with its groups.
  if (hardware.planner.search.value_or(0) > 0 && !by_rules)
    return {*plan_by(FusionPlanner::kRules).fusion, *optimal.fusion};
  return {by_rules ? *planned->fusion : *optimal.by_rules, *optimal.fusion};
}

void check_sram_sizes(const std::vector<int>& sizes, const HardwareConfig& hardware) {
  if (sizes.empty()) return;
  if (!hardware.fused)
    throw UserError("--sram: the curve is that of fusion groups, the hardware file needs \"fused\": true");
  for (const int size : sizes) check_hardware(with_sram(hardware, size), fmt::format("--sram {}", size));
}

std::string sram_curve(const std::vector<int>& sizes, const Workload& workload,
                       const HardwareConfig& hardware, const std::string& file, PlanCache& cache) {
  struct Point {
    int kibibytes = 0;
    std::optional<FusionSummaries> made;
    std::string refused;
  };
  std::vector<Point> points;
  std::int64_t most = 1;
  for (const int size : sizes) {
    points.push_back({size, std::nullopt, ""});
    try {
      points.back().made = fusion_summaries(workload, with_sram(hardware, size), file, nullptr, cache);
      most = std::max(most, points.back().made->optimal.alone.bytes());
    } catch (const UserError& error) {
      points.back().refused = error.what();
    }
  }
  std::vector<std::vector<std::string>> rows{
      {"SRAM, KiB", "layer by layer", "rules", "optimal", "inputs, outputs, weights once", ""}};
  std::string refused;
  for (const Point& point : points) {
    if (!point.made) {
      rows.push_back({grouped(point.kibibytes), "-", "-", "-", "-", ""});
      refused += fmt::format("  {} KiB: {}\n", grouped(point.kibibytes), point.refused);
      continue;
    }
    const FusionSummary &rules = point.made->rules, &optimal = point.made->optimal;
    const auto length = to_size((optimal.fused.bytes() * kLongestBar + most - 1) / most);
    const std::string bar(length, '#');
    rows.push_back({grouped(point.kibibytes), grouped(optimal.alone.bytes()), grouped(rules.fused.bytes()),
                    grouped(optimal.fused.bytes()), grouped(optimal.compulsory.bytes()),
                    fmt::format("{:<{}}", bar, kLongestBar)});
  }
  return fmt::format("bytes over DRAM, over the SRAM of a cluster\n{}{}\n", format_rows(rows), refused);
}

}  // namespace tilebeat
