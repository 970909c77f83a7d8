#pragma once

#include "base/types.h"
#include "config/hardware_config.h"
#include "planner/language/mapping_file.h"
#include "schema/place.h"
#include "workload/workload.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// How far the mapping of a layer is from the best one of its MappingSet. All cycles are those of the layer
/// by itself, simulated in tile granularity.
struct Certificate {
  std::vector<std::string> layers;  ///< the layers of these sizes; the first one was simulated
  LayerMapping chosen, best;
  Cycle chosen_cycles = 0, best_cycles = 0;
  std::int64_t set = 0;        ///< mappings of the set
  std::int64_t simulated = 0;  ///< of them
  std::int64_t bounded = 0;    ///< whose lower bound is no less than the best
  std::int64_t unfit = 0;      ///< that did not fit after all
  std::int64_t open = 0;       ///< that the budget was too short for
  /// A lower bound of the cycles of all mappings of the set; nothing where the set is too large.
  std::optional<Cycle> least;

  /// Whether the set was small enough to be looked at.
  bool certified() const { return least.has_value(); }
  /// Percent by which the chosen mapping is above the best one, and by which it is at most.
  double gap() const { return percent_above(best_cycles); }
  double most_gap() const { return percent_above(*least); }

 private:
  double percent_above(Cycle cycles) const {
    return 100.0 * static_cast<double>(chosen_cycles - cycles) / static_cast<double>(cycles);
  }
};

/// A request for a layer's mapping, and its place in a mapping file.
struct AskedMapping {
  MappingRequest request;
  Place place;
};

/// How certificates are made.
struct CertifyOptions {
  int jobs = 1;  ///< simulations at the same time
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

/// Sets of at least so many mappings are too large.
constexpr std::size_t kMostMappings = 10'000;

/// The certificate of the layer of `alone` (workload_of), on matrix units of a chip, for the mapping that is
/// asked for, without weight prefetch, or else for the planner's choice for the layer by itself. `file`: that
/// of the workload, for errors. The same for any number of jobs up to 8, without a deadline. Throws UserError
/// when the layer or the request does not fit, SimulationError where a simulation takes fewer cycles than the
/// lower bound of its mapping.
Certificate certificate_of(const Workload& alone, const HardwareConfig& hardware,
                           const std::optional<AskedMapping>& asked, const std::string& file,
                           const CertifyOptions& options);

}  // namespace tilebeat
