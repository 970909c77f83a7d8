#pragma once

#include <string_view>

namespace tilebeat {

/// Whether `a` comes before `b` where runs of digits compare as numbers: b2 before b10.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace tilebeat
