#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace tilebeat {

/// The manual page tilebeat(1), for man: commands and options with what their help says of them.
std::string manual_page(const CLI::App& app);

}  // namespace tilebeat
