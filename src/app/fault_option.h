#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/system/simulation_options.h"

#include <string>

namespace tilebeat {

/// What `--fault [PLACE:]BANK:BYTE:MASK` asks for; numbers are decimal or 0x hexadecimal. PLACE is `engine`
/// (its buffer for maps), `nram`, `wram` or `sram`, on chips behind `clusterK.` and, but for `sram`,
/// `coreI.`; core 0 of cluster 0 and its engine where nothing is said. Throws UserError that names the range.
MemoryFault parse_fault(const std::string& text, const HardwareConfig& hardware);

}  // namespace tilebeat
