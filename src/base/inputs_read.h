#pragma once

#include <string>

namespace tilebeat {

/// Remembers a regular file that the process reads as an input, by device and inode: no command writes over
/// what it has read, under whatever name (OutputFiles). Anything else, such as a pipe, is not remembered.
void note_input(const std::string& path);
/// Whether a path leads to a file that `note_input` remembers.
bool is_input(const std::string& path);

}  // namespace tilebeat
