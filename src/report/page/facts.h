#pragma once

#include "base/types.h"
#include "report/page/markup.h"
#include "report/report.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat::page {

/// A cause of stalls, with its cycles over all matrix arrays.
struct Cause {
  std::string name;
  std::int64_t cycles = 0;
  std::size_t worst_layer = 0;  ///< the layer with most of these cycles
};

/// Facts of a run for the page, besides the numbers of its report.
struct RunFacts {
  explicit RunFacts(const Cited& report) : cited(report) {}

  Cited cited;
  const Json* whatif = nullptr;  ///< what was measured of the run's knobs (whatif.h); null: nothing
  std::string file, workload, hardware;
  double clock_mhz = 0;
  double microseconds = 0;
  double macs_per_second = 0, peak_macs_per_second = 0;
  double dram_bytes_per_second = 0, peak_dram_bytes_per_second = 0;
  std::int64_t beats = 0;         ///< busy cycles of all arrays and layers together
  std::int64_t array_cycles = 0;  ///< busy and stall cycles of all arrays and layers together
  std::vector<Cause> causes;      ///< causes of stalls, largest first
};

/// One sentence that explains a cause of stalls; empty for an unknown cause.
std::string_view meaning_of(const std::string& cause);
/// The sum, or the largest value where the sum would overflow.
std::int64_t add_capped(std::int64_t a, std::int64_t b);
/// `a / b`; 0 where `b` is 0.
template <class A, class B>
double ratio(A a, B b) {
  return b > 0 ? ratio_of(a, b) : 0;
}

/// The facts of run `run`. Throws UserError when a field of the configuration is missing or not a positive
/// number.
RunFacts facts_of(const PageReport& report, std::size_t run);

/// Number of layers whose output was compared with the reference.
std::int64_t compared_layers(const Json& report);
/// "passed", "FAILED" or "off".
const char* check_result(const Json& report);

/// The key in `bound_cycles` of a layer's largest lower bound; of equal ones the simplest.
std::string largest_bound(const Json& layer);
/// The JSON pointer of a layer in its report.
std::string layer_at(std::size_t layer);
/// "scene/name", without the scene "main"; for a fusion group the names of its first and last layer.
std::string layer_name(const Json& layer);
/// The operator; for a fusion group the number of its layers.
std::string layer_kind(const Json& layer);
/// Cycles of a layer, summed over all arrays.
std::int64_t array_cycles(const Json& layer);
/// Bytes over DRAM, both directions.
double dram_bytes(const Json& layer);

/// A module by its index in the report, and its fraction of busy cycles.
struct BusyModule {
  std::size_t index = 0;
  std::string name;
  double share = 0;
};
/// The busiest of the modules whose names begin with `prefix`.
std::optional<BusyModule> busiest_module(const Json& report, const std::string& prefix);
/// All modules whose names begin with `prefix`, in the report's order.
std::vector<BusyModule> modules_of(const Json& report, const std::string& prefix);

}  // namespace tilebeat::page
