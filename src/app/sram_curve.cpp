#include "sram_curve.h"

#include "tilebeat/base/error.h"
#include "tilebeat/config/hardware_file.h"
#include "tilebeat/report/text_table.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "planning.h"

namespace tilebeat {
namespace {

constexpr std::int64_t kKibibyte = 1024;
constexpr std::int64_t kBar = 40;  // characters of the longest bar

HardwareConfig with_sram(const HardwareConfig& hardware, int kibibytes) {
  HardwareConfig made = hardware;
  made.chip->sram.size_bytes = kibibytes * kKibibyte;
  return made;
}

std::int64_t bytes_of(const FusionSummary::Totals& totals) {
  return totals.maps + totals.kernels;
}

}  // namespace

FusionSummaries fusion_summaries(const Workload& workload, const HardwareConfig& hardware,
                                 const std::string& file, std::optional<FusionSummary> own) {
  const auto of = [&](FusionPlanner planner) {
    if (own && hardware.fusion.planner == planner) return *own;
    HardwareConfig asked = hardware;
    asked.fusion.planner = planner;
    return *plan_workload(workload, asked, file).fusion;
  };
  return {of(FusionPlanner::kRules), of(FusionPlanner::kOptimal)};
}

void check_sram_sizes(const std::vector<int>& sizes, const HardwareConfig& hardware) {
  if (sizes.empty()) return;
  if (!hardware.fused)
    throw UserError("--sram: the curve is that of fused units, the hardware file needs \"fused\": true");
  for (const int size : sizes) check_hardware(with_sram(hardware, size), fmt::format("--sram {}", size));
}

std::string sram_curve(const std::vector<int>& sizes, const Workload& workload,
                       const HardwareConfig& hardware, const std::string& file) {
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
      points.back().made = fusion_summaries(workload, with_sram(hardware, size), file, std::nullopt);
      most = std::max(most, bytes_of(points.back().made->optimal.alone));
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
    const auto length = static_cast<std::size_t>((bytes_of(optimal.fused) * kBar + most - 1) / most);
    const std::string bar(length, '#');
    rows.push_back({grouped(point.kibibytes), grouped(bytes_of(optimal.alone)),
                    grouped(bytes_of(rules.fused)), grouped(bytes_of(optimal.fused)),
                    grouped(bytes_of(optimal.compulsory)), fmt::format("{:<{}}", bar, kBar)});
  }
  return fmt::format("bytes of maps and kernels over DRAM, over the SRAM of a cluster\n{}{}\n",
                     format_rows(rows), refused);
}

}  // namespace tilebeat
