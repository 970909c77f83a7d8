#pragma once

#include "config/hardware_config.h"
#include "system/system.h"

#include <optional>
#include <string>
#include <string_view>
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

/// A message about the first of `arguments` that looks like an option and is none of `command`, with the
/// nearest one. Only asked when a command line was refused: the value of an option may look like one.
std::optional<std::string> unknown_option(const CLI::App& command, const std::vector<std::string>& arguments);

/// What `--fault [PLACE:]BANK:BYTE:MASK` asks for; numbers are decimal or 0x hexadecimal. PLACE is `engine`
/// (its buffer for maps), `nram`, `wram` or `sram`, on chips behind `clusterK.` and, but for `sram`,
/// `coreI.`; core 0 of cluster 0 and its engine where nothing is said. Throws UserError that names the range.
MemoryFault parse_fault(const std::string& text, const HardwareConfig& hardware);

/// Prints "tilebeat: TEXT" as one line on the standard error: control characters as blanks, longer texts cut.
/// A standard error that cannot be written changes nothing: the exit status tells as well.
void print_message(std::string_view text);

}  // namespace tilebeat
