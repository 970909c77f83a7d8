#pragma once

#include "config/hardware_config.h"

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tilebeat {

/// Reads and checks a hardware file (SPEC UI-2). Fields that it does not name have their defaults; those of
/// `dram` come from its preset. Throws UserError, one line with file, JSON path, value and allowed range.
HardwareConfig load_hardware(const std::string& path);

/// `load_hardware` of `json`; `file` is named in errors.
HardwareConfig parse_hardware(const nlohmann::json& json, const std::string& file);

/// The rules between fields, such as rows being a multiple of groups. Throws UserError like `load_hardware`.
void check_hardware(const HardwareConfig& config, const std::string& file);

/// The effective configuration: every field with the value it has, as a file that `load_hardware` takes.
nlohmann::ordered_json hardware_to_json(const HardwareConfig& config);

/// The JSON Schema (draft-07) of hardware files; `schema_markdown` makes a table of it.
nlohmann::ordered_json hardware_schema();

}  // namespace tilebeat
