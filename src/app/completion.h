#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace tilebeat {

/// A script that lets a shell ("bash" or "zsh") complete commands, options and the words that options take;
/// made from the definitions of the options.
std::string completion_script(const CLI::App& app, const std::string& shell);

/// The manual page tilebeat(1), for man: commands and options with what their help says of them.
std::string manual_page(const CLI::App& app);

}  // namespace tilebeat
