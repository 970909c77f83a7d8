#pragma once

#include "app/commands.h"
#include "app/progress.h"
#include "config/hardware_config.h"
#include "program/plan.h"
#include "system/system.h"
#include "workload/workload.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilebeat {

/// The kinds of places that faults are in, by their names, in the order in which a campaign draws them.
struct FaultKind {
  std::string_view name;
  FaultPlace place;
};
constexpr std::array<FaultKind, 7> kFaultKinds{{{"pe", FaultPlace::kPe},
                                                {"engine", FaultPlace::kEngine},
                                                {"nram", FaultPlace::kNram},
                                                {"wram", FaultPlace::kWram},
                                                {"sram", FaultPlace::kSram},
                                                {"dram", FaultPlace::kDram},
                                                {"bus", FaultPlace::kBus}}};

/// The fault that `--fault [PLACE:]BANK:BYTE:MASK[@CYCLE]` describes; numbers are decimal or 0x hexadecimal.
/// PLACE is `engine` (its buffer for maps), `nram`, `wram`, `sram` or `pe`, on chips behind `clusterK.` and,
/// except for `sram`, `coreI.`; by default the engine of core 0 of cluster 0. `dram:BYTE:MASK@CYCLE` names an
/// address, `NAME.PORT.read:BYTE:MASK@CYCLE` or `.write` a byte of a bus. Throws UserError that names the
/// range.
PlacedFault parse_fault(const std::string& text, const HardwareConfig& hardware);

/// The text that `parse_fault` reads.
std::string fault_text(const PlacedFault& fault, const HardwareConfig& hardware);

/// The cells of the place of a fault: banks and bytes of each.
FaultSpace fault_space(const PlacedFault& fault, const HardwareConfig& hardware);

/// Whether the fault can only be seen where every clock is simulated: in what a matrix engine computes with.
bool needs_every_clock(const PlacedFault& fault);

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
