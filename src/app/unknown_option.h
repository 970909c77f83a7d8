#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace tilebeat {

/// A message about the first of `arguments` that looks like an option and is none of `command`, with the
/// nearest one. Only asked when a command line was refused: the value of an option may look like one.
std::optional<std::string> unknown_option(const CLI::App& command, const std::vector<std::string>& arguments);

}  // namespace tilebeat
