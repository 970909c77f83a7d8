#pragma once

#include "app/commands.h"
#include "app/progress.h"
#include "config/hardware_config.h"
#include "program/plan.h"
#include "system/system.h"
#include "workload/workload.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// What became of a fault.
struct FaultEffect {
  std::string fault;    ///< as --fault has it
  std::string place;    ///< its kind
  std::string outcome;  ///< "masked", "wrong", "stopped" (the simulation ended with an error), "late" (not
                        ///< done in four times the cycles)
  std::int64_t elements = 0;                                   ///< wrong ones, of all layers
  std::vector<std::pair<std::string, std::int64_t>> by_layer;  ///< wrong ones, layers in their order
  std::string error;                                           ///< of the simulation
};

/// Simulates `plan` with one random upset of one bit after the other, each in a process of its own, as many
/// at a time as there are processors, and compares all layers with `wanted`. The same seed gives the same
/// upsets: kinds of places, places, bytes, bits and cycles of the run are equally likely each. Throws
/// UserError for a kind of place that the hardware does not have.
std::vector<FaultEffect> run_campaign(const FaultCampaign& campaign, const HardwareConfig& hardware,
                                      const Plan& plan, const SimulationOptions& options,
                                      const std::map<std::string, Tensor>& wanted, Progress& progress);

/// The effects as a table by places and one by layers.
std::string campaign_text(const std::vector<FaultEffect>& effects);
/// A line for each fault, comma-separated.
std::string campaign_csv(const std::vector<FaultEffect>& effects);

}  // namespace tilebeat
