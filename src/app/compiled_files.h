#pragma once

#include "tilebeat/config/compiled_ahead.h"
#include "tilebeat/config/hardware_config.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilebeat {

/// What the engine of `hardware` compiles ahead, shared with all copies of the configuration that are made
/// from now on. Throws UserError when it compiles nothing.
std::shared_ptr<CompiledAhead> ahead_of(HardwareConfig& hardware);

/// The contents of a file that holds what was compiled ahead. Throws UserError when it cannot be read.
std::vector<std::uint8_t> read_compiled(const std::string& path);

}  // namespace tilebeat
