#pragma once

// How GoogleTest shows parameters of tests that are types of the product: by their names.

#include "config/dram_config.h"
#include "sim/context.h"

#include <ostream>

namespace tilebeat {

inline void PrintTo(DramPreset preset, std::ostream* out) {
  *out << kDramPresetNames.at(static_cast<std::size_t>(preset));
}
inline void PrintTo(Granularity granularity, std::ostream* out) {
  *out << (granularity == Granularity::kClock ? "clock" : "tile");
}

}  // namespace tilebeat
