#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/program/plan.h"

namespace tilebeat {

/// Where the hardware has a start unit (`host.start` = "table"), a table of its programs for every label, in
/// DRAM behind all that lies there: an entry a program with its address (8 bytes), its length in bytes (4)
/// and its processor (4), little-endian. `programs` have their addresses. `dram_bytes` grows along.
void place_start_tables(Plan& plan, const HardwareConfig& hardware);

}  // namespace tilebeat
