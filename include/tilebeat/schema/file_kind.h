#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tilebeat {

/// The kinds of JSON files that are handed to a command.
enum class FileKind { kHardware, kWorkload, kMapping, kReport, kSweep };

/// Throws UserError, one line that starts with `file`, when `json` is clearly a file of another kind than
/// `wanted`; it says what to do with such a file. What cannot be told passes.
void check_file_kind(const nlohmann::json& json, FileKind wanted, const std::string& file);

}  // namespace tilebeat
