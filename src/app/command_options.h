#pragma once

#include "app/commands.h"
#include "config/hardware_config.h"
#include "schema/error_list.h"
#include "system/system.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace tilebeat {

/// An empty name would be taken as "none".
inline const CLI::Validator kNotEmpty(
    [](const std::string& text) { return text.empty() ? "a name is expected" : std::string(); }, "");
/// Defines --config and --layer.
void add_files(CLI::App& app, std::string& config, std::string& layer);
/// Adds `--plan-cache`.
CLI::Option* add_plan_cache(CLI::App& app, std::string& folder);
/// Adds `--extrapolate`.
CLI::Option* add_extrapolate(CLI::App& app, std::string& steps);
// Define the options of commands.
void define_sweep(CLI::App& app, SweepCommand& command);
void define_search(CLI::App& app, SearchCommand& command);
void define_certify(CLI::App& app, CertifyCommand& c);
void define_whatif(CLI::App& app, WhatIfCommand& command);
void define_check(CLI::App& app, CheckCommand& command);
void define_new(CLI::App& app, NewCommand& command);

/// The options and positional arguments of a command, in the order of its help; also those of its groups,
/// which are commands without a name.
std::vector<const CLI::Option*> options_of(const CLI::App& command);

/// The commands that have a name.
std::vector<const CLI::App*> commands_of(const CLI::App& app);

/// The names of an option, such as "-h" and "--help"; none for a positional argument.
std::vector<std::string> names_of_option(const CLI::Option& option);

/// Whether the option takes no value.
bool is_flag(const CLI::Option& option);

/// The words that an option accepts; none: it accepts other values.
std::vector<std::string> choices_of(const CLI::Option& option);

/// The name of an option's value in its help, without the checks: "HW.json".
std::string value_name(const CLI::Option& option);

/// A message about the first of `arguments` that looks like an option but is none of `command`, with the
/// nearest option; nothing if there is none. Call it only for a refused command line: the value of an option
/// may look like one.
std::optional<std::string> unknown_option(const CLI::App& command, const std::vector<std::string>& arguments);

/// Prints "tilebeat: TEXT" as one line on standard error, with control characters as blanks, and longer texts
/// cut. Errors of writing are ignored, as the exit status also tells the outcome.
void print_message(std::string_view text);
/// A message for each error of a file.
void print_error(const UserError& error);

/// A script that lets a shell ("bash" or "zsh") complete commands, options and the words that options take;
/// made from the definitions of the options.
std::string completion_script(const CLI::App& app, const std::string& shell);

/// The manual page tilebeat(1), for man: commands and options with what their help says of them.
std::string manual_page(const CLI::App& app);

}  // namespace tilebeat
