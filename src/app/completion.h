#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace tilebeat {

/// A script that lets a shell ("bash" or "zsh") complete commands, options and the words that options take;
/// made from the definitions of the options.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace tilebeat
