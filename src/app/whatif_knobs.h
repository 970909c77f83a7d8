#pragma once

#include "app/sweep_file.h"
#include "config/hardware_config.h"

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat {

/// A knob of the hardware or of the workload, one step away from where it stands (SPEC UI-13).
struct KnobStep {
  std::string knob;          ///< "interconnect.bytes_per_clock"
  std::vector<Json> values;  ///< its value, and the one that the step gives it
  SweepChange change;        ///< labelled `knob=to`; knobs that must go with it are changed as well
  bool widens = false;  ///< gives bytes a wider way: one such knob alone may only move the limit to another
  std::string refused;  ///< why it is no legal hardware; empty: it is
  /// Images of a batch with and without the step.
  std::int64_t images_before = 1, images = 1;

  const Json& from() const { return values.front(); }
  const Json& to() const { return values.back(); }
};

/// The steps of all knobs in a fixed order: numbers are doubled and halved, words and switches take their
/// other values. `config` is the path of the hardware file whose contents are `file`, `hardware` what it
/// says; `workload` are the contents of the workload file.
std::vector<KnobStep> knob_steps(const HardwareConfig& hardware, const Json& file, const std::string& config,
                                 const Json& workload);

/// The steps of the knobs that `names` name: each is a knob, the beginning of its name up to a dot, or a
/// shell pattern; none: all of them. Throws UserError for a name without a knob.
std::vector<KnobStep> chosen_steps(const std::vector<KnobStep>& steps, const std::vector<std::string>& names);

}  // namespace tilebeat
