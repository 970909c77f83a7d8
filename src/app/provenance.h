#pragma once

#include "app/commands.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat {

/// The project's version and the revision of the sources, for example "0.1.0 (0123456789ab)"; "unknown"
/// stands for a revision that git did not know when the build was configured.
std::string version_text();
/// The version number alone, and the revision alone.
std::string version_number();
std::string source_revision();

/// SHA-256 of each file that a run reads, in hexadecimal, by the path as typed; nothing for anything but a
/// regular file, such as a pipe.
using InputHashes = std::map<std::string, std::optional<std::string>>;

/// `known` and the hashes of `files` that are not among them. Throws UserError when a file cannot be read.
InputHashes hashes_of(const std::vector<std::string>& files, InputHashes known = {});

/// The part of a report with its origin (SPEC UI-11): version and source revision of the build, the files
/// that were read, and the options that the results depend on.
nlohmann::ordered_json provenance_json(const RunCommand& command, const InputHashes& inputs);

/// The command and the files of a report that has passed `check_report`. Throws UserError when `file` has no
/// provenance.
RunCommand recorded_command(const nlohmann::ordered_json& report, const std::string& file);
InputHashes recorded_inputs(const nlohmann::ordered_json& report);

}  // namespace tilebeat
