#pragma once

#include "report/page.h"
#include "report/page/markup.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat::page {

/// Cycles of all matrix arrays together that one cause of stalls took.
struct Cause {
  std::string name;
  std::int64_t cycles = 0;
  std::size_t worst_layer = 0;  ///< the layer that has most of them
};

/// What the page says of a run besides the numbers of its report.
struct RunFacts {
  explicit RunFacts(const Cited& report) : cited(report) {}

  Cited cited;
  std::string file, workload, hardware;
  double clock_mhz = 0;
  double microseconds = 0;
  double macs_per_second = 0, peak_macs_per_second = 0;
  double dram_bytes_per_second = 0, peak_dram_bytes_per_second = 0;
  std::int64_t beats = 0;         ///< cycles in which arrays computed, of all arrays and layers together
  std::int64_t array_cycles = 0;  ///< these and all stalls
  std::vector<Cause> causes;      ///< of the stalls, largest first
};

/// What a cause of stalls means, one sentence; empty when it is none.
std::string_view meaning_of(const std::string& cause);
/// A sum that stays at the largest value instead of going beyond it.
std::int64_t add_capped(std::int64_t a, std::int64_t b);
/// `a / b`; 0 where `b` is 0.
double ratio(double a, double b);

/// Throws UserError when a field of the configuration is missing or no positive number.
RunFacts facts_of(const PageReport& report, std::size_t run);

/// Layers whose output was compared with the reference.
std::int64_t compared_layers(const Json& report);
/// "passed", "FAILED" or "off".
const char* check_result(const Json& report);

/// Where a layer stands in its report.
std::string layer_at(std::size_t layer);
/// "scene/name", without the scene "main"; of a fusion group its first and its last layer.
std::string layer_name(const Json& layer);
/// The operator, of a fusion group how many layers it has.
std::string layer_kind(const Json& layer);
/// All cycles of all arrays in a layer.
std::int64_t array_cycles(const Json& layer);
/// Bytes over DRAM, both directions.
double dram_bytes(const Json& layer);

/// A module by its place in the report, and the share of its cycles in which it is busy.
struct BusyModule {
  std::size_t index = 0;
  std::string name;
  double share = 0;
};
/// The busiest of the modules whose names begin with `prefix`.
std::optional<BusyModule> busiest_module(const Json& report, const std::string& prefix);
/// All of them, in the report's order.
std::vector<BusyModule> modules_of(const Json& report, const std::string& prefix);

}  // namespace tilebeat::page
