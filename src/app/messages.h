#pragma once

#include <string_view>

namespace tilebeat {

/// Prints "tilebeat: TEXT" as one line on the standard error: control characters as blanks, longer texts cut.
/// A standard error that cannot be written changes nothing: the exit status tells as well.
void print_message(std::string_view text);

}  // namespace tilebeat
