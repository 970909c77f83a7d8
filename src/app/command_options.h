#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace tilebeat {

/// The options and positional arguments of a command, in the order of its help; also those of its groups,
/// which are commands without a name.
std::vector<const CLI::Option*> options_of(const CLI::App& command);

/// The commands that have a name.
std::vector<const CLI::App*> commands_of(const CLI::App& app);

/// The names of an option, "-h" and "--help"; none of a positional argument.
std::vector<std::string> names_of_option(const CLI::Option& option);

/// It stands alone, without a value.
bool is_flag(const CLI::Option& option);

/// The words that an option takes; none: it takes something else.
std::vector<std::string> choices_of(const CLI::Option& option);

/// What its help calls its value, without the checks: "HW.json".
std::string value_name(const CLI::Option& option);

}  // namespace tilebeat
