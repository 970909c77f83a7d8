#pragma once

#include "config/hardware_config.h"
#include "system/system.h"

#include <string>

namespace tilebeat {

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

}  // namespace tilebeat
